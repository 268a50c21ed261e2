"""The one layer between a request and a server that fails: retries, deadlines, and leaving alone what is down.

Under it every backend makes one attempt at a time and raises typed errors; above it nobody tries again. An empty reply
is a reply: what it means is the contract's business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

import stamina

from vancetope.backends.base import OnPiece, Piece, Restarted
from vancetope.errors import CircuitOpen, ModelError, RateLimited, ReplyBroken, ServerFailed, Unreachable

T = TypeVar("T")

# Python prints the bare name of what a library logs where nobody has set up logging; who has gets it as before.
logging.getLogger("stamina").addHandler(logging.NullHandler())

ATTEMPTS = 3
WAIT_INITIAL = 0.25
WAIT_MAX = 8.0
WAIT_JITTER = 0.5
WAIT_BASE = 2.0
MOST_DOUBLINGS = 16

TRIPS = 3  # calls in a row, each with its retries
PAUSE = 10.0  # seconds; doubled each time the model is still down, up to
LONGEST_PAUSE = 120.0

NOT_IMPLEMENTED = 501  # the one 5xx that trying again cannot help


class Course:
    """The state of one call over all its requests. Times are of the running loop's clock.

    `where` names server and model in sentences, `timeout` bounds the whole call in seconds.
    """

    def __init__(
        self,
        where: object,
        timeout: float,
        on_piece: OnPiece | None = None,
        on_send: Callable[[], None] | None = None,
    ) -> None:
        self.where = where
        self.requests = 0
        self.timeout = timeout
        self.guard: Circuit | None = None
        self.begun = False  # a reply has begun in the running attempt
        self.waits = True  # no request of the running attempt has been sent yet
        self.listener_failed: Exception | None = None  # whatever its type, it is not the server's failure
        self._on_piece = on_piece
        self._on_send = on_send
        self._loop = asyncio.get_running_loop()
        self.deadline = self._loop.time() + timeout
        self._shown = False
        self._broken = 0

    @property
    def left(self) -> float:
        """The seconds until the deadline."""
        return self.deadline - self._loop.time()

    def restart(self) -> None:
        """Before each attempt: what was shown of the one before did not count."""
        self.waits, self.begun = True, False
        if self._shown and self._on_piece is not None:
            self._tell(Restarted())
            self._shown = False

    def sends(self) -> None:
        """A request goes out now. Raises `CircuitOpen` where the model came to be left alone while this call waited."""
        if self.guard is not None:
            self.guard.check(self.where)
        self.requests += 1
        self.waits = False
        if self._on_send is not None:
            self._on_send()

    def tell(self, piece: Piece) -> None:
        """Show a piece to whoever listens."""
        self.begun = True
        if self._on_piece is not None:
            self._shown = True
            self._tell(piece)

    def timed_out(self, *, answered: bool, characters: int, idle: float) -> ModelError:
        """The error for time that ran out: before a request could be sent, before an answer, or in a reply of which so
        many characters had come and which may be silent for `idle` seconds."""
        if self.waits:
            return Unreachable(
                f"{self.where}: no request could be sent within {self.timeout:g} s, all slots were taken"
            )
        if not answered:
            return Unreachable(f"{self.where} gave no answer within {self.timeout:g} s")
        came = f"{characters} characters of the reply had come"
        if self.left > 0:
            return ReplyBroken(f"{self.where} fell silent for {idle:g} s; {came}.")
        return ReplyBroken(f"{self.where} did not finish within {self.timeout:g} s; {came}.")

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
        if error.retry_after is not None:
            return error.retry_after if error.retry_after < self.left else False
        longest = min(WAIT_MAX, WAIT_INITIAL * WAIT_BASE ** min(self.requests - 1, MOST_DOUBLINGS) + WAIT_JITTER)
        return self.left > (0 if stamina.is_testing() else longest)

    def _tell(self, piece: Piece) -> None:
        assert self._on_piece is not None
        try:
            self._on_piece(piece)
        except (StopIteration, StopAsyncIteration) as error:  # no coroutine lets these through as they are
            self.listener_failed = RuntimeError(f"a listener raised {type(error).__name__}")
            raise self.listener_failed from error
        except Exception as error:
            self.listener_failed = error
            raise


@dataclass(slots=True)
class Circuit:
    """Whether a model is asked at all: not while it is down. Closed at first; it opens after `TRIPS` failed calls in a
    row, or as many requests as those may take where many calls run at once, and after a pause lets one call through to
    look. While that one fails the pause doubles."""

    calls: int = 0
    requests: int = 0
    opened_until: float | None = None
    pause: float = PAUSE
    looking: bool = False

    def enter(self, where: object) -> bool:
        """Let a call in; whether it is the one that looks. Raises `CircuitOpen` where the model is left alone now."""
        if self.opened_until is None:
            return False
        if self.looking or self.opened_until > monotonic():
            self.check(where)
        self.looking = True
        return True

    def check(self, where: object) -> None:
        """Raises `CircuitOpen` where the model came to be left alone while a call was on its way to it."""
        if self.opened_until is None:
            return
        left = self.opened_until - monotonic()
        wait = f"in {left:.0f} s" if left >= 1 else "in a moment"
        raise CircuitOpen(f"{where} failed again and again and is left alone; ask again {wait}", requests=0)

    def passed(self) -> None:
        """The model answered, be it with a refusal of the request."""
        self.calls, self.requests, self.opened_until, self.pause, self.looking = 0, 0, None, PAUSE, False

    def missed(self, error: ModelError) -> None:
        """A request failed; its call may try again."""
        self.requests += 1
        if self.opened_until is None and self.requests >= TRIPS * ATTEMPTS:
            self._open(error)

    def failed(self, error: ModelError, *, looked: bool) -> None:
        """A call failed for good. What comes back of calls that were on their way when the model was found to be down
        says nothing new."""
        if self.opened_until is not None and not looked:
            return
        self.calls += 1
        if looked:
            self.pause, self.looking = min(self.pause * 2, LONGEST_PAUSE), False
        if looked or self.calls >= TRIPS:
            self._open(error)

    def abandoned(self, *, looked: bool) -> None:
        """The call was given up from our side; it says nothing of the model."""
        if looked:
            self.looking = False

    def _open(self, error: ModelError) -> None:
        self.opened_until = monotonic() + max(self.pause, min(error.retry_after or 0.0, LONGEST_PAUSE))


class Circuits:
    """The circuits of one server's models."""

    def __init__(self) -> None:
        self._of: dict[str, Circuit] = {}

    def of(self, model: str) -> Circuit:
        return self._of.setdefault(model, Circuit())


async def persist(course: Course, circuit: Circuit, once: Callable[[], Awaitable[T]], attempts: int = ATTEMPTS) -> T:
    """What `once` gives, tried again as long as that may help: after typed failures that pass, with jitter or after the
    time that the server asks for, within the deadline and `attempts`. Raises the last `ModelError`, its `requests`
    counted over all attempts, and `CircuitOpen` without any request where the model is down."""
    looks = circuit.enter(course.where)
    course.guard = None if looks else circuit
    try:
        async for attempt in stamina.retry_context(
            on=course.may_retry,
            attempts=attempts,
            timeout=None,
            wait_initial=WAIT_INITIAL,
            wait_max=WAIT_MAX,
            wait_jitter=WAIT_JITTER,
            wait_exp_base=WAIT_BASE,
        ):
            with attempt:
                course.restart()
                given = await _watched(once, course, circuit)
                circuit.passed()
                return given
    except ModelError as error:
        error.requests, error.begun = course.requests, course.begun
        _settle(circuit, error, course, looks)
        raise
    except BaseException:
        circuit.abandoned(looked=looks)
        raise
    raise AssertionError("stamina leaves its loop with a value or an error")


async def _watched(once: Callable[[], Awaitable[T]], course: Course, circuit: Circuit) -> T:
    try:
        return await once()
    except ModelError as error:
        if _is_down(error, course) and not isinstance(error, RateLimited):  # a limit says when to come back, and we do
            circuit.missed(error)
        raise


def _settle(circuit: Circuit, error: ModelError, course: Course, looks: bool) -> None:
    if error is course.listener_failed or course.waits or isinstance(error, CircuitOpen):
        circuit.abandoned(looked=looks)
    elif _is_down(error, course):
        circuit.failed(error, looked=looks)
    else:
        circuit.passed()


def _is_down(error: ModelError, course: Course) -> bool:
    """Whether the error says that the model is down, or has no time for us."""
    if error is course.listener_failed or course.waits:
        return False
    return isinstance(error, ServerFailed | Unreachable) or (isinstance(error, RateLimited) and error.retryable)
