"""A conversation as one text, in which nobody can speak under somebody else's heading.

    === user ===
    What time is it in Paris?

Each message stands under such a line. A line of a message that could be taken for one gets `> ` in front; so does one
that already has it, so that taking one away gives back what was written. Nothing else is changed. The text ends with
the heading under which the assistant is to write, so what is said later only adds to it: a prompt cache stays warm.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from json import dumps
from unicodedata import category

from vancetope import sentences
from vancetope.errors import RequestRejected
from vancetope.messages import Assistant, Call, Result, Text, User, text_of, whole_characters
from vancetope.schema.strict import NotJson, parse

INSTRUCTIONS = "instructions"
HEADINGS = {"user": "user", "assistant": "assistant", "result": "tool"}  # by the kind of message
QUOTE = "> "

# What a reader may take for an equals sign, with the number of signs it looks like.
_SIGNS = {
    "=": 1,
    "\N{SUPERSCRIPT EQUALS SIGN}": 1,
    "\N{SUBSCRIPT EQUALS SIGN}": 1,
    "\N{SMALL EQUALS SIGN}": 1,
    "\N{FULLWIDTH EQUALS SIGN}": 1,
    "\N{TWO CONSECUTIVE EQUALS SIGNS}": 2,
    "\N{THREE CONSECUTIVE EQUALS SIGNS}": 3,
    "\N{IDENTICAL TO}": 1,
    "\N{STRICTLY EQUIVALENT TO}": 1,
    "\N{BOX DRAWINGS DOUBLE HORIZONTAL}": 1,
    "\N{MODIFIER LETTER SHORT EQUALS SIGN}": 1,
    "\N{MODIFIER LETTER UNASPIRATED}": 1,
    "\N{CANADIAN SYLLABICS HYPHEN}": 1,
    "\N{KATAKANA-HIRAGANA DOUBLE HYPHEN}": 1,
    "\N{DOUBLE HYPHEN}": 1,
    "\N{LISU PUNCTUATION FULL STOP}": 1,
    "\N{GETA MARK}": 1,
}
_ENOUGH = 2
_SIGN = re.compile(f"[{''.join(_SIGNS)}]")
_RULE = "".join(_SIGNS) + " \t\r\n"  # a line of these alone is an underline, no heading
# Letters and symbols that show nothing.
_BLANK = (
    "\N{HANGUL CHOSEONG FILLER}\N{HANGUL JUNGSEONG FILLER}\N{HANGUL FILLER}\N{HALFWIDTH HANGUL FILLER}"
    "\N{BRAILLE PATTERN BLANK}"
)


def transcript(system: str, messages: Sequence[User | Assistant | Result]) -> str:
    """The instructions (left out where `system` is empty), the messages, and the heading of the assistant's next one.

    The same conversation gives the same text. Raises `RequestRejected`, nothing sent, for an image or a file.
    """
    sections = [sentences.TRANSCRIPT_FORM]
    if system:
        sections.append(_section(INSTRUCTIONS, system))
    sections.extend(_section(HEADINGS[message.kind], _body(message)) for message in messages)
    sections.append(heading(HEADINGS["assistant"]))
    return "\n\n".join(sections)


def heading(name: str) -> str:
    return f"=== {name} ==="


def quoted(body: str) -> str:
    """The body with `QUOTE` before every line that could be taken for a heading, wherever a reader breaks lines."""
    body = whole_characters(body)
    if not _SIGN.search(body):
        return body
    return "".join(QUOTE + line if could_be_heading(line) else line for line in body.splitlines(keepends=True))


def could_be_heading(line: str) -> bool:
    """Whether the first that one sees of this line, quote marks aside, is two equals signs, with more behind them."""
    signs = 0
    for position, character in enumerate(line):
        if character == ">" or character in _BLANK or category(character)[0] in "CZM":
            continue
        if character not in _SIGNS:
            return False
        signs += _SIGNS[character]
        if signs >= _ENOUGH:
            return bool(line[position + 1 :].strip(_RULE))
    return False


def _section(name: str, body: str) -> str:
    return f"{heading(name)}\n{quoted(body)}"


def _body(message: User | Assistant | Result) -> str:
    match message:
        case User(content=content):
            if not isinstance(content, str) and not all(isinstance(part, Text) for part in content):
                raise RequestRejected("a text backend cannot be given images and files, only text", requests=0)
            return text_of(content)
        case Assistant(text=text, calls=calls):
            return "\n".join([*([text] if text else []), *map(_written, calls)])
        case Result(name=name, text=text):
            return sentences.action_result(name, text)


def _written(call: Call) -> str:
    """A call as JSON; arguments that are no JSON are the string that the model wrote."""
    arguments = call.arguments
    try:
        parse(arguments)
    except NotJson:
        arguments = dumps(arguments, ensure_ascii=False)
    return f'{{"name": {dumps(call.name, ensure_ascii=False)}, "arguments": {arguments.strip()}}}'
