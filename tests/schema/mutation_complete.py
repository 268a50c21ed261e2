"""Whether a container of a value has all that its schema describes for it: decided here, and not by the extractor.

A comment says nothing wrong in an object or list that is complete. In any other it may stand for entries that were left
out: in words that no list knows, since there are too many languages for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.schema.mutation_text import Instance, Path, Token, Tokens

# With one of these a schema is not plain, and what is hard to tell is not complete.
_HARD = frozenset(
    {
        *("$dynamicRef", "$recursiveRef", "allOf", "anyOf", "contains", "dependencies", "dependentSchemas", "else"),
        *("if", "not", "oneOf", "patternProperties", "then", "unevaluatedItems"),
    }
)
_STRUCTURE = ("items", "prefixItems", "properties", "additionalProperties", "unevaluatedProperties")


def is_complete(instance: Instance, path: Path) -> bool:
    """Whether nothing that the schema describes is missing from the container at this path of the value."""
    container = instance.value
    schema = _plain(instance.schema, instance.schema)
    for step in path:
        schema = _plain(_child(schema, step), instance.schema)
        container = container[step]
    return _has_all(schema, container) if isinstance(container, dict) else _is_of_length(schema, len(container))


def speaks_of(tokens: Tokens, place: int) -> list[Path]:
    """The containers that a comment behind the token at this place may speak of: the one in which it stands, and the
    ones that end just before it and begin just behind it."""
    inside: list[Path] = []
    for token in tokens[: place + 1]:
        if token.kind == "open":
            inside.append(token.path)
        elif token.kind == "close":
            inside.pop()
    before = [each for each in tokens[max(0, place - 1) : place + 1] if each.kind != "comma"][-1:]
    behind = [each for each in tokens[place + 1 : place + 5] if each.kind not in ("key", "colon", "comment")][:1]
    neighbours = [each.path for each in before if each.kind == "close"]
    neighbours += [each.path for each in behind if each.kind == "open"]
    return [*inside[-1:], *neighbours]


def may_lack_content(instance: Instance, tokens: tuple[Token, ...], place: int) -> bool:
    """Whether a comment behind this token may stand for something that the schema describes and the value lacks."""
    return not all(is_complete(instance, path) for path in speaks_of(tokens, place))


def _plain(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that a local reference leads to; without a keyword unless all of it is easy to tell."""
    for _ in range(10):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        schema = None if schema.keys() & {*_HARD, *_STRUCTURE} else _named(schema["$ref"], root)
    return schema if isinstance(schema, dict) and not schema.keys() & {*_HARD, "$ref"} else {}


def _named(reference: str, root: Mapping[str, Any]) -> Any:
    first, *steps = reference.split("/")
    at: Any = root if first == "#" else None
    for step in steps:
        at = at.get(step) if isinstance(at, dict) else None
    return None if isinstance(at, dict) and "$id" in at and at is not root else at


def _child(schema: dict[str, Any], step: str | int) -> Any:
    if isinstance(step, str):
        return schema.get("properties", {}).get(step)
    return None if "prefixItems" in schema else schema.get("items")


def _has_all(schema: dict[str, Any], value: dict[str, Any]) -> bool:
    declared = schema.get("properties") or {}
    further = (schema.get("additionalProperties", False), schema.get("unevaluatedProperties", False))
    return bool(declared) and set(declared) == set(value) and further == (False, False)


def _is_of_length(schema: dict[str, Any], length: int) -> bool:
    fixed = schema.get("prefixItems")
    if isinstance(fixed, list):
        return schema.get("items") is False and len(fixed) == length
    return schema.get("minItems") == schema.get("maxItems") == length


# What no schema describes, nobody misses: in an open object such members may be there or not.


def is_described(instance: Instance, path: Path, key: str | int) -> bool:
    """Whether some part of the schema that may hold for the container at this path speaks of this member, or of
    members that it does not name. Of every item of a list it does."""
    at = _possible([instance.schema], instance.schema)
    for step in path:
        at = _possible([below for each in at for below in _children(each, step)], instance.schema)
    return isinstance(key, int) or any(_speaks_of(each, key) for each in at)


def _possible(schemas: list[Any], root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """These schemas, and all that may hold in their place."""
    found: list[dict[str, Any]] = []
    left = [*schemas]
    while left:
        each = left.pop()
        if not isinstance(each, dict) or any(each is other for other in found):
            continue
        found.append(each)
        left += [_named(each["$ref"], root)] if "$ref" in each else []
        left += [each.get(keyword) for keyword in ("if", "then", "else", "not")]
        for keyword in ("allOf", "anyOf", "oneOf"):
            left += each.get(keyword, [])
        for keyword in ("dependencies", "dependentSchemas"):
            left += each.get(keyword, {}).values()
    return found


def _children(schema: dict[str, Any], step: str | int) -> Iterator[Any]:
    if isinstance(step, str):
        yield schema.get("properties", {}).get(step)
        yield from schema.get("patternProperties", {}).values()
        yield from (schema.get(keyword) for keyword in ("additionalProperties", "unevaluatedProperties"))
        return
    for keyword in ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"):
        below = schema.get(keyword)
        yield from below if isinstance(below, list) else [below]


def _speaks_of(schema: dict[str, Any], key: str) -> bool:
    further = (schema.get("additionalProperties", False), schema.get("unevaluatedProperties", False))
    return key in schema.get("properties", {}) or "patternProperties" in schema or further != (False, False)
