"""What may be spent, on whose account, and what is said where it is not enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from vancetope.models.base import ModelInfo

Scope: TypeAlias = Literal["turn", "tree", "project", "tenant", "day"]
Unit: TypeAlias = Literal["tokens", "dollars"]

SCOPES: tuple[Scope, ...] = ("turn", "tree", "project", "tenant", "day")
UNITS: tuple[Unit, ...] = ("tokens", "dollars")
WARN_AT = 0.8
GIVEN_BY_HAND = ("custom", "text")  # no catalogue tells of these

_NAMES: dict[Scope, str] = {
    "turn": "this turn's budget",
    "tree": "the budget of this process and its children",
    "project": "the project's budget",
    "tenant": "the tenant's budget",
    "day": "today's budget",
}
_HINTS: dict[Scope, str] = {
    "turn": "raise {key} in the settings, or give the turn a larger budget",
    "tree": "raise {key} in the settings, or begin a new conversation",
    "project": "raise {key} in the settings",
    "tenant": "raise {key} in the settings",
    "day": "raise {key} in the settings, or wait for midnight UTC",
}


@dataclass(frozen=True, slots=True)
class Account:
    """On whose account a model call goes. `turn` and `tree` are names that nobody else has, `tree` is the root process
    of a tree (a process without a parent is its own tree); `project` is empty outside of any."""

    turn: str
    tree: str
    project: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """What one scope may spend: tokens in and out together, US dollars. Null is no limit, 0 allows nothing that
    costs."""

    tokens: int | None = None
    dollars: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The limits of all scopes. `warn_at` is the part of a limit (over 0, at most 1) at which a person is told.

    A `day` is one of UTC: it has 24 hours everywhere and every node agrees when it begins; what a tenant spends in it
    is counted together.
    """

    turn: Limit = field(default_factory=Limit)
    tree: Limit = field(default_factory=Limit)
    project: Limit = field(default_factory=Limit)
    tenant: Limit = field(default_factory=Limit)
    day: Limit = field(default_factory=Limit)
    warn_at: float = WARN_AT

    def of(self, scope: Scope) -> Limit:
        limit: Limit = getattr(self, scope)
        return limit


@dataclass(frozen=True, slots=True)
class Spent:
    """What one scope has spent, and what calls under way hold of it. `unpriced` counts the calls among `calls` whose
    price is not known: their tokens are in `tokens`, and nothing of them in `dollars`."""

    tokens: int = 0
    dollars: float = 0.0
    calls: int = 0
    unpriced: int = 0
    reserved_tokens: int = 0
    reserved_dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call may not be made: `spent`, `reserved` by calls under way and `wanted` by this one are together over
    `limit`, in `unit`. `wanted` is null where the price of its model is not known."""

    scope: Scope
    unit: Unit
    spent: float
    reserved: float
    wanted: float | None
    limit: float

    @property
    def sentence(self) -> str:
        """For people: which budget, what was spent, what this call could take, and what to do."""
        name = _NAMES[self.scope]
        if self.wanted is None:
            return f"{name} is in dollars, but the price of the model is not known, so the call was not made"
        so_far = progress(self.unit, self.spent, self.limit)
        held = f", calls under way hold {amount(self.unit, self.reserved)}" if self.reserved else ""
        hint = _HINTS[self.scope].format(key=key_of(self.scope, self.unit))
        wanted = amount(self.unit, self.wanted)
        return f"{name} is not enough: {so_far} spent{held}, this call could take {wanted}; {hint}"


@dataclass(frozen=True, slots=True)
class Warned:
    """A scope has passed the part of its limit at which a person is told, for the first time."""

    scope: Scope
    unit: Unit
    spent: float
    limit: float

    @property
    def sentence(self) -> str:
        part = math.floor(100 * self.spent / self.limit)
        so_far = progress(self.unit, self.spent, self.limit)
        return f"{_NAMES[self.scope]} is {part}% spent: {so_far} ({key_of(self.scope, self.unit)})"


def key_of(scope: Scope, unit: Unit) -> str:
    """The settings key of a limit."""
    return f"budgets.{scope}.{unit}"


def scope_key(scope: Scope, account: Account, at: datetime) -> tuple[str, ...]:
    """What tells this scope of the account from every other. `at` says which day it is."""
    if scope == "day":
        return (scope, account.tenant, at.astimezone(UTC).date().isoformat())
    name: str = getattr(account, scope)
    return (scope, name)


def money_problem(budgets: Budgets, info: ModelInfo) -> str | None:
    """Why these budgets cannot be kept with this model, in a sentence; null where they can. A price of 0 is a price."""
    scopes = [each for each in SCOPES if budgets.of(each).dollars is not None]
    if not scopes or info.price is not None:
        return None
    keys = ", ".join(key_of(each, "dollars") for each in scopes)
    place = "the `info` of its backend" if info.provider in GIVEN_BY_HAND else "ai-models.yaml"
    return (
        f"the price of {info.id} is not known, so a budget in dollars ({keys}) cannot be kept; give one in tokens, "
        f"or the model's price in {place}"
    )


def budgets_from(get: Callable[[str], Any]) -> Budgets:
    """Budgets out of settings: `get` gives the checked value of a dotted key, null where nobody says anything."""
    limits = {
        scope: Limit(tokens=get(key_of(scope, "tokens")), dollars=get(key_of(scope, "dollars"))) for scope in SCOPES
    }
    part = get("budgets.warnAt")
    return Budgets(**limits, warn_at=WARN_AT if part is None else part)


def amount(unit: Unit, number: float) -> str:
    """A number of tokens or dollars as people read it."""
    return money(number) if unit == "dollars" else f"{int(number):,} tokens"


def progress(unit: Unit, spent: float, limit: float) -> str:
    """What is spent of a limit."""
    return f"{money(spent) if unit == 'dollars' else f'{int(spent):,}'} of {amount(unit, limit)}"


def money(dollars: float) -> str:
    """US dollars: cents from one dollar on (and what is under a cent, where there is some), under it three significant
    digits, however small."""
    if dollars == 0:
        return "$0"
    size = abs(dollars)
    places = 2 - math.floor(math.log10(size)) if size < 1 else 4 if size < 100 else 2
    whole, _, part = f"{dollars:,.{places}f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"
