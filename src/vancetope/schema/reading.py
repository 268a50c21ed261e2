"""What one bracket of a text opens: a JSON value, something that is none, or a reason to read no further."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vancetope.schema.signs import BLANK, BRACES_CLOSED, BRACES_OPEN, CLOSING, COLONS, COMMAS, OPENING, QUOTES
from vancetope.schema.strict import MAX_DEPTH, NotJson, parse
from vancetope.schema.tidy import Comments, Cut, Tidied, Unreadable, tidied

Rule: TypeAlias = Literal["strict", "fence", "span", "tidied", "closed"]
Reason: TypeAlias = Literal["truncated", "none", "ambiguous", "invalid", "too_deep", "too_large"]

MAX_TRAILING = 100  # a longer run of blanks at the end is a model that got lost, not one that forgot a brace


@dataclass(frozen=True, slots=True)
class Reading:
    """A JSON value, read by `rule` from `start` to `end`; by `closed` with a last brace that the text lacks.

    `given` is false where it is quoted matter: a part of a sentence, or of a larger value whose head is lost.
    `comments` are those that were left out of it.
    """

    value: Any
    rule: Rule
    start: int
    end: int
    given: bool = False
    comments: Comments | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """The text may not be read on: what was meant here and where it ends is in doubt."""

    reason: Reason
    sentence: str


@dataclass(frozen=True, slots=True)
class Passed:
    """No JSON, and nothing that could be taken for some up to `end`."""

    end: int
    why: str = ""


def read(text: str, start: int, end: int, line_breaks: bool = True) -> Reading | Passed | Stop:
    """What the bracket at `start` opens, no further than `end`: strict JSON, else what lexical repairs make of it.

    Without `line_breaks` no raw line break is repaired. Linear in what it passes, never raises.
    """
    closing = _balanced(text, start, end)
    if closing == _TOO_DEEP:
        return Stop("too_deep", f"the JSON nests deeper than {MAX_DEPTH} levels")
    if closing is not None:
        try:
            return Reading(parse(text[start:closing]), "span", start, closing)
        except NotJson:
            pass
    elif _is_cut(text[start:end]):
        return _unclosed(text, start, end)
    if _looks_like_json(text, start, end):
        return _tidied(text, start, closing, end, line_breaks)
    if closing is None:
        return Stop("none", f"the bracket {_place(text, start)} never closes, so the JSON cannot be told from the rest")
    return Passed(closing)


def _tidied(text: str, start: int, closing: int | None, end: int, line_breaks: bool) -> Reading | Passed | Stop:
    match tidied(text, start, end, line_breaks=line_breaks):
        case Tidied(written, closing, comments):
            try:
                return Reading(parse(written), "tidied", start, closing, comments=comments)
            except NotJson as error:
                return Stop(error.reason if error.reason in ("too_deep", "too_large") else "none", str(error))
        case Unreadable(at, why):
            said = f"the JSON cannot be read {_place(text, at)}: {why}"
            # Without a quote there is no doubt where the braces end, and what they hold is rather a placeholder.
            if closing is not None and not _A_QUOTE.search(text, start, closing):
                return Passed(closing, said)
            return Stop("none", said)
        case Cut():
            return _unclosed(text, start, end)


def _is_cut(text: str) -> bool:
    """Whether a text is strict JSON as far as it goes. A short cut: repairs would come to the same end, slowly."""
    try:
        parse(text)
    except NotJson as error:
        return error.reason == "truncated"
    return False


def _unclosed(text: str, start: int, end: int) -> Reading | Stop:
    said = f"the JSON that opens {_place(text, start)} stops before its end"
    return _closed(text, start, end) or Stop("truncated", said)


_A_QUOTE = re.compile(f"[{QUOTES}]")
_CLOSED_TOKENS = ('"', "]", "}", "true", "false", "null")


def _closed(text: str, start: int, end: int) -> Reading | None:
    """The object that lacks nothing but its last brace, behind a token that is closed."""
    body = text[start:end].rstrip(BLANK)
    if end - start - len(body) > MAX_TRAILING or not body.endswith(_CLOSED_TOKENS):
        return None
    try:
        return Reading(parse(body + "}"), "closed", start, start + len(body))
    except NotJson:
        return None


_TOO_DEEP = -1
# A whole string, or one structural character. A quote that opens and never closes matches alone and ends the scan.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}]', re.DOTALL)


def _balanced(text: str, start: int, end: int) -> int | None:
    """Where the bracket at `start` is closed, counting brackets outside of strings."""
    depth = 0
    for match in _TOKEN.finditer(text, start, end):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return _TOO_DEEP
        elif token in "]}":
            depth -= 1
            if depth <= 0:
                return match.end() if depth == 0 else None
        elif token == '"':
            return None
    return None


_SKIP = rf"(?:[{BLANK}]|(?<=\s)(?://|\#)[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)*+"
_OPENERS = re.compile(rf"(?:([{re.escape(OPENING)}]){_SKIP})+")
_NAME = r"(?:[^\W\d]|\$)[\w$-]*+"
_MEMBER = re.compile(rf"[{BRACES_CLOSED}{QUOTES}]|{_NAME}[{BLANK}]*+(?:[{COLONS}]|\Z)|\Z")
_NUMBER = r"-?[0-9][0-9.eE+-]*+"
_ITEM = re.compile(
    rf"[{re.escape(CLOSING)}{QUOTES}]|(?:{_NUMBER}|{_NAME}){_SKIP}(?:[{COMMAS}{re.escape(CLOSING)}]|\Z)|\Z"
)


def _looks_like_json(text: str, start: int, end: int) -> bool:
    """Whether what opens here was meant as JSON: a key with its quotes or its colon, an item, or nothing at all."""
    openers = _OPENERS.match(text, start, end)
    assert openers
    inside = _MEMBER if openers.group(1) in BRACES_OPEN else _ITEM
    return bool(inside.match(text, openers.end(), end))


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"at line {line}, column {at - text.rfind(chr(10), 0, at)}"
