"""Schemas are compiled offline, behind a depth guard; what does not fit is told in a few words."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.errors import ConfigError
from vancetope.schema.problems import MAX_PROBLEMS, MAX_SENTENCE, Problem
from vancetope.schema.validate import (
    InvalidPattern,
    InvalidSchema,
    compile,
    decode_once,
    drop_extras,
    json_types,
    matcher,
    sentence,
)

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer", "maximum": 7}},
    "required": ["city"],
    "additionalProperties": False,
}


def problem(schema: dict[str, Any], value: Any) -> Problem:
    (only,) = compile(schema).problems(value)
    return only


def test_a_value_that_fits_has_no_problems() -> None:
    assert compile(CITY).problems({"city": "Paris", "days": 3.0}) == ()
    assert compile(CITY).fits({"city": "Paris"})
    assert not compile(CITY).fits({})


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (CITY, {}, "/city: missing; expected a string"),
        (CITY, {"city": "Paris", "dayz": 1}, "/dayz: not allowed; expected only the keys city, days"),
        (CITY, {"city": "P"}, '/city: "P"; expected at least 2 characters'),
        (CITY, {"city": "Paris", "days": 9}, "/days: 9; expected at most 7"),
        (CITY, {"city": ["Paris"]}, "/city: a list of 1; expected a string"),
        (CITY, [], "the value: an empty list; expected an object"),
        ({"enum": ["a", 1, None]}, "b", 'the value: "b"; expected one of "a", 1, null'),
        ({"const": True}, 1, "the value: 1; expected true"),
        ({"type": ["integer", "null"]}, "x", 'the value: "x"; expected null or an integer'),
        ({"pattern": "^a+$"}, "b", 'the value: "b"; expected a string that matches ^a+$'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 3, "the value: 3; expected a string or null"),
        (
            {"oneOf": [{"minimum": 1}, {"maximum": 5}]},
            3,
            "the value: 3, which fits several; expected a value that fits only one of 2 alternatives",
        ),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            'the value: the key "ab"; expected at most 1 character as a key',
        ),
        (
            {"prefixItems": [True], "unevaluatedItems": False},
            [1, 2],
            "the value: a list of 2; expected no further items",
        ),
        ({"minimum": 1}, 0, "the value: 0; expected at least 1"),
        ({"minItems": 1}, [], "the value: an empty list; expected at least 1 item"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "/b: missing; expected a value"),
        ({"properties": {"a/b~c": {"type": "null"}}}, {"a/b~c": 1}, "/a~1b~0c: 1; expected null"),
        ({"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "number"}}}, ["x"], '/0: "x"; expected a number'),
        ({"properties": {"a": False}}, {"a": {"b": 1}}, "/a: an object with the key b; expected nothing here"),
        (
            {"required": ["a"], "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"enum": [1, 2]}}},
            {},
            "/a: missing; expected one of 1, 2",
        ),
    ],
)
def test_a_problem_says_where_what_was_found_and_what_was_expected(
    schema: dict[str, Any], value: Any, told: str
) -> None:
    assert str(problem(schema, value)) == told


def test_of_a_union_the_nearest_branch_is_told() -> None:
    tagged = {
        "oneOf": [
            {"required": ["kind"], "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}},
            {"required": ["kind", "side"], "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}},
        ]
    }
    assert problem(tagged, {"kind": "square"}).pointer == "/side"
    assert problem(tagged, {"kind": "circle", "radius": "x"}) == Problem(
        "/radius", "oneOf", "a number (nearest of 2 alternatives)", '"x"'
    )


@pytest.mark.parametrize(
    ("schema", "any_object", "any_list"),
    [
        ({}, True, True),
        ({"type": "object"}, True, False),
        ({"type": "array"}, False, True),
        ({"required": ["a"]}, False, True),
        ({"properties": {"a": {"type": "integer"}}}, True, True),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, False, False),
        ({"type": "array", "items": {"type": "integer"}}, False, False),
        ({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object"}]}, True, False),
    ],
)
def test_a_schema_may_take_any_object_or_any_list(schema: dict[str, Any], any_object: bool, any_list: bool) -> None:
    validator = compile(schema)
    assert (validator.takes_any_object, validator.takes_any_list) == (any_object, any_list)
    assert validator.types == json_types(schema, schema)


def test_the_whole_value_is_never_quoted() -> None:
    secret = "s" * 10_000
    told = sentence(compile({"type": "integer"}).problems({"password": secret}))
    assert told == "the value: an object with the key password; expected an integer"
    assert len(str(problem({"type": "integer"}, secret))) < 100


def test_problems_and_their_sentence_are_bounded() -> None:
    many = compile({"items": {"enum": ["x" * 50 + str(n) for n in range(50)]}})
    problems = many.problems(["y" * 100] * 30)
    assert len(problems) == MAX_PROBLEMS
    assert len(sentence(problems)) <= MAX_SENTENCE
    assert sentence(problems).endswith("more")
    assert sentence(()) == ""


def test_a_large_wrong_value_is_judged_quickly() -> None:
    started = time.perf_counter()
    assert len(compile({"items": {"type": "integer"}}).problems(["a"] * 100_000)) == 1
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"$ref": "http://example.com/x.json"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#/$defs/none"},
        {"$schema": "http://example.com/unknown"},
        {"pattern": "("},
        {"minItems": -1},
        {"properties": {"a": 1}},
        {"default": float("nan")},
        {"default": object()},
        {"const": "\ud800"},
        {"const": 10**5000},
        [],
        "{}",
        None,
    ],
)
def test_what_is_no_schema_is_refused_in_a_sentence(schema: Any) -> None:
    with pytest.raises(InvalidSchema) as raised:
        compile(schema)
    assert isinstance(raised.value, ConfigError)
    assert str(raised.value)


def test_a_reference_to_a_file_is_never_opened(tmp_path: Any) -> None:
    target = tmp_path / "string.json"
    target.write_text('{"type": "string"}')
    with pytest.raises(InvalidSchema):
        compile({"$ref": target.as_uri()})


def test_older_drafts_are_known_by_their_schema_uri() -> None:
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert compile(draft7).problems([1])[0].pointer == "/0"


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "", "$vocabulary": {}, "type": "string"},
        {"$schema": "https://own.example/m", "$id": "https://own.example/m", "$vocabulary": {}, "type": "string"},
        {"$schema": "https://json-schema.org/draft/2020-12/meta/core", "type": "string"},
        {"allOf": [{"$id": "q", "$schema": "q", "$vocabulary": {}, "type": "string"}]},
        {"$schema": "http://json-schema.org/draft-03/schema#"},
        {"$schema": "m", "$defs": {"a": {"$id": "m", "$vocabulary": {}}}, "type": "string"},
    ],
)
def test_a_draft_of_its_own_is_refused(schema: dict[str, Any]) -> None:
    """Such a schema may say that its `type` is no keyword, and then everything fits."""
    with pytest.raises(InvalidSchema, match=r"\$schema names a draft"):
        compile(schema)
    assert compile({"const": schema, "properties": {"$schema": True}}).fits(schema)


def test_formats_are_a_gate_only_when_asked() -> None:
    schema = {"type": "string", "format": "date"}
    assert compile(schema).fits("tomorrow")
    assert problem_with_formats(schema, "tomorrow").expected == "a string of the format date"
    assert compile({"format": "made-up"}, formats=True).fits("x")


def problem_with_formats(schema: dict[str, Any], value: Any) -> Problem:
    (only,) = compile(schema, formats=True).problems(value)
    return only


def nested(levels: int, key: str = "not") -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {key: value}
    return value


def test_nothing_deeper_than_the_limit_reaches_the_validator() -> None:
    assert compile(nested(128)).problems(nested(128)) is not None
    with pytest.raises(InvalidSchema, match="128"):
        compile(nested(129))
    assert compile({}).problems(nested(129))[0].keyword == "depth"
    assert compile({}).problems(nested(100_000))[0].keyword == "depth"


def test_a_deep_schema_does_not_end_the_process() -> None:
    code = (
        "from vancetope.schema.validate import compile, InvalidSchema\n"
        "value = {}\n"
        "for _ in range(200_000): value = {'not': value}\n"
        "try: compile(value)\n"
        "except InvalidSchema: print('refused', flush=True)\n"
        "print(compile({'$ref': '#'}).problems({}), flush=True)\n"
        "import os; os._exit(0)\n"  # freeing such a value by recursion is the interpreter's business
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refused\n")


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        object(),
        {1: 2},
        float("nan"),
        float("inf"),
        {"a": [-float("inf")]},
        {"a": 10**4300},
        {"a": (-(10**5000),)},
    ],
)
def test_what_is_not_json_is_a_problem_not_an_exception(value: Any) -> None:
    """The validator by itself takes numbers that are none of JSON's for null."""
    assert not compile({}).fits(value)
    assert problem({"type": ["object", "string", "null"]}, value).keyword == "json"


def test_the_longest_integer_that_is_read_is_judged() -> None:
    assert compile({"type": "integer"}).fits(10**4300 - 1)
    assert compile({"maximum": 5}).problems(10**4300 - 1)[0].found.startswith("999")


class Panic(BaseException):
    """What a panic of the validator looks like: no Exception."""


def test_a_panic_of_the_validator_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Panics:
        def is_valid(self, value: Any) -> bool:
            raise Panic("at the value")

    def panics(*args: Any, **options: Any) -> Panics:
        raise Panic("at the schema")

    monkeypatch.setattr("jsonschema_rs.validator_for", panics)
    with pytest.raises(InvalidSchema, match="at the schema"):
        compile({"title": "a schema that panics"})
    monkeypatch.setattr("jsonschema_rs.validator_for", lambda *args, **options: Panics())
    told = problem({"title": "a schema whose validator panics"}, 1)
    assert str(told) == "the value: at the value; expected a value that can be judged"


def test_an_equal_problem_is_told_once() -> None:
    circle = {"allOf": [{"$ref": "#"}], "unevaluatedProperties": False}
    assert problem(circle, {"a": 1}).pointer == "/a"


PERSON = {"properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"$ref": "#/$defs/p", "$defs": {"p": PERSON}}, ("only the key name", "a string")),
        ({"$ref": "#p", "$defs": {"p": PERSON | {"$anchor": "p"}}}, ("only the key name", "a string")),
        ({"$ref": "p", "properties": {"x": {}}, "$defs": {"p": PERSON | {"$id": "p"}}}, ("no such key", "a value")),
        ({"allOf": [PERSON | {"$id": "p"}], "properties": {"x": {}}}, ("only the key name", "a string")),
    ],
)
def test_behind_a_reference_the_right_schema_is_told_or_none(schema: dict[str, Any], told: tuple[str, str]) -> None:
    extra, missing = sorted(compile(schema).problems({"y": 1}), key=lambda each: each.found, reverse=True)
    assert (extra.expected, missing.expected) == told


def test_equal_schemas_are_compiled_once_and_changed_ones_again() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert compile(schema) is compile(json.loads(json.dumps(schema)))
    schema["properties"] = {"a": {"type": "integer"}}
    assert compile(schema).fits({"a": 1})


@pytest.mark.parametrize("key", [True, 1, None, 1.5])
def test_a_key_that_is_no_text_is_refused(key: Any) -> None:
    schemas: list[Any] = [{"properties": {key: {}}}, {key: 1}, {"anyOf": [{"properties": {"a": {"enum": [{key: 1}]}}}]}]
    for schema in schemas:
        with pytest.raises(InvalidSchema, match=f"of type {type(key).__name__}"):
            compile(schema)


def test_a_pattern_that_was_given_up_is_told_as_that() -> None:
    (problem,) = compile({"type": "string", "pattern": "^(a|a)*(?=b)b$"}).problems("a" * 40)
    assert "could not be tried" in problem.expected
    assert "regex" not in str(problem)


def test_a_mapping_that_is_no_dict_is_a_schema_too() -> None:
    from types import MappingProxyType

    assert not compile(MappingProxyType({"type": "object"})).fits(1)


# decode_once


def decoded(schema: dict[str, Any], value: str) -> Any:
    return decode_once({"properties": {"a": schema}}, {"a": value})["a"]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"b": 1}', {"b": 1}),
        ({"type": "integer"}, "3", 3),
        ({"type": "number"}, "3", 3),
        ({"type": "integer"}, "3.0", 3.0),
        ({"type": "boolean"}, "true", True),
        ({"type": ["null", "array"]}, "null", None),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "[]", []),
        ({"oneOf": [{"type": "integer"}, {"const": None}]}, "7", 7),
        ({"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"]}]}, "7", 7),
        ({"enum": [1, 2]}, "2", 2),
        ({"$ref": "#/properties/b"}, "[]", "[]"),
    ],
)
def test_a_string_is_decoded_where_the_schema_wants_another_type(schema: dict[str, Any], text: str, value: Any) -> None:
    """C83."""
    assert decoded(schema, text) == value
    assert type(decoded(schema, text)) is type(value)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer"}, "3.5"),
        ({"type": "integer"}, "three"),
        ({"type": "integer"}, '"3"'),
        ({"type": "array"}, '{"b": 1}'),
        ({"type": "array"}, "[1, 2"),
        ({"type": "object"}, "[" * 300),
        ({"type": "number"}, "NaN"),
        ({"type": "boolean"}, "True"),
        (True, "3"),
        ({"not": {"type": "string"}}, "3"),
        ({"$ref": "http://example.com/x"}, "3"),
        ({"$ref": "#/properties/a"}, "3"),
    ],
)
def test_a_string_stays_where_its_value_is_not_wanted_or_the_schema_is_unclear(schema: Any, text: str) -> None:
    assert decoded(schema, text) == text


def test_references_and_combined_objects_are_followed() -> None:
    schema = {
        "allOf": [{"properties": {"a": {"$ref": "#/$defs/list"}}}, {"$ref": "#/$defs/more"}],
        "$defs": {"list": {"type": "array"}, "more": {"properties": {"b": {"type": "integer"}}}},
    }
    assert decode_once(schema, {"a": "[1]", "b": "2", "c": "3"}) == {"a": [1], "b": 2, "c": "3"}
    assert decode_once({"additionalProperties": {"type": "integer"}}, {"x": "1"}) == {"x": 1}


def test_a_reference_is_read_where_it_stands_or_not_at_all() -> None:
    """Each of these properties may be a string: the validator says so, whatever `#/$defs/p` is elsewhere."""
    anchored = {"type": "object", "properties": {"a": {"$ref": "#p"}}, "$defs": {"p": {"$anchor": "p"}}}
    based = {
        "$defs": {"p": {"type": "array"}},
        "properties": {"a": {"$id": "inner", "$ref": "#/$defs/p", "$defs": {"p": {"type": "string"}}}},
    }
    through = {
        "$id": "https://outer.example/",
        "$defs": {"k": {"type": "array"}, "p": {"$id": "p", "$defs": {"k": True, "q": {"$ref": "#/$defs/k"}}}},
        "properties": {"a": {"$ref": "#/$defs/p/$defs/q"}},
    }
    beside: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"p": {}},
        "properties": {"a": {"$ref": "#/definitions/p", "type": "array"}},
    }
    before = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"const": [1]}}}
    within = {**beside, "properties": {"a": {"$id": "in", "allOf": [{"$ref": "#/definitions/q", "type": "array"}]}}}
    within["properties"]["a"]["definitions"] = {"q": {}}
    for schema in (anchored, based, through, beside, before, within):
        assert compile(schema).fits({"a": "[1]"})
        assert decode_once(schema, {"a": "[1]"}) == {"a": "[1]"}


def test_only_one_level_is_decoded_and_the_given_dict_stays() -> None:
    """C84: what comes out is what every later check sees."""
    arguments = {"a": '{"b": "[1]"}'}
    schema = {"properties": {"a": {"type": "object", "properties": {"b": {"type": "array"}}}}}
    assert decode_once(schema, arguments) == {"a": {"b": "[1]"}}
    assert arguments == {"a": '{"b": "[1]"}'}


STRINGY = st.sampled_from(
    [
        {"type": "string"},
        {"type": ["string", "object"]},
        {"anyOf": [{"type": "string"}, {"type": "array"}]},
        {"enum": ["[1]", 1]},
        {"allOf": [{"type": ["string", "integer"]}, {"minLength": 1}]},
        {"$ref": "#/$defs/text"},
        {"format": "date"},
        {},
        True,
    ]
)
JSON_TEXT = st.sampled_from(["1", "[1]", '{"a": 1}', "true", "null", '"x"', "{", "1.5"]) | st.text()


@given(st.dictionaries(st.text(max_size=5), st.tuples(STRINGY, JSON_TEXT)))
def test_a_property_that_may_be_a_string_is_never_touched(properties: dict[str, tuple[Any, str]]) -> None:
    schema = {
        "properties": {key: each for key, (each, _) in properties.items()},
        "$defs": {"text": {"type": "string"}},
    }
    arguments = {key: text for key, (_, text) in properties.items()}
    assert decode_once(schema, arguments) == arguments


KINDS = ["object", "array", "string", "number", "integer", "boolean", "null"]
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({}, optional={"type": st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1)})
    | st.fixed_dictionaries({"const": st.sampled_from([1, 1.5, "x", None, True, [], {}])}),
    lambda inner: st.fixed_dictionaries(
        {}, optional={k: st.lists(inner, min_size=1) for k in ("anyOf", "oneOf", "allOf")}
    ),
    max_leaves=6,
)


@given(SCHEMAS, st.sampled_from([1, 1.5, 2.0, "x", None, True, [], {}]))
def test_the_types_of_a_schema_hold_every_value_that_fits(schema: dict[str, Any], value: Any) -> None:
    schema = json.loads(json.dumps(schema))
    if isinstance(schema.get("type"), list):
        schema["type"] = sorted(set(schema["type"]))
    try:
        validator = compile(schema)
    except InvalidSchema:  # a type twice in an inner list
        return
    if validator.fits(value):
        kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
        names = {kinds.get(type(value), "null")} | ({"integer"} if value == 2.0 else set())
        assert names & json_types(schema, schema)


def test_extras_are_dropped_at_the_top_only() -> None:
    schema = {"properties": {"message": {"type": "object"}}}
    value = {"message": {"extra": 1}, "extra": 2}
    assert drop_extras(schema, value) == {"message": {"extra": 1}}
    assert drop_extras({}, {"a": 1}) == {}


# matcher


def test_a_pattern_is_searched_for_anywhere_in_the_text() -> None:
    assert matcher(r"fo+\b")("a foo b")
    assert not matcher("^b")("ab")
    assert matcher("(?i)É")("é")


@pytest.mark.parametrize("pattern", ["(", "[a", "*a", r"(a)\1", "(?=a)", "(a{1000}){1000}", "{"])
def test_a_pattern_that_cannot_be_matched_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        matcher(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*a*a*a*b", "(.*)*x"])
def test_no_pattern_takes_long(pattern: str) -> None:
    started = time.perf_counter()
    assert not matcher(pattern)("a" * 50_000 + "!")
    assert time.perf_counter() - started < 0.5
