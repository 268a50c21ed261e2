"""What strict providers refuse in a request: the rules of each dialect, and all of them together a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from vancetope.backends.faults import check_anthropic, check_gemini, check_openai
from vancetope.backends.faults.asked import DialectName

Rule: TypeAlias = Callable[[Mapping[str, Any]], Iterator[str]]

SHAPES: Mapping[DialectName, Rule] = {
    "openai": check_openai.shape,
    "anthropic": check_anthropic.shape,
    "gemini": check_gemini.shape,
}
RULES: Mapping[DialectName, Mapping[str, Rule]] = {
    "openai": check_openai.RULES,
    "anthropic": check_anthropic.RULES,
    "gemini": check_gemini.RULES,
}


@dataclass(frozen=True, slots=True)
class Violation:
    """Request `number` breaks the rule of this name; the sentence says where and how."""

    number: int
    rule: str
    sentence: str


def violations(
    body: object,
    number: int = 1,
    unchecked: frozenset[str] = frozenset(),
    dialect: DialectName = "openai",
) -> Iterator[Violation]:
    """Everything that strict providers of this dialect would refuse in this body; a Gemini body may name its `model`,
    which else stands in the path. Rules named in `unchecked` are left out."""
    if not isinstance(body, dict):
        yield Violation(number, "shape", "the body is not a JSON object")
        return
    shape = list(SHAPES[dialect](body))
    yield from (Violation(number, "shape", sentence) for sentence in shape)
    if shape:
        return  # the other rules read messages and tools as they should be
    for name, rule in RULES[dialect].items():
        if name not in unchecked:
            yield from (Violation(number, name, sentence) for sentence in rule(body))
