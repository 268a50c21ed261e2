"""What ends a question from outside: cancellation, a stop, a deadline, a budget. Nothing of it is left running."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import vancetope
from tests.cases.playing import at, settle, until
from tests.harness import TOOLS
from tests.questions.asking import ALL, CITY, FITS, FORMS, MISFIT, OSLO, PROMPT, Known, Put, keeps_promises, known, put
from vancetope.answer import Answer
from vancetope.asked import Asked as Wanted
from vancetope.backends.base import Request
from vancetope.backends.faults import Asked, FaultServer, Given, silence, slow
from vancetope.backends.scripted import Answer as Line
from vancetope.backends.scripted import ScriptedBackend, call, cut, gated, say
from vancetope.context import Context, Halt, HaltKind, Patience
from vancetope.contract.question import Question
from vancetope.engines import jeltz
from vancetope.events import Event, MessageRetracted, RawDelta, TurnEnded
from vancetope.journal import RecordingJournal
from vancetope.messages import History, Reply, Usage
from vancetope.models.base import ModelInfo, Price
from vancetope.outcome import EnforcementName, Outcome
from vancetope.prepare import prepare_question
from vancetope.questions import question_of

paris = call("get_time", city="Paris")
INFO = ModelInfo(provider="lab", name="model", enforcements=FORMS)


def eventful() -> list[Given]:
    """A question with everything in it: a call, an unknown one, prose, a misfit, a cut, an answer."""
    return [paris, call("get_tiem", city="Rome"), say("So."), "Prose.", MISFIT, cut(FITS, 9), FITS]


def then(answers: list[Given]) -> Callable[[Asked], Given]:
    return lambda asked: answers.pop(0) if answers else FITS


# Cancellation.


@ALL
async def test_a_question_that_is_cancelled_at_any_event_leaves_nothing_running(enforcement: EnforcementName) -> None:
    whole = await put(then(eventful()), enforcement, tools=TOOLS, max_attempts=5)
    assert whole.answer.success
    wide = [number for number, event in enumerate(whole.events) if not isinstance(event, RawDelta)]
    deltas = [number for number, event in enumerate(whole.events) if isinstance(event, RawDelta)][::9]
    for moment in sorted({*wide[:-2], *deltas}):
        async with FaultServer(then(eventful())) as server:
            before = asyncio.all_tasks()
            running: list[asyncio.Task[Any]] = []
            seen: list[Event] = []

            def strike(
                event: Event, seen: list[Event] = seen, running: list[Any] = running, moment: int = moment
            ) -> None:
                seen.append(event)
                if len(seen) == moment + 1:
                    running[0].cancel()

            options: dict[str, Any] = {"tools": TOOLS, "enforcement": enforcement, "max_attempts": 5, **at(server)}
            running.append(asyncio.ensure_future(vancetope.query(PROMPT, CITY, on_event=strike, **options)))
            with pytest.raises(asyncio.CancelledError):
                await running[0]
            await until(lambda before=before: not {t for t in asyncio.all_tasks() - before if ours(t)})  # type: ignore[misc]
            assert not any(isinstance(each, TurnEnded) for each in seen), moment
        assert server.violations == []


def ours(task: asyncio.Task[Any]) -> bool:
    """Whether this task is of the question, and not of the fault server."""
    return "Connection.serve" not in repr(task) and not task.done()


@ALL
async def test_a_cancelled_request_is_seen_leaving_by_the_server(enforcement: EnforcementName) -> None:
    async with FaultServer([slow(FITS, delay=0.05)]) as server:
        running = asyncio.ensure_future(vancetope.query(PROMPT, CITY, enforcement=enforcement, **at(server)))
        await until(lambda: server.requests)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until(lambda: server.requests[0].disconnected)


@ALL
async def test_a_tool_that_runs_is_cancelled_with_its_question(enforcement: EnforcementName) -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    async def wait(city: str) -> str:
        """Wait."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return city

    backend = Known([call("wait", city="Paris")], follow_form=True, info=INFO)
    running = asyncio.ensure_future(vancetope.query(PROMPT, CITY, model=backend, tools=[wait], enforcement=enforcement))
    await entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert left.is_set()


# Stopped and interrupted, as a process is.


def context(backend: ScriptedBackend, halt: Halt, publish: Callable[[Event], None], **asked: Any) -> Context:
    prepared = prepare_question(Wanted(model=backend, recipe="jeltz", **asked))
    return prepared.context(
        drain=lambda _: (question().message,) if _ == 0 else (),
        publish=publish,
        history=History(),
        turn=1,
        halt=halt,
    )


def question() -> Question:
    made = question_of(PROMPT, CITY, INFO)
    assert isinstance(made, Question)
    return made


async def halted(
    backend: ScriptedBackend, kind: HaltKind, when: Callable[[int, Event], bool], **asked: Any
) -> tuple[Answer[Any], list[Event]]:
    """A question that is halted when this event has come."""
    halt, events = Halt(), list[Event]()

    def publish(event: Event) -> None:
        events.append(event)
        if when(len(events), event):
            halt.set(kind)

    answer = await jeltz.answer(context(backend, halt, publish, **asked), question())
    return answer, events


def at_event(moment: int) -> Callable[[int, Event], bool]:
    return lambda number, _: number == moment


@ALL
@pytest.mark.parametrize("kind", ["stopped", "interrupted"])
async def test_a_halted_question_is_stopped_with_exactly_one_wrapper(
    kind: HaltKind, enforcement: EnforcementName
) -> None:
    script = [MISFIT, "Prose.", FITS]
    whole = len((await halted(Known(script, info=INFO), kind, lambda _, __: False, enforcement=enforcement))[1])
    for moment in range(1, whole - 1):
        before = asyncio.all_tasks()
        backend = Known(script, info=INFO)
        answer, events = await halted(backend, kind, at_event(moment), enforcement=enforcement)
        assert answer.error in ("stopped", None), moment
        assert sum(isinstance(each, TurnEnded) for each in events) == 1
        assert asyncio.all_tasks() == before
        made = Put(answer, events, [Asked({})] * len(backend.requests))
        keeps_promises(made)
        if answer.error == "stopped":
            assert made.report.outcome is Outcome.STOPPED
            assert answer.attempts in (len(backend.requests), len(backend.requests) - 1)
            assert answer.last_invalid in (None, {"city": "Oslo"})


@ALL
async def test_a_stop_in_a_tool_round_keeps_the_rest_from_starting(enforcement: EnforcementName) -> None:
    ran: list[str] = []

    def look(city: str) -> str:
        """Look."""
        ran.append(city)
        return city

    script: list[Line] = [call("look", city="Paris"), call("look", city="Oslo"), say("So."), FITS]
    backend = Known(script, follow_form=True, info=INFO)
    answer, events = await halted(
        backend, "stopped", lambda _, event: event.type == "tool_ended", tools=[look], enforcement=enforcement
    )
    assert (answer.error, answer.attempts, len(backend.requests), ran) == ("stopped", 0, 1, ["Paris"])
    assert isinstance(events[-1], TurnEnded)


async def test_a_stopped_question_is_stopped_again_in_a_replay() -> None:
    halt, gate, journal = Halt(), asyncio.Event(), RecordingJournal()
    backend = known([MISFIT, gated(FITS, gate)])
    ctx = context(backend, halt, lambda _: None)
    ctx.journal = journal
    running = asyncio.ensure_future(jeltz.answer(ctx, question()))
    await until(lambda: len(backend.requests) == 2)
    halt.set("stopped")
    first = await running
    ctx = context(known([]), Halt(), lambda _: None)
    ctx.journal = RecordingJournal.from_json(journal.to_json(), frozen=True)
    assert await jeltz.answer(ctx, question()) == first
    assert (first.error, first.attempts, first.last_invalid) == ("stopped", 1, {"city": "Oslo"})


# Deadlines.


@ALL
async def test_a_server_that_is_silent_is_an_llm_error_when_the_time_is_over(enforcement: EnforcementName) -> None:
    made = await put([silence()], enforcement, deadline=0.6)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("llm_error", 0, 1)
    assert "time" in made.answer.message
    assert made.server is not None
    await until(lambda: made.asked[0].disconnected)


@ALL
async def test_time_that_runs_out_between_attempts_keeps_the_last_invalid_value(enforcement: EnforcementName) -> None:
    made = await put([MISFIT, silence()], enforcement, deadline=0.5)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("llm_error", 1, 2)
    assert made.answer.last_invalid == {"city": "Oslo"}


@ALL
async def test_one_model_call_has_a_time_of_its_own(enforcement: EnforcementName) -> None:
    made = await put([silence()], enforcement, patience=Patience(model_call=0.1))
    assert (made.answer.error, made.answer.attempts) == ("llm_error", 0)
    assert made.calls <= 3


@ALL
async def test_time_that_runs_out_in_the_tool_rounds_leaves_time_for_the_answer(enforcement: EnforcementName) -> None:
    async def nap(seconds: float = 0.6) -> str:
        """Sleep."""
        await asyncio.sleep(seconds)
        return "Rested."

    script = [call("nap"), FITS if enforcement != "constrained" else call("answer", message=FITS), FITS]
    made = await put(script, enforcement, tools=[nap], deadline=0.5)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 1)


@ALL
async def test_time_that_ran_out_is_not_given_again_to_every_attempt(enforcement: EnforcementName) -> None:
    async def nap(seconds: float = 0.45) -> str:
        """Sleep."""
        await asyncio.sleep(seconds)
        return "Rested."

    def script(asked: Asked) -> Given:
        return call("nap") if asked.number == 1 else slow(f"Prose {asked.number}.", delay=0.3)

    loop = asyncio.get_running_loop()
    begun = loop.time()
    made = await put(
        script,
        enforcement,
        tools=[nap],
        max_attempts=10,
        deadline=0.4,
        patience=Patience(last_round=0.5),
        listening=False,
    )
    assert not made.answer.success
    assert loop.time() - begun < 3.0, "every attempt had the time of the last round"


# Budgets.


@ALL
async def test_a_budget_is_checked_before_every_request_of_whatever_kind(enforcement: EnforcementName) -> None:
    def spends(text: str | Reply) -> Reply:
        reply = say(text) if isinstance(text, str) else text
        return Reply(reply.text, reply.calls, finish=reply.finish, usage=Usage(200, 50))

    def script() -> list[Given]:
        return [spends(paris), spends("So."), spends(MISFIT), spends("Prose."), spends(FITS)]

    most = (await put(script(), enforcement, tools=TOOLS)).answer
    assert (most.success, most.model_calls) == (True, 5)
    reached = set()
    for budget in range(100, 2_600, 120):
        made = await put(script(), enforcement, tools=TOOLS, budget=budget, model_settings={"max_tokens": 100})
        spent = made.answer.usage.input_tokens + made.answer.usage.output_tokens
        assert spent <= budget
        assert made.answer.success or made.answer.error == "budget_exceeded"
        reached.add(made.calls)
    assert reached >= {0, 1, 5}
    assert len(reached) >= 4


async def test_a_budget_in_money_is_kept_where_the_price_is_known() -> None:
    facts = {"price": Price(input=1_000.0, output=1_000.0)}
    script = [Reply(MISFIT, usage=Usage(1_000, 100)), Reply(FITS, usage=Usage(1_000, 100))]
    settings = {"max_tokens": 100}
    for dollars, calls_made in ((0.1, 0), (1.0, 1), (100.0, 2)):
        backend = known(script, **facts)
        answer = await vancetope.query(
            PROMPT, CITY, model=backend, budget=vancetope.Budget(dollars=dollars), model_settings=settings
        )
        assert len(backend.requests) == calls_made
        assert answer.cost == pytest.approx(1.1 * calls_made)
        assert answer.error == (None if calls_made == 2 else "budget_exceeded")


# What people saw of a broken reply is taken back.


@ALL
async def test_what_was_streamed_of_a_request_that_is_sent_again_is_taken_back(enforcement: EnforcementName) -> None:
    from vancetope.backends.scripted import restarted

    def script(request: Request) -> Any:
        return restarted(FITS, after=2)

    events: list[Event] = []
    answer = await vancetope.query(
        PROMPT, CITY, model=Known(script, info=INFO), enforcement=enforcement, on_event=events.append
    )
    assert (answer.data, answer.attempts, answer.model_calls) == (OSLO, 1, 2)
    assert sum(isinstance(each, MessageRetracted) for each in events) == 1
    ids = {each.id for each in events if isinstance(each, RawDelta)}
    assert len(ids) == 2
    await settle()
    assert json.loads("".join(each.text for each in events if isinstance(each, RawDelta) and each.id == max(ids)))
