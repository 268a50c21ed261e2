"""The part of a schema that speaks of one place in a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vancetope.schema.problems import resolved

HOPS = 8


def excerpt(schema: Mapping[str, Any], pointer: str) -> Any:
    """The subschema for the value at this JSON pointer, as far down as `properties` and `items` lead; definitions are
    left out of it. Where no way leads further, the last part that was reached."""
    at: Any = schema
    for step in pointer.split("/")[1:]:
        below = _below(_target(at, schema), step.replace("~1", "/").replace("~0", "~"))
        if below is None:
            break
        at = below
    at = _target(at, schema)
    hidden = ("$defs", "definitions", "$schema", "$id")
    return {key: each for key, each in at.items() if key not in hidden} if isinstance(at, Mapping) else at


def _below(at: Any, step: str) -> Any:
    if not isinstance(at, Mapping):
        return None
    properties = at.get("properties")
    if isinstance(properties, Mapping) and step in properties:
        return properties[step]
    prefix = at.get("prefixItems")
    if step.isdecimal() and isinstance(prefix, list) and int(step) < len(prefix):
        return prefix[int(step)]
    items = at.get("items") if step.isdecimal() else at.get("additionalProperties")
    return items if isinstance(items, Mapping) else None


def _target(at: Any, root: Mapping[str, Any]) -> Any:
    for _ in range(HOPS):
        if not isinstance(at, Mapping) or not isinstance(at.get("$ref"), str) or not at["$ref"].startswith("#"):
            return at
        named = resolved(root, at["$ref"])
        if named is None:  # only the validator knows what it names
            return at
        at = named
    return at
