"""Empty answers and calls that nobody could read (C29 to C32): a typed failure, soon, and never a success."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.cases.playing import EACH, PROMPT, answer, ends_with, everything, paris, play, roles, told, users
from vancetope.backends.faults import KINDS, Given, spoken
from vancetope.backends.faults.edits import finish
from vancetope.backends.scripted import calls, empty, malformed, say, think
from vancetope.events import Notice
from vancetope.messages import Accepted, Finish, History, Reply, User
from vancetope.outcome import DELIVERED, EnforcementName, Outcome

UNREADABLE = (
    "MALFORMED_FUNCTION_CALL",
    "malformed_function_call",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "malformed_tool_call",
)
UNKNOWN = ("OTHER", "FINISH_REASON_UNSPECIFIED", "done_thinking", "LANGUAGE", "", None)


def ending(word: str | None, reply: Reply) -> Given:
    return spoken("ending", "A reply with this finish.", lambda _: reply, edit=finish(word))


@EACH
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@pytest.mark.parametrize("word", UNREADABLE)
async def test_c29_a_call_that_the_provider_could_not_read_is_never_a_success(
    word: str, turn_end: Any, enforcement: EnforcementName
) -> None:
    played = await play([ending(word, empty())] * 2, enforcement, turn_end=turn_end)
    assert (played.turn.outcome, played.turn.message) == (Outcome.MALFORMED_CALL, None)
    assert (played.turn.model_calls, played.turn.corrections) == (2, 1)
    assert "could not be read" in told(played.requests[1])


@EACH
async def test_c29_one_unreadable_call_costs_one_correction(enforcement: EnforcementName) -> None:
    for kind in ("malformed_call", "calls_without_calls"):
        played = await play([KINDS[kind], answer], enforcement)
        assert (played.turn.outcome, played.turn.corrections, played.rows) == (Outcome.RESPOND, 1, ["malformed"])


async def test_c29_text_of_a_reply_with_an_unreadable_call_is_kept_as_best_text() -> None:
    broken = replace(malformed(), text="I will look at the clock.")
    played = await play([broken, broken])
    assert (played.turn.outcome, played.turn.best_text) == (Outcome.MALFORMED_CALL, "I will look at the clock.")


@EACH
@pytest.mark.parametrize("word", UNKNOWN)
async def test_c29_a_finish_that_nobody_knows_is_no_success_by_itself(
    word: str | None, enforcement: EnforcementName
) -> None:
    nothing = await play([ending(word, empty())] * 2, enforcement)
    assert (nothing.turn.outcome, nothing.turn.model_calls) == (Outcome.EMPTY_REPLY, 2)
    text = await play([ending(word, ends_with("It is 15:42.", enforcement))], enforcement, turn_end="natural")
    assert text.turn.outcome is Outcome.NATURAL_FALLBACK
    call = await play([ending(word, paris), ending(word, answer)], enforcement)
    assert call.turn.outcome is Outcome.RESPOND


EMPTY: dict[str, Reply] = {
    "nothing": empty(),
    "spaces": say(" \n\t "),
    "thinking": think("It was 15:42, so I am done."),
    "finish unknown": empty(Finish.UNKNOWN),
}


@EACH
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@pytest.mark.parametrize("kind", EMPTY)
async def test_c30_nothing_after_a_result_costs_one_more_request_at_once(
    kind: str, turn_end: Any, enforcement: EnforcementName
) -> None:
    last = answer if turn_end == "respond" else ends_with("It is 15:42 in Paris.", enforcement)
    played = await play([paris, EMPTY[kind], last], enforcement, turn_end=turn_end)
    assert played.turn.outcome in DELIVERED
    assert (played.turn.model_calls, played.turn.corrections, played.rows) == (3, 1, ["silent"])
    waited = played.requests[2].arrived - played.requests[1].arrived
    assert waited < 1.0, "there was a back-off"
    last_role = roles(played.requests[2])[-1]
    assert last_role == "user"
    assert "It is 15:42 in Paris." in everything(played.requests[2])


@EACH
@pytest.mark.parametrize("kind", EMPTY)
async def test_c30_nothing_twice_is_the_end(kind: str, enforcement: EnforcementName) -> None:
    played = await play([paris, EMPTY[kind], EMPTY[kind]], enforcement)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.EMPTY_REPLY, 3)
    assert played.turn.message is None


@EACH
async def test_c30_without_corrections_nothing_is_the_end_at_once(enforcement: EnforcementName) -> None:
    played = await play([empty()], enforcement, max_validation_corrections=0)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.EMPTY_REPLY, 1)


@EACH
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@pytest.mark.parametrize("kind", ["null_finish_empty", "empty_text", "blank_text", "thinking_only", "empty_choices"])
async def test_c32_a_server_that_never_says_anything_is_asked_twice_and_no_more(
    kind: str, turn_end: Any, enforcement: EnforcementName
) -> None:
    played = await play(lambda asked: KINDS[kind], enforcement, turn_end=turn_end, max_validation_corrections=50)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.EMPTY_REPLY, 2)


async def test_c32_nothing_and_something_by_turns_is_bounded_by_the_corrections() -> None:
    script = [empty(), say("Soon."), empty(), say("Now."), empty()]
    played = await play(script, max_validation_corrections=4)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.EMPTY_REPLY, 5)
    assert played.turn.best_text == "Now."


async def test_c32_near_the_limit_of_the_window_old_turns_make_room_before_anything_is_asked() -> None:
    past = History(tuple(each for n in range(40) for each in (User(f"{n} " + "word " * 200), Accepted("word " * 200))))
    played = await play([answer], history=past, fields={"contextWindow": 8000})
    assert played.turn.outcome is Outcome.RESPOND
    assert played.requests[0].size < 8000 * 3
    assert users(played.turn.messages)[-1] == PROMPT
    assert len(played.turn.messages) == 82
    assert len([each for each in played.of(Notice) if "oldest" in each.text]) == 1


async def test_c32_calls_that_are_promised_and_never_come_end_the_turn() -> None:
    played = await play(lambda asked: calls())
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.MALFORMED_CALL, 2)
