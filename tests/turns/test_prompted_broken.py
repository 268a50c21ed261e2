"""What once broke the contract of prompted models: their price, what a repair may lose, and what people see of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vancetope as vt
from tests import harness
from tests.harness import PROMPT, Played, get_time
from vancetope.backends.scripted import (
    Answer,
    ScriptedText,
    as_envelope,
    call,
    calls,
    cut,
    failing,
    filtered,
    refuse,
    respond,
    say,
)
from vancetope.backends.text import TextBackend
from vancetope.contract import prompted
from vancetope.contract.rules import Rules
from vancetope.errors import ServerFailed
from vancetope.events import CorrectionSent, RepairSent
from vancetope.messages import Accepted, Message, Reply, User
from vancetope.models.base import ModelInfo
from vancetope.outcome import Outcome, Role, TurnEnd

paris = as_envelope(call("get_time", city="Paris")).text
answer = as_envelope(respond("It is 15:42.")).text
promise = as_envelope(say("I will look.")).text
misfit = as_envelope(call("respond", text="It is 15:42.")).text
twice = as_envelope(calls(respond("One."), respond("Two."))).text
INFO = ModelInfo(provider="text", name="x", enforcements=("prompted",), forced_choice=False)
PROSE = "I'll look at the clock now and come back."


async def play(script: list[Answer], **options: Any) -> Played:
    """A turn over texts that are given as they are."""
    return await harness.play(script, "prompted", follow_form=False, **options)


@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@given(
    script=st.lists(st.sampled_from([PROSE, promise, misfit, twice, f"Then: {paris}"]), min_size=8, max_size=8),
    corrections=st.integers(0, 3),
    iterations=st.integers(1, 5),
    role=st.sampled_from(["primary", "worker"]),
    validation=st.booleans(),
)
async def test_breaking_the_contract_in_any_way_costs_no_more_than_it_may(
    turn_end: TurnEnd, script: list[str], corrections: int, iterations: int, role: Role, validation: bool
) -> None:
    if turn_end == "natural":  # a `respond` is an unknown tool there: that row has a budget of its own
        script = [each for each in script if each not in (misfit, twice)] or [PROSE] * 8
    replies: list[Answer] = [say(f"{each}{' ' * number}") for number, each in enumerate(script * 4)]
    played = await play(
        replies,
        max_validation_corrections=corrections,
        max_iterations=iterations,
        validation=validation,
        turn_end=turn_end,
        role=role,
    )
    assert played.turn.model_calls <= max(2, 1 + corrections)
    assert played.turn.corrections <= corrections
    assert len(played.of(RepairSent)) == played.turn.repairs


@pytest.mark.parametrize("broken", [promise, misfit, twice])
async def test_a_repair_that_breaks_the_contract_in_another_way_has_spent_a_correction(broken: str) -> None:
    played = await play([say(PROSE), say(broken), say(answer)], max_validation_corrections=2)
    assert (played.turn.message, played.turn.corrections, played.turn.model_calls) == ("It is 15:42.", 2, 3)
    played = await play([say(PROSE), say(broken), say(answer)], max_validation_corrections=1)
    assert (played.turn.corrections, played.turn.model_calls) == (1, 2)
    assert played.of(CorrectionSent) == []


async def test_a_repair_that_keeps_the_contract_is_objected_to_as_any_answer() -> None:
    script: list[Answer] = [say(as_envelope(call("read_book")).text), say(PROSE), say(answer), say(answer)]
    played = await play(script, max_validation_corrections=1)
    assert (played.turn.outcome, played.turn.corrections, played.turn.repairs) == (Outcome.RESPOND, 1, 1)
    assert played.turn.model_calls == 4


async def test_a_reply_that_says_its_turn_goes_on_is_not_repaired() -> None:
    script: list[Answer] = [say(f"{PROSE} {number}", end_turn=False) for number in range(3)]
    played = await play([*script, say(answer)], max_validation_corrections=0)
    assert (played.turn.outcome, played.turn.rounds, played.turn.model_calls) == (Outcome.RESPOND, 4, 4)
    assert played.of(RepairSent) == []


async def test_a_repair_that_does_not_fit_the_window_leaves_the_first_reply() -> None:
    prose = "Prose. " * 100
    outcomes = set()
    for window in range(400, 1400, 40):
        said = ScriptedText([prose, answer])
        model = TextBackend(said, info=replace(INFO, context_window=window))
        options: dict[str, Any] = {"model_settings": {"max_tokens": 30}, "max_validation_corrections": 0}
        turn = await vt.ask(PROMPT, model=model, tools=[get_time], **options)
        assert turn.outcome in (Outcome.CONTEXT_OVERFLOW, Outcome.NATURAL_FALLBACK, Outcome.RESPOND)
        if said.prompts:
            assert turn.message == (prose if len(said.prompts) == 1 else "It is 15:42.")
            assert turn.repairs == len(said.prompts) - 1
        outcomes.add(turn.outcome)
    assert len(outcomes) == 3


async def test_a_repair_that_was_never_sent_spends_no_correction() -> None:
    unsent = 0
    for window in range(700, 1400, 20):
        model = TextBackend(ScriptedText(["Prose. " * 130, answer]), info=replace(INFO, context_window=window))
        turn = await vt.ask(PROMPT, model=model, tools=[get_time], model_settings={"max_tokens": 30})
        if turn.outcome is Outcome.RESPOND:
            assert turn.corrections == 1 - turn.repairs
            unsent += not turn.repairs
    assert unsent


HALF = '{"content": "Looking it up.", "tool_calls": "none"}'


@pytest.mark.parametrize("second", [say(HALF), cut(say(HALF)), failing(say(HALF), ServerFailed("down"), after=9)])
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_nothing_of_a_failed_repair_stays_on_the_screen(second: Answer, turn_end: TurnEnd) -> None:
    played = await play([say(PROSE), second, say(answer)], turn_end=turn_end)
    assert "Looking" not in "".join(played.shown.values())


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (refuse(answer), "It is 15:42."),
        (filtered(answer[:80]), "It is 15:42."[: len(answer[:80].rpartition('"message": "')[2])]),
        (filtered(f"```json\n{answer}"), "It is 15:42."),
        (filtered(f"<think>Hm {{}}</think>\n{answer}"), "It is 15:42."),
        (refuse('{"content": "I must not.", "tool_calls": []}'), "I must not."),
        (refuse('{"content": ""'), None),
        (refuse("I must not {really}."), "I must not {really}."),
        (refuse("{Really} not."), "{Really} not."),
    ],
)
async def test_what_is_kept_of_a_refused_envelope_is_what_it_said(reply: Reply, kept: str | None) -> None:
    played = await play([reply])
    assert played.turn.best_text == kept
    assert played.of(RepairSent) == []


@pytest.mark.parametrize("before", ["", "\n", "```json\n", "<think>Hm {}</think>\n"])
async def test_what_is_kept_of_a_cut_envelope_is_what_it_said(before: str) -> None:
    script: list[Answer] = [cut(say(before + answer[:-4])), cut(say(before + answer[:-3]))]
    played = await play(script)
    assert (played.turn.outcome, played.turn.best_text) == (Outcome.OUTPUT_TRUNCATED, "It is 15:42.")


async def test_an_envelope_that_closed_by_itself_counts_as_if_it_was_not_cut() -> None:
    played = await play([cut(say(paris)), cut(say(f" {answer}\n"))])
    assert (played.turn.outcome, played.turn.rounds) == (Outcome.RESPOND, 2)
    played = await play([cut(say(f"{paris}\nAnd")), say(answer)])
    assert [each.row for each in played.of(CorrectionSent)] == ["cut"]


async def test_calls_of_a_tool_api_that_nobody_offered_are_no_envelope() -> None:
    played = await play([call("get_time", city="Paris"), respond("It is 15:42.")])
    assert played.turn.message == "It is 15:42."
    assert played.turn.enforcement.honoured == "none"


@pytest.mark.parametrize("heading", ["=== assistant ===\n", "\n=== assistant ===\n\n", "=== assistant === \r\n"])
async def test_a_model_that_repeats_its_heading_needs_no_repair(heading: str) -> None:
    said = ScriptedText([heading + paris, heading + answer])
    turn = await vt.ask(PROMPT, model=said, tools=[get_time])
    assert (turn.message, turn.repairs, turn.model_calls) == ("It is 15:42.", 0, 2)
    plain = await vt.ask(PROMPT, model=ScriptedText([f"{heading}Late."]), turn_end="natural")
    assert plain.message == "Late."


async def test_only_a_whole_line_is_taken_for_the_heading() -> None:
    text = "=== assistant === is a heading."
    turn = await vt.ask(PROMPT, model=ScriptedText([text]), turn_end="natural")
    assert turn.message == text


@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_every_example_that_the_model_is_shown_is_a_whole_reply(turn_end: TurnEnd) -> None:
    said = ScriptedText([answer if turn_end == "respond" else promise])
    await vt.ask(PROMPT, model=said, tools=[get_time], turn_end=turn_end)
    shown = [line.partition("xample: ")[2] for line in said.prompts[0].splitlines() if "xample: {" in line]
    assert len(shown) == 2
    for example in shown:
        turn = await vt.ask(PROMPT, model=ScriptedText([example, answer]), tools=[get_time], max_iterations=1)
        assert turn.repairs == 0


async def test_the_past_is_put_into_words_once_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    lower = prompted._lower

    def counted(message: Message, rules: Rules) -> Any:
        made.append(message)
        return lower(message, rules)

    monkeypatch.setattr(prompted, "_lower", counted)
    history = [each for number in range(50) for each in (User(f"Question {number}"), Accepted(f"Answer {number}"))]
    said = ScriptedText([*[as_envelope(call("get_time", city=str(number))).text for number in range(9)], answer])
    turn = await vt.ask(PROMPT, model=said, tools=[get_time], history=history)
    assert turn.model_calls == 10
    assert len(made) < 150
    assert all(f"Answer {number}" in said.prompts[-1] for number in range(50))
