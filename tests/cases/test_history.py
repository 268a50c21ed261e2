"""The history stays whole (C59 to C72): whatever breaks off, the next request is one that every provider takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
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
    everything,
    ids,
    oslo,
    paris,
    play,
    settle,
    told,
    until,
    users,
    whole,
    work_calls,
    work_results,
)
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, narration
from vancetope.backends.scripted import call, calls, gated, raw_call, respond, say
from vancetope.events import Event, ToolEnded, ToolStarted
from vancetope.journal import RecordingJournal
from vancetope.messages import Accepted, Assistant, Message, Reply, Result, User
from vancetope.outcome import EnforcementName, Outcome
from vancetope.tools.functions import tool

# Interrupts and cancellations at every point (C59).


def eventful() -> list[Given]:
    """A turn with everything in it: narration, a correction, two calls side by side, an unknown one, an answer."""
    return [
        say("First I will think about it."),
        calls(paris, oslo, text="Both at once."),
        call("get_tiem", city="Rome"),
        call("get_time", city="Oslo"),
        respond("It is 15:42 in Paris, and it rains in Oslo.", True),
    ]


def then(answers: list[Given], rest: Given = answer) -> Callable[[Asked], Given]:
    return lambda asked: answers.pop(0) if answers and "And now?" not in everything(asked) else rest


async def events_of_a_whole_turn(enforcement: EnforcementName) -> int:
    async with FaultServer(then(eventful())) as server:
        line = Line(server, enforcement)
        line.lane.post(PROMPT)
        await line.lane.settled()
    return len(line.events)


@EACH
@pytest.mark.parametrize("verb", ["interrupt", "interrupt_and_steer"])
async def test_c59_a_turn_can_be_interrupted_at_any_event_and_the_next_request_is_valid(
    verb: str, enforcement: EnforcementName
) -> None:
    total = await events_of_a_whole_turn(enforcement)
    outcomes = set()
    for moment in range(2, total + 1):
        async with FaultServer(then(eventful())) as server:
            line = Line(server, enforcement)

            def strike(number: int, event: Event, line: Line = line, moment: int = moment) -> None:
                if number == moment:
                    line.lane.interrupt()
                    if verb == "interrupt_and_steer":
                        line.lane.post("And now?", "steer")

            line.on_event = strike
            line.lane.post(PROMPT)
            turn = await line.lane.settled()
            outcomes.add(line.ended[0])
            line.lane.post("And now? Once more.")
            turn = await line.lane.settled()
            assert turn.outcome is Outcome.RESPOND, moment
        line.keeps_promises()
        assert server.repeats == []
        assert users(line.lane.history)[0] == PROMPT
        assert users(line.lane.history).count("And now? Once more.") == 1
        if verb == "interrupt_and_steer":
            assert users(line.lane.history).count("And now?") == 1
    assert outcomes == {Outcome.INTERRUPTED, Outcome.RESPOND}


@EACH
async def test_c59_a_turn_can_be_stopped_at_any_event_and_its_history_is_whole(enforcement: EnforcementName) -> None:
    total = await events_of_a_whole_turn(enforcement)
    for moment in range(2, total + 1, 2):
        async with FaultServer(then(eventful())) as server:
            line = Line(server, enforcement)
            stops: list[asyncio.Task[None]] = []

            def strike(
                number: int, event: Event, line: Line = line, moment: int = moment, stops: list[Any] = stops
            ) -> None:
                if number == moment:
                    stops.append(asyncio.ensure_future(line.lane.stop()))

            line.on_event = strike
            line.lane.post(PROMPT)
            await line.lane.settled()
            await asyncio.gather(*stops)
            assert line.statuses[-1] == "closed"
            turn = await vancetope.ask(
                "And now?", history=line.lane.history, tools=TOOLS, enforcement=enforcement, **at(server)
            )
            assert turn.outcome is Outcome.RESPOND, moment
        line.keeps_promises()


@EACH
async def test_c59_an_ask_that_is_cancelled_at_any_event_leaves_nothing_running(enforcement: EnforcementName) -> None:
    total = await events_of_a_whole_turn(enforcement)
    for moment in range(1, total - 7, 2):  # behind these nothing is awaited any more
        async with FaultServer(then(eventful())) as server:
            before = asyncio.all_tasks()
            running: list[asyncio.Task[Any]] = []
            seen: list[Event] = []

            def strike(
                event: Event, seen: list[Event] = seen, running: list[Any] = running, moment: int = moment
            ) -> None:
                seen.append(event)
                if len(seen) == moment:
                    running[0].cancel()

            work = vancetope.ask(PROMPT, tools=TOOLS, enforcement=enforcement, on_event=strike, **at(server))
            running.append(asyncio.ensure_future(work))
            with pytest.raises(asyncio.CancelledError):
                await running[0]
            await until(lambda before=before: not {t for t in asyncio.all_tasks() - before if ours(t)})  # type: ignore[misc]
        assert server.violations == []


def ours(task: asyncio.Task[Any]) -> bool:
    """Whether this task is of the turn, and not of the fault server."""
    return "Connection.serve" not in repr(task) and not task.done()


STAGES: dict[str, tuple[Reply, str]] = {
    "narration": (say("x" * 60), "x"),
    "call": (call("get_time", city="P" * 60), ""),
    "answer": (respond("y" * 60), "y"),
    "narration and call": (calls(paris, text="z" * 60), "z"),
}


@EACH
@pytest.mark.parametrize("pieces", [0, 1, 2, 5, 1000])
@pytest.mark.parametrize("stage", STAGES)
async def test_c59_an_interrupt_reaches_a_stream_after_any_number_of_pieces(
    stage: str, pieces: int, enforcement: EnforcementName
) -> None:
    reply, letter = STAGES[stage]
    async with FaultServer(then([gated(reply, asyncio.Event(), after=pieces)])) as server:
        line = Line(server, enforcement)
        line.lane.post(PROMPT)
        await until(lambda: server.requests)
        await settle()
        line.lane.interrupt()
        turn = await line.lane.settled()
        assert (turn.outcome, turn.message, turn.model_calls) == (Outcome.INTERRUPTED, None, 1)
        assert line.lane.status.value == "blocked"
        assert set(turn.best_text or "") <= set(letter)
        if pieces == 1000 and enforcement == "native":
            assert set(turn.best_text or "") == set(letter)
        await until(lambda: server.requests[0].disconnected)
        line.lane.post("And now?")
        turn = await line.lane.settled()
    line.keeps_promises()
    assert (turn.outcome, turn.model_calls) == (Outcome.RESPOND, 1)
    assert work_calls(turn.messages) == []


async def test_c59_a_running_tool_and_those_behind_it_get_the_result_interrupted() -> None:
    entered = asyncio.Event()

    async def wait_for_ever(what: str) -> str:
        """Wait."""
        entered.set()
        await asyncio.Event().wait()
        return what

    alone = tool(wait_for_ever, alone=True)
    reply = calls(paris, call("wait_for_ever", what="a"), call("wait_for_ever", what="b"))
    async with FaultServer(then([reply])) as server:
        line = Line(server, tools=[*TOOLS, alone])
        line.lane.post(PROMPT)
        await until(entered.is_set)
        line.lane.interrupt()
        turn = await line.lane.settled()
        assert turn.outcome is Outcome.INTERRUPTED
        assert [(result.name, result.text) for result in work_results(turn)] == [
            ("get_time", "It is 15:42 in Paris."),
            ("wait_for_ever", "interrupted"),
            ("wait_for_ever", "interrupted"),
        ]
        line.lane.post("And now?")
        assert (await line.lane.settled()).outcome is Outcome.RESPOND
        assert told(server.requests[-1]).endswith("And now?")
    line.keeps_promises()


async def test_c59_an_interrupt_between_two_calls_keeps_what_has_finished() -> None:
    steps = [tool(each, alone=True) for each in TOOLS]
    async with FaultServer(then([calls(paris, oslo)])) as server:
        line = Line(server, tools=steps)

        def strike(number: int, event: Event) -> None:
            if isinstance(event, ToolEnded):
                line.lane.interrupt()

        line.on_event = strike
        line.lane.post(PROMPT)
        turn = await line.lane.settled()
        assert [result.text for result in work_results(turn)] == ["It is 15:42 in Paris.", "interrupted"]
        assert len([event for event in line.events if isinstance(event, ToolStarted)]) == 1
        line.lane.post("And now?")
        await line.lane.settled()
    line.keeps_promises()


@EACH
async def test_c59_an_interrupt_in_a_correction_leaves_no_trace_of_it(enforcement: EnforcementName) -> None:
    gate = asyncio.Event()
    async with FaultServer(then([narration(), gated(answer, gate, after=2)])) as server:
        line = Line(server, enforcement)
        line.lane.post(PROMPT)
        await until(lambda: len(server.requests) == 2)
        await settle()
        line.lane.interrupt()
        turn = await line.lane.settled()
        line.lane.post("And now?")
        await line.lane.settled()
    line.keeps_promises()
    assert (turn.outcome, turn.corrections) == (Outcome.INTERRUPTED, 1)
    assert "[runtime]" not in everything(server.requests[-1])


@EACH
async def test_c59_a_server_that_dies_in_the_middle_leaves_a_history_that_goes_on(enforcement: EnforcementName) -> None:
    async with FaultServer(then([calls(paris, oslo), KINDS["status_400"]])) as server:
        line = Line(server, enforcement)
        line.lane.post(PROMPT)
        turn = await line.lane.settled()
        assert (turn.outcome, len(work_results(turn))) == (Outcome.MODEL_ERROR, 2)
        line.lane.post("And now?")
        assert (await line.lane.settled()).outcome is Outcome.RESPOND
    line.keeps_promises()


# Ids (C61).


@EACH
@pytest.mark.parametrize(
    "kind",
    ["no_id", "empty_id", "constant_id", "equal_ids", "numbered_ids", "long_id", "two_without_index", "no_index"],
)
async def test_c61_whatever_ids_a_provider_gives_ours_are_unique_for_ever(
    kind: str, enforcement: EnforcementName
) -> None:
    def odd(asked: Asked) -> Given:
        return answer if "It is 15:42" in told(asked) else KINDS[kind]

    async with FaultServer(odd) as server:
        line = Line(server, enforcement)
        for prompt in ("What time is it?", "And now?", "And now again?"):
            line.lane.post(prompt)
            assert (await line.lane.settled()).outcome is Outcome.RESPOND
        turn = await line.lane.settled()
    line.keeps_promises()
    made = [each.id for message in line.lane.history if isinstance(message, Assistant) for each in message.calls]
    assert len(set(made)) == len(made) == len(work_results(turn))
    assert len(made) in (3, 6)
    assert all(result.ok for result in work_results(turn))
    for asked in server.requests:
        assert len(set(ids(asked))) == len(list(ids(asked)))


async def test_c61_a_history_of_another_process_does_not_collide_with_new_ids() -> None:
    first = await play([paris, answer])
    second = await play([paris, answer], history=first.turn.messages)
    fresh = await play([paris, answer])
    assert list(ids(fresh.requests[-1])) == list(ids(first.requests[-1]))
    assert len(set(ids(second.requests[-1]))) == len(list(ids(second.requests[-1]))) == 3


# What was done is done (C63, C70, C71): over a journal that is kept.


@EACH
async def test_c63_a_turn_that_had_its_answer_gives_the_same_text_again_without_the_model(
    enforcement: EnforcementName,
) -> None:
    journal = RecordingJournal()
    first = await play([paris, oslo, answer], enforcement, journal=journal)
    again = RecordingJournal.from_json(journal.to_json())
    async with FaultServer([]) as server:
        turn = await vancetope.ask(PROMPT, tools=TOOLS, enforcement=enforcement, journal=again, **at(server))
    assert (turn.message, turn.messages) == (first.turn.message, first.turn.messages)
    assert (server.requests, again.ran) == ([], [])


async def test_c63_a_turn_that_breaks_off_after_any_step_goes_on_behind_it() -> None:
    journal = RecordingJournal()
    first = await play([paris, oslo, answer], journal=journal)
    steps = list(journal.stored.items())
    for kept in range(len(steps) + 1):
        ran: list[str] = []

        def get_time(city: str, ran: list[str] = ran) -> str:
            """Tell the time in a city."""
            ran.append(city)
            return f"It is 15:42 in {city}."

        part = RecordingJournal(dict(steps[:kept]))
        done = {key for key, _ in steps[:kept]}
        replies: list[Given] = [paris, oslo, answer]
        left = replies[sum(key.startswith("model:") for key in done) :]
        async with FaultServer(left) as server:
            turn = await vancetope.ask(PROMPT, tools=[get_time, TOOLS[1]], journal=part, **at(server))
        assert (turn.message, turn.messages) == (first.turn.message, first.turn.messages)
        assert len(server.requests) == len(left), "a reply that was paid for was asked for again"
        assert ran == ([] if any(key.startswith("call:0") for key in done) else ["Paris"])


async def test_c66_one_failing_call_loses_none_of_its_siblings() -> None:
    def fail(city: str) -> str:
        """Fail."""
        raise ValueError(f"no {city} today")

    reply = calls(paris, call("fail", city="Rome"), call("nope", city="x"), oslo, call("get_time", town="y"))
    played = await play([reply, answer], tools=[*TOOLS, fail])
    assert [(result.name, result.ok) for result in work_results(played.turn)] == [
        ("get_time", True),
        ("fail", False),
        ("nope", False),
        ("get_weather", True),
        ("get_time", False),
    ]
    assert "ValueError: no Rome today" in told(played.requests[1])


class Silent(Exception):
    """An exception that says nothing."""

    def __str__(self) -> str:
        return ""


async def test_c67_results_come_in_the_order_of_the_calls_and_none_is_blank() -> None:
    order: list[str] = []

    async def slow(name: str, seconds: float) -> str:
        """Take some time."""
        await asyncio.sleep(seconds)
        order.append(name)
        if name == "bare":
            raise Silent
        return "" if name == "blank" else name

    names = ["c", "bare", "blank", "a", "b"]
    reply = calls(*(call("slow", name=name, seconds=0.05 - number / 100) for number, name in enumerate(names)))
    played = await play([reply, answer], tools=[slow])
    assert order == list(reversed(names)), "they ran side by side and finished the other way round"
    assert [result.text for result in work_results(played.turn)][::3] == ["c", "a"]
    contents = [message["content"] for message in played.requests[1].messages if message["role"] == "tool"]
    assert contents[1].startswith("Silent")
    assert all(content.strip() for content in contents)
    assert [message["tool_call_id"] for message in played.requests[1].messages if message["role"] == "tool"] == list(
        ids(played.requests[1])
    )


async def test_c70_the_order_in_which_calls_finished_does_not_change_a_replay() -> None:
    turns = []
    for delays in ((0.02, 0.0, 0.01), (0.0, 0.02, 0.01), (0.01, 0.02, 0.0)):
        waits = dict(zip("abc", delays, strict=True))

        async def timed(name: str, waits: dict[str, float] = waits) -> str:
            await asyncio.sleep(waits[name])
            return name

        journal = RecordingJournal()
        reply = calls(*(call("timed", name=name) for name in "abc"))
        one = tool(_only_name(timed), name="timed")
        played = await play([reply, answer], tools=[one], journal=journal)
        again = RecordingJournal.from_json(journal.to_json(), frozen=True)
        async with FaultServer([]) as server:
            turn = await vancetope.ask(PROMPT, tools=[one], journal=again, **at(server))
        assert server.requests == []
        assert turn == played.turn
        turns.append(turn.messages)
    assert turns[0] == turns[1] == turns[2]


def _only_name(timed: Callable[..., Any]) -> Callable[..., Any]:
    async def only_name(name: str) -> str:
        """Take some time."""
        return str(await timed(name))

    return only_name


async def test_c70_calls_that_finished_before_a_break_do_not_run_again() -> None:
    ran: list[str] = []

    async def work(name: str) -> str:
        """Work."""
        ran.append(name)
        if name == "b" and ran.count("b") == 1:
            await asyncio.Event().wait()
        return name

    reply = calls(*(call("work", name=name) for name in "abc"))
    journal = RecordingJournal()
    async with FaultServer([reply, answer]) as server:
        first = asyncio.ensure_future(vancetope.ask(PROMPT, tools=[work], journal=journal, **at(server)))
        await until(lambda: len(journal.stored) >= 4)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        kept = {key for key in journal.stored if key.startswith("call:")}
        turn = await vancetope.ask(
            PROMPT, tools=[work], journal=RecordingJournal.from_json(journal.to_json()), **at(server)
        )
    assert {"call:0:0", "call:0:2"} <= kept
    assert (ran.count("a"), ran.count("c")) == (1, 1)
    texts = [result.text for result in work_results(turn)]
    assert (texts[0], texts[2]) == ("a", "c")
    assert texts[1] in ("b", "interrupted")
    assert len(server.requests) == 2


async def test_c71_a_replay_counts_nothing_twice() -> None:
    journal = RecordingJournal()
    first = await play([paris, narration(), oslo, answer], journal=journal, budget=100_000)
    async with FaultServer([]) as server:
        again = RecordingJournal.from_json(journal.to_json())
        turn = await vancetope.ask(PROMPT, tools=TOOLS, journal=again, budget=100_000, **at(server))
    for field in ("usage", "cost", "model_calls", "rounds", "corrections"):
        assert getattr(turn, field) == getattr(first.turn, field)
    assert turn.model_calls == 4


async def test_c71_a_budget_that_was_kept_is_kept_in_a_replay() -> None:
    journal = RecordingJournal()
    spent = await play(clockwork, journal=journal)
    tight = spent.turn.usage.input_tokens + spent.turn.usage.output_tokens + 2000
    for _ in range(3):
        async with FaultServer([]) as server:
            again = RecordingJournal.from_json(journal.to_json())
            turn = await vancetope.ask(PROMPT, tools=TOOLS, journal=again, budget=tight, **at(server))
        assert (turn.outcome, server.requests) == (Outcome.RESPOND, [])


async def test_c72_a_stop_in_a_batch_keeps_the_rest_of_it_from_starting() -> None:
    ran: list[str] = []

    async def send(to: str) -> str:
        """Send something."""
        ran.append(to)
        return f"sent to {to}"

    reply = calls(*(call("send", to=to) for to in ("a", "b", "c")))
    async with FaultServer([reply, answer]) as server:
        line = Line(server, tools=[tool(send, alone=True)])
        stops: list[asyncio.Task[None]] = []
        line.on_event = lambda number, event: (
            stops.append(asyncio.ensure_future(line.lane.stop())) if event.type == "tool_ended" else None
        )
        line.lane.post(PROMPT)
        turn = await line.lane.settled()
        await asyncio.gather(*stops)
        await settle()
    line.keeps_promises()
    assert (turn.outcome, ran, len(server.requests)) == (Outcome.STOPPED, ["a"], 1)
    assert [result.text for result in work_results(turn)] == ["sent to a", "interrupted", "interrupted"]


@pytest.mark.parametrize("kind", ["filter_with_call", "content_filter", "refusal_finish"])
async def test_c72_no_call_of_a_refused_reply_runs(kind: str) -> None:
    played = await play([KINDS[kind]])
    assert played.of(ToolStarted) == []
    assert played.turn.outcome in (Outcome.FILTERED, Outcome.REFUSED)
    assert len(played.requests) == 1
    after = await play([answer], history=played.turn.messages)
    assert after.turn.outcome is Outcome.RESPOND


# Histories from elsewhere (C59, C62 at the edge).


async def test_c59_a_history_with_an_orphan_is_refused_before_it_can_poison_a_request() -> None:
    call_only = Assistant("", raw_call("get_time", "{}").calls)
    broken_ones: tuple[tuple[Message, ...], ...] = (
        (User("a"), call_only, User("b")),
        (User("a"), call_only),
        (User("a"), Result("call_1", "get_time", "x")),
        (User("a"), call_only, Result("call_1", "get_time", "x"), Result("call_1", "get_time", "x")),
        (User("a"), replace(call_only, calls=call_only.calls * 2), *[Result("call_1", "get_time", "x")] * 2),
    )
    for broken in broken_ones:
        async with FaultServer(clockwork) as server:
            with pytest.raises(vancetope.ConfigError):
                await vancetope.ask(PROMPT, history=broken, **at(server))
        assert server.requests == []


@EACH
async def test_c59_a_history_that_ends_in_a_failure_goes_on(enforcement: EnforcementName) -> None:
    failed = await play([paris, KINDS["empty_text"], KINDS["empty_text"]], enforcement)
    whole(failed.turn.messages)
    after = await play([answer], enforcement, history=failed.turn.messages)
    assert after.turn.outcome is Outcome.RESPOND
    assert isinstance(after.turn.messages[-1], Accepted)
