"""Whether an object or a list has all that its schema describes for it, so that nothing can have been left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from vancetope.schema.problems import resolved
from vancetope.schema.tidy import Comments
from vancetope.schema.validate import as_read, json_types

_MANY = 64  # subschemas that hold for one value; where there are more, no more is said about it
# Keywords that may bring further subschemas to a value, besides those that are followed.
_OTHERS = frozenset(
    ["$dynamicRef", "$recursiveRef", "dependencies", "dependentSchemas", "else", "if", "not", "then"],
)

_Subschema: TypeAlias = tuple[Mapping[str, Any], Any]  # with what its references start from


def nothing_left_out(comments: Comments, value: Any, schema: Any) -> bool:
    """Whether each container of this value that has comments in it is complete in the schema.

    An object is, if it has the properties that are declared and no others, and the schema describes no further ones; in
    an open schema that does not speak of further ones, none are missed. A list is, if it may not be longer. `value`
    fits `schema`.
    """
    return _complete(comments, value, [(schema, schema)], known=True)


def is_closed_off(value: dict[str, Any], schema: Any) -> bool:
    """Whether this object, which fits the schema, has all the properties that it knows, and it forbids others."""
    return _is_full(value, _Place.of([(schema, schema)], "object", known=False))


@dataclass(frozen=True, slots=True)
class _Place:
    """The subschemas that certainly hold for a value; `known` if there are no others."""

    schemas: tuple[_Subschema, ...]
    known: bool

    @classmethod
    def of(cls, given: list[_Subschema], kind: str, *, known: bool) -> _Place:
        """Those given, with what they refer to: by `$ref`, by `allOf`, and by a union of which only one branch may be
        of this type."""
        found: list[_Subschema] = []
        left: list[tuple[Any, Any]] = list(given)
        while left:
            schema, root = left.pop()
            if not isinstance(schema, Mapping):
                continue
            if len(found) == _MANY:
                return cls(tuple(found), known=False)
            schema, root = as_read(schema, root)
            found.append((schema, root))
            known = known and schema.keys().isdisjoint(_OTHERS)
            for options in _options(schema, root, kind):
                if len(options) == 1:
                    left.append((options[0], root))
                else:
                    known = False
        return cls(tuple(found), known)


def _options(schema: Mapping[str, Any], root: Any, kind: str) -> Iterator[list[Any]]:
    """What holds in place beside this schema: of each of these lists one, whichever it is."""
    if "$ref" in schema:
        reference = schema["$ref"]
        target = resolved(root, reference) if isinstance(reference, str) and reference.startswith("#") else None
        yield [] if target is None else [target]
    yield from ([each] for each in _list(schema, "allOf"))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            yield [each for each in _list(schema, union) if kind in json_types(each, root)]


def _complete(comments: Comments, value: Any, given: list[_Subschema], *, known: bool) -> bool:
    place = _Place.of(given, "object" if isinstance(value, dict) else "array", known=known)
    if comments.here and not _is_full(value, place):
        return False
    for step, inner in comments.below:
        below, all_known = _below(place, step)
        if not _complete(inner, value[step], below, known=all_known):
            return False
    return True


def _is_full(value: Any, place: _Place) -> bool:
    if isinstance(value, list):
        return any(_longest(schema) == len(value) for schema, _ in place.schemas)
    declared = [(_names(schema), schema) for schema, _ in place.schemas]
    if any(names == value.keys() and _closes(schema) for names, schema in declared if names):
        return True
    if not place.known or any(_describes_more(schema) for _, schema in declared):
        return False
    names = set().union(*(names for names, _ in declared))
    return bool(names) and names == value.keys()


def _names(schema: Mapping[str, Any]) -> set[str]:
    properties = schema.get("properties")
    return set(properties) if isinstance(properties, Mapping) else set()


def _closes(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def _describes_more(schema: Mapping[str, Any]) -> bool:
    further = ("additionalProperties", "unevaluatedProperties")
    return "patternProperties" in schema or any(schema.get(each, False) is not False for each in further)


def _longest(schema: Mapping[str, Any]) -> Any:
    """How long the schema says that a list may be; null where it does not."""
    for first, rest in (("prefixItems", "items"), ("items", "additionalItems")):
        if isinstance(schema.get(first), list) and schema.get(rest) is False:
            return len(schema[first])
    return schema.get("maxItems")


def _below(place: _Place, step: str | int) -> tuple[list[_Subschema], bool]:
    """The subschemas that certainly hold for what stands under this key or index, and whether there are no others."""
    found: list[_Subschema] = []
    known = place.known
    for schema, root in place.schemas:
        known = known and schema.keys().isdisjoint(["contains", "patternProperties"])
        known = known and not any(schema.get(f"unevaluated{each}") for each in ("Items", "Properties"))
        below = _of_key(schema, step) if isinstance(step, str) else _of_index(schema, step)
        found += [(below, root)] if isinstance(below, Mapping) else []
    return found, known


def _of_key(schema: Mapping[str, Any], key: str) -> Any:
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return properties[key]
    return None if "patternProperties" in schema else schema.get("additionalProperties")


def _of_index(schema: Mapping[str, Any], index: int) -> Any:
    for first, rest in (("prefixItems", "items"), ("items", "additionalItems")):
        if isinstance(listed := schema.get(first), list):
            return listed[index] if index < len(listed) else schema.get(rest)
    return schema.get("items")


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []
