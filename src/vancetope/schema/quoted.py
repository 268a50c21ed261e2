"""Whether a value in a text stands for itself or is quoted matter: judged by signs alone, never by words."""

from __future__ import annotations

import re

from vancetope.schema.signs import BLANK, BRACES_CLOSED, BRACES_OPEN, COLONS, OPENING, QUOTES

_NEAR = 200
_LETTER = re.compile(r"[^\W_]")
_DECORATION = "*_`~\u00ab\u00bb" + QUOTES + BLANK
_LABELS = (*COLONS, ">", "\u2192", "\u21d2", "*/", "!", "\uff01", "\u3002")
_QUOTATION = (">", "|", "//", "/*", "#", "<!--")  # what a line begins with that is quoted, tabled or commented out
_STRUCK = re.compile(r"(?:~~|<(?:s|del|strike)>)$", re.IGNORECASE)
_MEMBER = re.compile(rf"[{QUOTES}][{BLANK}]*+[{COLONS}]$")
_END_OF_REST = re.compile(rf"[\n{re.escape(OPENING)}]|<\|")
_MARKUP = re.compile(r"</?[a-z][^<>]{0,60}>", re.IGNORECASE)
_COMMENT = re.compile(r"(?://|/\*|\#)(?!.*(?:\.\.|\u2026))")
_FULL = re.compile(rf"[{BRACES_OPEN}][{BLANK}]*+[^{BLANK}{BRACES_CLOSED}].*[{BRACES_CLOSED}]", re.DOTALL)
_STRAY = re.compile(rf"[{BLANK},]*+([}}\]][{BLANK},}}\]]*+)")


def stands_apart(text: str, floor: int, start: int, end: int, ceiling: int) -> bool:
    """Whether what stands from `start` to `end` continues no sentence of its line and is no part of a larger value.

    In its line (not before `floor`, not behind `ceiling`) nothing stands before it but signs, or a label: what ends
    with a colon, an arrow, markup or a call. Nothing stands behind it but signs, markup or a comment. One brace too
    many is a slip behind an object with members; other brackets behind it say that it stood inside another value.
    """
    begin = max(floor, text.rfind("\n", floor, start) + 1)
    before = text[max(begin, start - _NEAR) : start].strip(BLANK)
    stray = _STRAY.match(text, end, ceiling)
    if stray and (stray.group(1).strip(BLANK) != "}" or not _FULL.fullmatch(text, start, end)):
        return False
    return _introduces(before) and _ends(text[end : min(ceiling, end + _NEAR)])


def _introduces(before: str) -> bool:
    if before.startswith(_QUOTATION) or _STRUCK.search(before):
        return False
    if not _LETTER.search(before):
        return True
    label = before.rstrip(_DECORATION)
    return label.endswith(_LABELS) and not _MEMBER.search(label)


def _ends(behind: str) -> bool:
    if end := _END_OF_REST.search(behind):
        behind = behind[: end.start()]
    behind = _MARKUP.sub("", behind).strip(BLANK)
    return bool(_COMMENT.match(behind)) or not _LETTER.search(behind)
