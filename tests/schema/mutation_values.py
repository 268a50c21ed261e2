"""Other values that fit a schema too: what a wrong object would look like."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.schema.mutation_text import Instance, Path, containers, exact, scalars


def variant(instance: Instance, random: Random) -> Any | None:
    """A value that fits the instance's schema and is not its value; none if none is found nearby."""
    changes = list(_changes(instance.value, random))
    random.shuffle(changes)
    for path, new in changes[:12]:
        other = changed(instance.value, path, new)
        if not exact(other, instance.value) and instance.fits(other):
            return other
    return None


def changed(value: Any, path: Path, new: Any) -> Any:
    """A copy of the value with `new` at the path."""
    if not path:
        return copy.deepcopy(new)
    other = copy.deepcopy(value)
    inner = other
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = copy.deepcopy(new)
    return other


def other_scalar(value: Any, random: Random) -> Any:
    """A near miss of a scalar, of the same type where it has more than one value."""
    match value:
        case bool():
            return not value
        case int():
            return value + random.choice([1, -1, 10])
        case float():
            return value + 0.5
        case str():
            return random.choice([f"{value}x", value[:-1], f"{value} II", "x"])
        case _:
            return "x"


def _changes(value: Any, random: Random) -> Iterator[tuple[Path, Any]]:
    for path, each in scalars(value):
        yield path, other_scalar(each, random)
    for path, each in containers(value):
        if each:
            cut = dict(list(each.items())[:-1]) if isinstance(each, dict) else each[:-1]
            yield path, cut
