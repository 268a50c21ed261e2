"""Models that know only text: the envelope, its strictness, its one repair and what that costs."""

from __future__ import annotations

from json import dumps
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vancetope as vt
from tests import harness
from tests.harness import PROMPT, TOOLS, Played, get_time, shown
from vancetope.backends.scripted import (
    Answer,
    ScriptedText,
    as_envelope,
    call,
    calls,
    cut,
    refuse,
    respond,
    say,
)
from vancetope.contract import prompted
from vancetope.contract.envelope import in_force
from vancetope.errors import ServerFailed
from vancetope.events import CorrectionSent, Event, MessageCommitted, MessageRetracted, RepairSent, TextDelta
from vancetope.messages import Accepted, Reply, says_something
from vancetope.outcome import Outcome, Turn, TurnEnd
from vancetope.sentences import DELIVERED, NOTE_PREFIX

paris = as_envelope(call("get_time", city="Paris")).text
answer = as_envelope(respond("It is 15:42.")).text
PROSE = "I'll look at the clock now and come back."


async def play(script: list[Answer], **options: Any) -> Played:
    """A turn over texts that are given as they are."""
    return await harness.play(script, "prompted", follow_form=False, **options)


async def turn_of(*texts: str | Exception, tools: Any = (get_time,), **options: Any) -> tuple[Turn, ScriptedText]:
    said = ScriptedText(texts)
    return await vt.ask(PROMPT, model=said, tools=tools, **options), said


async def test_any_async_function_from_text_to_text_is_a_model() -> None:
    async def oracle(prompt: str) -> str:
        return answer if "It is 15:42 in Paris." in prompt else paris

    turn = await vt.ask(PROMPT, tools=[get_time], model=oracle)
    assert (turn.outcome, turn.message, turn.model_calls) == (Outcome.RESPOND, "It is 15:42.", 2)
    assert turn.enforcement.asked == turn.enforcement.honoured == "prompted"


async def test_the_system_text_states_the_form_the_contract_and_the_tools() -> None:
    _, said = await turn_of(answer)
    assert "a reply without a `respond` call is never an answer" in said.prompts[0]
    assert '{"name": "get_time", "arguments": {"city": "Zagreb"}}' in said.prompts[0]
    _, said = await turn_of(as_envelope(say("Hi")).text, turn_end="natural")
    assert "whose `tool_calls` is empty ends your turn at once" in said.prompts[0]
    assert "respond" not in said.prompts[0]


@pytest.mark.parametrize(
    "missed",
    [
        PROSE,
        f"{paris}\n{answer}",  # several different ones
        '{"tool_calls": [{"name": "get_time", "arguments": {"city": "Paris"}}]}',  # no content
        '{"content": "", "tool_calls": [{"name": "get_time", "arguments": "{}"}]}',  # arguments as a text
        '{"content": "", "tool_calls": [{"name": "get_time"}]}',
        '{"content": "", "tool_calls": [], "note": "x"}',
        '{"content": "", "tool_calls": {}}',
        '{"name": "respond", "arguments": {"message": "Hi"}}',
        '{"tool": "respond", "arguments": {"message": "Hi"}}',
        "[]",
        f"Here it comes: {paris}",  # a call is taken from the whole text or a fence, from nowhere else
        f"{paris}\n\nI wait for the result.",
        paris.replace('"', "'"),
        as_envelope(call("get_time", city="Oslo")).text[:-1],
    ],
)
async def test_a_reply_that_is_no_envelope_gets_exactly_one_repair(missed: str) -> None:
    turn, said = await turn_of(missed, paris, answer)
    assert (turn.outcome, turn.repairs, turn.corrections, turn.model_calls) == (Outcome.RESPOND, 1, 0, 3)
    assert turn.rounds == 2, "a repair happens inside its round"
    assert said.prompts[1].count(missed) == 1, "the reply is quoted once"
    assert missed not in said.prompts[2], "and leaves no trace in the conversation"


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "Sure.\n\n```json\n{}\n```\nDone.", "  {}\n"])
async def test_calls_run_from_the_whole_text_or_a_fence(fence: str) -> None:
    turn, _ = await turn_of(fence.replace("{}", paris), fence.replace("{}", answer))
    assert (turn.outcome, turn.repairs, turn.model_calls) == (Outcome.RESPOND, 0, 2)


async def test_an_envelope_without_calls_is_text_wherever_it_stands() -> None:
    words = as_envelope(say("Soon.")).text
    turn, _ = await turn_of(f"Well:\n{words}", answer)
    assert (turn.repairs, turn.corrections) == (0, 1)


async def test_the_words_beside_calls_are_narration() -> None:
    events: list[Event] = []
    beside = as_envelope(calls(call("get_time", city="Paris"), text="Let me look.")).text
    turn, _ = await turn_of(beside, answer, on_event=events.append)
    assert turn.message == "It is 15:42."
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "Let me look."


@pytest.mark.parametrize("corrections", range(5))
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_a_model_that_never_keeps_the_contract_costs_no_more_than_it_may(
    corrections: int, turn_end: TurnEnd
) -> None:
    texts = [f"{PROSE} {number}" for number in range(9)]
    turn, said = await turn_of(*texts, max_validation_corrections=corrections, turn_end=turn_end)
    assert len(said.prompts) == turn.model_calls <= max(2, 1 + corrections)
    assert turn.repairs == 1
    assert turn.message is not None
    assert turn.message in texts
    assert turn.enforcement.honoured == "none"
    if turn_end == "natural" or corrections < 2:
        assert turn.message == texts[0], "the first reply stands, the repair was a second chance"


@given(
    script=st.lists(st.sampled_from([PROSE, paris, answer, "", "{", as_envelope(say("x")).text]), max_size=12),
    corrections=st.integers(0, 3),
)
async def test_repairs_and_corrections_stay_within_their_bound(script: list[str], corrections: int) -> None:
    played = await play(
        [*map(say, script), *[say(answer)] * 40],
        max_validation_corrections=corrections,
        max_iterations=6,
    )
    assert played.turn.corrections <= corrections
    assert len(played.of(RepairSent)) == played.turn.repairs <= played.turn.rounds
    assert len(played.requests) == played.turn.rounds + played.turn.repairs


async def test_a_round_that_a_correction_started_gets_no_repair() -> None:
    played = await play([say(as_envelope(say("Soon.")).text), say(PROSE), say(answer)])
    assert [type(each).__name__ for each in played.events if isinstance(each, RepairSent | CorrectionSent)] == [
        "CorrectionSent",
        "CorrectionSent",
    ]
    assert played.turn.repairs == 0


async def test_a_narrowed_round_may_be_repaired() -> None:
    turn, said = await turn_of(paris, PROSE, answer, max_iterations=1)
    assert (turn.outcome, turn.narrowed, turn.repairs) == (Outcome.RESPOND, True, 1)
    assert '"name": "get_time"' not in said.prompts[1].split("=== user ===")[0], "only `respond` is offered"


@pytest.mark.parametrize(
    "reply",
    [cut(say(paris), 40), cut(say(PROSE)), refuse("No."), Reply(), say("  \n")],
    ids=["cut envelope", "cut prose", "refusal", "nothing", "blank"],
)
async def test_nothing_but_a_missing_envelope_is_repaired(reply: Reply) -> None:
    played = await play([reply, say(answer), say(answer)])
    assert played.of(RepairSent) == []


async def test_without_anything_to_call_plain_text_is_asked_for() -> None:
    turn, said = await turn_of("It is late.", tools=(), turn_end="natural")
    assert (turn.outcome, turn.message, turn.repairs) == (Outcome.NATURAL, "It is late.", 0)
    assert "tool_calls" not in said.prompts[0]
    envelope = '{"content": "x", "tool_calls": []}'
    turn, _ = await turn_of(envelope, tools=(), turn_end="natural")
    assert turn.message == envelope, "an envelope that nobody asked for is a text like any other"


@pytest.mark.parametrize(
    "second", [ServerFailed("down"), cut(say(answer), 30), refuse("No."), say(""), say(PROSE)], ids=str
)
async def test_where_the_repair_fails_the_first_reply_stands(second: Answer) -> None:
    played = await play([say(PROSE), second], max_validation_corrections=1)
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL_FALLBACK, PROSE)
    assert (played.turn.repairs, played.turn.corrections, len(played.requests)) == (1, 1, 2)


async def test_every_reply_is_paid_for_also_the_one_that_was_repaired() -> None:
    played = await play([say(PROSE), say(answer)])
    assert played.turn.usage.output_tokens == (len(PROSE) // 4) + (len(answer) // 4)


async def test_a_repair_is_not_sent_where_the_budget_forbids_it() -> None:
    sent: list[int] = []
    for budget in range(300, 2100, 50):
        turn, said = await turn_of(PROSE, answer, budget=budget, model_settings={"max_tokens": 10})
        sent.append(len(said.prompts))
        if len(said.prompts) == 1:
            assert (turn.outcome, turn.best_text, turn.repairs) == (Outcome.BUDGET_EXCEEDED, PROSE, 0)
    assert sent == sorted(sent)
    assert set(sent) == {0, 1, 2}


async def test_what_was_streamed_of_a_reply_that_is_repaired_is_taken_back() -> None:
    half = '{"content": "", "tool_calls": [{"name": "respond", "arguments": {"message": "Half'
    played = await play([say(half), say(answer)])
    assert played.of(RepairSent)
    assert [each.id for each in played.of(MessageRetracted)] == ["m1.0.0"]
    assert played.committed == ["It is 15:42."]


@given(
    message=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(says_something),
    before=st.sampled_from(["", "```json\n", "\n "]),
    size=st.integers(1, 9),
)
async def test_the_message_is_streamed_out_of_the_envelope(message: str, before: str, size: int) -> None:
    said = before + as_envelope(respond(message)).text + ("\n```" if "`" in before else "")
    played = await play([say(said)], chunking=size, validation=False)
    assert played.committed == [message]
    assert shown(played.events) == {played.of(MessageCommitted)[0].id: message}
    assert played.of(MessageRetracted) == []


async def test_earlier_answers_come_back_as_envelopes() -> None:
    first, _ = await turn_of(answer)
    said = ScriptedText([answer])
    await vt.ask("And now?", model=said, tools=[get_time], history=first.messages)
    delivered = dumps({"message": "It is 15:42.", "awaiting_user_input": True})
    assert f'{{"content": "", "tool_calls": [{{"name": "respond", "arguments": {delivered}}}]}}' in said.prompts[0]
    assert DELIVERED not in said.prompts[0]


async def test_under_natural_earlier_answers_come_back_in_the_form_that_is_asked_for() -> None:
    history = [vt.User("Hi"), Accepted("Hello.")]
    _, said = await turn_of(as_envelope(say("Yes.")).text, turn_end="natural", history=history)
    assert '{"content": "Hello.", "tool_calls": []}' in said.prompts[0]
    _, said = await turn_of("Yes.", turn_end="natural", history=history, tools=())
    assert "tool_calls" not in said.prompts[0]


async def test_a_repair_says_what_is_wanted_and_marks_who_speaks() -> None:
    _, said = await turn_of("x" * 10_000, answer)
    told = said.prompts[1].rpartition("=== user ===")[2]
    assert NOTE_PREFIX in told
    assert "x" * prompted.QUOTED in told
    assert "x" * (prompted.QUOTED + 1) not in told


def test_an_envelope_is_asked_for_where_there_is_anything_to_call() -> None:
    from vancetope.contract.rules import Rules

    assert in_force(Rules())
    assert not in_force(Rules(turn_end="natural"))


async def test_a_model_with_tools_of_its_own_can_be_prompted_too() -> None:
    played = await harness.play([call("get_time", city="Paris"), respond("It is 15:42.")], "prompted", tools=TOOLS)
    assert all(each.tools == () and each.response_schema is None and each.envelope for each in played.requests)
    assert played.turn.message == "It is 15:42."
