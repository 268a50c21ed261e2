from __future__ import annotations

from dataclasses import replace

import pytest

from tests.harness import PROMPT, get_time, play
from vancetope import api, tool
from vancetope.backends.scripted import (
    ScriptedBackend,
    call,
    calls,
    cut,
    empty,
    filtered,
    malformed,
    refuse,
    respond,
    say,
    think,
)
from vancetope.events import CorrectionSent, MessageRetracted, ToolEnded, TurnNarrowed
from vancetope.messages import Accepted, Assistant, Note, Result, System, User
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName, Outcome

EACH = pytest.mark.parametrize("enforcement", ["native", "constrained", "prompted"])
paris = call("get_time", city="Paris")
answer = respond("It is 15:42 in Paris.")


@EACH
async def test_a_tool_turn_ends_with_respond(enforcement: EnforcementName) -> None:
    played = await play([paris, answer], enforcement)
    turn = played.turn
    assert (turn.outcome, turn.message, turn.awaiting_user_input) == (Outcome.RESPOND, "It is 15:42 in Paris.", True)
    assert (turn.rounds, turn.model_calls, turn.corrections, turn.narrowed) == (2, 2, 0, False)
    assert turn.unwrap() == turn.message
    assert turn.enforcement.asked == turn.enforcement.honoured == enforcement
    assert list(turn.messages) == [
        User(PROMPT),
        Assistant("", (turn.messages[1].calls[0],)),  # type: ignore[union-attr]
        Result("c00100000", "get_time", "It is 15:42 in Paris.", size=21),
        Accepted("It is 15:42 in Paris."),
    ]


@EACH
async def test_narration_without_a_call_is_corrected_and_never_delivered(enforcement: EnforcementName) -> None:
    played = await play([say("I will look that up."), paris, answer], enforcement)
    assert played.committed == ["It is 15:42 in Paris."]
    assert played.turn.corrections == 1
    assert [event.row for event in played.of(CorrectionSent)] == ["narrated"]
    assert not any(
        isinstance(each, Note) or getattr(each, "text", "").startswith("I will") for each in played.turn.messages
    )


@EACH
async def test_a_text_is_delivered_once_corrections_are_out(enforcement: EnforcementName) -> None:
    played = await play([say("one"), say("two"), say("three")], enforcement)
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL_FALLBACK, "three")
    assert (played.turn.rounds, played.turn.corrections) == (3, 2)


@EACH
async def test_without_validation_text_ends_the_turn_at_once(enforcement: EnforcementName) -> None:
    played = await play([say("Late.")], enforcement, validation=False)
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL_FALLBACK, "Late.")


@EACH
async def test_natural_turns_end_with_text(enforcement: EnforcementName) -> None:
    last = call("answer", message="It is 15:42.") if enforcement == "constrained" else say("It is 15:42.")
    played = await play([paris, last], enforcement, turn_end="natural")
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL, "It is 15:42.")
    assert played.turn.enforcement.honoured == enforcement


async def test_work_beside_respond_runs_and_respond_is_refused() -> None:
    played = await play([calls(paris, respond("It is noon.")), answer])
    assert played.committed == ["It is 15:42 in Paris."]
    results = [message for message in played.requests[1].messages if isinstance(message, Result)]
    assert [result.ok for result in results] == [True, False]
    assert "last and only" in results[1].text
    assert [result.name for result in played.turn.messages if isinstance(result, Result)] == ["get_time"]


async def test_the_third_mixed_reply_narrows_to_respond() -> None:
    both = [calls(call("get_time", city=city), respond("So.")) for city in ("Paris", "Oslo", "Rome")]
    played = await play([*both, answer])
    assert played.turn.narrowed
    last = played.requests[-1]
    assert [tool.name for tool in last.tools] == ["respond"]
    assert last.choice == "respond"
    assert [request.choice for request in played.requests[:-1]] == ["auto"] * 3
    assert len(played.of(TurnNarrowed)) == 1


async def test_the_results_of_one_reply_come_in_the_models_order_and_a_failure_loses_no_sibling() -> None:
    reply = calls(call("get_weather", city="Oslo"), call("fail", reason="no luck"), paris, call("get_tyme", city="x"))
    played = await play([reply, answer])
    results = [message for message in played.requests[1].messages if isinstance(message, Result)]
    assert [each.name for each in results] == ["get_weather", "fail", "get_time", "get_tyme"]
    assert [each.ok for each in results] == [True, False, True, False]
    assert "RuntimeError: no luck" in results[1].text
    assert "get_time" in results[3].text
    assert len(played.of(ToolEnded)) == 3


@EACH
async def test_the_cap_gives_one_last_narrowed_round(enforcement: EnforcementName) -> None:
    cities = [call("get_time", city=city) for city in ("Paris", "Oslo", "Rome")]
    played = await play([*cities, answer], enforcement, max_iterations=3)
    assert (played.turn.outcome, played.turn.narrowed, played.turn.rounds) == (Outcome.RESPOND, True, 4)
    assert "limit of 3 replies" in str(played.requests[-1].messages[-1])


@EACH
async def test_a_model_that_never_answers_leaves_its_best_text(enforcement: EnforcementName) -> None:
    script = [call("get_time", city="Paris"), say("It should be 15:42."), paris]
    played = await play(script, enforcement, max_iterations=2)
    assert (played.turn.outcome, played.turn.best_text) == (Outcome.INCOMPLETE, "It should be 15:42.")
    assert isinstance(played.turn.messages[-1], System)


@EACH
@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ([refuse("No.")], Outcome.REFUSED),
        ([filtered("Once")], Outcome.FILTERED),
        ([empty(), empty()], Outcome.EMPTY_REPLY),
        ([think("Hm."), empty()], Outcome.EMPTY_REPLY),
        ([malformed(), malformed()], Outcome.MALFORMED_CALL),
        ([cut("So I"), cut("So I am")], Outcome.OUTPUT_TRUNCATED),
    ],
    ids=lambda each: str(each) if isinstance(each, Outcome) else "",
)
async def test_every_failure_is_typed(enforcement: EnforcementName, script: list[object], outcome: Outcome) -> None:
    played = await play(script, enforcement)  # type: ignore[arg-type]
    assert played.turn.outcome is outcome
    assert played.committed == []


async def test_a_correction_answered_by_nothing_costs_one_more_call() -> None:
    played = await play([say("I will."), empty(), empty()])
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.EMPTY_REPLY, 3)


async def test_a_shown_message_that_is_rejected_is_taken_back() -> None:
    played = await play([respond("Working on it.", False), answer])
    assert len(played.of(MessageRetracted)) == 1
    assert played.committed == ["It is 15:42 in Paris."]


async def test_a_short_answer_to_a_long_result_is_asked_once_to_tell_more() -> None:
    played = await play([call("read_book"), respond("Done."), respond("It says word.")])
    assert played.turn.message == "It says word."
    assert [event.row for event in played.of(CorrectionSent)] == ["data_relay"]


async def test_a_recipe_can_switch_the_relay_off_or_say_it_otherwise() -> None:
    from vancetope.recipes.recipe import Params, Recipe

    off = Recipe(params=Params(dataRelayCorrection=False))
    played = await play([call("read_book"), respond("Done.")], recipe=off)
    assert played.turn.corrections == 0
    other = Recipe(params=Params(dataRelayCorrection="Say it all."))
    played = await play([call("read_book"), respond("Done."), respond("Word.")], recipe=other)
    assert [event.text for event in played.of(CorrectionSent)] == ["Say it all."]


async def test_after_an_accepted_respond_the_model_is_not_asked_again() -> None:
    played = await play(lambda request: answer)
    assert len(played.requests) == 1


async def test_the_history_of_a_turn_is_the_next_ones_and_ids_stay_unique() -> None:
    first = await play([paris, answer])
    second = await play([paris, answer], history=first.turn.messages, prompt="And now?")
    ids = [each.id for message in second.turn.messages if isinstance(message, Assistant) for each in message.calls]
    assert ids == ["c00100000", "c00200000"]
    third = await play([answer], history=second.turn.messages, prompt="Thanks", tools=[get_time])
    shown = third.requests[0].messages
    assert [message.call_id for message in shown if isinstance(message, Result)] == [
        "c00100000",
        "a00000003",
        "c00200000",
        "a00000007",
    ]


async def test_a_worker_that_asks_says_so_and_one_that_reports_does_not() -> None:
    asks = await play([respond("Which city?", True)], role="worker")
    reports = await play([respond("Done.")], role="worker")
    assert (asks.turn.awaiting_user_input, reports.turn.awaiting_user_input) == (True, False)


async def test_two_responds_deliver_nothing_and_cost_one_correction() -> None:
    played = await play([calls(respond("One."), respond("Two.")), answer])
    assert (played.committed, played.turn.corrections) == (["It is 15:42 in Paris."], 1)
    failed = await play([calls(respond("One."), respond("Two."))], max_validation_corrections=0)
    assert (failed.turn.outcome, failed.turn.best_text) == (Outcome.INCOMPLETE, "One.")


@EACH
async def test_an_invalid_respond_gets_its_errors_as_its_result(enforcement: EnforcementName) -> None:
    played = await play([call("respond", text="Hi"), answer], enforcement)
    assert (played.committed, played.turn.corrections) == (["It is 15:42 in Paris."], 1)
    assert "message" in str(played.requests[1].messages[-1])


@EACH
async def test_an_open_turn_is_asked_on_without_a_word_of_ours(
    enforcement: EnforcementName,
) -> None:
    first = replace(say("First I look."), end_turn=False)
    played = await play([first, paris, answer], enforcement)
    assert (played.turn.corrections, played.turn.rounds, played.of(CorrectionSent)) == (0, 3, [])
    assert played.requests[1].messages[:-1] == played.requests[0].messages
    assert played.committed == ["It is 15:42 in Paris."]


async def test_a_short_text_after_a_long_result_is_asked_once_to_tell_more() -> None:
    played = await play([call("read_book"), say("Done."), say("It says word.")], turn_end="natural")
    assert (played.committed, played.turn.corrections) == (["It says word."], 1)


async def test_a_whole_call_beside_a_cut_one_runs() -> None:
    both = cut(calls(paris, call("get_weather", city="Oslo")), at=5)
    played = await play([both, answer])
    results = [message for message in played.requests[1].messages if isinstance(message, Result)]
    assert [(each.name, each.ok) for each in results] == [("get_time", True), ("get_weather", False)]
    assert "cut off" in results[1].text


@EACH
async def test_bad_arguments_are_told_with_the_place_and_what_was_expected(enforcement: EnforcementName) -> None:
    played = await play([call("get_time", town="Paris"), paris, answer], enforcement)
    said = str(played.requests[1].messages[-1])
    assert "do not fit" in said
    assert "city" in said
    assert (played.turn.corrections, len(played.of(ToolEnded))) == (0, 1)


@EACH
async def test_the_same_call_runs_twice_is_refused_twice_and_then_narrows(enforcement: EnforcementName) -> None:
    played = await play([*[paris] * 5, answer], enforcement)
    assert len(played.of(ToolEnded)) == 2
    assert played.turn.narrowed
    assert (played.turn.outcome, played.turn.rounds) == (Outcome.RESPOND, 6)
    results = [message for message in played.turn.messages if isinstance(message, Result)]
    assert [each.ok for each in results] == [True, True, False, False, False]


async def test_a_poll_may_come_as_often_as_it_likes() -> None:
    async def job_status() -> str:
        """Ask how the job is."""
        return "running"

    status = call("job_status")
    played = await play([*[status] * 8, answer], tools=[tool(job_status, poll=True)])
    assert (len(played.of(ToolEnded)), played.turn.narrowed) == (8, False)


async def test_a_text_that_filled_its_bound_is_asked_once_to_be_shorter() -> None:
    class Small(ScriptedBackend):
        info = ModelInfo(provider="test", name="small", enforcements=("constrained",), string_bound=20)

    backend = Small([respond("x" * 20), respond("y" * 20)], follow_form=True)
    turn = await api.ask("Hi", model=backend)
    assert (turn.message, turn.bounded, turn.corrections) == ("y" * 20, True, 0)
    assert "shorter" in str(backend.requests[1].messages[-1])
