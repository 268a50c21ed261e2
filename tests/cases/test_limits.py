"""Limits of rounds, time and money (C102, C103): reached in the open, with everything that was found."""

from __future__ import annotations

import asyncio
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
    oslo,
    paris,
    play,
    told,
    work_calls,
    work_results,
)
from vancetope import Budget, ConfigError
from vancetope.backends.faults import KINDS, Asked, Fault, FaultServer, Given, silence
from vancetope.backends.scripted import call, empty, malformed, respond, say
from vancetope.context import Patience
from vancetope.events import TurnNarrowed, UsageRecorded
from vancetope.messages import Reply, System, Usage
from vancetope.outcome import EnforcementName, Outcome

CITIES = [call("get_time", city=city) for city in ("Paris", "Oslo", "Rome", "Kyiv", "Lima", "Doha", "Bern")]


@EACH
@pytest.mark.parametrize("cap", [1, 2, 5])
async def test_c102_at_the_cap_one_last_request_asks_for_the_answer(cap: int, enforcement: EnforcementName) -> None:
    played = await play([*CITIES[:cap], respond("As far as I got: 15:42.")], enforcement, max_iterations=cap)
    assert (played.turn.outcome, played.turn.message) == (Outcome.RESPOND, "As far as I got: 15:42.")
    assert (len(played.requests), played.turn.rounds, played.turn.narrowed) == (cap + 1, cap + 1, True)
    assert list(played.requests[-1].tools) == ["respond"]
    assert f"limit of {cap} replies" in told(played.requests[-1])
    assert [event.reason for event in played.of(TurnNarrowed)] == [
        f"The limit of {cap} replies in one turn is reached."
    ]


@EACH
async def test_c102_a_model_that_ignores_the_cap_leaves_its_work_its_words_and_a_reason(
    enforcement: EnforcementName,
) -> None:
    script = [CITIES[0], say("So far it is 15:42."), *CITIES[1:4]]
    played = await play(script, enforcement, max_iterations=4)
    turn = played.turn
    assert (turn.outcome, turn.message, turn.best_text) == (Outcome.INCOMPLETE, None, "So far it is 15:42.")
    assert work_calls(turn.messages) == ["get_time"] * 4
    assert [result.text for result in work_results(turn) if result.ok][-1] == "It is 15:42 in Rome."
    assert isinstance(turn.messages[-1], System)
    assert turn.reason == turn.messages[-1].text
    after = await play([answer], enforcement, history=turn.messages)
    assert "It is 15:42 in Rome." in everything(after.requests[0])
    assert turn.reason not in everything(after.requests[0]), "lines for people are not for the model"


@EACH
async def test_c102_the_same_calls_again_and_again_end_in_a_last_round_too(enforcement: EnforcementName) -> None:
    ran: list[str] = []

    def get_time(city: str) -> str:
        """Tell the time in a city."""
        ran.append(city)
        return "15:42"

    played = await play([paris] * 5 + [answer], enforcement, tools=[get_time])
    assert (played.turn.outcome, played.turn.narrowed, len(played.requests)) == (Outcome.RESPOND, True, 6)
    assert ran == ["Paris", "Paris"]
    assert "same call" in told(played.requests[3])


@pytest.mark.parametrize("cap", [0, -1])
async def test_c102_a_cap_that_allows_nothing_is_refused(cap: int) -> None:
    async with FaultServer(clockwork) as server:
        with pytest.raises(ConfigError, match="max_iterations"):
            await vancetope.ask(PROMPT, max_iterations=cap, **at(server))
    assert server.requests == []


@EACH
async def test_c102_when_time_is_up_one_last_request_asks_for_the_answer(enforcement: EnforcementName) -> None:
    async def wait(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return "It is 15:42."

    played = await play([call("wait", seconds=0.4), answer], enforcement, tools=[wait], deadline=0.3)
    assert (played.turn.outcome, played.turn.narrowed, len(played.requests)) == (Outcome.RESPOND, True, 2)
    assert "time for this turn is over" in told(played.requests[-1])
    assert list(played.requests[-1].tools) == ["respond"]


@EACH
async def test_c102_a_model_that_falls_silent_is_asked_once_more_and_then_given_up(
    enforcement: EnforcementName,
) -> None:
    patience = Patience(turn=0.3, last_round=0.3)
    script: list[Given] = [paris, silence(), silence()]
    played = await play(script, enforcement, patience=patience)
    assert (played.turn.outcome, len(played.requests)) == (Outcome.INCOMPLETE, 3)
    assert [result.text for result in work_results(played.turn)] == ["It is 15:42 in Paris."]
    script = [paris, silence(), answer]
    played = await play(script, enforcement, patience=patience)
    assert played.turn.outcome is Outcome.RESPOND


# Budgets.

WAYS: dict[str, Any] = {
    "work": lambda asked: CITIES[asked.number % 7],
    "corrections": lambda asked: say("Soon.") if asked.number % 2 else KINDS["invalid_respond"],
    "unreadable": lambda asked: malformed() if asked.number % 2 else call("get_time", town="x"),
    "nothing": lambda asked: empty() if asked.number % 2 else oslo,
    "unknown": lambda asked: call("get_tiem") if asked.number % 3 else CITIES[asked.number % 7],
}


@EACH
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("budget", [500, 4_000, 9_000])
async def test_c103_a_budget_is_checked_before_every_request_of_whatever_kind(
    budget: int, way: str, enforcement: EnforcementName
) -> None:
    played = await play(WAYS[way], enforcement, budget=budget, max_validation_corrections=99)
    spent = played.turn.usage.input_tokens + played.turn.usage.output_tokens
    assert spent <= budget
    assert played.turn.outcome is Outcome.BUDGET_EXCEEDED
    assert str(budget) in played.turn.reason
    assert (len(played.requests) == 0) == (budget == 500)


@EACH
async def test_c103_what_the_provider_says_was_used_counts_and_not_what_we_guessed(
    enforcement: EnforcementName,
) -> None:
    def dear(asked: Asked) -> Reply:
        return replace(CITIES[asked.number % 7], usage=Usage(3000, 100))

    played = await play(dear, enforcement, budget=10_000)
    assert played.turn.outcome is Outcome.BUDGET_EXCEEDED
    assert len(played.requests) in (2, 3)
    assert played.turn.usage.input_tokens == 3000 * len(played.requests)


@EACH
@pytest.mark.parametrize("kind", ["no_usage", "null_usage"])
async def test_c103_a_server_that_counts_nothing_is_counted_by_us(kind: str, enforcement: EnforcementName) -> None:
    played = await play([KINDS[kind]], enforcement)
    assert played.turn.usage.estimated
    assert played.turn.usage.input_tokens > 100


@EACH
async def test_c103_every_reply_that_was_paid_for_is_counted(enforcement: EnforcementName) -> None:
    each = Usage(100, 10)
    replies: list[Reply | Fault] = [say("Soon."), paris, malformed(), KINDS["two_responds"], answer]
    script: list[Given] = [replace(reply, usage=each) if isinstance(reply, Reply) else reply for reply in replies]
    played = await play(script, enforcement, max_validation_corrections=5)
    assert played.turn.usage.input_tokens >= 400
    assert len(played.of(UsageRecorded)) == 5
    assert played.turn.usage.input_tokens == sum(event.usage.input_tokens for event in played.of(UsageRecorded))


@EACH
async def test_c103_what_was_found_before_the_money_ran_out_is_kept(enforcement: EnforcementName) -> None:
    script: list[Given] = [paris, say("It is 15:42, I think."), *[replace(c, usage=Usage(9_000, 0)) for c in CITIES]]
    played = await play(script, enforcement, budget=14_000, max_validation_corrections=1)
    assert (played.turn.outcome, played.turn.best_text) == (Outcome.BUDGET_EXCEEDED, "It is 15:42, I think.")
    assert work_results(played.turn)[0].text == "It is 15:42 in Paris."
    after = await play([answer], enforcement, history=played.turn.messages)
    assert after.turn.outcome is Outcome.RESPOND


async def test_c103_money_without_a_price_is_refused_before_anything_is_sent() -> None:
    async with FaultServer(clockwork) as server:
        with pytest.raises(ConfigError, match="price"):
            await vancetope.ask(PROMPT, budget=Budget(dollars=1.0), **at(server))
    assert server.requests == []


async def test_c103_each_turn_of_a_process_is_held_to_its_budget() -> None:
    async with FaultServer(lambda asked: CITIES[asked.number % 7]) as server:
        line = Line(server, tools=TOOLS, options={"budget": 5_000})
        for _ in range(3):
            line.lane.post("What time is it?")
            turn = await line.lane.settled()
            assert turn.outcome is Outcome.BUDGET_EXCEEDED
            assert turn.usage.input_tokens + turn.usage.output_tokens <= 5_000
    line.keeps_promises()
    assert line.statuses[-1] == "ready"
