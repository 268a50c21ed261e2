"""Steering a process in memory (C74 to C78): what was taken is never lost, never doubled, never another's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import vancetope
from tests.cases.playing import (
    EACH,
    PROMPT,
    TOOLS,
    Line,
    answer,
    at,
    clockwork,
    content,
    ends_with,
    everything,
    oslo,
    paris,
    play,
    settle,
    told,
    until,
    users,
)
from vancetope.backends.faults import Asked, FaultServer, Wire
from vancetope.backends.scripted import call, calls, gated, respond
from vancetope.events import Event, MessageCommitted, MessageDelta, MessageReceived, RoundStarted, TextDelta
from vancetope.messages import Reply
from vancetope.outcome import EnforcementName, Outcome

STEER = "No, in Oslo!"


def guide(asked: Asked) -> Reply:
    """A model that looks at the clock, at the weather and at what it was told, and then answers."""
    text = everything(asked)
    if "It is 15:42 in Paris" not in text:
        return calls(paris, text="The clock first.")
    if "Rain in Oslo" not in text:
        return oslo
    return respond("Oslo it is." if STEER in text else "It is 15:42 in Paris.", True)


@EACH
@pytest.mark.parametrize("mode", ["steer", "follow_up"])
async def test_c74_a_message_is_in_the_history_exactly_once_at_whatever_event_it_came(
    mode: Any, enforcement: EnforcementName
) -> None:
    async with FaultServer(guide) as server:
        plain = Line(server, enforcement)
        plain.lane.post(PROMPT)
        await plain.lane.settled()
    for moment in range(1, len(plain.events) + 1):
        async with FaultServer(guide) as server:
            line = Line(server, enforcement)

            def strike(number: int, event: Event, line: Line = line, moment: int = moment) -> None:
                if number == moment:
                    line.lane.post(STEER, mode)

            line.on_event = strike
            line.lane.post(PROMPT)
            await line.lane.settled()
            await settle(5)
        line.keeps_promises()
        assert users(line.lane.history) == [PROMPT, STEER], moment
        assert line.statuses[-1] == "blocked"
        assert STEER in everything(server.requests[-1]), "the model has seen it"
        assert line.committed[-1] == "Oslo it is."
        received = [event for event in line.events if isinstance(event, MessageReceived)]
        assert len(received) == 2


async def test_c74_a_steering_message_joins_at_the_next_round_and_a_follow_up_waits_for_the_next_turn() -> None:
    for mode, seen_in in (("steer", 1), ("follow_up", 3)):
        async with FaultServer(guide) as server:
            line = Line(server)

            def strike(number: int, event: Event, line: Line = line, mode: Any = mode) -> None:
                if isinstance(event, RoundStarted) and event.round == 0 and not line.ended:
                    line.lane.post(STEER, mode)

            line.on_event = strike
            line.lane.post(PROMPT)
            await line.lane.settled()
        line.keeps_promises()
        assert next(n for n, asked in enumerate(server.requests) if STEER in everything(asked)) == seen_in
        assert line.started == (1 if mode == "steer" else 2)


async def test_c74_many_messages_from_many_tasks_keep_their_order_and_their_number() -> None:
    async with FaultServer(clockwork) as server:
        line = Line(server)
        posted: list[str] = []

        async def post(name: str, mode: Any) -> None:
            for number in range(5):
                text = f"{name} {number}"
                posted.append(text)
                line.lane.post(text, mode)
                await asyncio.sleep(0.003)

        await asyncio.gather(post("a", "steer"), post("b", "follow_up"), post("c", "steer"))
        await line.lane.settled()
        await until(lambda: line.statuses[-1] == "blocked")
    line.keeps_promises()
    said = users(line.lane.history)
    assert sorted(said) == sorted(posted)
    for name in "abc":
        own = [text for text in said if text.startswith(name)]
        assert own == sorted(own)


async def test_c74_a_message_is_a_users_message_and_never_hidden_in_a_result() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def work(city: str) -> str:
        """Work."""
        entered.set()
        await leave.wait()
        return "worked"

    async with FaultServer(lambda asked: answer if "worked" in told(asked) else call("work", city="Paris")) as server:
        line = Line(server, tools=[work])
        line.lane.post(PROMPT)
        await until(entered.is_set)
        line.lane.post(STEER, "steer")
        leave.set()
        await line.lane.settled()
    line.keeps_promises()
    last = server.requests[-1].messages
    assert [message["role"] for message in last[-2:]] == ["tool", "user"]
    assert content(last[-2]) == "worked"
    assert content(last[-1]) == STEER


async def test_c74_an_interrupt_keeps_the_queue_or_gives_it_back() -> None:
    for drop in (False, True):
        gate = asyncio.Event()
        given: list[Any] = [gated(answer, gate, after=1)]
        async with FaultServer(lambda asked, given=given: given.pop(0) if given else answer) as server:  # type: ignore[misc]
            line = Line(server)
            line.lane.post(PROMPT)
            await until(lambda server=server: server.requests)  # type: ignore[misc]
            line.lane.post("first", "follow_up")
            line.lane.post("second", "steer")
            dropped = line.lane.interrupt(drop_queue=drop)
            await line.lane.settled()
            await settle()
        line.keeps_promises()
        if drop:
            assert users(dropped) == ["first", "second"]
            assert users(line.lane.history) == [PROMPT]
        else:
            assert dropped == ()
            assert users(line.lane.history) == [PROMPT, "first", "second"]
            assert line.ended == [Outcome.INTERRUPTED, Outcome.RESPOND]


@EACH
async def test_c75_two_processes_side_by_side_never_see_each_others_messages(enforcement: EnforcementName) -> None:
    async with FaultServer(guide) as server:
        lines = {name: Line(server, enforcement) for name in ("anna", "boris", "chen")}
        for name, line in lines.items():
            line.lane.post(f"I am {name}.")
        for turn in range(3):
            for name, line in lines.items():
                line.lane.post(f"{name} steers {turn}", "steer")
                await asyncio.sleep(0.004)
        for line in lines.values():
            await line.lane.settled()
    for name, line in lines.items():
        line.keeps_promises()
        assert users(line.lane.history) == [f"I am {name}.", *(f"{name} steers {turn}" for turn in range(3))]
    for asked in server.requests:
        assert sum(name in everything(asked) for name in lines) == 1


async def test_c75_an_interrupt_of_one_process_leaves_the_others_alone() -> None:
    gate = asyncio.Event()
    async with FaultServer(lambda asked: gated(respond("Done.", True), gate, after=2)) as server:
        one, other = Line(server, tools=()), Line(server, tools=())
        for line in (one, other):
            line.lane.post(PROMPT)
        await until(lambda: len(server.requests) == 2)
        await settle()
        one.lane.interrupt()
        assert (await one.lane.settled()).outcome is Outcome.INTERRUPTED
        gate.set()
        assert (await other.lane.settled()).outcome is Outcome.RESPOND
    for line in (one, other):
        line.keeps_promises()


@EACH
@pytest.mark.parametrize("chunking", [1, 4, 1000])
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c78_every_piece_says_to_what_it_belongs_and_where_and_the_end_has_the_same_id(
    turn_end: Any, chunking: int, enforcement: EnforcementName
) -> None:
    last = (
        respond('Grüße, 再见, 👋🏽 and "quotes"\n.', True)
        if turn_end == "respond"
        else ends_with("Grüße, 再见, 👋🏽.", enforcement)
    )
    server = FaultServer([calls(paris, text="The clock first."), last], wire=Wire(chunking=chunking))
    played = await play([], enforcement, server=server, turn_end=turn_end)
    texts: dict[str, str] = {}
    for event in played.of(MessageDelta) + played.of(TextDelta):
        assert event.offset == len(texts.get(event.id, ""))
        texts[event.id] = texts.get(event.id, "") + event.text
    (committed,) = played.of(MessageCommitted)
    assert texts[committed.id] == committed.text == played.turn.message


async def test_c78_the_stream_of_events_is_what_a_listener_gets_and_ends_with_the_turn() -> None:
    async with FaultServer(clockwork) as server:
        heard = [event async for event in vancetope.stream(PROMPT, tools=TOOLS, **at(server))]
    assert heard[-1].type == "turn_ended"
    (committed,) = [event for event in heard if isinstance(event, MessageCommitted)]
    deltas = [event for event in heard if isinstance(event, MessageDelta) and event.id == committed.id]
    assert "".join(event.text for event in deltas) == committed.text
