"""What the validator gets wrong about names, put right before it compiles.

It takes an ordinary `$ref` to a name for a dynamic one where several `$dynamicAnchor` give that name, and follows the
outermost holder instead of the one that is meant. So it gets a schema in which those places have a second name, which
no dynamic reference uses.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from vancetope.schema.keywords import places


def name_apart(schema: dict[str, Any]) -> None:
    """Rename, in this schema, what ordinary references to such names refer to; nothing else changes its meaning.

    Raises `ValueError` where that cannot be done: a holder has another `$anchor`, or one has the name as `$anchor`.
    """
    found = [place.schema for place in places(schema)]
    names = [each["$dynamicAnchor"] for each in found if isinstance(each.get("$dynamicAnchor"), str)]
    plain = {str(each["$anchor"]) for each in found if "$anchor" in each}
    for name, holders in Counter(names).items():
        references = [each for each in found if str(each.get("$ref")).endswith(f"#{name}")]
        if holders == 1 or not references:
            continue
        other = name
        while other in plain or other in names:
            other += "_"
        marked = [each for each in found if each.get("$dynamicAnchor") == name]
        if name in plain or any("$anchor" in each for each in marked):
            raise ValueError(f'"{name[:80]}" is the name of several places, as $anchor and as $dynamicAnchor')
        for each in marked:
            each["$anchor"] = other
        for each in references:
            each["$ref"] = each["$ref"].removesuffix(name) + other
        plain.add(other)
