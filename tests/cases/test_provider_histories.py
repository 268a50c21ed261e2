"""The history stays whole over Anthropic and Gemini (C59, C63, C71): whatever breaks off, their APIs take what follows.

The fault server refuses what these APIs refuse: it is the validator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import vancetope
from tests.cases.playing import (
    PROMPT,
    TOOLS,
    answer,
    everything,
    oslo,
    paris,
    settle,
    until,
    users,
    work_calls,
    work_results,
)
from tests.cases.providers import (
    BOTH,
    FORMS,
    KEY,
    STREAMED,
    ProviderLine,
    choice_of,
    one_by_one,
    play,
    reached,
    spoke,
    thinks,
)
from tests.questions.asking import without_waiting
from vancetope.asked import Asked as Wanted
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, narration, silence
from vancetope.backends.scripted import call, calls, gated, raw_call, respond, say, think
from vancetope.events import Event, ToolEnded
from vancetope.journal import RecordingJournal
from vancetope.messages import Accepted, Assistant, History, Reply, Result, User
from vancetope.models.ledger import MemoryLedger
from vancetope.outcome import EnforcementName, Outcome
from vancetope.prepare import prepare
from vancetope.tools.functions import tool

THINKING: dict[str, Any] = {"model_settings": {"thinking": "medium"}}


def eventful() -> list[Given]:
    """A turn with everything in it: thinking that is signed, narration, a correction, two calls side by side, an
    unknown one, an answer."""
    return [
        think("They want the time.", say("First I will think about it.")),
        think("Both, then.", calls(paris, oslo, text="Both at once.")),
        call("get_tiem", city="Rome"),
        think("Once more.", call("get_time", city="Oslo")),
        respond("It is 15:42 in Paris, and it rains in Oslo.", True),
    ]


def then(answers: list[Given], rest: Given = answer) -> Callable[[Asked], Given]:
    return lambda asked: answers.pop(0) if answers and "And now?" not in everything(asked) else rest


async def events_of_a_whole_turn(provider: str, **options: Any) -> int:
    async with FaultServer(then(eventful()), key=KEY) as server:
        line = ProviderLine(server, provider=provider, options=options)
        line.lane.post(PROMPT)
        await line.lane.settled()
    line.keeps_promises()
    return len(line.events)


@BOTH
@pytest.mark.parametrize("thinking", [False, True], ids=["plain", "thinking"])
@pytest.mark.parametrize("verb", ["interrupt", "interrupt_and_steer"])
async def test_c59_after_an_interrupt_at_any_event_anthropic_and_gemini_take_the_next_request(
    verb: str, thinking: bool, provider: str
) -> None:
    options: dict[str, Any] = THINKING if thinking else {}
    outcomes = set()
    for moment in range(2, await events_of_a_whole_turn(provider, **options) + 1):
        async with FaultServer(then(eventful()), key=KEY) as server:
            line = ProviderLine(server, provider=provider, options=options)

            def strike(number: int, event: Event, line: ProviderLine = line, moment: int = moment) -> None:
                if number == moment:
                    line.lane.interrupt()
                    if verb == "interrupt_and_steer":
                        line.lane.post("And now?", "steer")

            line.on_event = strike
            line.lane.post(PROMPT)
            await line.lane.settled()
            outcomes.add(line.ended[0])
            line.lane.post("And now? Once more.")
            assert (await line.lane.settled()).outcome is Outcome.RESPOND, moment
        line.keeps_promises()
        assert server.repeats == []
        assert users(line.lane.history)[0] == PROMPT
        assert users(line.lane.history).count("And now? Once more.") == 1
    assert outcomes == {Outcome.INTERRUPTED, Outcome.RESPOND}


@BOTH
async def test_c59_an_ask_of_a_provider_that_is_cancelled_at_any_event_leaves_nothing_running(provider: str) -> None:
    total = await events_of_a_whole_turn(provider)
    for moment in range(1, total - 7):  # behind these nothing is awaited any more
        async with FaultServer(then(eventful()), key=KEY) as server:
            before = asyncio.all_tasks()
            running: list[asyncio.Task[Any]] = []
            seen: list[Event] = []

            def strike(
                event: Event, seen: list[Event] = seen, running: list[Any] = running, moment: int = moment
            ) -> None:
                seen.append(event)
                if len(seen) == moment:
                    running[0].cancel()

            with reached(server, provider) as where:
                work = vancetope.ask(PROMPT, tools=TOOLS, on_event=strike, **where)
                running.append(asyncio.ensure_future(work))
                with pytest.raises(asyncio.CancelledError):
                    await running[0]
            await until(lambda before=before: not {t for t in asyncio.all_tasks() - before if ours(t)})  # type: ignore[misc]
        spoke(server, provider)


def ours(task: asyncio.Task[Any]) -> bool:
    """Whether this task is of the turn, and not of the fault server."""
    return "Connection.serve" not in repr(task) and not task.done()


@BOTH
async def test_c59_a_cancelled_request_of_a_provider_lets_go_of_its_connection_and_the_next_one_works(
    provider: str,
) -> None:
    gate = asyncio.Event()
    waiting: list[Given] = [silence(), silence(head=True), gated(answer, gate, after=2)]
    for given in waiting:
        for listening in (True, False):
            script: list[Given] = [given, answer]
            async with FaultServer(script, key=KEY) as server:
                with reached(server, provider) as where:
                    heard: list[Event] = []
                    listener = heard.append if listening else None
                    running = asyncio.ensure_future(vancetope.ask(PROMPT, tools=TOOLS, on_event=listener, **where))
                    await until(lambda server=server: server.requests)  # type: ignore[misc]
                    await settle()
                    running.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await running
                    await until(lambda server=server: server.requests[0].disconnected)  # type: ignore[misc]
                    turn = await vancetope.ask(PROMPT, tools=TOOLS, on_event=listener, **where)
            assert turn.outcome is Outcome.RESPOND
            spoke(server, provider)


STAGES: dict[str, tuple[Reply, str]] = {
    "narration": (say("x" * 60), "x"),
    "call": (call("get_time", city="P" * 60), ""),
    "answer": (respond("y" * 60), "y"),
    "narration and call": (calls(paris, text="z" * 60), "z"),
    "thinking": (think("t" * 60, paris), ""),
}


@BOTH
@pytest.mark.parametrize("pieces", [0, 1, 2, 5, 1000])
@pytest.mark.parametrize("stage", STAGES)
async def test_c59_an_interrupt_reaches_a_stream_of_a_provider_after_any_number_of_pieces(
    stage: str, pieces: int, provider: str
) -> None:
    reply, letter = STAGES[stage]
    async with FaultServer(then([gated(reply, asyncio.Event(), after=pieces)]), key=KEY) as server:
        line = ProviderLine(server, provider=provider)
        line.lane.post(PROMPT)
        await until(lambda: server.requests)
        await settle()
        line.lane.interrupt()
        turn = await line.lane.settled()
        assert (turn.outcome, turn.message, turn.model_calls) == (Outcome.INTERRUPTED, None, 1)
        assert set(turn.best_text or "") <= set(letter)
        await until(lambda: server.requests[0].disconnected)
        line.lane.post("And now?")
        turn = await line.lane.settled()
    line.keeps_promises()
    assert (turn.outcome, turn.model_calls) == (Outcome.RESPOND, 1)
    assert work_calls(turn.messages) == []


@BOTH
async def test_c59_interrupted_tools_have_results_that_anthropic_and_gemini_take(provider: str) -> None:
    entered = asyncio.Event()

    async def wait_for_ever(what: str) -> str:
        """Wait."""
        entered.set()
        await asyncio.Event().wait()
        return what

    alone = tool(wait_for_ever, alone=True)
    reply = calls(paris, call("wait_for_ever", what="a"), call("wait_for_ever", what="b"))
    async with FaultServer(then([think("Hm.", reply)]), key=KEY) as server:
        line = ProviderLine(server, provider=provider, tools=[*TOOLS, alone], options=THINKING)
        line.lane.post(PROMPT)
        await until(entered.is_set)
        line.lane.interrupt()
        turn = await line.lane.settled()
        assert [each.text for each in work_results(turn)] == ["It is 15:42 in Paris.", "interrupted", "interrupted"]
        line.lane.post("And now?")
        assert (await line.lane.settled()).outcome is Outcome.RESPOND
    line.keeps_promises()


@BOTH
async def test_c59_an_interrupt_between_two_calls_leaves_both_a_provider_with_their_results(provider: str) -> None:
    steps = [tool(each, alone=True) for each in TOOLS]
    async with FaultServer(then([calls(paris, oslo)]), key=KEY) as server:
        line = ProviderLine(server, provider=provider, tools=steps)

        def strike(number: int, event: Event) -> None:
            if isinstance(event, ToolEnded):
                line.lane.interrupt()

        line.on_event = strike
        line.lane.post(PROMPT)
        turn = await line.lane.settled()
        assert [result.text for result in work_results(turn)] == ["It is 15:42 in Paris.", "interrupted"]
        line.lane.post("And now?")
        assert (await line.lane.settled()).outcome is Outcome.RESPOND
    line.keeps_promises()


BROKEN = ["half_stream", "half_arguments", "reset_in_stream", "error_in_stream", "overloaded_in_stream", "no_end"]


@BOTH
@FORMS
@pytest.mark.parametrize("kind", BROKEN)
async def test_c59_a_provider_that_dies_in_the_middle_leaves_a_history_that_goes_on(
    kind: str, enforcement: EnforcementName, provider: str
) -> None:
    failing: list[Given] = [calls(paris, oslo), *[KINDS[kind]] * 3]
    async with FaultServer(one_by_one(*failing, rest=answer), key=KEY) as server:
        line = ProviderLine(server, enforcement, provider=provider)
        line.lane.post(PROMPT)
        with without_waiting():
            turn = await line.lane.settled()
        assert turn.outcome in (Outcome.MODEL_ERROR, Outcome.RESPOND)
        assert len(work_results(turn)) == 2
        line.lane.post("And now?")
        assert (await line.lane.settled()).outcome is Outcome.RESPOND
    line.keeps_promises()


ODD_HISTORIES: dict[str, History] = {
    "two users in a row": History((User("a"), User("b"), User("c"))),
    "an answer of nothing": History((User("a"), Assistant(""), User("b"))),
    "white space": History((User(" \n"), Assistant("  "), User("b"))),
    "the model first": History((Assistant("Hello."), User("a"))),
    "two answers": History((User("a"), Accepted("b"), Accepted("c"))),
    "odd names and arguments": History(
        (
            User("a"),
            Assistant("", raw_call("functions.get time!\n", "no json", id="call|1 é").calls),
            Result("call|1 é", "functions.get time!\n", "", ok=False),
        )
    ),
    "an empty result": History((User("a"), Assistant("", paris.calls), Result("call_1", "get_time", ""))),
}


@BOTH
@FORMS
@pytest.mark.parametrize("kind", ODD_HISTORIES)
async def test_c59_a_history_of_another_provider_is_one_that_anthropic_and_gemini_take(
    kind: str, enforcement: EnforcementName, provider: str
) -> None:
    played = await play([paris, answer], provider, enforcement, history=ODD_HISTORIES[kind])
    assert played.turn.outcome is Outcome.RESPOND


@pytest.mark.parametrize("thinking", [None, "medium"])
async def test_c59_a_history_goes_from_provider_to_provider_and_stays_one_that_each_takes(thinking: Any) -> None:
    history = History()
    settings = {} if thinking is None else {"thinking": thinking}
    for provider in ("anthropic", "gemini", "anthropic", "gemini"):
        script: list[Given] = [think("Hm.", calls(paris, oslo)), narration(), think("So.", paris), answer]
        played = await play(script, provider, prompt="And now?", history=history, model_settings=settings)
        assert played.turn.outcome is Outcome.RESPOND
        assert [choice_of(provider, asked.body) for asked in played.requests] == [None] * 4
        history = played.turn.messages


@BOTH
async def test_c59_an_interrupt_in_a_correction_of_a_provider_leaves_no_trace_of_it(provider: str) -> None:
    gate = asyncio.Event()
    async with FaultServer(then([narration(), gated(answer, gate, after=2)]), key=KEY) as server:
        line = ProviderLine(server, provider=provider)
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


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-1", "claude-sonnet-4-0"])
async def test_c59_models_of_anthropic_with_a_budget_for_thinking_take_every_turn_of_a_chat(model: str) -> None:
    options = {"model": f"anthropic:{model}", **THINKING}
    script: list[Given] = [think("Hm.", paris), answer, paris, narration(), think("So.", oslo), answer, answer]
    async with FaultServer(script, key=KEY) as server:
        line = ProviderLine(server, provider="anthropic", options=options)
        for prompt in ("What time is it?", "And the weather?", "Thank you."):
            line.lane.post(prompt)
            assert (await line.lane.settled()).outcome is Outcome.RESPOND
    line.keeps_promises()
    assert thinks("anthropic", server.requests[0].body)
    assert thinks("anthropic", server.requests[1].body), "signed thinking goes on within its turn"


@pytest.mark.parametrize("verb", ["interrupt", "interrupt_and_steer"])
async def test_c59_nor_does_an_interrupt_at_any_event_make_them_refuse_what_follows(verb: str) -> None:
    options: dict[str, Any] = {"model": "anthropic:claude-haiku-4-5", **THINKING}
    for moment in range(2, await events_of_a_whole_turn("anthropic", **options) + 1):
        async with FaultServer(then(eventful()), key=KEY) as server:
            line = ProviderLine(server, provider="anthropic", options=options)

            def strike(number: int, event: Event, line: ProviderLine = line, moment: int = moment) -> None:
                if number == moment:
                    line.lane.interrupt()
                    if verb == "interrupt_and_steer":
                        line.lane.post("And now?", "steer")

            line.on_event = strike
            line.lane.post(PROMPT)
            await line.lane.settled()
            line.lane.post("And now? Once more.")
            assert (await line.lane.settled()).outcome is Outcome.RESPOND, moment
        line.keeps_promises()


# What was done is done, and paid once (C63, C71).


@BOTH
@STREAMED
async def test_c63_a_turn_over_a_provider_gives_the_same_text_again_without_the_model(
    listening: bool, provider: str
) -> None:
    journal = RecordingJournal()
    script: list[Given] = [think("Hm.", paris), narration(), oslo, answer]
    first = await play(script, provider, journal=journal, listening=listening, **THINKING)
    again = RecordingJournal.from_json(journal.to_json(), frozen=True)
    async with FaultServer([], key=KEY) as server:
        with reached(server, provider) as where:
            turn = await vancetope.ask(PROMPT, tools=TOOLS, journal=again, **where, **THINKING)
    assert turn == first.turn
    assert (server.requests, again.ran) == ([], [])


@BOTH
async def test_c71_a_replay_pays_nothing_twice_and_is_refused_nothing(provider: str) -> None:
    ledger, journal = MemoryLedger(), RecordingJournal()
    script: list[Given] = [paris, narration(), KINDS["unknown_tool"], oslo, answer]
    async with FaultServer(script, key=KEY) as server:
        live = await journaled(server, provider, ledger, journal)
    rows = ledger.rows()
    assert (live.outcome, len(rows)) == (Outcome.RESPOND, 5)
    assert [row.purpose for row in rows] == ["answer", "answer", "correction", "answer", "answer"]
    assert live.cost == pytest.approx(sum(row.cost or 0 for row in rows))
    # So little is left that the same turn could not be paid once more.
    tight = {"budgets": {scope: {"dollars": (live.cost or 0) * 1.01} for scope in ("project", "tenant", "day")}}
    for _ in range(3):
        async with FaultServer([], key=KEY) as server:
            again = RecordingJournal.from_json(journal.to_json(), frozen=True)
            turn = await journaled(server, provider, ledger, again, settings=tight)
        assert (turn.outcome, turn.cost, turn.usage) == (Outcome.RESPOND, live.cost, live.usage)
        assert (ledger.rows(), server.requests) == (rows, [])
    assert ledger.spent("tenant", rows[0].account).reserved_tokens == 0


@BOTH
async def test_c71_a_turn_that_goes_on_behind_a_break_pays_only_what_it_had_not(provider: str) -> None:
    journal = RecordingJournal()
    script: list[Given] = [paris, narration(), oslo, answer]
    async with FaultServer(script, key=KEY) as server:
        live = await journaled(server, provider, MemoryLedger(), journal)
    steps = list(journal.stored.items())
    for kept in range(len(steps) + 1):
        ledger, part = MemoryLedger(), RecordingJournal(dict(steps[:kept]))
        paid = sum(key.startswith("model:") for key, _ in steps[:kept])
        async with FaultServer(script[paid:], key=KEY) as server:
            turn = await journaled(server, provider, ledger, part)
        assert (turn.message, turn.usage.output_tokens) == (live.message, live.usage.output_tokens)
        assert len(ledger.rows()) == len(server.requests) == 4 - paid
        assert turn.cost == pytest.approx(live.cost)


async def journaled(
    server: FaultServer, provider: str, ledger: MemoryLedger, journal: RecordingJournal, **asked: Any
) -> Any:
    """One turn over this journal, counted by this ledger."""
    with reached(server, provider) as where:
        prepared = prepare(Wanted(tools=TOOLS, ledger=ledger, **{**where, **asked}))
    ctx = prepared.context(
        drain=lambda round: (User(PROMPT),) if round == 0 else (),
        publish=lambda _: None,
        history=History(),
        turn=1,
        journal=journal,
    )
    turn = await prepared.engine.steer(ctx)
    spoke(server, provider)
    return turn
