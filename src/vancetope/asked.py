"""What a caller asks for, and whose word counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vancetope.backends.base import Backend, ModelSettings
from vancetope.backends.text import TextFunction
from vancetope.context import Budget, Patience
from vancetope.models.ledger import Ledger
from vancetope.outcome import EnforcementName, Role, TurnEnd
from vancetope.recipes.recipe import Params, Recipe
from vancetope.settings import Settings
from vancetope.tools.base import Tool


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a caller may say about a turn; null leaves the word to recipe, environment, settings and catalogue.

    `params` are those of the process, of the kind that a recipe has and before the recipe's. `agreed` names the
    variables whose keys may be used for models that nobody named, null for all; `ledger` counts the calls, where it is
    not the one of this Python.
    """

    model: str | Backend | TextFunction | None = None
    recipe: str | Path | Recipe = "default"
    settings: Settings | Mapping[str, Any] | None = None
    tools: Iterable[Tool | Callable[..., Any]] = ()
    instructions: str = ""
    turn_end: TurnEnd | None = None
    role: Role | None = None
    enforcement: EnforcementName | None = None
    max_iterations: int | None = None
    max_validation_corrections: int | None = None
    validation: bool | None = None
    budget: Budget | int | None = None
    model_settings: ModelSettings | Mapping[str, Any] | None = None
    deadline: float | None = None
    patience: Patience | None = None
    deps: Any = None
    lang: str = ""
    wire: Callable[[str, Any], None] | None = None
    params: Params | Mapping[str, Any] = field(default_factory=Params)
    agreed: frozenset[str] | None = None
    ledger: Ledger | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """Who says what about a parameter: the process before the recipe, both before the settings."""

    params: Params
    recipe: Recipe
    settings: Settings

    def of(self, key: str, argument: Any = None, *, bundled: bool = True) -> Any:
        """What holds for this parameter, a caller's argument before everything else; null where nobody says anything,
        or nobody but we ourselves and `bundled` is false."""
        for value in (argument, getattr(self.params, key), getattr(self.recipe.params, key)):
            if value is not None:
                return value
        found = self.settings.values.get(key)
        return None if found is None or (found.source == "bundled" and not bundled) else found.value
