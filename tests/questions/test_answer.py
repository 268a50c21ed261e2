"""The public edge of a question: its parameters, its wrapper, what raises and what does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import vancetope as vt
from tests.questions.asking import (
    ALL,
    CITY,
    ERRORS,
    FITS,
    FORMS,
    MISFIT,
    OSLO,
    PROMPT,
    Known,
    known,
    play,
    put,
)
from vancetope.answer import Answer
from vancetope.backends.faults import SCENARIOS, FaultServer
from vancetope.backends.scripted import ScriptedBackend, refuse
from vancetope.errors import AnswerFailed, ConfigError, HistoryError
from vancetope.messages import Image, Text, User
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName
from vancetope.recipes.recipe import Recipe

# Parameters: what is wrong with the question itself is its answer's error, and nothing is sent.

OBJECT = {"type": "object"}
WRONG: Mapping[str, tuple[Any, Any, Mapping[str, Any], str]] = {
    "no prompt": (None, CITY, {}, "prompt"),
    "an empty prompt": ("", CITY, {}, "prompt"),
    "a blank prompt": (" \n", CITY, {}, "prompt"),
    "an empty list": ([], CITY, {}, "prompt"),
    "a number": (7, CITY, {}, "prompt"),
    "half a character": ("a\ud800", CITY, {}, "prompt"),
    "an image for a blind model": ([Text("See:"), Image("https://example.org/a.png")], CITY, {}, "prompt"),
    "no attempt": (PROMPT, CITY, {"max_attempts": 0}, "max_attempts"),
    "eleven attempts": (PROMPT, CITY, {"max_attempts": 11}, "max_attempts"),
    "attempts below zero": (PROMPT, CITY, {"max_attempts": -1}, "max_attempts"),
    "attempts as text": (PROMPT, CITY, {"max_attempts": "3"}, "max_attempts"),
    "attempts as truth": (PROMPT, CITY, {"max_attempts": True}, "max_attempts"),
    "half an attempt": (PROMPT, CITY, {"max_attempts": 2.5}, "max_attempts"),
    "format checks as text": (PROMPT, CITY, {"format_checks": "yes"}, "format_checks"),
    "no schema": (PROMPT, None, {}, "schema"),
    "a schema as text": (PROMPT, json.dumps(CITY), {}, "schema"),
    "true as the schema": (PROMPT, True, {}, "schema"),
}
DEEP: dict[str, Any] = {"type": "object"}
for _ in range(200):
    DEEP = {"type": "object", "properties": {"a": DEEP}}
BAD_SCHEMAS: Mapping[str, tuple[Any, str]] = {
    "an unknown type": ({"type": "objct"}, "objct"),
    "a type that is a number": ({"type": 7}, "7"),
    "properties as a list": ({"type": "object", "properties": []}, "properties"),
    "a bad pattern": ({"type": "object", "properties": {"a": {"pattern": "("}}}, "("),
    "a reference to nowhere": ({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, "none"),
    "a reference to a file": ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "file:"),
    "a reference to the web": ({"type": "object", "properties": {"a": {"$ref": "http://localhost:9/x"}}}, "http:"),
    "an unknown draft": ({"$schema": "https://example.org/mine", "type": "object"}, "example.org"),
    "a list at the top": ({"type": "array", "items": CITY}, "object"),
    "a text at the top": ({"type": "string"}, "object"),
    "an enum of texts at the top": ({"enum": ["a", "b"]}, "object"),
    "a union without an object": ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "object"),
    "deeper than 128": (DEEP, "128"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("enforcement", [None, *FORMS])
async def test_a_bad_parameter_is_named_and_nothing_is_sent(name: str, enforcement: EnforcementName | None) -> None:
    prompt, schema, options, named = WRONG[name]
    made = await play([], enforcement, prompt=prompt, schema=schema, **options)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("invalid_params", 0, 0)
    assert made.answer.message.startswith(f"{named}: ")
    assert made.answer.last_invalid is None


@pytest.mark.parametrize("name", BAD_SCHEMAS)
async def test_a_bad_schema_is_told_in_the_validators_words_and_nothing_is_sent(name: str) -> None:
    schema, words = BAD_SCHEMAS[name]
    for enforcement in FORMS:
        made = await play([], enforcement, schema=schema)
        assert (made.answer.error, made.answer.attempts, made.calls) == ("invalid_schema", 0, 0)
        assert words in made.answer.message


@pytest.mark.parametrize("attempts", range(1, 11))
async def test_one_to_ten_attempts_are_allowed_and_kept(attempts: int) -> None:
    made = await play([f"Prose {number}." for number in range(attempts)], max_attempts=attempts)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("max_attempts_exceeded", attempts, attempts)


async def test_three_attempts_are_the_default_and_a_recipe_may_say_otherwise(tmp_path: Path) -> None:
    prose = [f"Prose {number}." for number in range(9)]
    assert (await play(prose)).calls == 3
    recipe = tmp_path / "patient.yaml"
    recipe.write_text("engine: jeltz\nparams: {maxAttempts: 5}\npromptPrefix: '{{ schema_json | raw }}'\n")
    assert (await play(prose, recipe=recipe, max_attempts=None)).calls == 5
    assert (await play(prose, recipe=recipe, max_attempts=2)).calls == 2


@pytest.mark.parametrize("number", [0, 11])
async def test_a_recipe_with_a_number_of_attempts_that_cannot_be_does_not_load(number: int, tmp_path: Path) -> None:
    recipe = tmp_path / "odd.yaml"
    recipe.write_text(f"engine: jeltz\nparams: {{maxAttempts: {number}}}\n")
    with pytest.raises(ConfigError, match="maxAttempts"):
        await vt.query(PROMPT, CITY, model=known([]), recipe=recipe)


# What cannot work at all raises, in one sentence, before anything is sent.

CANNOT: Mapping[str, tuple[Mapping[str, Any], type[Exception], str]] = {
    "an unknown option": ({"max_atempts": 3}, TypeError, "max_atempts"),
    "an option of a chat": ({"turn_end": "natural"}, TypeError, "turn_end"),
    "an unknown model": ({"model": "nowhere:model"}, ConfigError, "nowhere"),
    "a recipe of a chat": ({"recipe": "default"}, ConfigError, "jeltz"),
    "an unknown recipe": ({"recipe": "nothing"}, ConfigError, "nothing"),
    "a bad template": ({"recipe": Recipe(engine="jeltz", promptPrefix="{{ nothing }}")}, ConfigError, "nothing"),
    "a bad enforcement": ({"enforcement": "strict"}, ConfigError, "enforcement"),
    "a bad budget": ({"budget": 0}, ConfigError, "budget"),
    "a bad deadline": ({"deadline": -1}, ConfigError, "deadline"),
    "a journal that is none": ({"journal": []}, ConfigError, "journal"),
    "a listener that is none": ({"on_event": 7}, ConfigError, "on_event"),
    "a history that is none": ({"history": "Hello."}, HistoryError, "history"),
    "tools that are none": ({"tools": "clock"}, ConfigError, "tools"),
}


@pytest.mark.parametrize("name", CANNOT)
async def test_what_cannot_work_raises_in_one_sentence_before_anything_is_sent(name: str) -> None:
    options, kind, words = CANNOT[name]
    backend = known([FITS])
    with pytest.raises(kind, match=words) as caught:
        await vt.query(PROMPT, CITY, **{"model": backend, **options})
    assert "\n" not in str(caught.value)
    assert backend.requests == []


async def test_an_enforcement_that_the_server_lacks_raises_and_names_the_others() -> None:
    backend = known([FITS], enforcements=("native",), structured_output=("openai",))
    with pytest.raises(ConfigError, match="'native', 'prompted'"):
        await vt.query(PROMPT, CITY, model=backend, enforcement="constrained")
    assert backend.requests == []


# Which form is asked for, where the caller does not say.


@pytest.mark.parametrize(
    ("facts", "asked"),
    [
        ({}, "prompted"),
        ({"structured_output": ("openai",)}, "native"),
        ({"structured_output": ("gemini",)}, "native"),
        ({"structured_output": ("gbnf",)}, "constrained"),
        ({"structured_output": ("xgrammar", "openai")}, "constrained"),
        ({"enforcements": ("constrained",)}, "constrained"),
    ],
)
async def test_the_catalogue_says_which_form_is_asked_for(facts: Mapping[str, Any], asked: str) -> None:
    made = await play([FITS], None, facts={"enforcements": ("native",), **facts})
    assert (made.answer.enforcement.asked, made.answer.enforcement.honoured) == (asked, asked)
    assert (made.asked[0].schema is not None) == (asked != "prompted")


@pytest.mark.parametrize("kind", ["openai", "vllm", "llamacpp", "ollama"])
async def test_every_kind_of_server_answers_in_its_own_form(kind: str) -> None:
    made = await put(SCENARIOS["answer"], None, kind=kind)
    assert made.answer.success
    assert made.answer.enforcement.asked == ("prompted" if kind == "openai" else "constrained")


# The prompt and the system prompt.


@ALL
async def test_a_prompt_may_be_made_of_parts(enforcement: EnforcementName) -> None:
    for prompt in (["Which", Text("city?")], User("Which city?"), "Which city?"):
        made = await play([FITS], enforcement, prompt=prompt)
        assert made.answer.success
    image = Image("https://example.org/a.png")
    made = await play([FITS], enforcement, prompt=["See:", image], facts={"vision": True})
    assert made.answer.success
    assert "example.org" in json.dumps(made.asked[0].body)


@ALL
async def test_instructions_and_a_recipe_of_ones_own_are_in_the_system_prompt(
    enforcement: EnforcementName, tmp_path: Path
) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(
        "engine: jeltz\npromptPrefix: |\n  Form {{ mode }} for {{ prompt | upper }}:\n  {{ schema_json | raw }}\n"
    )
    made = await play([FITS], enforcement, recipe=recipe, instructions="Be exact.", prompt="Which city?")
    system = made.asked[0].messages[0]["content"]
    assert system.startswith(f"Form {enforcement} for WHICH CITY?:\n{{\n")
    assert system.endswith("Be exact.")
    assert json.dumps(CITY, indent=2) in system


@ALL
async def test_a_schema_of_any_script_reaches_the_model_as_it_is(enforcement: EnforcementName) -> None:
    schema = {"type": "object", "properties": {"città <b> {{ x }}": {"enum": ["Zürich", "東京"]}}}
    made = await play(['{"città <b> {{ x }}": "東京"}'], enforcement, schema={**schema, "minProperties": 1})
    assert made.answer.data == {"città <b> {{ x }}": "東京"}
    assert '"città <b> {{ x }}"' in made.asked[0].messages[0]["content"]
    assert "東京" in made.asked[0].messages[0]["content"]


async def test_the_callers_schema_is_not_changed_and_may_be_any_mapping() -> None:
    before = json.dumps(CITY)
    for enforcement in FORMS:
        made = await play([FITS], enforcement, schema=MappingProxyType(CITY))
        assert made.answer.data == OSLO
    assert json.dumps(CITY) == before


async def test_a_schema_may_name_an_older_draft() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}},
        "required": ["pair"],
    }
    made = await play(['{"pair": ["x", 1]}', '{"pair": [1, "x"]}'], "prompted", schema=schema)
    assert made.answer.data == {"pair": [1, "x"]}
    assert made.answer.attempts == 2


# Formats.


@ALL
async def test_formats_decide_only_where_the_caller_says_so(enforcement: EnforcementName) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]}
    loose = await play(['{"day": "soon"}'], enforcement, schema=schema)
    assert loose.answer.data == {"day": "soon"}
    strict = await play(['{"day": "soon"}', '{"day": "2026-03-01"}'], enforcement, schema=schema, format_checks=True)
    assert strict.answer.data == {"day": "2026-03-01"}
    assert "/day" in strict.corrections[0]


# The answer as a value.


async def test_the_wrapper_of_a_success_and_of_a_failure_are_those_of_the_design() -> None:
    made = await play([MISFIT, FITS])
    assert made.wrapper == {"success": True, "attempts": 2, "data": OSLO}
    made = await play([MISFIT], max_attempts=1)
    assert made.wrapper == {
        "success": False,
        "attempts": 1,
        "error": "schema_violation",
        "message": made.answer.message,
        "lastInvalid": {"city": "Oslo"},
    }
    assert "/people" in made.answer.message


async def test_unwrap_gives_the_data_or_raises_with_error_and_message() -> None:
    assert (await vt.query(PROMPT, CITY, model=known([FITS]))).unwrap() == OSLO
    assert (await vt.query(PROMPT, OBJECT, model=known(["{}"]))).unwrap() == {}
    refused = await vt.query(PROMPT, CITY, model=known([refuse("No.")]))
    with pytest.raises(AnswerFailed, match="refused") as caught:
        refused.unwrap()
    assert refused.message in str(caught.value)
    assert isinstance(caught.value, vt.VancetopeError)


def test_the_errors_are_those_of_the_design() -> None:
    from typing import get_args

    from vancetope.answer import AnswerError

    assert set(get_args(AnswerError)) == ERRORS


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (Answer[Any](success=True, attempts=1, data={"a": 1}), "<Answer {'a': 1}>"),
        (Answer[Any](success=False, attempts=1, error="refused", message="no"), "<Answer refused: no>"),
        (Answer[Any](success=True, attempts=1, data={"a": "x" * 200}), "<Answer {'a': '" + "x" * 72 + "…>"),
    ],
)
def test_repr_is_one_short_line(answer: Answer[Any], shown: str) -> None:
    assert repr(answer) == shown


def test_an_answer_is_frozen_and_compares_by_value() -> None:
    one = Answer[Any](success=False, attempts=1, error="refused", message="no", cause=ValueError("x"))
    assert one == Answer[Any](success=False, attempts=1, error="refused", message="no")
    with pytest.raises(AttributeError):
        one.attempts = 2  # type: ignore[misc]


async def test_without_a_listener_nothing_is_streamed() -> None:
    backend = Known([FITS], info=ModelInfo(provider="lab", name="model"))
    answer = await vt.query(PROMPT, CITY, model=backend)
    assert answer.success
    async with FaultServer([FITS]) as server:
        settings = {"servers": {"case": {"kind": "openai", "url": server.base_url}}}
        await vt.query(PROMPT, CITY, model="case:m", settings=settings)
        assert server.requests[0].stream is False


async def test_an_async_function_from_text_to_text_answers_too() -> None:
    prompts: list[str] = []

    async def model(prompt: str) -> str:
        prompts.append(prompt)
        return MISFIT if len(prompts) == 1 else FITS

    answer = await vt.query(PROMPT, CITY, model=model)
    assert (answer.data, answer.attempts) == (OSLO, 2)
    assert json.dumps(CITY, indent=2) in prompts[0]
    assert "/people" in prompts[1]
    assert answer.enforcement.asked == "prompted"


async def test_any_backend_without_an_entry_in_the_catalogue_is_asked_in_words_unless_told_otherwise() -> None:
    for enforcement, schema_sent in ((None, False), ("native", True), ("constrained", True), ("prompted", False)):
        backend = ScriptedBackend([FITS])
        answer = await vt.query(PROMPT, CITY, model=backend, enforcement=enforcement)  # type: ignore[arg-type]
        assert answer.data == OSLO
        assert (backend.requests[0].response_schema is not None) == schema_sent


# Warnings about the schema.


async def test_unknown_keywords_are_told_with_the_one_that_was_meant_and_nothing_fails() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimun": 1}}, "requierd": ["a"]}
    made = await play(['{"a": 0}'], "prompted", schema=schema)
    assert made.answer.success
    assert any("minimun" in each and "minimum" in each for each in made.notices)
    assert any("requierd" in each and "required" in each for each in made.notices)


async def test_a_schema_that_says_nothing_wrong_is_silent() -> None:
    assert (await play([FITS], "prompted")).notices == []
