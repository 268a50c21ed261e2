"""A caller's schema for each provider: what it becomes, what is said in words, and how values come back."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.schema.rewrite_rules import broken
from tests.schema.rewrite_shaping import kept
from tests.schema.suite import GROUPS
from vancetope.schema.profiles import PROFILES
from vancetope.schema.rewrite import Rewritten, Unsuited, rewrite
from vancetope.schema.validate import compile


def obj(required: str = "", /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def written(schema: dict[str, Any], profile: str = "openai") -> Rewritten:
    found = rewrite(schema, profile)
    assert isinstance(found, Rewritten), found
    assert broken(profile, found.schema) == ""
    compile(found.schema)
    return found


def one(schema: Any, profile: str = "openai", **definitions: Any) -> Any:
    """What becomes of a required property with this schema."""
    return written({**obj("v", v=schema), "$defs": definitions}, profile).schema["properties"]["v"]


def refused(schema: dict[str, Any], profile: str = "openai") -> str:
    found = rewrite(schema, profile)
    assert isinstance(found, Unsuited), found
    assert found.sentence
    return found.reason


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


# What can be left out, and how it comes back.


def test_where_all_must_be_required_null_stands_for_left_out() -> None:
    found = written(obj("a", a=TEXT, b=TEXT))
    assert found.schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert found.restored({"a": "x", "b": None}) == {"a": "x"}
    assert found.restored({"a": "x", "b": "y"}) == {"a": "x", "b": "y"}


def test_elsewhere_what_is_optional_stays_so() -> None:
    assert written(obj("a", a=TEXT, b=TEXT), "llguidance").schema == obj("a", a=TEXT, b=TEXT)


@pytest.mark.parametrize(
    ("schema", "nullable"),
    [
        ({"enum": ["x", "y"]}, {"anyOf": [{"type": "string", "enum": ["x", "y"]}, {"type": "null"}]}),
        ({"const": 7}, {"anyOf": [{"type": "integer", "enum": [7]}, {"type": "null"}]}),
        ({"type": ["string", "integer"]}, {"anyOf": [TEXT, NUMBER, {"type": "null"}]}),
        ({"type": "string", "pattern": "^a$"}, {"type": ["string", "null"], "pattern": "^a$"}),
        (obj("n", n=NUMBER), {"anyOf": [obj("n", n=NUMBER), {"type": "null"}]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
    ],
)
def test_every_kind_of_property_can_be_made_nullable(schema: Any, nullable: Any) -> None:
    found = written(obj(v=schema)).schema["properties"]["v"]
    assert found == nullable or found == {"type": ["string", "integer", "null"]}


def test_a_null_that_the_caller_allows_stays() -> None:
    found = written(obj("a", a=TEXT, b={"type": ["string", "null"]}))
    assert found.restored({"a": "x", "b": None}) == {"a": "x", "b": None}


def test_a_null_that_a_definition_allows_stays() -> None:
    schema = obj(b={"$ref": "#/$defs/maybe"}) | {"$defs": {"maybe": {"anyOf": [obj("n", n=TEXT), {"type": "null"}]}}}
    assert written(schema).restored({"b": None}) == {"b": None}


def test_a_null_that_breaks_another_rule_goes() -> None:
    schema = obj(a={"type": ["string", "null"]}, b=TEXT) | {"dependentRequired": {"a": ["b"]}}
    assert written(schema).restored({"a": None, "b": None}) == {}
    assert written(schema).restored({"a": None, "b": "x"}) == {"a": None, "b": "x"}


def test_of_a_union_the_option_that_leads_to_a_fitting_value_counts() -> None:
    left = obj("a", a=TEXT, b=TEXT)
    right = obj("a b", a=TEXT, b={"type": ["integer", "null"]})
    schema = obj("v", v={"oneOf": [left, right]})
    assert written(schema).restored({"v": {"a": "x", "b": None}}) == {"v": {"a": "x"}}
    schema = obj("v", v={"anyOf": [left | {"minProperties": 2}, right]})
    assert written(schema).restored({"v": {"a": "x", "b": None}}) == {"v": {"a": "x", "b": None}}


def test_options_that_look_alike_are_told_apart_by_what_null_means() -> None:
    left = obj("a", a=TEXT, b=TEXT) | {"if": {"required": ["a"]}, "then": {"required": ["b"]}}
    right = obj("a b", a=TEXT, b={"type": ["string", "null"]})
    schema = obj("v", v={"anyOf": [left, right]}, c=TEXT)
    options = written(schema).schema["properties"]["v"]["anyOf"]
    assert options[0] == options[1]
    assert written(schema).restored({"v": {"a": "x", "b": None}, "c": None}) == {"v": {"a": "x", "b": None}}


def test_nulls_come_out_of_what_two_options_share() -> None:
    address = obj("street", street=TEXT, city=TEXT, zip=TEXT, country=TEXT, region=TEXT, box=TEXT)
    kinds = [{"properties": {"kind": {"const": kind}, kind: NUMBER}, "required": [kind]} for kind in ("x", "y")]
    schema = obj("v", v={"type": "object", "properties": {"kind": TEXT, "at": address}, "oneOf": kinds})
    found = written(schema)
    assert [*found.schema["$defs"]] == ["at"]
    empty = dict.fromkeys(["city", "zip", "country", "region", "box"])
    for kind in ("x", "y"):
        value = {"v": {"kind": kind, kind: 1, "at": {"street": "s", **empty}}}
        assert found.restored(value) == {"v": {"kind": kind, kind: 1, "at": {"street": "s"}}}


def test_nulls_that_only_together_break_a_rule_go_together() -> None:
    maybe = {"type": ["string", "null"]}
    schema = obj(a=maybe, b=maybe, c=TEXT) | {"dependentRequired": {"a": ["c"], "b": ["c"]}}
    assert written(schema).restored({"a": None, "b": None, "c": None}) == {}


def test_a_value_that_fits_as_it_stands_is_not_broken() -> None:
    schema = {"type": "object", "properties": {"a": {"minLength": 1}}, "minProperties": 1}
    assert written(schema).restored({"a": None}) == {"a": None}


def test_nulls_come_out_at_every_depth() -> None:
    schema = obj(
        "rows", rows={"type": "array", "items": {"anyOf": [obj("k", k=TEXT, n=obj(x=NUMBER)), {"type": "null"}]}}
    )
    value = {"rows": [{"k": "1", "n": {"x": None}}, None, {"k": "2", "n": None}]}
    assert written(schema).restored(value) == {"rows": [{"k": "1", "n": {}}, None, {"k": "2"}]}


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, {"a": 1}, {"b": None, "c": None}, [[{"b": None}]], 10**400])
def test_what_is_not_in_shape_comes_back_unharmed(value: Any) -> None:
    found = written(obj("a", a=TEXT, b=TEXT))
    before = copy.deepcopy(value)
    expected = {"c": None} if value == {"b": None, "c": None} else before
    assert found.restored(value) == expected
    assert value == before


def test_a_value_deeper_than_any_schema_comes_back_as_it_is() -> None:
    tree: dict[str, Any] = obj(up={"$ref": "#"}, left={"anyOf": [{"type": "null"}, {"$ref": "#"}]})
    for depth in (40, 127, 500):
        value: Any = {}
        for _ in range(depth):
            value = {"up": value, "left": None}
        assert isinstance(written(tree).restored(value), dict)


# Objects that are closed, and objects that cannot be.


def test_an_object_that_names_its_properties_is_closed() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    found = written(schema)
    assert found.schema["additionalProperties"] is False
    assert kept(schema, found, {"a": "x", "more": 1}) == ""


@pytest.mark.parametrize("profile", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": True},
        {"type": "object", "patternProperties": {"^x": TEXT}, "additionalProperties": False},
        {"type": "object", "properties": {"a": TEXT}, "unevaluatedProperties": NUMBER},
        {"type": "object", "properties": {"a": TEXT}, "minProperties": 2},
    ],
)
def test_a_map_cannot_be_told_to_who_wants_closed_objects(schema: Any, profile: str) -> None:
    assert refused(obj("v", v=schema), profile) == "open_object"


def test_the_refusal_says_where() -> None:
    found = rewrite({**obj(v={"$ref": "#/$defs/a~b"}), "$defs": {"a~b": {"type": "object"}}}, "openai")
    assert found == Unsuited("open_object", "/$defs/a~0b allows properties without a name")
    found = rewrite(obj(v={"type": "array"}), "openai")
    assert found == Unsuited("permissive", "an item of /properties/v allows every value")


def test_maps_stay_where_a_provider_takes_them() -> None:
    assert one({"type": "object", "additionalProperties": NUMBER}, "gemini")["additionalProperties"] == NUMBER
    patterns = {"type": "object", "patternProperties": {"^x": TEXT, "^y": NUMBER}, "additionalProperties": False}
    assert one(patterns, "llguidance")["additionalProperties"] == {"type": ["string", "integer"]}


def test_a_property_that_is_only_demanded_is_named_too() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a", "b"]}
    assert refused(obj("v", v=schema)) == "permissive"
    assert [*one(schema, "llguidance")["properties"]] == ["a", "b"]
    assert one({**schema, "patternProperties": {"^b": NUMBER}}, "llguidance")["properties"]["b"] == NUMBER


def test_the_order_of_properties_is_the_caller_s() -> None:
    names = ["z", "a", "m", "$ref", "x/y", "type", "properties", " ", "ü", "b"]
    found = written({"type": "object", "properties": dict.fromkeys(names, TEXT), "required": ["a"]})
    assert [*found.schema["properties"]] == names == found.schema["required"]


def test_odd_names_survive_and_come_back() -> None:
    schema = obj(**{"a/b": obj(**{"~": TEXT}), "a": obj(**{"properties/b": TEXT}), "": TEXT, "$ref": TEXT})
    value = {"a/b": {"~": None}, "a": {"properties/b": None}, "": None, "$ref": "#"}
    assert written(schema).restored(value) == {"a/b": {}, "a": {}, "$ref": "#"}


def test_names_that_a_provider_refuses_are_told() -> None:
    assert refused(obj(**{"a b": TEXT}), "anthropic") == "property_name"
    assert refused(obj("v", v={**obj(**{"a-b": TEXT}), "additionalProperties": TEXT}), "gbnf") == "open_object"


# The root.


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "schema", [{}, {"description": "x"}, {"type": "object"}, {"type": ["object", "null"]}, {"not": {}}]
)
def test_a_schema_that_allows_everything_is_refused(profile: str, schema: dict[str, Any]) -> None:
    assert refused(schema, profile) in ("permissive", "open_object")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("schema", [TEXT, {"type": "array", "items": TEXT}, {"enum": ["a"]}, {"anyOf": [TEXT, NUMBER]}])
def test_a_root_that_is_no_object_is_refused(profile: str, schema: dict[str, Any]) -> None:
    assert refused(schema, profile) == "root_not_object"


@pytest.mark.parametrize("schema", [{"allOf": [False]}, obj("a", a=False), obj("a") | {"required": ["a"]}])
def test_what_nothing_fits_is_refused(schema: dict[str, Any]) -> None:
    assert refused(schema) == "unsatisfiable"


def test_a_union_at_the_root_stands_inside_where_the_provider_takes_none_there() -> None:
    schema = {"oneOf": [obj("a", a=TEXT, b=TEXT), obj("answer", answer=NUMBER)]}
    assert [*written(schema, "anthropic").schema] == ["anyOf"]
    found = written(schema)
    assert found.wrapper == "answer_"
    assert found.restored({"answer_": {"a": "x", "b": None}}) == {"a": "x"}
    assert found.restored({"answer_": {"answer": 1}}) == {"answer": 1}
    assert found.restored({"a": "x", "b": None}) == {"a": "x", "b": None}


def test_a_root_that_refers_to_itself_works_where_recursion_does() -> None:
    schema = {"type": "object", "properties": {"name": TEXT, "kids": {"type": "array", "items": {"$ref": "#"}}}}
    assert written(schema).restored({"name": "a", "kids": [{"name": None, "kids": None}]}) == {
        "name": "a",
        "kids": [{}],
    }
    for profile in ("anthropic", "gemini"):
        assert refused(schema, profile) == "recursive"


def test_a_root_that_is_a_reference_is_written_out() -> None:
    schema = {"$ref": "#/definitions/a", "definitions": {"a": obj("b", b=TEXT)}}
    assert written(schema).schema["properties"] == {"b": TEXT}


# References.


def test_definitions_go_along_under_plain_names_once() -> None:
    definitions = {"a/b": obj("x", x={"$ref": "#/definitions/n"}), "n": {"type": "number"}}
    reference = {"$ref": "#/definitions/a~1b"}
    schema = {**obj("v w", v=reference, w=reference), "definitions": definitions}
    found = written(schema).schema
    assert found["properties"] == {"v": {"$ref": "#/$defs/a_1b"}, "w": {"$ref": "#/$defs/a_1b"}}
    assert found["$defs"] == {"a_1b": obj("x", x={"type": "number"})}


def test_siblings_of_a_reference_count_since_draft_2019() -> None:
    base = {"type": "object", "properties": {"a": TEXT}}
    more = {"$ref": "#/$defs/base", "properties": {"b": TEXT}, "required": ["b"]}
    assert [*one(more, base=base)["properties"]] == ["b", "a"]
    old = {**obj("v", v={"$ref": "#/definitions/base", "type": "string"}), "definitions": {"base": base}}
    old["$schema"] = "http://json-schema.org/draft-07/schema#"
    assert written(old).schema["properties"]["v"] == {"$ref": "#/$defs/base"}


def test_a_description_beside_a_reference_stays_where_it_may() -> None:
    reference = {"$ref": "#/$defs/base", "description": "Where to."}
    base = obj("a", a=TEXT)
    assert one(reference, base=base) == {"anyOf": [{"$ref": "#/$defs/base"}], "description": "Where to."}
    assert one(reference, "anthropic", base=base) == {"$ref": "#/$defs/base"}
    assert one({"allOf": [{"$ref": "#/$defs/base"}]}, base=base) == {"$ref": "#/$defs/base"}


def test_references_by_address_and_anchor_are_followed() -> None:
    schema = {
        "$id": "https://example.org/root",
        **obj("a b c", a={"$ref": "part"}, b={"$ref": "#here"}, c={"$ref": "https://example.org/part#/$defs/deep"}),
        "$defs": {
            "p": {"$id": "part", "type": "integer", "$defs": {"deep": {"type": "boolean"}}},
            "q": {"$anchor": "here", "type": "null"},
        },
    }
    kinds = {name: each["type"] for name, each in written(schema).schema["properties"].items()}
    assert kinds == {"a": "integer", "b": "null", "c": "boolean"}


def test_a_reference_into_another_document_is_refused() -> None:
    meta = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert refused(obj("v", v=meta)) == "unresolved_reference"


@pytest.mark.parametrize(
    "loop",
    [{"$ref": "#/$defs/loop"}, {"anyOf": [{"$ref": "#/$defs/loop"}, TEXT]}, {"allOf": [{"$ref": "#/$defs/a"}]}],
)
def test_a_definition_that_starts_with_itself_is_refused(loop: Any) -> None:
    schema = {**obj("v", v={"$ref": "#/$defs/loop"}), "$defs": {"loop": loop, "a": {"$ref": "#/$defs/loop"}}}
    for profile in PROFILES:
        assert refused(schema, profile) == "recursive"


def test_recursion_through_a_merge_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node", "required": ["id"]}, "id": NUMBER}}
    schema = {**obj("v", v={"$ref": "#/$defs/node"}), "$defs": {"node": node}}
    found = written(schema)
    assert kept(schema, found, {"v": {"next": {"id": 1, "next": {"id": 2}}}}) == ""


# Unions, conjunctions, conditions.


def test_one_of_becomes_any_of_without_what_nothing_fits() -> None:
    assert one({"oneOf": [obj("a", a=TEXT), False, obj("b", b=TEXT)]}) == {
        "anyOf": [obj("a", a=TEXT), obj("b", b=TEXT)]
    }


def test_what_stands_beside_a_union_is_in_each_option() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": TEXT},
        "required": ["kind"],
        "oneOf": [
            {"properties": {"kind": {"const": "a"}, "x": TEXT}, "required": ["x"]},
            {"properties": {"kind": {"const": "b"}, "y": NUMBER}},
        ],
    }
    options = one(schema, "llguidance")["anyOf"]
    assert [[*option["properties"]] for option in options] == [["kind", "x"], ["kind", "y"]]
    assert options[0]["properties"]["kind"] == {"type": "string", "enum": ["a"]}
    assert options[0]["required"] == ["kind", "x"]


def test_a_condition_becomes_two_options() -> None:
    schema = {
        "type": "object",
        "properties": {"country": TEXT},
        "required": ["country"],
        "if": {"properties": {"country": {"const": "US"}}},
        "then": {"properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}}, "required": ["zip"]},
        "else": {"properties": {"code": TEXT}},
    }
    found = written(obj("v", v=schema))
    assert kept(obj("v", v=schema), found, {"v": {"country": "US", "zip": "12345"}}) == ""
    assert kept(obj("v", v=schema), found, {"v": {"country": "FR", "code": "75001"}}) == ""


def test_names_in_a_condition_without_an_else_are_not_lost() -> None:
    schema = obj(
        "v",
        v={"type": "object", "properties": {"a": TEXT}, "if": {"required": ["a"]}, "then": {"properties": {"b": TEXT}}},
    )
    assert [*written(schema).schema["properties"]["v"]["properties"]] == ["a", "b"]
    schema = obj(
        "v", v={"type": "object", "properties": {"a": TEXT}, "dependentSchemas": {"a": {"properties": {"b": TEXT}}}}
    )
    assert [*written(schema).schema["properties"]["v"]["properties"]] == ["a", "b"]


def test_what_two_conditions_say_of_a_property_need_not_hold_at_once() -> None:
    def when(kind: str, **properties: Any) -> dict[str, Any]:
        return {
            "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
            "then": {"properties": properties},
        }

    rules = [when("text", of={"type": "string", "maxLength": 3}), when("count", of=NUMBER)]
    schema = obj("v", v={"type": "object", "properties": {"kind": TEXT}, "required": ["kind"], "allOf": rules})
    for value in ({"kind": "text", "of": "abc"}, {"kind": "count", "of": 3}, {"kind": "none"}):
        assert kept(schema, written(schema), {"v": value}) == ""


def test_what_a_condition_says_of_a_known_property_does_not_bind_the_others() -> None:
    schema = obj(
        "v",
        v={
            "type": "object",
            "properties": {"a": TEXT, "t": TEXT},
            "dependentSchemas": {"a": {"properties": {"t": {"const": "x"}}}},
        },
    )
    assert kept(schema, written(schema), {"v": {"t": "other"}}) == ""


def test_a_union_of_demanded_keys_is_said_in_words() -> None:
    schema = {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert one(schema)["description"] == "Has at least one of these sets of keys: a; b"


def test_a_conjunction_is_merged_and_the_tighter_bound_counts() -> None:
    schema = {
        "allOf": [
            {"type": "number", "minimum": 1, "maximum": 9},
            {"type": "integer", "exclusiveMinimum": 1, "maximum": 12.5},
        ]
    }
    assert one(schema) == {"type": "integer", "minimum": 2, "maximum": 9}
    lengths = {"allOf": [{"type": "string", "minLength": 2, "maxLength": 9}, {"minLength": 3, "maxLength": 7}]}
    assert one(lengths, "llguidance") == {"type": "string", "minLength": 3, "maxLength": 7}
    assert one({"allOf": [{"enum": [1, "a", None]}, {"enum": ["a", 1.0, True]}]}) == {
        "anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["a"]}]
    }


def test_a_property_that_a_conjunction_forbids_is_left_out() -> None:
    schema = {"allOf": [obj(a=TEXT), {"properties": {"a": {"minLength": 1}, "b": TEXT}}], "type": "object"}
    assert [*one(schema)["properties"]] == ["a"]


def test_a_union_with_an_option_that_allows_everything_allows_everything() -> None:
    options: tuple[Any, ...] = ({}, True)
    for option in options:
        schema = obj("v", v={"anyOf": [option, obj("n", n=NUMBER)]})
        assert refused(schema) == "permissive"
        for value in (1, {"n": "x"}, {"n": 1}):
            assert kept(schema, written(schema, "llguidance"), {"v": value}) == ""


def test_what_is_merged_twice_at_every_level_does_not_double() -> None:
    levels = {
        f"a{at}": {
            "type": "object",
            "properties": {
                name: {"$ref": f"#/$defs/a{at + 1}", "minProperties": least} for name, least in (("n", 0), ("m", 1))
            },
        }
        for at in range(25)
    }
    schema = {**obj("v", v={"$ref": "#/$defs/a0"}), "$defs": {**levels, "a25": obj("x", x=TEXT)}}
    found = written(schema, "llguidance")
    assert len(str(found.schema)) < 25_000


def test_large_unions_stay_and_many_unions_do_not_explode() -> None:
    options = [{"properties": {"kind": {"const": f"k{at}"}, f"p{at}": TEXT}, "required": ["kind"]} for at in range(200)]
    large = one({"type": "object", "properties": {"z": TEXT}, "oneOf": options}, "llguidance")
    assert len(large["anyOf"]) == 200
    many = [{"anyOf": [{"properties": {f"a{at}": TEXT}}, {"properties": {f"b{at}": NUMBER}}]} for at in range(12)]
    names = {name for option in one({"type": "object", "allOf": many})["anyOf"] for name in option["properties"]}
    assert len(names) == 24


# Values, bounds, formats, patterns: held where they can be, said where not.


@pytest.mark.parametrize(
    ("profile", "schema", "held", "said"),
    [
        ("openai", {"type": "string", "minLength": 2}, {"type": "string"}, "At least 2 characters"),
        ("azure", {"type": "integer", "minimum": 2}, {"type": "integer"}, "At least 2"),
        ("azure", {"type": "string", "format": "date"}, {"type": "string"}, "Of the format date"),
        ("llguidance", {"type": "string", "minLength": 2.0}, {"type": "string", "minLength": 2}, ""),
        ("xgrammar", {"type": "string", "maxLength": 2}, {"type": "string"}, "At most 2 characters"),
        ("gbnf", {"type": "string", "maxLength": 5_000}, {"type": "string"}, "At most 5000 characters"),
        (
            "gbnf",
            {"type": "string", "pattern": "^a+$", "maxLength": 5},
            {"type": "string", "pattern": "^a+$"},
            "At most 5 characters",
        ),
        (
            "llguidance",
            {"type": "string", "pattern": "^a+$", "maxLength": 5},
            {"type": "string", "pattern": "^a+$", "maxLength": 5},
            "",
        ),
        ("openai", {"type": "string", "format": "uri"}, {"type": "string"}, "Of the format uri"),
        ("anthropic", {"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}, ""),
        ("gemini", {"type": "string", "pattern": "^a$"}, {"type": "string"}, "Matches the regular expression ^a$"),
        ("openai", {"type": "number", "multipleOf": 0.5}, {"type": "number", "multipleOf": 0.5}, ""),
        ("llguidance", {"type": "number", "multipleOf": 0.5}, {"type": "number"}, "A multiple of 0.5"),
        ("gemini", {"type": "number", "exclusiveMinimum": 1}, {"type": "number", "minimum": 1}, "More than 1"),
        ("gemini", {"type": "integer", "exclusiveMinimum": 1}, {"type": "integer", "minimum": 2}, ""),
        ("openai", {"type": "integer", "exclusiveMaximum": 3}, {"type": "integer", "maximum": 2}, ""),
        ("openai", {"type": "number", "exclusiveMaximum": 3}, {"type": "number", "exclusiveMaximum": 3}, ""),
        ("gbnf", {"type": "number", "minimum": 1.5}, {"type": "number"}, "At least 1.5"),
        ("gbnf", {"type": "integer", "minimum": 1.5}, {"type": "integer", "minimum": 2}, ""),
        ("openai", {"type": "integer", "maximum": 2**60}, {"type": "integer"}, f"At most {2**60}"),
        (
            "anthropic",
            {"type": "array", "items": TEXT, "minItems": 3},
            {"type": "array", "items": TEXT, "minItems": 1},
            "At least 3 items",
        ),
        (
            "gemini",
            {"type": "array", "items": TEXT, "maxItems": 999},
            {"type": "array", "items": TEXT},
            "At most 999 items",
        ),
        (
            "openai",
            {"type": "array", "items": TEXT, "uniqueItems": True},
            {"type": "array", "items": TEXT},
            "No item twice",
        ),
        ("openai", {"type": "string", "not": {"const": "x"}}, TEXT, 'Must not fit {"const": "x"}'),
        ("gemini", {"const": True}, {"type": "boolean"}, "Exactly true"),
        ("openai", {"const": True}, {"type": "boolean", "enum": [True]}, ""),
        ("openai", {"enum": [True, False, None]}, {"type": ["boolean", "null"]}, ""),
        ("openai", {"enum": [2**60]}, {"type": "integer"}, f"Exactly {2**60}"),
    ],
)
def test_bounds_are_held_or_said(profile: str, schema: Any, held: Any, said: str) -> None:
    assert one(schema, profile) == {**held, **({"description": said} if said else {})}


def test_what_is_said_stands_after_the_description() -> None:
    found = one({"type": "string", "description": "A name", "minLength": 1, "not": {"const": "x"}, "title": "T"})
    assert found["description"] == 'A name. Must not fit {"const": "x"}. At least 1 character'


@pytest.mark.parametrize("profile", PROFILES)
def test_contradictions_leave_nothing(profile: str) -> None:
    for schema in (
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "integer", "exclusiveMinimum": 1, "maximum": 1.5},
        {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 1},
        {"allOf": [TEXT, NUMBER]},
        {"enum": [1], "type": "string"},
    ):
        assert written(obj("a", a=TEXT, v=schema), profile).schema["properties"].keys() == {"a"}


def test_literal_objects_and_lists_are_written_out() -> None:
    value = {"a": [1, None], "b": {}}
    for profile in PROFILES:
        schema = obj("v", v={"const": value})
        assert kept(schema, written(schema, profile), {"v": value}) == ""


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"type": "array", "prefixItems": [TEXT, NUMBER], "items": False, "minItems": 2}, [["a", 1]]),
        ({"type": "array", "prefixItems": [TEXT, NUMBER], "items": False}, [[], ["a"], ["a", 1]]),
        ({"type": "array", "prefixItems": [TEXT, NUMBER], "items": {"type": "null"}}, [["a", 1, None, None]]),
        ({"type": "array", "prefixItems": [TEXT, False, NUMBER], "items": TEXT}, [[], ["a"]]),
        ({"type": "array", "items": False}, [[]]),
        ({"type": "array", "items": {"enum": ["a"]}, "maxItems": 0}, [[]]),
        ({"type": "array", "items": TEXT, "contains": {"const": "a"}, "minContains": 2}, [["a", "b", "a"]]),
    ],
)
def test_tuples_keep_their_instances(profile: str, schema: Any, values: list[Any]) -> None:
    whole = obj("v", v=schema)
    for value in values:
        assert kept(whole, written(whole, profile), {"v": value}) == ""


def test_a_tuple_is_held_where_the_provider_can_and_else_said() -> None:
    pair = {"type": "array", "prefixItems": [TEXT, NUMBER], "items": False, "minItems": 2}
    assert one(pair, "gbnf") == {"type": "array", "prefixItems": [TEXT, NUMBER], "minItems": 2, "maxItems": 2}
    assert one(pair) == {
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "minItems": 2,
        "maxItems": 2,
        "description": "The first 2 items each have their own kind, in this order",
    }


def test_a_tuple_ends_before_what_nothing_fits() -> None:
    found = one({"type": "array", "prefixItems": [TEXT, False, NUMBER], "items": TEXT}, "llguidance")
    assert (found["prefixItems"], found["maxItems"]) == ([TEXT], 1)


def test_subschemas_that_are_true_or_false() -> None:
    assert refused(obj("v", v=True)) == "permissive"
    assert written(obj("a", a=TEXT, never=False)).schema["properties"] == {"a": TEXT}
    assert "type" in one(True, "llguidance")


def test_a_subschema_about_one_type_has_this_type() -> None:
    assert one({"properties": {"a": TEXT}, "required": ["a"]}) == obj("a", a=TEXT)
    assert one({"minimum": 3}) == {"type": "number", "minimum": 3}
    assert refused(obj("v", v={"minimum": 3, "minLength": 3})) == "permissive"


# Older drafts.


def test_draft_four_flags_its_exclusive_bounds_and_knows_no_const() -> None:
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {
            "n": {"type": "number", "minimum": 3, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False},
            "s": {"type": "string", "const": "x"},
            "l": {"type": "array", "items": [TEXT], "additionalItems": NUMBER},
        },
        "required": ["n", "s", "l"],
    }
    found = written(schema, "llguidance").schema["properties"]
    assert found["n"] == {"type": "number", "exclusiveMinimum": 3, "maximum": 9}
    assert found["s"] == TEXT
    assert found["l"] == {"type": "array", "prefixItems": [TEXT], "items": NUMBER}


@pytest.mark.parametrize("draft", ["draft-06", "draft-07", "draft/2019-09", "draft/2020-12"])
def test_each_draft_is_read_by_its_own_rules(draft: str) -> None:
    schema = {
        "$schema": f"http://json-schema.org/{draft}/schema#",
        **obj("a", a={"type": "string", "if": {"const": "x"}, "then": False}, b={"dependentRequired": {"q": ["r"]}}),
    }
    if "draft/" in draft:
        schema["$schema"] = f"https://json-schema.org/{draft}/schema"
    found = rewrite(schema, "llguidance")
    assert isinstance(found, Rewritten)
    assert broken("llguidance", found.schema) == ""
    assert kept(schema, found, {"a": "y"}) == ""


def test_dependencies_of_old_drafts_name_properties_too() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": TEXT},
        "dependencies": {"a": {"properties": {"b": TEXT}}, "b": ["a"]},
    }
    found = written(schema).schema
    assert [*found["properties"]] == ["a", "b"]
    assert found["description"] == "With b also: a"


def test_a_mix_of_drafts_is_refused() -> None:
    schema = obj("v", v={"$schema": "http://json-schema.org/draft-04/schema#", **TEXT})
    assert refused(schema) == "unsupported_keyword"


# Limits.


@pytest.mark.parametrize(
    ("profile", "schema", "reason"),
    [
        ("openai", obj(**{f"p{at}": TEXT for at in range(5_001)}), "too_many_properties"),
        ("openai", obj("v", v={"enum": [f"v{at}" for at in range(1_001)]}), "too_many_values"),
        ("openai", obj("v", v={"enum": [f"{at:03}" * 20 for at in range(300)]}), "too_large"),
        ("openai", obj(**{"p" * 900 + str(at): TEXT for at in range(140)}), "too_large"),
        ("azure", obj(**{f"p{at}": TEXT for at in range(101)}), "too_many_properties"),
        ("azure", obj("v", v={"enum": [f"v{at}" for at in range(501)]}), "too_many_values"),
        ("anthropic", obj(**{f"p{at}": TEXT for at in range(25)}), "too_many_optional"),
        (
            "anthropic",
            obj(" ".join(f"p{at}" for at in range(17)), **{f"p{at}": {"type": ["string", "null"]} for at in range(17)}),
            "too_many_unions",
        ),
        ("ollama", obj(**{f"property_{at}": TEXT for at in range(400)}), "too_large"),
    ],
)
def test_a_limit_is_named_before_the_provider_does(profile: str, schema: dict[str, Any], reason: str) -> None:
    assert refused(schema, profile) == reason


def test_depth_is_counted_in_objects_and_lists() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(5):
        schema = obj("v", v={"type": "array", "items": schema})
    assert written(obj("v", v=schema["properties"]["v"])).schema
    assert refused(obj("v", v=schema)) == "too_deep"


@pytest.mark.parametrize(
    "union", [lambda part: {"anyOf": [part, TEXT]}, lambda part: {"type": "object", "allOf": [part]}]
)
def test_chains_of_definitions_end_in_a_reason(union: Callable[[Any], Any]) -> None:
    chain = {f"d{at}": union({"$ref": f"#/$defs/d{at + 1}"}) for at in range(1_200)}
    schema = {**obj("v", v={"$ref": "#/$defs/d0"}), "$defs": {**chain, "d1200": obj("a", a=TEXT)}}
    for profile in PROFILES:
        found = rewrite(schema, profile)
        assert isinstance(found, Rewritten) or found.reason == "too_deep"


def test_a_profile_that_does_not_exist_is_an_error_of_the_program() -> None:
    with pytest.raises(KeyError):
        rewrite(obj("a", a=TEXT), "nobody")


@pytest.mark.parametrize("profile", PROFILES)
def test_thousands_of_properties_take_linear_time(profile: str) -> None:
    def calls(count: int) -> int:
        part = {"type": "string", "minLength": 1, "description": "One."}
        inner = {"anyOf": [obj("x", x=part), {"type": "null"}]}
        schema = obj(**{f"p{at}": inner if at % 3 else part for at in range(count)})
        counted = itertools.count()
        sys.setprofile(lambda frame, event, arg: next(counted) if event in ("call", "c_call") else None)
        try:
            rewrite(schema, profile)
        finally:
            sys.setprofile(None)
        return next(counted)

    calls(10)
    assert calls(4_000) < 10 * calls(500)


def test_the_given_schema_is_not_changed_nor_shared() -> None:
    schema = {**obj("a", a={"enum": ["x"]}, b={"$ref": "#/$defs/d"}), "$defs": {"d": {"type": "array", "items": TEXT}}}
    before = copy.deepcopy(schema)
    for profile in PROFILES:
        rewrite(schema, profile)
    assert schema == before


# Every keyword of 2020-12, by the instances of our own sample of it.


@pytest.mark.parametrize("profile", PROFILES)
def test_every_keyword_keeps_its_instances(profile: str) -> None:
    checked, found = 0, []
    for group in GROUPS:
        for schema, values in (
            (group.schema, [value for value in group.fits if isinstance(value, dict)]),
            ({"type": "object", "properties": {"v": group.schema}, "required": ["v"]}, [{"v": v} for v in group.fits]),
        ):
            # Below another schema, references of the sample start from elsewhere.
            if schema is not group.schema and "Ref" in str(schema).replace("$ref", "Ref"):
                continue
            rewritten = rewrite(schema, profile)
            if isinstance(rewritten, Unsuited):
                continue
            if why := broken(profile, rewritten.schema):
                found.append(f"{schema}: {why}")
            checked += len(values)
            told = ((value, kept(schema, rewritten, value)) for value in values)
            found += (f"{schema} with {value}: {why}" for value, why in told if why)
    assert found == []
    assert checked > 200
