"""The schema that a grammar server enforces: the union of the allowed actions, every string and list in it bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vancetope.messages import ToolSpec

LIST_BOUND = 32
_SUBSCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SUBSCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def action_schema(
    actions: Sequence[tuple[ToolSpec, int]], *, thought: int | None = None, compact: bool = False
) -> dict[str, Any]:
    """One object: the tool's name first, then its arguments, with a bounded `thought` before both if `thought` gives
    its longest length. Each tool comes with the longest length of its strings, in characters: without bounds a small
    model fills its window with one string. `compact` forbids white space between the parts of the JSON, in the words of
    llguidance, the grammar engine of our own server; other servers may refuse them."""
    definitions: dict[str, Any] = {}
    branches = [_branch(each, bound, thought, definitions) for each, bound in actions]
    schema = branches[0] if len(branches) == 1 else {"anyOf": branches}
    schema |= {"$defs": definitions} if definitions else {}
    return schema | ({"x-guidance": {"whitespace_flexible": False}} if compact else {})


def _branch(spec: ToolSpec, bound: int, thought: int | None, definitions: dict[str, Any]) -> dict[str, Any]:
    prefix = f"{spec.name}."
    parameters = dict(spec.parameters)
    for key in ("$defs", "definitions"):
        for name, each in parameters.pop(key, {}).items():
            definitions[prefix + name] = bounded(each, bound, prefix)
    arguments = bounded(parameters, bound, prefix)
    arguments.setdefault("type", "object")
    arguments.setdefault("additionalProperties", False)
    properties: dict[str, Any] = {"thought": {"type": "string", "maxLength": thought}} if thought else {}
    properties |= {"tool": {"const": spec.name}, "arguments": arguments}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def bounded(schema: Any, bound: int, prefix: str = "", items: int = LIST_BOUND) -> Any:
    """The same schema with a bound on every string (in characters) and every list (in items), and its local references
    moved under `prefix`.

    A bound gives way to what the schema itself asks for at least.
    """
    if not isinstance(schema, Mapping):
        return schema
    out = {key: _moved(key, value, prefix) for key, value in schema.items() if key not in ("default", "title")}
    for key in _SUBSCHEMAS:
        if key in out:
            out[key] = bounded(out[key], bound, prefix, items)
    for key in _SUBSCHEMA_LISTS:
        if key in out:
            out[key] = [bounded(each, bound, prefix, items) for each in out[key]]
    for key in _SUBSCHEMA_MAPS:
        if key in out:
            out[key] = {name: bounded(each, bound, prefix, items) for name, each in out[key].items()}
    kinds = out.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if "string" in kinds and "enum" not in out and "const" not in out:
        out["maxLength"] = max(min(out.get("maxLength", bound), bound), _least(out, "minLength"))
    if "array" in kinds:
        least = max(_least(out, "minItems"), _least(out, "minContains"))
        out["maxItems"] = max(min(out.get("maxItems", items), items), least)
    return out


def _least(schema: Any, keyword: str) -> Any:
    """The least that a schema wants of something: above our bound, a grammar would allow no value at all."""
    if not isinstance(schema, Mapping):
        return 0
    return max((schema.get(keyword, 0), *(_least(each, keyword) for each in schema.get("allOf", ()))))


def _moved(key: str, value: Any, prefix: str) -> Any:
    if key == "$ref" and isinstance(value, str) and value.startswith(("#/$defs/", "#/definitions/")):
        return f"#/$defs/{prefix}{value.rsplit('/', 1)[1]}"
    return value


def stopped(value: Any, schema: Any, bound: int, items: int | None = None) -> bool:
    """Whether a string in this value stopped at our bound and not at one that the schema sets itself; with `items`,
    also whether a list did."""
    own: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    match value:
        case str():
            fixed = "enum" in own or "const" in own
            return not fixed and len(value) >= bound and own.get("maxLength", bound + 1) > bound
        case dict():
            return any(stopped(each, own.get("properties", {}).get(key), bound, items) for key, each in value.items())
        case list():
            full = items is not None and len(value) >= items and own.get("maxItems", items + 1) > items
            return full or any(stopped(each, own.get("items"), bound, items) for each in value)
        case _:
            return False
