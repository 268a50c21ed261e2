"""Sequences in which the judge and the contract's own sentences disagree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import vancetope as vt
from tests.harness import get_time
from vancetope.backends.scripted import ScriptedBackend, action, call, calls, cut, raw_call, respond, say
from vancetope.events import Event, MessageCommitted, MessageRetracted
from vancetope.messages import Finish, Reply
from vancetope.outcome import Outcome, TurnEnd

HALF = raw_call("get_time", '{"city": "Pa')


def cut_behind(whole: Reply) -> Reply:
    return replace(calls(whole, HALF), finish=Finish.LENGTH)


WHOLE = {
    "ran": cut_behind(call("get_time", city="Oslo")),
    "unknown": cut_behind(call("nope")),
    "arguments that do not fit": cut_behind(call("get_time", town="Oslo")),
    "respond, mixed": cut_behind(respond("Hello.")),
}


@pytest.mark.parametrize("whole", WHOLE)
async def test_a_reply_cut_behind_a_whole_call_counts_as_one_cut_reply(whole: str) -> None:
    """contract.md, Readings: if the next is cut with nothing whole in it, that is the second."""
    model = ScriptedBackend([WHOLE[whole], cut("text that is cut"), respond("too late")])
    turn = await vt.ask("Go", model=model, tools=[get_time])
    assert (turn.outcome, len(model.requests)) == (Outcome.OUTPUT_TRUNCATED, 2)


@pytest.mark.parametrize("message", [None, 5, True, {"a": [1]}, ["a"]])
async def test_a_constrained_answer_that_is_no_text_is_never_delivered(message: Any) -> None:
    """A server may drop the constraint silently; Python's `None` is not what the model said."""
    model = ScriptedBackend([action("answer", message=message), action("answer", message="Good.")])
    turn = await vt.ask("Go", model=model, turn_end="natural", enforcement="constrained")
    assert turn.message == "Good."


BROKEN = {
    "a brace is missing": '{"tool": "get_time", "arguments": {"city": "Paris"}',
    "fenced": '```json\n{"tool": "get_time", "arguments": {"city": "Paris"}}\n```',
    "announced": 'I will look. {"tool": "get_time", "arguments": {"city": "Paris"}}',
    "no arguments": '{"tool": "get_time"}',
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_action_is_corrected_and_not_shown_to_the_user_as_the_answer(how: str) -> None:
    """Under `constrained` a reply is an action; `natural` is compiled to `answer(message)` (design, section 2)."""
    model = ScriptedBackend([say(BROKEN[how]), action("answer", message="15:42")])
    turn = await vt.ask("Go", model=model, tools=[get_time], turn_end="natural", enforcement="constrained")
    assert turn.message == "15:42"


BESIDE: dict[str, tuple[TurnEnd, Reply]] = {
    "natural, text beside a call": ("natural", calls(call("get_time", city="b"), text="Hello there")),
    "respond before another call": ("respond", calls(respond("Hello there"), call("get_time", city="b"))),
}


@pytest.mark.parametrize("case", BESIDE)
async def test_an_id_that_was_taken_back_is_never_committed(case: str) -> None:
    """events.py: everything shown under a retracted id did not count."""
    turn_end, last = BESIDE[case]
    events: list[Event] = []
    model = ScriptedBackend([call("get_time", city="a"), last])
    options: dict[str, Any] = {"turn_end": turn_end, "max_iterations": 1, "on_event": events.append}
    await vt.ask("Go", model=model, tools=[get_time], **options)
    gone = {event.id for event in events if isinstance(event, MessageRetracted)}
    assert not gone & {event.id for event in events if isinstance(event, MessageCommitted)}
