"""Completeness: where a comment cannot stand for anything, because the schema has room for nothing more."""

from __future__ import annotations

import time
from typing import Any

import pytest

from vancetope.schema.complete import is_closed_off, nothing_left_out
from vancetope.schema.tidy import Comments

HERE = Comments(here=True)
AB: dict[str, Any] = {"properties": {"a": {}, "b": {}}}
CLOSED: dict[str, Any] = {**AB, "additionalProperties": False}
OBJECT: dict[str, Any] = {**AB, "type": "object"}
FULL = {"a": 1, "b": 2}


def at(*steps: str | int) -> Comments:
    """A comment in the container at this path."""
    found = HERE
    for step in reversed(steps):
        found = Comments(below=((step, found),))
    return found


@pytest.mark.parametrize(
    "schema",
    [
        CLOSED,
        OBJECT,
        {**AB, "unevaluatedProperties": False},
        {**CLOSED, "required": ["a"], "minProperties": 1, "propertyNames": {"maxLength": 9}, "x-note": 1},
        {"$ref": "#/$defs/ab", "$defs": {"ab": AB}},
        {"$ref": "#/$defs/one", "$defs": {"one": {"$ref": "#/$defs/two"}, "two": CLOSED}},
        {"$ref": "#/$defs/ab", "properties": {"b": {}}, "$defs": {"ab": AB}},
        {"allOf": [AB]},
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        {"anyOf": [OBJECT, {"type": "null"}]},
        {"oneOf": [{"type": ["string", "array"]}, {"$ref": "#/$defs/ab"}], "$defs": {"ab": OBJECT}},
        {**CLOSED, "if": {"required": ["c"]}, "then": {"properties": {"c": {}}}},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], **CLOSED},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/x", "properties": {"c": {}}, "x": CLOSED},
    ],
)
def test_an_object_with_all_that_is_declared_and_nothing_else_is_complete(schema: dict[str, Any]) -> None:
    assert nothing_left_out(HERE, FULL, schema)
    assert not nothing_left_out(HERE, {"a": 1}, schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {}},
        {**AB, "additionalProperties": True},
        {**AB, "additionalProperties": {"type": "string"}},
        {**AB, "unevaluatedProperties": {"type": "string"}},
        {**AB, "patternProperties": {"^x": {}}},
        {**CLOSED, "patternProperties": {"^x": {}}},
        {**AB, "anyOf": [{"properties": {"c": {}}}, {}]},
        {**AB, "allOf": [{"properties": {"c": {}}}]},
        {**AB, "if": {"required": ["c"]}, "then": {"properties": {"c": {}}}},
        {**AB, "dependentSchemas": {"a": {"properties": {"c": {}}}}},
        {**AB, "not": {"required": ["c"]}},
        {"anyOf": [CLOSED, {**CLOSED, "properties": {"a": {}, "b": {}, "c": {}}}]},
        {"$ref": "#/$defs/ab", "properties": {"c": {}}, "$defs": {"ab": AB}},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "https://example.org/ab"},
        {"$ref": "#"},
        {"properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False},
    ],
)
def test_an_object_that_may_have_more_that_is_described_is_not(schema: dict[str, Any]) -> None:
    assert not nothing_left_out(HERE, FULL, schema)


def test_in_an_object_with_members_of_its_own_more_of_them_may_be_missing() -> None:
    assert not nothing_left_out(HERE, {**FULL, "c": 3}, OBJECT)


@pytest.mark.parametrize(
    ("schema", "complete"),
    [
        ({"type": "array", "minItems": 2, "maxItems": 2}, True),
        ({"type": "array", "maxItems": 2}, True),
        ({"prefixItems": [{}, {}], "items": False}, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}, {}], "additionalItems": False}, True),
        ({"type": "array", "items": {"type": "integer"}}, False),
        ({"type": "array", "maxItems": 3}, False),
        ({"prefixItems": [{}, {}]}, False),
        ({"prefixItems": [{}, {}, {}], "items": False}, False),
        ({}, False),
    ],
)
def test_a_list_is_complete_if_it_may_not_be_longer(schema: dict[str, Any], complete: bool) -> None:
    assert nothing_left_out(HERE, [1, 2], schema) == complete


@pytest.mark.parametrize(
    ("comments", "value", "schema"),
    [
        (at("x"), {"x": FULL}, {"properties": {"x": CLOSED}}),
        (at("x"), {"x": FULL}, {"additionalProperties": OBJECT}),
        (at("x", 1, "y"), {"x": [0, {"y": FULL}]}, {"properties": {"x": {"items": {"properties": {"y": AB}}}}}),
        (at(1), [FULL, FULL], {"items": {"$ref": "#/$defs/ab"}, "$defs": {"ab": AB}}),
        (at(1), [0, FULL, 2], {"prefixItems": [{}, AB], "items": {}}),
        (at(1), [0, FULL], {"prefixItems": [{}], "items": AB}),
        (at("x"), {"x": FULL}, {"properties": {"x": {}}, "allOf": [{"properties": {"x": CLOSED}}], "if": True}),
        (at("x"), {"x": FULL}, {"properties": {"x": {"$id": "x", "$ref": "#/y", "y": AB}}, "y": {}}),
    ],
)
def test_a_place_is_reached_through_properties_and_items(comments: Comments, value: Any, schema: Any) -> None:
    assert nothing_left_out(comments, value, schema)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"x": FULL}, {}),
        ({"x": FULL}, {"properties": {"y": CLOSED}}),
        ({"x": FULL}, {"properties": {"x": AB}, "patternProperties": {"x": {}}}),
        ({"x": FULL}, {"properties": {"x": AB}, "anyOf": [{"properties": {"x": {"properties": {"c": {}}}}}, {}]}),
        ({"x": FULL}, {"additionalProperties": AB, "patternProperties": {"x": {"properties": {"c": {}}}}}),
        ({"x": FULL}, {"properties": {"x": AB}, "unevaluatedProperties": {"properties": {"c": {}}}}),
    ],
)
def test_where_another_subschema_may_describe_more_nothing_is_complete(value: Any, schema: Any) -> None:
    assert not nothing_left_out(at("x"), value, schema)


def test_one_doubtful_comment_is_enough() -> None:
    schema = {"properties": {"x": CLOSED, "y": {"type": "array"}}}
    value: dict[str, Any] = {"x": FULL, "y": []}
    assert nothing_left_out(Comments(True, (("x", HERE),)), value, schema)
    assert not nothing_left_out(Comments(True, (("x", HERE), ("y", HERE))), value, schema)
    assert nothing_left_out(Comments(), value, schema)


def test_references_in_a_circle_come_to_an_end() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}
    start = time.perf_counter()
    assert not nothing_left_out(HERE, FULL, schema)
    assert time.perf_counter() - start < 1


def test_only_a_schema_that_forbids_others_closes_an_object_off() -> None:
    assert is_closed_off(FULL, CLOSED)
    assert is_closed_off(FULL, {"$ref": "#/$defs/ab", "$defs": {"ab": CLOSED}})
    assert is_closed_off(FULL, {"anyOf": [{**CLOSED, "type": "object"}, {"type": "null"}]})
    assert not is_closed_off(FULL, AB)
    assert not is_closed_off({"a": 1}, CLOSED)
    assert not is_closed_off(FULL, {**CLOSED, "patternProperties": {"^x": {}}})
