"""What the model is shown of its attempts: the question, the last reply once and cut, a few errors. Nothing grows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import vancetope
from tests.cases.playing import at, content, roles
from tests.questions.asking import (
    ALL,
    BY_FORMAT,
    CITY,
    EXCERPT,
    FITS,
    FRAME,
    MISFIT,
    OSLO,
    PROMPT,
    Put,
    formed,
    play,
    put,
    unlike,
    without_waiting,
)
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, Wire, status
from vancetope.backends.scripted import cut, say
from vancetope.messages import Accepted, History, Reply, Usage, User
from vancetope.outcome import EnforcementName

QUOTED = 4_000  # characters of the last reply that are shown again
ROWS: dict[str, Any] = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"type": "integer", "maximum": 9}}},
    "required": ["rows"],
}


def big(number: int, rows: int) -> str:
    """An object with as many errors as rows, another one each time."""
    return json.dumps({"rows": [f"row {at} of {number}" for at in range(rows)]})


def sizes(made: Put) -> list[int]:
    return [asked.size or len(json.dumps(asked.body)) for asked in made.asked]


# Constant size.


@ALL
@pytest.mark.parametrize("rows", [1, 300, 5_000])
async def test_ten_attempts_with_large_wrong_replies_do_not_make_the_request_grow(
    rows: int, enforcement: EnforcementName
) -> None:
    script = [big(number, rows) for number in range(10)]
    made = await put(script, enforcement, schema=ROWS, max_attempts=10, listening=rows == 1)
    assert (made.answer.error, made.answer.attempts) == ("schema_violation", 10)
    first, *later = sizes(made)
    assert max(later) - min(later) < 20, "the requests grow with the attempts"
    assert max(later) < first + 2 * QUOTED + 1_500 + FRAME
    for asked in made.asked[1:]:
        assert roles(asked) == ["system", "user", "assistant", "user"]
        assert len(asked.messages[2]["content"]) <= QUOTED + 1


@ALL
async def test_ten_attempts_in_large_prose_do_not_make_the_request_grow(enforcement: EnforcementName) -> None:
    script = [f"{number} " + "words " * 20_000 for number in range(10)]
    made = await put(script, enforcement, max_attempts=10, listening=False)
    assert (made.answer.error, made.answer.attempts) == ("max_attempts_exceeded", 10)
    assert len(made.answer.last_invalid) == 2_000
    _, *later = sizes(made)
    assert max(later) - min(later) < 20


@ALL
async def test_a_correction_tells_at_most_eight_errors_each_with_its_place(enforcement: EnforcementName) -> None:
    made = await put([big(1, 100), FITS.replace("city", "rows")], enforcement, schema=ROWS, max_attempts=2)
    (said,) = made.corrections
    lines = [line for line in said.splitlines() if line.startswith("/rows/")]
    assert len(lines) == 8
    assert len(said) <= 1_500 + FRAME
    assert "expected" in lines[0]


@ALL
async def test_long_names_and_values_are_cut_in_a_correction(enforcement: EnforcementName) -> None:
    schema = {"type": "object", "additionalProperties": {"enum": ["x" * 900]}, "minProperties": 1}
    reply = json.dumps({f"{'name' * 200}{number}": "y" * 900 for number in range(20)})
    made = await play([reply, "{}"], enforcement, schema=schema, max_attempts=2)
    (said,) = made.corrections
    assert len(said) <= 1_500 + FRAME


@ALL
async def test_a_second_equal_reply_is_shown_the_part_of_the_schema_that_it_breaks(
    enforcement: EnforcementName,
) -> None:
    reply = '{"rows": [1, 99]}'
    made = await put([reply] * 3, enforcement, schema=ROWS, max_attempts=10)
    assert (made.answer.error, made.answer.attempts) == ("schema_violation", 3)
    first, second = made.corrections
    assert "word for word" not in first
    assert "word for word" in second
    assert '{"type": "integer", "maximum": 9}' in second
    assert len(second) <= 1_500 + FRAME + EXCERPT


@ALL
async def test_a_large_part_of_the_schema_is_cut(enforcement: EnforcementName) -> None:
    schema = {"type": "object", "properties": {"word": {"enum": [f"word {number}" for number in range(900)]}}}
    made = await play(['{"word": "none"}'] * 3, enforcement, schema={**schema, "required": ["word"]}, max_attempts=10)
    assert made.answer.attempts == 3
    assert len(made.corrections[1]) <= 1_500 + FRAME + EXCERPT


@ALL
async def test_only_the_last_reply_is_in_the_conversation(enforcement: EnforcementName) -> None:
    replies = ["One is prose.", MISFIT, "Three is prose.", FITS]
    made = await put(replies, enforcement, max_attempts=4)
    assert made.answer.data == OSLO
    for number, asked in enumerate(made.asked):
        body = json.dumps(asked.body, ensure_ascii=False)
        for before, text in enumerate(replies[:number]):
            assert (json.dumps(text)[1:-1] in body) == (before == number - 1)


@ALL
async def test_a_blank_reply_is_not_quoted(enforcement: EnforcementName) -> None:
    made = await put([" \n", FITS], enforcement)
    assert roles(made.asked[1]) == ["system", "user", "user"]
    assert "was empty" in made.said(1)[-1]


@ALL
async def test_the_past_is_there_once_and_before_the_question(enforcement: EnforcementName) -> None:
    past = History((User("I live in Norway."), Accepted("Noted.")))
    made = await put([MISFIT, FITS], enforcement, history=past)
    for number in (0, 1):
        assert made.said(number)[:3] == ["I live in Norway.", "Noted.", PROMPT]
    assert roles(made.asked[0]) == ["system", "user", "assistant", "user"]


@ALL
async def test_a_past_that_does_not_fit_the_window_makes_room(enforcement: EnforcementName) -> None:
    past = History(tuple(each for n in range(40) for each in (User(f"{n} " + "word " * 200), Accepted("Noted."))))
    made = await put([MISFIT, FITS], enforcement, history=past, fields={"contextWindow": 4_000})
    assert made.answer.success
    assert len(made.asked[0].messages) < 30
    assert any("do not fit" in each for each in made.notices)
    assert made.said(1)[-3] == PROMPT


@ALL
async def test_the_schema_and_nothing_of_the_answer_stands_in_the_system_prompt(enforcement: EnforcementName) -> None:
    made = await put([MISFIT, "Prose.", FITS], enforcement)
    systems = {asked.messages[0]["content"] for asked in made.asked}
    assert len(systems) == 1
    (system,) = systems
    assert json.dumps(CITY, indent=2) in system
    assert [formed(asked) for asked in made.asked] == [enforcement != "prompted"] * 3


# Cut replies.


@ALL
async def test_a_cut_reply_is_asked_for_again_with_the_same_words_and_more_room(enforcement: EnforcementName) -> None:
    made = await put([cut(FITS, 12), FITS], enforcement, model_settings={"max_tokens": 50})
    assert made.answer.data == OSLO
    first, second = made.asked
    assert first.messages == second.messages
    assert [limit(first), limit(second)] == [50, 200]
    assert made.corrections == []


@ALL
async def test_the_room_is_raised_once_and_then_it_stays(enforcement: EnforcementName) -> None:
    made = await put([cut(FITS, 12), MISFIT, FITS], enforcement, model_settings={"max_tokens": 50})
    assert [limit(asked) for asked in made.asked] == [50, 200, 200]
    assert made.answer.data == OSLO
    made = await put([cut(FITS, 12), MISFIT, cut(FITS, 12)], enforcement, model_settings={"max_tokens": 50})
    assert (made.answer.error, made.answer.attempts) == ("output_truncated", 3)
    assert made.answer.last_invalid == {"city": "Oslo"}


async def test_the_room_is_raised_to_what_the_catalogue_allows() -> None:
    facts = {"output_limit": 100, "output_ceiling": 700}
    made = await play([cut(FITS, 12), cut(FITS, 12)], facts=facts)
    assert [limit(asked) for asked in made.asked] == [100, 700]
    made = await play([cut(FITS, 12)], facts={"output_limit": 700, "output_ceiling": 700})
    assert (made.answer.error, made.answer.attempts) == ("output_truncated", 1)


async def test_the_room_is_never_raised_past_the_window() -> None:
    reply = Reply("{", finish=cut("").finish, usage=Usage(200, 100), limit=100)
    for window in (300, 350, 400, 500, 800, 5_000):
        made = await play([reply, FITS], facts={"context_window": window})
        limits = [limit(asked) for asked in made.asked]
        assert made.answer.error in (None, "output_truncated", "llm_error")
        if len(limits) > 1:
            assert (limits[1] or 0) > 100
            assert (limits[1] or 0) <= window
            assert made.answer.success
        elif made.answer.attempts:
            assert made.answer.error == "output_truncated"


async def test_where_nobody_counts_the_room_is_not_raised_to_less_than_before() -> None:
    script: list[Given] = [cut(FITS, 4), FITS]
    made = await put(script, "prompted", server=FaultServer(script, wire=Wire(usage=False)))
    assert limit(made.asked[0]) is None
    assert (limit(made.asked[1]) or 0) >= 1024


def limit(asked: Asked) -> int | None:
    found = asked.body.get("max_completion_tokens", asked.body.get("max_tokens"))
    return None if found is None else int(found)


# What no prompt ever holds.

SECRET_WORDS = "the quota of the moon is spent"


@ALL
@pytest.mark.parametrize("code", [429, 500, 503])
async def test_what_a_server_says_of_its_troubles_never_enters_a_prompt(
    code: int, enforcement: EnforcementName
) -> None:
    said = {"error": {"message": SECRET_WORDS, "type": "trouble"}}
    trouble = status(code, said, ("retry-after", "0"))
    script: list[Given] = [trouble, MISFIT, trouble, trouble, "Prose.", trouble, FITS]
    with without_waiting():
        made = await put(script, enforcement)
    assert (made.answer.success, made.answer.attempts, made.calls) == (True, 3, 7)
    for asked in made.asked:
        assert SECRET_WORDS not in json.dumps(asked.body)
    assert [len(asked.messages) for asked in made.asked] == [2, 2, 4, 4, 4, 4, 4]


@BY_FORMAT
async def test_why_a_response_format_was_refused_is_told_to_people_and_to_no_model(
    enforcement: EnforcementName,
) -> None:
    refusal = status(400, {"error": {"message": SECRET_WORDS, "type": "invalid_request_error"}})
    made = await put([refusal, MISFIT, FITS], enforcement, model=f"told-{enforcement}")
    assert made.answer.success
    assert SECRET_WORDS in str(made.notices)
    for asked in made.asked:
        assert SECRET_WORDS not in json.dumps(asked.body)


@ALL
async def test_the_last_words_of_a_server_are_the_message_and_the_last_value_is_kept(
    enforcement: EnforcementName,
) -> None:
    last = status(401, {"error": {"message": SECRET_WORDS, "type": "authentication_error"}})
    made = await put([MISFIT, last], enforcement)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("llm_error", 1, 2)
    assert SECRET_WORDS in made.answer.message
    assert made.answer.last_invalid == {"city": "Oslo"}


# Counters belong to a question.


@ALL
async def test_questions_side_by_side_count_their_own_attempts(enforcement: EnforcementName) -> None:
    def script(asked: Asked) -> Given:
        wrong = int(content(asked.messages[1]).split()[0])
        said = sum(each["role"] == "assistant" for each in asked.messages)
        tries[wrong] = tries.get(wrong, 0) + 1
        return say(FITS) if tries[wrong] > wrong else unlike(MISFIT, tries[wrong] * 100 + said)

    tries: dict[int, int] = {}
    async with FaultServer(script) as server:
        where = at(server)
        asked = [
            vancetope.query(f"{wrong} wrong", CITY, max_attempts=6, enforcement=enforcement, **where)
            for wrong in range(6)
        ]
        answers = await asyncio.gather(*asked)
    assert [each.attempts for each in answers] == [1, 2, 3, 4, 5, 6]
    assert all(each.data == OSLO for each in answers)


@ALL
async def test_questions_one_after_the_other_begin_anew(enforcement: EnforcementName) -> None:
    async with FaultServer([MISFIT, "Prose.", FITS] * 8) as server:
        for _ in range(8):
            answer = await vancetope.query(PROMPT, CITY, enforcement=enforcement, **at(server))
            assert (answer.success, answer.attempts, answer.model_calls) == (True, 3, 3)
    assert len(server.requests) == 24


# The budget of tokens.


@ALL
async def test_a_budget_is_checked_before_every_attempt(enforcement: EnforcementName) -> None:
    def script() -> Callable[[Asked], Given]:
        return lambda asked: Reply(unlike(MISFIT, asked.number), usage=Usage(400, 100))

    made = await put(script(), enforcement, max_attempts=10, budget=2_300, model_settings={"max_tokens": 100})
    assert made.answer.error == "budget_exceeded"
    assert 0 < made.answer.attempts < 10
    assert made.answer.usage.input_tokens + made.answer.usage.output_tokens <= 2_300
    assert made.answer.last_invalid == {"city": f"Oslo {made.answer.attempts}"}
    made = await put(script(), enforcement, budget=50)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("budget_exceeded", 0, 0)


@ALL
async def test_every_reply_and_every_request_is_counted(enforcement: EnforcementName) -> None:
    script = [Reply(MISFIT, usage=Usage(10, 1)), Reply("", usage=Usage(20, 2)), Reply(FITS, usage=Usage(30, 3, 4, 1))]
    with without_waiting():
        made = await put([KINDS["status_500"], *script], enforcement)
    assert (made.answer.attempts, made.answer.model_calls) == (3, 4)
    assert made.answer.usage == Usage(60, 6, 4, 1)
    assert made.answer.cost is None


@ALL
async def test_a_reply_that_was_cut_behind_a_correction_is_asked_for_with_that_correction(
    enforcement: EnforcementName,
) -> None:
    made = await put([MISFIT, cut(FITS, 6), FITS], enforcement, max_attempts=3)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 3)
    corrected, again = (asked.messages for asked in made.asked[1:])
    assert again == corrected
    assert made.asked[2].body != made.asked[1].body, "it has more room"
