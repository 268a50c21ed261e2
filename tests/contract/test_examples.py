from __future__ import annotations

import json
from typing import Any

import pytest

from vancetope.contract.examples import action, conversation, described, example
from vancetope.messages import Assistant, ToolSpec, User
from vancetope.schema.validate import compile as compiled
from vancetope.tools.clock import SPEC as CLOCK
from vancetope.tools.functions import as_tools
from vancetope.tools.respond import answer_spec, respond_spec


def get_time(city: str) -> str:
    """Current local time in a city."""
    return ""


def get_weather(city: str, days: int) -> str:
    """Weather forecast for a city.

    Args:
        days: how far to look
    """
    return ""


def lookup(order_id: int) -> str:
    """Look up an order by its number."""
    return ""


def nothing() -> str:
    return ""


SPECS = {each.name: each.spec for each in as_tools([get_time, get_weather, lookup, nothing])}
ALL = (*SPECS.values(), CLOCK)


def tool(**properties: Any) -> ToolSpec:
    return ToolSpec("tool", "Do it.", {"type": "object", "properties": properties, "required": list(properties)})


def actions_of(turns: tuple[User | Assistant, ...]) -> list[dict[str, Any]]:
    return [json.loads(each.text) for each in turns if isinstance(each, Assistant)]


@pytest.mark.parametrize("spec", ALL, ids=lambda each: each.name)
@pytest.mark.parametrize("number", range(4))
def test_an_example_fits_its_tool(spec: ToolSpec, number: int) -> None:
    assert compiled(spec.parameters).problems(example(spec, number)) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["x", "y"]},
        {"const": 5},
        {"type": "integer", "minimum": 100, "maximum": 110},
        {"type": "string", "maxLength": 3},
        {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
        {"anyOf": [{"type": "number"}, {"type": "null"}]},
        {"type": "string", "examples": ["one", "two"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("number", range(4))
def test_an_example_fits_the_usual_kinds_of_schema(schema: dict[str, Any], number: int) -> None:
    spec = tool(x=schema)
    assert compiled(spec.parameters).problems(example(spec, number)) == ()


def test_a_schema_s_own_examples_come_first() -> None:
    spec = tool(x={"type": "string", "examples": ["Oslo", "Lima"]})
    assert [example(spec, number)["x"] for number in range(3)] == ["Oslo", "Lima", "Oslo"]


def test_a_schema_that_contains_itself_has_an_example() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    spec = ToolSpec("tool", "", {**tool(x=node).parameters, "$defs": {"node": node}})
    assert "next" in example(spec)["x"]


def test_a_tool_without_required_arguments_is_shown_with_its_first_one() -> None:
    assert list(example(CLOCK)) == ["timezone"]
    assert example(SPECS["nothing"]) == {}


def test_the_description_names_every_tool_parameter_and_the_form() -> None:
    text = described((SPECS["get_weather"], CLOCK, respond_spec("primary")))
    assert f"\n{text}".count("\n- ") == 3
    assert "- days (integer): how far to look" in text
    assert "- timezone (string or null, may be left out): an IANA time zone" in text
    assert '{"tool":"respond","arguments":{"message":' in text
    assert described((answer_spec(),)).count("answer") == 2


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "array", "items": {"type": "string"}}, "list of string"),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, "list of integer or null"),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "string"),
        ({"properties": {"a": {}}}, "object"),
        ({"items": True, "type": "array"}, "list of value"),
        ({"enum": ["a", 1]}, '"a" | 1'),
        ({}, "value"),
        (True, "value"),
    ],
)
def test_what_a_parameter_takes_is_told_in_a_few_words(schema: Any, kind: str) -> None:
    assert f"  - x ({kind})" in described((tool(x=schema),))


@pytest.mark.parametrize("count", range(len(ALL) + 1))
@pytest.mark.parametrize("end", ["respond", "answer"])
def test_the_conversation_takes_turns_and_uses_every_tool(count: int, end: str) -> None:
    turns = conversation(ALL[:count], end)
    assert [type(each) for each in turns] == [User, Assistant] * (len(turns) // 2)
    used = [each["tool"] for each in actions_of(turns)]
    assert set(used) == {end, *(each.name for each in ALL[:count])}
    assert used[-1] == end


def test_the_conversation_s_actions_fit_and_its_answers_repeat_the_results() -> None:
    turns = conversation(ALL, "respond")
    for asked, said in zip(turns[::2], turns[1::2], strict=True):
        assert isinstance(asked, User)
        assert isinstance(said, Assistant)
        step = json.loads(said.text)
        if step["tool"] != "respond":
            spec = next(each for each in ALL if each.name == step["tool"])
            assert compiled(spec.parameters).problems(step["arguments"]) == ()
        elif str(asked.content).startswith("Result of"):
            assert str(asked.content).endswith(f"\n{step['arguments']['message']}")


@pytest.mark.parametrize(("count", "uses"), [(1, [3]), (2, [2, 2]), (3, [2, 1, 1]), (5, [2, 1, 1, 1, 1])])
def test_few_tools_are_asked_for_in_several_languages(count: int, uses: list[int]) -> None:
    used = [each["tool"] for each in actions_of(conversation(ALL[:count], "respond"))]
    assert [used.count(each.name) for each in ALL[:count]] == uses


def test_an_action_is_compact_and_keeps_its_letters() -> None:
    assert action("get_time", {"city": "Zürich", "n": 1}) == '{"tool":"get_time","arguments":{"city":"Zürich","n":1}}'
