"""The answer in a text, and what is kept of it (S20 to S32): strings stay whole, nothing is guessed, nothing grows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cases.playing import at, content
from tests.questions.asking import ALL, CITY, FITS, FORMS, MISFIT, OSLO, PROMPT, Put, known, put, without_waiting
from vancetope import query
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, status
from vancetope.messages import Reply, Usage
from vancetope.outcome import EnforcementName

NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["text"],
    "additionalProperties": False,
}


def note(text: str) -> str:
    return json.dumps({"text": text}, ensure_ascii=False)


TRICKY = [
    "```json\n{}\n```",
    "```",
    "a ``` b ``` c",
    "~~~\ncode\n~~~",
    '{"text": "inner"}',
    "}{][ \\ \" ' // not a comment /* nor this */",
    "<think>not a thought</think>",
    "ends with a backslash \\",
    "True, False, None, NaN",
    "trailing comma ,}",
    "\u201ctypographic\u201d \u2018quotes\u2019",
    "\u2028line\u2029separators\u0000and\u001f controls",
    "emoji 👋🏽, العربية, 日本語",
    "{{ template }} <|im_end|>",
    "1,2,3... and so on...",
]


@ALL
@pytest.mark.parametrize("text", TRICKY)
async def test_s20_what_stands_in_a_string_is_only_a_string(text: str, enforcement: EnforcementName) -> None:
    plain, fenced = note(text), f"```json\n{note(text)}\n```"
    for reply, rules in ((plain, ("strict",)), (fenced, ("fence",)), (f"Here it is:\n\n{plain}\n", ("span",))):
        made = await put([reply, plain], enforcement, schema=NOTE, listening=False)
        assert made.answer.data == {"text": text}
        assert made.answer.rule in (*rules, "strict")
        if reply is plain:
            assert made.answer.attempts == 1


@ALL
@pytest.mark.parametrize(
    "text",
    [
        f"{note('a draft')}\n\nOn reflection:\n\n{note('the answer')}",
        f"```json\n{note('a draft')}\n```\n\n```json\n{note('the answer')}\n```",
        f"{note('the answer')} or perhaps {note('another')}",
        f"[{note('one')}, {note('two')}]",
        "\n".join(note(f"line {number}") for number in range(20)),
    ],
)
async def test_s21_neither_the_first_nor_the_last_of_several_answers_wins(
    text: str, enforcement: EnforcementName
) -> None:
    made = await put([text, note("the answer")], enforcement, schema=NOTE)
    assert (made.answer.data, made.answer.attempts) == ({"text": "the answer"}, 2)
    made = await put([text], enforcement, schema=NOTE, max_attempts=1)
    assert not made.answer.success


@ALL
async def test_s21_braces_in_strings_do_not_move_the_ends_of_an_object(enforcement: EnforcementName) -> None:
    for text in ("}", "{", "}}}{{{", '"}', "{'a': 1}", "\\}"):
        made = await put([f"The note is:\n\n{note(text)}\n\nGood."], enforcement, schema=NOTE)
        assert (made.answer.data, made.answer.rule) == ({"text": text}, "span")


@ALL
async def test_s21_an_example_that_does_not_fit_beside_the_answer_is_no_answer(enforcement: EnforcementName) -> None:
    made = await put([f'Of the form {{"text": 1}}:\n\n{note("yes")}'], enforcement, schema=NOTE)
    assert made.answer.data == {"text": "yes"}


UNION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {
            "anyOf": [
                {"type": "integer"},
                {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
            ]
        },
        "flag": {"type": "boolean"},
    },
    "required": ["id", "flag"],
    "additionalProperties": False,
}


@ALL
@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "7", "flag": True},
        {"id": 7, "flag": "true"},
        {"id": 7, "flag": 1},
        {"id": 7.5, "flag": True},
        {"id": [7], "flag": True},
        {"id": {"code": 7}, "flag": True},
        {"id": None, "flag": True},
        {"ID": 7, "flag": True},
    ],
)
async def test_s23_no_value_is_bent_until_it_fits(wrong: Any, enforcement: EnforcementName) -> None:
    made = await put([json.dumps(wrong)], enforcement, schema=UNION, max_attempts=1)
    assert (made.answer.error, made.answer.last_invalid) == ("schema_violation", wrong)


@ALL
async def test_s23_each_member_of_a_union_stays_the_one_it_was(enforcement: EnforcementName) -> None:
    for given in (7, 7.0, {"code": "7"}, {"code": "7", "more": [1]}):
        made = await put([json.dumps({"id": given, "flag": False})], enforcement, schema=UNION)
        assert json.dumps(made.answer.data) == json.dumps({"id": given, "flag": False})


DAMAGE: dict[str, Callable[[str], str]] = {
    "a trailing comma": lambda text: f"{text[:-1]},}}",
    "a comment": lambda text: f"{{ // the note\n{text[1:]}",
    "bare keys": lambda text: text.replace('"text":', "text:").replace('"n":', "n:"),
    "Python": lambda text: repr(json.loads(text)),
    "a fence": lambda text: f"```json\n{text}\n```",
    "a fence and a comma": lambda text: f"```json\n{text[:-1]},\n}}\n```",
}


@ALL
@pytest.mark.parametrize("how", DAMAGE)
async def test_s24_what_is_repaired_holds_every_string_unchanged(how: str, enforcement: EnforcementName) -> None:
    values = ["plain", "it is, so: {ok}", "two\nlines", "x, y,}", "// no comment", "text: n:", "True", "ünï 👋🏽"]
    taken = 0
    for value in values:
        given = {"text": value, "n": 7}
        reply = DAMAGE[how](json.dumps(given, ensure_ascii=False))
        answer = await query(PROMPT, NOTE, model=known([reply]), enforcement=enforcement, max_attempts=1)
        taken += answer.success
        if answer.success:
            assert answer.data == given, how
            assert list(answer.data) == ["text", "n"]
    assert taken >= len(values) - 2, "damage with one reading is repaired"


@ALL
@pytest.mark.parametrize(
    "lost",
    [
        '{"text": "a", "n": }',
        '{"text": , "n": 1}',
        '{"text": "a" "n": 1}',
        '{"text": "a", "n": 1 2}',
        '{"text": "a", ...}',
        '{"text": "a", "n": ...}',
        '{"text": "a", "text": "b"}',
        '{"text": "a", "n": 1',
        '"text": "a", "n": 1}',
        '{"text": "a\n',
        '{"te',
    ],
)
async def test_s24_where_content_is_lost_nothing_is_put_in_its_place(lost: str, enforcement: EnforcementName) -> None:
    answer = await query(PROMPT, NOTE, model=known([lost]), enforcement=enforcement, max_attempts=1)
    assert answer.error in ("schema_violation", "max_attempts_exceeded")


@ALL
async def test_s24_only_a_last_brace_is_ever_added(enforcement: EnforcementName) -> None:
    script = ['{"text": "a", "n": 1', '{"n": 1, "text": "a"']
    made = await put(script, enforcement, schema=NOTE)
    assert (made.answer.data, made.answer.rule, made.answer.attempts) == ({"text": "a", "n": 1}, "closed", 2)


BOUNDED: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string", "pattern": "^[A-Z]+$", "minLength": 2, "maxLength": 4}},
    "required": ["code"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("kind", "enforcement"),
    [
        *(("openai", each) for each in FORMS),
        *((kind, each) for kind in ("vllm", "llamacpp", "ollama") for each in ("constrained", "prompted")),
    ],
)
async def test_s26_what_a_grammar_lets_through_is_still_judged_by_the_callers_schema(
    kind: str, enforcement: EnforcementName
) -> None:
    replies = ['{"code": "A"}', '{"code": "ABCDE"}', '{"code": "abc"}', '{"code": "ABC}', '{"code": "ABC"}']
    made = await put(replies, enforcement, kind=kind, schema=BOUNDED, max_attempts=5)
    assert (made.answer.data, made.answer.attempts) == ({"code": "ABC"}, 5)
    assert all("/code" in each for each in made.corrections[:3])


@ALL
async def test_s26_a_bound_that_the_format_cannot_hold_is_said_in_words(enforcement: EnforcementName) -> None:
    made = await put(['{"code": "ABC"}'], enforcement, schema=BOUNDED)
    assert '"maxLength": 4' in made.asked[0].messages[0]["content"]
    if enforcement == "native":
        sent = json.dumps(made.asked[0].schema)
        assert "maxLength" not in sent
        assert "at most 4 characters" in sent.lower()


def length(made: Put, number: int) -> int:
    return sum(len(content(each)) for each in made.asked[number].messages)


@ALL
async def test_s27_a_correction_does_not_repeat_the_object_for_every_error(enforcement: EnforcementName) -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    schema = {"type": "object", "properties": {"rows": rows}, "required": ["rows"]}
    wrong = json.dumps({"rows": [{"n": f"not a number, row {n}", "text": "words " * 20} for n in range(70)]})
    assert len(wrong) > 10_000
    made = await put([wrong, '{"rows": []}'], enforcement, schema=schema, listening=False)
    assert made.answer.attempts == 2
    assert length(made, 1) - length(made, 0) < 4_000 + 1_500 + 400


@ALL
async def test_s28_rate_limits_and_failures_never_enter_a_correction(enforcement: EnforcementName) -> None:
    limit = status(429, {"error": {"message": "Rate limit of tier moon reached", "type": "t"}}, ("retry-after", "0"))
    with without_waiting():
        made = await put([limit, MISFIT, limit, KINDS["status_503"], FITS], enforcement)
    assert (made.answer.success, made.answer.attempts, made.calls) == (True, 2, 5)
    assert made.report.corrections == 1
    for asked in made.asked:
        body = json.dumps(asked.body)
        assert "moon" not in body
        assert "429" not in body
    assert made.asked[2].body == made.asked[4].body


@ALL
async def test_s29_ten_attempts_cost_about_ten_times_one(enforcement: EnforcementName) -> None:
    def wrong(asked: Asked) -> Given:
        return json.dumps({"city": f"Oslo {asked.number}", "notes": "words " * 500})

    made = await put(wrong, enforcement, max_attempts=10, listening=False)
    assert made.calls == 10
    sizes = [asked.size for asked in made.asked]
    assert max(sizes[1:]) - min(sizes[1:]) < 20
    assert sum(sizes) < 10 * (sizes[0] + 4_000 + 1_500 + 1_000)


@ALL
async def test_s29_a_budget_of_tokens_ends_the_attempts_before_the_one_that_would_break_it(
    enforcement: EnforcementName,
) -> None:
    def wrong(asked: Asked) -> Given:
        return Reply(MISFIT.replace("Oslo", f"Oslo {asked.number}"), usage=Usage(500, 100))

    made = await put(wrong, enforcement, max_attempts=10, budget=3_000, model_settings={"max_tokens": 100})
    assert made.answer.error == "budget_exceeded"
    assert 2 <= made.answer.attempts <= 5
    assert made.answer.usage.input_tokens + made.answer.usage.output_tokens <= 3_000


async def test_s32_the_attempts_of_one_question_are_not_those_of_another() -> None:
    async with FaultServer([MISFIT, FITS] * 12) as server:
        for number in range(12):
            answer = await query(PROMPT, CITY, enforcement=FORMS[number % 3], max_attempts=2, **at(server))
            assert (answer.data, answer.attempts) == (OSLO, 2), "the counter went on from the question before"


async def test_s32_nor_of_those_that_run_at_the_same_time() -> None:
    seen: dict[str, int] = {}

    def script(asked: Asked) -> Given:
        who = content(asked.messages[1])
        seen[who] = seen.get(who, 0) + 1
        return FITS if seen[who] == 3 else MISFIT.replace("Oslo", f"{who} {seen[who]}")

    async with FaultServer(script) as server:
        asked = [query(f"Question {number}", CITY, enforcement=FORMS[number % 3], **at(server)) for number in range(20)]
        answers = await asyncio.gather(*asked)
    assert {(each.success, each.attempts) for each in answers} == {(True, 3)}
