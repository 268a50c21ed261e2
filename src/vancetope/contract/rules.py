"""What a judge needs to know of a turn beside its replies: the contract, its budgets and what is offered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vancetope.messages import ToolSpec
from vancetope.outcome import Role, TurnEnd


@dataclass(frozen=True, slots=True)
class Offer:
    """The work tools of a turn by name, which of them may be polled, which are shown only once the model has asked for
    their description, and which are not named to the model among its options, because something else tells of them."""

    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    poll: frozenset[str] = frozenset()
    deferred: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(name for name in self.tools if name not in self.unnamed)


@dataclass(frozen=True, slots=True)
class Rules:
    """The contract of one turn.

    `corrections` and `iterations` are its budgets. `relay` is the sentence for an answer that leaves out what the tools
    said, null where that row is off. `raises_output` is true where the model takes a larger output limit after a cut.
    """

    turn_end: TurnEnd = "respond"
    role: Role = "primary"
    corrections: int = 2
    iterations: int = 100
    validation: bool = True
    relay: str | None = None
    raises_output: bool = False
    offer: Offer = field(default_factory=Offer)
    respond: ToolSpec | None = None
