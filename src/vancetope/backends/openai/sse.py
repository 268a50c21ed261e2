"""Server-sent events, as model servers really send them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Sent:
    """One event: its name (empty if it has none) and its data lines."""

    name: str
    lines: tuple[str, ...]


class EventReader:
    """Bytes in, events out, whatever the cuts between the bytes.

    Lines may end in LF, CRLF or CR; comments and unknown fields are passed over. An event that the end of the stream
    cut off before its blank line counts: the spec drops it, but some servers never send that line.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._name = ""
        self._lines: list[str] = []

    def feed(self, block: bytes) -> list[Sent]:
        """The events that this block completes."""
        first, *more = block.split(b"\n")
        self._rest.append(first)
        if not more:
            return []
        lines = [b"".join(self._rest), *more]
        self._rest = [lines.pop()]
        return self._read(lines)

    def close(self) -> list[Sent]:
        """The events still open at the end of the stream."""
        events = self._read([b"".join(self._rest), b""])
        self._rest = []
        return events

    def _read(self, lines: list[bytes]) -> list[Sent]:
        events: list[Sent] = []
        for line in lines:
            if b"\r" in line:
                for part in line.removesuffix(b"\r").split(b"\r"):
                    self._line(part, events)
            else:
                self._line(line, events)
        return events

    def _line(self, line: bytes, events: list[Sent]) -> None:
        if line.startswith(b"data:"):
            self._lines.append(line[5:].decode("utf-8", "replace").removeprefix(" "))
        elif not line:
            if self._lines:
                events.append(Sent(self._name, tuple(self._lines)))
                self._lines = []
            self._name = ""
        elif line.startswith(b"event:"):
            self._name = line[6:].decode("utf-8", "replace").strip()
        elif line.startswith(b"error:"):
            # Older llama.cpp servers send their failure as a field of its own.
            self._name = "error"
            self._lines.append(line[6:].decode("utf-8", "replace").strip())


def values(event: Sent) -> list[Any]:
    """The JSON values of an event; `DONE` for the end mark. Raises ValueError for anything else.

    Several data lines are one value, except where each is a value of its own: some servers forget the blank lines.
    """
    if len(event.lines) == 1:
        text = event.lines[0].strip()
        return [DONE if text == DONE else json.loads(text)] if text else []
    try:
        return [json.loads("\n".join(event.lines))]
    except ValueError:
        lines = [line.strip() for line in event.lines]
        return [DONE if line == DONE else json.loads(line) for line in lines if line]
