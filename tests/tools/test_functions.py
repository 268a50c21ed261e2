"""A plain typed function is a tool: schema from the signature, description from the docstring."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import functools
import threading
from collections.abc import Awaitable, Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from tests.tools.running import answer, context
from vancetope.errors import ConfigError
from vancetope.messages import ToolSpec
from vancetope.schema.validate import compile
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.functions import RESERVED, as_tools, tool
from vancetope.tools.signatures import WrongArguments


class Place(BaseModel):
    title: str = "home"
    floor: int


@dataclasses.dataclass
class Guest:
    name: str
    age: int = 18


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


def book(
    place: Place,
    guest: Guest,
    when: datetime.date,
    context: ToolContext,
    size: Size = Size.SMALL,
    table: Annotated[int, Field(ge=1, description="given here")] = 3,
    note: str | None = None,
    tries: int = Field(4, ge=2),
    tags: list[str] = [],  # noqa: B006  (what is shown to the model)
    *,
    schema: Literal["a", "b"] = "a",
) -> str:
    """Book a table.

    Args:
        when: the day
        table: not this
    """
    return repr((place, guest, when, context.call_id, size, table, note, tries, tags, schema))


def test_the_schema_says_what_the_signature_says() -> None:
    spec = tool(book).spec
    assert spec.name == "book"
    assert spec.description == "Book a table."
    parameters = spec.parameters
    assert parameters["required"] == ["place", "guest", "when"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"] == {
        "place": {"$ref": "#/$defs/Place"},
        "guest": {"$ref": "#/$defs/Guest"},
        "when": {"type": "string", "format": "date", "description": "the day"},
        "size": {"$ref": "#/$defs/Size", "default": "small"},
        "table": {"type": "integer", "minimum": 1, "description": "given here", "default": 3},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "tries": {"type": "integer", "minimum": 2, "default": 4},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "schema": {"type": "string", "enum": ["a", "b"], "default": "a"},
    }
    assert parameters["$defs"]["Place"]["properties"]["title"] == {"type": "string", "default": "home"}
    compile(parameters)


async def test_arguments_arrive_as_the_functions_own_types() -> None:
    given: dict[str, Any] = {"place": {"floor": 2}, "guest": {"name": "Ann"}, "when": "2025-02-03", "size": "large"}
    assert compile(tool(book).spec.parameters).fits(given)
    assert await answer(tool(book), **given) == repr(
        (
            Place(floor=2),
            Guest("Ann"),
            datetime.date(2025, 2, 3),
            "c1",
            Size.LARGE,
            3,
            None,
            4,
            [],
            "a",
        )
    )


async def test_what_the_types_refuse_is_told_with_its_place() -> None:
    with pytest.raises(WrongArguments) as raised:
        await answer(tool(book), place={"floor": 2}, guest={"name": "Ann"}, when="2025-02-31")
    assert str(raised.value).startswith("/when: ")
    assert "pydantic" not in str(raised.value)


def no_type(x) -> None: ...  # type: ignore[no-untyped-def]
def starred(*x: int) -> None: ...
def keywords(**x: int) -> None: ...
def positional(x: int, /) -> None: ...
def undefined(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def unsayable(good: int, x: threading.Event) -> None: ...


@pytest.mark.parametrize("fn", [no_type, starred, keywords, positional, unsayable])
def test_a_parameter_that_no_schema_can_say_is_named(fn: Any) -> None:
    with pytest.raises(ConfigError, match=rf"tool '{fn.__name__}': the parameter 'x'"):
        tool(fn)


def test_a_type_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigError, match="tool 'undefined': the type 'Nowhere'"):
        tool(undefined)


def yields() -> Iterator[int]:
    yield 1


class Caller:
    """Call somebody."""

    def __call__(self, number: int) -> int:
        return number

    def twice(self, number: int) -> int:
        """Call twice."""
        return 2 * number

    async def later(self, number: int) -> int:
        return 3 * number


@pytest.mark.parametrize("fn", [lambda x: x, Caller(), Caller, int, yields, print, functools.partial(lambda: 1)])
def test_what_is_no_named_function_is_refused(fn: Any) -> None:
    with pytest.raises(ConfigError):
        tool(fn)


async def test_callable_objects_and_bound_methods_are_tools() -> None:
    made = tool(Caller(), name="call")
    assert (made.spec.description, await answer(made, number=1)) == ("Call somebody.", "1")
    assert (tool(Caller().twice).name, await answer(tool(Caller().twice), number=1)) == ("twice", "2")
    assert await answer(tool(Caller().later), number=1) == "3"
    with pytest.raises(ConfigError, match="'self'"):
        tool(Caller.twice)


async def test_what_a_partial_fixed_is_hidden_from_the_model() -> None:
    def fetch(key: str, page: int = 1) -> str:
        """Fetch a page."""
        return f"{key} {page}"

    for fixed in (functools.partial(fetch, "secret"), functools.partial(fetch, key="secret")):
        made = tool(fixed)
        assert made.spec == ToolSpec(
            "fetch",
            "Fetch a page.",
            {
                "type": "object",
                "properties": {"page": {"type": "integer", "default": 1}},
                "additionalProperties": False,
            },
        )
        assert await answer(made, page=2) == "secret 2"


def test_types_that_only_the_calling_function_knows_are_found() -> None:
    class Local(BaseModel):
        x: int

    def uses(local: Local, many: list[Local]) -> None: ...

    assert set(tool(uses).spec.parameters["properties"]) == {"local", "many"}


def test_the_decorator_takes_the_tools_settings() -> None:
    @tool(name="other-name", description="As said.", alone=True, poll=True, timeout=2.5)
    def plain() -> str:
        """Not this."""
        return ""

    assert isinstance(plain, Tool)
    assert plain.spec.name == "other-name"
    assert plain.spec.description == "As said."
    assert (plain.alone, plain.poll, plain.timeout) == (True, True, 2.5)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_is_no_time_is_refused(timeout: float) -> None:
    with pytest.raises(ConfigError, match="timeout"):
        tool(book, timeout=timeout)


def test_without_a_docstring_the_name_describes() -> None:
    def get_the_time() -> str:
        return ""

    assert tool(get_the_time).spec.description == "get the time"


@pytest.mark.parametrize("name", ["", "1st", "with space", "näme", "a" * 65, "a.b", "-a", "a\n"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="tool name"):
        as_tools([dataclasses.replace(tool(book), spec=ToolSpec(name, "", {}))])


def test_a_plain_function_is_made_into_a_tool_once() -> None:
    (one,) = as_tools([book])
    (two,) = as_tools([book])
    assert one is two


def test_tools_and_functions_become_tools_in_order() -> None:
    made = tool(Caller().twice)
    assert [each.name for each in as_tools([book, made])] == ["book", "twice"]
    assert as_tools([]) == ()


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="'book'"):
        as_tools([book, tool(Caller().twice, name="book")])


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_the_runtimes_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="belongs to the runtime"):
        as_tools([tool(book, name=name)])


@pytest.mark.parametrize(
    "parameters", [{"type": "array"}, {"type": "objekt"}, {"properties": {"a": 1}}, {"$ref": "#/x"}]
)
def test_a_tool_whose_parameters_are_no_schema_of_an_object_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="tool 'odd'"):
        as_tools([dataclasses.replace(tool(book), spec=ToolSpec("odd", "", parameters))])


def test_what_cannot_be_called_is_no_tool() -> None:
    with pytest.raises(ConfigError, match="not str"):
        as_tools(["book"])  # type: ignore[list-item]


async def test_a_plain_def_runs_in_a_thread_and_an_async_def_in_the_loop() -> None:
    def here() -> str:
        return threading.current_thread().name

    async def there() -> str:
        return threading.current_thread().name

    assert await answer(tool(here)) == "vancetope-tool"
    assert await answer(tool(there)) == threading.main_thread().name


async def test_a_def_that_gives_an_awaitable_is_awaited_in_the_loop() -> None:
    def wrapped() -> Awaitable[str]:
        async def inner() -> str:
            await asyncio.sleep(0)
            return threading.current_thread().name

        return inner()

    assert await answer(tool(wrapped)) == threading.main_thread().name


async def test_the_context_is_filled_and_hidden_wherever_it_stands() -> None:
    def first(context: ToolContext, x: int) -> str:
        return f"{context.deps} {x}"

    def perhaps(x: int, context: ToolContext | None = None) -> str:
        assert context
        return f"{context.session} {x}"

    assert list(tool(first).spec.parameters["properties"]) == ["x"]
    assert await tool(first).run({"x": 1}, context(deps="deps")) == "deps 1"
    assert await tool(perhaps).run({"x": 1}, context()) == "session 1"


async def test_names_that_a_model_class_may_not_have_are_parameters() -> None:
    def odd(_x: int, copy: int, model_config: int, json: int = 5) -> str:
        return f"{_x}{copy}{model_config}{json}"

    assert await answer(tool(odd), _x=1, copy=2, model_config=3) == "1235"
