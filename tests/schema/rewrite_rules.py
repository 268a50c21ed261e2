"""What each provider documents about the schemas it takes, as a check of its own: nothing here reads our profiles.

`broken(profile, schema)` gives the first rule that a schema breaks, or "".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

FORMATS = {
    "openai": "date-time time date duration email hostname ipv4 ipv6 uuid",
    "azure": "",
    "anthropic": "date-time time date duration email hostname uri ipv4 ipv6 uuid",
    "gemini": "date-time date time",
    "llguidance": "date-time time date duration email hostname ipv4 ipv6 uuid",
    "gbnf": "date date-time time uuid",
    "ollama": "date date-time time uuid",
    "xgrammar": "email date time date-time duration ipv4 ipv6 hostname uuid uri uri-reference uri-template "
    "json-pointer relative-json-pointer",
}
ALLOWED = {
    "openai": "type properties required additionalProperties items enum const anyOf $ref $defs description title "
    "pattern format multipleOf maximum exclusiveMaximum minimum exclusiveMinimum minItems maxItems",
    "azure": "type properties required additionalProperties items enum const anyOf $ref $defs description title",
    "anthropic": "type properties required additionalProperties items enum const anyOf allOf $ref $defs definitions "
    "description title default format pattern minItems",
    "gemini": "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum "
    "maximum anyOf oneOf properties additionalProperties required propertyOrdering",
    "llguidance": "anyOf allOf $ref $defs const enum type items prefixItems minItems maxItems properties required "
    "additionalProperties minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum "
    "description title",
    "gbnf": "anyOf $ref $defs const enum type items prefixItems minItems maxItems properties required "
    "additionalProperties minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum "
    "description title",
}
ALLOWED["ollama"] = ALLOWED["gbnf"]
ALLOWED["xgrammar"] = ALLOWED["gbnf"]
CLOSED = {"openai", "azure", "anthropic"}
STRICT = {"openai", "azure"}
TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
OWN = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
OWN["integer"] = OWN["number"]


def broken(profile: str, schema: dict[str, Any]) -> str:
    for path, node in nodes(schema, ""):
        for rule in (_keywords, _types, _enums, _objects, _arrays, _strings, _numbers, _references):
            if (why := rule(profile, node, path, schema)) is not None:
                return f"{path or 'root'}: {why}"
    return _whole(profile, schema) or _counts(profile, schema)


def nodes(node: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    assert isinstance(node, dict), path
    yield path, node
    for key in ("properties", "$defs"):
        for name, child in node.get(key, {}).items():
            yield from nodes(child, f"{path}/{key}/{name}")
    for key in ("anyOf", "prefixItems"):
        for at, child in enumerate(node.get(key, ())):
            yield from nodes(child, f"{path}/{key}/{at}")
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from nodes(node[key], f"{path}/{key}")


def kinds(node: dict[str, Any]) -> list[str]:
    named = node.get("type", [])
    return [named] if isinstance(named, str) else named


def _keywords(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    if extra := node.keys() - set(ALLOWED[profile].split()):
        return f"keywords {sorted(extra)}"
    if "$defs" in node and path:
        return "definitions below the root"
    if "$defs" in node and not all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in node["$defs"]):
        return "an unusual definition name"
    if not isinstance(node.get("description", ""), str):
        return "the description is no text"
    return None


def _types(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    if "$ref" in node or "anyOf" in node:
        beside = node.keys() - {"$ref", "anyOf", "description", "$defs"}
        return (
            f"{sorted(beside)} beside a reference or a union"
            if beside or len(node.keys() & {"$ref", "anyOf"}) == 2
            else None
        )
    if not kinds(node) or set(kinds(node)) - TYPES:
        return "no type"
    if len(set(kinds(node))) != len(kinds(node)):
        return "a type twice"
    if len(kinds(node)) > 1 and profile in (*CLOSED, "gemini") and {"object", "array"} & {*kinds(node)}:
        return "any value at all"
    fitting = {"type", "description", "enum", "$defs"}.union(*(OWN.get(kind, set()) for kind in kinds(node)))
    return f"{sorted(node.keys() - fitting)} of another type" if node.keys() - fitting else None


def _enums(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    if "enum" not in node:
        return None
    values = node["enum"]
    if not isinstance(values, list) or not values or any(isinstance(each, dict | list) for each in values):
        return "an enum of other things than scalars"
    if len({json.dumps(each) for each in values}) != len(values):
        return "a value twice in an enum"
    if profile == "gemini" and any(isinstance(each, bool) or each is None for each in values):
        return "an enum of other things than texts and numbers"
    for each in values:
        is_number = isinstance(each, int | float) and not isinstance(each, bool)
        fits = {"string": isinstance(each, str), "boolean": isinstance(each, bool), "null": each is None}
        if not any(fits.get(kind, is_number) for kind in kinds(node)):
            return f"{each!r} in an enum of type {kinds(node)}"
    return None


def _objects(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    if "object" not in kinds(node) or (len(kinds(node)) > 1 and "properties" not in node):
        return None
    properties, required, extras = node.get("properties"), node.get("required"), node.get("additionalProperties")
    if not isinstance(properties, dict) or not isinstance(required, list) or extras is None:
        return "an object without properties, required or additionalProperties"
    if set(required) - properties.keys() or len(set(required)) != len(required):
        return "required names that are no properties"
    if profile in CLOSED and extras is not False:
        return "an open object"
    if profile in STRICT and required != [*properties]:
        return "not every property is required"
    if profile == "anthropic" and not all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in properties):
        return "an unusual property name"
    if profile in ("gbnf", "ollama"):
        if extras is not False and not all(re.fullmatch(r"[A-Za-z0-9_ ]+", name) for name in properties):
            return "an unusual property name beside free ones"
        if extras is False and not properties:
            return "a closed object without properties"
    return None


def _arrays(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    if kinds(node) != ["array"]:
        return None
    least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
    if least > most:
        return "fewer items than at least"
    if profile in CLOSED and "items" not in node:
        return "a list without items"
    if "prefixItems" not in node:
        return None if "items" in node else "a list without items"
    if profile in ("gbnf", "ollama") and ("items" in node or not least == most == len(node["prefixItems"])):
        return "a tuple of several lengths"
    return None


def _strings(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    if "format" in node and node["format"] not in FORMATS[profile].split():
        return f"the format {node['format']}"
    if "pattern" in node:
        pattern = node["pattern"]
        re.compile(pattern)
        if not pattern.startswith("^") or not pattern.endswith("$"):
            return "a pattern that is not anchored"
        outside = re.sub(r"\[[^]]*\]", "", pattern)
        if "." in outside or re.search(r'\(\?|\\|["\x00-\x1f\x7f-\U0010ffff]|\[\^', pattern):
            return f"a pattern that dialects read differently: {pattern}"
    both = node.keys() & {"pattern", "format"} and node.keys() & {"minLength", "maxLength"}
    if len(node.keys() & {"pattern", "format"}) > 1 or (profile in ("gbnf", "ollama", "xgrammar") and both):
        return "several rules for one string, of which the grammar keeps one"
    if profile in ("gbnf", "ollama") and any(node.get(key, 0) >= 2_000 for key in ("minLength", "maxLength")):
        return "a repetition of 2,000 or more"
    return None


def _numbers(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    ranges = node.keys() & {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    if profile in ("gbnf", "ollama", "xgrammar") and ranges and "integer" not in kinds(node):
        return "bounds of a number that is no integer"
    if "integer" in kinds(node) and any(not isinstance(node[key], int) for key in ranges):
        return "an integer with a bound between integers"
    if any(abs(node[key]) > 2**53 for key in ranges):
        return "a bound beyond exact integers"
    for key, most in (("minItems", 1_996), ("maxItems", 1_996)):
        if profile in ("gbnf", "ollama") and node.get(key, 0) > most:
            return "a repetition of 2,000 or more"
    if profile == "anthropic" and node.get("minItems", 0) not in (0, 1):
        return "minItems other than 0 and 1"
    return None


def _references(profile: str, node: dict[str, Any], path: str, schema: dict[str, Any]) -> str | None:
    if "$ref" not in node:
        return None
    name = node["$ref"].removeprefix("#/$defs/")
    if name not in schema.get("$defs", {}) or not node["$ref"].startswith("#/$defs/"):
        return f"a reference to {node['$ref']}"
    return "a reference with siblings" if node.keys() - {"$ref"} else None


def _whole(profile: str, schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return "root: a reference"
    if "anyOf" in schema:
        if profile in STRICT:
            return "root: a union"
        return "" if all("object" in kinds(each) for each in schema["anyOf"]) else "root: a union of other things"
    if kinds(schema) != ["object"]:
        return "root: no object"
    if profile in ("anthropic", "gemini") and _is_recursive(schema):
        return "a recursive definition"
    if loop := _left_loop(schema):
        return f"the definition {loop} starts with itself"
    return ""


def _counts(profile: str, schema: dict[str, Any]) -> str:
    every = [node for _, node in nodes(schema, "")]
    properties = sum(len(node.get("properties", ())) for node in every)
    if profile == "anthropic":
        optional = sum(len(set(node.get("properties", ())) - set(node.get("required", ()))) for node in every)
        unions = sum("anyOf" in node or isinstance(node.get("type"), list) for node in every)
        return "too many optional parameters" if optional > 24 else "too many unions" if unions > 16 else ""
    if profile == "gemini":
        return "too many items" if sum(node.get("maxItems", 0) for node in every) > 960 else ""
    if profile not in STRICT:
        return ""
    most_properties, most_values, most_levels = (5_000, 1_000, 10) if profile == "openai" else (100, 500, 5)
    enums = [node["enum"] for node in every if "enum" in node]
    texts = [sum(len(each) for each in values if isinstance(each, str)) for values in enums]
    names = sum(len(name) for node in every for key in ("properties", "$defs") for name in node.get(key, ()))
    if properties > most_properties or sum(map(len, enums)) > most_values or sum(texts) + names > 120_000:
        return "more properties, enum values or text than allowed"
    if any(len(values) > 250 and text > 15_000 for values, text in zip(enums, texts, strict=True)):
        return "more text in an enum than allowed"
    return f"more than {most_levels} levels" if _levels(schema, schema, ()) > most_levels else ""


def _below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from node.get("properties", {}).values()
    yield from node.get("prefixItems", ())
    yield from (node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), dict))


def _levels(node: dict[str, Any], schema: dict[str, Any], doing: tuple[str, ...]) -> int:
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        return 0 if name in doing else _levels(schema["$defs"][name], schema, (*doing, name))
    if "anyOf" in node:
        return max(_levels(each, schema, doing) for each in node["anyOf"])
    own = 1 if {"object", "array"} & {*kinds(node)} else 0
    return own + max((_levels(each, schema, doing) for each in _below(node)), default=0)


def _is_recursive(schema: dict[str, Any]) -> bool:
    used = {
        name: {node["$ref"].removeprefix("#/$defs/") for _, node in nodes(body, "") if "$ref" in node}
        for name, body in schema.get("$defs", {}).items()
    }
    return _loop(used) is not None


def _left_loop(schema: dict[str, Any]) -> str | None:
    """A definition that refers to itself without going into a property or item first."""

    def firsts(node: dict[str, Any]) -> set[str]:
        if "$ref" in node:
            return {node["$ref"].removeprefix("#/$defs/")}
        return set().union(*(firsts(each) for each in node.get("anyOf", ())))

    return _loop({name: firsts(body) for name, body in schema.get("$defs", {}).items()})


def _loop(used: dict[str, set[str]]) -> str | None:
    for start in used:
        left, seen = [*used[start]], set[str]()
        while left:
            name = left.pop()
            if name == start:
                return start
            if name not in seen:
                seen.add(name)
                left.extend(used[name])
    return None
