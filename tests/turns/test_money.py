"""What model calls cost: a row for each, budgets of every scope, and nothing counted twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.harness import get_time, play
from vancetope import api
from vancetope.asked import Asked
from vancetope.backends.base import OnPiece, Request, TextPiece
from vancetope.backends.scripted import Script, ScriptedBackend, call, respond, say
from vancetope.context import Budget
from vancetope.errors import ConfigError, RateLimited, ReplyBroken
from vancetope.events import Event, Notice, UsageRecorded
from vancetope.journal import RecordingJournal
from vancetope.lane import Lane
from vancetope.messages import Finish, History, Reply, Usage, User
from vancetope.models.base import ModelInfo, Price
from vancetope.models.ledger import MemoryLedger, Row
from vancetope.outcome import Outcome
from vancetope.prepare import prepare

DEAR = ModelInfo(
    provider="case",
    name="dear",
    enforcements=("native", "constrained"),
    context_window=100_000,
    output_limit=100,
    price=Price(input=1000.0, output=10_000.0, cached=100.0, cache_write=1250.0),  # $1 buys 1,000 tokens of input
)
USED = Usage(100, 10)
COSTS = 0.2  # what USED costs
COULD = 1.0  # the output limit alone


def used(reply: Reply, usage: Usage = USED, **more: Any) -> Reply:
    return replace(reply, usage=usage, **more)


class Dear(ScriptedBackend):
    """A script that costs money."""

    def __init__(self, script: Script, info: ModelInfo = DEAR) -> None:
        super().__init__(script)
        self.info = info


@pytest.fixture(autouse=True)
def own_tenant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of a tenant last as long as this Python does: each test is a tenant of its own."""
    monkeypatch.setenv("VANCETOPE_TENANT", str(tmp_path))


async def turn_of(backend: Any, ledger: MemoryLedger, message: str = "Hi", **asked: Any) -> tuple[Any, list[Event]]:
    events: list[Event] = []
    lane = Lane(prepare(Asked(model=backend, recipe="default", ledger=ledger, **asked)), events.append)
    return await lane.start(message), events


async def rows_of(backend: Any, **asked: Any) -> tuple[Row, ...]:
    ledger = MemoryLedger()
    await turn_of(backend, ledger, **asked)
    return ledger.rows()


async def test_every_call_has_a_row_that_says_what_it_was_for_and_what_it_cost() -> None:
    script = [used(call("get_time", city="Paris")), used(say("It is late.")), used(respond("15:42"), model="dear-2026")]
    rows = await rows_of(Dear(script), tools=[get_time])
    assert [(row.purpose, row.outcome, row.asked, row.used) for row in rows] == [
        ("answer", "replied", "case:dear", "dear"),
        ("answer", "replied", "case:dear", "dear"),
        ("correction", "replied", "case:dear", "dear-2026"),
    ]
    assert [(row.usage, row.cost, row.requests, row.price) for row in rows] == [(USED, COSTS, 1, DEAR.price)] * 3
    assert len({row.id for row in rows}) == 3
    assert len({row.account.turn for row in rows}) == 1


async def test_the_repair_of_a_prompted_model_has_a_row_of_its_own() -> None:
    rows = await rows_of(Dear([used(say("no envelope")), used(respond("Yes."))]), enforcement="prompted")
    assert [row.purpose for row in rows] == ["answer", "repair"]


async def test_cached_and_written_tokens_have_their_own_prices() -> None:
    usage = Usage(1000, 10, cached_tokens=600, cache_write_tokens=300, thinking_tokens=4)
    rows = await rows_of(Dear([used(respond("Yes."), usage)]))
    assert rows[0].usage == usage
    assert rows[0].cost == pytest.approx(0.1 + 0.06 + 0.375 + 0.1)


async def test_what_the_provider_says_it_cost_goes_before_our_prices() -> None:
    turn = await api.ask("Hi", model=Dear([used(respond("Yes."), cost=0.0123)]))
    assert turn.cost == 0.0123


async def test_the_cost_of_a_turn_is_that_of_its_calls_and_each_is_told() -> None:
    played = await play([used(say("No.")), used(respond("Yes."))])
    assert [(each.usage, each.cost, each.purpose) for each in played.of(UsageRecorded)] == [
        (USED, None, "answer"),
        (USED, None, "correction"),
    ]
    events: list[Event] = []
    turn = await api.ask("Hi", model=Dear([used(say("No.")), used(respond("Yes."))]), on_event=events.append)
    assert turn.cost == pytest.approx(2 * COSTS)
    assert [each.cost for each in events if isinstance(each, UsageRecorded)] == [COSTS, COSTS]


@pytest.mark.parametrize("scope", ["tree", "project", "tenant", "day"])
async def test_a_call_that_could_go_over_a_budget_is_not_made(scope: str) -> None:
    settings = {"budgets": {scope: {"dollars": 2 * COULD}}}
    backend = Dear([used(respond("Yes.")) for _ in range(20)])
    ledger = MemoryLedger()
    lane = Lane(prepare(Asked(model=backend, recipe="default", ledger=ledger, settings=settings)), lambda _: None)
    turns = [await lane.start("Hi")]
    while turns[-1].outcome is Outcome.RESPOND:
        lane.post("Again")
        turns.append(await lane.settled())
    assert turns[-1].outcome is Outcome.BUDGET_EXCEEDED
    assert f"budgets.{scope}.dollars" in turns[-1].reason
    spent = sum(row.cost or 0 for row in ledger.rows())
    assert 2 * COULD - COULD - 3 * COSTS < spent <= 2 * COULD
    assert len(backend.requests) == len(turns) - 1


async def test_the_budget_of_a_day_is_shared_by_all_turns_of_a_tenant_and_that_of_a_tree_is_not() -> None:
    ledger = MemoryLedger()
    day = {"budgets": {"day": {"tokens": 2500}}}
    tree = {"budgets": {"tree": {"tokens": 2500}}}
    for settings, last in ((tree, Outcome.RESPOND), (day, Outcome.BUDGET_EXCEEDED)):
        outcomes = []
        for _ in range(12):
            turn, _ = await turn_of(Dear([used(respond("Yes."))]), ledger, settings=settings)
            outcomes.append(turn.outcome)
        assert outcomes[-1] is last


async def test_people_are_told_once_when_most_of_a_budget_is_spent() -> None:
    ledger = MemoryLedger()
    settings = {"budgets": {"day": {"dollars": 3.0}, "warnAt": 0.5}}
    told: list[str] = []
    for _ in range(10):
        _, events = await turn_of(Dear([used(respond("Yes."))]), ledger, settings=settings)
        told += [each.text for each in events if isinstance(each, Notice) and "budget" in each.text]
    assert len(told) == 1
    assert "spent" in told[0]


@pytest.mark.parametrize("scope", ["turn", "tree", "project", "tenant", "day"])
async def test_a_money_budget_with_an_unknown_price_is_refused_before_anything_is_sent(scope: str) -> None:
    backend = Dear([respond("Yes.")], replace(DEAR, price=None))
    with pytest.raises(ConfigError, match=rf"the price of case:dear is not known.*budgets\.{scope}\.dollars"):
        await api.ask("Hi", model=backend, settings={"budgets": {scope: {"dollars": 1}}})
    assert backend.requests == []
    turn, _ = await turn_of(backend, MemoryLedger(), settings={"budgets": {scope: {"tokens": 100_000}}})
    assert (turn.outcome, turn.cost) == (Outcome.RESPOND, None)


async def test_a_model_that_is_free_goes_on_when_the_money_is_gone() -> None:
    ledger = MemoryLedger()
    settings = {"budgets": {"day": {"dollars": 0.5}}}
    dear, _ = await turn_of(Dear([used(respond("Yes."))]), ledger, settings=settings)
    free = replace(DEAR, name="free", price=Price(input=0, output=0))
    turn, _ = await turn_of(Dear([used(respond("Yes."))], free), ledger, settings=settings)
    assert (dear.outcome, turn.outcome, turn.cost) == (Outcome.BUDGET_EXCEEDED, Outcome.RESPOND, 0.0)


async def test_a_replay_counts_nothing() -> None:
    ledger, journal = MemoryLedger(), RecordingJournal()
    script = [used(call("get_time", city="Paris")), used(say("Late.")), used(respond("15:42"))]
    asked = Asked(model=Dear(script), recipe="default", tools=[get_time], ledger=ledger)
    live = await _with_journal(asked, journal)
    rows, spent = ledger.rows(), ledger.spent("tenant", ledger.rows()[0].account)
    again = await _with_journal(asked, RecordingJournal.from_json(journal.to_json(), frozen=True))
    assert (again.usage, again.cost, again.message) == (live.usage, live.cost, live.message)
    assert ledger.rows() == rows
    assert ledger.spent("tenant", rows[0].account) == spent


async def test_a_refusal_is_the_same_in_a_replay_though_the_money_is_there_by_then() -> None:
    journal = RecordingJournal()
    settings = {"budgets": {"day": {"dollars": 0.1}}}
    asked = Asked(model=Dear([used(respond("Yes."))]), recipe="default", ledger=MemoryLedger(), settings=settings)
    live = await _with_journal(asked, journal)
    rich = replace(asked, settings=None)
    again = await _with_journal(rich, RecordingJournal.from_json(journal.to_json(), frozen=True))
    assert live.outcome is again.outcome is Outcome.BUDGET_EXCEEDED


async def _with_journal(asked: Asked, journal: RecordingJournal) -> Any:
    ctx = prepare(asked).context(
        drain=lambda round: (User("Hi"),) if round == 0 else (),
        publish=lambda _: None,
        history=History(),
        turn=1,
        journal=journal,
    )
    return await prepare(asked).engine.steer(ctx)


class Breaking:
    """A model whose reply breaks off, or never begins."""

    info = DEAR

    def __init__(self, error: Exception | None, *, begins: bool) -> None:
        self.error, self.begins = error, begins
        self.began = asyncio.Event()

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        if request.on_send:
            request.on_send()
        if self.begins and on_piece:
            on_piece(TextPiece("It is very"))
        self.began.set()
        if self.error is None:
            await asyncio.Event().wait()
            raise AssertionError
        raise self.error

    async def aclose(self) -> None:
        pass


def begun(error: ReplyBroken) -> ReplyBroken:
    error.begun = True
    return error


async def test_a_reply_that_broke_off_counts_what_it_may_have_cost() -> None:
    rows = await rows_of(Breaking(begun(ReplyBroken()), begins=True))
    assert [row.outcome for row in rows] == ["cut short"]
    assert rows[0].usage.estimated
    assert rows[0].usage.input_tokens > 100
    assert rows[0].cost is not None
    assert rows[0].cost > 0.1


async def test_a_request_that_was_turned_away_costs_nothing() -> None:
    rows = await rows_of(Breaking(RateLimited(requests=3), begins=False))
    assert [(row.outcome, row.usage, row.cost, row.requests) for row in rows] == [("failed", Usage(), 0.0, 3)]


async def test_an_interrupted_call_counts_what_it_may_have_cost_and_holds_nothing_more() -> None:
    ledger, backend = MemoryLedger(), Breaking(None, begins=True)
    lane = Lane(prepare(Asked(model=backend, recipe="default", ledger=ledger)), lambda _: None)
    running = asyncio.ensure_future(lane.start("Hi"))
    await backend.began.wait()
    lane.interrupt()
    turn = await running
    (row,) = ledger.rows()
    assert (turn.outcome, row.outcome, row.usage.estimated) == (Outcome.INTERRUPTED, "cut short", True)
    assert turn.cost == row.cost
    assert ledger.spent("tenant", row.account).reserved_tokens == 0


async def test_an_ask_that_is_cancelled_holds_nothing_more() -> None:
    ledger, backend = MemoryLedger(), Breaking(None, begins=True)
    lane = Lane(prepare(Asked(model=backend, recipe="default", ledger=ledger)), lambda _: None)
    running = asyncio.ensure_future(lane.start("Hi"))
    await backend.began.wait()
    await lane.stop()
    await asyncio.gather(running, return_exceptions=True)
    (row,) = ledger.rows()
    assert ledger.spent("tenant", row.account).reserved_tokens == 0
    assert ledger.spent("tenant", row.account).dollars == row.cost


async def test_calls_at_the_same_time_share_a_budget() -> None:
    ledger = MemoryLedger()
    settings = {"budgets": {"tenant": {"dollars": 3.0}}}
    turns = await asyncio.gather(
        *(turn_of(Dear([used(respond("Yes."), Usage(100, 90))]), ledger, settings=settings) for _ in range(10))
    )
    delivered = sum(turn.outcome is Outcome.RESPOND for turn, _ in turns)
    assert 1 <= delivered < 4
    assert sum(row.cost or 0 for row in ledger.rows()) <= 3.0


ENDLESS = replace(DEAR, output_limit=None, price=Price(input=1.0, output=1000.0))  # $1 buys 1,000 tokens of output


async def limit_sent(info: ModelInfo = ENDLESS, **asked: Any) -> int | None:
    backend = Dear([used(respond("Yes."))], info)
    await turn_of(backend, MemoryLedger(), **asked)
    return backend.requests[0].settings.max_tokens if backend.requests else -1


async def test_a_reply_cannot_be_longer_than_the_money_for_it() -> None:
    assert await limit_sent() is None
    of_turn = await limit_sent(budget=Budget(dollars=4.0))
    assert of_turn is not None
    assert 3_900 < of_turn < 4_000
    tokens = await limit_sent(budget=Budget(tokens=9_000))
    assert tokens is not None
    assert 8_000 < tokens < 9_000
    shared = await limit_sent(settings={"budgets": {"day": {"dollars": 16.0}}})
    assert shared is not None
    assert 3_900 < shared < 4_000
    assert await limit_sent(budget=Budget(dollars=1_000_000.0)) == 16_384
    assert await limit_sent(replace(ENDLESS, output_ceiling=5_000), budget=Budget(dollars=1_000_000.0)) == 5_000
    assert await limit_sent(budget=Budget(dollars=0.5)) == -1, "not even a short reply can be paid"
    assert await limit_sent(replace(ENDLESS, output_limit=100), budget=Budget(dollars=4.0)) == 100
    assert await limit_sent(budget=Budget(dollars=4.0), model_settings={"max_tokens": 7}) == 7
    assert await limit_sent(replace(ENDLESS, price=Price(input=0, output=0)), budget=Budget(dollars=4.0)) is None


async def test_what_the_model_really_writes_stays_within_the_budget() -> None:
    """A model that fills every limit it is given never brings a turn over its budget."""

    class Filling(Dear):
        async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
            self.requests.append(request)
            written = request.settings.max_tokens or 100_000
            return Reply(text="No call.", usage=Usage(200, written), finish=Finish.STOP)

    for dollars in (0.5, 1.3, 2.5, 7.0, 40.0):
        turn, _ = await turn_of(Filling([], ENDLESS), MemoryLedger(), budget=Budget(dollars=dollars))
        assert turn.cost is not None
        assert turn.cost <= dollars


async def test_a_refusal_tells_small_sums_too() -> None:
    turn = await api.ask("Hi", model=Dear([]), budget=Budget(dollars=0.00001))
    assert "its budget is $0.00001" in turn.reason
