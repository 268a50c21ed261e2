"""What a person may say on the command line about a turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vancetope.errors import ConfigError

if TYPE_CHECKING:
    from vancetope.asked import Asked
    from vancetope.outcome import EnforcementName, TurnEnd
    from vancetope.recipes.recipe import Params


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The options that `ask`, `chat` and `query` share; null was not said."""

    model: str | None = None
    recipe: str | None = None
    params: tuple[str, ...] = ()
    turn_end: TurnEnd | None = None
    enforcement: EnforcementName | None = None
    instructions: str = ""
    max_iterations: int | None = None
    max_corrections: int | None = None
    budget: int | None = None
    deadline: float | None = None
    seed: int | None = None
    temperature: float | None = None
    as_json: bool = False
    wire: bool = False
    quiet: bool = False
    agrees: bool = False

    def asked(self, recipe: str, wire: Callable[[str, Any], None] | None) -> Asked:
        """The same for the runtime. `recipe` is the one used where the person names none."""
        from vancetope.asked import Asked
        from vancetope.context import Patience

        usual = Patience().last_round
        sampling = {"seed": self.seed, "temperature": self.temperature}
        return Asked(
            model=self.model,
            recipe=self.recipe or recipe,
            params=_params(self.params),
            instructions=self.instructions,
            turn_end=self.turn_end,
            enforcement=self.enforcement,
            max_iterations=self.max_iterations,
            max_validation_corrections=self.max_corrections,
            budget=self.budget,
            deadline=self.deadline,
            # The last round that follows a deadline may not take longer than the turn was given.
            patience=Patience(last_round=min(usual, self.deadline)) if self.deadline else None,
            model_settings={name: value for name, value in sampling.items() if value is not None},
            wire=wire,
        )


def _params(said: tuple[str, ...]) -> Params:
    """The parameters behind each `NAME=VALUE`; a value is written as in a recipe. Raises `ConfigError` naming it."""
    from vancetope.recipes.recipe import params_from
    from vancetope.strict_yaml import parsed

    found: dict[str, Any] = {}
    for each in said:
        name, is_given, value = each.partition("=")
        if not is_given or not name.strip():
            raise ConfigError(f"--param {each}: write NAME=VALUE, for example --param temperature=0.2")
        found[name.strip()] = parsed(value, f"--param {name.strip()}")
    return params_from(found, "--param")


@dataclass(frozen=True, kw_only=True)
class Files:
    """A conversation to go on with, and where to keep it."""

    history: Path | None = None
    save: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What an answer has to be: where its schema is (a file, `-` or `module:Class`), and how it is held to it."""

    schema: str
    max_attempts: int | None = None
    format_checks: bool = False
