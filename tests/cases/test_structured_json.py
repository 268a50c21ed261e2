"""JSON out of a reply, and schemas into a request (C85 to C101): the whole way, from the question to its wrapper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.questions.asking import ALL, BY_FORMAT, CITY, FITS, FORMS, MISFIT, OSLO, PROMPT, always, formed, known, put
from vancetope import query
from vancetope.backends.faults import KINDS, SCENARIOS, Asked, Given, first
from vancetope.backends.scripted import cut
from vancetope.outcome import Enforcement, EnforcementName

ONE: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
TEXT: dict[str, Any] = {**ONE, "properties": {"a": {"type": "string"}}}


# An answer in another dress: the design refuses to undress it (C85).


@ALL
@pytest.mark.parametrize(
    "wrapped",
    [
        {"output": OSLO},
        {"answer": OSLO},
        {"city": OSLO},
        {"data": {"data": OSLO}},
        {"properties": OSLO},
        {**OSLO, "people": OSLO},
        [OSLO],
        json.dumps(OSLO),
        {"output": json.dumps(OSLO)},
    ],
)
async def test_c85_an_answer_inside_another_value_is_refused_told_and_kept_as_it_came(
    wrapped: Any, enforcement: EnforcementName
) -> None:
    made = await put([json.dumps(wrapped), FITS], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)
    assert "does not fit the schema" in made.corrections[0]
    made = await put([json.dumps(wrapped)], enforcement, max_attempts=1)
    assert (made.answer.error, made.answer.last_invalid) == ("schema_violation", wrapped)


@ALL
async def test_c85_a_schema_that_asks_for_the_wrapping_gets_it(enforcement: EnforcementName) -> None:
    schema = {"type": "object", "properties": {"output": CITY}, "required": ["output"]}
    made = await put([json.dumps({"output": OSLO})], enforcement, schema=schema)
    assert (made.answer.data, made.answer.attempts) == ({"output": OSLO}, 1)


# Where an object ends (C90), and where a fence does (C91).


@ALL
@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n\nNote [1].',
        'As [1] says:\n{"a": 1}\n[1] The book {of 2019}.',
        'Of {x} and {y}:\n\n{"a": 1}',
        '{"a": 1}\n\nThat is all :-}',
        'The set {1, 2} has: {"a": 1}',
    ],
)
async def test_c90_an_object_ends_where_it_ends_and_not_at_the_last_bracket(
    text: str, enforcement: EnforcementName
) -> None:
    made = await put([text], enforcement, schema=ONE)
    assert (made.answer.data, made.answer.attempts) == ({"a": 1}, 1)


@ALL
@pytest.mark.parametrize("text", ['{"a": 1}. Note [1].', 'It is {"a": 1} in the note [1].'])
async def test_c90_an_object_inside_a_sentence_is_a_quotation_and_asked_for_again(
    text: str, enforcement: EnforcementName
) -> None:
    made = await put([text, '{"a": 2}'], enforcement, schema=ONE)
    assert (made.answer.data, made.answer.attempts) == ({"a": 2}, 2)


@ALL
@pytest.mark.parametrize("inside", ["}", "{", '}"', "]", "\\", '\\"}', "{\\", "``` }"])
async def test_c90_brackets_and_quotes_in_a_string_are_no_ends(inside: str, enforcement: EnforcementName) -> None:
    value = {"a": inside}
    for text in (json.dumps(value), f"Here:\n\n{json.dumps(value)}\n\nSo [1]."):
        made = await put([text], enforcement, schema=TEXT)
        assert (made.answer.data, made.answer.attempts) == (value, 1)


@ALL
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "```x```"}', "```x```"),
        ('```json\n{"a": "```x```"}\n```', "```x```"),
        ('```\n```\n\n{"a": "x"}', "x"),
        ('```json\n```\n\n```json\n{"a": "```\\n```"}\n```', "```\n```"),
    ],
)
async def test_c91_a_fence_is_where_a_line_says_so_and_not_in_a_string(
    text: str, value: str, enforcement: EnforcementName
) -> None:
    made = await put([text], enforcement, schema=TEXT)
    assert (made.answer.data, made.answer.attempts) == ({"a": value}, 1)


@ALL
@pytest.mark.parametrize("text", ["```json\n```", "```json\n\n```\n", "```", "``````", "```json"])
async def test_c91_an_empty_fence_is_no_answer_and_no_crash(text: str, enforcement: EnforcementName) -> None:
    made = await put([text, '{"a": "x"}'], enforcement, schema=TEXT)
    assert (made.answer.data, made.answer.attempts) == ({"a": "x"}, 2)


# What is repaired before an attempt is spent (C94, C101), and what is no JSON (C95).


@ALL
async def test_c94_raw_line_breaks_in_a_string_are_repaired_without_an_attempt(enforcement: EnforcementName) -> None:
    made = await put(['{"a": "first line\nsecond\tline"}'], enforcement, schema=TEXT)
    assert (made.answer.data, made.answer.rule) == ({"a": "first line\nsecond\tline"}, "tidied")
    assert (made.answer.attempts, made.calls) == (1, 1)


@ALL
async def test_c94_what_was_repaired_is_still_judged(enforcement: EnforcementName) -> None:
    made = await put(['{"a": "first line\nsecond"}', '{"a": 1}'], enforcement, schema=ONE)
    assert (made.answer.data, made.answer.attempts) == ({"a": 1}, 2)
    assert "/a" in made.corrections[0]


@ALL
async def test_c94_a_list_instead_of_an_object_is_told_so(enforcement: EnforcementName) -> None:
    made = await put(['[{"a": 1}]', '{"a": 1}'], enforcement, schema=ONE)
    assert (made.answer.data, made.answer.attempts) == ({"a": 1}, 2)
    assert "a list of 1" in made.corrections[0]


@ALL
async def test_c94_a_cut_second_attempt_is_not_the_end(enforcement: EnforcementName) -> None:
    made = await put(['{"a": "x"}', cut('{"a":', 5), '{"a": 1}'], enforcement, schema=ONE)
    assert (made.answer.data, made.answer.attempts) == ({"a": 1}, 3)


NUMBER: dict[str, Any] = {**ONE, "properties": {"a": {"type": "number"}}}


@ALL
@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "nan", "1.", ".5", "0x10", "01", "+1"]
)
async def test_c95_a_number_that_json_does_not_have_is_never_a_value(number: str, enforcement: EnforcementName) -> None:
    made = await put([f'{{"a": {number}}}', '{"a": 2.5}'], enforcement, schema=NUMBER)
    assert (made.answer.data, made.answer.attempts) == ({"a": 2.5}, 2)
    json.dumps(made.wrapper, allow_nan=False)


@ALL
async def test_c95_the_last_invalid_value_is_always_json(enforcement: EnforcementName) -> None:
    for text in ('{"a": NaN}', '{"b": 1e308}', '{"b": "\\ud800"}', '{"b": 1e400}'):
        made = await put([text], enforcement, schema=ONE, max_attempts=1)
        json.dumps(made.wrapper, allow_nan=False).encode()
        assert made.report.message is not None
        made.report.message.encode()


@ALL
@pytest.mark.parametrize("number", ["1e308", "-0.0", "12345678901234567890", "1E5", "0.1"])
async def test_c95_numbers_that_json_has_arrive_as_they_are(number: str, enforcement: EnforcementName) -> None:
    made = await put([f'{{"a": {number}}}'], enforcement, schema=NUMBER)
    assert json.dumps(made.answer.data) == json.dumps(json.loads(f'{{"a": {number}}}'))


@ALL
@pytest.mark.parametrize(
    "text",
    [
        "```json\n{}\n```",
        "```\n{}\n```",
        "```JSON\n{}\n```\n",
        "\n\n```json\n{}\n```",
        "```json\r\n{}\r\n```",
        "~~~json\n{}\n~~~",
        "Sure:\n```json\n{}\n```\nAnything else?",
        "\ufeff```json\n{}\n```",
    ],
)
async def test_c101_a_fenced_answer_costs_no_attempt(text: str, enforcement: EnforcementName) -> None:
    made = await put([text.replace("{}", FITS)], enforcement)
    assert (made.answer.data, made.answer.rule) == (OSLO, "fence")
    assert (made.answer.attempts, made.calls) == (1, 1)


@ALL
async def test_c101_a_model_that_fences_only_sometimes_always_answers(enforcement: EnforcementName) -> None:
    for number in range(6):
        fault = KINDS["answer_fenced"] if number % 3 else None
        made = await put(first(*([fault] if fault else []), then=SCENARIOS["answer"]), enforcement)
        assert (made.answer.success, made.calls) == (True, 1)
        assert made.answer.rule == ("fence" if fault else "strict")


# Schemas (C96, C97).

NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "shape": {
            "anyOf": [
                {"type": "object", "properties": {"side": {"type": "integer"}, "name": {"type": "string"}}},
                {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            ]
        },
        "node": {"$ref": "#/$defs/node", "description": "the first node"},
    },
    "required": ["node"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["value"],
        }
    },
}


def parts(schema: Any) -> list[Mapping[str, Any]]:
    """Every mapping in a schema."""
    if isinstance(schema, list):
        return [part for each in schema for part in parts(each)]
    if isinstance(schema, Mapping):
        return [schema, *(part for each in schema.values() for part in parts(each))]
    return []


async def test_c96_under_a_strict_format_every_object_is_closed_wherever_it_stands() -> None:
    filled = {"shape": None, "node": {"value": 1, "next": {"value": 2, "next": None}}}
    made = await put([json.dumps(filled)], "native", schema=NESTED)
    assert made.answer.data == {"node": {"value": 1, "next": {"value": 2, "next": None}}}
    sent = made.asked[0].schema
    assert sent is not None
    shapes = [part for part in parts(sent) if isinstance(part.get("properties"), Mapping) and "type" in part]
    assert len(shapes) == 4
    for part in shapes:
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])
    for part in parts(sent):
        if "$ref" in part:
            assert set(part) <= {"$ref", "description"}


@BY_FORMAT
async def test_c96_a_server_that_refuses_the_schema_is_asked_without_it_and_not_again(
    enforcement: EnforcementName,
) -> None:
    def script(asked: Asked) -> Given:
        return KINDS["schema_refused"] if formed(asked) else '{"node": {"value": 1}}'

    for calls in (2, 1):
        made = await put(script, enforcement, schema=NESTED, model=f"c96-{enforcement}")
        assert (made.answer.data, made.answer.attempts) == ({"node": {"value": 1}}, 1)
        assert made.calls == calls
        assert made.answer.enforcement == Enforcement(enforcement, "prompted")


ROOT_UNION: dict[str, Any] = {"anyOf": [CITY, ONE]}


async def test_c97_a_union_at_the_root_is_wrapped_where_it_would_be_refused_and_unwrapped_again() -> None:
    for reply in ('{"answer": {"a": 1}}', '{"a": 1}'):
        made = await put([reply], "native", schema=ROOT_UNION)
        assert (made.answer.data, made.answer.attempts, made.calls) == ({"a": 1}, 1, 1)
        sent = made.asked[0].schema
        assert sent is not None
        assert (sent["type"], "anyOf" in sent) == ("object", False)
    made = await put(['{"answer": {"b": 1}}'], "native", schema=ROOT_UNION, max_attempts=1)
    assert (made.answer.error, made.answer.last_invalid) == ("schema_violation", {"b": 1})


@ALL
async def test_c97_what_we_did_not_wrap_is_not_unwrapped(enforcement: EnforcementName) -> None:
    made = await put(['{"answer": {"a": 1}}', '{"a": 1}'], enforcement, schema=ONE)
    assert (made.answer.data, made.answer.attempts) == ({"a": 1}, 2)


@ALL
async def test_c97_a_union_at_the_root_is_judged_as_it_stands(enforcement: EnforcementName) -> None:
    made = await put([MISFIT, '{"a": "x"}', FITS], enforcement, schema=ROOT_UNION)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 3)


@pytest.mark.parametrize("schema", [{"type": "array"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}, {"const": 1}])
async def test_c97_a_root_that_can_be_no_object_is_refused_before_anything_is_sent(schema: dict[str, Any]) -> None:
    for enforcement in FORMS:
        backend = known([FITS])
        answer = await query(PROMPT, schema, model=backend, enforcement=enforcement)
        assert (answer.error, answer.attempts, backend.requests) == ("invalid_schema", 0, [])
        assert "wrap it" in answer.message


@ALL
async def test_c97_wrapped_in_an_object_the_same_root_works(enforcement: EnforcementName) -> None:
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": ONE}}, "required": ["items"]}
    made = await put(always('{"items": [{"a": 1}]}'), enforcement, schema=schema)
    assert made.answer.data == {"items": [{"a": 1}]}


# A text as a terminal prints it (C92), and schemas that one provider does not take (C98).


@ALL
@pytest.mark.parametrize(
    "text",
    [
        "json\n{}",
        "\x1b[32m{}\x1b[0m",
        "\x1b[1mjson\x1b[0m\n\x1b[38;5;14m{}\x1b[0m\n",
        "\x1b]0;title\x07{}",
        "working |\rworking /\r{}",
    ],
)
async def test_c92_what_a_terminal_adds_to_an_answer_is_undone(text: str, enforcement: EnforcementName) -> None:
    made = await put([text.replace("{}", FITS)], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 1)


TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"allOf": [{"$ref": "#/$defs/node"}, {"maxProperties": 2}]}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {"type": "integer", "multipleOf": 5}, "below": {"$ref": "#/$defs/node"}},
            "required": ["value"],
        }
    },
}


@pytest.mark.parametrize("profile", ["openai", "anthropic", "gemini", "llguidance", "gbnf", "xgrammar", "ollama"])
async def test_c98_whatever_a_provider_takes_of_a_schema_the_whole_of_it_judges(profile: str) -> None:
    replies = [
        '{"root": {"value": 7}}',
        '{"root": {"value": 5, "below": {"value": 6}}}',
        '{"root": {"value": 5, "below": {"value": 10}, "more": 1}}',
        '{"root": {"value": 5, "below": {"value": 10}}}',
    ]
    backend = known(replies, structured_output=(profile,))
    answer = await query(PROMPT, TREE, model=backend, max_attempts=4)
    assert (answer.data, answer.attempts) == ({"root": {"value": 5, "below": {"value": 10}}}, 4)
    sent = backend.requests[0].response_schema
    if profile in ("anthropic", "gemini"):
        assert sent is None, "it takes no schema that refers to itself"
    for part in parts(sent):
        assert "allOf" not in part
        assert str(part.get("$ref", "#")).startswith("#")
