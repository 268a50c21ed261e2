"""Where JSON stands in a text: one pass that knows strings, fences and delimited reasoning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from vancetope.schema import reasoning
from vancetope.schema.quoted import has_comment_behind, stands_apart
from vancetope.schema.reading import Reading, Rule, Stop, read
from vancetope.schema.signs import BLANK, BRACES_OPEN, OPENING
from vancetope.schema.tidy import Comments

MAX_CANDIDATES = 1_000


@dataclass(slots=True)
class Candidates:
    """All readings of a text in order, and the text between them.

    With `stop` the scan ended before the text did, and no value of this text may be taken. `passed` says why the first
    bracket that was passed over is no JSON.
    """

    text: str
    readings: list[Reading] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    stop: Stop | None = None
    passed: str = ""
    alone: bool = True  # whether nothing was passed over but text, reasoning and control tokens
    floor: int = 0  # no sentence reaches across: reasoning, a control token, a fence, a value that stood for itself
    seen: int = 0


def candidates(text: str) -> Candidates:
    """The objects and lists of a text, as whole fences and as spans. Linear in the text; never raises."""
    scan = Candidates(text)
    at = 0
    while event := _next(scan, at):
        scan.gaps.append((at, event.start()))
        kind = event.lastgroup or ""
        if kind == "bracket":
            at = _span(scan, event.start(), len(text))
            continue
        if kind == "fence":
            at = _fence(scan, event)
        elif kind.startswith("reason"):
            end = reasoning.end_of(event)
            at = len(text) if end is None else end
        else:
            if kind == "closing":  # what opened it stood in the prompt: all before was reasoning
                scan.readings.clear()
                scan.gaps.clear()
                scan.alone = True
            at = event.end()
        scan.floor = at
    scan.gaps.append((at, len(text)))
    return scan


_BRACKET = re.compile(rf"[{re.escape(OPENING)}]")
# What an event may begin with; alternatives that all begin with a plain character are searched for fast.
_HINT = re.compile("|".join((*map(re.escape, OPENING), "\u25c1", "```", "~~~", r"<(?=[a-zA-Z]|/[a-zA-Z]|\|\w)")))
_EVENT = re.compile(
    rf"{reasoning.OPENING}"
    rf"|(?P<closing>{reasoning.CLOSING})"
    rf"|(?P<token>{reasoning.TOKEN})"
    r"|(?P<fence>`{3,}+|~{3,}+)"
    rf"|(?P<bracket>{_BRACKET.pattern})",
    re.IGNORECASE,
)


def _next(scan: Candidates, at: int) -> re.Match[str] | None:
    """The next bracket, fence, delimiter or control token; none where the scan has ended."""
    while scan.stop is None and (hint := _HINT.search(scan.text, at)):
        if (event := _EVENT.match(scan.text, hint.start())) and _counts(scan):
            return event
        at = hint.start() + 1
    return None


def _counts(scan: Candidates) -> bool:
    """Counts one more event, and stops the scan where it is one too many."""
    scan.seen += 1
    if scan.seen > MAX_CANDIDATES:
        scan.stop = Stop("ambiguous", f"the text holds more than {MAX_CANDIDATES:,} brackets and fences")
    return scan.stop is None


def _span(scan: Candidates, start: int, end: int, line_breaks: bool = True) -> int:
    """Takes what the bracket at `start` opens; where the text goes on."""
    match read(scan.text, start, end, line_breaks):
        case Reading() as reading:
            apart = stands_apart(scan.text, scan.floor, reading, end)
            if has_comment_behind(scan.text, reading.end, end):
                below = reading.comments.below if reading.comments else ()
                reading = replace(reading, comments=Comments(True, below))
            scan.readings.append(replace(reading, given=apart))
            scan.floor = reading.end if apart else scan.floor
            return reading.end
        case Stop() as stop:
            scan.stop = stop
            return end
        case passed:
            scan.alone = False
            scan.passed = scan.passed or passed.why
            if scan.text[start] not in BRACES_OPEN:  # square brackets may hold a sentence
                scan.gaps.append((start, passed.end))
            return passed.end


def _region(scan: Candidates, at: int, end: int, line_breaks: bool) -> None:
    """Takes the spans inside a fence that is not one whole value."""
    scan.floor = at
    while scan.stop is None and (bracket := _BRACKET.search(scan.text, at, end)) and _counts(scan):
        scan.gaps.append((at, bracket.start()))
        at = _span(scan, bracket.start(), end, line_breaks)
    scan.gaps.append((at, end))


class _Fence(NamedTuple):
    """An opening fence: its marks, where its body begins, and whether it is tagged as JSON or not at all."""

    marks: str
    start: int
    body: int
    inline: bool
    indented: bool
    is_json: bool


_TAG = re.compile(r"[ \t]*+([\w.+#/-]*+)")
_JSON_TAGS = frozenset({"", "json", "jsonc", "json5", "application/json"})
_NOT_BLANK = re.compile(rf"[^{BLANK}]")
_MARKS = {mark: re.compile(rf"[{BLANK}]*+({mark}+)") for mark in "`~"}
_CLOSING_LINE = re.compile(r"^[ \t>]*+(`{3,}+|~{3,}+)[ \t\r]*+$", re.MULTILINE)


def _fence(scan: Candidates, event: re.Match[str]) -> int:
    """Takes what a fence holds; where the text goes on."""
    text, marks = scan.text, event.group()
    before = text[text.rfind("\n", 0, event.start()) + 1 : event.start()]
    if marks[0] == "~" and before.strip(BLANK):
        return event.end()
    scan.alone = False
    tag = _TAG.match(text, event.end())
    assert tag
    line_end = _end_of_line(text, tag.end())
    first = _NOT_BLANK.search(text, tag.end(), line_end)
    is_json = tag.group(1).lower() in _JSON_TAGS
    inline = marks[0] == "`" and first is not None and first.group() in OPENING
    fence = _Fence(marks, event.start(), tag.end() if inline else line_end, inline, before.isspace(), is_json)
    if marks[0] == "`" and not (is_json and inline) and (closed := _closed_in_line(text, marks, tag.end(), line_end)):
        return closed
    if not is_json:
        return _closing_line(text, marks, line_end)[1]
    if end := _whole(scan, fence):
        return end
    closing, after = _closing_line(text, marks, fence.body)
    _region(scan, fence.body, closing, not fence.indented)
    return after


def _whole(scan: Candidates, fence: _Fence) -> int | None:
    """Takes the value that is all that the fence holds; where the fence ends, if it does behind that value."""
    text = scan.text
    first = _NOT_BLANK.search(text, fence.body)
    if first is None or first.group() not in OPENING:
        return None
    found = read(text, first.start(), len(text), not fence.indented)
    if not isinstance(found, Reading):
        return None
    closing = _MARKS[fence.marks[0]].match(text, found.end)
    if closing is None or not closing.group(1).startswith(fence.marks):
        return None
    floor = scan.floor if fence.inline else fence.start
    rule: Rule = "fence" if found.rule == "span" else found.rule
    whole = replace(found, rule=rule, start=fence.start, end=closing.end())
    scan.readings.append(replace(whole, given=stands_apart(text, floor, whole, len(text))))
    return whole.end


def _closed_in_line(text: str, marks: str, at: int, end: int) -> int | None:
    """Where the line closes the fence that it opened, if it does."""
    found = text.find(marks, at, end)
    if found < 0:
        return None
    run = _MARKS[marks[0]].match(text, found, end)
    return run.end() if run else None


def _closing_line(text: str, marks: str, at: int) -> tuple[int, int]:
    """Where the body of a fence ends and where the text goes on behind it; twice the end of the text if it is open."""
    for line in _CLOSING_LINE.finditer(text, at):
        if line.group(1).startswith(marks):
            return line.start(), line.end()
    return len(text), len(text)


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
