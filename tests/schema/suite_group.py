"""One schema of the sample, with values that fit and values that fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """`keywords` are the ones that decide, named in one string; `what` the rule, as a clause."""

    keywords: str
    what: str
    schema: dict[str, Any]
    fits: tuple[Any, ...]
    fails: tuple[Any, ...]
