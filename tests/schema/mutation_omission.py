"""Damage that leaves entries out and says so in a comment, in words that no list knows."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.schema import mutation_phrases as phrases
from tests.schema.mutation_complete import is_described
from tests.schema.mutation_damage import DAMAGE, Reply, broken, damage, entries
from tests.schema.mutation_text import Draft, Path, Token, containers, put, span
from tests.schema.mutation_values import changed

__all__ = ["DAMAGE"]


@damage
def comment_for_what_is_left_out(draft: Draft, random: Random) -> Reply | None:
    """Some members or items are gone, mostly the last ones, a comment says so, and the rest fits if it can."""
    draft = replace(draft, layout="pretty")
    if (cut := _shortening(draft, random)) is None:
        return None
    path, start, stop = cut
    found = entries(draft, path)
    last = stop == len(found)
    first = found[start][0] - (1 if last and start and random.random() < 0.4 else 0)
    end = found[stop - 1][1] + (0 if last else 1)
    return broken(put(draft, first, end, _says_so(random, alone=random.random() < 0.7)), random)


@damage
def comment_beside_what_is_shortened(draft: Draft, random: Random) -> Reply | None:
    """As before, but the comment stands behind the closing bracket, or in a line of its own before the key. Below the
    whole object a hash would rather begin a heading."""
    if (cut := _shortening(draft, random)) is None:
        return None
    path, start, stop = cut
    found = entries(draft, path)
    last = stop == len(found)
    first = found[start][0] - (1 if last and start else 0)
    shorter = replace(put(draft, first, found[stop - 1][1] + (0 if last else 1)), layout="pretty")
    opens, closes = span(shorter.tokens, path)
    if path and random.random() < 0.4:
        place = opens - 2 if isinstance(path[-1], str) else opens
        return broken(put(shorter, place, place, _says_so(random, alone=True)), random)
    closes += closes < len(shorter.tokens) and shorter.tokens[closes].kind == "comma" and random.random() < 0.7
    comment = _says_so(random, alone=False)
    below = not path and not comment.text.startswith("#") and random.random() < 0.4
    return broken(put(shorter, closes, closes, replace(comment, value=below)), random)


def _shortening(draft: Draft, random: Random) -> tuple[Path, int, int] | None:
    """A container and which of its entries go: never only such as no schema describes, for those nobody misses."""
    value = draft.instance.value
    cuts = [
        (path, start, stop)
        for path, each in list(containers(value))[:12]
        for start in {0, len(each) // 2, len(each) - 1}
        for stop in {len(each), len(each) - 1}
        if 0 <= start < stop and any(is_described(draft.instance, path, key) for key in _keys(each)[start:stop])
    ]
    fitting = [each for each in cuts if draft.instance.fits(_without(value, *each))]
    return random.choice(fitting or cuts) if cuts else None


def _keys(container: Any) -> list[Any]:
    return list(container) if isinstance(container, dict) else list(range(len(container)))


def _says_so(random: Random, *, alone: bool) -> Token:
    opening, closing = random.choice([("// ", ""), ("# ", ""), ("/* ", " */"), ("//", "")])
    return Token("comment", f"{opening}{random.choice(phrases.LEFT_OUT)}{closing}", (), alone)


def _without(value: Any, path: Path, start: int, stop: int) -> Any:
    """The value without these entries of the container at the path."""
    container = value
    for step in path:
        container = container[step]
    if isinstance(container, list):
        return changed(value, path, container[:start] + container[stop:])
    keys = list(container)
    return changed(value, path, {key: container[key] for key in keys[:start] + keys[stop:]})
