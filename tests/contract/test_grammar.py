from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.contract.grammar import LIST_BOUND, action_schema, bounded
from vancetope.messages import ToolSpec
from vancetope.schema.validate import compile as compiled
from vancetope.tools.respond import respond_spec


def spec(name: str = "tool", **parameters: Any) -> ToolSpec:
    return ToolSpec(name, "Do it.", {"type": "object", **parameters})


def schema_of(*specs: ToolSpec, bound: int = 50) -> dict[str, Any]:
    return action_schema([(each, bound) for each in specs])


def arguments_of(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["properties"]["arguments"]
    return found


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema. Names of properties are no keywords."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "$defs", "patternProperties"):
        for each in schema.get(key, {}).values():
            yield from subschemas(each)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for each in schema.get(key, ()):
            yield from subschemas(each)
    for key in ("items", "additionalProperties"):
        yield from subschemas(schema.get(key))


NODE = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
    "required": ["text"],
}
SCHEMAS = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": ["string", "null"]}, {"type": "integer"}, {"enum": ["a", "b"]}]),
    lambda inner: st.one_of(
        st.builds(lambda each: {"type": "array", "items": each}, inner),
        st.builds(lambda each: {"type": "object", "properties": {"type": each, "items": each}}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda each: {"type": "object", "additionalProperties": each}, inner),
    ),
    max_leaves=8,
)


@given(parameter=SCHEMAS)
def test_every_string_and_list_is_bounded(parameter: dict[str, Any]) -> None:
    schema = schema_of(spec(properties={"value": parameter}), respond_spec("primary"), bound=9)
    for each in subschemas(schema):
        kinds = each.get("type", ())
        if "string" in ((kinds,) if isinstance(kinds, str) else kinds):
            assert each["maxLength"] <= 9
        if kinds == "array":
            assert each["maxItems"] <= LIST_BOUND


def test_a_bound_of_the_tool_that_is_narrower_stays() -> None:
    out = bounded({"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 3, "minLength": 1}}, 9)
    assert out == {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 3, "minLength": 1}}


def test_enum_and_const_stay_as_they_are() -> None:
    words = {"type": "string", "enum": ["a word that is much longer than the bound"]}
    assert bounded(words, 9) == words
    assert bounded({"type": "string", "const": "another long word"}, 9) == {
        "type": "string",
        "const": "another long word",
    }


def test_a_property_may_be_named_like_a_keyword() -> None:
    fields = {"default": {"type": "string"}, "title": {"type": "string"}, "$ref": {"type": "string"}}
    out = bounded({"type": "object", "properties": fields}, 9)
    assert out["properties"] == {name: {"type": "string", "maxLength": 9} for name in fields}


def test_definitions_of_two_tools_do_not_mix() -> None:
    one = spec("one", properties={"x": {"$ref": "#/$defs/kind"}}, **{"$defs": {"kind": {"type": "string"}}})
    two = spec("two", properties={"x": {"$ref": "#/definitions/kind"}}, definitions={"kind": {"type": "integer"}})
    schema = schema_of(one, two)
    assert schema["$defs"] == {"one.kind": {"type": "string", "maxLength": 50}, "two.kind": {"type": "integer"}}
    first, second = map(arguments_of, schema["anyOf"])
    assert (first["properties"]["x"], second["properties"]["x"]) == (
        {"$ref": "#/$defs/one.kind"},
        {"$ref": "#/$defs/two.kind"},
    )
    assert "$defs" not in first
    assert "definitions" not in second
    check = compiled(schema)
    assert check.problems({"tool": "one", "arguments": {"x": "a"}}) == ()
    assert check.problems({"tool": "two", "arguments": {"x": "a"}})


def test_a_schema_may_contain_itself() -> None:
    tree = spec("tree", properties={"root": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": NODE}})
    check = compiled(schema_of(tree, bound=3))
    deep = {"text": "a", "next": {"text": "b", "next": {"text": "c"}}}
    assert check.problems({"tool": "tree", "arguments": {"root": deep}}) == ()
    deep["next"]["next"]["text"] = "long"  # type: ignore[index]
    assert check.problems({"tool": "tree", "arguments": {"root": deep}})


@pytest.mark.parametrize("name", ["get-time", "a.b/c~d", 'say "hi"', "heure_été", "工具"])
def test_a_tool_may_have_any_name(name: str) -> None:
    odd = spec(name, properties={"x": {"$ref": "#/$defs/kind"}}, **{"$defs": {"kind": {"type": "string"}}})
    schema = schema_of(odd, bound=3)
    assert schema["properties"]["tool"] == {"const": name}
    assert list(schema["$defs"]) == [f"{name}.kind"]


def test_a_single_action_needs_no_choice() -> None:
    schema = schema_of(respond_spec("worker"))
    assert "anyOf" not in schema
    assert list(schema["properties"]) == ["tool", "arguments"]


def test_arguments_are_closed_unless_the_tool_opens_them() -> None:
    assert arguments_of(schema_of(spec()))["additionalProperties"] is False
    assert arguments_of(schema_of(spec(additionalProperties=True)))["additionalProperties"] is True


def test_a_thought_comes_first_and_is_bounded() -> None:
    schema = action_schema([(spec(), 50)], thought=80)
    assert list(schema["properties"]) == ["thought", "tool", "arguments"] == schema["required"]
    assert schema["properties"]["thought"] == {"type": "string", "maxLength": 80}


def test_only_a_compact_grammar_speaks_to_its_engine() -> None:
    assert action_schema([(spec(), 50)], compact=True)["x-guidance"] == {"whitespace_flexible": False}
    assert "x-guidance" not in action_schema([(spec(), 50)])


def test_the_tool_s_own_schema_is_not_changed() -> None:
    parameters = {"type": "object", "properties": {"x": {"type": "string"}}, "$defs": {"y": {"type": "string"}}}
    schema_of(ToolSpec("tool", "", parameters))
    assert parameters == {
        "type": "object",
        "properties": {"x": {"type": "string"}},
        "$defs": {"y": {"type": "string"}},
    }


def test_a_bound_gives_way_to_what_the_schema_wants_at_least() -> None:
    assert bounded({"type": "string", "minLength": 80}, 50)["maxLength"] == 80
    assert bounded({"type": "array", "minItems": LIST_BOUND + 8}, 50)["maxItems"] == LIST_BOUND + 8
    assert bounded({"type": "array", "allOf": [{"minContains": 40, "contains": {}}]}, 50)["maxItems"] == 40
    assert bounded({"type": "string", "minLength": 2, "maxLength": 9}, 50)["maxLength"] == 9
