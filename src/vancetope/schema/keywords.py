"""Unknown keywords of a JSON Schema: a validator passes over them in silence, so a typo switches its check off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

from vancetope.schema.problems import pointer_of, resolved, steps_of
from vancetope.schema.strict import MAX_DEPTH, deeper_than

MAX_UNKNOWN = 8
_MANY = 200  # so many different ones are no typos: the search ends

# What each draft added, in its order. No draft's set loses a word: what a later one dropped is history, not a typo.
_ADDED: dict[str, frozenset[str]] = {
    "draft-04": frozenset(
        [
            "id",
            "$schema",
            "$ref",
            "title",
            "description",
            "default",
            "multipleOf",
            "maximum",
            "exclusiveMaximum",
            "minimum",
            "exclusiveMinimum",
            "maxLength",
            "minLength",
            "pattern",
            "items",
            "additionalItems",
            "maxItems",
            "minItems",
            "uniqueItems",
            "maxProperties",
            "minProperties",
            "required",
            "properties",
            "patternProperties",
            "additionalProperties",
            "dependencies",
            "enum",
            "type",
            "format",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "definitions",
        ]
    ),
    "draft-06": frozenset(["$id", "const", "contains", "propertyNames", "contentMediaType", "contentEncoding"]),
    "draft-07": frozenset(["if", "then", "else"]),
    "draft 2019-09": frozenset(
        [
            "$anchor",
            "$recursiveRef",
            "$recursiveAnchor",
            "$vocabulary",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedItems",
            "unevaluatedProperties",
            "maxContains",
            "minContains",
            "contentSchema",
        ]
    ),
    "draft 2020-12": frozenset(["prefixItems", "$dynamicRef", "$dynamicAnchor"]),
}
# These say nothing about a value, or (`$defs`) do their work in every draft, whichever of them named them first.
_ANYWHERE = frozenset(["$comment", "$defs", "examples", "readOnly", "writeOnly", "deprecated"])
_URIS = {
    "json-schema.org/draft-04/schema": "draft-04",
    "json-schema.org/draft-06/schema": "draft-06",
    "json-schema.org/draft-07/schema": "draft-07",
    "json-schema.org/draft/2019-09/schema": "draft 2019-09",
    "json-schema.org/draft/2020-12/schema": "draft 2020-12",
    "json-schema.org/schema": "draft 2020-12",
}
_NEWEST = "draft 2020-12"

# Where subschemas stand: under the keyword itself, in its list, or in its map from names.
_ONE = frozenset(
    [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_LISTED = frozenset(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
_NAMED = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"])


# What other notations call it.
_ELSEWHERE = {
    "choices": "enum",
    "max": "maximum",
    "min": "minimum",
    "nullable": "type",
    "optional": "required",
    "property": "properties",
    "regex": "pattern",
    "values": "enum",
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """A keyword that its draft does not know.

    `pointer` is the JSON pointer of the schema object it first stands in ("" for the whole schema), `meant` the known
    keyword it was probably meant to be, `since` the later draft that has it. Where both are "" it is nobody's keyword:
    a note of the author's, or a tool's.
    """

    pointer: str
    keyword: str
    draft: str
    meant: str = ""
    since: str = ""

    def __str__(self) -> str:
        at = self.pointer or "the schema"
        told = f'{at}: "{self.keyword[:80]}" is no keyword of {self.draft} and checks nothing'
        if self.meant:
            return f'{told}; did you mean "{self.meant}"?'
        return f"{told}; it came with {self.since}" if self.since else told


def unknown_keywords(schema: Any) -> tuple[Unknown, ...]:
    """The keywords of this schema and its subschemas that the draft named by `$schema` (2020-12 where none is) does
    not know: at most `MAX_UNKNOWN`, each once, first those that were probably meant to be a keyword.

    Never told: keywords of older drafts; vendors' own (`x-...`, `prefix:name`, what begins with no letter, a `$name`
    that resembles nothing); a key that only holds what local references name. Values under `const`, `enum`, `default`
    and `examples` and the names of properties are no keywords. Any value may be given: what is no schema, or nests
    deeper than `MAX_DEPTH`, has none.
    """
    root = dict(schema) if isinstance(schema, Mapping) else schema
    if deeper_than(root, MAX_DEPTH):
        return ()
    found = list(places(root))
    holders = {holder for place in found for holder in _holders(place.schema)}
    first: dict[tuple[str, str], Unknown] = {}
    for each in (each for place in found for each in _unknown_of(place, holders)):
        first.setdefault((each.draft, each.keyword), each)
        if len(first) == _MANY:
            break
    return tuple(sorted(first.values(), key=lambda each: not (each.meant or each.since))[:MAX_UNKNOWN])


_Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A schema object, where it stands, and the draft it is read by."""

    path: _Path
    schema: dict[str, Any]
    draft: str


def places(root: Any) -> Iterator[Place]:
    """Every schema object of this schema once: the tree from the top, then what only local references reach."""
    seen: set[int] = set()
    tree: list[tuple[_Path, Any, str]] = [((), root, _NEWEST)]
    referred: list[tuple[_Path, Any, str]] = []
    while tree or referred:
        path, schema, draft = tree.pop() if tree else referred.pop(0)
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        draft = draft_of(schema) or draft
        yield Place(path, schema, draft)
        tree.extend((path + below, each, draft) for below, each in reversed(list(_subschemas(schema, draft))))
        if target := _local(schema):
            referred.append((target, resolved(root, schema["$ref"]), draft))


def _subschemas(schema: dict[str, Any], draft: str) -> Iterator[tuple[_Path, Any]]:
    known = _known(draft)
    for keyword, value in schema.items():
        if keyword not in known:
            continue
        if isinstance(value, dict) and keyword in _ONE:
            yield (keyword,), value
        elif isinstance(value, list) and keyword in _LISTED:
            yield from (((keyword, index), each) for index, each in enumerate(value))
        elif isinstance(value, dict) and keyword in _NAMED:
            yield from (((keyword, name), each) for name, each in value.items())


def _unknown_of(place: Place, holders: set[_Path]) -> Iterator[Unknown]:
    known = _known(place.draft)
    for keyword in place.schema:
        if keyword in known or (*place.path, keyword) in holders or _is_a_vendors(keyword):
            continue
        since = next((draft for draft, added in _ADDED.items() if keyword in added), "")
        meant = "" if since else _nearest(keyword, place.draft)
        if since or meant or not keyword.startswith("$"):
            yield Unknown(pointer_of(place.path), keyword, place.draft, meant, since)


def draft_of(schema: dict[str, Any]) -> str | None:
    """The draft that the `$schema` of this schema object names; null where it has none, or one of its own."""
    uri = schema.get("$schema")
    return _URIS.get(uri.rstrip("#").partition("://")[2]) if isinstance(uri, str) else None


@cache
def _known(draft: str) -> frozenset[str]:
    upto = list(_ADDED)[: list(_ADDED).index(draft) + 1]
    return _ANYWHERE.union(*(_ADDED[each] for each in upto))


def _local(schema: dict[str, Any]) -> _Path:
    """The path that a local reference names; empty where there is none, or it names the whole."""
    reference = schema.get("$ref")
    return steps_of(reference) if isinstance(reference, str) and reference.startswith("#/") else ()


def _holders(schema: dict[str, Any]) -> Iterator[_Path]:
    path = _local(schema)
    yield from (path[:length] for length in range(1, len(path)))


def _is_a_vendors(keyword: str) -> bool:
    first = keyword[:1]
    return keyword[:2].lower() == "x-" or ":" in keyword or not (first.isalpha() or first == "$")


@lru_cache(maxsize=512)
def _nearest(keyword: str, draft: str) -> str:
    """The known keyword that is written nearly like this one, or ""."""
    if keyword in _ELSEWHERE:
        return _ELSEWHERE[keyword]
    plain, dollar = _plain(keyword), keyword.startswith("$")
    near: list[tuple[int, str]] = []
    for each in _known(draft):
        if dollar and not each.startswith("$"):
            continue
        target = _plain(each)
        allowed = _allowed(target) or dollar
        if abs(len(plain) - len(target)) <= allowed and (apart := _distance(plain, target)) <= allowed:
            near.append((apart, each))
    return min(near)[1] if near else ""


def _allowed(target: str) -> int:
    """By how many letters a word may miss this one: short ones are other words too soon."""
    return 0 if len(target) <= 3 else 1 if len(target) < 8 else 2 if len(target) < 14 else 3


def _plain(keyword: str) -> str:
    """Without case and separators: `min_length` and `MinLength` are `minLength`."""
    return "".join(each for each in keyword if each.isalnum()).lower()


def _distance(one: str, other: str) -> int:
    """How many letters to insert, drop, replace or swap with their neighbour lead from one word to the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, before, row = before, row, [i]
        for j, target in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != target))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == target:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
