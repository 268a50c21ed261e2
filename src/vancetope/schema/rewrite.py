"""A caller's schema as the structured-output option of a provider accepts it, and values back to the caller's shape.

A rewrite is never stricter than the caller's schema, but for these:

- An object that names properties and does not say `additionalProperties` is closed: further ones are not asked for.
- The same where a property is named only in an option (`then`, `dependentSchemas`, an option of a large union): what
  it may be where that option does not hold is not asked for.
- A subschema without `type` whose keywords are all about one type is of this type.
- A `format` that the provider knows is held by its grammar, though validation takes it for a hint.

So every instance that fits the caller's schema, without such extras, fits the rewrite once its missing properties are
null where the rewrite requires them; and `Rewritten.restored` takes it back. The caller's schema judges in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vancetope.schema.profiles import PROFILES
from vancetope.schema.rewrite_leaves import Written, union_of
from vancetope.schema.rewrite_limits import hold
from vancetope.schema.rewrite_reading import Refused, Source, UnsuitedReason
from vancetope.schema.rewrite_restoring import Marks, marked, restored
from vancetope.schema.rewrite_writing import Writer
from vancetope.schema.strict import MAX_DEPTH, deeper_than
from vancetope.schema.validate import InvalidSchema, Validator, compile

_ROOMS = (32, 4, 0)
"""How many alternatives a union may be multiplied into, and what is tried where that grows too large."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A schema for a provider.

    `wrapper` is the name of the only property of the root where the provider takes no union there and the caller's
    value stands inside; None where the root is the value.
    """

    schema: dict[str, Any]
    wrapper: str | None = None
    _original: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _marks: Marks = field(default_factory=dict, repr=False, compare=False)
    _known: list[Validator] = field(default_factory=list, repr=False, compare=False)  # the original's, once needed

    def restored(self, value: Any) -> Any:
        """A value of the provider in the caller's shape: unwrapped, without the nulls that stand for "left out".

        Never raises and changes nothing else; the given value is not changed. A null stays where the caller's schema
        allows one.
        """
        if deeper_than(value, MAX_DEPTH):
            return value
        start = ""
        if self.wrapper is not None:
            if not isinstance(value, dict) or value.keys() != {self.wrapper}:
                return value
            value, start = value[self.wrapper], f"/properties/{self.wrapper}"
        if not self._marks:
            return value
        try:
            return restored(self.schema, start, self._marks, value, self._fits)
        except RecursionError:  # as deep as allowed, through a union at each level
            return value

    def _fits(self, value: Any) -> bool:
        if not self._known:
            try:
                self._known.append(compile(self._original))
            except InvalidSchema:
                return False
        return self._known[0].fits(value)


@dataclass(frozen=True, slots=True)
class Unsuited:
    """Why a schema has no rewrite, so that only the prompt can ask for it: `sentence` says what, and where."""

    reason: UnsuitedReason
    sentence: str


def rewrite(schema: Mapping[str, Any], profile: str) -> Rewritten | Unsuited:
    """The schema for the provider whose profile has this name (`PROFILES`), or why there is none.

    The schema is one that compiles. Pure, and linear in the schema but for the alternatives that unions beside other
    keywords are multiplied into. Raises `KeyError` for a profile that does not exist.
    """
    limits = PROFILES[profile]
    refused = Refused("too_large", "")
    try:
        source = Source(schema)
    except Refused as error:
        return Unsuited(error.reason, str(error))
    for room in _ROOMS:
        writer = Writer(source, limits, room)
        try:
            return _rewritten(schema, writer)
        except Refused as error:
            refused = error
            if not writer.is_multiplied or error.reason not in _LARGE:
                break
        except RecursionError:  # unions inside unions inside definitions, hundreds of them
            return Unsuited("too_deep", "the schema nests its unions too deep")
    return Unsuited(refused.reason, str(refused))


_LARGE = ("too_large", "too_many_optional", "too_many_properties", "too_many_unions", "too_many_values")


def _rewritten(schema: Mapping[str, Any], writer: Writer) -> Rewritten:
    profile = writer.profile
    body = _root(writer, writer.value((writer.source.root,), frozenset(), 0))
    wrapper = None
    if "anyOf" in body and not profile.root_union:
        wrapper = _unused("answer", body)
        body = {
            "type": "object",
            "properties": {wrapper: body},
            "required": [wrapper],
            "additionalProperties": False,
        }
    whole = body | ({"$defs": writer.definitions} if writer.definitions else {})
    writer.keep_mark(body, whole)
    hold(whole, profile)
    return Rewritten(whole, wrapper, schema, marked(whole, writer.left_out))


def _root(writer: Writer, body: Written | None) -> Written:
    """The written root as an object or a union of objects; other values are no answer."""
    if body is None:
        raise Refused("unsatisfiable", "nothing fits the schema")
    body, hops = _followed(writer, body), 0
    while "anyOf" in body and hops < 2:
        options = [each for each in (_followed(writer, each) for each in body["anyOf"]) if _may_be_object(each)]
        union = union_of(options) or {}
        body = {**union, **({"description": body["description"]} if "description" in body else {})}
        writer.keep_mark(union, body)
        hops += 1
    kinds = body.get("type")
    if "anyOf" not in body and kinds != "object":
        if isinstance(kinds, list) and "object" in kinds:
            raise Refused("permissive", "the schema allows every object")
        raise Refused("root_not_object", "the schema allows no object at its root")
    if not body.get("anyOf") and not body.get("properties") and body.get("additionalProperties") is True:
        raise Refused("permissive", "the schema allows every object")
    return body


def _followed(writer: Writer, body: Written) -> Written:
    while "$ref" in body:
        body = writer.definitions[body["$ref"].removeprefix("#/$defs/")]
    return body


def _may_be_object(body: Written) -> bool:
    return "anyOf" in body or "object" in ([body["type"]] if isinstance(body["type"], str) else body["type"])


def _unused(name: str, body: Written) -> str:
    taken = {key for each in body["anyOf"] for key in each.get("properties", ())}
    while name in taken:
        name += "_"
    return name
