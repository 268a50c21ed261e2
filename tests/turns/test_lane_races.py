"""A process keeps its word whatever happens at the same moment: stop stops, a failure is over, posts cost little."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from vancetope.asked import Asked
from vancetope.backends.base import OnPiece, Request
from vancetope.backends.scripted import Answer, ScriptedBackend, respond
from vancetope.errors import ConfigError, IllegalMove
from vancetope.events import Event, MessageCommitted, MessageDelta, RoundStarted, StatusChanged, TurnEnded
from vancetope.lane import Lane
from vancetope.messages import Reply, User
from vancetope.outcome import Turn
from vancetope.prepare import prepare
from vancetope.process import Status


class AtOnce:
    """A model whose reply and whatever its script does arrive in the same pass of the loop."""

    def __init__(self, script: Callable[[int], Reply]) -> None:
        self.script = script
        self.asked = 0

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        self.asked += 1
        return self.script(self.asked)

    async def aclose(self) -> None:
        pass


def lane_over(model: Any, publish: Callable[[Event], None] = lambda _: None, **asked: Any) -> Lane:
    return Lane(prepare(Asked(model=model, **asked)), publish)


@pytest.mark.parametrize("queued", [1, 3])
async def test_a_stop_that_meets_the_reply_starts_no_further_turn(queued: int) -> None:
    events: list[Event] = []
    stops: list[asyncio.Future[None]] = []

    def script(number: int) -> Reply:
        if number == 1:
            for each in range(queued):
                lane.post(f"follow-up {each}")
            stops.append(asyncio.ensure_future(lane.stop()))
        elif number < 10:
            lane.post("one more")  # the person goes on typing: without a stop this would never end
        return respond(f"answer {number}")

    model = AtOnce(script)
    lane = lane_over(model, events.append)
    lane.post("go")
    await lane.settled()
    await stops[0]
    assert lane.status is Status.CLOSED
    assert model.asked == 1, "the stop was lost: further turns were run, and paid"


FAILURES: list[Exception] = [ConfigError("the weights are missing"), RuntimeError("a bug")]


@pytest.mark.parametrize("failure", FAILURES, ids=["config", "bug"])
async def test_a_turn_that_raised_leaves_a_process_that_takes_the_next_message(failure: Exception) -> None:
    script: list[Answer] = [failure, respond("Better now.")]
    lane = lane_over(ScriptedBackend(script))
    lane.post("one")
    with contextlib.suppress(type(failure)):
        await lane.settled()
    assert lane.status is not Status.RUNNING, "nothing runs, but the status says so"
    lane.post("two")
    assert (await lane.settled()).message == "Better now."


@pytest.mark.parametrize("kind", [MessageDelta, MessageCommitted, TurnEnded, StatusChanged])
async def test_a_message_posted_from_any_event_of_the_start_is_taken(kind: type[Any]) -> None:
    problems: list[Exception] = []

    def publish(event: Event) -> None:
        if isinstance(event, kind) and not posted:
            posted.append(True)
            try:
                lane.post("hello")
            except Exception as error:
                problems.append(error)

    posted: list[bool] = []
    model = ScriptedBackend([respond("Hi.")])
    lane = lane_over(model, publish, recipe="ford")
    await lane.start()
    assert problems == []
    assert (await lane.settled()).message == "Hi."


async def test_interrupting_before_the_request_counts_no_request() -> None:
    def publish(event: Event) -> None:
        if isinstance(event, RoundStarted):
            lane.interrupt()

    model = ScriptedBackend([respond("never asked")])
    lane = lane_over(model, publish)
    lane.post("hello")
    turn: Turn = await lane.settled()
    assert turn.model_calls == len(model.requests) == 0


async def test_taking_thousands_of_posts_costs_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        lane = lane_over(ScriptedBackend([]))
        lane._task = asyncio.get_running_loop().create_future()  # type: ignore[assignment]  # a turn that runs
        for number in range(count):
            lane.post(f"message {number}")
        began = time.process_time()
        assert len(lane._take(0)) == count
        return time.process_time() - began

    small, large = seconds(500), seconds(4000)
    assert large < 0.25, f"500 posts took {small:.3f} s, 4000 took {large:.3f} s, and the loop stood still meanwhile"


class Breaks:
    """A model that is asked, waits until it may go on, and then fails as no model may; later it answers."""

    def __init__(self) -> None:
        self.asked = 0
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        self.asked += 1
        if self.asked > 1:
            return respond("Better now.")
        self.reached.set()
        await self.go_on.wait()
        raise ConfigError("the weights are missing")

    async def aclose(self) -> None:
        pass


async def test_messages_behind_a_turn_that_raised_are_not_forgotten() -> None:
    model = Breaks()
    lane = lane_over(model)
    lane.post("one")
    await model.reached.wait()
    lane.post("two")
    model.go_on.set()
    with contextlib.suppress(ConfigError):
        await lane.settled()
    for _ in range(20):
        await asyncio.sleep(0)
    assert model.asked == 2, "the second message waits in the inbox, and nothing will ever take it out"


async def test_the_message_of_a_turn_that_raised_stays_in_the_conversation() -> None:
    model = Breaks()
    model.go_on.set()
    lane = lane_over(model)
    for text in ("one", "two"):
        lane.post(text)
        with contextlib.suppress(ConfigError):
            await lane.settled()
    assert [each.content for each in lane.history if isinstance(each, User)] == ["one", "two"]


async def test_stop_closes_the_process_although_its_turn_raises() -> None:
    class Stubborn(Breaks):
        async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
            self.reached.set()
            try:
                await self.go_on.wait()
            finally:
                raise ConfigError("the weights are missing")

    model = Stubborn()
    lane = lane_over(model)
    lane.post("one")
    await model.reached.wait()
    with contextlib.suppress(ConfigError):
        await lane.stop()
    assert lane.status is Status.CLOSED


async def test_a_process_that_greeted_does_not_greet_again() -> None:
    lane = lane_over(ScriptedBackend([]), recipe="ford")
    await lane.start()
    with contextlib.suppress(IllegalMove):
        await lane.start()
    assert len(lane.history) == 1
