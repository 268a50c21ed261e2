"""Random schemas, each with an instance made to fit it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Pair = tuple[Any, Any]
"""A schema and an instance that fits it, nearly always."""

NAMES = ("a", "b", "c", "d", "$ref", "x/y~z", "long name", "ß")
WORDS = st.text(alphabet='ab"\\ \né%', max_size=6)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-9, 9, width=16), WORDS)
PATTERNS = {
    "^[a-c]{1,3}$": "abc",
    r"^\d{2}-\w+$": "12-x_1",
    "^(red|green)?$": "red",
    "b": "abc",
    "^a|b$": "ax",
    "^[^x]*$": "yes",
    r"^\s.+$": " any",
}
REMARKS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {"description": "About it."}, {"title": "T", "default": 1, "$comment": "c"}]
)


@st.composite
def texts(draw: st.DrawFn) -> Pair:
    value = draw(WORDS)
    match draw(st.integers(0, 4)):
        case 0:
            return {"type": "string"}, value
        case 1:
            least, most = draw(st.integers(0, len(value))), draw(st.integers(len(value), 3_000))
            return {"type": "string", "minLength": least, "maxLength": most}, value
        case 2:
            pattern = draw(st.sampled_from([*PATTERNS]))
            return {"type": "string", "pattern": pattern, "maxLength": 9}, PATTERNS[pattern]
        case 3:
            return {"type": "string", "format": draw(st.sampled_from(["date", "uri", "odd"]))}, "2024-01-31"
        case _:
            return {"type": "string", "enum": draw(st.permutations([value, "other", "third"]))}, value


@st.composite
def numbers(draw: st.DrawFn) -> Pair:
    kind = draw(st.sampled_from(["integer", "number"]))
    value = draw(st.integers(-99, 99)) if kind == "integer" else draw(st.floats(-99, 99, width=16))
    schema: dict[str, Any] = {"type": kind}
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = value - draw(st.sampled_from([0.5, 1, 3]))
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = value + draw(st.sampled_from([0.5, 1, 3]))
    if kind == "integer" and draw(st.booleans()):
        schema["multipleOf"] = 1
    return schema, value


@st.composite
def literals(draw: st.DrawFn) -> Pair:
    value = draw(SCALARS | st.sampled_from([{}, [], {"a": [1, None]}, [[1], {"b": "c"}]]))
    if draw(st.booleans()):
        return {"const": value}, value
    return {"enum": [value, "never", 12.5] if value not in ("never", 12.5) else [value]}, value


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
    properties: dict[str, Any] = {}
    value: dict[str, Any] = {}
    required = []
    for name in names:
        properties[name], each = draw(inner)
        if draw(st.booleans()):
            required.append(name)
            value[name] = each
        elif draw(st.booleans()):
            value[name] = each
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required} | draw(REMARKS)
    extra = draw(st.sampled_from(["none", "none", "silent", "schema", "true", "pattern"]))
    if extra == "none":
        schema["additionalProperties"] = False
    elif extra == "schema":
        schema["additionalProperties"], value["extra"] = draw(inner)
    elif extra == "true":
        schema["additionalProperties"], value["extra"] = True, draw(SCALARS)
    elif extra == "pattern":
        schema["patternProperties"] = {"^extra": {"type": "integer"}}
        value["extra"] = 4
    elif draw(st.booleans()):
        value["extra"] = draw(SCALARS)
    if draw(st.booleans()):
        schema["minProperties"] = draw(st.integers(0, len(value.keys() & properties.keys())))
    if len(names) > 1 and (names[0] not in value or names[1] in value):
        schema |= draw(st.sampled_from([{}, {"dependentRequired": {names[0]: [names[1]]}}]))
    return schema, value


@st.composite
def lists(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    schema, item = draw(inner)
    count = draw(st.integers(0, 3))
    if draw(st.booleans()):
        bounds = {"minItems": draw(st.integers(0, count)), "maxItems": draw(st.integers(count, 9))}
        return {"type": "array", "items": schema} | bounds | draw(REMARKS), [item] * count
    first, head = draw(inner)
    tuple_schema: dict[str, Any] = {"type": "array", "prefixItems": [first, schema]}
    rest = draw(st.sampled_from(["closed", "open", "more"]))
    if rest == "closed":
        return tuple_schema | {"items": False, "minItems": draw(st.integers(0, 2))}, [head, item]
    if rest == "open":
        return tuple_schema | {"items": schema}, [head, item, item][: count + 1]
    return tuple_schema | {"items": {"type": ["string", "null"]}}, [head, item, "more", None]


@st.composite
def unions(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    pairs = draw(st.lists(inner, min_size=1, max_size=3))
    schema: dict[str, Any] = {draw(st.sampled_from(["anyOf", "oneOf"])): [each for each, _ in pairs]}
    return schema | draw(REMARKS), draw(st.sampled_from([value for _, value in pairs]))


@st.composite
def conjunctions(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    schema, value = draw(inner)
    if not isinstance(schema, dict):
        return schema, value
    keys = [*schema]
    first = {key: schema[key] for key in keys if draw(st.booleans())}
    rest = {key: schema[key] for key in keys if key not in first}
    together = draw(st.sampled_from(["allOf", "beside"]))
    # A closed object and its properties belong together.
    if "additionalProperties" in schema:
        first, rest = schema, {"description": "More."}
    return ({"allOf": [first, rest]} if together == "allOf" else {"allOf": [rest], **first}), value


@st.composite
def conditions(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    """A tagged object whose other properties depend on the tag."""
    (left, one), (right, other) = draw(inner), draw(inner)
    tag = draw(st.sampled_from(["l", "r"]))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"tag": {"enum": ["l", "r"]}},
        "required": ["tag"],
        "if": {"properties": {"tag": {"const": "l"}}},
        "then": {"properties": {"one": left}, "required": ["one"]},
        "else": {"properties": {"other": right}},
    }
    if draw(st.booleans()):
        schema = {key: value for key, value in schema.items() if key not in ("if", "then", "else")}
        schema["oneOf"] = [
            {"properties": {"tag": {"const": "l"}, "one": left}, "required": ["one"]},
            {"properties": {"tag": {"const": "r"}, "other": right}},
        ]
    value = {"tag": "l", "one": one} if tag == "l" else {"tag": "r", "other": other}
    if tag == "r" and draw(st.booleans()):
        del value["other"]
    return schema, value


def nested(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    return st.one_of(objects(inner), lists(inner), unions(inner), conjunctions(inner), conditions(inner))


LEAVES: st.SearchStrategy[Pair] = st.one_of(
    texts(),
    numbers(),
    literals(),
    st.sampled_from([({"type": "null"}, None), ({"type": ["string", "null"]}, None), ({"type": "boolean"}, False)]),
    st.sampled_from([({"type": ["integer", "array"], "items": {"type": "string"}}, ["s"]), ({}, 1), (True, None)]),
    st.sampled_from([({"$ref": "#/$defs/named"}, {"id": 1}), ({"$ref": "#/$defs/maybe"}, None)]),
    st.sampled_from([({"$ref": "#/$defs/tree"}, {"kids": [{"kids": []}]}), ({"$ref": "#/$defs/tree"}, {})]),
    st.just(({"$ref": "#/$defs/named", "properties": {"more": {"type": "string"}}}, {"id": 2, "more": "m"})),
)

DEFINITIONS: dict[str, Any] = {
    "named": {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["id"],
    },
    "maybe": {"anyOf": [{"$ref": "#/$defs/named"}, {"type": "null"}]},
    "tree": {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}, "up": {"$ref": "#/$defs/maybe"}},
        "additionalProperties": False,
    },
}


@st.composite
def schemas(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema of objects with an instance; the instance fits unless chance made two options of a `oneOf` fit."""
    inner = st.recursive(LEAVES, nested, max_leaves=6)
    schema, value = draw(st.one_of(objects(inner), conditions(inner), objects(inner)))
    return {**schema, "$defs": DEFINITIONS}, value
