"""Lexical repairs: what is no JSON but has exactly one reading, written again as strict JSON, token by token.

Repaired are trailing commas, a comma left out between two members on two lines, comments, single, typographic and
full-width quotes, bare keys, True, False and None, raw line breaks and tabs in strings, the escape \\', full-width
punctuation and the blanks of Unicode. Nothing is guessed: a value that is not there, an ellipsis, also in a comment, a
number or a word that JSON does not know end the reading. Whether another comment stands for content that was left out
is not decided here; where comments stand is told.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from vancetope.schema.signs import BLANK, CLOSING, COLONS, COMMAS, NARROW, OPENING, QUOTE_FAMILIES, QUOTES
from vancetope.schema.strict import MAX_DEPTH


@dataclass(frozen=True, slots=True)
class Comments:
    """Of which containers in a value comments speak: `here` of this one, or by key or index of some further down.

    A comment speaks of the container in which it stands, of one that was closed just before it on its line, and of one
    that opens behind it, unless it ends another line.
    """

    here: bool = False
    below: tuple[tuple[str | int, Comments], ...] = ()


@dataclass(frozen=True, slots=True)
class Tidied:
    """`text` is what strict JSON makes of the value; it ends before `end`."""

    text: str
    end: int
    comments: Comments | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The text stops inside the value."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """No single reading: what stands at `at`, and why."""

    at: int
    why: str


def tidied(text: str, start: int, end: int, *, line_breaks: bool = True) -> Tidied | Cut | Unreadable:
    """The object or list that opens at `start`, read no further than `end`. Linear, never raises.

    Without `line_breaks` a raw line break inside a string is not repaired.
    """
    rewriter = _Rewriter(text, line_breaks)
    at = start
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None:
            return _stray(text, end - len(text[at:end].lstrip(BLANK)), end)
        kind = match.lastgroup or ""
        try:
            rewriter.take(kind, *match.span(kind))
        except _NoReading as error:
            cut = match.end() == end and kind in ("word", "number")
            return Cut() if cut else Unreadable(match.start(kind), str(error))
        at = match.end()
        if not rewriter.stack:
            return Tidied("".join(rewriter.out), at, rewriter.comments)
    return Cut()


def _stray(text: str, at: int, end: int) -> Cut | Unreadable:
    """What no token begins with: the rest of a cut text, or something that JSON does not know."""
    if at == end or text.startswith("/*", at) or _CUT.fullmatch(text, at, end):
        return Cut()
    if text[at] in QUOTES:
        closing = next(closing for opening, closing, _ in QUOTE_FAMILIES if text[at] in opening)
        if not any(text.find(each, at + 1, end) > 0 for each in closing if len(closing) > 1):
            return Cut()
    return Unreadable(at, f"{_shown(text[at : at + 20])} is no JSON")


class _NoReading(ValueError):
    pass


def _string(opening: str, closing: str, never: str) -> str:
    plain = rf"[^{closing}{never}\\]*+"
    return rf"[{opening}]{plain}(?:\\.{plain})*+[{closing}]"


_STRING = "|".join(_string(*family) for family in QUOTE_FAMILIES)
_TOKEN = re.compile(
    rf"(?P<blank>[{BLANK}]*+)"
    rf"(?:(?P<string>{_STRING})"
    rf"|(?P<comma>[{COMMAS}])"
    rf"|(?P<colon>[{COLONS}])"
    rf"|(?P<open>[{re.escape(OPENING)}])"
    rf"|(?P<close>[{re.escape(CLOSING)}])"
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![\w.+-])"
    r"|(?P<word>(?:[^\W\d]|\$)[\w$-]*+)"
    r"|(?P<note>(?://|\#)[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/))",
    re.DOTALL,
)
_BLANK = re.compile(rf"[{BLANK}]*+")
_CUT = re.compile(r"[\w.+-]{1,40}|/")
_ELLIPSIS = re.compile(r"\.\.|[…‥⋯]")
_LITERALS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_ODD = re.compile(r'\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|["\x00-\x1f]', re.DOTALL)
_RAW = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\'": "'"}


@dataclass(slots=True)
class _Level:
    """A container that is open: what opened it, the key (as JSON) or the index of what begins or began last in it, and
    the comments so far."""

    bracket: str
    comment: bool
    key: str = ""
    index: int = -1
    below: list[tuple[str | int, Comments]] = field(default_factory=list)

    def speak_of_last(self, comments: Comments) -> None:
        step = json.loads(self.key) if self.bracket == "{" else self.index
        self.below.append((step, comments))


@dataclass(slots=True)
class _Rewriter:
    """Reads tokens in turn. `expect` is what may come next: `first` (a key, an item or the end), `element` (a key or an
    item, after a comma), `colon`, `value`, `after` (a comma or the end)."""

    text: str
    line_breaks: bool
    out: list[str] = field(default_factory=list)
    stack: list[_Level] = field(default_factory=list)
    expect: str = "value"
    seen: int = 0  # where the last token or comment ended
    new_line: bool = False  # between two comments since the last token
    shut: bool = False  # whether a container ended with it, or with the token before its comma
    ahead: bool = False  # whether a comment speaks of what comes next
    comments: Comments | None = None

    def take(self, kind: str, start: int, end: int) -> None:
        token = self.text[start:end]
        match kind:
            case "comma":
                self._need("after", ",")
                self.expect = "element"
                self.ahead = False
            case "string":
                self._string(token, start)
            case "number":
                self._scalar(token)
            case "colon":
                self._need("colon", ":")
                self.out.append(":")
                self.expect = "value"
            case "open":
                self._element()
                self._push(token.translate(NARROW))
            case "close":
                self._pop(token.translate(NARROW))
            case "word":
                self._word(token)
            case _:
                self._note(token, start, end)
                return
        self.seen, self.new_line = end, False

    def _need(self, expect: str, token: str) -> None:
        if self.expect != expect:
            raise _NoReading(f"{_shown(token)} stands where {_WANTED[self.expect]} is due")

    def _in_object(self) -> bool:
        return bool(self.stack) and self.stack[-1].bracket == "{"

    def _element(self) -> None:
        """A value that is no key begins here."""
        if self.expect == "value":
            return
        if self.expect not in ("first", "element") or self._in_object():
            self._need("value", "a value")
        if self.expect == "element":
            self.out.append(",")
        self.stack[-1].index += 1

    def _scalar(self, written: str) -> None:
        self._element()
        self.out.append(written)
        self.expect = "after"
        self.shut = self.ahead = False

    def _key(self, written: str) -> None:
        self.out.append(written if self.expect == "first" else "," + written)
        self.stack[-1].key = written
        self.expect = "colon"
        self.shut = False

    def _string(self, token: str, start: int) -> None:
        if not self._in_object() or self.expect in ("colon", "value"):
            self._scalar(self._quoted(token, self.line_breaks))
        elif self.expect == "after" and not self._on_new_line(start):
            self._need("element", token)
        else:
            self._key(self._quoted(token, line_breaks=False))

    def _word(self, token: str) -> None:
        is_key = self._in_object() and self.expect in ("first", "element")
        if is_key and (token.islower() or token not in _LITERALS):
            self._key(f'"{token}"')
        elif not is_key and token in _LITERALS:
            self._scalar(_LITERALS[token])
        else:
            raise _NoReading(f"{_shown(token)} is no {'key' if is_key else 'value'} of JSON")

    def _push(self, bracket: str) -> None:
        self.out.append(bracket)
        self.stack.append(_Level(bracket, self.ahead))
        self.expect = "first"
        self.shut = self.ahead = False

    def _pop(self, bracket: str) -> None:
        level = self.stack[-1]
        if level.bracket + bracket not in ("{}", "[]"):
            raise _NoReading(f"{bracket} closes {level.bracket}")
        if self.expect not in ("first", "element", "after"):
            self._need("after", bracket)
        self.stack.pop()
        self.out.append(bracket)
        self.expect = "after"
        self.shut, self.ahead = True, False
        if not (level.comment or level.below):
            return
        comments = Comments(level.comment, tuple(level.below))
        if not self.stack:
            self.comments = comments
        elif len(self.stack) < MAX_DEPTH:  # deeper ones are refused anyway
            self.stack[-1].speak_of_last(comments)

    def _note(self, token: str, start: int, end: int) -> None:
        if _ELLIPSIS.search(token):
            raise _NoReading("a comment stands for content that is left out")
        level = self.stack[-1]
        between = self.expect not in ("colon", "value")
        self.new_line = self._on_new_line(start)
        level.comment = level.comment or between
        if between and self.shut and not self.new_line:
            level.speak_of_last(Comments(here=True))
            self.shut = False
        following = _BLANK.match(self.text, end)
        assert following
        self.ahead = self.new_line or not between or "\n" not in following.group()
        self.seen = end

    def _on_new_line(self, start: int) -> bool:
        return self.new_line or "\n" in self.text[self.seen : start]

    def _quoted(self, token: str, line_breaks: bool) -> str:
        inner = token[1:-1]
        if not _ODD.search(inner):
            return f'"{inner}"'
        if not line_breaks and ("\n" in inner or "\r" in inner):
            raise _NoReading("a string holds a raw line break")
        single = token[0] == "'"
        return '"' + _ODD.sub(lambda odd: _strict(odd.group(), single), inner) + '"'


def _strict(odd: str, single: bool) -> str:
    """How strict JSON writes an escape, a quote or a control character of a string."""
    if odd in _RAW:
        return _RAW[odd]
    if len(odd) == 6 or (len(odd) == 2 and odd[1] in '"\\/bfnrt'):
        return odd
    if len(odd) == 4 and single:
        return f"\\u00{odd[2:]}"
    raise _NoReading(f"the string holds {_shown(odd)}")


_WANTED = {
    "first": "a key or a value",
    "element": "a key or a value",
    "colon": "a colon",
    "value": "a value",
    "after": "a comma or the end",
}


def _shown(text: str) -> str:
    return repr(text if len(text) <= 20 else text[:19] + "…")
