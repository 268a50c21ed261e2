"""Whether a written schema stays within the limits of its profile."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from vancetope.schema.profiles import Profile
from vancetope.schema.rewrite_reading import Refused


def hold(schema: Mapping[str, Any], profile: Profile) -> None:
    """Nothing where the schema fits; raises `Refused` with the first limit that it breaks."""
    nodes = list(_nodes(schema))
    properties = sum(len(node.get("properties", ())) for node in nodes)
    _at_most(profile.max_properties, properties, "too_many_properties", "properties", profile)
    optional = sum(len(node.get("properties", ())) - len(node.get("required", ())) for node in nodes)
    _at_most(profile.max_optional, optional, "too_many_optional", "optional properties", profile)
    unions = sum("anyOf" in node or isinstance(node.get("type"), list) for node in nodes)
    _at_most(profile.max_unions, unions, "too_many_unions", "unions", profile)
    enums = [node["enum"] for node in nodes if "enum" in node]
    _at_most(profile.max_enum_values, sum(map(len, enums)), "too_many_values", "enum values", profile)
    texts = [sum(len(value) for value in values if isinstance(value, str)) for values in enums]
    if profile.max_enum_text:
        count, limit = profile.max_enum_text
        longest = max((text for text, values in zip(texts, enums, strict=True) if len(values) > count), default=0)
        _at_most(limit, longest, "too_large", f"characters in one enum of more than {count} values", profile)
    names = sum(len(name) for node in nodes for name in node.get("properties", ()))
    names += sum(map(len, schema.get("$defs", ())))
    _at_most(profile.max_text, names + sum(texts), "too_large", "characters in names and enum values", profile)
    if profile.max_grammar is not None:
        sent = len(json.dumps(schema, separators=(",", ":"), ensure_ascii=False).encode())
        room = max(profile.max_grammar, 4 * sent)
        _at_most(room, grammar_size(schema), "too_large", "bytes of grammar", profile)
    if profile.max_depth is not None:
        _at_most(profile.max_depth, _depth(schema), "too_deep", "levels of objects and lists", profile)


def _at_most(limit: int | None, count: int, reason: Any, what: str, profile: Profile) -> None:
    if limit is not None and count > limit:
        raise Refused(reason, f"the schema has {count:,} {what} where {profile.name} takes {limit:,}")


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every subschema of a written schema, its definitions included."""
    left = [schema]
    while left:
        node = left.pop()
        yield node
        left.extend(_children(node))
        left.extend(node.get("$defs", {}).values())


def _children(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from node.get("properties", {}).values()
    yield from node.get("prefixItems", ())
    yield from node.get("anyOf", ())
    yield from (node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), dict))


def _depth(schema: Mapping[str, Any]) -> int:
    """The most objects and lists inside each other, a recursive definition counted once."""
    definitions, known, doing = schema.get("$defs", {}), {}, set()

    def below(node: Mapping[str, Any]) -> int:
        if reference := node.get("$ref"):
            name = reference.removeprefix("#/$defs/")
            if name not in known and name not in doing:
                doing.add(name)
                known[name] = below(definitions[name])
                doing.discard(name)
            return known.get(name, 0)
        own = node.get("type") in ("object", "array")
        return own + max(map(below, _children(node)), default=0)

    return below(schema)


def grammar_size(schema: Mapping[str, Any]) -> int:
    """About how many bytes llama.cpp's grammar of a written schema has; more rather than less.

    Its rules are named after their whole path, and a property that may be left out takes part in three of them.
    """
    named = {f"#/$defs/{name}": body for name, body in schema.get("$defs", {}).items()}
    total = 1_500 + _rules(schema, 0) + sum(_rules(body, len(name)) for name, body in named.items())
    return total * 4 // 5


def _rules(node: Mapping[str, Any], path: int) -> int:
    """The bytes of the rules of one subschema, whose own rule has a name of `path` characters."""
    total = path + 68
    for option in node.get("anyOf", ()):
        total += path + 8 + _rules(option, path + 4)
    if isinstance(kinds := node.get("type"), list):
        total += len(kinds) * (2 * path + 40)
    total += sum(len(json.dumps(value)) + 14 for value in node.get("enum", ()))
    required = frozenset(node.get("required", ()))
    for name, child in node.get("properties", {}).items():
        full = path + len(json.dumps(name))
        total += (3 * full + 70 if name in required else 7 * full + 130) + len(name) + _rules(child, full)
    if extras := node.get("additionalProperties"):
        total += 6 * (path + 12) + 150 + sum(14 * len(name) + 20 for name in node.get("properties", ()))
        total += _rules(extras, path + 18) if isinstance(extras, Mapping) else 0
    for child in node.get("prefixItems", ()):
        total += path + 22 + _rules(child, path + 9)
    if "items" in node:
        total += 3 * (path + 6) + 60 + _rules(node["items"], path + 5)
    total += 6 * len(node.get("pattern", "")) + 4 * path
    return total + (700 if "minimum" in node or "maximum" in node else 0)
