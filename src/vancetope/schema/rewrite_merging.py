"""What the keywords of a flat goal demand together, sorted by the type they are about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vancetope.schema.problems import shown
from vancetope.schema.rewrite_reading import Either, Flat, Goal, Node, Source
from vancetope.schema.strict import same
from vancetope.schema.validate import ALL_TYPES, InvalidPattern, matcher
from vancetope.sentences import SCHEMA_NOTES

_ABOUT = {
    "object": "properties required additionalProperties patternProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas unevaluatedProperties",
    "array": "items prefixItems contains minContains maxContains minItems maxItems uniqueItems unevaluatedItems",
    "string": "minLength maxLength pattern format contentEncoding contentMediaType",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
}
_TYPE_OF = {keyword: kind for kind, keywords in _ABOUT.items() for keyword in keywords.split()}

_LARGEST = frozenset({"minLength", "minItems", "minProperties", "minimum", "exclusiveMinimum"})
_SMALLEST = frozenset({"maxLength", "maxItems", "maxProperties", "maximum", "exclusiveMaximum"})
_EACH = frozenset({"pattern", "format", "multipleOf"})
_SAID = frozenset({"contains", "not", "propertyNames", "dependentRequired"})


@dataclass(slots=True)
class Facet:
    """One subschema's say about an object's properties."""

    node: Node
    properties: Mapping[str, Any]
    patterns: tuple[tuple[Callable[[str], bool] | None, Node], ...]
    additional: Node | None


@dataclass(slots=True)
class Merged:
    """A goal without unions: the types it allows (None: it does not say), and what it demands of each."""

    flat: Flat
    where: str
    types: frozenset[str] | None = None
    values: list[Any] | None = None
    bounds: dict[str, Any] = field(default_factory=dict)
    each: dict[str, list[Any]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    facets: list[Facet] = field(default_factory=list)
    required: dict[str, None] = field(default_factory=dict)
    tuples: list[tuple[list[Node], Node | None]] = field(default_factory=list)
    sealed: bool = False
    open_to: list[Node] = field(default_factory=list)
    is_open: bool = False
    about: set[str] = field(default_factory=set)

    def count(self, bound: str) -> int | None:
        """A bound on a length or a number of things, which may be written as 2.0."""
        return int(self.bounds[bound]) if bound in self.bounds else None


def merged(source: Source, flat: Flat) -> Merged:
    """Everything the atoms of a flat goal demand. Never stricter than they are together; looser where it is hard."""
    all_of = Merged(flat, flat.atoms[0].where if flat.atoms else "the schema")
    if any(named.is_conditional for named in flat.named):
        all_of.about.add("object")
    for node in flat.atoms:
        facts = source.facts(node)
        all_of.about.update(_TYPE_OF[keyword] for keyword in facts if keyword in _TYPE_OF)
        _add_types(all_of, facts)
        _add_bounds(all_of, facts)
        _add_object(source, all_of, node, facts)
        _add_array(source, all_of, node, facts)
    if all_of.types is None and all_of.values is None and len(all_of.about) == 1:
        all_of.types = frozenset(all_of.about | ({"integer"} if "number" in all_of.about else set()))
    if all_of.values is not None and all_of.types is not None:
        all_of.values = [value for value in all_of.values if _has_type(value, all_of.types)]
    return all_of


def _add_types(all_of: Merged, facts: Mapping[str, Any]) -> None:
    if "type" in facts:
        named = facts["type"]
        types = frozenset([named] if isinstance(named, str) else named)
        types |= {"integer"} if "number" in types else frozenset()
        all_of.types = types if all_of.types is None else all_of.types & types
    for values in ([facts["const"]] if "const" in facts else None, facts.get("enum")):
        if isinstance(values, list):
            known = all_of.values
            all_of.values = values if known is None else _shared(known, values)


def _shared(some: list[Any], others: list[Any]) -> list[Any]:
    scalars = {(isinstance(each, bool), each) for each in others if not isinstance(each, list | dict)}
    deep = [each for each in others if isinstance(each, list | dict)]
    return [
        value
        for value in some
        if (
            any(same(value, each) for each in deep)
            if isinstance(value, list | dict)
            else (isinstance(value, bool), value) in scalars
        )
    ]


def _has_type(value: Any, types: frozenset[str]) -> bool:
    match value:
        case bool():
            return "boolean" in types
        case None:
            return "null" in types
        case str():
            return "string" in types
        case int() | float():
            return "number" in types or ("integer" in types and value == int(value))
        case list():
            return "array" in types
        case _:
            return "object" in types


def _add_bounds(all_of: Merged, facts: Mapping[str, Any]) -> None:
    for keyword, value in facts.items():
        known = all_of.bounds.get(keyword)
        if keyword in _LARGEST:
            all_of.bounds[keyword] = value if known is None else max(known, value)
        elif keyword in _SMALLEST:
            all_of.bounds[keyword] = value if known is None else min(known, value)
        elif keyword in _EACH:
            values = all_of.each.setdefault(keyword, [])
            if value not in values:
                values.append(value)
        elif keyword == "uniqueItems" and value is True:
            all_of.said.append(noted(keyword))
        elif keyword == "dependentRequired":
            all_of.said.extend(noted(keyword, key, ", ".join(also)) for key, also in value.items() if also)
        elif keyword in _SAID:
            all_of.said.append(noted(keyword, _quoted(value)))


def _add_object(source: Source, all_of: Merged, node: Node, facts: Mapping[str, Any]) -> None:
    all_of.required.update(dict.fromkeys(facts.get("required", ())))
    properties, patterned = facts.get("properties", {}), facts.get("patternProperties", {})
    additional = facts.get("additionalProperties")
    if "additionalProperties" in facts or properties or patterned:
        patterns = tuple(
            (_matcher(pattern), source.child(node, schema, "patternProperties", pattern))
            for pattern, schema in patterned.items()
        )
        rest = None if additional is None else source.child(node, additional, "additionalProperties")
        all_of.facets.append(Facet(node, properties, patterns, rest))
    if patterned or additional not in (None, False):
        all_of.is_open = True
    if additional is False:
        all_of.sealed = True
    if (unevaluated := facts.get("unevaluatedProperties")) is not None and unevaluated is not False:
        all_of.is_open = True
        all_of.open_to.append(source.child(node, unevaluated, "unevaluatedProperties"))


def _add_array(source: Source, all_of: Merged, node: Node, facts: Mapping[str, Any]) -> None:
    if "items" in facts or "prefixItems" in facts:
        prefix = facts.get("prefixItems", [])
        first = [source.child(node, each, "prefixItems", at) for at, each in enumerate(prefix)]
        rest = source.child(node, facts["items"], "items") if "items" in facts else None
        all_of.tuples.append((first, rest))


def property_goals(source: Source, all_of: Merged) -> dict[str, Goal]:
    """The properties that a goal names, in the caller's order, each with everything it has to fit."""
    names: dict[str, None] = {}
    for facet in all_of.facets:
        names.update(dict.fromkeys(facet.properties))
    for named in all_of.flat.named:
        names.update(dict.fromkeys(name for name, _ in named.properties))
    names.update(all_of.required)
    loose: dict[str, list[Goal]] = {}
    for named in all_of.flat.named:
        for name, either in named.properties:
            loose.setdefault(name, []).extend(either.options)
    goals: dict[str, Goal] = {}
    for name in names:
        said = tuple(part for facet in all_of.facets for part in _property(source, facet, name))
        # What an option says of a property that the object itself describes need not hold where the option does not.
        goals[name] = said if said or name not in loose else (Either(tuple(dict.fromkeys(loose[name]))),)
    return goals


def _property(source: Source, facet: Facet, name: str) -> Iterator[Node]:
    known = name in facet.properties
    if known:
        yield source.child(facet.node, facet.properties[name], "properties", name)
    for matches, schema in facet.patterns:
        if matches is None:
            known = True  # nobody can tell: the looser reading
        elif matches(name):
            known = True
            yield schema
    if not known and facet.additional is not None:
        yield facet.additional


def extras_goal(all_of: Merged) -> list[Goal] | None:
    """The goals of which a property without a name fits at least one; None where there is no such property."""
    patterned = [schema for facet in all_of.facets for _, schema in facet.patterns]
    added = [(facet, facet.additional) for facet in all_of.facets if facet.additional is not None]
    if any(node.schema is False and not facet.patterns for facet, node in added):
        return None
    options: list[Goal] = [(schema,) for schema in patterned]
    if all_of.sealed:
        return options
    return [*options, (*all_of.open_to, *(node for _, node in added))]


def item_goals(all_of: Merged) -> tuple[list[Goal], Goal]:
    """What the first items have to fit, place by place, and what all further ones."""
    length = max((len(first) for first, _ in all_of.tuples), default=0)
    firsts: list[Goal] = []
    for at in range(length):
        nodes = [first[at] if at < len(first) else rest for first, rest in all_of.tuples]
        firsts.append(tuple(node for node in nodes if node is not None))
    return firsts, tuple(rest for _, rest in all_of.tuples if rest is not None)


def is_about_presence(source: Source, option: Goal) -> list[str] | None:
    """The keys that an option of a union demands, where it demands nothing else."""
    keys: list[str] = []
    for part in option:
        if not isinstance(part, Node) or not isinstance(part.schema, Mapping):
            return None
        facts = source.facts(part)
        if set(facts) - {"required", "title", "description", "$comment", "type"} or facts.get("type") not in (
            None,
            "object",
        ):
            return None
        keys.extend(facts.get("required", ()))
    return keys or None


def types_of(all_of: Merged) -> frozenset[str]:
    return ALL_TYPES if all_of.types is None else all_of.types


_ONE = {" characters": " character", " items": " item", " keys": " key"}


def noted(keyword: str, *values: Any) -> str:
    """What a keyword demands, in a clause for the model."""
    text = SCHEMA_NOTES[keyword].format(*values)
    for many, one in _ONE.items() if values[:1] == (1,) else ():
        text = text.replace(many, one)
    return text


def _matcher(pattern: str) -> Callable[[str], bool] | None:
    if re.fullmatch(r"\^?[\w-]*", pattern):  # the usual ones need no engine
        start = pattern.removeprefix("^")
        return (lambda name: name.startswith(start)) if pattern.startswith("^") else (lambda name: start in name)
    try:
        return matcher(pattern)
    except InvalidPattern:
        return None


def _quoted(value: Any) -> str:
    if isinstance(value, dict):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= 200 else text[:199] + "…"
    return shown(value)
