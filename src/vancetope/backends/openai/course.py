"""The course of one call: its time, its requests, what was shown, and whether it may try again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import stamina

from vancetope.backends.base import OnPiece, Piece, Restarted
from vancetope.backends.openai.assembly import Assembly
from vancetope.backends.openai.failures import NOT_IMPLEMENTED, Where, broken
from vancetope.errors import ModelError, ReplyBroken, Unreachable

WAIT_INITIAL = 0.25
WAIT_MAX = 8.0
WAIT_JITTER = 0.5
WAIT_BASE = 2.0

AFTER_FINISH = 5.0  # seconds a server may take for the usage once it has said why it finished
AFTER_DONE = 0.25  # seconds it may take to close the stream behind its end mark


@dataclass(frozen=True, slots=True)
class Written:
    """A request as it goes over the wire, with its length in characters and the output limit it carries."""

    body: Mapping[str, Any]
    content: bytes
    characters: int
    limit: int | None


class Course:
    """The state of one call over all its requests. Times are of the running loop's clock."""

    def __init__(
        self,
        where: Where,
        timeout: float,
        idle_timeout: float,
        on_piece: OnPiece | None = None,
        on_send: Callable[[], None] | None = None,
    ) -> None:
        self.where = where
        self.requests = 0
        self.assembly: Assembly | None = None
        self.answered = False
        self.listener_failed: Exception | None = None  # whatever its type, it is not the server's failure
        self._on_piece = on_piece
        self._on_send = on_send
        self._timeout = timeout
        self._idle_timeout = idle_timeout
        self._loop = asyncio.get_running_loop()
        self.deadline = self._loop.time() + timeout
        self._shown = False
        self._broken = 0
        self._waits = True

    def restart(self) -> None:
        """Before each attempt: what was shown of the one before did not count."""
        self.assembly = None
        self.answered = False
        self._waits = True
        if self._shown and self._on_piece is not None:
            self._tell(Restarted())
            self._shown = False

    def sends(self) -> None:
        """A request goes out now."""
        self.requests += 1
        self._waits = False
        if self._on_send is not None:
            self._on_send()

    def tell(self, piece: Piece) -> None:
        if self._on_piece is not None:
            self._shown = True
            self._tell(piece)

    def _tell(self, piece: Piece) -> None:
        assert self._on_piece is not None
        try:
            self._on_piece(piece)
        except Exception as error:
            self.listener_failed = error
            raise

    def patience(self) -> float:
        """When to give up on a stream, if nothing comes before."""
        longest = self._idle_timeout
        if self.assembly is not None and self.assembly.complete:
            longest = AFTER_DONE if self.assembly.done else AFTER_FINISH
        return min(self.deadline, self._loop.time() + longest)

    def may_retry(self, error: Exception) -> bool | float:
        """For stamina: whether to try again, or in how many seconds.

        Never past the deadline, and only once after a broken reply: the provider may have billed it.
        """
        if not isinstance(error, ModelError) or error is self.listener_failed:
            return False
        if not error.retryable or error.status == NOT_IMPLEMENTED:
            return False
        if isinstance(error, ReplyBroken):
            self._broken += 1
            if self._broken > 1:
                return False
        left = self.deadline - self._loop.time()
        if error.retry_after is not None:
            return error.retry_after if error.retry_after < left else False
        longest = min(WAIT_MAX, WAIT_INITIAL * WAIT_BASE ** (self.requests - 1) + WAIT_JITTER)
        return left > (0 if stamina.is_testing() else longest)

    def timed_out(self) -> ModelError:
        """The error for time that ran out."""
        if self._waits:
            return Unreachable(
                f"{self.where}: no request could be sent within {self._timeout:g} s, all slots were taken"
            )
        if not self.answered:
            return Unreachable(f"{self.where} gave no answer within {self._timeout:g} s")
        came = f"{self.assembly.characters if self.assembly else 0} characters of the reply had come"
        if self._loop.time() < self.deadline:
            return broken(self.where, f"fell silent for {self._idle_timeout:g} s; {came}.")
        return broken(self.where, f"did not finish within {self._timeout:g} s; {came}.")
