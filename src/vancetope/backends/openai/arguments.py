"""The arguments of a streamed call while they are being written: whether they are whole already."""

from __future__ import annotations

import json
import re

_MARK = re.compile(r'["\\\[\]{}]')
_IN_STRING = re.compile(r'["\\]')
LONGEST_SCALAR = 64  # characters of a number or a name (true, null) that is asked whether it is whole


class Arguments:
    """Pieces of a JSON text. Each character is looked at once, however many pieces there are."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.length = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._ended = False
        self._is_json: bool | None = None  # null until somebody asked of a value that has ended

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def __str__(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)
        position = 0
        while not self._ended and position < len(piece):
            if self._escaped:
                self._escaped = False
                position += 1
                continue
            found = (_IN_STRING if self._in_string else _MARK).search(piece, position)
            if found is None:
                return
            position = found.end()
            self._pass(found[0])
        if piece[position:].strip():
            self._is_json = False  # something stands behind the value

    def whole(self) -> bool:
        """Whether they are one whole JSON value, or nothing came yet."""
        if not self._pieces:
            return True
        if self._is_json is None and (self._ended or self.length <= LONGEST_SCALAR):
            is_json = _is_json(str(self))
            if not self._ended:
                return is_json
            self._is_json = is_json
        return bool(self._is_json)

    def _pass(self, mark: str) -> None:
        """Go past one character that means something in JSON."""
        if mark == "\\":
            self._escaped = self._in_string
        elif mark == '"':
            self._in_string = not self._in_string
            self._ended = not self._in_string and self._depth == 0
        else:
            self._depth += 1 if mark in "[{" else -1
            self._ended = self._depth <= 0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
