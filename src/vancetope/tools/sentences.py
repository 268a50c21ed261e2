"""What our tools and their runtime say to a model."""

from __future__ import annotations

INTERRUPTED = "interrupted"
NO_OUTPUT = "(no output)"

CUT = (
    "[... {left_out:,} of {size:,} characters left out; "
    'read on with result_read(handle="{handle}", offset={offset}) ...]'
)
CUT_UNKEPT = "[... {left_out:,} of {size:,} characters left out; the output was too large to be kept ...]"

TIMED_OUT = "timed out after {seconds:g} s"
CANCELLED_ITSELF = "CancelledError: the tool cancelled itself"
NO_MESSAGE = "{kind}: (no message)"

RESULT_READ = "Read more of an earlier tool result that was cut. The place of the cut names its handle and offset."
RESULT_READ_HANDLE = "the handle given where the result was cut"
RESULT_READ_OFFSET = "the first character to read, counted from 0"
RESULT_READ_LENGTH = "how many characters to read; fewer come back where the answer would be too long"
RESULT_READ_UNKNOWN = "there is no result with the handle {handle}; {known}"
RESULT_READ_PAST = "the result {handle} has only {size:,} characters"
RESULT_READ_PIECE = "[{handle}: characters {start} to {end} of {size}{more}]\n"

CLOCK = "Tell the current date, weekday and time, with the zone's name and its UTC offset."
CLOCK_TIMEZONE = (
    "an IANA time zone (Europe/Paris), or the city in its name (Paris, New York); null for this machine's time zone"
)
CLOCK_UNKNOWN = "there is no time zone {asked}{near}; give an IANA name such as Europe/Paris"
CLOCK_AMBIGUOUS = "{asked} names several time zones: {zones}; give one of them"

RESPOND = (
    "End your turn with the message for the {reader}. Call it alone: it must be the last and only call of its reply."
)
RESPOND_MESSAGE = "the whole message, as the {reader} will read it"
RESPOND_AWAITING_PRIMARY = (
    "true (the default): you have finished or asked something, and the user speaks next; "
    "false: work of yours is still running and you will go on without the user"
)
RESPOND_AWAITING_WORKER = (
    "false (the default): this is your report, nothing is asked; "
    "true: you cannot go on before your question in the message is answered"
)
ANSWER = "End your turn with the message for the user."
ANSWER_MESSAGE = "the whole message, as the user will read it"

FILE_READ = "Read a text file, or some of its lines. Each line comes with its number."
FILE_LIST = "List a folder: folders end with /, files come with their size in bytes."
FILE_GREP = "Find the lines that match a regular expression in the text files of a folder, or in one file."
FILE_PATH = "relative to the root folder, such as docs/notes.txt"
FILE_FOLDER = "relative to the root folder; left out, the root itself"
FILE_OFFSET = "how many lines to skip"
FILE_LIMIT = "how many lines to read"
FILE_RECURSIVE = "also what lies in its folders; hidden ones are left out"
FILE_PATTERN = "a regular expression without look-around and back-references; (?i) at its start ignores case"
FILE_GLOB = "only files whose name matches, such as *.py, or whose path does, such as src/**/*.py"

PATH_MISSING = "there is no file or folder {path}"
PATH_OUTSIDE = "{path} lies outside the root folder, and only what is in it can be read"
PATH_OURS = "{path} belongs to the runtime and cannot be read"
PATH_ODD = "{path} is neither a file nor a folder"
PATH_LINKS = "{path} leads through too many links"
PATH_FORBIDDEN = "{path} cannot be read: {why}"
PATH_NOT_FOLDER = "{path} is a file, not a folder"
PATH_NOT_FILE = "{path} is a folder; list it with file_list"
PATH_BINARY = "{path} is not a text file"
FILE_EMPTY = "(the file is empty)"
FILE_SHORT = "{path} has only {lines:,} lines"
FILE_MORE = "[lines {first:,} to {last:,}; the file goes on, read it with offset={last}]"
FILE_LINE_CUT = "[line {number:,} is longer than {size:,} bytes and was cut]"
FILE_NOT_UTF8 = "[some bytes are not UTF-8 and are shown as \N{REPLACEMENT CHARACTER}]"
FOLDER_EMPTY = "(the folder is empty)"
FOLDER_MORE = "[only the first {count:,} entries are shown]"
GREP_NOTHING = "nothing matches"
GREP_MORE = "[only the first {count} matches are shown]"
GREP_LARGE = "[not searched, because larger than {size:,} bytes: {count}]"
GREP_LATE = "[stopped after {seconds:g} s, before everything was searched]"
