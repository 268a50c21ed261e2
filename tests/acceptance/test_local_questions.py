"""Structured questions to the real local model: what it answers fits the schema, and what it cannot is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

import vancetope
from vancetope.backends.local import DEFAULT, launcher
from vancetope.events import Event, RawDelta, TurnEnded

pytestmark = pytest.mark.timeout(180)

MODEL = f"local:{DEFAULT}"
PROMPT = "Mara Lind is 52 years old and lives in Oslo."
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "city": {"type": "string"}},
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}
REVIEW: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sentiment": {"enum": ["positive", "neutral", "negative"]},
        "points": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "author": {"$ref": "#/$defs/author"},
    },
    "required": ["sentiment", "points"],
    "$defs": {"author": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}}},
}


class Address(BaseModel):
    street: str
    number: int = Field(ge=1, le=999)


class Delivery(BaseModel):
    to: Address
    speed: Literal["normal", "express"]


@pytest.fixture(autouse=True, scope="module")
def no_child_of_this_file_is_left() -> Iterator[None]:
    yield
    launcher._end_all()
    launcher._slots.clear()


def fits(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema_rs.validator_for(schema, offline=True).is_valid(value)


async def test_under_a_grammar_a_model_of_135m_answers_by_schema() -> None:
    events: list[Event] = []
    answer = await vancetope.query(PROMPT, PERSON, model=MODEL, on_event=events.append)
    assert answer.success, answer.wrapper()
    assert fits(PERSON, answer.data)
    assert (answer.attempts, answer.rule) == (1, "strict")
    assert answer.enforcement.asked == answer.enforcement.honoured == "constrained"
    assert "".join(each.text for each in events if isinstance(each, RawDelta)).startswith("{")
    assert isinstance(events[-1], TurnEnded)
    assert answer.cost == 0


async def test_choices_lists_and_references_fit_too() -> None:
    answer = await vancetope.query("The food was cold and the waiter was rude.", REVIEW, model=MODEL)
    assert answer.success, answer.wrapper()
    assert fits(REVIEW, answer.data)


async def test_an_answer_is_an_instance_of_the_callers_class() -> None:
    answer = await vancetope.query("Express, to Gartenweg 5.", Delivery, model=MODEL)
    assert answer.success, answer.wrapper()
    assert isinstance(answer.unwrap().to, Address)


async def test_in_words_alone_it_answers_by_schema_or_says_that_it_does_not() -> None:
    answer = await vancetope.query(PROMPT, PERSON, model=MODEL, enforcement="prompted", max_attempts=2)
    wrapper = answer.wrapper()
    assert 1 <= wrapper["attempts"] <= 2
    if answer.success:
        assert fits(PERSON, answer.data)
    else:
        assert answer.error in ("schema_violation", "max_attempts_exceeded", "output_truncated")
        assert answer.data is None


async def test_what_does_not_fit_the_room_is_cut_and_never_half_an_answer() -> None:
    answer = await vancetope.query(PROMPT, PERSON, model=MODEL, model_settings={"max_tokens": 3}, max_attempts=1)
    assert (answer.error, answer.data, answer.attempts) == ("output_truncated", None, 1)
