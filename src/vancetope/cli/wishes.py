"""What a person may say on the command line about a turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vancetope.asked import Asked
    from vancetope.outcome import EnforcementName, TurnEnd


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The options that `ask`, `chat` and `query` share; null was not said."""

    model: str | None = None
    recipe: str | None = None
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
