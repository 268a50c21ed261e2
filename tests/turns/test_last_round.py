"""One last round follows a limit, and `model_calls` counts the requests that were sent: neither more nor fewer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import vancetope as vt
from vancetope.asked import Asked
from vancetope.backends.faults import KINDS, FaultServer
from vancetope.backends.openai import PROFILES, OpenAICompatible
from vancetope.backends.scripted import Answer, ScriptedBackend, call, calls, respond
from vancetope.context import Patience
from vancetope.lane import Lane
from vancetope.outcome import Outcome
from vancetope.prepare import prepare


async def slow() -> str:
    """Take longer than the turn has."""
    await asyncio.sleep(5)
    return "never"


NARROWING: dict[str, tuple[list[Answer], dict[str, Any]]] = {
    "iterations": ([call("slow")], {"max_iterations": 1}),
    "mixed": ([calls(call("slow"), respond("a"))] * 3, {}),
}


@pytest.mark.parametrize("cause", NARROWING)
async def test_a_turn_narrowed_for_another_reason_still_has_its_last_round_after_the_deadline(cause: str) -> None:
    script, options = NARROWING[cause]
    calm = [calls(call("quick"), respond("a"))] * (len(script) - 1)

    async def quick() -> str:
        """Be quick."""
        return "ok"

    model = ScriptedBackend([*calm, script[-1], respond("The best I have.")])
    turn = await vt.ask("Go", model=model, tools=[slow, quick], deadline=0.3, **options)
    assert (turn.outcome, turn.message) == (Outcome.RESPOND, "The best I have.")
    assert turn.model_calls == len(model.requests)


async def test_no_request_is_counted_that_was_not_sent() -> None:
    model = ScriptedBackend([call("slow"), respond("x")])
    turn = await vt.ask("Go", model=model, tools=[slow], max_iterations=1, deadline=0.2)
    assert turn.model_calls == len(model.requests)


async def test_a_deadline_that_ends_a_retried_call_counts_every_request_of_it() -> None:
    async with FaultServer(lambda _: KINDS["status_503"]) as server:
        model = OpenAICompatible(server.base_url, None, profile=PROFILES["vllm"], attempts=10)
        turn = await vt.ask("Go", model=model, deadline=1.2, patience=Patience(last_round=0.2))
        assert turn.model_calls == len(server.requests)


async def test_an_interrupt_in_a_retried_call_counts_every_request_of_it() -> None:
    answers = iter(["status_503", "silence"])
    async with FaultServer(lambda _: KINDS[next(answers)]) as server:
        model = OpenAICompatible(server.base_url, None, profile=PROFILES["vllm"], attempts=5)
        lane = Lane(prepare(Asked(model=model)), lambda _: None)
        lane.post("Go")
        while len(server.requests) < 2:
            await asyncio.sleep(0.05)
        lane.interrupt()
        assert (await lane.settled()).model_calls == 2
