"""Whether a value in a text stands for itself or is quoted matter: judged by signs alone, never by words."""

from __future__ import annotations

import re
from typing import Any

from vancetope.schema.reading import Reading
from vancetope.schema.signs import BLANK, BRACES_CLOSED, BRACES_OPEN, CLOSING, COLONS, COMMAS, OPENING, QUOTES

_NEAR = 200
_CLOSERS, _OPENERS = re.escape(CLOSING), re.escape(OPENING)
_LETTER = re.compile(r"[^\W_]")
_DECORATION = "*_`~\u00ab\u00bb" + QUOTES + BLANK
_LABELS = (*COLONS, ">", "\u2192", "\u21d2", "*/", "!", "\uff01", "\u3002")
_QUOTATION = (">", "|", "//", "/*", "#", "<!--")  # what a line begins with that is quoted, tabled or commented out
_STRUCK = re.compile(r"(?:~~|<(?:s|del|strike)>)$", re.IGNORECASE)
_MEMBER = re.compile(rf"[{QUOTES}][{BLANK}]*+[{COLONS}]$")
_INSIDE = re.compile(rf"{_MEMBER.pattern}|[{COMMAS}]$")
_END_OF_REST = re.compile(rf"[\n{re.escape(OPENING)}]|<\|")
_MARKUP = re.compile(r"</?[a-z][^<>]{0,60}>", re.IGNORECASE)
_COMMENT = re.compile(r"//|/\*|\#")
_COMMENT_BELOW = re.compile(rf"[{BLANK}{COMMAS}]*+(?://|/\*)")
_DOTS = re.compile(r"\.\.|\u2026")
_ELLIPSIS = rf"[{BLANK}{COMMAS}]*+(?:{_DOTS.pattern})"
_STRAY = rf"[{BLANK}{COMMAS}]*+(?P<stray>[{_CLOSERS}][{BLANK}{COMMAS}{_CLOSERS}]*+)"
_KEY = rf"[{QUOTES}][^{QUOTES}\n]{{0,200}}+[{QUOTES}][{BLANK}]*+[{COLONS}]"
_WORD = rf"(?:true|false|null)\b|(?:[^\W\d]|\$)[\w$-]{{0,200}}+[{BLANK}]*+[{COLONS}]"
_NEXT = rf"[{COMMAS}][{BLANK}{COMMAS}]*+(?:[{_OPENERS}{QUOTES}]|-?\d|{_WORD})"
_REST = re.compile(rf"{_ELLIPSIS}|{_STRAY}|[{BLANK}]*+(?:{_KEY}|{_NEXT})")


_FAR = 2_000
_AROUND = (("<!--", "-->"), ("/*", "*/"))
_ELEMENT = re.compile(r"<([a-z][\w.-]*)(?:[\s=:][^<>]{0,80})?>$", re.IGNORECASE)
# Elements that only set a text, and those in which models give an answer.
_OF_ANSWERS = re.compile(
    "a|b|body|code|div|em|font|html|i|li|p|pre|q|span|strong|td|tt"
    "|answer|final|final_answer|json|object|output|response|result",
    re.IGNORECASE,
)


def stands_apart(text: str, floor: int, reading: Reading, ceiling: int) -> bool:
    """Whether this value continues no sentence of its line and is no part of a larger one.

    In its line (not before `floor`, not behind `ceiling`) nothing stands before it but signs, or a label: what ends
    with a colon, an arrow, markup or a call. Nothing stands behind it but signs, markup or a comment. It was closed too
    early, or stood inside another value, if what follows is an ellipsis, a key, a comma with another value, or closing
    brackets. One brace too many is a slip where no other brace can have come too early.
    """
    start, end = reading.start, reading.end
    near = max(floor, start - _NEAR)
    before = text[near:start].rstrip(BLANK)
    rest = _REST.match(text, end, ceiling)
    if rest and (_INSIDE.search(before) or not _is_slip(text, rest, reading, ceiling)):
        return False
    if _enclosed(text, start, end):
        return False
    begin = text.rfind("\n", near, start) + 1
    return _introduces(text[max(begin, near) : start].strip(BLANK)) and _ends(_behind(text, end, ceiling))


def _enclosed(text: str, start: int, end: int) -> bool:
    """Whether this is what an element holds that does not say it is the answer (an example, a tool's call), what is
    struck out, or a part of a comment of several lines."""
    before, behind = text[max(0, start - _FAR) : start], text[end : end + _FAR]
    for opening, closing in _AROUND:
        if before.rfind(opening) > before.rfind(closing) and closing in behind:
            return True
    before, behind = before.rstrip(BLANK), behind.lstrip(BLANK)
    if before.endswith("~~") and behind.startswith("~~"):
        return True
    element = _ELEMENT.search(before)
    return element is not None and behind.startswith("</") and not _OF_ANSWERS.fullmatch(element.group(1))


def has_comment_behind(text: str, end: int, ceiling: int) -> bool:
    """Whether a comment follows what ends at `end`: in its line, or as the next thing below."""
    return bool(_COMMENT_BELOW.match(text, end, ceiling) or _COMMENT.match(_behind(text, end, ceiling)))


def _is_slip(text: str, rest: re.Match[str], reading: Reading, ceiling: int) -> bool:
    """Whether no more than one brace too many follows an object with members."""
    if (rest.group("stray") or "").strip(BLANK) not in {*BRACES_CLOSED} or _REST.match(text, rest.end(), ceiling):
        return False
    return text[reading.start] in BRACES_OPEN and bool(reading.value) and not _continues_behind_object(reading.value)


def _continues_behind_object(value: Any) -> bool:
    """Whether somewhere an object is followed by another member of the object that it stands in."""
    left = [value]
    while left:
        each = left.pop()
        inner = list(each.values()) if isinstance(each, dict) else each
        if isinstance(each, dict) and any(isinstance(one, dict) for one in inner[:-1]):
            return True
        left.extend(one for one in inner if isinstance(one, dict | list))
    return False


def _introduces(before: str) -> bool:
    if before.startswith(_QUOTATION) or _STRUCK.search(before):
        return False
    if not _LETTER.search(before):
        return True
    label = before.rstrip(_DECORATION)
    return label.endswith(_LABELS) and not _MEMBER.search(label)


def _behind(text: str, end: int, ceiling: int) -> str:
    """What follows in the line, without markup, up to the next bracket or control token."""
    behind = text[end : min(ceiling, end + _NEAR)]
    if rest := _END_OF_REST.search(behind):
        behind = behind[: rest.start()]
    return _MARKUP.sub("", behind).strip(BLANK)


def _ends(behind: str) -> bool:
    return not _DOTS.search(behind) and bool(_COMMENT.match(behind) or not _LETTER.search(behind))
