"""Lexical repairs: what is no JSON but has exactly one reading, written again as strict JSON, token by token.

Repaired are trailing commas, a comma left out between two members on two lines, comments, single, typographic and
full-width quotes, bare keys, True, False and None, raw line breaks and tabs in strings, the escape \\', full-width
punctuation and the blanks of Unicode. Nothing is guessed: a value that is not there, an ellipsis, a comment that stands
where content was left out, a number or a word that JSON does not know end the reading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vancetope.schema.signs import BLANK, CLOSING, COLONS, COMMAS, NARROW, OPENING, QUOTE_FAMILIES, QUOTES


@dataclass(frozen=True, slots=True)
class Tidied:
    """`text` is what strict JSON makes of the value; it ends before `end`."""

    text: str
    end: int


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
    rewriter = _Rewriter(line_breaks)
    at = start
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None:
            return _stray(text, end - len(text[at:end].lstrip(BLANK)), end)
        kind = match.lastgroup or ""
        try:
            rewriter.take(kind, match.group(kind), "\n" in match.group("blank"))
        except _NoReading as error:
            cut = match.end() == end and kind in ("word", "number")
            return Cut() if cut else Unreadable(match.start(kind), str(error))
        at = match.end()
        if rewriter.closed:
            return Tidied("".join(rewriter.out), at)
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
_CUT = re.compile(r"[\w.+-]{1,40}|/")
_ELLIPSIS = re.compile(r"\.\.|[…‥⋯]")
_LITERALS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_ODD = re.compile(r'\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|["\x00-\x1f]', re.DOTALL)
_RAW = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\'": "'"}


@dataclass(slots=True)
class _Rewriter:
    """Reads tokens in turn. `expect` is what may come next: `first` (a key, an item or the end), `element` (a key or an
    item, after a comma), `colon`, `value`, `after` (a comma or the end)."""

    line_breaks: bool
    out: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    expect: str = "value"
    new_line: bool = False
    last_note: str = ""  # since the token before: how the last comment stands, "beside" or "alone"
    closed: bool = False

    def take(self, kind: str, token: str, new_line: bool) -> None:
        self.new_line = self.new_line or new_line
        match kind:
            case "note":
                self._note(token)
                return
            case "string":
                self._string(token)
            case "word":
                self._word(token)
            case "number":
                self._scalar(token)
            case "open":
                self._element()
                self._push(token.translate(NARROW))
            case "close":
                self._pop(token.translate(NARROW))
            case "comma":
                self._need("after", ",")
                self.expect = "element"
            case _:
                self._need("colon", ":")
                self.out.append(":")
                self.expect = "value"
        self.new_line, self.last_note = False, ""

    def _need(self, expect: str, token: str) -> None:
        if self.expect != expect:
            raise _NoReading(f"{_shown(token)} stands where {_WANTED[self.expect]} is due")

    def _in_object(self) -> bool:
        return bool(self.stack) and self.stack[-1] == "{"

    def _element(self) -> None:
        """A value that is no key begins here."""
        if self.expect in ("first", "element") and not self._in_object():
            if self.expect == "element":
                self.out.append(",")
        else:
            self._need("value", "a value")

    def _scalar(self, written: str) -> None:
        self._element()
        self.out.append(written)
        self.expect = "after"

    def _key(self, written: str) -> None:
        self.out.append(written if self.expect == "first" else "," + written)
        self.expect = "colon"

    def _string(self, token: str) -> None:
        if not self._in_object() or self.expect in ("colon", "value"):
            self._scalar(self._quoted(token, self.line_breaks))
        elif self.expect == "after" and not self.new_line:
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
        self.stack.append(bracket)
        self.expect = "first"

    def _pop(self, bracket: str) -> None:
        if self.stack[-1] + bracket not in ("{}", "[]"):
            raise _NoReading(f"{bracket} closes {self.stack[-1]}")
        if self.expect not in ("first", "element", "after"):
            self._need("after", bracket)
        if self.last_note and (self.expect != "after" or self.last_note == "alone"):
            raise _NoReading("a comment stands where content may be left out")
        self.stack.pop()
        self.out.append(bracket)
        self.expect = "after"
        self.closed = not self.stack

    def _note(self, token: str) -> None:
        if _ELLIPSIS.search(token):
            raise _NoReading("a comment stands for content that is left out")
        beside = not self.new_line and not token.startswith("/*")
        self.last_note = "beside" if beside and self.last_note != "alone" else "alone"

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
