"""Reading one string out of JSON while it is being written."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TypeAlias

_PLAIN = re.compile(r'[^"\\]+')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_REPLACEMENT = "�"


Path: TypeAlias = tuple[str | None, ...]


class PartialReader:
    """Decodes the string at `path` in a JSON object that arrives in pieces. A null in a path is a list, any item of it.

    `feed` gives the characters that became certain with this piece; joined, they equal the decoded string, however the
    text was cut. With `guard` (a path and the values allowed there) nothing is given before that string has been read
    and allowed, and nothing at all if it is another. Only the first string at the path counts. Text that is no JSON
    object gives nothing. It never raises.
    """

    def __init__(self, path: Path, guard: tuple[Path, Collection[str]] | None = None) -> None:
        self._path = path
        self._guard = guard
        self._allowed = guard is None
        self._stack: list[str | None] = []  # the key in force per open object, null per open list
        self._expects_key = False
        self._key = ""
        self._string: str | None = None  # what the open string is: "key", "target", "guard" or "other"
        self._escape = ""
        self._high = ""  # the first half of a surrogate pair, waiting for the second
        self._guarded = ""
        self._held = ""  # target text that waits for the guard
        self._done = False
        self._dead = False

    def feed(self, piece: str) -> str:
        """Take the next piece of the JSON text; the newly decoded characters of the string."""
        out: list[str] = []
        position = 0
        while position < len(piece) and not self._dead:
            if self._string is None:
                self._structure(piece[position])
                position += 1
            elif self._escape:
                self._escaped(piece[position], out)
                position += 1
            elif match := _PLAIN.match(piece, position):
                self._take(match.group(), out)
                position = match.end()
            elif piece[position] == "\\":
                self._escape = "\\"
                position += 1
            else:
                self._close(out)
                position += 1
        return "".join(out)

    def _structure(self, char: str) -> None:
        if char in " \t\r\n":
            return
        if not self._stack and char != "{":
            self._dead = True
        elif char == '"':
            self._string = "key" if self._expects_key else self._role()
            self._key = "" if self._expects_key else self._key
        elif char in "{[":
            self._stack.append("" if char == "{" else None)
            self._expects_key = char == "{"
        elif char in "}]":
            self._stack.pop()
            self._expects_key = False
            self._dead = not self._stack
        elif char == ",":
            self._expects_key = self._stack[-1] is not None
        elif char == ":":
            self._expects_key = False

    def _role(self) -> str:
        here = tuple(self._stack)
        if here == self._path and not self._done:
            return "target"
        return "guard" if self._guard and here == self._guard[0] and not self._allowed else "other"

    def _take(self, text: str, out: list[str]) -> None:
        if self._high:
            self._high, text = "", _REPLACEMENT + text
        if self._string == "key":
            self._key += text
        elif self._string == "guard":
            self._guarded += text
        elif self._string == "target":
            if self._allowed:
                out.append(text)
            else:
                self._held += text

    def _escaped(self, char: str, out: list[str]) -> None:
        self._escape += char
        if self._escape[1] != "u":
            self._escape = ""
            self._take(_ESCAPES.get(char, char), out)
        elif len(self._escape) == 6:
            code, self._escape = self._escape[2:], ""
            try:
                self._unit(int(code, 16), out)
            except ValueError:
                self._dead = True

    def _unit(self, unit: int, out: list[str]) -> None:
        if self._high and 0xDC00 <= unit < 0xE000:
            high, self._high = ord(self._high), ""
            self._take(chr(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00)), out)
        elif 0xD800 <= unit < 0xDC00:
            if self._high:
                self._take("", out)
            self._high = chr(unit)
        else:
            self._take(_REPLACEMENT if 0xDC00 <= unit < 0xE000 else chr(unit), out)

    def _close(self, out: list[str]) -> None:
        if self._high:
            self._take("", out)
        closed, self._string = self._string, None
        if closed == "key":
            self._stack[-1] = self._key
        elif closed == "target":
            self._done = True
        elif closed == "guard" and self._guard:
            self._allowed = self._guarded in self._guard[1]
            self._dead = not self._allowed
            if self._allowed:
                out.append(self._held)
                self._held = ""
