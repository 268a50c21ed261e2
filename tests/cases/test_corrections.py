"""Corrections and forced choices (C34 to C47): counted at the server, bounded, and gone with their request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import vancetope
from tests.cases.playing import (
    EACH,
    PROMPT,
    Line,
    answer,
    at,
    clockwork,
    ends_with,
    oslo,
    paris,
    play,
    roles,
    settle,
    told,
    work_calls,
)
from vancetope import ConfigError
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, narration
from vancetope.backends.scripted import ScriptedText, call, calls, cut, empty, malformed, raw_call, respond, say, think
from vancetope.contract.calls import message_of
from vancetope.messages import Finish, Reply
from vancetope.outcome import EnforcementName, Outcome
from vancetope.tools.functions import tool

BUDGETS = pytest.mark.parametrize("corrections", [0, 1, 2, 5])

# Replies that break the contract without getting anywhere, and how the turn ends that hears nothing else.
NEVER: dict[str, tuple[Given, Outcome]] = {
    "narration": (narration(), Outcome.NATURAL_FALLBACK),
    "narration_hi": (narration("hi"), Outcome.NATURAL_FALLBACK),
    "invalid_respond": (KINDS["invalid_respond"], Outcome.INCOMPLETE),
    "respond_with_a_bad_flag": (respond("Hello.", "maybe"), Outcome.NATURAL_FALLBACK),  # type: ignore[arg-type]
    "blank_respond": (KINDS["blank_respond"], Outcome.INCOMPLETE),
    "fenced_respond": (KINDS["fenced_respond"], Outcome.INCOMPLETE),
    "two_responds": (KINDS["two_responds"], Outcome.INCOMPLETE),
}


@BUDGETS
@EACH
@pytest.mark.parametrize("kind", NEVER)
async def test_c34_a_model_that_never_mends_its_reply_costs_the_budget_and_one(
    kind: str, enforcement: EnforcementName, corrections: int
) -> None:
    given, outcome = NEVER[kind]
    broken = kind == "fenced_respond" and enforcement != "native"
    if broken:
        outcome = Outcome.NATURAL_FALLBACK  # an action or an envelope that is no JSON is a text
    played = await play(lambda asked: given, enforcement, max_validation_corrections=corrections)
    repairs = int(broken and enforcement == "prompted")  # it costs a correction, where there is one
    assert len(played.requests) == max(1 + corrections, 1 + repairs)
    assert (played.turn.outcome, played.turn.corrections) == (outcome, corrections)
    assert len(played.rows) == max(corrections - repairs, 0)
    assert played.turn.repairs == repairs


@EACH
async def test_c34_the_same_mistake_is_told_with_its_place_and_what_was_expected(enforcement: EnforcementName) -> None:
    wrong = respond("Hello.", "perhaps")  # type: ignore[arg-type]
    played = await play([wrong, wrong, answer], enforcement)
    for number in (1, 2):
        said = told(played.requests[number])
        assert "/awaiting_user_input" in said
        assert "expected true or false" in said
    assert played.turn.corrections == 2


@EACH
@BUDGETS
async def test_c34_one_budget_is_shared_by_all_routes(corrections: int, enforcement: EnforcementName) -> None:
    ways: list[Given] = [
        say("Soon."),
        KINDS["invalid_respond"],
        empty(),
        KINDS["two_responds"],
        malformed(),
        say("Now."),
        empty(),
    ]
    played = await play(ways, enforcement, max_validation_corrections=corrections)
    assert len(played.requests) == 1 + corrections
    assert played.turn.corrections == corrections


@EACH
async def test_c34_the_budget_is_not_refilled_by_work_between_the_mistakes(enforcement: EnforcementName) -> None:
    script = [say("a"), paris, say("b"), oslo, say("c")]
    played = await play(script, enforcement)
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL_FALLBACK, "c")
    assert (played.turn.corrections, played.turn.model_calls) == (2, 5)


async def test_c34_every_turn_of_a_process_has_its_own_budget_and_none_has_more() -> None:
    async with FaultServer(lambda asked: narration()) as server:
        line = Line(server, options={"max_validation_corrections": 1})
        for number in (1, 2, 3):
            line.lane.post("What time is it?")
            turn = await line.lane.settled()
            assert (turn.corrections, len(server.requests)) == (1, 2 * number)
    line.keeps_promises()


@EACH
async def test_c34_calls_that_never_fit_end_in_a_last_round_after_three(enforcement: EnforcementName) -> None:
    played = await play(lambda asked: call("get_time", town="Paris"), enforcement, max_validation_corrections=50)
    assert (played.turn.outcome, played.turn.narrowed, len(played.requests)) == (Outcome.INCOMPLETE, True, 4)
    assert "/city" in told(played.requests[1]) or "city" in told(played.requests[1])


@BUDGETS
@EACH
async def test_c35_the_number_of_corrections_is_the_number_that_was_asked_for(
    corrections: int, enforcement: EnforcementName
) -> None:
    async with FaultServer(lambda asked: say("Not yet.")) as server:
        turn = await vancetope.ask(
            PROMPT, enforcement=enforcement, max_validation_corrections=corrections, **at(server)
        )
    assert len(server.requests) == 1 + corrections == turn.model_calls == 1 + turn.corrections


async def test_c35_the_number_is_read_from_a_recipe_and_an_argument_comes_before_it(tmp_path: Path) -> None:
    recipe = tmp_path / "patient.yaml"
    recipe.write_text("engine: ford\nparams: {maxValidationCorrections: 4}\n")
    by_recipe = await play(lambda asked: say("Not yet."), recipe=recipe)
    by_argument = await play(lambda asked: say("Not yet."), recipe=recipe, max_validation_corrections=1)
    assert (len(by_recipe.requests), len(by_argument.requests)) == (5, 2)


@pytest.mark.parametrize("wrong", [-1, -100])
async def test_c35_a_number_that_cannot_be_is_refused_before_anything_is_sent(wrong: int) -> None:
    async with FaultServer(clockwork) as server:
        with pytest.raises(ConfigError, match="corrections"):
            await vancetope.ask(PROMPT, max_validation_corrections=wrong, **at(server))
    assert server.requests == []


@EACH
async def test_c37_an_outcome_of_respond_means_that_the_arguments_fit_the_form(enforcement: EnforcementName) -> None:
    sound = {"no_flag", "extra_respond", "text_flag", "text_and_respond"}
    for kind in sorted(name for name in KINDS if "respond" in name or name == "constraint_ignored"):
        played = await play([KINDS[kind]] * 4, enforcement)
        assert (played.turn.outcome is Outcome.RESPOND) == (kind in sound), kind


@EACH
async def test_c37_prose_of_a_server_that_drops_the_constraint_is_marked_and_never_a_respond(
    enforcement: EnforcementName,
) -> None:
    played = await play([KINDS["constraint_ignored"]] * 3, enforcement)
    assert played.turn.outcome is Outcome.NATURAL_FALLBACK
    assert played.turn.enforcement.asked == enforcement
    assert played.turn.enforcement.honoured == ("native" if enforcement == "native" else "none")


async def test_c38_an_enforcement_that_the_model_lacks_is_refused_at_once() -> None:
    said = ScriptedText([])
    with pytest.raises(ConfigError, match="cannot do 'native' enforcement; it can do 'prompted'"):
        await vancetope.ask(PROMPT, enforcement="native", model=said)
    assert said.prompts == []


@EACH
async def test_c38_a_server_that_drops_our_tools_is_not_begged_for_ever(enforcement: EnforcementName) -> None:
    def deaf(asked: Asked) -> Reply:
        return say("I have no tools here, but it should be noon.")

    played = await play(deaf, enforcement)
    assert (len(played.requests), played.turn.outcome) == (3, Outcome.NATURAL_FALLBACK)
    for asked in played.requests:
        assert "respond" in str(asked.messages[0]), "the contract stands in the system prompt as well"


@EACH
async def test_c39_respond_is_offered_in_every_request_of_a_turn(enforcement: EnforcementName) -> None:
    script: list[Given] = [paris, narration(), oslo, empty(), KINDS["unknown_tool"], answer]
    played = await play(script, enforcement)
    assert [list(asked.tools)[-1] for asked in played.requests] == ["respond"] * 6


@EACH
async def test_c39_respond_survives_two_hundred_other_tools(enforcement: EnforcementName) -> None:
    def look(city: str) -> str:
        """Look something up."""
        return city

    many = [tool(look, name=f"look_{number}") for number in range(200)]
    played = await play([call("look_7", city="Paris"), answer], enforcement, tools=many)
    assert all("respond" in asked.tools and len(asked.tools) == 201 for asked in played.requests)


@pytest.mark.parametrize("how", ["remove", "defer"])
async def test_c39_a_recipe_that_takes_respond_away_does_not_load(how: str, tmp_path: Path) -> None:
    recipe = tmp_path / "mute.yaml"
    recipe.write_text(f"engine: ford\ntools: {{{how}: [respond]}}\n")
    async with FaultServer(clockwork) as server:
        with pytest.raises(ConfigError, match="respond"):
            await vancetope.ask(PROMPT, recipe=recipe, **at(server))
    assert server.requests == []


@pytest.mark.parametrize("name", ["respond", "answer", "result_read"])
async def test_c39_a_tool_cannot_take_the_place_of_the_runtimes_own(name: str) -> None:
    def impostor(message: str) -> str:
        """Say something."""
        return message

    async with FaultServer(clockwork) as server:
        with pytest.raises(ConfigError, match=name):
            await vancetope.ask(PROMPT, tools=[tool(impostor, name=name)], **at(server))
    assert server.requests == []


# The last round.


@EACH
async def test_c40_the_last_round_offers_respond_alone_says_why_and_keeps_the_best_text(
    enforcement: EnforcementName,
) -> None:
    script = [say("It should be noon."), paris, call("get_time", city="Oslo"), oslo]
    played = await play(script, enforcement, max_iterations=3)
    assert (played.turn.outcome, played.turn.best_text) == (Outcome.INCOMPLETE, "It should be noon.")
    assert played.turn.narrowed
    *before, last = played.requests
    assert all(len(asked.tools) == 3 for asked in before)
    assert list(last.tools) == ["respond"]
    assert "limit of 3 replies" in told(last)
    assert "call `respond` now" in told(last)
    assert work_calls(played.turn.messages) == ["get_time", "get_time", "get_weather"]
    if enforcement == "native":
        assert last.body["tool_choice"] == {"type": "function", "function": {"name": "respond"}}


@EACH
@pytest.mark.parametrize(
    ("last", "outcome", "message"),
    [
        (answer, Outcome.RESPOND, "It is 15:42 in Paris."),
        (say("Perhaps noon."), Outcome.NATURAL_FALLBACK, "Perhaps noon."),
        (respond("On it.", False), Outcome.RESPOND, "On it."),
        (respond("  "), Outcome.INCOMPLETE, None),
        (paris, Outcome.INCOMPLETE, None),
        (empty(), Outcome.INCOMPLETE, None),
        (think("Hm."), Outcome.INCOMPLETE, None),
        (malformed(), Outcome.INCOMPLETE, None),
    ],
    ids=["respond", "text", "flag", "blank", "work", "nothing", "thinking", "malformed"],
)
async def test_c40_whatever_comes_in_the_last_round_is_the_last_thing_asked(
    last: Reply, outcome: Outcome, message: str | None, enforcement: EnforcementName
) -> None:
    played = await play([paris, last], enforcement, max_iterations=1)
    assert (played.turn.outcome, played.turn.message, len(played.requests)) == (outcome, message, 2)
    assert played.turn.corrections == 0


@EACH
async def test_c40_under_natural_the_last_round_has_no_tools(enforcement: EnforcementName) -> None:
    script = [paris, ends_with("It is 15:42.", enforcement)]
    played = await play(script, enforcement, turn_end="natural", max_iterations=1)
    assert (played.turn.outcome, played.turn.narrowed) == (Outcome.NATURAL, True)
    assert "tools" not in played.requests[1].body
    assert "tool_choice" not in played.requests[1].body
    assert list(played.requests[1].tools) == (["answer"] if enforcement == "constrained" else [])


async def test_c41_a_forced_choice_is_for_one_request_and_the_next_turn_is_free_again() -> None:
    script = [paris, answer, paris, answer]
    async with FaultServer(script) as server:
        line = Line(server, options={"max_iterations": 1})
        for prompt in ("What time is it?", "And now?"):
            line.lane.post(prompt)
            await line.lane.settled()
    line.keeps_promises()
    choices = [asked.body["tool_choice"] for asked in server.requests]
    forced = {"type": "function", "function": {"name": "respond"}}
    assert choices == ["auto", forced, "auto", forced]


@EACH
async def test_c41_corrections_never_force_anything(enforcement: EnforcementName) -> None:
    played = await play([narration(), paris, narration(), answer], enforcement)
    assert {asked.body.get("tool_choice") for asked in played.requests} <= {"auto", None}


async def test_c42_at_the_cap_no_work_tool_is_forced_offered_or_run() -> None:
    played = await play(lambda asked: paris, max_iterations=2)
    assert len(played.requests) == 3
    assert list(played.requests[-1].tools) == ["respond"]
    assert "get_time" not in str(played.requests[-1].body["tool_choice"])
    assert work_calls(played.turn.messages) == ["get_time"] * 3
    assert [result.ok for result in played.turn.messages if result.kind == "result"] == [True, True, False]


@EACH
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c43_a_schema_for_the_text_never_stands_beside_tools(turn_end: Any, enforcement: EnforcementName) -> None:
    script = [paris, oslo, answer if turn_end == "respond" else say("It is 15:42.")]
    played = await play(script, enforcement, turn_end=turn_end, max_iterations=2)
    for asked in played.requests:
        assert ("response_format" in asked.body) == (enforcement == "constrained")
        assert not ("response_format" in asked.body and "tools" in asked.body)
        if enforcement == "constrained":
            assert "tool_choice" not in asked.body


@pytest.mark.parametrize("kind", ["llamacpp", "ollama"])
async def test_c45_where_a_server_refuses_forced_choices_none_is_sent(kind: str) -> None:
    played = await play([paris, answer], kind=kind, max_iterations=1)
    assert (played.turn.outcome, played.turn.narrowed) == (Outcome.RESPOND, True)
    assert [asked.body["tool_choice"] for asked in played.requests] == ["auto", "auto"]
    assert list(played.requests[-1].tools) == ["respond"]
    assert "call `respond` now" in told(played.requests[-1])


CUT_CALLS = {
    "respond": cut(respond("A long story. " * 20), at=60),
    "work": cut(call("get_time", city="A long name of a city"), at=20),
    "nothing_of_it": cut(raw_call("get_time", "")),
    "text": cut(say("A long story. " * 20), at=60),
    "thinking": cut(think("A long thought. " * 20)),
    "nothing": empty(Finish.LENGTH),
}


@EACH
@pytest.mark.parametrize("kind", CUT_CALLS)
async def test_c46_a_cut_reply_is_called_cut_and_not_wrong(kind: str, enforcement: EnforcementName) -> None:
    played = await play([CUT_CALLS[kind], answer], enforcement, model_settings={"max_tokens": 77})
    assert (played.turn.outcome, played.turn.corrections, len(played.requests)) == (Outcome.RESPOND, 0, 2)
    said = told(played.requests[1])
    assert "cut off at 77 tokens" in said
    assert "shorter" in said
    assert "required" not in said


@EACH
@pytest.mark.parametrize("kind", CUT_CALLS)
async def test_c46_cut_twice_is_a_failure_of_its_own(kind: str, enforcement: EnforcementName) -> None:
    played = await play([CUT_CALLS[kind]] * 2, enforcement, max_validation_corrections=9)
    assert (played.turn.outcome, played.turn.message, len(played.requests)) == (Outcome.OUTPUT_TRUNCATED, None, 2)
    if kind == "text":
        assert played.turn.best_text == ("A long story. " * 20)[:60]


@EACH
async def test_c46_a_cut_after_progress_counts_anew(enforcement: EnforcementName) -> None:
    played = await play([CUT_CALLS["text"], paris, CUT_CALLS["text"], answer], enforcement)
    assert (played.turn.outcome, played.turn.corrections) == (Outcome.RESPOND, 0)


async def test_c46_whole_calls_of_a_cut_reply_run_and_only_the_cut_one_is_told() -> None:
    both = replace(calls(paris, call("get_weather", city="Oslo")), finish=Finish.LENGTH)
    broken = replace(both, calls=(both.calls[0], replace(both.calls[1], arguments='{"city": "Os')))
    played = await play([broken, answer], model_settings={"max_tokens": 50})
    assert "It is 15:42 in Paris." in told(played.requests[1])
    assert "cut off at 50 tokens" in told(played.requests[1])
    whole = await play([both, answer])
    assert [result.ok for result in whole.turn.messages if result.kind == "result"] == [True, True]


@EACH
async def test_c46_a_message_that_was_cut_is_never_delivered(enforcement: EnforcementName) -> None:
    played = await play([CUT_CALLS["respond"], CUT_CALLS["respond"]], enforcement, validation=False)
    assert (played.committed, played.turn.outcome) == ([], Outcome.OUTPUT_TRUNCATED)


@EACH
@pytest.mark.parametrize("first", ["narration", "invalid_respond", "two_responds", "malformed_call"])
@pytest.mark.parametrize("nothing", [empty(), think("Hm."), empty(Finish.UNKNOWN)], ids=["stop", "thinking", "unknown"])
async def test_c47_a_correction_that_is_answered_by_nothing_costs_at_most_one_more_request(
    first: str, nothing: Reply, enforcement: EnforcementName
) -> None:
    played = await play([KINDS[first], nothing, nothing], enforcement, max_validation_corrections=9)
    assert (played.turn.outcome, len(played.requests)) == (Outcome.EMPTY_REPLY, 3)
    waits = [b.arrived - a.arrived for a, b in zip(played.requests, played.requests[1:], strict=False)]
    assert max(waits) < 1.0, "there was a back-off"


async def test_c47_with_the_default_budget_the_turn_is_over_even_sooner() -> None:
    async with FaultServer([narration(), empty(), empty()]) as server:
        line = Line(server)
        line.lane.post("What time is it?")
        turn = await line.lane.settled()
        await settle()
    line.keeps_promises()
    assert (turn.outcome, turn.model_calls) == (Outcome.EMPTY_REPLY, 3)
    assert (turn.best_text or "").startswith("Next I will")
    assert roles(server.requests[-1])[-1] == "user"


def test_c34_no_message_hides_in_the_replies_that_must_not_deliver_one() -> None:
    for kind in ("two_responds", "respond_with_a_bad_flag"):
        given = NEVER[kind][0]
        if isinstance(given, Reply):
            assert message_of(given.calls[0]) == "Hello."
