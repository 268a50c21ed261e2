"""Where JSON stands in a text: one pass that knows strings, fences and delimited reasoning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from vancetope.schema import reasoning
from vancetope.schema.quoted import stands_apart
from vancetope.schema.strict import MAX_DEPTH, NotJson, parse
from vancetope.schema.tidy import Cut, Tidied, Unreadable, tidied
from vancetope.schema.transport import BLANK

Rule: TypeAlias = Literal["strict", "fence", "span", "tidied", "closed"]
Reason: TypeAlias = Literal["truncated", "none", "ambiguous", "invalid", "too_deep", "too_large"]

MAX_CANDIDATES = 1_000


@dataclass(frozen=True, slots=True)
class Reading:
    """A JSON value in the text, read by `rule`, from `start` to `end`. `given` is false where it is quoted matter: a
    part of a sentence, or of a larger value whose head is lost."""

    value: Any
    rule: Rule
    start: int
    end: int
    given: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """The scan ended before the text did, and no value of this text may be taken."""

    reason: Reason
    sentence: str


@dataclass(slots=True)
class Candidates:
    """All readings of a text in order, and the text between them. A reading by rule `closed` lacks its last brace."""

    text: str
    readings: list[Reading] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    stop: Stop | None = None
    events: int = 0


def candidates(text: str) -> Candidates:
    """The objects and lists of a text, whole fences before spans. Linear in the text; never raises."""
    scan = Candidates(text)
    at = 0
    while scan.stop is None and (match := _EVENT.search(text, at)):
        scan.events += 1
        if scan.events > MAX_CANDIDATES:
            scan.stop = Stop("ambiguous", f"the text holds more than {MAX_CANDIDATES} brackets, fences and marks")
            return scan
        scan.gaps.append((at, match.start()))
        kind = match.lastgroup or ""
        if kind == "bracket":
            at = _span(scan, match.start(), at, len(text))
        elif kind == "fence":
            at = _fence(scan, match, at)
        elif kind.startswith("reason"):
            end = reasoning.end_of(match)
            at = len(text) if end is None else end
        else:
            if kind == "closing":  # what opened it stood in the prompt: all before was reasoning
                scan.readings.clear()
                scan.gaps.clear()
            at = match.end()
    scan.gaps.append((at, len(text)))
    return scan


_OPEN = "{[｛［"
_QUOTE = "\"'“”„‟‘’‚‛＂＇"
_EVENT = re.compile(
    rf"{reasoning.OPENING}"
    rf"|(?P<closing>{reasoning.CLOSING})"
    rf"|(?P<token>{reasoning.TOKEN})"
    r"|(?P<fence>`{3,}+|^[ \t]*+~{3,}+)"
    r"|(?P<bracket>[{\[｛［])",
    re.IGNORECASE | re.MULTILINE,
)
_SPAN = re.compile(r"[{\[｛［]")


def _region(scan: Candidates, at: int, end: int, line_breaks: bool) -> None:
    """The spans inside a fence that is not one whole value."""
    floor = at
    while scan.stop is None and (match := _SPAN.search(scan.text, at, end)):
        scan.events += 1
        if scan.events > MAX_CANDIDATES:
            scan.stop = Stop("ambiguous", f"the text holds more than {MAX_CANDIDATES} brackets, fences and marks")
            return
        scan.gaps.append((at, match.start()))
        at = _span(scan, match.start(), max(at, floor), end, line_breaks)
    scan.gaps.append((at, end))


def _span(scan: Candidates, start: int, floor: int, end: int, line_breaks: bool = True) -> int:
    """Takes what the bracket at `start` opens; where the text goes on."""
    found = _read(scan.text, start, end, line_breaks)
    if isinstance(found, Stop):
        scan.stop = found
        return end
    if isinstance(found, int):
        return found
    apart = stands_apart(scan.text, floor, found.start, found.end, end)
    scan.readings.append(Reading(found.value, found.rule, found.start, found.end, apart))
    return found.end


def _read(text: str, start: int, end: int, line_breaks: bool = True) -> Reading | Stop | int:
    """What the bracket at `start` opens: a value, the end of something that is no JSON, or a reason to stop."""
    closing = _balanced(text, start, end)
    if closing == _TOO_DEEP:
        return Stop("too_deep", f"the JSON nests deeper than {MAX_DEPTH} levels")
    if closing is not None:
        try:
            return Reading(parse(text[start:closing]), "span", start, closing)
        except NotJson:
            pass
    if not _looks_like_json(text, start, end):
        if closing is None:
            return Stop("none", f"the bracket {_place(text, start)} never closes, and what follows it cannot be judged")
        return closing
    return _tidied(text, start, end, line_breaks)


def _tidied(text: str, start: int, end: int, line_breaks: bool) -> Reading | Stop:
    match tidied(text, start, end, line_breaks=line_breaks):
        case Tidied(written, closing):
            try:
                return Reading(parse(written), "tidied", start, closing)
            except NotJson as error:
                reason = error.reason if error.reason in ("too_deep", "too_large") else "none"
                return Stop(reason, str(error))
        case Unreadable(at, why):
            return Stop("none", f"the JSON cannot be read {_place(text, at)}: {why}")
        case Cut():
            return _closed(text, start, end) or Stop(
                "truncated", f"the JSON that opens {_place(text, start)} stops before its end"
            )


_TRAILING = 100  # a longer run of blanks at the end is a model that got lost, not one that forgot a brace


def _closed(text: str, start: int, end: int) -> Reading | None:
    """The object that lacks nothing but its last brace, behind a token that is closed."""
    body = text[start:end].rstrip(BLANK)
    if end - start - len(body) > _TRAILING or body[-1].isdigit():
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
_OPENERS = re.compile(rf"(?:[{_OPEN}]{_SKIP})+")
_NAME = r"(?:[^\W\d]|\$)[\w$-]*+"
_MEMBER = re.compile(rf"[}}｝{_QUOTE}]|{_NAME}[{BLANK}]*+(?:[:：]|\Z)|\Z")
_ITEM = re.compile(rf"[\]］{_QUOTE}]|(?:-?[0-9][0-9.eE+-]*+|{_NAME})[{BLANK}]*+(?:[,，\]］]|\Z)|\Z")


def _looks_like_json(text: str, start: int, end: int) -> bool:
    """Whether what opens here was meant as JSON: a key with its quotes or its colon, an item, or nothing at all."""
    openers = _OPENERS.match(text, start, end)
    assert openers
    last = next(each for each in reversed(openers.group()) if each in _OPEN)
    return bool((_MEMBER if last in "{｛" else _ITEM).match(text, openers.end(), end))


_TAG = re.compile(r"[ \t]*+([\w.+#/-]*+)")
_JSON_TAGS = frozenset({"", "json", "jsonc", "json5", "application/json"})
_CLOSING_LINE = re.compile(r"^[ \t>]*+(`{3,}+|~{3,}+)[ \t\r]*+$", re.MULTILINE)
_MARKS = {mark: re.compile(rf"[{BLANK}]*+({mark}+)") for mark in "`~"}
_NOT_BLANK = re.compile(rf"[^{BLANK}]")


def _fence(scan: Candidates, match: re.Match[str], floor: int) -> int:
    """Takes what a fence holds; where the text goes on."""
    text, marks = scan.text, match.group().lstrip()
    tag = _TAG.match(text, match.end())
    assert tag
    line_end = _end_of_line(text, tag.end())
    first = _NOT_BLANK.search(text, tag.end(), line_end)
    if tag.group(1).lower() not in _JSON_TAGS:
        inline = _run(text, marks, tag.end(), line_end)
        return inline or _closing_line(text, marks, line_end)[1]
    inside = first is not None and first.group() in _OPEN
    if first and not inside and (closed := _run(text, marks, first.start(), line_end)):
        return closed
    indented = text[text.rfind("\n", 0, match.start()) + 1 : match.end()].startswith((" ", "\t"))
    body = first.start() if first and inside else line_end
    if end := _whole(scan, match.start(), floor, body, marks, not indented):
        return end
    scan.gaps.append(match.span())
    closing, after = _closing_line(text, marks, body)
    _region(scan, body, closing, not indented)
    return after


def _whole(scan: Candidates, start: int, floor: int, body: int, marks: str, line_breaks: bool) -> int | None:
    """Takes the value that is all that the fence holds; where the fence ends, if it does behind that value."""
    text = scan.text
    first = _NOT_BLANK.search(text, body)
    if first is None or first.group() not in _OPEN:
        return None
    found = _read(text, first.start(), len(text), line_breaks)
    if not isinstance(found, Reading):
        return None
    closing = _MARKS[marks[0]].match(text, found.end)
    if closing is None or len(closing.group(1)) < len(marks):
        return None
    rule: Rule = "fence" if found.rule == "span" else "tidied"
    inline = "\n" not in text[start : first.start()]
    apart = stands_apart(text, floor if inline else start, start, closing.end(), len(text), fenced=True)
    scan.readings.append(Reading(found.value, rule, first.start(), closing.end(), apart))
    return closing.end()


def _run(text: str, marks: str, at: int, end: int) -> int | None:
    """Where the line closes the fence that it opened, if it does."""
    found = text.find(marks, at, end)
    if found < 0:
        return None
    while found + len(marks) < end and text.startswith(marks[0], found + len(marks)):
        found += 1
    return found + len(marks)


def _closing_line(text: str, marks: str, at: int) -> tuple[int, int]:
    """Where the body of a fence ends and where the text goes on behind it; twice the end of the text if it is open."""
    for line in _CLOSING_LINE.finditer(text, at):
        if line.group(1).startswith(marks):
            return line.start(), line.end()
    return len(text), len(text)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"at line {line}, column {at - text.rfind(chr(10), 0, at)}"
