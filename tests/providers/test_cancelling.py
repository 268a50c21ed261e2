"""Cancelling over all providers: at any event, in any stage of a stream; nothing is left running, here or there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import vancetope
from tests.cases.playing import PROMPT, TOOLS, answer, brief, oslo, paris, until
from tests.providers.providing import EVERY, KEY, WAYS, Provider, led_to, no_waiting, spec
from vancetope.asked import Asked as Wanted
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given
from vancetope.backends.scripted import call, calls, gated, respond, say
from vancetope.events import Event, TurnEnded
from vancetope.lane import Lane
from vancetope.messages import History, Reply, checked
from vancetope.outcome import Outcome
from vancetope.prepare import prepare


def eventful() -> list[Given]:
    """A turn with everything in it: narration, a correction, a broken stream, two calls, an unknown one, an answer."""
    return [
        say("First I will think about it."),
        KINDS["half_stream"],
        calls(paris, oslo, text="Both at once."),
        call("get_tiem", city="Rome"),
        respond("It is 15:42 in Paris, and it rains in Oslo.", True),
    ]


def then(answers: list[Given], rest: Given = answer) -> Callable[[Asked], Given]:
    return lambda asked: answers.pop(0) if answers and "And now?" not in asked.said else rest


def ours(task: asyncio.Task[Any]) -> bool:
    """Whether this task is of the turn, and not of the fault server."""
    return "Connection.serve" not in repr(task) and not task.done()


async def events_of_a_whole_turn(provider: Provider) -> list[Event]:
    events: list[Event] = []
    async with FaultServer(then(eventful()), key=KEY) as server:
        with led_to(provider, server), no_waiting():
            turn = await vancetope.ask(PROMPT, model=spec(provider), tools=TOOLS, on_event=events.append)
        assert (turn.outcome, turn.model_calls, server.violations) == (Outcome.RESPOND, 5, [])
    return events


@EVERY
async def test_an_ask_that_is_cancelled_at_any_event_leaves_nothing_running(provider: Provider) -> None:
    whole = await events_of_a_whole_turn(provider)
    last = max(number for number, event in enumerate(whole) if event.type == "usage_recorded")
    for moment in range(last):  # behind it nothing is awaited any more
        async with FaultServer(then(eventful()), key=KEY) as server:
            before = asyncio.all_tasks()
            running: list[asyncio.Task[Any]] = []
            seen: list[Event] = []

            def strike(
                event: Event, seen: list[Event] = seen, running: list[Any] = running, moment: int = moment
            ) -> None:
                seen.append(event)
                if len(seen) == moment + 1:
                    running[0].cancel()

            with led_to(provider, server), no_waiting():
                work = vancetope.ask(PROMPT, model=spec(provider), tools=TOOLS, on_event=strike)
                running.append(asyncio.ensure_future(work))
                with pytest.raises(asyncio.CancelledError):
                    await running[0]
            await until(lambda before=before: not {t for t in asyncio.all_tasks() - before if ours(t)})  # type: ignore[misc]
            assert not any(isinstance(each, TurnEnded) for each in seen), moment
            assert server.violations == []


STAGES: dict[str, Reply] = {
    "narration": say("x" * 60),
    "call": call("get_time", city="P" * 60),
    "answer": respond("y" * 60),
    "narration and call": calls(paris, text="z" * 60),
    "thinking": say("w" * 20, thinking="v" * 60),
}


@EVERY
@WAYS
@pytest.mark.parametrize("pieces", [0, 1, 5, 1000])
@pytest.mark.parametrize("stage", STAGES)
async def test_a_request_that_is_cancelled_in_any_stage_is_seen_leaving_by_the_server(
    provider: Provider, streams: bool, stage: str, pieces: int
) -> None:
    held = gated(STAGES[stage], asyncio.Event(), after=pieces)
    async with FaultServer([held], key=KEY) as server:
        with led_to(provider, server):
            listener = (lambda event: None) if streams else None
            work = vancetope.ask(PROMPT, model=spec(provider), tools=TOOLS, on_event=listener)
            running = asyncio.ensure_future(work)
            await until(lambda: server.requests)
            await asyncio.sleep(0.01)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        await until(lambda: server.requests[0].disconnected)
        await until(lambda: server.open_connections == 0)


@EVERY
async def test_leaving_a_stream_of_events_early_cancels_the_turn(provider: Provider) -> None:
    held = gated(calls(paris, text="z" * 60), asyncio.Event(), after=3)
    async with FaultServer([held], key=KEY) as server:
        with led_to(provider, server):
            events = vancetope.stream(PROMPT, model=spec(provider), tools=TOOLS)
            async for event in events:
                if event.type == "text_delta":
                    break
            await events.aclose()  # type: ignore[attr-defined]
        await until(lambda: server.requests[0].disconnected)


@EVERY
async def test_a_turn_that_is_interrupted_at_any_event_leaves_a_history_that_goes_on(provider: Provider) -> None:
    whole = await events_of_a_whole_turn(provider)
    outcomes = set()
    for moment in range(2, len(whole), 2):
        async with FaultServer(then(eventful(), brief), key=KEY) as server:
            events: list[Event] = []
            lanes: list[Lane] = []

            def strike(
                event: Event, events: list[Event] = events, lanes: list[Lane] = lanes, moment: int = moment
            ) -> None:
                events.append(event)
                if len(events) == moment:
                    lanes[0].interrupt()

            with led_to(provider, server), no_waiting():
                lanes.append(Lane(prepare(Wanted(model=spec(provider), tools=TOOLS)), strike))
                lanes[0].post(PROMPT)
                await lanes[0].settled()
                lanes[0].post("And now?")
                turn = await lanes[0].settled()
            assert turn.outcome is Outcome.RESPOND, moment
            outcomes |= {event.data.outcome for event in events if isinstance(event, TurnEnded)}
            assert server.violations == [], moment
            checked(History(tuple(lanes[0].history)))
    assert outcomes == {Outcome.INTERRUPTED, Outcome.RESPOND}


@EVERY
async def test_a_question_that_is_cancelled_leaves_the_server(provider: Provider) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    async with FaultServer([KINDS["silence_in_stream"]], key=KEY) as server:
        with led_to(provider, server):
            running = asyncio.ensure_future(vancetope.query(PROMPT, schema, model=spec(provider)))
            await until(lambda: server.requests)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        await until(lambda: server.requests[0].disconnected)
