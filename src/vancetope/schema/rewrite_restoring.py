"""A value in the shape of a rewrite, taken back to the caller's shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_TRIES = 64

Marks = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""By the pointer of a written object: the properties whose null means "left out", and those where it may."""


def marked(schema: Mapping[str, Any], left_out: Mapping[int, tuple[frozenset[str], frozenset[str]]]) -> Marks:
    """The marks of a written schema, from what its writer noted by the identity of its objects."""
    marks: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for pointer, node in _located(schema, ""):
        left, either = left_out.get(id(node), (frozenset(), frozenset()))
        by_reference = {name for name in left if _refers_to_null(schema, node["properties"][name])}
        if left or either:
            marks[pointer] = (left - by_reference, either | by_reference)
    return marks


def _refers_to_null(schema: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Whether a property that was made nullable allows null without that: through the definitions it refers to."""
    left, seen = [each for each in node.get("anyOf", ()) if "$ref" in each], set[str]()
    while left:
        reference = left.pop()["$ref"]
        if reference in seen:
            continue
        seen.add(reference)
        body = schema["$defs"][reference.removeprefix("#/$defs/")]
        options = [body, *body.get("anyOf", ())]
        if any("null" in each.get("type", ()) and "enum" not in each for each in options):
            return True
        left.extend(each for each in options if "$ref" in each)
    return False


def _located(node: Any, pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    left: list[tuple[str, Mapping[str, Any]]] = [(pointer, node)]
    while left:
        pointer, node = left.pop()
        yield pointer, node
        for steps, child in _children(node):
            left.append((pointer + steps, child))


def _children(node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in ("properties", "$defs"):
        for name, child in node.get(key, {}).items():
            yield f"/{key}/{_escaped(name)}", child
    for key in ("prefixItems", "anyOf"):
        for at, child in enumerate(node.get(key, ())):
            yield f"/{key}/{at}", child
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield f"/{key}", node[key]


def restored(schema: Mapping[str, Any], start: str, marks: Marks, value: Any, fits: Callable[[Any], bool]) -> Any:
    """The value without the nulls that stand for "left out".

    A null that the caller's schema allows stays, unless the value only `fits` without it. Where the value fits several
    options of a union, the first that leads to a fitting value counts, in at most `MAX_TRIES` tries; where none does,
    the plainest reading is returned.
    """
    first = _Walk(schema, marks, {})
    plainest = first.value(_at(schema, start), start, value, "")
    if fits(plainest):
        return plainest
    ends = {site: count - 1 for site, count in first.sites.items()}
    tries = [ends, *({site: choice} for site, count in first.sites.items() for choice in range(1, count))]
    for choices in tries[:MAX_TRIES]:
        candidate = _Walk(schema, marks, choices).value(_at(schema, start), start, value, "")
        if fits(candidate):
            return candidate
    return value if fits(value) else plainest


def _at(schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    at: Any = schema
    for step in pointer.split("/")[1:]:
        at = at[step]
    return at  # type: ignore[no-any-return]


class _Walk:
    """One reading of a value. `sites` are the places with more than one reading, with their number."""

    def __init__(self, schema: Mapping[str, Any], marks: Marks, choices: Mapping[str, int]) -> None:
        self.definitions: Mapping[str, Any] = schema.get("$defs", {})
        self.marks, self.choices = marks, choices
        self.sites: dict[str, int] = {}
        self._known: dict[tuple[int, int], bool] = {}

    def value(self, node: Mapping[str, Any], pointer: str, value: Any, where: str) -> Any:
        node, pointer = self._followed(node, pointer)
        if options := node.get("anyOf"):
            matching = [at for at, option in enumerate(options) if self._matches(option, value)]
            if not matching or not isinstance(value, dict | list):
                return value
            chosen = matching[self._choice(f"{where}|{pointer}", len(matching))]
            return self.value(options[chosen], f"{pointer}/anyOf/{chosen}", value, where)
        if isinstance(value, dict):
            return self._object(node, pointer, value, where)
        if isinstance(value, list):
            return [self._item(node, pointer, at, item, where) for at, item in enumerate(value)]
        return value

    def _object(self, node: Mapping[str, Any], pointer: str, value: dict[str, Any], where: str) -> dict[str, Any]:
        left_out, either = self.marks.get(pointer, (frozenset(), frozenset()))
        properties, extras = node.get("properties", {}), node.get("additionalProperties")
        kept: dict[str, Any] = {}
        for key, each in value.items():
            here = f"{where}/{_escaped(key)}"
            if each is None and (key in left_out or (key in either and self._choice(here, 2))):
                continue
            if key in properties:
                each = self.value(properties[key], f"{pointer}/properties/{_escaped(key)}", each, here)
            elif isinstance(extras, Mapping):
                each = self.value(extras, f"{pointer}/additionalProperties", each, here)
            kept[key] = each
        return kept

    def _item(self, node: Mapping[str, Any], pointer: str, at: int, item: Any, where: str) -> Any:
        prefix = node.get("prefixItems", ())
        if at < len(prefix):
            return self.value(prefix[at], f"{pointer}/prefixItems/{at}", item, f"{where}/{at}")
        if isinstance(items := node.get("items"), Mapping):
            return self.value(items, f"{pointer}/items", item, f"{where}/{at}")
        return item

    def _choice(self, site: str, count: int) -> int:
        if count > 1:
            self.sites[site] = count
        return min(self.choices.get(site, 0), count - 1)

    def _followed(self, node: Mapping[str, Any], pointer: str) -> tuple[Mapping[str, Any], str]:
        while reference := node.get("$ref"):
            name = reference.removeprefix("#/$defs/")
            node, pointer = self.definitions[name], f"/$defs/{name}"
        return node, pointer

    def _matches(self, node: Mapping[str, Any], value: Any) -> bool:
        """Whether a value has the shape of a written schema; lengths, ranges and patterns do not count."""
        key = (id(node), id(value))
        if key not in self._known:
            self._known[key] = False  # a definition that is its own option is none
            self._known[key] = self._shaped(self._followed(node, "")[0], value)
        return self._known[key]

    def _shaped(self, node: Mapping[str, Any], value: Any) -> bool:
        if options := node.get("anyOf"):
            return any(self._matches(option, value) for option in options)
        kinds = node.get("type", ())
        if kinds and not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            return False
        if "enum" in node:
            return any(type(value) is type(each) and value == each for each in node["enum"])
        if isinstance(value, dict):
            properties, extras = node.get("properties", {}), node.get("additionalProperties", True)
            if any(name not in value for name in node.get("required", ())):
                return False
            return all(
                self._matches(properties[key], each) if key in properties else self._extra(extras, each)
                for key, each in value.items()
            )
        if isinstance(value, list):
            prefix, items = node.get("prefixItems", ()), node.get("items")
            kinds_of = [*prefix, *([items] * (len(value) - len(prefix)))]
            return all(kind is None or self._matches(kind, each) for kind, each in zip(kinds_of, value, strict=False))
        return True

    def _extra(self, extras: Any, value: Any) -> bool:
        return self._matches(extras, value) if isinstance(extras, Mapping) else bool(extras)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)
