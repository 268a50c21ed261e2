"""What a stranger broke: odd schemas, odd backends, recipes that cannot be rendered, forms that come amid text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

import vancetope as vt
from tests.questions.asking import ALL, CITY, FITS, PROMPT, known, play
from vancetope.backends.base import OnPiece, Request
from vancetope.backends.scripted import say
from vancetope.errors import ConfigError, ServerFailed
from vancetope.events import Event
from vancetope.messages import Reply
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName

NOTED: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "note": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
EITHER: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        {"type": "object", "properties": {"river": {"type": "string"}}, "required": ["river"]},
    ]
}
AMID = ["{}", "<think>Oslo it is</think>{}", "```json\n{}\n```", "Here it is:\n{}\n"]


# A provider's form is taken back to the caller's wherever it stands.


@pytest.mark.parametrize("text", AMID)
async def test_a_null_that_the_form_demands_is_none_of_the_answer_wherever_it_stands(text: str) -> None:
    made = await play([text.replace("{}", '{"city": "Oslo", "note": null}')], "native", schema=NOTED)
    assert made.answer.data == {"city": "Oslo"}


@pytest.mark.parametrize("text", AMID)
async def test_the_wrapper_of_a_union_is_taken_off_wherever_it_stands(text: str) -> None:
    made = await play([text.replace("{}", '{"answer": {"river": "Glomma"}}')], "native", schema=EITHER)
    assert made.answer.data == {"river": "Glomma"}


@pytest.mark.parametrize("text", AMID)
@pytest.mark.parametrize("value", ['{"city": null, "note": null}', '{"city": "Oslo", "note": 1}', '{"note": null}'])
async def test_what_fits_neither_form_is_still_wrong(text: str, value: str) -> None:
    made = await play([text.replace("{}", value)], "native", schema=NOTED, max_attempts=1)
    assert made.answer.error == "schema_violation"


async def test_two_values_in_the_servers_form_stay_ambiguous() -> None:
    two = '```json\n{"city": "Oslo", "note": null}\n```\n```json\n{"city": "Rome", "note": null}\n```'
    made = await play([two], "native", schema=NOTED, max_attempts=1)
    assert made.answer.error == "max_attempts_exceeded"


@ALL
async def test_a_null_that_no_form_demands_is_wrong_in_words(enforcement: EnforcementName) -> None:
    made = await play(['{"city": null, "people": 1}'], enforcement, max_attempts=1)
    assert made.answer.error == "schema_violation"


# Whatever a backend or a class raises, there is a wrapper, and no secret in it.


class Unspeakable(Exception):
    """An error whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Raising:
    """A backend that has a bug."""

    info = ModelInfo(provider="lab", name="model")

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        raise self.error

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_an_error_without_a_text_is_an_internal_error() -> None:
    answer = await vt.query(PROMPT, CITY, model=Raising(Unspeakable()))
    assert answer.error == "internal_error"
    assert "Unspeakable" in answer.message
    assert isinstance(answer.cause, Unspeakable)


SAID = (
    "401 for https://me:hunter22@lab.example/v1/chat?key=AIzaSecret99&alt=sse",
    "header Authorization: Bearer hunter22.AIzaSecret99",
    "key sk-hunter22AIzaSecret99 was refused",
)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("kind", [RuntimeError, OSError, TimeoutError, ServerFailed])
async def test_no_key_of_a_careless_backend_is_in_the_answer(kind: type[Exception], said: str) -> None:
    events: list[Event] = []
    answer = await vt.query(PROMPT, CITY, model=Raising(kind(said)), on_event=events.append)
    told = json.dumps(answer.wrapper()) + answer.message + "".join(map(repr, events))
    assert answer.error in ("internal_error", "llm_error")
    assert "hunter22" not in told
    assert "AIzaSecret99" not in told


async def test_an_endless_error_text_is_told_at_once_and_short() -> None:
    answer = await vt.query(PROMPT, CITY, model=Raising(RuntimeError("://" * 1_000_000)))
    assert answer.error == "internal_error"
    assert len(answer.message) < 400


class Undefinable:
    """A class of which no schema can be made, and whose error has no text."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        raise Unspeakable


class Broken(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("the file is gone")

    def __iter__(self) -> Iterator[str]:
        return iter(["type"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("schema", [Undefinable, Broken()])
async def test_a_schema_that_raises_is_an_invalid_one(schema: Any) -> None:
    answer: vt.Answer[Any] = await vt.query(PROMPT, schema, model=known([]))
    assert (answer.error, answer.attempts) == ("invalid_schema", 0)
    assert answer.message.strip()


class Nothing:
    """A class whose values are made into None."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(lambda value: None, core_schema.dict_schema())


async def test_data_that_is_none_is_data() -> None:
    answer = await vt.query(PROMPT, Nothing, model=known([say("{}")]))
    assert answer.success
    assert answer.unwrap() is None


def test_a_type_that_is_no_class_is_told_what_to_do() -> None:
    class Cat(BaseModel):
        purrs: bool

    class Dog(BaseModel):
        barks: bool

    schema: Any = Cat | Dog
    answer: vt.Answer[Any] = vt.query_blocking(PROMPT, schema, model=known([]))
    assert answer.error == "invalid_params"
    assert "RootModel" in answer.message


async def test_a_format_of_a_models_that_is_not_there_is_named_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError, match="no response format 'opanai'"):
        await vt.query(PROMPT, CITY, model=known([], structured_output=("opanai",)))


# Schemas and recipes that make no prompt are told before anything is sent or told.


def many(count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"property_{number}": {"type": "string"} for number in range(count)}}


@ALL
async def test_a_schema_that_is_too_large_for_every_prompt_is_an_invalid_one(enforcement: EnforcementName) -> None:
    made = await play([], enforcement, schema=many(30_000))
    assert made.answer.error == "invalid_schema"
    assert "1,000,000" in made.answer.message


async def test_a_large_schema_is_shown_without_indents_where_those_take_the_room() -> None:
    deep: dict[str, Any] = {"type": "string", "enum": [f"value {number}" for number in range(20_000)]}
    for _ in range(50):
        deep = {"type": "object", "properties": {"a": deep}}
    made = await play(["{}"], "prompted", schema=deep)
    assert made.answer.success
    assert "value 19999" in made.asked[0].messages[0]["content"]


@pytest.mark.parametrize(
    "template", ["{{ 1 / 0 if mode == 'prompted' }}", "{{ schema_json.topic }}", "{{ prompt[99] }}"]
)
async def test_a_recipe_that_fails_in_any_form_is_told_before_a_request_and_an_event(
    template: str, tmp_path: Path
) -> None:
    recipe = tmp_path / "odd.yaml"
    recipe.write_text(f"description: Odd.\nengine: jeltz\npromptPrefix: {json.dumps(template)}\n")
    model, events = known([say(FITS)]), list[Event]()
    with pytest.raises(ConfigError, match=r"odd\.yaml: promptPrefix: "):
        await vt.query("Where?", CITY, model=model, recipe=recipe, enforcement="native", on_event=events.append)
    assert (model.requests, events) == ([], [])


@ALL
async def test_nothing_in_a_schema_or_a_question_is_run_as_a_template(enforcement: EnforcementName) -> None:
    odd = "{{ 7 * 7 }}{% for %}{# gone #}"
    schema = {
        "type": "object",
        "description": odd,
        "properties": {odd: {"const": odd}},
        "required": [odd],
        "additionalProperties": False,
    }
    made = await play([json.dumps({odd: odd})], enforcement, schema=schema, prompt=odd)
    assert made.answer.data == {odd: odd}
    assert odd in made.asked[0].messages[0]["content"]
    assert made.said(0) == [odd]
