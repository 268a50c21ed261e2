"""Text from outside, marked as such for the model."""

from __future__ import annotations

import re
import secrets

from vancetope import sentences

_EDGE = re.compile(r"((?<!-)-{2,}+[^\S\n]*+(?:begin|end)[^\S\n]++)(?=untrusted)", re.IGNORECASE)
# What a reader cannot see: controls, zero-width characters, marks of writing direction, tags, variation selectors of
# the supplement (a byte each: whole sentences fit behind one letter). The joiners stay, scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e01ef]"
)
_LINE_END = re.compile("\r\n?|\x85|\u2028|\u2029")

_OPENING = re.compile(r"\[[^\n]*\]\n[^\n]*\n-{5} begin untrusted [0-9a-f]{16} -{5}\n")
FRAME = 500  # bytes that a frame takes at most, its source aside


def marked(text: str, source: str) -> str:
    """The text in a frame: one line that names the source, the statement that it is no instruction, and two lines with
    a token that the text could not know.

    In the text, lines end with `\\n`, characters that nobody sees are left out, and what looks like an edge of the
    frame is broken up. `source` is one line; what it quotes from outside is treated the same.
    """
    token = secrets.token_hex(8)
    return sentences.UNTRUSTED.format(source=_one_line(source), token=token, text=harmless(text).replace(token, "..."))


def is_marked(text: str) -> bool:
    """Whether the text stands in such a frame, or begins with one: a part of it then needs a frame of its own."""
    return _OPENING.match(text) is not None


def harmless(text: str) -> str:
    """The text without what nobody sees and without anything that looks like an edge of the frame."""
    text = _UNSEEN.sub("", _LINE_END.sub("\n", text))
    return _EDGE.sub(r"\1(quoted) ", text)


def _one_line(source: str) -> str:
    return " ".join(harmless(source).replace("[", "(").replace("]", ")").split())
