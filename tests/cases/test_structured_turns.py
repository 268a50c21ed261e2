"""Questions beside turns (C08 to C43): the same promises, held for a structured answer."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

import vancetope
from tests.cases.playing import at, play, work_results
from tests.harness import TOOLS
from tests.questions.asking import (
    ALL,
    BY_FORMAT,
    CITY,
    FITS,
    MISFIT,
    OSLO,
    PROMPT,
    always,
    formed,
    put,
    unlike,
    without_waiting,
)
from vancetope import query
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given
from vancetope.backends.scripted import call, calls, cut, empty, refuse, respond, say
from vancetope.events import ToolEnded
from vancetope.journal import RecordingJournal
from vancetope.outcome import EnforcementName

paris = call("get_time", city="Paris")
ENDS: list[tuple[Given, ...]] = [
    (FITS,),
    (MISFIT, FITS),
    (MISFIT, "Prose.", ""),
    (cut("{", 1), cut("{", 1)),
    (refuse("No."),),
    (empty(), empty(), empty()),
    (KINDS["status_401"],),
    (KINDS["status_500"], KINDS["status_500"], KINDS["status_500"]),
    (call("nope"), FITS),
]


@ALL
@pytest.mark.parametrize("script", ENDS)
async def test_c08_a_question_has_its_data_or_a_typed_error_and_never_neither(
    script: tuple[Given, ...], enforcement: EnforcementName
) -> None:
    with without_waiting():
        made = await put(list(script), enforcement)
    assert made.answer.success == (made.answer.data is not None) == (made.answer.error is None)
    assert made.report.message is not None
    assert json.loads(made.report.message)["success"] is made.answer.success


# Tools beside an answer.


@pytest.mark.parametrize("enforcement", ["native", "prompted"])
async def test_c25_in_a_question_calls_win_over_a_valid_answer_beside_them(enforcement: EnforcementName) -> None:
    bergen = FITS.replace("Oslo", "Bergen")
    made = await put([calls(paris, text=FITS), say(bergen)], enforcement, tools=TOOLS)
    assert made.answer.data == {**OSLO, "city": "Bergen"}
    assert [event.ok for event in made.of(ToolEnded)] == [True]
    assert made.calls == 2


@pytest.mark.parametrize("enforcement", ["native", "prompted"])
async def test_c25_an_answer_that_always_comes_with_calls_is_asked_for_alone_in_the_end(
    enforcement: EnforcementName,
) -> None:
    def script(asked: Asked) -> Given:
        both = calls(call("get_time", city=f"City {asked.number}"), text=FITS)
        return both if asked.number <= 2 else say(FITS)

    made = await put(script, enforcement, tools=TOOLS, max_iterations=2)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 3)
    assert len(made.of(ToolEnded)) == 2


async def test_c26_in_an_envelope_of_a_question_calls_win_over_content() -> None:
    both = {"content": FITS, "tool_calls": [{"name": "get_time", "arguments": {"city": "Paris"}}]}
    done = {"content": FITS.replace("Oslo", "Bergen"), "tool_calls": []}
    made = await put([json.dumps(both), json.dumps(done)], "prompted", tools=TOOLS, server=None)
    assert made.answer.data == {**OSLO, "city": "Bergen"}
    assert [event.ok for event in made.of(ToolEnded)] == [True]


async def test_c26_in_an_envelope_of_a_turn_content_beside_calls_is_narration_and_the_calls_run() -> None:
    both = {"content": "It is noon.", "tool_calls": [{"name": "get_time", "arguments": {"city": "Paris"}}]}
    played = await play([json.dumps(both), respond("It is 15:42 in Paris.")], "prompted")
    assert played.committed == ["It is 15:42 in Paris."]
    assert [result.ok for result in work_results(played.turn)] == [True]
    assert played.turn.model_calls == 2


# The cap (C34).


@ALL
@pytest.mark.parametrize("most", [1, 2, 5, 10])
async def test_c34_a_model_that_never_fits_costs_exactly_its_attempts(most: int, enforcement: EnforcementName) -> None:
    made = await put(lambda asked: unlike(MISFIT, asked.number), enforcement, max_attempts=most, listening=False)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("schema_violation", most, most)


@ALL
async def test_c34_the_same_mistake_twice_is_answered_with_its_place_and_that_part_of_the_schema(
    enforcement: EnforcementName,
) -> None:
    wrong = '{"city": "Oslo", "people": 0}'
    made = await put([wrong, wrong, FITS], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 3)
    first, second = made.corrections
    assert "/people" in first
    assert "minimum" not in first
    assert "/people" in second
    assert '{"type": "integer", "minimum": 1}' in second


@ALL
async def test_c34_the_same_mistake_a_third_time_is_the_end(enforcement: EnforcementName) -> None:
    made = await put(always(MISFIT), enforcement, max_attempts=10)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("schema_violation", 3, 3)


@ALL
async def test_c34_the_cap_holds_over_every_way_of_going_on(enforcement: EnforcementName) -> None:
    """Tool rounds do not refill it, a cut does not, and neither does a run that goes on from its journal."""

    def script(asked: Asked) -> Given:
        return unlike(MISFIT, asked.number) if asked.number != 3 else cut("{", 1)

    with_tools: list[Given] = [paris, say("So."), *(unlike(MISFIT, number) for number in range(9))]
    made = await put(with_tools, enforcement, tools=TOOLS)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("schema_violation", 3, 5)
    made = await put(script, enforcement, max_attempts=5)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("schema_violation", 5, 5)
    async with FaultServer(script) as server:
        journal = RecordingJournal()
        for _ in range(3):
            again = RecordingJournal.from_json(journal.to_json())
            answer = await query(PROMPT, CITY, journal=again, enforcement=enforcement, max_attempts=4, **at(server))
            assert answer.attempts == 4
            journal = again
        assert len(server.requests) == 4


# What is a success, and what is only called one (C37).


@ALL
@pytest.mark.parametrize("kind", ["answer_fenced", "constraint_ignored", "answer_wrapped", "answer_null", "empty_text"])
async def test_c37_success_means_that_the_data_fits_the_callers_schema(kind: str, enforcement: EnforcementName) -> None:
    made = await put(always(KINDS[kind]), enforcement)
    assert made.answer.success == (kind == "answer_fenced")
    if made.answer.success:
        assert jsonschema_rs.is_valid(CITY, made.answer.data)
    else:
        assert made.answer.data is None


@BY_FORMAT
async def test_c37_what_fits_only_the_servers_form_of_the_schema_is_no_success(enforcement: EnforcementName) -> None:
    schema = {**CITY, "properties": {**CITY["properties"], "city": {"type": "string", "minLength": 3, "maxLength": 9}}}
    made = await put(['{"city": "X", "people": 1}', '{"city": "Oslo", "people": 1}'], enforcement, schema=schema)
    assert (made.answer.data, made.answer.attempts) == ({"city": "Oslo", "people": 1}, 2)


# The response format and tools (C43).


@ALL
async def test_c43_the_callers_schema_is_sent_only_where_no_tool_can_be_called(enforcement: EnforcementName) -> None:
    made = await put([paris, call("get_weather", city="Oslo"), say("So."), MISFIT, FITS], enforcement, tools=TOOLS)
    assert made.answer.data == OSLO
    assert [formed(asked) for asked in made.asked] == [False] * 3 + [enforcement != "prompted"] * 2
    for asked in made.asked:
        assert not ("response_format" in asked.body and "tools" in asked.body)
        assert "tool_choice" not in asked.body or asked.body["tool_choice"] == "auto"


async def test_c43_a_chat_turn_with_the_same_tools_never_sends_a_schema_beside_them() -> None:
    async with FaultServer([paris, respond("It is 15:42 in Paris.")]) as server:
        turn = await vancetope.ask("What time is it?", tools=TOOLS, **at(server))
        assert turn.outcome == "respond"
        assert all("response_format" not in asked.body for asked in server.requests)
