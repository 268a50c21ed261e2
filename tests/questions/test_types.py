"""Pydantic models and other types as the schema of a question: `data` is an instance of what was asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, assert_type
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator, model_validator
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

import vancetope as vt
from tests.harness import TOOLS
from tests.questions.asking import ALL, FITS, OSLO, PROMPT, keeps_promises, known, play, put
from vancetope.backends.faults import SCENARIOS
from vancetope.backends.scripted import Answer, call, say
from vancetope.errors import ConfigError
from vancetope.outcome import EnforcementName


class City(BaseModel):
    city: str
    people: int = Field(ge=1)


def text(**fields: Any) -> str:
    return json.dumps(fields)


@ALL
async def test_data_is_an_instance_and_the_wrapper_holds_the_object(enforcement: EnforcementName) -> None:
    made = await put([FITS], enforcement, schema=City)
    assert made.answer.data == City.model_validate(OSLO)
    assert made.wrapper == {"success": True, "attempts": 1, "data": OSLO}
    assert made.answer.unwrap().people == OSLO["people"]


@ALL
async def test_the_schema_of_a_model_is_in_the_prompt_and_in_the_response_format(enforcement: EnforcementName) -> None:
    made = await put(SCENARIOS["answer"], enforcement, schema=City)
    assert made.answer.data == City(city="Paris", people=1)
    assert '"minimum": 1' in made.asked[0].messages[0]["content"]
    if enforcement != "prompted":
        assert set((made.asked[0].schema or {})["properties"]) == {"city", "people"}


# Validators are part of the judge.


class Even(BaseModel):
    """A number that is even, as only Python knows."""

    number: int
    word: str = "none"

    @field_validator("number")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError(f"{value} is odd, and only even numbers are wanted")
        return value

    @model_validator(mode="after")
    def _not_both(self) -> Even:
        if self.number == 4 and self.word == "four":
            raise ValueError("say it with the number or with the word, not with both")
        return self


@ALL
async def test_what_a_validator_says_reaches_the_model_and_the_caller(enforcement: EnforcementName) -> None:
    made = await put([text(number=3), text(number=4, word="four"), text(number=6)], enforcement, schema=Even)
    assert made.answer.data == Even(number=6)
    assert made.answer.attempts == 3
    assert "/number" in made.corrections[0]
    assert "3 is odd, and only even numbers are wanted" in made.corrections[0]
    assert "not with both" in made.corrections[1]
    assert "only even numbers are wanted" in made.said(1)[-1]
    made = await put([text(number=number) for number in (1, 3, 5)], enforcement, schema=Even)
    assert (made.answer.error, made.answer.last_invalid) == ("schema_violation", {"number": 5})
    assert "5 is odd" in made.answer.message


async def test_many_errors_of_validators_are_told_in_few_words() -> None:
    class Numbers(BaseModel):
        numbers: list[Even]

    wrong = json.dumps({"numbers": [{"number": number} for number in range(1, 101, 2)]})
    made = await play([wrong, '{"numbers": []}'], schema=Numbers)
    assert made.answer.success
    assert made.corrections[0].count("/numbers/") == 8
    assert len(made.corrections[0]) <= 1_900


async def test_a_validator_that_talks_for_ever_is_cut() -> None:
    class Talker(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def _never(cls, value: int) -> int:
            raise ValueError("no " * 10_000)

    made = await play([text(number=number) for number in range(3)], schema=Talker)
    assert made.answer.error == "schema_violation"
    assert all(len(each) <= 1_900 for each in made.corrections)
    assert len(made.answer.message) <= 1_900


async def test_a_validator_that_breaks_is_an_internal_error_with_its_cause() -> None:
    class Broken(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def _breaks(cls, value: int) -> int:
            raise LookupError("there is no such table")

    made = await play([text(number=1)], schema=Broken)
    assert (made.answer.error, made.answer.attempts) == ("internal_error", 1)
    assert "LookupError" in made.answer.message
    assert "Broken" in made.answer.message
    assert isinstance(made.answer.cause, ConfigError), "its author has to mend it, not we"
    assert isinstance(made.answer.cause.__cause__, LookupError)


async def test_an_early_text_is_taken_only_if_the_validators_agree() -> None:
    script: list[Answer] = [call("get_time", city="Paris"), say(text(number=3)), text(number=8)]
    made = await play(script, schema=Even, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (Even(number=8), 1, 3)


# Kinds of fields.


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Visit(BaseModel):
    model_config = ConfigDict(populate_by_name=False)

    user_id: int = Field(alias="userId")
    day: date
    at: datetime | None = None
    price: Decimal = Decimal(0)
    key: UUID | None = None
    colour: Colour = Colour.RED
    tags: set[str] = set()


VISIT = {
    "userId": 7,
    "day": "2026-03-01",
    "at": "2026-03-01T10:00:00Z",
    "price": "1.50",
    "colour": "blue",
    "tags": ["a"],
}


@ALL
async def test_aliases_dates_and_numbers_become_what_the_model_declares(enforcement: EnforcementName) -> None:
    made = await put([json.dumps(VISIT)], enforcement, schema=Visit)
    data = made.answer.data
    assert isinstance(data, Visit)
    assert (data.user_id, data.day, data.price, data.colour) == (7, date(2026, 3, 1), Decimal("1.50"), Colour.BLUE)
    assert made.wrapper["data"] == VISIT, "the wrapper holds what the model gave, under its aliases"


@ALL
async def test_a_date_that_is_none_and_a_name_without_its_alias_are_corrected(enforcement: EnforcementName) -> None:
    script = [text(user_id=7, day="2026-03-01"), text(userId=7, day="soon"), text(userId=7, day="2026-03-01")]
    made = await put(script, enforcement, schema=Visit)
    assert made.answer.attempts == 3
    assert "/userId" in made.corrections[0]
    assert "/day" in made.corrections[1]
    assert made.answer.unwrap().user_id == 7


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Owner(BaseModel):
    name: str
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]]
    best: Cat | Dog | None = None


@ALL
async def test_nested_models_and_discriminated_unions(enforcement: EnforcementName) -> None:
    wrong = {"name": "Ada", "pets": [{"kind": "cat", "name": "Tom"}]}
    right = {"name": "Ada", "pets": [{"kind": "cat", "lives": 9}, {"kind": "dog", "name": "Rex"}]}
    made = await put([json.dumps(wrong), json.dumps(right)], enforcement, schema=Owner)
    assert made.answer.data == Owner(name="Ada", pets=[Cat(kind="cat", lives=9), Dog(kind="dog", name="Rex")])
    assert "/pets/0" in made.corrections[0]
    assert "lives" in made.corrections[0]
    assert made.wrapper["data"] == right


class Node(BaseModel):
    value: int
    below: list[Node] = []


@ALL
async def test_a_model_that_holds_itself(enforcement: EnforcementName) -> None:
    tree = {"value": 1, "below": [{"value": 2, "below": [{"value": 3}]}]}
    made = await put([json.dumps(tree)], enforcement, schema=Node)
    assert made.answer.data == Node.model_validate(tree)


class Either(RootModel[Cat | Dog]):
    pass


@ALL
async def test_a_root_that_is_a_union_of_objects(enforcement: EnforcementName) -> None:
    made = await put([text(kind="cat"), text(kind="cat", lives=9)], enforcement, schema=Either)
    assert made.answer.data == Either(Cat(kind="cat", lives=9))
    assert made.answer.attempts == 2


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


@ALL
async def test_dataclasses_and_typed_dicts_work_too(enforcement: EnforcementName) -> None:
    made = await put([text(x=1)], enforcement, schema=Point)
    assert made.answer.data == Point(1, 0)
    assert made.wrapper["data"] == {"x": 1}
    made = await put([text(name="Ada")], enforcement, schema=Named)
    assert made.answer.data == {"name": "Ada"}


@ALL
async def test_an_optional_field_may_be_left_out_or_null(enforcement: EnforcementName) -> None:
    class Note(BaseModel):
        title: str
        body: str | None = None
        stars: int = 3

    for given, stars in (
        (text(title="a"), 3),
        (text(title="a", body=None, stars=4), 4),
        (text(title="a", body="b", stars=5), 5),
    ):
        made = await put([given], enforcement, schema=Note)
        assert made.answer.unwrap().stars == stars
        assert made.answer.attempts == 1


async def test_no_value_is_coerced_where_the_schema_knows_better() -> None:
    class Flags(BaseModel):
        on: bool
        count: int

    made = await play([text(on="true", count=1), text(on=True, count="2"), text(on=True, count=2)], schema=Flags)
    assert made.answer.attempts == 3
    assert made.answer.data == Flags(on=True, count=2)


async def test_strict_models_take_what_json_has() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        day: date
        tags: tuple[str, ...]

    made = await play([text(day="2026-03-01", tags=["a"])], schema=Strict)
    assert made.answer.data == Strict(day=date(2026, 3, 1), tags=("a",))


async def test_a_number_beyond_a_float_and_a_very_long_one_survive() -> None:
    class Big(BaseModel):
        number: int

    made = await play([f'{{"number": {10**300}}}'], schema=Big)
    assert made.answer.data == Big(number=10**300)
    assert json.loads(json.dumps(made.wrapper)) == made.wrapper


# What cannot be a schema.


class Unhandled:
    """A class that pydantic knows nothing of."""


class WithFunction(BaseModel):
    function: Callable[[int], int]


class WithHole(BaseModel):
    hole: "Nowhere"  # type: ignore[name-defined] # noqa: F821, UP037


@pytest.mark.parametrize("kind", [Unhandled, WithFunction, WithHole])
async def test_a_type_that_cannot_be_a_schema_is_an_invalid_schema_that_names_it(kind: type[Any]) -> None:
    answer = await vt.query(PROMPT, kind, model=known([]))
    assert (answer.error, answer.attempts, answer.model_calls) == ("invalid_schema", 0, 0)
    assert kind.__name__ in answer.message
    assert "\n" not in answer.message


@pytest.mark.parametrize("kind", [int, str, bool, Colour, date])
async def test_a_type_that_is_no_object_is_an_invalid_schema(kind: type[Any]) -> None:
    answer = await vt.query(PROMPT, kind, model=known([]))
    assert (answer.error, answer.attempts) == ("invalid_schema", 0)
    assert "object" in answer.message


@pytest.mark.parametrize("schema", [None, "City", 7, ["type"], list[int], Cat | Dog])
async def test_what_is_no_type_and_no_mapping_is_invalid_params(schema: Any) -> None:
    answer = await vt.query(PROMPT, schema, model=known([]))
    assert (answer.error, answer.attempts) == ("invalid_params", 0)
    assert "schema" in answer.message


# The answer's own types.


async def test_the_answer_is_typed_by_its_schema() -> None:
    typed = await vt.query(PROMPT, City, model=known([FITS]))
    assert_type(typed, vt.Answer[City])
    assert_type(typed.unwrap(), City)
    plain = await vt.query(PROMPT, {"type": "object"}, model=known([FITS]))
    assert_type(plain, vt.Answer[dict[str, Any]])
    assert plain.unwrap() == OSLO


def test_blocking_is_typed_and_works_in_a_script_and_in_a_running_loop() -> None:
    answer = vt.query_blocking(PROMPT, City, model=known([FITS]))
    assert_type(answer, vt.Answer[City])
    assert answer.data == City.model_validate(OSLO)

    async def notebook() -> vt.Answer[City]:
        return vt.query_blocking(PROMPT, City, model=known([FITS]))

    assert asyncio.run(notebook()).data == answer.data


async def test_a_model_keeps_its_promises_too() -> None:
    made = await play([text(city="Oslo"), FITS], schema=City)
    keeps_promises(made, City)
    assert repr(made.answer).startswith("<Answer city='Oslo'")
