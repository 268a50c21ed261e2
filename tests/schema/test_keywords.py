"""Unknown keywords are told with what was probably meant; names, values and vendors' own are left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schema.mutations import NO_SAMPLE, SAMPLE
from vancetope.schema.keywords import MAX_UNKNOWN, Unknown, unknown_keywords
from vancetope.schema.validate import compile

DRAFTS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "draft 2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft 2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def told(schema: Any) -> list[tuple[str, str, str]]:
    return [(each.pointer, each.keyword, each.meant) for each in unknown_keywords(schema)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("requred", "required"),
        ("reqiured", "required"),
        ("propertes", "properties"),
        ("additionalProperty", "additionalProperties"),
        ("property", "properties"),
        ("aditionalProperties", "additionalProperties"),
        ("additional_properties", "additionalProperties"),
        ("min_length", "minLength"),
        ("MaxLength", "maxLength"),
        ("maxlenght", "maxLength"),
        ("anyof", "anyOf"),
        ("item", "items"),
        ("itmes", "items"),
        ("enums", "enum"),
        ("tpye", "type"),
        ("types", "type"),
        ("descripton", "description"),
        ("example", "examples"),
        ("ref", "$ref"),
        ("$reff", "$ref"),
        ("$def", "$defs"),
        ("schema", "$schema"),
        ("max", "maximum"),
        ("regex", "pattern"),
        ("nullable", "type"),
    ],
)
def test_a_typo_is_told_with_what_was_meant(written: str, meant: str) -> None:
    assert told({written: 1}) == [("", written, meant)]


@pytest.mark.parametrize(
    "keyword", ["note", "form", "name", "label", "version", "iff", "nor", "", "preferredOrder", "ids"]
)
def test_what_resembles_no_keyword_is_told_without_a_guess(keyword: str) -> None:
    assert told({keyword: 1}) == ([("", keyword, "")] if keyword else [])


@pytest.mark.parametrize(
    "keyword",
    ["x-order", "X-Type", "x-minLength", "ui:order", "//", "_comment", "@type", "$generated", "$version", "1", "$"],
)
def test_what_vendors_write_is_never_told(keyword: str) -> None:
    assert told({keyword: 1}) == []


ONE = ["additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"]
ONE += ["unevaluatedItems", "unevaluatedProperties", "additionalItems"]
LISTS = ["allOf", "anyOf", "oneOf", "prefixItems", "items"]
MAPS = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]


@pytest.mark.parametrize("keyword", ONE)
def test_a_keyword_that_holds_a_schema_is_looked_into(keyword: str) -> None:
    assert told({keyword: {"tpye": 1}}) == [(f"/{keyword}", "tpye", "type")]


@pytest.mark.parametrize("keyword", LISTS)
def test_a_keyword_that_holds_schemas_in_a_list_is_looked_into(keyword: str) -> None:
    assert told({keyword: [True, {"tpye": 1}]}) == [(f"/{keyword}/1", "tpye", "type")]


@pytest.mark.parametrize("keyword", MAPS)
def test_a_keyword_that_holds_schemas_by_name_is_looked_into_and_names_are_no_keywords(keyword: str) -> None:
    assert told({keyword: {"requred": {"tpye": 1}, "list": ["a"]}}) == [(f"/{keyword}/requred", "tpye", "type")]


@pytest.mark.parametrize("keyword", ["const", "enum", "default", "examples", "x-own", "mystery", "required"])
def test_values_are_no_schemas(keyword: str) -> None:
    inside = {"properties": {"a": {"requred": []}}, "requred": 1}
    assert [each for each in told({keyword: inside}) if each[1] != "mystery"] == []
    assert [each for each in told({keyword: [inside]}) if each[1] != "mystery"] == []


def test_a_pointer_escapes_names() -> None:
    assert told({"properties": {"a/b~c": {"requred": []}}}) == [("/properties/a~1b~0c", "requred", "required")]


def test_each_is_told_once_at_its_first_place_and_likely_typos_come_first() -> None:
    schema = {
        "colour": "red",
        "properties": {
            "a": {"colour": "blue", "requred": []},
            "b": {"shape": "round", "requred": []},
        },
    }
    assert told(schema) == [
        ("/properties/a", "requred", "required"),
        ("", "colour", ""),
        ("/properties/b", "shape", ""),
    ]


def test_no_more_than_eight_are_told_and_typos_are_not_crowded_out() -> None:
    schema: dict[str, Any] = {f"colour{n}": n for n in range(50)} | {"requred": []}
    assert len(told(schema)) == MAX_UNKNOWN == 8
    assert told(schema)[0] == ("", "requred", "required")


def test_a_key_that_holds_what_local_references_name_is_no_mistake() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"$ref": "#/components/schemas/A"}, "b": {"$ref": "#/parts/0"}},
        "components": {"schemas": {"A": {"requred": []}, "B": {"requird": []}}},
        "parts": [{"tpye": "string"}],
        "componets": {},
    }
    assert told(schema) == [
        ("/components/schemas/A", "requred", "required"),
        ("/parts/0", "tpye", "type"),
        ("", "componets", ""),
    ]


def test_references_to_nowhere_and_around_in_circles_are_no_matter() -> None:
    schema: dict[str, Any] = {
        "$ref": "#/a/b",
        "not": {"$ref": "#"},
        "if": {"$ref": "#/if"},
        "then": {"$ref": "#x"},
        "else": {"$ref": 3},
    }
    assert told(schema) == []


def test_a_sentence_says_where_what_and_what_was_meant() -> None:
    said = [
        str(each) for each in unknown_keywords({"items": {"requred": []}, "colour": 1, "$schema": DRAFTS["draft-07"]})
    ]
    assert said == [
        '/items: "requred" is no keyword of draft-07 and checks nothing; did you mean "required"?',
        'the schema: "colour" is no keyword of draft-07 and checks nothing',
    ]
    (newer,) = unknown_keywords({"const": 1, "$schema": DRAFTS["draft-04"]})
    assert newer == Unknown("", "const", "draft-04", "", "draft-06")
    assert str(newer) == 'the schema: "const" is no keyword of draft-04 and checks nothing; it came with draft-06'


# A keyword with a value that it refuses, the drafts in which it does, and whether it is told in the others.
EFFECTS: list[tuple[str, dict[str, Any], Any, str]] = [
    ("const", {"const": 1}, 2, "draft-06"),
    ("contains", {"contains": {"type": "string"}}, [1], "draft-06"),
    ("propertyNames", {"propertyNames": {"maxLength": 1}}, {"ab": 1}, "draft-06"),
    ("contentEncoding", {"type": "integer", "contentEncoding": "base64"}, "%", "draft-06"),
    ("if", {"if": {"type": "integer"}, "then": {"minimum": 1}}, 0, "draft-07"),
    ("then", {"if": {"type": "integer"}, "then": {"minimum": 1}}, 0, "draft-07"),
    ("else", {"if": {"type": "string"}, "else": {"minimum": 1}}, 0, "draft-07"),
    ("dependentRequired", {"dependentRequired": {"a": ["b"]}}, {"a": 1}, "draft 2019-09"),
    ("dependentSchemas", {"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, "draft 2019-09"),
    ("unevaluatedProperties", {"unevaluatedProperties": False}, {"a": 1}, "draft 2019-09"),
    ("unevaluatedItems", {"unevaluatedItems": False}, [1], "draft 2019-09"),
    ("maxContains", {"contains": {"type": "integer"}, "maxContains": 1}, [1, 1], "draft 2019-09"),
    ("minContains", {"contains": {"type": "integer"}, "minContains": 2}, [1], "draft 2019-09"),
    ("prefixItems", {"prefixItems": [{"type": "string"}]}, [1], "draft 2020-12"),
    ("$dynamicRef", {"$dynamicRef": "#/definitions/a", "definitions": {"a": {"type": "null"}}}, 1, "draft 2020-12"),
]


@pytest.mark.parametrize(("keyword", "schema", "value", "since"), EFFECTS, ids=[each[0] for each in EFFECTS])
def test_a_keyword_is_told_in_exactly_the_drafts_in_which_it_has_no_effect(
    keyword: str, schema: dict[str, Any], value: Any, since: str
) -> None:
    names = list(DRAFTS)
    for draft in names:
        dated = {"$schema": DRAFTS[draft], **schema}
        unknown = {each.keyword: each.since for each in unknown_keywords(dated)}
        known = names.index(draft) >= names.index(since)
        assert (keyword not in unknown) == known
        assert known or unknown[keyword] == since
        if keyword != "contentEncoding":  # asserted or not, as a draft likes
            assert compile(dated).fits(value) != known


@pytest.mark.parametrize("keyword", ["id", "definitions", "dependencies", "additionalItems", "$recursiveRef"])
def test_what_older_drafts_had_is_known_and_so_are_notes_and_definitions_everywhere(keyword: str) -> None:
    assert told({keyword: {}}) == []
    old = {
        "$schema": DRAFTS["draft-04"],
        "$defs": {},
        "$comment": "",
        "examples": [],
        "readOnly": True,
        "deprecated": 1,
    }
    assert told(old) == []


@pytest.mark.parametrize(
    "uri",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-04/schema",
        "https://json-schema.org/draft-04/schema",
    ],
)
def test_a_draft_is_known_by_each_way_to_write_it(uri: str) -> None:
    assert [each.draft for each in unknown_keywords({"$schema": uri, "const": 1})] == ["draft-04"]


def test_a_schema_within_may_be_of_another_draft_and_an_unknown_one_counts_as_the_one_around() -> None:
    inner = {"$schema": DRAFTS["draft-04"], "$id": "https://inner.example/", "not": {"const": 1}}
    schema = {"allOf": [inner, {"const": 1}, {"$schema": "https://drafts.example/none", "const": 1}]}
    assert [(each.pointer, each.keyword) for each in unknown_keywords(schema)] == [
        ("/allOf/0", "$id"),
        ("/allOf/0/not", "const"),
    ]


@pytest.mark.parametrize("value", [None, True, 1, "x", [], [{"requred": 1}], {}, object()])
def test_what_is_no_schema_has_no_keywords(value: Any) -> None:
    assert told(value) == []


def test_depth_and_size_are_bounded() -> None:
    deep: dict[str, Any] = {"requred": 1}
    for _ in range(200):
        deep = {"not": deep}
    assert told(deep) == []
    circle: dict[str, Any] = {}
    circle["not"] = circle
    assert told(circle) == []
    assert len(told({f"colour{n}": n for n in range(200_000)})) == MAX_UNKNOWN
    assert told({"k" * 1_000_000: 1})[0][2] == ""
    assert len(str(unknown_keywords({"k" * 1_000_000: 1})[0])) < 200


KEYS = (
    st.sampled_from(["properties", "items", "allOf", "enum", "$ref", "$defs", "$schema", "id", "requred", "not"])
    | st.text()
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["#", "#/$defs/a", *DRAFTS.values()]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
)


@given(VALUES)
def test_any_value_is_looked_through_in_a_few_sentences(value: Any) -> None:
    before = json.dumps(value)
    found = unknown_keywords(value)
    assert len(found) <= MAX_UNKNOWN
    assert all(0 < len(str(each)) <= 500 for each in found)
    assert json.dumps(value) == before


def test_in_published_schemas_what_is_told_is_odd() -> None:
    """Looked at one by one: the guesses are what the authors meant, and the rest are notes and tools' own words."""
    if not SAMPLE.is_file():
        pytest.skip(NO_SAMPLE)
    schemas = [json.loads(line)["schema"] for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    found = [unknown_keywords(schema) for schema in schemas]
    guesses = {(each.keyword, each.meant or each.since) for told in found for each in told if each.meant or each.since}
    assert guesses == {
        ("$id", "draft-06"),
        ("decription", "description"),
        ("descrption", "description"),
        ("example", "examples"),
        ("max", "maximum"),
        ("min", "minimum"),
        ("oneof", "oneOf"),
    }
    assert (len(schemas), sum(map(bool, found)), sum(map(len, found))) == (199, 57, 78)
