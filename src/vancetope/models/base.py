"""What is known of a model, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vancetope.messages import Usage
from vancetope.outcome import EnforcementName, TurnEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model as the catalogue sees it.

    `enforcements` are those it can do, the first is the default. Tokens for window and limits; prices in US dollars per
    million tokens, null where unknown. `output_limit` is sent where the caller names none (null: nothing is sent),
    `structured_output` names the profiles of response formats that its server keeps to, the first is the default.
    `output_ceiling` is how far it may be raised once after a cut. `forced_choice`: the server takes a choice of tool by
    name. `thought`: a constrained action may begin with a short thought. `string_bound`: the longest string that a
    constrained action may hold, in characters. `tier` is "tiny" for models that need the shortest prompts;
    `temperature` is used where the caller names none.
    """

    provider: str
    name: str
    context_window: int | None = None
    output_limit: int | None = None
    output_ceiling: int | None = None
    enforcements: tuple[EnforcementName, ...] = ("native",)
    structured_output: tuple[str, ...] = ()
    forced_choice: bool = True
    turn_end: TurnEnd | None = None
    vision: bool = False
    thought: bool = False
    string_bound: int = 4000
    tier: Literal["tiny", "standard"] = "standard"
    temperature: float | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None

    @property
    def id(self) -> str:
        return f"{self.provider}:{self.name}"


def cost_of(model: ModelInfo, usage: Usage) -> float | None:
    """What these tokens cost in US dollars; null if a price is unknown. Cached tokens without a price of their own cost
    as much as the others."""
    if model.input_price is None or model.output_price is None:
        return None
    cached_price = model.input_price if model.cached_price is None else model.cached_price
    fresh = max(usage.input_tokens - usage.cached_tokens, 0)
    millionths = (
        fresh * model.input_price + usage.cached_tokens * cached_price + usage.output_tokens * model.output_price
    )
    return millionths / 1_000_000
