"""The leaves of a rewrite: strings, numbers, literal values, and schemas put together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from vancetope.schema.profiles import Profile
from vancetope.schema.rewrite_merging import Merged, noted
from vancetope.schema.rewrite_patterns import portable

_LARGEST_NUMBER = 2**53
_SAID_VALUES = 20

Written = dict[str, Any]
"""A schema of the rewrite; None in its place where no value fits."""


class Leaves:
    """Writes what has no subschema of the caller's. `said` collects in words what the profile cannot hold."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._repeats = 0

    def counts(self, counts: Mapping[str, int | None], said: list[str], bare: bool = False) -> Written:
        """The bounds on lengths and numbers of items that the profile holds; the others are said."""
        profile, held = self.profile, {}
        for keyword, number in counts.items():
            if number is None:
                continue
            least = profile.max_least_items if keyword == "minItems" else None
            total = self._repeats + number if keyword == "maxItems" else 0
            fits = profile.max_repeats is None or number <= profile.max_repeats
            fits = fits and (profile.max_repeats_total is None or total <= profile.max_repeats_total)
            if keyword in profile.keywords and (fits or bare) and (least is None or number <= least):
                held[keyword] = number
                self._repeats = max(self._repeats, total)
            else:
                said.append(noted(keyword, number))
                if keyword in profile.keywords and least is not None:
                    held[keyword] = least
        return held

    def string(self, all_of: Merged, said: list[str]) -> Written | None:
        profile, body = self.profile, {"type": "string"}
        if (all_of.count("minLength") or 0) > all_of.bounds.get("maxLength", math.inf):
            return None
        ruled = False
        for keyword in ("pattern", "format"):
            for value in all_of.each.get(keyword, ()):
                held = value if keyword == "format" and value in profile.formats else None
                held = portable(value) if keyword == "pattern" else held
                if held and keyword in profile.keywords and not ruled:
                    body[keyword], ruled = held, True
                else:
                    said.append(noted(keyword, value[:200]))
        lengths = {"minLength": all_of.count("minLength") or None, "maxLength": all_of.count("maxLength")}
        if ruled and profile.string_rules == "one":
            said.extend(noted(key, number) for key, number in lengths.items() if number is not None)
            return body
        return body | self.counts(lengths, said)

    def number(self, kind: str, all_of: Merged, said: list[str]) -> Written | None:
        profile, body = self.profile, {"type": kind}
        bounds = dict(range_of(all_of.bounds, kind == "integer"))
        if is_empty_range(bounds):
            return None
        for step in all_of.each.get("multipleOf", ()):
            if "multipleOf" in profile.keywords and "multipleOf" not in body:
                body["multipleOf"] = step
            else:
                said.append(noted("multipleOf", step))
        for keyword, bound in bounds.items():
            inclusive = keyword.replace("exclusiveM", "m")
            if kind not in profile.ranged_types or abs(bound) > _LARGEST_NUMBER or inclusive not in profile.keywords:
                said.append(noted(keyword, bound))
            elif keyword in profile.keywords:
                body[keyword] = bound
            else:
                body[inclusive] = bound
                said.append(noted(keyword, bound))
        return body

    def literals(self, values: list[Any], said: list[str]) -> Written | None:
        """A schema that allows these values, and as few others as the profile can manage."""
        options: list[Written] = []
        by_type: dict[str, list[Any]] = {}
        for value in values:
            kind = type_of(value)
            if kind in ("object", "array"):
                options.append(self._structure(value, said))
            else:
                by_type.setdefault("number" if kind == "integer" else kind, []).append(value)
        for kind, alike in by_type.items():
            if kind == "number" and all(isinstance(each, int) for each in alike):
                kind = "integer"
            if kind == "null" or (kind == "boolean" and len({*alike}) == 2):
                options.append({"type": kind})
            elif kind in self.profile.enum_types and all(map(_is_exact, alike)):
                options.append({"type": kind, "enum": alike})
            else:
                options.append({"type": kind})
                said.extend(noted("const", json.dumps(each)) for each in alike[:_SAID_VALUES])
        return union_of(options)

    def _structure(self, value: Any, said: list[str]) -> Written:
        """An object or a list that is demanded as it stands."""
        if isinstance(value, Mapping):
            inner = {name: self.literals([each], said) or {} for name, each in value.items()}
            if not inner and not self.profile.empty_objects:
                return {"type": "object", "properties": {}, "required": [], "additionalProperties": {"type": "null"}}
            return {
                "type": "object",
                "properties": inner,
                "required": [*inner],
                "additionalProperties": False,
            }
        kinds = union_of([each for item in value if (each := self.literals([item], said))])
        body: Written = {"type": "array", "items": kinds or {"type": "null"}}
        return body | self.counts({"minItems": len(value) or None, "maxItems": len(value)}, said)


def _is_exact(value: Any) -> bool:
    """Whether every reader of JSON keeps this scalar as it is: large integers are rounded by some."""
    return not isinstance(value, int) or abs(value) <= _LARGEST_NUMBER


def type_of(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case None:
            return "null"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def range_of(bounds: Mapping[str, Any], whole: bool) -> Iterable[tuple[str, Any]]:
    """At most one lower and one upper bound; for integers inclusive and whole."""
    for least, keyword, exclusive in ((True, "minimum", "exclusiveMinimum"), (False, "maximum", "exclusiveMaximum")):
        closed, opened = bounds.get(keyword), bounds.get(exclusive)
        if closed is None and opened is None:
            continue
        strict = closed is None or (opened is not None and (opened >= closed if least else opened <= closed))
        bound: Any = opened if strict else closed
        if not whole or not math.isfinite(bound):
            yield (exclusive if strict else keyword), bound
        elif least:
            yield keyword, math.floor(bound) + 1 if strict else math.ceil(bound)
        else:
            yield keyword, math.ceil(bound) - 1 if strict else math.floor(bound)


def is_empty_range(bounds: Mapping[str, Any]) -> bool:
    """Whether no number lies between a lower and an upper bound."""
    least = bounds.get("minimum", bounds.get("exclusiveMinimum", -math.inf))
    most = bounds.get("maximum", bounds.get("exclusiveMaximum", math.inf))
    return bool(least > most or (least == most and bounds.keys() & {"exclusiveMinimum", "exclusiveMaximum"}))


def allows_null(written: Written) -> bool:
    """Whether null fits a written schema by itself; not told for references."""
    kinds = written.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds and "enum" not in written):
        return True
    return any(allows_null(each) for each in written.get("anyOf", ()))


def nullable(written: Written) -> Written:
    """A written schema that also allows null."""
    if allows_null(written):
        return written
    description = {key: written[key] for key in ("description",) if key in written}
    if "anyOf" in written:
        return {"anyOf": [*written["anyOf"], {"type": "null"}]} | description
    if isinstance(kinds := written.get("type"), str | list) and "enum" not in written and not (_DEEP & written.keys()):
        return {**written, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}
    return {"anyOf": [written, {"type": "null"}]}


_DEEP = frozenset({"properties", "items", "prefixItems", "additionalProperties"})


def union_of(options: list[Written]) -> Written | None:
    """One schema for several; None where there is none."""
    flat: list[Written] = []
    seen: set[str | int] = set()
    for option in options:
        for each in option["anyOf"] if option.keys() == {"anyOf"} else [option]:
            # Objects that look alike may differ in what null stands for.
            key = id(each) if _DEEP & each.keys() else json.dumps(each)
            if key not in seen:
                seen.add(key)
                flat.append(each)
    if len(flat) <= 1:
        return flat[0] if flat else None
    if all(each.keys() == {"type"} for each in flat):
        kinds = [kind for each in flat for kind in ([each["type"]] if isinstance(each["type"], str) else each["type"])]
        return {"type": [*dict.fromkeys(kinds)]}
    if len(flat) == 2 and {"type": "null"} in flat:
        other = next(each for each in flat if each != {"type": "null"})
        return nullable(other)
    return {"anyOf": flat}
