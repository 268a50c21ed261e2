"""`Turn.reason` is a sentence for every turn that ended otherwise than by the contract's own end."""

from __future__ import annotations

from typing import Any

import pytest

import vancetope as vt
from vancetope.asked import Asked
from vancetope.backends.scripted import Answer, ScriptedBackend, empty, raw_call, respond, say
from vancetope.lane import Lane
from vancetope.messages import Finish
from vancetope.outcome import Outcome
from vancetope.prepare import prepare

FALLBACKS: dict[str, list[Answer]] = {
    "text without a call": [say("Hello.")] * 3,
    "arguments that do not fit": [raw_call("respond", '{"message": "Hello.", "awaiting_user_input": null}')] * 3,
    "text in the last round": [empty(Finish.TOOL_CALLS), say("Hello.")],
}


@pytest.mark.parametrize("how", FALLBACKS)
async def test_a_fallback_says_why_it_is_one(how: str) -> None:
    """design/contract.md, section 4: reason (a sentence)."""
    options: dict[str, Any] = {"max_iterations": 1} if len(FALLBACKS[how]) == 2 else {}
    turn = await vt.ask("Go", model=ScriptedBackend(FALLBACKS[how]), **options)
    assert turn.outcome is Outcome.NATURAL_FALLBACK
    assert turn.reason


async def test_a_worker_that_has_started_has_a_reason_for_its_missing_message() -> None:
    lane = Lane(prepare(Asked(model=ScriptedBackend([]), recipe="ford", role="worker")), lambda _: None)
    turn = await lane.start()
    with pytest.raises(vt.TurnFailed, match=r"started: \w"):
        turn.unwrap()


@pytest.mark.parametrize("message", ["\u200b", "\u2060\u200d", "\ufeff", "\u00ad"])
async def test_a_message_in_which_nothing_can_be_seen_is_blank(message: str) -> None:
    """contract.md: a blank message is invalid; blank text is no text."""
    turn = await vt.ask("Go", model=ScriptedBackend([respond(message), respond("Hello.")]))
    assert turn.message == "Hello."
