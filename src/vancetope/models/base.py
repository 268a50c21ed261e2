"""What is known of a model, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from vancetope.messages import Usage
from vancetope.outcome import EnforcementName, TurnEnd

Tier: TypeAlias = Literal["tiny", "standard"]
Thinking: TypeAlias = Literal["no", "yes", "always"]
Quirk: TypeAlias = Literal["no_temperature", "no_seed"]
# The names of `vancetope.schema.profiles`; that module takes long to load and is not needed to look a model up.
ResponseFormat: TypeAlias = Literal[
    "openai", "azure", "anthropic", "gemini", "llguidance", "gbnf", "xgrammar", "ollama"
]

# Where a model may be. The first are hosted: they cost money, and what is sent leaves this machine.
HOSTED = ("openai", "anthropic", "gemini", "azure", "openrouter")
PROVIDERS = (*HOSTED, "ollama", "lmstudio", "llamacpp", "vllm", "local", "scripted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens. Input that was read from a cache or written to one costs as much as other input
    where it has no price of its own; thinking costs as much as other output."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model as the catalogue sees it.

    `enforcements` are those it can do, the first is the default. Tokens for window and limits. `output_limit` is sent
    where the caller names none (null: nothing is sent), `output_ceiling` is how far it may be raised once after a cut.
    `structured_output` names the profiles of response formats that its server keeps to, the first is the default.
    `forced_choice`: the server takes a choice of tool by name, `forced_choice_with_thinking`: also while the model
    thinks. `thinking`: it never thinks, it does if asked to, or it cannot be kept from it. `thought`: a constrained
    action may begin with a short thought. `string_bound`: the longest string that a constrained action may hold, in
    characters. `tier` is "tiny" for models that need the shortest prompts; `temperature` is used where the caller names
    none; `quirks` are settings that its server refuses, they are left out of a request. `price` is null where unknown;
    `long_price` holds for a request of more than `long_from` input tokens. `known` is false for a model that the
    catalogue does not know: all else is then a safe default.
    """

    provider: str
    name: str
    known: bool = True
    context_window: int | None = None
    output_limit: int | None = None
    output_ceiling: int | None = None
    enforcements: tuple[EnforcementName, ...] = ("native",)
    structured_output: tuple[str, ...] = ()
    forced_choice: bool = True
    forced_choice_with_thinking: bool = True
    thinking: Thinking = "no"
    turn_end: TurnEnd | None = None
    vision: bool = False
    thought: bool = False
    string_bound: int = 4000
    tier: Tier = "standard"
    temperature: float | None = None
    quirks: tuple[Quirk, ...] = ()
    price: Price | None = None
    long_price: Price | None = None
    long_from: int | None = None

    @property
    def id(self) -> str:
        return f"{self.provider}:{self.name}"


def cost_of(model: ModelInfo, usage: Usage) -> float | None:
    """What the tokens of one request cost in US dollars; null if the price is unknown."""
    price = model.price
    if model.long_price is not None and model.long_from is not None and usage.input_tokens > model.long_from:
        price = model.long_price
    if price is None:
        return None
    cached = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - cached)
    millionths = (
        (usage.input_tokens - cached - written) * price.input
        + cached * (price.input if price.cached is None else price.cached)
        + written * (price.input if price.cache_write is None else price.cache_write)
        + usage.output_tokens * price.output
    )
    return millionths / 1_000_000
