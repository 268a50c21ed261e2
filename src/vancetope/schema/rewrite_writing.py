"""A goal, written as a schema that a profile accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from vancetope.schema.profiles import Profile
from vancetope.schema.rewrite_leaves import Leaves, Written, allows_null, nullable, union_of
from vancetope.schema.rewrite_merging import (
    Merged,
    extras_goal,
    is_about_presence,
    item_goals,
    merged,
    noted,
    property_goals,
    types_of,
)
from vancetope.schema.rewrite_reading import Either, Flat, Goal, Node, Plain, Refused, Source, flattened, loosened

MAX_NODES = 30_000
NODES_PER_NODE = 8
SHARED_NODES = 6  # from this size on, what appears a second time becomes a definition
MAX_LEVELS = 60
MAX_INLINE_VALUES = 8
MAX_DESCRIPTION = 1_000
_ORDER = ("object", "array", "string", "number", "integer", "boolean", "null")


class Writer:
    """One rewrite under way.

    `room` is how many alternatives a union may be multiplied into. `left_out` holds, by the identity of each written
    object, the properties for which null stands for "left out"; `either` those where null is also a value.
    """

    def __init__(self, source: Source, profile: Profile, room: int) -> None:
        self.source, self.profile, self.room = source, profile, room
        self.leaves = Leaves(profile)
        self.definitions: dict[str, Written] = {}
        self.left_out: dict[int, tuple[frozenset[str], frozenset[str]]] = {}
        self.is_multiplied = False
        self._kept: dict[Goal, str] = {}
        self._inline: dict[Goal, Written] = {}
        self._scalars: dict[Goal, Written] = {}
        self._doing: dict[Goal, str | None] = {}
        self._names: set[str] = set()
        self._place = "the root"  # of a value that no subschema is about
        self._alive: list[Written] = []  # an identity counts only while its object lives
        self._nodes_left = min(MAX_NODES, 2_000 + NODES_PER_NODE * source.size)

    def value(self, goal: Goal, level: frozenset[Goal], deep: int) -> Written | None:
        """The schema of a goal. `level` holds the goals of the same value that are being written."""
        if found := self._reference_in(goal):
            return self._reference(found[0], level, deep, found[1])
        return self._written(goal, level, deep, self.room)

    def _reference_in(self, goal: Goal) -> tuple[Node, str | None] | None:
        """The only thing that a goal demands, where that is a reference, and how it is described there."""
        described: str | None = None
        target: Node | None = None
        left = [*reversed(goal)]
        while left:
            node = left.pop()
            if not isinstance(node, Node) or not isinstance(node.schema, Mapping):
                return None
            facts = self.source.facts(node)
            described = described or facts.get("description")
            demands = facts.keys() - _SAYS_NOTHING
            if demands == {"allOf"}:
                left.extend(self.source.child(node, each, "allOf", at) for at, each in enumerate(facts["allOf"]))
            elif demands == {"$ref"} and len(facts["$ref"]) == 1 and target is None:
                target = self.source.target(node, facts["$ref"][0])
            elif demands:
                return None
        return (target, described) if target else None

    def _reference(self, target: Node, level: frozenset[Goal], deep: int, described: str | None) -> Written | None:
        passed: set[Node] = set()
        while nested := self._reference_in((target,)):
            if nested[0] in passed:
                raise Refused("recursive", f"{target.where} refers to itself")
            passed.add(nested[0])
            target = nested[0]
        goal: Goal = (target,)
        if goal in self._scalars:
            return self._described(self._scalars[goal], described)
        if goal not in self._kept:
            body = self._written(goal, level, deep, self.room)
            if body is None or "$ref" in body:
                return body
            if not body.keys() & {"properties", "items", "prefixItems", "anyOf", "additionalProperties"} and (
                len(body.get("enum", ())) <= MAX_INLINE_VALUES
            ):
                self._scalars[goal] = body
                return self._described(body, described)
            self._defined(goal, body, self._named(target))
        return self._around({"$ref": f"#/$defs/{self._kept[goal]}"}, described)

    def _described(self, body: Written, described: str | None) -> Written:
        return body if not described else {**body, "description": described[:MAX_DESCRIPTION]}

    def _around(self, reference: Written, described: str | None) -> Written:
        if not described or not self.profile.described_references:
            return reference
        return {"anyOf": [reference], "description": described[:MAX_DESCRIPTION]}

    def _written(self, goal: Goal, level: frozenset[Goal], deep: int, room: int) -> Written | None:
        if goal in self._kept:
            return {"$ref": f"#/$defs/{self._kept[goal]}"}
        if goal in self._doing:
            where = next((part.where for part in goal if isinstance(part, Node)), "the schema")
            if goal in level or not self.profile.recursion:
                raise Refused("recursive", f"{where} contains itself")
            if self._doing[goal] is None:
                self._doing[goal] = self._name_for(goal)
            return {"$ref": f"#/$defs/{self._doing[goal]}"}
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise Refused("too_large", f"written out, the schema is more than {NODES_PER_NODE} times as large")
        if deep > MAX_LEVELS:
            raise Refused("too_deep", f"written out, the schema nests deeper than {MAX_LEVELS} levels")
        if goal in self._inline:
            return self._moved(goal)
        left = self._nodes_left
        self._doing[goal] = None
        body = self._body(goal, level | {goal}, deep, room)
        name = self._doing.pop(goal)
        if body is not None and name is not None:
            return self._defined(goal, body, name)
        if body is not None and left - self._nodes_left >= SHARED_NODES and "$ref" not in body:
            self._inline[goal] = body
        return body

    def _defined(self, goal: Goal, body: Written, name: str) -> Written:
        self._kept[goal] = name
        self.definitions[name] = body
        return {"$ref": f"#/$defs/{name}"}

    def _moved(self, goal: Goal) -> Written:
        """What was written in place before becomes a definition, there too."""
        inline = self._inline.pop(goal)
        body = dict(inline)
        self.keep_mark(inline, body)
        self.left_out.pop(id(inline), None)
        reference = self._defined(goal, body, self._name_for(goal))
        inline.clear()
        inline.update(reference)
        return reference

    def _name_for(self, goal: Goal) -> str:
        return self._named(next((part for part in goal if isinstance(part, Node)), None))

    def _named(self, node: Node | None) -> str:
        last = node.pointer.rpartition("/")[2] if node else ""
        stem = re.sub(r"[^A-Za-z0-9_]+", "_", last)[:40].strip("_") or "value"
        name, number = stem, 1
        while name in self._names:
            number += 1
            name = f"{stem}_{number}"
        self._names.add(name)
        return name

    def _body(self, goal: Goal, level: frozenset[Goal], deep: int, room: int) -> Written | None:
        flat = flattened(self.source, goal)
        if flat is None:
            return None
        said = self._settle_unions(flat, room)
        if not flat.unions:
            return self._single(merged(self.source, flat), said, deep)
        first, *others = flat.unions
        base: Goal = (*(Plain(node) for node in flat.atoms), *flat.named, *others)
        room //= len(first.options)
        written = [self._option((*base, *option), level, deep, room) for option in first.options]
        return self._noted(union_of([each for each in written if each is not None]), flat.descriptions, said)

    def _option(self, goal: Goal, level: frozenset[Goal], deep: int, room: int) -> Written | None:
        bare = tuple(part for part in goal if not isinstance(part, Plain) or self._demands(part.node))
        if len(bare) == 1 and isinstance(bare[0], Node):
            return self.value(bare, level, deep)
        return self._written(bare, level, deep, room)

    def _demands(self, node: Node) -> bool:
        return bool(set(self.source.facts(node)) - _SAYS_NOTHING - _APPLIED)

    def _settle_unions(self, flat: Flat, room: int) -> list[str]:
        """Take the unions out of a goal that it can do without; what they said is returned in words.

        The largest is kept: it tells the kinds of a thing apart. Others are multiplied with it while there is room.
        """
        said: list[str] = []
        kept: list[Either] = []
        is_bare = not any(map(self._demands, flat.atoms))
        alternatives = 1
        for union in sorted(dict.fromkeys(flat.unions), key=lambda each: -len(each.options)):
            presences = [is_about_presence(self.source, option) for option in union.options]
            keys = [each for each in presences if each]
            alternatives *= len(union.options)
            if len(keys) == len(presences):
                said.append(noted("some_keys", "; ".join(", ".join(each) for each in keys)))
            elif not any(map(is_empty, union.options)) and (
                alternatives <= room or (not kept and (is_bare or alternatives <= room * _ALONE))
            ):
                self.is_multiplied |= bool(kept) or not is_bare
                kept.append(union)
                continue
            else:
                flat.named.append(loosened(self.source, union))
            alternatives //= len(union.options)
        flat.named = [named for named in flat.named if named.properties]
        flat.unions = kept
        return said

    def _single(self, all_of: Merged, said: list[str], deep: int) -> Written | None:
        said = [*said, *all_of.said]
        if all_of.values is not None:
            written = self.leaves.literals(all_of.values, said)
        elif all_of.types is None:
            if not self.profile.any_value:
                where = all_of.where if all_of.flat.atoms else self._place
                raise Refused("permissive", f"{where} allows every value")
            written = {"type": ["object", "array", "string", "number", "boolean", "null"]}
        else:
            types = [each for each in _ORDER if each in types_of(all_of)]
            if "number" in types:
                types.remove("integer")
            options = (self._of_type(each, all_of, said, deep) for each in types)
            written = union_of([each for each in options if each is not None])
        return self._noted(written, all_of.flat.descriptions, said)

    def _noted(self, body: Written | None, descriptions: list[str], said: Iterable[str]) -> Written | None:
        """A schema with the caller's description and what it cannot say otherwise."""
        notes = ". ".join(note[:1].upper() + note[1:] for note in dict.fromkeys(said))
        parts = [part.strip() for part in (*descriptions[:1], notes) if part.strip()]
        text = " ".join(part if part[-1] in ".!?" else f"{part}." for part in parts[:-1]) if len(parts) > 1 else ""
        text = f"{text} {parts[-1]}".strip() if parts else ""
        if body is None or not text:
            return body
        if "$ref" in body:
            return self._around(body, text)
        own = body.get("description")
        if own and own not in text:
            text = f"{text} {own}"
        described = {**body, "description": text[:MAX_DESCRIPTION]}
        self.keep_mark(body, described)
        return described

    def keep_mark(self, before: Written, after: Written) -> None:
        """What null stands for in a written object also holds for its copy."""
        if marks := self.left_out.get(id(before)):
            self.left_out[id(after)] = marks
            self._alive.append(after)

    def _of_type(self, kind: str, all_of: Merged, said: list[str], deep: int) -> Written | None:
        match kind:
            case "object":
                return self._object(all_of, said, deep)
            case "array":
                return self._array(all_of, said, deep)
            case "string":
                return self.leaves.string(all_of, said)
            case "number" | "integer":
                return self.leaves.number(kind, all_of, said)
            case _:
                return {"type": kind}

    def _object(self, all_of: Merged, said: list[str], deep: int) -> Written | None:
        profile = self.profile
        properties: dict[str, Written] = {}
        required: list[str] = []
        left_out: list[str] = []
        either: list[str] = []
        for name, goal in property_goals(self.source, all_of).items():
            self._place = f"{name[:80]!r} in {all_of.where}"
            written = self.value(goal, frozenset(), deep + 1)
            if written is None:
                if name in all_of.required:
                    return None
                continue
            if profile.names and not profile.names.fullmatch(name):
                raise Refused("property_name", f"{all_of.where} has a property named {name[:80]!r}")
            if name not in all_of.required and profile.all_required:
                (either if allows_null(written) else left_out).append(name)
                written = nullable(written)
            properties[name] = written
            if name in all_of.required or profile.all_required:
                required.append(name)
        extras = self._extras(all_of, properties, deep)
        counts = {
            "minProperties": all_of.count("minProperties") or None,
            "maxProperties": all_of.count("maxProperties"),
        }
        said.extend(noted(bound, count) for bound, count in counts.items() if count is not None)
        if extras is False and not properties and not profile.empty_objects:
            extras = {"type": "null"}
        body: Written = {"type": "object", "properties": properties, "required": required}
        body["additionalProperties"] = extras
        self.left_out[id(body)] = (frozenset(left_out), frozenset(either))
        self._alive.append(body)
        return body

    def _extras(self, all_of: Merged, properties: Mapping[str, Any], deep: int) -> bool | Written:
        """What a written object says of properties without a name."""
        goals = extras_goal(all_of)
        if goals is None:
            return False
        needed = all_of.bounds.get("minProperties", 0) > len(properties)
        if not all_of.is_open and properties and not needed:
            return False
        if self.profile.closed_objects:
            raise Refused("open_object", f"{all_of.where} allows properties without a name")
        pattern = self.profile.names_beside_extras
        if pattern and not all(pattern.fullmatch(name) for name in properties):
            raise Refused("open_object", f"{all_of.where} allows properties without a name beside unusual names")
        if any(is_empty(goal) for goal in goals):
            return True
        written = union_of([each for goal in goals if (each := self.value(goal, frozenset(), deep + 1)) is not None])
        return False if written is None else written

    def _array(self, all_of: Merged, said: list[str], deep: int) -> Written | None:
        firsts, rest = item_goals(all_of)
        least, most = all_of.count("minItems") or 0, all_of.count("maxItems")
        self._place = f"an item of {all_of.where}"
        prefix = [self.value(goal, frozenset(), deep + 1) for goal in firsts]
        items = None if is_closed(rest) else self.value(rest, frozenset(), deep + 1)
        if items is None:
            most = len(prefix) if most is None else min(most, len(prefix))
        for at, each in enumerate(prefix):
            if each is None:
                most = at if most is None else min(most, at)
                break
        if most is not None and most < least:
            return None
        shown = [each for each in prefix if each is not None][: most if most is not None else None]
        body: Written = {"type": "array"}
        exact = most is not None and least == most == len(shown)
        if shown and (self.profile.tuples == "open" or (self.profile.tuples == "exact" and exact)):
            body["prefixItems"] = shown
            if items is not None and not exact:
                body["items"] = items
        else:
            kinds = union_of([*shown, *([] if items is None or (most is not None and most <= len(shown)) else [items])])
            if shown:
                said.append(noted("first_items", len(shown)))
            if kinds is None:
                said.append(noted("no_items"))
            body["items"] = kinds if kinds is not None else {"type": "null"}
        return body | self.leaves.counts(
            {"minItems": least or None, "maxItems": most}, said, exact and "prefixItems" in body
        )


_ALONE = 8  # how many times the room a single union may take

_APPLIED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"})
_ADDRESSES = frozenset({"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"})
_REMARKS = frozenset({"title", "description", "default", "examples", "readOnly", "writeOnly", "deprecated", "$comment"})
_SAYS_NOTHING = _ADDRESSES | _REMARKS | {"$defs", "definitions"}


def is_empty(goal: Goal) -> bool:
    """Whether a goal allows everything at first sight."""
    return all(isinstance(part, Node) and (part.schema is True or part.schema == {}) for part in goal)


def is_closed(goal: Goal) -> bool:
    return any(isinstance(part, Node) and part.schema is False for part in goal)
