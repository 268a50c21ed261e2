"""JSON Schema: the only place that calls the validator, behind one depth guard.

The validator works offline (no reference is ever fetched), and nothing deeper than `MAX_DEPTH` reaches it, schema or
value: deep ones overflow its stack and end the process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any

from vancetope.errors import ConfigError
from vancetope.schema.anchors import name_apart
from vancetope.schema.keywords import draft_of, places
from vancetope.schema.problems import Problem, described, resolved, resource, sentence
from vancetope.schema.strict import MAX_DEPTH, NotJson, deeper_than, parse

__all__ = [
    "InvalidPattern",
    "InvalidSchema",
    "Problem",
    "Validator",
    "as_read",
    "compile",
    "decode_once",
    "drop_extras",
    "json_types",
    "matcher",
    "sentence",
]


class InvalidSchema(ConfigError):
    """The schema is not a JSON Schema."""


@dataclass(frozen=True)
class Validator:
    """A compiled schema, `text` is it as JSON. It may be used from any thread."""

    schema: Mapping[str, Any]
    text: str = field(repr=False)
    _compiled: Any = field(repr=False, compare=False)

    @cached_property
    def types(self) -> frozenset[str]:
        """The JSON types that the schema may allow, see `json_types`."""
        return json_types(self.schema, self.schema)

    @cached_property
    def takes_any_object(self) -> bool:
        """Whether nearly every object fits: nothing is required, and anything may be added."""
        return all(self.fits({_NOBODYS: each}) for each in _KINDS)

    @cached_property
    def takes_any_list(self) -> bool:
        """Whether nearly every list fits."""
        return all(self.fits([each]) for each in _KINDS)

    def fits(self, value: Any) -> bool:
        """Whether the value fits; never raises."""
        if deeper_than(value, MAX_DEPTH) or _no_json_number(value):
            return False
        try:
            return bool(self._compiled.is_valid(value))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # no JSON at all, or a panic of the validator
            return False

    def problems(self, value: Any) -> tuple[Problem, ...]:
        """What is wrong with the value, at most eight problems; nothing where it fits. Never raises: a value that is
        not JSON at all (too deep, half a surrogate pair, an object of Python's) is one problem."""
        if deeper_than(value, MAX_DEPTH):
            return (Problem("", "depth", f"at most {MAX_DEPTH} levels", "nested deeper"),)
        if foreign := _no_json_number(value):
            return (Problem("", "json", "a JSON value", foreign),)
        try:
            if self._compiled.is_valid(value):
                return ()
            if not _is_large(value):
                return described(self._compiled.iter_errors(value), self.schema)
            self._compiled.validate(value)
            return ()
        except ValueError as error:
            if hasattr(error, "kind"):
                return described([error], self.schema)
            return (Problem("", "json", "a JSON value", str(error)[:200]),)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the validator is no Exception
            return (Problem("", "validator", "a value that can be judged", str(error)[:200] or type(error).__name__),)


_KINDS: tuple[Any, ...] = (None, "x", 0, True, {}, [])
_NOBODYS = "\ue000"  # a key that no schema names


def _no_json_number(value: Any) -> str:
    """A number in this value that is none of JSON's, in words; the validator would take it for null. "" without one."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left.extend(each.values())
        elif isinstance(each, list | tuple):
            left.extend(each)
        elif isinstance(each, float):
            if not isfinite(each):
                return str(each)
        elif isinstance(each, int) and not -_LONG < each < _LONG:
            return "an integer with too many digits"
    return ""


_LONG = 10**4300  # has more digits than the interpreter reads and prints


def _is_large(value: Any) -> bool:
    """Whether all errors of this value might take seconds to collect; then only the first is asked for."""
    left, count = [value], 0
    while left:
        each = left.pop()
        if isinstance(each, dict | list | tuple):
            count += len(each)
            if count > _LARGE:
                return True
            left.extend(each.values() if isinstance(each, dict) else each)
    return False


_LARGE = 5_000


def compile(schema: Mapping[str, Any], *, formats: bool = False) -> Validator:
    """The validator of a schema: draft 2020-12, or the older draft that its `$schema` names.

    With `formats` a string that misses its `format` is a problem; unknown formats never are. Raises `InvalidSchema`
    with the reason for whatever is no schema, and for a reference that leaves it. Equal schemas are compiled once.
    """
    if not isinstance(schema, Mapping):
        raise InvalidSchema(f"a schema is an object, not {type(schema).__name__}")
    text = _as_text(schema if isinstance(schema, dict) else dict(schema))
    return (_cached if len(text) <= CACHED_LENGTH else _fresh)(text, formats)


def _as_text(schema: dict[str, Any]) -> str:
    """The schema as JSON. Raises `InvalidSchema` for what is none; of a shallow plain one, as nearly all are, that is
    seen at once."""
    try:
        text = json.dumps(schema, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        _refuse_deep(schema)
        raise InvalidSchema(f"the schema is not JSON: {error}") from None
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _refuse_deep(schema)
    if json.loads(text) != schema and (key := _odd_key(schema)) is not None:
        raise InvalidSchema(f"the schema is not JSON: the key {str(key[0])[:80]!r} is of type {type(key[0]).__name__}")
    return text


def _refuse_deep(schema: dict[str, Any]) -> None:
    if deeper_than(schema, MAX_DEPTH):
        raise InvalidSchema(f"the schema nests deeper than {MAX_DEPTH} levels")


def _odd_key(schema: Any) -> tuple[Any] | None:
    """The first key that is no text: made one, it could take the place of another."""
    left = [schema]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            for key, value in each.items():
                if not isinstance(key, str):
                    return (key,)
                if isinstance(value, dict | list | tuple):
                    left.append(value)
        else:
            left.extend(item for item in each if isinstance(item, dict | list | tuple))
    return None


CACHED_LENGTH = 200_000  # characters; what is made of a longer schema is not kept


@lru_cache(maxsize=256)
def _cached(text: str, formats: bool) -> Validator:
    return _fresh(text, formats)


def _fresh(text: str, formats: bool) -> Validator:
    import jsonschema_rs

    schema = given = json.loads(text)
    if '"$schema"' in text:
        _refuse_own_drafts(schema)
    try:
        if text.count('"$dynamicAnchor"') > 1:
            given = json.loads(text)
            name_apart(given)
        compiled = jsonschema_rs.validator_for(given, offline=True, validate_formats=formats)
    except jsonschema_rs.ValidationError as error:
        where = "".join(f"/{step}" for step in error.instance_path)
        raise InvalidSchema(f"the schema is invalid{' at ' + where if where else ''}: {error.message[:500]}") from None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the validator is no Exception
        raise InvalidSchema(f"the schema is invalid: {str(error)[:500] or type(error).__name__}") from None
    return Validator(schema, text, compiled)


def _refuse_own_drafts(schema: dict[str, Any]) -> None:
    """A metaschema of the schema's own may switch keywords off, `type` and all: what is checked is up to the drafts."""
    for place in places(schema):
        uri = place.schema.get("$schema")
        if isinstance(uri, str) and not draft_of(place.schema):
            shown = json.dumps(uri[:200], ensure_ascii=False)
            raise InvalidSchema(f"the schema is invalid: $schema names a draft from 4 to 2020-12, which {shown} is not")


class InvalidPattern(ValueError):
    """The text is no regular expression that is matched in linear time."""


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether this regular expression is found in a text, in time linear in the text whatever the pattern.

    Linear, but for the largest pattern that compiles about 0.15 s for 2,000 characters, during which no other thread
    runs: give it long texts in pieces. The dialect has no look-around and no back-references. Raises `InvalidPattern`
    in one sentence.
    """
    import jsonschema_rs

    options = jsonschema_rs.RegexOptions(size_limit=300_000, dfa_size_limit=2_000_000)
    try:
        compiled = jsonschema_rs.validator_for({"pattern": pattern}, offline=True, pattern_options=options)
    except ValueError:
        raise InvalidPattern(
            f"{json.dumps(pattern[:80], ensure_ascii=False)} is not a regular expression that can be searched for: "
            "characters such as ( [ { * + ? need a backslash before them to be taken as they are, look-around and "
            "back-references do not exist, and repeats such as {900} may not multiply to thousands"
        ) from None
    return compiled.is_valid


ALL_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})


def json_types(schema: Any, root: Any) -> frozenset[str]:
    """The JSON types that a schema may allow, a superset where it is hard to tell (`not`, `if`, foreign references)."""
    return _types(schema, root, frozenset())


def decode_once(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with each top-level string decoded from JSON where the schema wants another type for it.

    A property that may be a string is never touched, and a string whose JSON value has none of the wanted types stays
    as it is. Only one level is decoded. The given dict is not changed.
    """
    decoded = dict(arguments)
    for key, value in arguments.items():
        if not isinstance(value, str):
            continue
        types = _property_types(schema, schema, key, frozenset())
        if "string" in types or not types:
            continue
        try:
            inner = parse(value)
        except NotJson:
            continue
        if types & _types_of(inner):
            decoded[key] = inner
    return decoded


def drop_extras(schema: Mapping[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """The value without the top-level keys that the schema's `properties` do not name."""
    known = schema.get("properties", {})
    return {key: each for key, each in value.items() if key in known}


def _property_types(schema: Any, root: Any, key: str, seen: frozenset[str]) -> frozenset[str]:
    """The types that an object schema may allow for this key."""
    if not isinstance(schema, Mapping):
        return ALL_TYPES
    schema, root = as_read(schema, root)
    types = ALL_TYPES
    if isinstance(properties := schema.get("properties"), Mapping) and key in properties:
        types &= _types(properties[key], root, frozenset())
    elif isinstance(schema.get("additionalProperties"), Mapping) and "patternProperties" not in schema:
        types &= _types(schema["additionalProperties"], root, frozenset())
    if isinstance(reference := schema.get("$ref"), str) and reference not in seen:
        target = resolved(root, reference) if reference.startswith("#") else None
        types &= _property_types(target, root, key, seen | {reference})
    for each in _list(schema, "allOf"):
        types &= _property_types(each, root, key, seen)
    for union in ("anyOf", "oneOf"):
        if branches := _list(schema, union):
            types &= frozenset().union(*(_property_types(each, root, key, seen) for each in branches))
    return types


def _types(schema: Any, root: Any, seen: frozenset[str]) -> frozenset[str]:
    if schema is False:
        return frozenset()
    if not isinstance(schema, Mapping):
        return ALL_TYPES
    schema, root = as_read(schema, root)
    types = ALL_TYPES
    if isinstance(named := schema.get("type"), str | list):
        types &= _with_integer([named] if isinstance(named, str) else named)
    if "const" in schema:
        types &= _types_of(schema["const"])
    if isinstance(options := schema.get("enum"), list):
        types &= frozenset().union(*map(_types_of, options))
    if isinstance(reference := schema.get("$ref"), str) and reference not in seen:
        target = resolved(root, reference) if reference.startswith("#") else None
        types &= _types(target, root, seen | {reference})
    for each in _list(schema, "allOf"):
        types &= _types(each, root, seen)
    for union in ("anyOf", "oneOf"):
        if branches := _list(schema, union):
            types &= frozenset().union(*(_types(each, root, seen) for each in branches))
    return types


def as_read(schema: Mapping[str, Any], root: Any) -> tuple[Mapping[str, Any], Any]:
    """The schema as its draft reads it, and what its references start from: up to draft-07 nothing counts beside a
    `$ref`, and draft-04 has no `const`."""
    draft = str(root.get("$schema", "")) if isinstance(root, Mapping) else ""
    if "/draft-0" in draft and isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"]}, root
    base = resource(schema, root)
    if base is not root:
        base = {"$schema": draft, **base}
        draft = str(base["$schema"])
    if "/draft-04" in draft:
        schema = {key: each for key, each in schema.items() if key != "const"}
    return schema, base


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _with_integer(named: list[Any]) -> frozenset[str]:
    types = frozenset(each for each in named if isinstance(each, str))
    return types | {"integer"} if "number" in types else types


def _types_of(value: Any) -> frozenset[str]:
    """The JSON types that this value has: 3 and 3.0 are both an integer and a number."""
    match value:
        case bool():
            return frozenset({"boolean"})
        case None:
            return frozenset({"null"})
        case str():
            return frozenset({"string"})
        case dict():
            return frozenset({"object"})
        case list():
            return frozenset({"array"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"integer", "number"} if value.is_integer() else {"number"})
        case _:
            return frozenset()
