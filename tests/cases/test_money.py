"""Money over real prices (C103): counted from what each provider says, and refused before it is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import vancetope
from tests.cases.playing import PROMPT, TOOLS, answer, at, oslo, paris, work_results
from tests.cases.providers import (
    BOTH,
    FORMS,
    KEY,
    STREAMED,
    ProviderLine,
    limit_of,
    one_by_one,
    play,
    put,
    reached,
    spoke,
)
from tests.questions.asking import CITY, FITS, MISFIT, OSLO, without_waiting
from tests.questions.asking import PROMPT as QUESTION
from vancetope import Budget, ConfigError
from vancetope.asked import Asked as Wanted
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, spoken
from vancetope.backends.scripted import call, cut, empty, gated, malformed, respond, say
from vancetope.cli.usage_file import closed, file_ledger
from vancetope.events import Event, MessageDelta, Notice, UsageRecorded
from vancetope.lane import Lane
from vancetope.messages import Reply, Usage
from vancetope.models.ledger import MemoryLedger, Row
from vancetope.outcome import EnforcementName, Outcome
from vancetope.prepare import prepare
from vancetope.settings import load

CITIES = [call("get_time", city=city) for city in ("Paris", "Oslo", "Rome", "Kyiv", "Lima", "Doha", "Bern")]
SCOPES = pytest.mark.parametrize("scope", ["tree", "project", "tenant", "day"])
# What the catalogue says of the models of `MODELS`: US dollars per million tokens of input and of output.
PRICES: Mapping[str, tuple[float, float]] = {"anthropic": (0.1, 0.5), "gemini": (0.75, 3.75)}
USED = Usage(50_000, 1_000)
LIMIT = 2_000  # tokens of output that a call of these tests may take
SETTINGS = {"max_tokens": LIMIT}


def cost(provider: str, usage: Usage = USED) -> float:
    into, out = PRICES[provider]
    return (usage.input_tokens * into + usage.output_tokens * out) / 1_000_000


def used(given: Reply | str, usage: Usage = USED) -> Reply:
    return replace(say(given) if isinstance(given, str) else given, usage=usage)


@pytest.fixture(autouse=True)
def own_tenant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of a tenant last as long as this Python does: each test is a tenant of its own."""
    tenant = tmp_path / "tenant"
    tenant.mkdir()
    monkeypatch.setenv("VANCETOPE_TENANT", str(tenant))


# What a call costs, by what the provider counts.


@BOTH
@STREAMED
async def test_c103_what_a_provider_counts_is_paid_at_its_price(listening: bool, provider: str) -> None:
    usage = Usage(30_000, 2_000, cached_tokens=20_000, thinking_tokens=1_500)
    played = await play([used(answer, usage)], provider, listening=listening)
    into, out = PRICES[provider]
    paid = (10_000 * into + 20_000 * into / 10 + 2_000 * out) / 1_000_000
    assert played.turn.usage == usage
    assert played.turn.cost == pytest.approx(paid)
    if listening:
        assert [(each.usage, each.cost) for each in played.of(UsageRecorded)] == [(usage, pytest.approx(paid))]


async def test_c103_what_anthropic_writes_to_its_cache_is_dearer_and_what_it_reads_is_cheaper() -> None:
    usage = Usage(60_000, 1_000, cached_tokens=40_000, cache_write_tokens=15_000)
    played = await play([used(answer, usage)], "anthropic")
    assert played.turn.usage == usage
    assert played.turn.cost == pytest.approx((5_000 * 0.1 + 40_000 * 0.01 + 15_000 * 0.125 + 1_000 * 0.5) / 1_000_000)


async def test_c103_a_long_request_of_anthropic_is_paid_at_the_long_price() -> None:
    for tokens, into, out in ((100_000, 0.1, 0.5), (100_001, 0.5, 2.5)):
        played = await play([used(answer, Usage(tokens, 1_000))], "anthropic")
        assert played.turn.cost == pytest.approx((tokens * into + 1_000 * out) / 1_000_000)


async def test_c103_thinking_of_gemini_that_is_counted_beside_the_answer_is_paid_too() -> None:
    played = await play([used(answer, Usage(1_000, 900, thinking_tokens=800))], "gemini")
    assert (played.turn.usage.output_tokens, played.turn.usage.thinking_tokens) == (900, 800)
    assert played.turn.cost == pytest.approx((1_000 * 0.75 + 900 * 3.75) / 1_000_000)


@BOTH
@pytest.mark.parametrize("kind", ["no_usage", "null_usage"])
async def test_c103_a_provider_that_counts_nothing_is_counted_by_us_and_paid(kind: str, provider: str) -> None:
    played = await play([KINDS[kind]], provider)
    assert played.turn.usage.estimated
    assert played.turn.usage.input_tokens > 100
    assert played.turn.cost == pytest.approx(cost(provider, played.turn.usage))


async def test_c103_what_openrouter_itself_says_it_cost_goes_before_our_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)

    def priced(given: dict[str, Any]) -> dict[str, Any]:
        if isinstance(usage := given.get("usage"), dict):
            usage["cost"] = 0.0123
        return given

    dear = spoken("priced", "Usage with its cost.", lambda asked: used(answer), edit=priced)
    for listening in (True, False):
        events: list[Event] = []
        async with FaultServer([dear]) as server:
            where = at(server, "openrouter") | {"model": "case:openai/gpt-5-mini"}
            turn = await vancetope.ask(PROMPT, tools=TOOLS, on_event=events.append if listening else None, **where)
        assert (turn.outcome, turn.cost) == (Outcome.RESPOND, 0.0123)


# Budgets before every paid call.

WAYS: dict[str, Any] = {
    "work": lambda asked: used(CITIES[asked.number % 7]),
    "corrections": lambda asked: used("Soon.") if asked.number % 2 else used(respond(" ")),
    "unreadable": lambda asked: used(malformed()) if asked.number % 2 else used(call("get_time", town="x")),
    "nothing": lambda asked: used(empty()) if asked.number % 2 else used(CITIES[asked.number % 7]),
    "unknown": lambda asked: used(call("get_tiem")) if asked.number % 3 else used(CITIES[asked.number % 7]),
    "cut": lambda asked: used(cut("Long.", 3)) if asked.number % 2 else used(CITIES[asked.number % 7]),
}


@BOTH
@FORMS
@pytest.mark.parametrize("way", WAYS)
async def test_c103_a_budget_in_dollars_is_checked_before_every_request_of_whatever_kind(
    way: str, enforcement: EnforcementName, provider: str
) -> None:
    for calls in (0.5, 1.5, 2.5):
        most = calls * cost(provider)
        asked: dict[str, Any] = {"budget": Budget(dollars=most), "model_settings": SETTINGS}
        turn = (await play(WAYS[way], provider, enforcement, max_validation_corrections=99, **asked)).turn
        # These calls cost more than could be guessed before: the one that breaks the budget is the last.
        assert (turn.outcome, turn.model_calls) == (Outcome.BUDGET_EXCEEDED, int(calls + 1))
        assert turn.cost == pytest.approx(turn.model_calls * cost(provider))
        assert "$" in turn.reason


@BOTH
async def test_c103_a_budget_that_the_output_limit_alone_could_break_sends_nothing(provider: str) -> None:
    most = LIMIT * PRICES[provider][1] / 1_000_000
    played = await play([answer], provider, budget=Budget(dollars=most), model_settings=SETTINGS)
    assert (played.turn.outcome, played.requests, played.turn.cost) == (Outcome.BUDGET_EXCEEDED, [], 0.0)
    small = {"max_tokens": 50}
    played = await play([answer], provider, budget=Budget(dollars=most), model_settings=small)
    assert played.turn.outcome is Outcome.RESPOND


@BOTH
@pytest.mark.parametrize("scope", ["turn", "tree", "day"])
@pytest.mark.parametrize("most", [0.01, 0.05, 0.2])
async def test_c103_a_model_that_writes_all_it_may_never_goes_over_the_budget(
    most: float, scope: str, provider: str
) -> None:
    def greedy(asked: Asked) -> Reply:
        limit = limit_of(provider, asked.body)
        assert limit is not None, "a reply without a limit could cost anything"
        return used(CITIES[asked.number % 7], Usage(100, limit))

    played = await play(greedy, provider, settings={"budgets": {scope: {"dollars": most}}}, max_iterations=500)
    assert played.turn.outcome in (Outcome.BUDGET_EXCEEDED, Outcome.INCOMPLETE)
    assert played.turn.cost is not None
    assert played.turn.cost <= most
    assert played.requests


@BOTH
async def test_c103_what_was_found_before_the_dollars_ran_out_is_kept(provider: str) -> None:
    script: list[Given] = [used(paris), used("It is 15:42, I think."), used(oslo), used(answer)]
    most = Budget(dollars=2.5 * cost(provider))
    played = await play(script, provider, budget=most, model_settings=SETTINGS, max_validation_corrections=1)
    assert (played.turn.outcome, played.turn.best_text) == (Outcome.BUDGET_EXCEEDED, "It is 15:42, I think.")
    assert work_results(played.turn)[0].text == "It is 15:42 in Paris."
    after = await play([answer], provider, history=played.turn.messages, prompt="And now?")
    assert after.turn.outcome is Outcome.RESPOND


@BOTH
@STREAMED
async def test_c103_every_attempt_at_a_question_is_paid_and_held_to_the_budget(listening: bool, provider: str) -> None:
    replies: list[Given] = [used(MISFIT), used("It is Oslo."), used(cut("{", 1)), used(malformed()), used(FITS)]
    made = await put(replies, provider, max_attempts=9, listening=listening, model_settings=SETTINGS)
    assert (made.answer.data, made.calls) == (OSLO, 5)
    assert made.answer.cost == pytest.approx(5 * cost(provider)), "what could not be read was billed too"
    budget = Budget(dollars=2.5 * cost(provider))
    made = await put(
        lambda asked: used(f'{{"city": "{asked.number}"}}'),
        provider,
        max_attempts=9,
        budget=budget,
        listening=listening,
        model_settings=SETTINGS,
    )
    assert (made.answer.error, made.calls) == ("budget_exceeded", 3)
    assert made.answer.last_invalid == {"city": "3"}
    assert made.answer.cost == pytest.approx(3 * cost(provider))


@BOTH
async def test_c103_a_repair_is_paid_and_held_to_the_budget_as_any_other_request(provider: str) -> None:
    broken: list[Given] = [
        spoken("bare", "No envelope.", lambda asked: used("no envelope"), follow_form=False),
        used(answer),
    ]
    ledger = MemoryLedger()
    turn = await counted(provider, broken, ledger, enforcement="prompted")
    assert turn.outcome is Outcome.RESPOND
    assert [row.purpose for row in ledger.rows()] == ["answer", "repair"]
    assert turn.cost == pytest.approx(2 * cost(provider))
    tight: dict[str, Any] = {"budget": Budget(dollars=1.1 * cost(provider)), "model_settings": SETTINGS}
    turn = await counted(provider, broken, MemoryLedger(), enforcement="prompted", **tight)
    assert (turn.outcome, turn.cost) == (Outcome.BUDGET_EXCEEDED, pytest.approx(cost(provider)))


@BOTH
@pytest.mark.parametrize("scope", ["turn", "tree", "project", "tenant", "day"])
async def test_c103_money_for_a_model_without_a_price_is_refused_before_anything_is_sent(
    scope: str, provider: str
) -> None:
    settings = {"budgets": {scope: {"dollars": 1.0}}}
    async with FaultServer([answer], key=KEY) as server:
        with reached(server, provider) as where:
            unknown = where | {"model": f"{provider}:of-tomorrow", "settings": settings}
            with pytest.raises(ConfigError, match=rf"price of {provider}:of-tomorrow"):
                await vancetope.ask(PROMPT, **unknown)
            with pytest.raises(ConfigError, match=rf"price of {provider}:of-tomorrow"):
                await vancetope.query(QUESTION, CITY, **unknown)
    assert server.requests == []


# Replies that broke off, and requests that were turned away.


@BOTH
@pytest.mark.parametrize("kind", ["half_stream", "reset_in_stream", "error_in_stream"])
async def test_c103_a_stream_that_broke_off_counts_what_it_may_have_cost(kind: str, provider: str) -> None:
    ledger = MemoryLedger()
    with without_waiting():
        turn = await counted(provider, one_by_one(rest=KINDS[kind]), ledger, streamed=True)
    assert turn.outcome is Outcome.MODEL_ERROR
    assert [row.outcome for row in ledger.rows()] == ["cut short"]
    assert (turn.cost or 0) > 0
    assert turn.usage.estimated


@BOTH
@pytest.mark.parametrize("kind", ["status_429", "status_500", "status_529", "key_refused", "status_400"])
async def test_c103_a_request_that_was_turned_away_costs_nothing(kind: str, provider: str) -> None:
    ledger = MemoryLedger()
    with without_waiting():
        turn = await counted(provider, one_by_one(rest=KINDS[kind]), ledger)
    assert (turn.outcome, turn.cost) == (Outcome.MODEL_ERROR, 0.0)
    assert [(row.outcome, row.cost) for row in ledger.rows()] == [("failed", 0.0)]
    assert ledger.rows()[0].requests == turn.model_calls
    assert held(ledger) == 0


@BOTH
async def test_c103_an_interrupted_call_counts_what_it_may_have_cost_and_holds_nothing_more(provider: str) -> None:
    ledger = MemoryLedger()
    async with FaultServer([gated(respond("y" * 400), asyncio.Event(), after=20)], key=KEY) as server:
        line = ProviderLine(server, provider=provider, options={"ledger": ledger})

        def strike(number: int, event: Event) -> None:
            if isinstance(event, MessageDelta):
                line.lane.interrupt()

        line.on_event = strike
        line.lane.post(PROMPT)
        turn = await line.lane.settled()
    line.keeps_promises()
    (row,) = ledger.rows()
    assert (turn.outcome, row.outcome) == (Outcome.INTERRUPTED, "cut short")
    assert (row.cost or 0) > 0
    assert held(ledger) == 0


# Scopes beyond a turn.


@BOTH
@SCOPES
async def test_c103_a_budget_of_a_scope_is_held_over_its_turns(scope: str, provider: str) -> None:
    ledger = MemoryLedger()
    settings = {"budgets": {scope: {"dollars": 4.5 * cost(provider)}}}
    async with FaultServer(lambda asked: used(answer), key=KEY) as server:
        options = {"settings": settings, "ledger": ledger, "model_settings": SETTINGS}
        line = ProviderLine(server, provider=provider, options=options)
        turns = []
        for _ in range(8):
            line.lane.post("What time is it?")
            turns.append(await line.lane.settled())
    outcomes = [turn.outcome for turn in turns]
    line.keeps_promises()
    made = outcomes.count(Outcome.RESPOND)
    assert outcomes == [Outcome.RESPOND] * made + [Outcome.BUDGET_EXCEEDED] * (8 - made)
    assert made in (4, 5), "the last one may cost more than it was guessed to"
    assert f"budgets.{scope}.dollars" in turns[-1].reason
    assert len(server.requests) == made


@BOTH
async def test_c103_a_budget_of_a_tenant_is_shared_by_turns_and_questions_and_both_providers(provider: str) -> None:
    other = "gemini" if provider == "anthropic" else "anthropic"
    most = cost(provider) + cost(other) + 0.2 * cost(provider)
    settings = {"budgets": {"tenant": {"dollars": most}}}
    asked: dict[str, Any] = {"settings": settings, "model_settings": SETTINGS}
    turn = (await play([used(answer)], provider, **asked)).turn
    assert turn.outcome is Outcome.RESPOND
    made = await put([used(FITS)], other, **asked)
    assert made.answer.success
    dear: dict[str, Any] = {"settings": settings, "model_settings": {"max_tokens": 60_000}}
    ended = await play([used(answer)], provider, **dear)
    assert (ended.turn.outcome, ended.requests) == (Outcome.BUDGET_EXCEEDED, [])
    assert "budgets.tenant.dollars" in ended.turn.reason
    asks = await put([used(FITS)], other, **dear)
    assert (asks.answer.error, asks.calls) == ("budget_exceeded", 0)


@BOTH
async def test_c103_calls_at_the_same_time_cannot_spend_the_same_dollars(provider: str) -> None:
    ledger, gate = MemoryLedger(), asyncio.Event()
    exact = Usage(1_000, LIMIT)
    settings = {"budgets": {"tenant": {"dollars": 3.5 * cost(provider, exact)}}}
    async with FaultServer(lambda asked: gated(used(answer, exact), gate), key=KEY) as server:
        options = {"settings": settings, "ledger": ledger, "model_settings": SETTINGS}
        lines = [ProviderLine(server, provider=provider, options=options) for _ in range(8)]
        running = [asyncio.ensure_future(line.lane.start(PROMPT)) for line in lines]
        refused = [turn for turn in await first_to_end(running, 5) if turn.outcome is Outcome.BUDGET_EXCEEDED]
        assert len(refused) == 5
        assert all("calls under way hold" in turn.reason for turn in refused)
        gate.set()
        turns = await asyncio.gather(*running)
    assert [turn.outcome for turn in turns].count(Outcome.RESPOND) == len(server.requests) == 3
    assert sum(row.cost or 0 for row in ledger.rows()) <= settings["budgets"]["tenant"]["dollars"]
    assert held(ledger) == 0
    spoke(server, provider)


async def first_to_end(running: Sequence[asyncio.Future[Any]], count: int) -> list[Any]:
    """The results of those that end while the others wait."""
    async with asyncio.timeout(10):
        while sum(each.done() for each in running) < count:
            await asyncio.sleep(0.001)
    return [each.result() for each in running if each.done()]


@BOTH
async def test_c103_people_are_told_once_when_most_of_the_money_is_spent(provider: str) -> None:
    settings = {"budgets": {"day": {"dollars": 10 * cost(provider)}, "warnAt": 0.5}}
    ledger = MemoryLedger()
    async with FaultServer(lambda asked: used(answer), key=KEY) as server:
        line = ProviderLine(server, provider=provider, options={"settings": settings, "ledger": ledger})
        for _ in range(8):
            line.lane.post("What time is it?")
            await line.lane.settled()
    told = [each.text for each in line.events if isinstance(each, Notice) and "budget" in each.text]
    assert len(told) == 1
    assert "budgets.day.dollars" in told[0]


@BOTH
@pytest.mark.parametrize("scope", ["project", "tenant", "day"])
async def test_c103_on_the_command_line_a_budget_holds_from_run_to_run(
    scope: str, provider: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(written_project, tmp_path, {scope: {"dollars": 2.5 * cost(provider)}})
    outcomes, rows = [], []
    for _ in range(4):
        settings = await asyncio.to_thread(load, tmp_path)
        ledger = await asyncio.to_thread(file_ledger, settings)
        turn = await counted(provider, [used(answer)], ledger, settings=settings, model_settings=SETTINGS)
        outcomes.append(turn.outcome)
        rows.append(len(ledger.rows()))
        assert await asyncio.to_thread(closed) == ()
    made = outcomes.count(Outcome.RESPOND)
    assert made in (2, 3)
    assert outcomes == [Outcome.RESPOND] * made + [Outcome.BUDGET_EXCEEDED] * (4 - made)


def written_project(folder: Path, budgets: Mapping[str, Any]) -> None:
    import json

    (folder / ".vancetope").mkdir()
    (folder / "vancetope.yaml").write_text(json.dumps({"budgets": budgets}))


async def counted(provider: str, script: Any, ledger: Any, *, streamed: bool = False, **asked: Any) -> Any:
    """One turn over this provider, counted by this ledger."""
    events: list[Event] = []
    async with FaultServer(script, key=KEY) as server:
        with reached(server, provider) as where:
            wanted = Wanted(tools=TOOLS, ledger=ledger, **{**where, **asked})
            lane = Lane(await asyncio.to_thread(prepare, wanted), events.append)
            turn = await lane.start(PROMPT)
    assert not [each for each in server.violations if each.rule != "script"]
    return turn


def held(ledger: MemoryLedger) -> float:
    """What the ledger still holds for calls under way."""
    row: Row = ledger.rows()[-1]
    return ledger.spent("tenant", row.account).reserved_dollars
