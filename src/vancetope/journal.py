"""The seam to durability: every effect of a turn is a step with a key."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from vancetope.errors import VancetopeError

T = TypeVar("T")

JOURNAL_VERSION = 1


class Journal(Protocol):
    """Where the finished steps of one turn are kept.

    Contract: `step` returns the stored value of the key if there is one and does not call `fn` then; else it calls `fn`
    once, stores what it returned and returns it. A step whose `fn` raised or was cancelled is not stored. `kind` is the
    type of the value; values are frozen dataclasses of ours.
    """

    async def step(self, key: str, fn: Callable[[], Awaitable[T]], kind: type[T]) -> T: ...


class NullJournal:
    """Keeps nothing: the journal of ephemeral runs."""

    async def step(self, key: str, fn: Callable[[], Awaitable[T]], kind: type[T]) -> T:
        return await fn()


class RecordingJournal:
    """Keeps every step in memory, as the JSON that a store would hold.

    `to_json` and `from_json` carry it to another process; a turn that runs over the same journal finds its finished
    steps there and repeats none. With `frozen` a step that is not there raises instead of running.
    """

    def __init__(self, stored: dict[str, Any] | None = None, *, frozen: bool = False) -> None:
        self.stored: dict[str, Any] = dict(stored or {})
        self.frozen = frozen
        self.ran: list[str] = []

    async def step(self, key: str, fn: Callable[[], Awaitable[T]], kind: type[T]) -> T:
        adapter = _adapter(kind)
        if key not in self.stored:
            if self.frozen:
                raise VancetopeError(f"the journal has no step {key!r}, and it is frozen")
            value = await fn()
            self.ran.append(key)
            self.stored[key] = adapter.dump_python(value, mode="json")
        restored: T = adapter.validate_python(self.stored[key])
        return restored

    def to_json(self) -> str:
        return json.dumps({"version": JOURNAL_VERSION, "steps": self.stored})

    @classmethod
    def from_json(cls, text: str, *, frozen: bool = False) -> RecordingJournal:
        stored = json.loads(text)
        if stored.get("version") != JOURNAL_VERSION:
            raise VancetopeError(
                f"the journal has version {stored.get('version')}, this vancetope reads {JOURNAL_VERSION}"
            )
        return cls(stored["steps"], frozen=frozen)


_adapters: dict[type[Any], Any] = {}


def _adapter(kind: type[Any]) -> Any:
    if kind not in _adapters:
        from pydantic import TypeAdapter

        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]
