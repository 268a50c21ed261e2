"""What is known of a model, as data."""

from __future__ import annotations

from dataclasses import dataclass

from vancetope.outcome import EnforcementName, TurnEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model as the catalogue sees it.

    `enforcements` are those it can do, the first is the default. Tokens for window and limits; prices in US dollars per
    million tokens, null where unknown. `output_limit` is sent where the caller names none (null: nothing is sent),
    `output_ceiling` is how far it may be raised once after a cut. `forced_choice`: the server takes a tool choice by
    name. `thought`: a constrained action may begin with a short thought. `string_bound`: the longest string a constrained
    action may hold, in characters.
    """

    provider: str
    name: str
    context_window: int | None = None
    output_limit: int | None = None
    output_ceiling: int | None = None
    enforcements: tuple[EnforcementName, ...] = ("native",)
    forced_choice: bool = True
    turn_end: TurnEnd | None = None
    vision: bool = False
    thought: bool = False
    string_bound: int = 4000
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None

    @property
    def id(self) -> str:
        return f"{self.provider}:{self.name}"
