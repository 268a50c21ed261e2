"""Schemas with something broken in them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.schema.suite import KEYWORDS

NAMES = (
    *sorted(KEYWORDS),
    "definitions",
    "id",
    "$recursiveRef",
    "$recursiveAnchor",
    "dependencies",
    "additionalItems",
    "",
)
WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2, 1.5, 1e308, 10**30, "", "#", "#/", "#a", "#/$defs/%zz/~2", "(", "^\\p{Nonsense}$"),
    *("integer", "file:///etc/hostname", "http://no.example/schema", "http://[", "\u0000", "urn:", "..", "%"),
    *("http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema", "a" * 5_000),
    *(
        [],
        [[]],
        [{}],
        [1, 1],
        ["a", "a"],
        [False],
        {},
        {"a": 1},
        {"": {}},
        {"$ref": "#"},
        {"type": "null"},
        {"not": {}},
    ),
)


def damaged(schema: Any, chance: Random) -> Any:
    """A copy of the schema with one to three wounds: values replaced, moved or lost, keys renamed."""
    copy = _copy(schema)
    for _ in range(chance.randint(1, 3)):
        _wound(chance.choice(_holders(copy)), chance)
    return copy


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _holders(value: Any) -> list[Any]:
    found, left = [value], [value]
    while left:
        each = left.pop()
        below = [child for child in _children(each) if isinstance(child, dict | list)]
        found += below
        left += below
    return found


def _children(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value)


def _wound(holder: Any, chance: Random) -> None:
    places = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    kind = chance.choice(("replace", "add", "lose", "rename", "wrap", "copy"))
    if not places or kind == "add":
        if isinstance(holder, dict):
            holder[chance.choice(NAMES)] = _copy(chance.choice(WRONG))
        else:
            holder.append(_copy(chance.choice(WRONG)))
        return
    at = chance.choice(places)
    if kind == "lose":
        del holder[at]
    elif kind == "wrap":
        holder[at] = [holder[at]]
    elif kind == "replace" or isinstance(holder, list):
        holder[at] = _copy(chance.choice(WRONG))
    elif kind == "rename":
        holder[chance.choice(NAMES)] = holder.pop(at)
    else:
        holder[chance.choice(NAMES)] = _copy(holder[at])
