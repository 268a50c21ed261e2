from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from tests.harness import play
from vancetope import api
from vancetope.backends.base import OnPiece, Request
from vancetope.backends.scripted import Answer, ScriptedBackend, ScriptedText, call, calls, cut, respond, say
from vancetope.context import Budget, Patience
from vancetope.errors import ConfigError, ContextTooLong, HistoryError, RateLimited
from vancetope.events import MessageCommitted, Notice, TurnNarrowed
from vancetope.messages import Accepted, Assistant, Call, History, Reply, Result, User
from vancetope.models.base import ModelInfo, Price
from vancetope.outcome import Outcome

SMALL = ModelInfo(provider="test", name="small", context_window=2000, output_limit=100, output_ceiling=400)
paris = call("get_time", city="Paris")
answer = respond("It is 15:42 in Paris.")


class Known(ScriptedBackend):
    """A scripted model of which something is known."""

    info = SMALL


def old_turns(count: int, size: int = 300) -> History:
    return History(tuple(each for n in range(count) for each in (User(f"{n} " + "x" * size), Accepted(f"answer {n}"))))


async def test_the_oldest_whole_turns_are_left_out_and_a_notice_says_how_many() -> None:
    events: list[object] = []
    backend = Known([respond("Hi.")])
    turn = await api.ask("Now?", model=backend, history=old_turns(30), on_event=events.append)
    sent = backend.requests[0].messages
    assert turn.outcome is Outcome.RESPOND
    assert isinstance(sent[0], User)
    assert sent[-1] == User("Now?")
    assert 3 < len(sent) < 60
    notices = [event.text for event in events if isinstance(event, Notice)]
    hidden = 30 - sum(isinstance(each, User) for each in sent[:-1])
    assert len(notices) == 1
    assert f" {hidden} turns" in notices[0]
    assert len(turn.messages) == 62


async def test_a_running_turn_that_does_not_fit_ends_as_context_overflow_without_a_request() -> None:
    backend = Known([answer])
    turn = await api.ask("x" * 10_000, model=backend)
    assert (turn.outcome, turn.model_calls, backend.requests) == (Outcome.CONTEXT_OVERFLOW, 0, [])


async def test_a_large_result_is_cut_to_a_quarter_of_the_window_and_can_be_read_on() -> None:
    def book() -> str:
        return "".join(f"line {n}\n" for n in range(5000))

    script: list[Answer] = [
        call("book"),
        call("result_read", handle="r-c00100000", offset=40_000),
        respond("It ends at 4999." * 20),
    ]
    backend = Known(script)
    turn = await api.ask("Read.", model=backend, tools=[book])
    results = [each for each in turn.messages if isinstance(each, Result)]
    assert turn.outcome is Outcome.RESPOND
    assert [each.ok for each in results] == [True, True]
    assert results[0].handle == "r-c00100000"
    assert all(len(each.text.encode()) <= 1500 for each in results)
    assert "result_read" not in [tool.name for tool in backend.requests[0].tools]
    assert "result_read" in [tool.name for tool in backend.requests[1].tools]


async def test_the_output_limit_is_raised_once_after_a_cut_that_wrote_nothing() -> None:
    backend = Known([cut(""), answer])
    turn = await api.ask("Hi", model=backend)
    assert turn.outcome is Outcome.RESPOND
    assert [request.settings.max_tokens for request in backend.requests] == [100, 400]


async def test_a_cut_tells_the_limit_that_it_hit() -> None:
    backend = Known([cut("So I"), answer])
    await api.ask("Hi", model=backend)
    assert "100 tokens" in str(backend.requests[1].messages[-1])


async def test_a_budget_is_checked_before_each_call() -> None:
    backend = Known([paris, answer])
    turn = await api.ask("Hi", model=backend, budget=50)
    assert (turn.outcome, backend.requests) == (Outcome.BUDGET_EXCEEDED, [])
    assert "50" in turn.reason
    rich = await api.ask("Hi", model=Known([answer]), budget=5000)
    assert rich.outcome is Outcome.RESPOND


async def test_a_budget_counts_corrections_too() -> None:
    backend = Known([say("I will."), say("Now."), answer])
    turn = await api.ask("Hi", model=backend, budget=700)
    assert turn.outcome is Outcome.BUDGET_EXCEEDED
    assert 1 <= len(backend.requests) < 3
    assert turn.best_text == ("I will." if len(backend.requests) == 1 else "Now.")


async def test_a_budget_in_dollars_needs_a_price() -> None:
    with pytest.raises(ConfigError, match="price"):
        await api.ask("Hi", model=Known([answer]), budget=Budget(dollars=1))

    class Priced(Known):
        info = replace(SMALL, price=Price(input=1000.0, output=1000.0))

    turn = await api.ask("Hi", model=Priced([answer]), budget=Budget(dollars=0.01))
    assert turn.outcome is Outcome.BUDGET_EXCEEDED
    turn = await api.ask("Hi", model=Priced([answer]), budget=Budget(dollars=9))
    assert turn.cost is not None
    assert turn.cost > 0


class Slow:
    """A model that answers late, but for the last narrowed round."""

    def __init__(self, *, always: bool = False) -> None:
        self.always = always
        self.requests: list[Request] = []

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        self.requests.append(request)
        if self.always or len(request.tools) > 1:
            await asyncio.sleep(30)
        return respond("In time.")

    async def aclose(self) -> None:
        pass


async def test_at_the_deadline_one_last_narrowed_round_runs() -> None:
    events: list[object] = []
    model = Slow()
    tools = [lambda_free]
    turn = await api.ask("Hi", model=model, tools=tools, deadline=0.05, on_event=events.append)
    assert (turn.outcome, turn.message, turn.narrowed) == (Outcome.RESPOND, "In time.", True)
    assert [type(event) for event in events if isinstance(event, TurnNarrowed | MessageCommitted)] == [
        TurnNarrowed,
        MessageCommitted,
    ]


async def test_a_last_round_that_is_late_too_ends_the_turn() -> None:
    started = time.monotonic()
    patience = Patience(last_round=0.05)
    turn = await api.ask("Hi", model=Slow(always=True), deadline=0.05, patience=patience)
    assert (turn.outcome, turn.rounds) == (Outcome.INCOMPLETE, 0)
    assert time.monotonic() - started < 5


async def test_a_tool_ends_with_the_turns_time() -> None:
    async def nap() -> str:
        """Sleep."""
        await asyncio.sleep(30)
        return "woken"

    script = ScriptedBackend([call("nap"), answer])
    turn = await api.ask("Hi", model=script, tools=[nap], deadline=0.3)
    result = next(each for each in turn.messages if isinstance(each, Result))
    assert "timed out" in result.text
    assert (turn.outcome, turn.narrowed) == (Outcome.RESPOND, True)


def lambda_free() -> str:
    """Nothing."""
    return ""


async def test_a_server_that_fails_is_an_outcome_and_not_an_exception() -> None:
    played = await play([RateLimited("the server asks for fewer requests", requests=3)])
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.MODEL_ERROR, 3)
    assert played.turn.reason == "the server asks for fewer requests"
    played = await play([paris, ContextTooLong("too long")])
    assert played.turn.outcome is Outcome.CONTEXT_OVERFLOW


@pytest.mark.parametrize(
    ("history", "about"),
    [
        ([Assistant("", (Call("c1", "x", "{}"),))], "no result"),
        ([Result("c1", "x", "y")], "no call before it"),
        ([Assistant("", (Call("c1", "x", "{}"),)), User("hi")], "no result"),
        ([Assistant("", (Call("c1", "x", "{}"), Call("c1", "x", "{}")))], "twice"),
        (
            [
                Assistant("", (Call("c1", "x", "{}"), Call("c2", "x", "{}"))),
                Result("c2", "x", "y"),
                Result("c1", "x", "y"),
            ],
            "no call before it",
        ),
    ],
)
async def test_a_history_that_no_turn_could_have_left_is_refused(history: list[object], about: str) -> None:
    with pytest.raises(HistoryError, match=about):
        await api.ask("Hi", model=ScriptedBackend([answer]), history=history)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"prompt": "  "}, "empty"),
        ({"prompt": "half \ud83d a pair"}, "surrogate"),
        ({"prompt": "x" * (33 * 1024 * 1024)}, "bytes"),
        ({"max_iterations": 0}, "at least 1"),
        ({"max_validation_corrections": -1}, "at least 0"),
        ({"deadline": 0}, "deadline"),
        ({"enforcement": "native", "model": ScriptedText([])}, "cannot do"),
        ({"recipe": "fort"}, "no recipe"),
        ({"model": "nobody:x"}, "no provider"),
        ({"model": "gpt-5"}, "provider:name"),
        ({"settings": {"modell": "x"}}, "did you mean model"),
    ],
)
async def test_what_cannot_work_is_one_sentence_before_any_request(options: dict[str, object], about: str) -> None:
    backend = ScriptedBackend([answer])
    asked = {"prompt": "Hi", "model": backend, **options}
    with pytest.raises(ConfigError, match=about) as caught:
        await api.ask(asked.pop("prompt"), **asked)  # type: ignore[arg-type]
    assert backend.requests == []
    assert "\n" not in str(caught.value)


async def test_calls_of_one_reply_run_side_by_side() -> None:
    running = 0
    most = 0

    async def busy(name: str) -> str:
        """Be busy."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return name

    reply = calls(*(call("busy", name=str(n)) for n in range(5)))
    turn = await api.ask("Go", model=ScriptedBackend([reply, answer]), tools=[busy])
    assert [each.text for each in turn.messages if isinstance(each, Result)] == ["0", "1", "2", "3", "4"]
    assert most == 5


async def test_a_time_out_of_the_backends_own_is_no_deadline() -> None:
    played = await play([TimeoutError("the socket was silent"), answer])
    assert (played.turn.outcome, played.turn.reason) == (Outcome.MODEL_ERROR, "the socket was silent")
    assert not played.turn.narrowed
