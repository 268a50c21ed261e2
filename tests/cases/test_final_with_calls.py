"""A final answer beside other calls (C19 to C28): nobody hears an answer that was given before its facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.cases.playing import EACH, answer, ids, oslo, paris, play, roles, work_calls, work_results
from vancetope.backends.faults import KINDS, Given
from vancetope.backends.scripted import call, calls, empty, malformed, raw_call, respond, say, think
from vancetope.events import MessageCommitted, MessageDelta, MessageRetracted, ToolEnded
from vancetope.messages import Reply
from vancetope.outcome import DELIVERED, EnforcementName, Outcome

GUESS = "It is sunny in Paris."


@pytest.mark.parametrize(
    "reply",
    [
        calls(paris, respond(GUESS, True)),
        calls(respond(GUESS, True), paris),
        calls(paris, respond(GUESS, True), oslo),
        calls(respond(GUESS, True), paris, respond(GUESS, True)),
        calls(respond(GUESS, True), call("get_tiem", city="Paris"), paris),
        calls(paris, respond(GUESS, True), text=GUESS),
    ],
    ids=["after", "before", "between", "around", "beside_unknown", "with_text"],
)
@EACH
async def test_c19_an_answer_beside_work_is_refused_and_the_next_one_uses_the_data(
    reply: Reply, enforcement: EnforcementName
) -> None:
    played = await play([reply, answer], enforcement)
    assert played.committed == ["It is 15:42 in Paris."]
    assert GUESS not in played.turn.messages.to_json()
    said = played.news(1)
    assert "It is 15:42 in Paris." in said
    assert said.count("last and only call") == sum(each.name == "respond" for each in reply.calls)
    assert played.turn.corrections == 0
    if enforcement == "native":
        results = [each for each in played.requests[1].messages if each["role"] == "tool"]
        assert [each["tool_call_id"] for each in results] == list(ids(played.requests[1]))
        assert len(results) == len(reply.calls)


async def test_c19_a_guess_that_was_shown_is_taken_back() -> None:
    played = await play([KINDS["respond_before_work"], answer])
    shown = [event for event in played.events if isinstance(event, MessageDelta | MessageRetracted | MessageCommitted)]
    kinds = [event.type for event in shown]
    assert "message_retracted" in kinds
    assert kinds.index("message_retracted") < kinds.index("message_committed")


async def test_c19_a_model_that_always_does_both_runs_its_work_and_is_narrowed_at_the_third_time() -> None:
    cities = [calls(call("get_time", city=city), respond(GUESS, True)) for city in ("Paris", "Oslo", "Rome")]
    played = await play([*cities, answer])
    assert (played.turn.outcome, played.turn.narrowed, played.turn.model_calls) == (Outcome.RESPOND, True, 4)
    assert len(played.of(ToolEnded)) == 3
    assert [list(asked.tools) for asked in played.requests[2:]] == [["get_time", "get_weather", "respond"], ["respond"]]


@EACH
@pytest.mark.parametrize("kind", ["two_responds", "final_twice"])
async def test_c20_of_two_answers_none_is_delivered_both_are_told_and_one_correction_is_spent(
    kind: str, enforcement: EnforcementName
) -> None:
    played = await play([KINDS[kind], answer], enforcement)
    assert played.committed == ["It is 15:42 in Paris."]
    assert (played.turn.corrections, played.turn.model_calls, played.rows) == (1, 2, ["many_responds"])
    assert played.news(1).count("once per reply") == 2
    if enforcement == "native":
        assert roles(played.requests[1])[-2:] == ["tool", "tool"]
        assert len(set(ids(played.requests[1]))) == 2


async def test_c20_a_model_that_always_answers_twice_reaches_nobody() -> None:
    played = await play([KINDS["two_responds"]] * 3)
    assert (played.turn.outcome, played.turn.message) == (Outcome.INCOMPLETE, None)
    assert played.turn.best_text == "It is raining in Paris."
    assert (played.committed, played.turn.model_calls) == ([], 3)


BROKEN = ('{"message": "It is', "[]")


@pytest.mark.parametrize(
    "wrong",
    [
        call("respond"),
        call("respond", text=GUESS),
        call("respond", message=""),
        call("respond", message={"text": GUESS}),
        *(raw_call("respond", broken) for broken in BROKEN),
        raw_call("respond", ""),
    ],
    ids=["bare", "other_key", "blank", "object", "cut", "array", "nothing"],
)
@EACH
async def test_c21_a_bad_answer_beside_work_lets_the_work_run_and_the_turn_go_on(
    wrong: Reply, enforcement: EnforcementName
) -> None:
    played = await play([calls(wrong, paris), answer], enforcement)
    assert played.committed == ["It is 15:42 in Paris."]
    if enforcement == "prompted" and wrong.calls[0].arguments in BROKEN:
        assert (played.turn.repairs, work_results(played.turn)) == (1, [])  # a broken call breaks its envelope
        return
    assert [result.ok for result in work_results(played.turn)] == [True]
    assert "Not delivered" in played.news(1)


@EACH
async def test_c21_a_bad_answer_alone_is_told_what_is_wrong_with_it(enforcement: EnforcementName) -> None:
    played = await play([KINDS["invalid_respond"], answer], enforcement)
    assert (played.rows, played.turn.corrections) == (["invalid_respond"], 1)
    assert "message" in played.news(1)
    assert played.committed == ["It is 15:42 in Paris."]


WORDS = st.sampled_from(["", "x", "Looking.", "完了"])
ARGUMENTS = st.sampled_from(['{"city": "Paris"}', "{}", "", "null", '{"city": ', "[1]", '{"city": NaN}', '"{}"'])
MESSAGES = st.sampled_from(['{"message": "Hello."}', '{"message": ""}', "{}", '{"message": "a", "x": 1}', '{"message'])
IDS = st.sampled_from(["", "call_0", "call_1", "get_time:0", "a b/c", "x" * 80])
CALLS = st.one_of(
    st.builds(raw_call, st.sampled_from(["get_time", "get_weather", "nope", "", "a.b c"]), ARGUMENTS, id=IDS),
    st.builds(raw_call, st.just("respond"), MESSAGES, id=IDS),
)
REPLIES = st.one_of(
    st.builds(lambda made, text: calls(*made, text=text), st.lists(CALLS, min_size=1, max_size=4), WORDS),
    st.builds(say, WORDS),
    st.builds(think, WORDS),
    st.just(malformed()),
    st.just(empty()),
)


@hypothesis.settings(max_examples=40)
@hypothesis.given(replies=st.lists(REPLIES, max_size=8))
async def test_c22_after_any_reply_every_call_has_exactly_one_result(replies: list[Reply]) -> None:
    left = list(replies)
    rest = respond("That is all.", True)
    # The server refuses a request in which a call has no result, two results, or an id that was there before.
    played = await play(lambda asked: left.pop(0) if left else rest)
    assert played.turn.outcome in DELIVERED | {Outcome.EMPTY_REPLY, Outcome.MALFORMED_CALL, Outcome.INCOMPLETE}
    for asked in played.requests:
        results = [message["tool_call_id"] for message in asked.messages if message["role"] == "tool"]
        assert results == list(ids(asked))
    after = await play([rest], history=played.turn.messages)
    assert after.turn.outcome is Outcome.RESPOND


@pytest.mark.parametrize("corrections", [0, 2])
@pytest.mark.parametrize("kind", ["two_responds", "respond_before_work", "text_and_respond", "final_twice"])
async def test_c24_delivery_happens_at_acceptance_and_only_then(kind: str, corrections: int) -> None:
    script: list[Given] = [KINDS[kind], answer]
    played = await play(script, max_validation_corrections=corrections)
    assert len(played.committed) <= 1
    for event in played.of(MessageCommitted):
        assert played.events.index(event) == len(played.events) - 2
    assert played.events[-1].type == "turn_ended"


@pytest.mark.parametrize("said", ['{"a": 1}', '{"message": "It is noon.", "awaiting_user_input": true}', "[]"])
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c25_an_answer_as_json_beside_a_call_is_narration_and_the_call_runs(said: str, turn_end: Any) -> None:
    last = answer if turn_end == "respond" else say("It is 15:42 in Paris.")
    played = await play([replace(paris, text=said), last], turn_end=turn_end)
    assert (played.committed, played.turn.corrections) == (["It is 15:42 in Paris."], 0)
    assert work_calls(played.turn.messages) == ["get_time"]


async def test_c25_an_action_as_text_beside_a_call_does_not_count_on_a_constrained_server() -> None:
    action = '{"tool": "get_weather", "arguments": {"city": "Oslo"}}'
    played = await play([replace(calls(paris, oslo), text="Both."), replace(paris, text=action), answer], "constrained")
    assert played.turn.outcome is Outcome.RESPOND
    # Whichever of the two counts, each reply's calls are answered once and nothing is run twice.
    assert len(work_results(played.turn)) == len(work_calls(played.turn.messages)) == len(played.of(ToolEnded))


@pytest.mark.parametrize("kind", ["narration_with_call", "json_and_call"])
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c26_where_content_and_calls_come_together_the_calls_win(kind: str, turn_end: Any) -> None:
    last = answer if turn_end == "respond" else say("It is 15:42 in Paris.")
    played = await play([KINDS[kind], last], turn_end=turn_end)
    assert played.committed == ["It is 15:42 in Paris."]
    assert played.turn.model_calls == 2


ALWAYS = sorted(
    name
    for name, fault in KINDS.items()
    if fault.leaves == "reply" and name not in {"end_turn_false", "slow"} and not name.startswith(("status", "context"))
)


@EACH
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c28_no_two_requests_in_a_row_are_the_same(turn_end: Any, enforcement: EnforcementName) -> None:
    for kind in ALWAYS:
        played = await play(lambda asked, kind=kind: KINDS[kind], enforcement, turn_end=turn_end, max_iterations=8)  # type: ignore[misc]
        assert played.server.repeats == [], kind
        assert played.turn.model_calls <= 9, kind


@EACH
async def test_c28_an_empty_answer_to_a_typed_request_is_not_asked_again_in_the_same_words(
    enforcement: EnforcementName,
) -> None:
    played = await play([empty(), answer], enforcement)
    assert played.requests[0].body != played.requests[1].body
    assert "empty" in played.news(1)
