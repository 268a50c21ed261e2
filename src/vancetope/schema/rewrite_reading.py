"""A caller's schema, read for a rewrite: drafts told apart, references followed, conjunctions laid flat."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

UnsuitedReason: TypeAlias = Literal[
    "open_object",
    "permissive",
    "property_name",
    "recursive",
    "root_not_object",
    "too_deep",
    "too_large",
    "too_many_optional",
    "too_many_properties",
    "too_many_unions",
    "too_many_values",
    "unresolved_reference",
    "unsatisfiable",
    "unsupported_keyword",
]


class Refused(Exception):
    """This schema has no rewrite for the profile; becomes an `Unsuited`."""

    def __init__(self, reason: UnsuitedReason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason: UnsuitedReason = reason


@dataclass(frozen=True, slots=True)
class Node:
    """A subschema of the caller's: where it stands, and the resource that its references start from."""

    schema: Any = field(compare=False)
    base: str
    pointer: str = field(compare=False)
    identity: int

    @property
    def where(self) -> str:
        return self.pointer or "the root"


@dataclass(frozen=True, slots=True)
class Plain:
    """A subschema without its references, conjunctions and unions."""

    node: Node


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of these goals; the empty goal allows everything."""

    options: tuple[Goal, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """Properties that some instances have, each with what it may be: a union that was loosened to its names.

    `is_conditional` where it was an `if` or a `dependentSchemas`, which speak of objects when they name properties.
    """

    properties: tuple[tuple[str, Either], ...]
    is_conditional: bool


Part: TypeAlias = Node | Plain | Either | Named
Goal: TypeAlias = tuple[Part, ...]
"""Everything that one value has to fit at once. Equal goals are the same places of the caller's schema."""


@dataclass(slots=True)
class Flat:
    """A goal without references and conjunctions: own keywords, names from loosened unions, and unions."""

    atoms: list[Node] = field(default_factory=list)
    named: list[Named] = field(default_factory=list)
    unions: list[Either] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)


_SINCE = {
    "const": 6,
    "contains": 6,
    "propertyNames": 6,
    "if": 7,
    "then": 7,
    "else": 7,
    "dependentRequired": 2019,
    "dependentSchemas": 2019,
    "unevaluatedItems": 2019,
    "unevaluatedProperties": 2019,
    "prefixItems": 2020,
    "$dynamicRef": 2020,
}
_UNTIL = {"additionalItems": 2019, "$recursiveRef": 2019}
_DRAFTS = {"draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019, "2020-12": 2020}
_NO_SCHEMAS = frozenset({"enum", "const", "default", "examples"})


class Source:
    """One caller's schema: its draft, and what its references name."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.draft = _draft(schema.get("$schema"))
        self._id = "id" if self.draft == 4 else "$id"
        self._resources: dict[str, tuple[Any, str]] = {}
        self._anchors: dict[tuple[str, str], tuple[Any, str]] = {}
        self._dynamic: dict[str, int] = {}
        self._facts: dict[int, dict[str, Any]] = {}
        self.size = 0
        base = self._base(schema, "")
        self._resources.setdefault("", (schema, ""))
        self._resources[base] = (schema, "")
        self._index(schema, "", "")
        self.root = Node(schema, base, "", id(schema))

    def child(self, node: Node, schema: Any, *steps: str | int) -> Node:
        pointer = node.pointer + "".join(f"/{_escaped(step)}" for step in steps)
        return Node(schema, self._base(schema, node.base), pointer, _identity(schema))

    def facts(self, node: Node) -> dict[str, Any]:
        """The keywords of a subschema that count in its draft, in the words of draft 2020-12; `$ref` is a list."""
        known = self._facts.get(node.identity)
        if known is None:
            known = self._facts[node.identity] = self._read(node)
        return known

    def target(self, node: Node, reference: str) -> Node:
        """The subschema that a reference of this node names."""
        address, fragment = urldefrag(reference)
        uri = _joined(node.base, address) if address else node.base
        fragment = unquote(fragment)
        if (uri, fragment) in self._anchors:
            schema, pointer = self._anchors[uri, fragment]
        elif uri in self._resources and (not fragment or fragment.startswith("/")):
            return self._walked(uri, fragment, reference, node)
        else:
            raise Refused(
                "unresolved_reference", f"{node.where} refers to {reference[:200]}, which is not in the schema"
            )
        return Node(schema, self._base(schema, uri), pointer, _identity(schema))

    def _walked(self, uri: str, fragment: str, reference: str, node: Node) -> Node:
        at, pointer = self._resources[uri]
        base = uri
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(at, Mapping) and step in at:
                at = at[step]
            elif isinstance(at, list) and step.isdecimal() and int(step) < len(at):
                at = at[int(step)]
            else:
                raise Refused(
                    "unresolved_reference", f"{node.where} refers to {reference[:200]}, which is not in the schema"
                )
            pointer += f"/{_escaped(step)}"
            base = self._base(at, base)
        return Node(at, base, pointer, _identity(at))

    def _base(self, schema: Any, base: str) -> str:
        own = schema.get(self._id) if isinstance(schema, Mapping) else None
        if not isinstance(own, str) or own.startswith("#") or (self.draft <= 7 and "$ref" in schema):
            return base
        return _joined(base, urldefrag(own)[0])

    def _index(self, at: Any, base: str, pointer: str) -> None:
        """Remember everything that a reference may name by address or anchor."""
        if isinstance(at, Mapping):
            self.size += 1
            base = self._base(at, base)
            if isinstance(own := at.get(self._id), str) and not (self.draft <= 7 and "$ref" in at):
                self._resources.setdefault(base, (at, pointer))
                if own.startswith("#") and self.draft <= 7:
                    self._anchors.setdefault((base, own[1:]), (at, pointer))
            for anchor in ("$anchor", "$dynamicAnchor") if self.draft >= 2019 else ():
                if isinstance(name := at.get(anchor), str):
                    self._anchors.setdefault((base, name), (at, pointer))
                    self._dynamic[name] = self._dynamic.get(name, 0) + (anchor == "$dynamicAnchor")
            if pointer and isinstance(dialect := at.get("$schema"), str) and _draft(dialect) != self.draft:
                raise Refused("unsupported_keyword", f"{pointer} is written in another draft of JSON Schema")
        for step, child in _steps(at):
            if step not in _NO_SCHEMAS:
                self._index(child, base, f"{pointer}/{_escaped(step)}")

    def _read(self, node: Node) -> dict[str, Any]:
        schema, draft = node.schema, self.draft
        if draft <= 7 and isinstance(reference := schema.get("$ref"), str):
            return {"$ref": [reference]} | {key: schema[key] for key in ("description",) if key in schema}
        facts = {
            key: value
            for key, value in schema.items()
            if draft >= _SINCE.get(key, 0) and draft <= _UNTIL.get(key, draft)
        }
        if references := [*self._references(node, facts)]:
            facts["$ref"] = references
        if draft == 4:
            _numeric_exclusives(facts)
        if draft < 2020:
            rest = facts.pop("additionalItems", None)
            if isinstance(facts.get("items"), list):
                facts["prefixItems"] = facts.pop("items")
                facts |= {} if rest is None else {"items": rest}
        for key, needed in facts.pop("dependencies", {}).items():
            kind = "dependentRequired" if isinstance(needed, list) else "dependentSchemas"
            facts[kind] = {**facts.get(kind, {}), key: needed}
        return facts

    def _references(self, node: Node, facts: dict[str, Any]) -> Iterator[str]:
        for keyword in ("$ref", "$recursiveRef", "$dynamicRef"):
            reference = facts.pop(keyword, None)
            if not isinstance(reference, str):
                continue
            several = len({id(root) for root, _ in self._resources.values()}) > 1
            if keyword == "$recursiveRef" and several:
                raise Refused("unresolved_reference", f"{node.where} has a $recursiveRef among several schemas in one")
            if keyword == "$dynamicRef" and self._dynamic.get(reference.rpartition("#")[2], 0) > 1:
                raise Refused("unresolved_reference", f"{node.where} has a $dynamicRef with more than one target")
            yield reference


def flattened(source: Source, goal: Goal) -> Flat | None:
    """A goal without references and conjunctions; None where nothing can fit it."""
    flat = Flat()
    seen: set[Hashable] = set()
    left: list[Part] = list(reversed(goal))
    while left:
        part = left.pop()
        if part in seen:
            continue
        seen.add(part)
        match part:
            case Either():
                flat.unions.append(part)
            case Named():
                flat.named.append(part)
            case Plain(node):
                if node not in flat.atoms:
                    flat.atoms.append(node)
            case Node(schema=False):
                return None
            case Node(schema=True):
                pass
            case Node():
                _take(source, part, flat, left)
    return flat


def _take(source: Source, node: Node, flat: Flat, left: list[Part]) -> None:
    """What one subschema adds to a flat goal; its references and conjunctions are left to do."""
    if not isinstance(node.schema, Mapping):
        raise Refused("unsupported_keyword", f"{node.where} is no schema")
    facts = source.facts(node)
    if node not in flat.atoms:
        flat.atoms.append(node)
    if isinstance(text := facts.get("description"), str) and text:
        flat.descriptions.append(text)
    for keyword in ("anyOf", "oneOf"):
        if options := facts.get(keyword):
            children = (source.child(node, each, keyword, at) for at, each in enumerate(options))
            flat.unions.append(Either(tuple((child,) for child in children)))
    if "if" in facts and ("then" in facts or "else" in facts):
        chosen = [source.child(node, facts[key], key) for key in ("if", "then") if key in facts]
        other = [source.child(node, facts["else"], "else")] if "else" in facts else []
        flat.unions.append(Either((tuple(chosen), tuple(other))))
    for key, needed in facts.get("dependentSchemas", {}).items():
        flat.unions.append(Either(((), (source.child(node, needed, "dependentSchemas", key),))))
    further: list[Part] = [source.target(node, each) for each in facts.get("$ref", ())]
    further += (source.child(node, each, "allOf", at) for at, each in enumerate(facts.get("allOf", ())))
    left.extend(reversed(further))


def names_in(source: Source, goal: Goal, seen: set[Goal]) -> dict[str, list[Part]]:
    """The properties that a goal names for the object itself, with their schemas, also those in its unions."""
    found: dict[str, list[Part]] = {}
    if goal in seen or (flat := flattened(source, goal)) is None:
        return found
    seen.add(goal)
    for node in flat.atoms:
        for name, schema in source.facts(node).get("properties", {}).items():
            found.setdefault(name, []).append(source.child(node, schema, "properties", name))
    for named in flat.named:
        for name, either in named.properties:
            found.setdefault(name, []).append(either)
    for union in flat.unions:
        for name, either in loosened(source, union, seen).properties:
            found.setdefault(name, [either])
    return found


def loosened(source: Source, union: Either, seen: set[Goal] | None = None) -> Named:
    """A union that only keeps the names of its options, so that a closed object can still have them."""
    found: dict[str, dict[Goal, None]] = {}
    for option in union.options:
        for name, parts in names_in(source, option, set() if seen is None else seen).items():
            found.setdefault(name, {})[tuple(parts)] = None
    properties = tuple((name, Either(tuple(goals))) for name, goals in found.items())
    return Named(properties, is_conditional=() in union.options)


def _steps(at: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(at, Mapping):
        yield from at.items()
    elif isinstance(at, list):
        yield from ((str(step), child) for step, child in enumerate(at))


def _draft(dialect: Any) -> int:
    found = re.search("|".join(_DRAFTS), dialect) if isinstance(dialect, str) else None
    return _DRAFTS[found[0]] if found else 2020


def _numeric_exclusives(facts: dict[str, Any]) -> None:
    """In draft 4 `exclusiveMinimum` is a flag beside `minimum`."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if facts.pop(exclusive, False) is True and bound in facts:
            facts[exclusive] = facts.pop(bound)


def _identity(schema: Any) -> int:
    return int(schema) if isinstance(schema, bool) else id(schema)


def _joined(base: str, address: str) -> str:
    """An address relative to a base, both without fragments; an unknown scheme (`urn:`) knows no relative ones."""
    return urldefrag(urljoin(base, address))[0]


def _escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")
