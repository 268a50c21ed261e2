"""A name that several places give dynamically, and an ordinary reference to it."""

from __future__ import annotations

from typing import Any

import pytest

from vancetope.schema.validate import InvalidSchema, compile


def outer(name: str, inner: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An outer schema that takes anything under this name, around an inner one that wants an integer."""
    part = {"$dynamicAnchor": name, "type": "integer"}
    inside = {"$id": "inner", "properties": {"v": inner}, "$defs": {"part": part}}
    return {"$id": "https://names.example/", "$dynamicAnchor": name, "$ref": "inner", "$defs": {"i": inside}, **more}


@pytest.mark.parametrize("name", ["part", "a.b", "A-1", "_"])
def test_an_ordinary_reference_means_the_name_of_its_own_resource(name: str) -> None:
    assert not compile(outer(name, {"$ref": f"#{name}"})).fits({"v": "x"})
    assert not compile(outer(name, {"$ref": f"inner#{name}"})).fits({"v": "x"})
    assert compile(outer(name, {"$ref": f"https://names.example/#{name}"})).fits({"v": "x"})
    assert compile(outer(name, {"$dynamicRef": f"#{name}"})).fits({"v": "x"})


def test_the_schema_that_is_shown_stays_the_callers() -> None:
    schema = outer("part", {"$ref": "#part"})
    assert compile(schema).schema == schema
    assert not compile(schema).fits({"v": "x"})


def test_a_second_name_is_one_that_nobody_has() -> None:
    taken = {"b": {"$anchor": "part_", "type": "null"}, "c": {"$dynamicAnchor": "part__", "type": "null"}}
    schema = outer("part", {"$ref": "#part"})
    schema["$defs"] |= taken
    schema["properties"] = {"n": {"$ref": "#part_"}, "m": {"$ref": "#part__"}}
    validator = compile(schema)
    assert validator.fits({"v": 1, "n": None, "m": None})
    assert [validator.fits(value) for value in ({"v": "x"}, {"n": 1}, {"m": 1})] == [False] * 3


def test_what_only_looks_like_such_a_reference_stays() -> None:
    schema = outer(
        "part", {"$ref": "#part"}, properties={"c": {"const": {"$ref": "#part"}}, "$ref": {"const": "#part"}}
    )
    assert compile(schema).fits({"c": {"$ref": "#part"}, "$ref": "#part", "v": 3})


@pytest.mark.parametrize(
    "more",
    [
        {"$anchor": "other"},
        {"properties": {"z": {"$id": "z", "$anchor": "part"}}},
    ],
)
def test_names_that_cannot_be_told_apart_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema, match="several places"):
        compile(outer("part", {"$ref": "#part"}, **more))
    assert compile(outer("part", {"$dynamicRef": "#part"}, **more)).fits({"v": "x"})
