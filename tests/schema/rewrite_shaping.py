"""A valid instance, put into the shape of a rewrite, told by the written schema alone: extras dropped, missing null.

`kept` checks the promises of a rewrite for one instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vancetope.schema.rewrite import Rewritten
from vancetope.schema.validate import Validator, compile

Path = tuple[str | int, ...]

PROBES: tuple[Any, ...] = (None, True, -1.5, 10**12, "", "probe", [], [None], {}, {"probe": []})


@dataclass(frozen=True)
class Shaped:
    """The value in shape, and the places of the instance that the shape has no room for."""

    value: Any
    dropped: tuple[Path, ...] = ()
    lost: int = 0  # how much of the instance that is, in characters


def shaped(rewritten: Rewritten, instance: Any) -> Shaped | None:
    """The instance in the shape of the rewrite, with as little dropped as can be; None where it has no such shape."""
    inside = {rewritten.wrapper: instance} if rewritten.wrapper else instance
    found = _Shaping(rewritten.schema).value(rewritten.schema, inside, ())
    if found and rewritten.wrapper:
        return Shaped(found.value, tuple(path[1:] for path in found.dropped), found.lost)
    return found


class _Shaping:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.definitions = schema.get("$defs", {})
        self._own: dict[int, Validator] = {}

    def value(self, node: Mapping[str, Any], instance: Any, path: Path) -> Shaped | None:
        if "$ref" in node:
            return self.value(self.definitions[node["$ref"].removeprefix("#/$defs/")], instance, path)
        if "anyOf" in node:
            found = [each for each in (self.value(option, instance, path) for option in node["anyOf"]) if each]
            return min(found, key=lambda each: each.lost, default=None)
        if not self._fits_itself(node, instance):
            return None
        if isinstance(instance, dict) and "properties" in node:
            return self._object(node, instance, path)
        return self._array(node, instance, path) if isinstance(instance, list) else Shaped(instance)

    def _object(self, node: Mapping[str, Any], instance: dict[str, Any], path: Path) -> Shaped | None:
        value: dict[str, Any] = {}
        inside: list[Shaped] = []
        dropped: list[str] = []
        for name, child in node["properties"].items():
            inner = self.value(child, instance[name], (*path, name)) if name in instance else None
            if name in instance and inner is None:
                dropped.append(name)
            if inner is None and name in node["required"]:
                inner = self.value(child, None, (*path, name))
                if inner is None:
                    return None
            if inner is not None:
                value[name] = inner.value
                inside.append(inner)
        for name in instance.keys() - node["properties"].keys():
            extras = node["additionalProperties"]
            inner = self.value(extras, instance[name], (*path, name)) if isinstance(extras, dict) else None
            if extras is True:
                inner = Shaped(instance[name])
            if inner is None:
                dropped.append(name)
            else:
                value[name] = inner.value
                inside.append(inner)
        lost = sum(len(repr(instance[name])) for name in dropped) + sum(each.lost for each in inside)
        return Shaped(
            value, (*((*path, name) for name in dropped), *(at for each in inside for at in each.dropped)), lost
        )

    def _array(self, node: Mapping[str, Any], instance: list[Any], path: Path) -> Shaped | None:
        prefix, items = node.get("prefixItems", ()), node.get("items")
        inside: list[Shaped] = []
        for at, item in enumerate(instance):
            child = prefix[at] if at < len(prefix) else items
            inner = Shaped(item) if child is None else self.value(child, item, (*path, at))
            if inner is None:
                return None
            inside.append(inner)
        dropped = tuple(path for each in inside for path in each.dropped)
        return Shaped([each.value for each in inside], dropped, sum(each.lost for each in inside))

    def _fits_itself(self, node: Mapping[str, Any], instance: Any) -> bool:
        """Whether the value fits what a written schema says of the value itself, not of what is inside."""
        if id(node) not in self._own:
            self._own[id(node)] = compile({key: each for key, each in node.items() if key not in _INSIDE})
        return self._own[id(node)].fits(instance)


_INSIDE = frozenset({"properties", "required", "additionalProperties", "items", "prefixItems", "$defs"})


def without(instance: Any, paths: tuple[Path, ...]) -> Any:
    """The instance without what stands at these places."""
    if not paths:
        return instance
    if isinstance(instance, dict):
        heads = {path[0] for path in paths if len(path) == 1}
        return {
            name: without(each, tuple(path[1:] for path in paths if len(path) > 1 and path[0] == name))
            for name, each in instance.items()
            if name not in heads
        }
    return [without(each, tuple(path[1:] for path in paths if path[0] == at)) for at, each in enumerate(instance)]


def replaced(instance: Any, path: Path, by: Any) -> Any:
    if not path:
        return by
    step = path[0]
    if isinstance(instance, dict):
        return {**instance, step: replaced(instance[step], path[1:], by)}
    return [replaced(each, path[1:], by) if at == step else each for at, each in enumerate(instance)]


def is_extra(original: Validator, instance: Any, path: Path) -> bool:
    """Whether the caller's schema says nothing about what stands there: everything else would fit as well."""
    return all(original.fits(replaced(instance, path, probe)) for probe in PROBES)


def same_but_nulls(restored: Any, instance: Any) -> bool:
    """Whether two values are equal but for keys with null that only the first one has."""
    if isinstance(restored, dict) and isinstance(instance, dict):
        if instance.keys() - restored.keys():
            return False
        return all(
            same_but_nulls(each, instance[name]) if name in instance else each is None
            for name, each in restored.items()
        )
    if isinstance(restored, list) and isinstance(instance, list):
        return len(restored) == len(instance) and all(map(same_but_nulls, restored, instance))
    return type(restored) is type(instance) and bool(restored == instance)


_TYPES = {
    "object": "properties required additionalProperties patternProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas dependencies unevaluatedProperties",
    "array": "items prefixItems additionalItems contains minContains maxContains minItems maxItems uniqueItems "
    "unevaluatedItems",
    "string": "minLength maxLength pattern format contentEncoding contentMediaType",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
}


def typed(schema: Any) -> Any:
    """The schema with a type wherever it only speaks of one: how a rewrite reads it."""
    if not isinstance(schema, dict):
        return schema
    copy = dict(schema)
    for key in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"):
        if isinstance(copy.get(key), dict):
            copy[key] = {name: typed(each) for name, each in copy[key].items()}
    for key in ("additionalProperties", "additionalItems", "items", "then", "else", "unevaluatedProperties"):
        if key in copy:
            copy[key] = typed(copy[key])
    for key in ("allOf", "anyOf", "oneOf", "prefixItems", "items"):
        if isinstance(copy.get(key), list):
            copy[key] = [typed(each) for each in copy[key]]
    about = [kind for kind, words in _TYPES.items() if copy.keys() & set(words.split())]
    if len(about) == 1 and not copy.keys() & {"type", "enum", "const", "$ref"}:
        copy["type"] = about[0]
    return copy


def is_of_another_type(original: dict[str, Any], instance: Any) -> bool:
    """Whether an instance only fits because a subschema that speaks of one type says nothing of the others."""
    return not compile(typed(original)).fits(instance)


def kept(original: dict[str, Any], rewritten: Rewritten, instance: Any) -> str:
    """Which promise a rewrite breaks for an instance that fits the original; "" where it keeps all of them.

    The instance has a place in the rewrite; what was dropped for that is nothing that the original describes; the way
    back fits the original, and is the instance again but for nulls where the original allows them.
    """
    judge, written = compile(original), compile(rewritten.schema)
    assert judge.fits(instance), judge.problems(instance)
    if is_of_another_type(original, instance):
        return ""
    found = shaped(rewritten, instance)
    if found is None:
        return "the instance has no place in the rewrite"
    if not written.fits(found.value):
        return f"in shape it does not fit: {written.problems(found.value)[0]}"
    described = [path for path in found.dropped if not is_extra(judge, instance, path)]
    if described:
        return f"the rewrite has no room for {described[0]}"
    expected = without(instance, found.dropped)
    back = rewritten.restored(found.value)
    if not judge.fits(expected):
        return ""  # it needs what the original does not describe: a closed rewrite cannot ask for that
    if not judge.fits(back):
        return f"the way back does not fit: {judge.problems(back)[0]}"
    return "" if same_but_nulls(back, expected) else f"the way back changed {expected!r} into {back!r}"
