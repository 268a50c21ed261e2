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

FILE_READ = "Read a text file, or a part of it by lines. Each line comes with its number."
FILE_LIST = "List a folder: folders end with /, files come with their size in bytes."
FILE_GREP = "Find the lines that match a regular expression in the text files of a folder, or in one file."
