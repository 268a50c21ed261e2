"""Keywords that see what the others have looked at."""

from __future__ import annotations

from tests.schema.suite_group import Group

GROUPS = (
    Group(
        "unevaluatedProperties",
        "names of every branch that holds are known",
        {
            "properties": {"a": {}},
            "allOf": [{"properties": {"b": {"type": "integer"}}}],
            "anyOf": [
                {"properties": {"c": {"const": 1}}, "required": ["c"]},
                {"properties": {"d": {"const": 1}}, "required": ["d"]},
                {},
            ],
            "unevaluatedProperties": False,
        },
        ({}, {"a": 1, "b": 1}, {"c": 1}, {"c": 1, "d": 1}, {"a": 0, "d": 1}, ["x"]),
        ({"x": 1}, {"a": 1, "x": 1}, {"b": "1"}, {"c": 2}, {"c": 1, "d": 2}),
    ),
    Group(
        "unevaluatedProperties",
        "through references and definitions",
        {
            "$ref": "#/$defs/base",
            "properties": {"more": {"type": "string"}},
            "unevaluatedProperties": False,
            "$defs": {"base": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}},
        },
        ({"id": 1}, {"id": 1, "more": ""}, {"id": 2.0}, "no object"),
        ({}, {"id": 1, "mode": ""}, {"id": 1, "more": 1}, {"more": ""}),
    ),
    Group(
        "unevaluatedProperties if then else",
        "the test itself has looked at its properties where it holds",
        {
            "if": {"properties": {"kind": {"const": "dog"}}, "required": ["kind"]},
            "then": {"properties": {"barks": {"type": "boolean"}}},
            "else": {"properties": {"lives": {"type": "integer"}}},
            "unevaluatedProperties": False,
        },
        ({"kind": "dog"}, {"kind": "dog", "barks": True}, {"lives": 9}, {}),
        ({"kind": "cat"}, {"kind": "dog", "lives": 9}, {"barks": True}, {"kind": "cat", "lives": 9}),
    ),
    Group(
        "unevaluatedProperties dependentSchemas",
        "a dependent schema counts only where its name is there",
        {
            "properties": {"card": {}},
            "dependentSchemas": {"card": {"properties": {"pin": {"type": "integer"}}}},
            "unevaluatedProperties": False,
        },
        ({}, {"card": 1}, {"card": 1, "pin": 1234}, []),
        ({"pin": 1234}, {"card": 1, "pin": "1234"}, {"card": 1, "pan": 1}, {"x": 1}),
    ),
    Group(
        "unevaluatedProperties oneOf",
        "what a failed branch looked at stays unknown",
        {
            "oneOf": [
                {"properties": {"b": {"type": "string"}}, "required": ["b"]},
                {"properties": {"c": {"type": "string"}}, "required": ["c"]},
            ],
            "unevaluatedProperties": False,
        },
        ({"b": "x"}, {"c": "x"}, {"b": ""}, {"c": "b"}),
        ({}, {"b": "x", "c": 1}, {"b": 1, "c": "x"}, {"b": "x", "c": "x"}, {"b": "x", "d": 1}),
    ),
    Group(
        "unevaluatedProperties not",
        "what a denial looked at stays unknown",
        {"not": {"not": {"properties": {"a": {"type": "string"}}}}, "unevaluatedProperties": False},
        ({}, [], "a", None),
        ({"a": "x"}, {"a": 1}, {"b": "x"}, {"": ""}),
    ),
    Group(
        "unevaluatedProperties",
        "a schema judges the values that nobody looked at",
        {"patternProperties": {"^s_": {"type": "string"}}, "unevaluatedProperties": {"type": "number", "minimum": 1}},
        ({}, {"s_a": ""}, {"n": 1}, {"s_a": "", "n": 1.5, "m": 2}),
        ({"s_a": 1}, {"n": 0}, {"n": "1"}, {"s_a": "", "n": None}),
    ),
    Group(
        "unevaluatedProperties additionalProperties",
        "whoever takes the extra ones leaves none",
        {"allOf": [{"additionalProperties": {"type": "integer"}}], "unevaluatedProperties": False},
        ({}, {"a": 1}, {"a": 1, "b": 2}, "a"),
        ({"a": "1"}, {"a": 1, "b": None}, {"a": 1.5}, {"a": []}),
    ),
    Group(
        "unevaluatedProperties",
        "a cousin sees nothing",
        {"allOf": [{"properties": {"a": {}}}, {"unevaluatedProperties": False}]},
        ({}, [], "a", 0),
        ({"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {"": None}),
    ),
    Group(
        "unevaluatedProperties",
        "every level is closed by itself",
        {
            "properties": {"in": {"properties": {"x": {}}, "unevaluatedProperties": False}},
            "unevaluatedProperties": {"type": "null"},
        },
        ({}, {"in": {"x": 1}}, {"y": None}, {"in": {}, "y": None}),
        ({"in": {"y": None}}, {"y": 1}, {"in": {"x": 1, "y": 1}}, {"in": {"x": 1}, "y": 1}),
    ),
    Group(
        "unevaluatedItems prefixItems",
        "items beyond every prefix that holds",
        {
            "prefixItems": [{"type": "string"}],
            "allOf": [{"prefixItems": [True, {"type": "integer"}]}],
            "unevaluatedItems": False,
        },
        ([], ["a"], ["a", 1], ["", 0], {"2": 1}),
        (["a", 1, 2], [1], ["a", "b"], ["a", 1, None]),
    ),
    Group(
        "unevaluatedItems contains",
        "an item that contains has found is known",
        {"prefixItems": [True], "contains": {"type": "string"}, "unevaluatedItems": False},
        (["a"], [1, "a"], ["a", "b", "c"], [None, "a", "b"]),
        ([], [1], ["a", 1], [1, "a", 2]),
    ),
    Group(
        "unevaluatedItems",
        "a schema judges the rest",
        {
            "anyOf": [{"prefixItems": [{"const": 0}]}, {"prefixItems": [{"const": 1}, {"const": 1}]}],
            "unevaluatedItems": {"type": "string"},
        },
        ([], [0], [0, "a"], [1, 1, "a"], [1, 1]),
        ([0, 0], [1, "a"], [1, 1, 1], [2]),
    ),
    Group(
        "unevaluatedItems items",
        "items leaves nothing over",
        {"allOf": [{"items": {"type": "integer"}}], "unevaluatedItems": False},
        ([], [1], [1, 2, 3], "a"),
        (["a"], [1, None], [1.5], [1, 2, []]),
    ),
    Group(
        "unevaluatedItems if then else",
        "the branch that is taken counts",
        {
            "if": {"prefixItems": [{"const": "pair"}], "minItems": 1},
            "then": {"prefixItems": [True, {"type": "integer"}, {"type": "integer"}]},
            "else": {"prefixItems": [{"type": "null"}]},
            "unevaluatedItems": False,
        },
        (["pair"], ["pair", 1, 2], [None], []),
        (["pair", 1, 2, 3], [None, 1], ["pair", "1"], ["single"]),
    ),
    Group(
        "unevaluatedItems unevaluatedProperties",
        "the other kinds of value are left alone",
        {"unevaluatedItems": False, "unevaluatedProperties": False},
        ([], {}, "a", 1, None, True),
        ([1], {"a": 1}, [None], {"": {}}),
    ),
)
