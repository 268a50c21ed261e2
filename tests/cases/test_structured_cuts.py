"""Structured answers that were cut (S01 to S08): never read, never asked for again in the same way, and told apart."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.questions.asking import (
    ALL,
    CITY,
    FITS,
    MISFIT,
    OSLO,
    always,
    formed,
    known,
    put,
)
from vancetope import query
from vancetope.backends.faults import KINDS, Asked, Given, first
from vancetope.backends.scripted import cut, say
from vancetope.messages import Finish, Reply
from vancetope.outcome import EnforcementName

ROWS: dict[str, Any] = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"type": "integer"}}},
    "required": ["rows"],
    "additionalProperties": False,
}
PARTS: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
    "required": ["title"],
}
CLOSABLE = [
    '{"rows": [1, 2',
    '{"rows": [1, 2]',
    '{"rows": []',
    '{"rows": [1, 2]}',
    '```json\n{"rows": [1, 2]}\n```\n',
    'Here: {"rows": [1, 2]}',
    "{'rows': [1, 2],}",
    '<think>{"rows": [1]}</think>{"rows": [1, 2]}',
]


@ALL
@pytest.mark.parametrize("text", CLOSABLE)
async def test_s01_of_a_reply_that_the_limit_cut_nothing_is_taken_however_whole_it_looks(
    text: str, enforcement: EnforcementName
) -> None:
    made = await put([cut(text), cut(text)], enforcement, schema=ROWS, max_attempts=10)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("output_truncated", 2, 2)
    assert made.answer.last_invalid == text


@ALL
@pytest.mark.parametrize("finish", [Finish.STOP, Finish.UNKNOWN])
async def test_s01_a_reply_that_stops_anywhere_is_never_made_into_another_object(
    finish: Finish, enforcement: EnforcementName
) -> None:
    for at in range(1, len(FITS)):
        backend = known([Reply(FITS[:at], finish=finish)])
        answer = await query("Which?", CITY, model=backend, enforcement=enforcement, max_attempts=1)
        if answer.success:  # everything but the last brace was there, and the model says that it had finished
            assert (at, finish, answer.rule) == (len(FITS) - 1, Finish.STOP, "closed")
            assert answer.data == OSLO


@ALL
async def test_s01_an_open_list_is_never_closed(enforcement: EnforcementName) -> None:
    made = await put(always('{"rows": [1, 2'), enforcement, schema=ROWS)
    assert (made.answer.error, made.answer.last_invalid) == ("max_attempts_exceeded", '{"rows": [1, 2')


@ALL
async def test_s02_why_a_reply_ended_is_read_before_the_reply(enforcement: EnforcementName) -> None:
    chopped = json.dumps({"title": "First of two"})  # valid, and half of what was meant
    whole = json.dumps({"title": "First of two", "body": "The body."})
    made = await put([cut(chopped), whole], enforcement, schema=PARTS)
    assert (made.answer.data, made.answer.attempts) == (json.loads(whole), 2)
    made = await put([cut(chopped)], enforcement, schema=PARTS, max_attempts=1)
    assert (made.answer.error, made.answer.data) == ("output_truncated", None)


@ALL
async def test_s02_a_reply_that_was_filtered_or_refused_is_not_read_either(enforcement: EnforcementName) -> None:
    for finish in (Finish.CONTENT_FILTER, Finish.REFUSAL):
        made = await put([Reply(FITS, finish=finish)], enforcement)
        assert (made.answer.error, made.answer.attempts, made.answer.data) == ("refused", 1, None)


@ALL
async def test_s03_a_cut_reply_is_not_asked_for_again_in_the_same_way_and_never_sent_back(
    enforcement: EnforcementName,
) -> None:
    marked = '{"city": "Nidaros, once the capital", "people": '
    made = await put([cut(marked), FITS], enforcement, model_settings={"max_tokens": 100})
    assert made.answer.data == OSLO
    for asked in made.asked:
        assert "Nidaros" not in json.dumps(asked.body)
    assert abs(made.asked[1].size - made.asked[0].size) < 10
    assert [asked.body["max_tokens"] for asked in made.asked] == [100, 400]


@ALL
async def test_s03_a_model_that_is_always_cut_costs_two_requests(enforcement: EnforcementName) -> None:
    made = await put(lambda asked: cut(f'{{"city": "{"x" * 100 * asked.number}'), enforcement, max_attempts=10)
    assert (made.answer.error, made.calls) == ("output_truncated", 2)


@ALL
async def test_s04_a_cut_has_an_error_of_its_own_and_its_text_is_not_in_the_message(
    enforcement: EnforcementName,
) -> None:
    secret = '{"city": "the patient of room 12'
    made = await put([cut(secret), cut(secret)], enforcement)
    assert made.answer.error == "output_truncated"
    assert "cut off" in made.answer.message
    assert "patient" not in made.answer.message
    assert "JSON" not in made.answer.message
    assert made.answer.last_invalid == secret
    assert "patient" not in repr(made.answer)


@ALL
async def test_s05_the_limit_is_raised_once_and_then_the_question_ends(enforcement: EnforcementName) -> None:
    made = await put(always(cut(FITS, 20)), enforcement, max_attempts=10, model_settings={"max_tokens": 64})
    assert [asked.body["max_tokens"] for asked in made.asked] == [64, 256]
    assert made.answer.error == "output_truncated"
    assert "also with a larger one" in made.answer.message


@ALL
async def test_s05_where_the_limit_cannot_be_raised_the_first_cut_is_the_end(enforcement: EnforcementName) -> None:
    answer = await query(
        "Which?",
        CITY,
        model=known([cut(FITS, 20)], output_limit=500, output_ceiling=500),
        enforcement=enforcement,
        max_attempts=10,
    )
    assert (answer.error, answer.attempts, answer.model_calls) == ("output_truncated", 1, 1)


@ALL
@pytest.mark.parametrize("space", [" ", "\n", "\t", "\r\n", " \n\t"])
async def test_s06_white_space_without_end_is_a_cut_reply(space: str, enforcement: EnforcementName) -> None:
    runaway = f'{{"city": "Oslo", "people":{space * 3_000}'
    made = await put([cut(runaway), FITS], enforcement, listening=False)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)
    made = await put([cut(runaway), cut(runaway)], enforcement, max_attempts=10, listening=False)
    assert (made.answer.error, made.calls) == ("output_truncated", 2)
    assert len(made.answer.last_invalid) == 2_000


@ALL
async def test_s06_white_space_without_end_is_read_in_no_time_and_taken_for_nothing(
    enforcement: EnforcementName,
) -> None:
    runaway = f'{{"city": "Oslo", "people":{" " * 1_900_000}'
    begun = asyncio.get_running_loop().time()
    made = await put([runaway, f"{FITS}{chr(10) * 100_000}"], enforcement, listening=False)
    assert asyncio.get_running_loop().time() - begun < 3.0
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2), "white space behind a whole answer is harmless"


@ALL
async def test_s07_a_schema_that_allows_everything_is_warned_about_and_asked_for_in_words(
    enforcement: EnforcementName,
) -> None:
    made = await put(['{"n": 7}'], enforcement, schema={})
    assert made.answer.data == {"n": 7}
    assert not formed(made.asked[0])
    assert any("allows nearly everything" in each for each in made.notices)


@ALL
@pytest.mark.parametrize("schema", [{}, {"type": "object", "properties": {"n": {"type": "integer"}}}])
async def test_s07_a_number_of_thousands_of_digits_breaks_nothing(
    schema: dict[str, Any], enforcement: EnforcementName
) -> None:
    endless = f'{{"n": {"7" * 6_000}}}'
    made = await put([endless, '{"n": 7}'], enforcement, schema=schema, listening=False)
    assert (made.answer.data, made.answer.attempts) == ({"n": 7}, 2)
    made = await put(always(endless), enforcement, schema=schema, listening=False)
    assert (made.answer.error, made.answer.last_invalid) == ("max_attempts_exceeded", endless[:2_000])
    made = await put([cut(endless[:-1]), cut(endless[:-1])], enforcement, schema=schema, listening=False)
    assert made.answer.error == "output_truncated"


@ALL
async def test_s07_under_a_schema_that_allows_everything_no_json_is_picked_out_of_prose(
    enforcement: EnforcementName,
) -> None:
    made = await put(['Use {"n": 7} for that.', '```json\n{"n": 8}\n```'], enforcement, schema={})
    assert (made.answer.data, made.answer.rule, made.answer.attempts) == ({"n": 8}, "fence", 2)


@ALL
@pytest.mark.parametrize(
    "loop",
    ['{"rows": [' + "1, " * 400, '{"rows": [1' + "0" * 1_500, '{"rows": [' + '{"rows": [' * 200, "And then. " * 200],
    ids=["list", "number", "nesting", "prose"],
)
async def test_s08_a_loop_up_to_the_limit_is_a_cut_reply(loop: str, enforcement: EnforcementName) -> None:
    made = await put([cut(loop), cut(loop)], enforcement, schema=ROWS, max_attempts=10, listening=False)
    assert (made.answer.error, made.calls) == ("output_truncated", 2)
    made = await put([cut(loop), say('{"rows": [1]}')], enforcement, schema=ROWS, listening=False)
    assert (made.answer.data, made.answer.attempts) == ({"rows": [1]}, 2)


@ALL
@pytest.mark.parametrize("name", ["endless_list", "endless_space", "answer_cut", "answer_cut_closed"])
async def test_s08_the_faults_that_ship_for_it_come_to_the_same(name: str, enforcement: EnforcementName) -> None:
    def script(asked: Asked) -> Given:
        return KINDS[name] if asked.number < 3 else FITS

    made = await put(script, enforcement, listening=False)
    assert (made.answer.error, made.calls) == ("output_truncated", 2)
    made = await put(first(KINDS[name], then=lambda _: FITS), enforcement, listening=False)
    assert made.answer.data == OSLO


@ALL
async def test_s08_a_loop_that_says_it_stopped_is_only_a_wrong_reply(enforcement: EnforcementName) -> None:
    made = await put(['{"rows": [' + "1, " * 400, MISFIT, '{"rows": [1]}'], enforcement, schema=ROWS, listening=False)
    assert (made.answer.data, made.answer.attempts) == ({"rows": [1]}, 3)
