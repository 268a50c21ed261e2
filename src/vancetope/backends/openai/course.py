"""The course of one call to a chat completion: beside its requests, what has come of a stream and how long it may be
silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vancetope.backends import resilience
from vancetope.backends.base import OnPiece
from vancetope.backends.openai.assembly import Assembly
from vancetope.backends.openai.failures import Where
from vancetope.errors import ModelError

AFTER_FINISH = 5.0  # seconds a server may take for the usage once it has said why it finished
AFTER_DONE = 0.25  # seconds it may take to close the stream behind its end mark


@dataclass(frozen=True, slots=True)
class Written:
    """A request to a model as it goes over the wire, with its length in characters and the output limit it carries."""

    model: str
    body: Mapping[str, Any]
    content: bytes
    characters: int
    limit: int | None


class Course(resilience.Course):
    """One call over all its requests, each of which may be streamed."""

    def __init__(
        self,
        where: Where,
        timeout: float,
        idle_timeout: float,
        on_piece: OnPiece | None = None,
        on_send: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(where, timeout, on_piece, on_send)
        self.where: Where = where
        self.assembly: Assembly | None = None
        self.answered = False
        self._idle_timeout = idle_timeout
        self._ends: float | None = None
        self._is_done = False

    def restart(self) -> None:
        super().restart()
        self.assembly = None
        self.answered = False
        self._ends, self._is_done = None, False

    def patience(self) -> float:
        """When to give up on a stream, if nothing comes before; behind a whole reply, whatever comes."""
        now = self._loop.time()
        if self.assembly is None or not self.assembly.complete:
            return min(self.deadline, now + self._idle_timeout)
        if self._ends is None:
            self._ends = now + AFTER_FINISH
        if self.assembly.done and not self._is_done:
            self._is_done = True
            self._ends = min(self._ends, now + AFTER_DONE)
        return min(self.deadline, self._ends)

    def late(self) -> ModelError:
        """The error for time that ran out."""
        came = self.assembly.characters if self.assembly else 0
        return self.timed_out(answered=self.answered, characters=came, idle=self._idle_timeout)
