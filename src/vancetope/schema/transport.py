"""What terminals do to a text, undone: colour codes, redrawn lines, byte order marks."""

from __future__ import annotations

import re

from vancetope.schema.signs import BLANK

_ESCAPE = "\x1b"
_CLEARED = re.compile(r"\x1b\[[23]J|\x1bc")
_LINE_START = re.compile(r"\x1b\[[01]?G")
# Colours and what else leaves the cursor where it is: modes, erasing, titles and links, the choice of a character set.
_STILL = re.compile(r"\x1b\[[0-9;:]*+m|\x1b\[\??[0-9;]*+[hlJK]|\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]")
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)')


def undone(text: str) -> str:
    """The text as a terminal shows it in the end, without blanks around it.

    Codes that move the cursor elsewhere than to the start of its line stay in it: what stands where is not known
    then. A first code inside a string is the string's, and all of them stay.
    """
    text = text.strip(BLANK)
    if _ESCAPE in text and not _inside_string(text, text.index(_ESCAPE)):
        *_, text = _CLEARED.split(text)
        text = _STILL.sub("", _LINE_START.sub("\r", text))
    if "\r" in text:
        text = "\n".join(map(_last_frame, text.split("\n")))
    return text.strip(BLANK)


def has_codes(text: str) -> bool:
    """Whether codes are left in it that `undone` could not undo."""
    return _ESCAPE in text


def _inside_string(text: str, at: int) -> bool:
    """Whether a string is open at this place, judged by its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return any(not string.group(1) for string in _STRING.finditer(line))


def _last_frame(line: str) -> str:
    """Of a line that was written over and over, what was written last."""
    if "\r" not in line:
        return line
    return next((frame for frame in reversed(line.split("\r")) if frame.strip(BLANK)), "")
