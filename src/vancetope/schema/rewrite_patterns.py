"""Regular expressions that mean the same in every provider's dialect."""

from __future__ import annotations

from collections.abc import Iterator

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_MAX_REPEAT = 100
_MAX_LENGTH = 500
# Beyond these a dialect may disagree, or a grammar over JSON text may forget that it stands inside a string.
_LITERALS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _:;,@#%&=!~'<>-/")
_ESCAPED = frozenset(".+*?()[]{}|^$-/")  # as themselves after a backslash; written as classes of one character


class _NotPortable(Exception):
    pass


def portable(pattern: str) -> str | None:
    """An equal pattern that every dialect reads alike; None where there is none.

    It is anchored at both ends (elsewhere JSON Schema searches and grammars match), and is made only of printable
    ASCII but quotes and backslashes, classes, groups, alternatives and small repeats.
    """
    if len(pattern) > _MAX_LENGTH or not pattern.startswith("^") or not pattern.endswith("$"):
        return None
    inner = pattern[1:-1]
    try:
        reader = _Reader(inner)
        written = reader.alternatives(depth=0)
        if reader.at != len(inner):
            return None
    except _NotPortable:
        return None
    # `^a|b$` anchors each side once: it is no match of the whole.
    return None if reader.alternatives_on_top else f"^{written}$"


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.alternatives_on_top = False

    def alternatives(self, depth: int) -> str:
        if depth > 10:
            raise _NotPortable
        options = ["".join(self._sequence(depth))]
        while self._next("|"):
            options.append("".join(self._sequence(depth)))
        if len(options) > 1 and depth == 0:
            self.alternatives_on_top = True
        if not all(options):
            raise _NotPortable
        return "|".join(options)

    def _sequence(self, depth: int) -> Iterator[str]:
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            yield self._atom(depth) + self._repeat()

    def _atom(self, depth: int) -> str:
        char = self._take()
        if char == "(":
            if self._next("?") and not self._next(":"):
                raise _NotPortable
            inner = self.alternatives(depth + 1)
            if not self._next(")"):
                raise _NotPortable
            return f"({inner})"
        if char == "[":
            return f"[{self._class()}]"
        if char == "\\":
            named = self._take()
            if named in _CLASSES:
                return f"[{_CLASSES[named]}]"
            return self._written(named, escaped=True)
        return self._written(char, escaped=False)

    def _class(self) -> str:
        """The inside of a class, `-` and brackets not among its characters: those every dialect escapes in its way."""
        parts: list[str] = []
        while not self._next("]"):
            char = self._take()
            if char == "\\":
                char = self._take()
                if char in _CLASSES:
                    parts.append(_CLASSES[char])
                    continue
                if char not in _ESCAPED:
                    raise _NotPortable
            elif char == "[":
                raise _NotPortable
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("", "]"):
                self.at += 1
                parts.append(self._range(char, self._take()))
            elif char in "[]^" or char not in _LITERALS | _ESCAPED:
                raise _NotPortable
            else:
                parts.append(char)
        hyphen = "-" in parts
        written = "".join(part for part in parts if part != "-") + ("-" if hyphen else "")
        if not written or written == "-":
            raise _NotPortable
        return written

    def _range(self, first: str, last: str) -> str:
        for kind in (str.isdigit, str.islower, str.isupper):
            if first.isascii() and last.isascii() and kind(first) and kind(last) and first <= last:
                return f"{first}-{last}"
        raise _NotPortable

    def _written(self, char: str, escaped: bool) -> str:
        if char in _LITERALS and (not escaped or not char.isalnum()):
            return char
        if escaped and char in _ESCAPED and char not in "[]^":
            return f"[{char}]"
        raise _NotPortable

    def _repeat(self) -> str:
        mark = self._peek()
        if mark in ("*", "+", "?"):
            self.at += 1
        elif mark == "{":
            mark = self._counted()
        else:
            return ""
        if self._peek() in ("?", "+", "*", "{"):
            raise _NotPortable
        return mark

    def _counted(self) -> str:
        end = self.text.find("}", self.at)
        least, comma, most = self.text[self.at + 1 : end].partition(",")
        numbers = [each for each in (least, most) if each]
        if end < 0 or not least or not all(each.isascii() and each.isdecimal() for each in numbers):
            raise _NotPortable
        if any(int(each) > _MAX_REPEAT for each in numbers) or (most and int(most) < int(least)):
            raise _NotPortable
        if int(most or least) == 0 and (most or not comma):
            raise _NotPortable
        self.at = end + 1
        return f"{{{int(least)}{comma}{int(most) if most else ''}}}"

    def _take(self) -> str:
        if self.at >= len(self.text):
            raise _NotPortable
        self.at += 1
        return self.text[self.at - 1]

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _next(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self.at += 1
        return True
