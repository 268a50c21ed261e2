"""Structured answers over Anthropic's and Gemini's own APIs (S01 to S38, C34, C94 to C98)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import vancetope
from tests.cases.playing import TOOLS, paris
from tests.cases.providers import BOTH, KEY, STREAMED, choice_of, limit_of, one_by_one, put, reached, spoke
from tests.questions.asking import CITY, FITS, MISFIT, OSLO, Put, always, without_waiting
from vancetope.backends.faults import KINDS, SCENARIOS, Asked, FaultServer, Given, first, spoken, status
from vancetope.backends.faults.edits import finish
from vancetope.backends.scripted import call, cut, empty, filtered, malformed, refuse, say, think
from vancetope.context import Patience
from vancetope.outcome import Enforcement
from vancetope.schema.profiles import PROFILES

# How a reply ended is read before the reply (S01 to S08).


@BOTH
@STREAMED
async def test_s01_of_a_reply_that_a_providers_limit_cut_nothing_is_taken(listening: bool, provider: str) -> None:
    for text in (FITS, FITS[:-1], '{"city": "Oslo", "people": 7'):
        made = await put([cut(text), cut(text)], provider, max_attempts=9, listening=listening)
        assert (made.answer.error, made.answer.attempts, made.calls) == ("output_truncated", 2, 2)
        assert made.answer.last_invalid == text


@BOTH
@STREAMED
async def test_s02_why_anthropic_or_gemini_stopped_is_read_before_what_they_wrote(
    listening: bool, provider: str
) -> None:
    made = await put([cut(MISFIT), FITS], provider, listening=listening)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)
    for reply in (filtered(FITS), refuse(FITS), refuse("I will not."), refuse()):
        made = await put([reply], provider, listening=listening)
        assert (made.answer.error, made.answer.attempts, made.answer.data) == ("refused", 1, None)


@BOTH
async def test_s03_a_reply_that_a_provider_cut_is_not_asked_for_in_the_same_way_and_never_sent_back(
    provider: str,
) -> None:
    marked = '{"city": "Nidaros, once the capital", "people": '
    made = await put([cut(marked), FITS], provider, model_settings={"max_tokens": 100})
    assert made.answer.data == OSLO
    for asked in made.asked:
        assert "Nidaros" not in json.dumps(asked.body)
    before, after = (limit_of(provider, asked.body) for asked in made.asked)
    assert before == 100
    assert after is not None
    assert after > 100


@BOTH
async def test_s05_the_limit_of_a_provider_is_raised_once_to_what_its_model_can_do(provider: str) -> None:
    made = await put(always(cut(FITS, 20)), provider, max_attempts=9)
    assert made.answer.error == "output_truncated"
    ceiling = {"anthropic": 128_000, "gemini": 65_536}[provider]
    assert [limit_of(provider, asked.body) for asked in made.asked][1:] == [ceiling]


@BOTH
@pytest.mark.parametrize("name", ["endless_list", "endless_space", "answer_cut", "answer_cut_closed"])
async def test_s08_a_loop_of_gemini_or_anthropic_up_to_the_limit_is_a_cut_reply(name: str, provider: str) -> None:
    made = await put(one_by_one(KINDS[name], KINDS[name], rest=FITS), provider, listening=False)
    assert (made.answer.error, made.calls) == ("output_truncated", 2)
    made = await put(first(KINDS[name], then=lambda _: FITS), provider, listening=False)
    assert made.answer.data == OSLO


# A constraint that is not kept, and nothing (S10 to S17).


@BOTH
@STREAMED
async def test_s10_a_format_that_a_provider_takes_and_does_not_keep_is_marked_and_still_judged(
    listening: bool, provider: str
) -> None:
    made = await put([MISFIT, '{"town": "Oslo"}', FITS], provider, listening=listening)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 3)
    assert made.answer.enforcement == Enforcement("native", "none")
    assert all(asked.schema is not None for asked in made.asked)
    kept = await put(SCENARIOS["answer"], provider, listening=listening)
    assert kept.answer.enforcement == Enforcement("native", "native")


@BOTH
async def test_s12_prose_and_thinking_around_the_object_of_a_provider_do_no_harm(provider: str) -> None:
    for reply in (f"Sure! Here you go:\n\n```json\n{FITS}\n```\n", think("Oslo, I think.", FITS)):
        made = await put([reply], provider)
        assert (made.answer.data, made.answer.attempts) == (OSLO, 1)


NOTHING: Mapping[str, Given] = {
    "unreadable": malformed(),
    "nothing": empty(),
    "one empty block": KINDS["empty_block"],
    "thinking": think("It is Oslo."),
    "the answer in the thinking": KINDS["answer_in_thought"],
    "null": "null",
    "None": "None",
    "white space": " ",
}


@BOTH
@STREAMED
@pytest.mark.parametrize("what", NOTHING)
async def test_s17_nothing_from_gemini_or_anthropic_is_never_a_success(
    what: str, listening: bool, provider: str
) -> None:
    made = await put([NOTHING[what]], provider, max_attempts=1, listening=listening)
    assert made.answer.error in ("max_attempts_exceeded", "schema_violation")
    assert made.answer.data is None
    assert made.wrapper["success"] is False
    made = await put([NOTHING[what], FITS], provider, listening=listening)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)


@STREAMED
@pytest.mark.parametrize("word", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "MALFORMED_RESPONSE"])
async def test_s17_no_odd_finish_of_gemini_makes_an_answer_of_nothing(word: str, listening: bool) -> None:
    odd = spoken("ending", "A reply with this finish.", lambda _: empty(), edit=finish(word))
    made = await put([odd], "gemini", max_attempts=1, listening=listening)
    assert (made.answer.data, made.wrapper["success"]) == (None, False)
    made = await put([odd, FITS], "gemini", listening=listening)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)


LATER: Mapping[str, tuple[Given, str]] = {
    "a key that is refused": (KINDS["key_refused"], "llm_error"),
    "a server that fails": (KINDS["status_500"], "llm_error"),
    "a page": (KINDS["html_page"], "llm_error"),
    "half a stream": (KINDS["half_stream"], "llm_error"),
    "an error in the stream": (KINDS["error_in_stream"], "llm_error"),
    "a conversation that is too long": (KINDS["context_exceeded"], "llm_error"),
    "a cut": (cut("{", 1), "output_truncated"),
    "a refusal": (refuse(), "refused"),
    "a filter": (filtered("It"), "refused"),
}


@BOTH
@pytest.mark.parametrize("what", LATER)
async def test_s18_the_last_invalid_value_is_kept_whatever_a_providers_library_raises(what: str, provider: str) -> None:
    given, error = LATER[what]
    with without_waiting():
        made = await put(one_by_one(MISFIT, rest=given), provider, max_attempts=9, repeats=None)
    assert (made.answer.error, made.answer.last_invalid) == (error, {"city": "Oslo"})
    assert made.answer.usage.input_tokens > 0


LONG = {"huge", "huge_line", "slow"}
SILENT = {name for name, fault in KINDS.items() if fault.leaves == "nothing"}


@BOTH
@pytest.mark.parametrize("name", sorted(KINDS.keys() - LONG))
async def test_s19_whatever_a_provider_does_there_is_a_wrapper_that_says_success_or_not(
    name: str, provider: str
) -> None:
    patience = Patience(model_call=0.75) if name in SILENT else None
    script = first(KINDS[name], then=SCENARIOS["answer"])
    listening = sorted(KINDS).index(name) % 2 == 0
    with without_waiting(2):
        # That a schema was refused is remembered, so this one is nobody else's.
        schema = {**CITY, "description": f"A city, whatever happens ({name})."}
        made = await put(script, provider, schema=schema, patience=patience, listening=listening, repeats=None)
    assert isinstance(made.wrapper["success"], bool)
    assert ("data" in made.wrapper) == made.answer.success
    assert ("error" in made.wrapper) != made.answer.success


# What never enters a correction, and what always reaches the server (S28 to S30).


@BOTH
async def test_s28_rate_limits_of_a_provider_never_enter_a_correction(provider: str) -> None:
    limited: list[Given] = [MISFIT, KINDS["status_429"], KINDS["status_529"], FITS]
    with without_waiting():
        made = await put(limited, provider)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 2, 4)
    assert made.asked[1].body == made.asked[2].body == made.asked[3].body
    for asked in made.asked:
        assert "scripted status" not in json.dumps(asked.body)


@BOTH
async def test_s29_ten_attempts_over_a_provider_cost_about_ten_times_one(provider: str) -> None:
    made = await put(lambda asked: f'{{"city": "Oslo {asked.number}"}}', provider, max_attempts=10)
    assert (made.answer.error, made.calls) == ("schema_violation", 10)
    sizes = [asked.size for asked in made.asked]
    assert max(sizes[1:]) - min(sizes[1:]) < 100
    assert sizes[-1] < 3 * sizes[0]


@BOTH
async def test_s32_the_attempts_of_questions_that_share_a_provider_are_counted_apart(provider: str) -> None:
    async with FaultServer(lambda asked: FITS if len(asked.turns) > 1 else MISFIT, key=KEY) as server:
        with reached(server, provider) as where:
            asked = [vancetope.query(f"Which city is number {number}?", CITY, **where) for number in range(6)]
            answers = await asyncio.gather(*asked)
    spoke(server, provider)
    assert [(each.data, each.attempts, each.model_calls) for each in answers] == [(OSLO, 2, 2)] * 6


@BOTH
async def test_s30_an_option_reaches_anthropic_and_gemini_in_every_attempt(provider: str) -> None:
    options: dict[str, Any] = (
        {"metadata": {"user_id": "somebody"}, "stop_sequences": ["THE END"]}
        if provider == "anthropic"
        else {"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]}
    )
    made = await put([MISFIT, cut("{", 1), FITS], provider, model_settings=options)
    assert made.answer.data == OSLO
    for asked in made.asked:
        assert {name: asked.body[name] for name in options} == options


# Schemas as the providers take them (S33 to S35, C96 to C98). The server refuses what they refuse.


def many(fields: int) -> dict[str, Any]:
    properties = {f"field_{number}": {"type": "string"} for number in range(fields)}
    return {
        "type": "object",
        "properties": properties,
        "required": ["field_0"],
        "additionalProperties": False,
    }


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"in": schema}, "required": ["in"]}
    return {"type": "object", "properties": {"field_0": {"type": "string"}, "deep": schema}, "required": ["field_0"]}


def unions(count: int) -> dict[str, Any]:
    either = {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "integer"}]}
    properties: dict[str, Any] = {f"either_{number}": either for number in range(count)}
    return {
        "type": "object",
        "properties": {"field_0": {"type": "string"}} | properties,
        "required": ["field_0", *properties],
    }


@pytest.mark.parametrize(
    ("provider", "schema", "says"),
    [("anthropic", many(26), "24"), ("anthropic", many(200), "24"), ("gemini", deep(12), "10")],
    ids=["26 optional", "200 optional", "12 levels"],
)
async def test_s33_over_a_providers_counts_no_schema_is_sent_to_it_and_people_are_told(
    provider: str, schema: dict[str, Any], says: str
) -> None:
    made = await put(['{"field_0": "x"}'], provider, schema=schema, max_attempts=1)
    assert (made.answer.data, made.calls) == ({"field_0": "x"}, 1), "nothing was sent that the server would refuse"
    assert made.asked[0].schema is None
    assert '"field_0"' in made.asked[0].system
    assert any("in words" in each and says in each for each in made.notices)
    assert made.answer.enforcement.honoured == "prompted"


@BOTH
async def test_s33_just_below_the_counts_the_schema_is_sent_to_the_provider(provider: str) -> None:
    schema = many(25) if provider == "anthropic" else deep(8)
    made = await put(['{"field_0": "x"}'], provider, schema=schema, max_attempts=1)
    assert made.answer.success
    assert made.asked[0].schema is not None


async def test_s33_unions_are_counted_for_anthropic_too() -> None:
    value: dict[str, Any] = {"field_0": "x"}
    for count, sent in ((16, True), (17, False)):
        whole = value | {f"either_{number}": number for number in range(count)}
        made = await put([json.dumps(whole)], "anthropic", schema=unions(count), max_attempts=1)
        assert made.answer.data == whole
        assert (made.asked[0].schema is not None) == sent


TOO_LARGE = {
    "anthropic": "The compiled grammar is too large, which would cause performance issues.",
    "gemini": "The specified schema produces a constraint that has too many states for serving.",
}


@BOTH
@STREAMED
async def test_s33_a_grammar_that_is_too_large_for_a_provider_falls_back_once_and_for_all(
    listening: bool, provider: str
) -> None:
    refused = status(400, message=TOO_LARGE[provider])
    schema = {**CITY, "description": f"Too large for {provider} where it is {listening} that it is streamed."}

    async def asked() -> Put:
        return await put(
            lambda asked: refused if asked.schema is not None else FITS,
            provider,
            schema=schema,
            max_attempts=1,
            listening=listening,
        )

    made = await asked()
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 2)
    assert made.answer.enforcement == Enforcement("native", "prompted")
    if listening:
        assert any(TOO_LARGE[provider].partition(",")[0] in each for each in made.notices)
    again = await asked()
    assert (again.answer.data, again.calls) == (OSLO, 1)


LOOSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 200, "multipleOf": 1},
        "home": {"type": "object", "properties": {"street": {"type": "string"}, "no": {"type": ["integer", "null"]}}},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 5, "uniqueItems": True},
        "either": {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "null"}]},
        "mail": {"type": "string", "format": "email", "pattern": "@"},
    },
    "required": ["name"],
    "$defs": {"tag": {"type": "object", "properties": {"label": {"type": "string", "maxLength": 9}}}},
}


def subschemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas in it."""
    if isinstance(schema, Mapping):
        yield schema
        for key in ("properties", "$defs"):
            for each in schema.get(key, {}).values():
                yield from subschemas(each)
        for key in ("items", "additionalProperties"):
            yield from subschemas(schema.get(key))
        for key in ("anyOf", "allOf", "prefixItems"):
            for each in schema.get(key, ()):
                yield from subschemas(each)


@BOTH
@STREAMED
async def test_s34_every_object_of_what_a_provider_is_sent_is_closed_where_it_demands_that(
    listening: bool, provider: str
) -> None:
    made = await put(['{"name": "Ada"}'], provider, schema=LOOSE, listening=listening)
    assert (made.answer.data, made.answer.attempts) == ({"name": "Ada"}, 1)
    assert made.answer.enforcement == Enforcement("native", "native"), "it did not fall back to words in silence"
    sent = made.asked[0].schema
    assert sent is not None
    objects = [each for each in subschemas(sent) if "properties" in each]
    assert len(objects) >= 4
    if PROFILES[provider].closed_objects:
        assert all(each["additionalProperties"] is False for each in objects)


@BOTH
async def test_s34_the_schema_stands_where_the_provider_reads_it(provider: str) -> None:
    made = await put([FITS], provider)
    body = made.asked[0].body
    if provider == "anthropic":
        assert body["output_config"]["format"]["type"] == "json_schema"
        assert body["output_config"]["format"]["schema"] == made.asked[0].schema
    else:
        assert body["generationConfig"]["responseMimeType"] == "application/json"
        assert body["generationConfig"]["responseJsonSchema"] == made.asked[0].schema
        assert "responseSchema" not in body["generationConfig"]
    assert not body.get("tools")


@BOTH
async def test_s35_only_keywords_that_a_provider_keeps_to_reach_it_and_the_rest_is_said_in_words(
    provider: str,
) -> None:
    made = await put(['{"name": ""}', '{"name": "Ada", "age": 200}', '{"name": "Ada"}'], provider, schema=LOOSE)
    assert (made.answer.data, made.answer.attempts) == ({"name": "Ada"}, 3), "the whole schema judges"
    sent = made.asked[0].schema
    for each in subschemas(sent):
        assert set(each) <= PROFILES[provider].keywords
        assert each.get("format") in (None, *PROFILES[provider].formats)
    assert "40" in made.asked[0].system + json.dumps(sent), "what the grammar cannot hold is said in words"


@BOTH
async def test_s35_a_place_without_a_type_never_reaches_a_provider(provider: str) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "any": {}}, "required": ["name", "any"]}
    made = await put(['{"name": "Ada", "any": 1}'], provider, schema=schema)
    assert made.answer.data == {"name": "Ada", "any": 1}
    sent = made.asked[0].schema
    assert sent is None or {} not in list(subschemas(sent))


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
MERGED: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"allOf": [{"$ref": "#/$defs/node"}, {"required": ["value"]}]}},
    "required": ["root"],
    "$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer", "multipleOf": 5}}}},
}


@BOTH
@STREAMED
async def test_c98_a_schema_that_refers_to_itself_is_sent_to_no_provider_and_the_whole_of_it_judges(
    listening: bool, provider: str
) -> None:
    replies: list[Given] = [
        '{"root": {"value": 7}}',
        '{"root": {"value": 5, "below": {"value": 6}}}',
        '{"root": {"value": 5, "below": {"value": 10}, "more": 1}}',
        '{"root": {"value": 5, "below": {"value": 10}}}',
    ]
    made = await put(replies, provider, schema=TREE, max_attempts=4, listening=listening)
    assert (made.answer.data, made.answer.attempts) == ({"root": {"value": 5, "below": {"value": 10}}}, 4)
    assert [asked.schema for asked in made.asked] == [None] * 4
    assert made.answer.enforcement.honoured == "prompted"


@BOTH
async def test_c98_a_reference_beside_other_rules_reaches_a_provider_without_what_it_refuses(provider: str) -> None:
    made = await put(['{"root": {}}', '{"root": {"value": 7}}', '{"root": {"value": 5}}'], provider, schema=MERGED)
    assert (made.answer.data, made.answer.attempts) == ({"root": {"value": 5}}, 3)
    sent = made.asked[0].schema
    assert sent is not None
    for each in subschemas(sent):
        assert "allOf" not in each
        assert "$ref" not in each or set(each) == {"$ref"}
        assert str(each.get("$ref", "#")).startswith("#")


@BOTH
async def test_c98_a_reference_to_elsewhere_is_refused_before_anything_is_sent(provider: str) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "https://example.org/schema.json"}}, "required": ["a"]}
    made = await put([], provider, schema=schema)
    assert (made.answer.error, made.calls) == ("invalid_schema", 0)


NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "shape": {
            "anyOf": [
                {"type": "object", "properties": {"side": {"type": "number"}}},
                {"type": "object", "properties": {"radius": {"type": "number"}}, "required": ["radius"]},
            ]
        },
        "node": {"$ref": "#/$defs/node", "description": "The first node."},
    },
    "required": ["node"],
    "$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}},
}


@BOTH
async def test_c96_every_object_is_closed_for_a_provider_wherever_it_stands(provider: str) -> None:
    value = {"shape": {"radius": 2}, "node": {"value": 1}}
    made = await put([json.dumps(value)], provider, schema=NESTED)
    assert (made.answer.data, made.answer.attempts) == (value, 1)
    assert made.answer.enforcement == Enforcement("native", "native")


@BOTH
async def test_c96_a_provider_that_refuses_the_schema_is_asked_without_it(provider: str) -> None:
    def script(asked: Asked) -> Given:
        return KINDS["schema_refused"] if asked.schema is not None else '{"node": {"value": 1}}'

    made = await put(script, provider, schema=NESTED)
    assert (made.answer.data, made.answer.attempts) == ({"node": {"value": 1}}, 1)
    assert made.answer.enforcement == Enforcement("native", "prompted")
    assert made.asked[-1].schema is None


@BOTH
async def test_c97_a_union_at_the_root_reaches_each_provider_in_a_form_that_it_takes(provider: str) -> None:
    one = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
    for reply in (FITS, '{"a": 1}'):
        made = await put([reply], provider, schema={"anyOf": [CITY, one]})
        assert (made.answer.data, made.answer.attempts) == (json.loads(reply), 1)


# Calls and texts where the other was wanted (C34, S38).


@BOTH
async def test_s38_a_text_of_a_provider_instead_of_a_call_is_read_before_anything_is_spent(provider: str) -> None:
    made = await put([say(FITS)], provider, tools=TOOLS, max_attempts=1)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 1)
    made = await put([paris, say("I need no other tool."), FITS], provider, tools=TOOLS, max_attempts=1)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 3)
    assert [choice_of(provider, asked.body) for asked in made.asked] == [None] * 3


@BOTH
async def test_s38_a_call_of_a_provider_instead_of_the_object_is_told_and_asked_again(provider: str) -> None:
    made = await put([call("respond", **OSLO), FITS], provider)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)


@BOTH
async def test_c34_a_model_of_a_provider_that_never_fits_costs_exactly_its_attempts(provider: str) -> None:
    for most in (1, 2, 5):
        made = await put(lambda asked: f'{{"city": "Oslo {asked.number}"}}', provider, max_attempts=most)
        assert (made.answer.error, made.answer.attempts, made.calls) == ("schema_violation", most, most)
    made = await put(always(MISFIT), provider, max_attempts=9)
    assert (made.answer.error, made.calls) == ("schema_violation", 3)
