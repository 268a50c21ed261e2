"""The one layer between a request and a server that fails."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable

import pytest
import stamina

from vancetope.backends import resilience
from vancetope.backends.base import Piece, Restarted, TextPiece
from vancetope.backends.resilience import PAUSE, TRIPS, Circuit, Circuits, Course, persist
from vancetope.errors import (
    AuthRefused,
    CircuitOpen,
    ModelError,
    RateLimited,
    ReplyBroken,
    RequestRejected,
    ServerFailed,
    Unreachable,
)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(resilience, "monotonic", made)
    return made


@pytest.fixture(autouse=True)
def no_waits() -> Iterable[None]:
    stamina.set_testing(True, attempts=3, cap=True)
    yield
    stamina.set_testing(False)


def course(timeout: float = 30.0, on_piece: Callable[[Piece], None] | None = None) -> Course:
    return Course("a server (model m)", timeout, on_piece)


def failing(of: Course, *errors: ModelError) -> Callable[[], Awaitable[str]]:
    """An attempt that fails with these one after the other, and then gives a reply."""
    left = list(errors)

    async def once() -> str:
        of.sends()
        if left:
            raise left.pop(0)
        return "a reply"

    return once


async def asked(circuit: Circuit, *errors: ModelError) -> str:
    here = course()
    return await persist(here, circuit, failing(here, *errors))


@pytest.mark.parametrize("error", [RateLimited, ServerFailed, Unreachable, ReplyBroken])
async def test_what_may_pass_is_tried_again(error: type[ModelError]) -> None:
    here = course()
    assert await persist(here, Circuit(), failing(here, error())) == "a reply"
    assert here.requests == 2


@pytest.mark.parametrize("error", [AuthRefused, RequestRejected])
async def test_what_cannot_pass_is_not_tried_again(error: type[ModelError]) -> None:
    here = course()
    with pytest.raises(error) as raised:
        await persist(here, Circuit(), failing(here, error()))
    assert (here.requests, raised.value.requests) == (1, 1)


async def test_the_requests_of_all_attempts_are_counted_in_the_error() -> None:
    here = course()
    with pytest.raises(ServerFailed) as raised:
        await persist(here, Circuit(), failing(here, *[ServerFailed() for _ in range(9)]))
    assert raised.value.requests == 3


async def test_a_broken_reply_is_asked_for_once_more_and_no_third_time() -> None:
    here = course()
    with pytest.raises(ReplyBroken):
        await persist(here, Circuit(), failing(here, ReplyBroken(), ReplyBroken()))
    assert here.requests == 2


async def test_a_server_that_wants_more_time_than_there_is_is_not_asked_again() -> None:
    here = course(timeout=5.0)
    with pytest.raises(RateLimited):
        await persist(here, Circuit(), failing(here, RateLimited(retry_after=60.0)))
    assert here.requests == 1


async def test_what_was_shown_of_a_broken_attempt_is_taken_back_before_the_next() -> None:
    shown: list[Piece] = []
    here = course(on_piece=shown.append)
    replies = iter([ReplyBroken(), None])

    async def once() -> str:
        here.sends()
        here.tell(TextPiece("some"))
        if error := next(replies):
            raise error
        return "some more"

    await persist(here, Circuit(), once)
    assert shown == [TextPiece("some"), Restarted(), TextPiece("some")]


async def test_an_error_says_whether_a_reply_had_begun() -> None:
    here = course()

    async def once() -> str:
        here.sends()
        here.tell(TextPiece("some"))
        raise ReplyBroken

    with pytest.raises(ReplyBroken) as raised:
        await persist(here, Circuit(), once)
    assert raised.value.begun
    with pytest.raises(ServerFailed) as clean:
        await asked(Circuit(), *[ServerFailed() for _ in range(3)])
    assert not clean.value.begun


def left(circuit: Circuit, clock: Clock) -> int | None:
    """The seconds until a call may look again."""
    return None if circuit.opened_until is None else round(circuit.opened_until - clock.now)


async def down(circuit: Circuit, times: int = TRIPS) -> None:
    for _ in range(times):
        with pytest.raises(ServerFailed):
            await asked(circuit, *[ServerFailed() for _ in range(3)])


async def test_a_model_that_is_down_is_left_alone_and_nothing_is_sent(clock: Clock) -> None:
    circuit = Circuit()
    await down(circuit)
    here = course()
    with pytest.raises(CircuitOpen, match="failed again and again and is left alone; ask again in 10 s") as raised:
        await persist(here, circuit, failing(here))
    assert (here.requests, raised.value.requests) == (0, 0)


async def test_fewer_failures_than_it_takes_close_nothing(clock: Clock) -> None:
    circuit = Circuit()
    await down(circuit, TRIPS - 1)
    assert await asked(circuit) == "a reply"
    await down(circuit, TRIPS - 1)
    assert await asked(circuit) == "a reply"


async def test_after_the_pause_one_call_looks_and_its_answer_opens_the_way(clock: Clock) -> None:
    circuit = Circuit()
    await down(circuit)
    clock.now += PAUSE + 0.1
    assert await asked(circuit) == "a reply"
    await down(circuit, TRIPS - 1)
    assert await asked(circuit) == "a reply"


async def test_only_one_call_looks_at_a_time(clock: Clock) -> None:
    circuit = Circuit()
    await down(circuit)
    clock.now += PAUSE + 0.1
    goes_on = asyncio.Event()
    here = course()

    async def slow() -> str:
        here.sends()
        await goes_on.wait()
        return "a reply"

    first = asyncio.ensure_future(persist(here, circuit, slow))
    await asyncio.sleep(0)
    with pytest.raises(CircuitOpen):
        await asked(circuit)
    goes_on.set()
    assert await first == "a reply"
    assert await asked(circuit) == "a reply"


async def test_a_look_that_was_cancelled_leaves_the_next_one_to_look(clock: Clock) -> None:
    circuit = Circuit()
    await down(circuit)
    clock.now += PAUSE + 0.1
    here = course()

    async def never() -> str:
        here.sends()
        await asyncio.Event().wait()
        return "no reply"

    task = asyncio.ensure_future(persist(here, circuit, never))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asked(circuit) == "a reply"


async def test_the_pause_doubles_while_the_model_stays_down(clock: Clock) -> None:
    circuit = Circuit()
    await down(circuit)
    pauses: list[int] = []
    for _ in range(6):
        pauses.append(left(circuit, clock) or 0)
        clock.now += pauses[-1] + 0.1
        await down(circuit, 1)
    assert pauses == [10, 20, 40, 80, 120, 120]


@pytest.mark.parametrize("error", [AuthRefused, RequestRejected, ReplyBroken])
async def test_what_says_nothing_of_the_servers_health_closes_nothing(error: type[ModelError], clock: Clock) -> None:
    circuit = Circuit()
    for _ in range(TRIPS + 1):
        with pytest.raises(error):
            await asked(circuit, error(), error())
    assert await asked(circuit) == "a reply"


async def test_the_models_of_a_server_do_not_share_a_circuit(clock: Clock) -> None:
    circuits = Circuits()
    await down(circuits.of("small"))
    with pytest.raises(CircuitOpen):
        await asked(circuits.of("small"))
    assert await asked(circuits.of("large")) == "a reply"


async def test_a_listener_that_fails_says_nothing_of_the_model() -> None:
    circuit = Circuit()

    def listen(piece: Piece) -> None:
        raise ServerFailed("the listener's own")

    for _ in range(TRIPS + 1):
        here = course(on_piece=listen)

        async def once(here: Course = here) -> str:
            here.sends()
            here.tell(TextPiece("some"))
            return "a reply"

        with pytest.raises(ServerFailed, match="the listener's own"):
            await persist(here, circuit, once)
        assert here.requests == 1
    assert await asked(circuit) == "a reply"


def test_a_retry_prints_nothing_where_nobody_has_set_up_logging() -> None:
    program = """
import asyncio, stamina
from vancetope.backends.resilience import Circuit, Course, persist
from vancetope.errors import ServerFailed

async def main():
    course = Course("a server", 30.0)
    async def once():
        course.sends()
        raise ServerFailed
    try:
        await persist(course, Circuit(), once)
    except ServerFailed:
        pass
    assert course.requests == 3

stamina.set_testing(True, attempts=3, cap=True)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def test_calls_on_their_way_when_a_model_is_found_down_are_not_sent_and_lengthen_nothing(clock: Clock) -> None:
    circuit, sent = Circuit(), 0
    one_at_a_time = asyncio.Semaphore(1)

    async def call() -> str:
        here = course()

        async def once() -> str:
            nonlocal sent
            async with one_at_a_time:
                here.sends()
                sent += 1
                await asyncio.sleep(0)
                raise ServerFailed

        try:
            return await persist(here, circuit, once)
        except ServerFailed:
            return "failed"
        except CircuitOpen:
            return "left alone"

    ended = await asyncio.gather(*(call() for _ in range(40)))
    assert ended.count("left alone") > 30
    assert sent < 40
    assert left(circuit, clock) == 10


async def test_what_comes_back_late_of_a_model_that_is_down_lengthens_nothing(clock: Clock) -> None:
    circuit = Circuit()
    goes_on = asyncio.Event()

    async def call() -> None:
        here = course()

        async def once() -> str:
            here.sends()
            await goes_on.wait()
            raise RateLimited(retry_after=999)

        with pytest.raises(RateLimited):
            await persist(here, circuit, once)

    late = [asyncio.ensure_future(call()) for _ in range(9)]
    await asyncio.sleep(0)
    await down(circuit)
    goes_on.set()
    await asyncio.gather(*late)
    assert left(circuit, clock) == 10
    clock.now += PAUSE + 0.1
    assert await asked(circuit) == "a reply"


async def test_a_limit_that_passes_by_itself_is_waited_for_however_many_calls_meet_it() -> None:
    circuit = Circuit()
    opens_at = asyncio.get_running_loop().time() + 0.05

    async def call() -> str:
        here = course()

        async def once() -> str:
            here.sends()
            if asyncio.get_running_loop().time() < opens_at:
                raise RateLimited(retry_after=0.1)
            return "a reply"

        return await persist(here, circuit, once)

    with stamina.set_testing(False):
        assert await asyncio.gather(*(call() for _ in range(30))) == ["a reply"] * 30


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, KeyError, ServerFailed])
async def test_whatever_a_listener_raises_comes_out_and_is_not_tried_again(error: type[Exception]) -> None:
    def listen(piece: Piece) -> None:
        raise error

    here = course(on_piece=listen)

    async def once() -> str:
        here.sends()
        here.tell(TextPiece("some"))
        return "a reply"

    expected = RuntimeError if issubclass(error, StopIteration | StopAsyncIteration) else error
    with pytest.raises(expected):
        await persist(here, Circuit(), once)
    assert here.requests == 1
