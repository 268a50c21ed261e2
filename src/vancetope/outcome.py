"""Why a turn ended, as data: the closed set of outcomes and the one value that reports a turn."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Literal, TypeAlias

from vancetope.errors import TurnFailed
from vancetope.messages import History, Usage

EnforcementName: TypeAlias = Literal["native", "constrained", "prompted"]
TurnEnd: TypeAlias = Literal["respond", "natural"]
Role: TypeAlias = Literal["primary", "worker"]


class Outcome(StrEnum):
    """Why a turn ended. The set is closed."""

    RESPOND = "respond"
    NATURAL = "natural"
    NATURAL_FALLBACK = "natural_fallback"
    INCOMPLETE = "incomplete"
    EMPTY_REPLY = "empty_reply"
    MALFORMED_CALL = "malformed_call"
    OUTPUT_TRUNCATED = "output_truncated"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSED = "refused"
    FILTERED = "filtered"
    MODEL_ERROR = "model_error"
    BUDGET_EXCEEDED = "budget_exceeded"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    STARTED = "started"
    NO_INPUT = "no_input"
    CLIENT_CALLS = "client_calls"


DELIVERED = frozenset({Outcome.RESPOND, Outcome.NATURAL, Outcome.NATURAL_FALLBACK})
FAILURES = frozenset(
    {
        Outcome.INCOMPLETE,
        Outcome.EMPTY_REPLY,
        Outcome.MALFORMED_CALL,
        Outcome.OUTPUT_TRUNCATED,
        Outcome.CONTEXT_OVERFLOW,
        Outcome.REFUSED,
        Outcome.FILTERED,
        Outcome.MODEL_ERROR,
        Outcome.BUDGET_EXCEEDED,
    }
)


@dataclass(frozen=True, slots=True)
class Enforcement:
    """How the contract was asked for and what the server really did: a constraint may be accepted and then ignored."""

    asked: EnforcementName
    honoured: EnforcementName | Literal["none"]


@dataclass(frozen=True, kw_only=True)
class TurnReport:
    """Everything about a turn that ended, but its messages; the data of the event `turn_ended`.

    `message` is null unless the outcome delivered one; `best_text` is the last rejected message or narration of a turn
    that failed. `rounds` counts judged replies, `model_calls` requests. `cost` is in US dollars, null if a price is
    unknown.
    """

    outcome: Outcome
    message: str | None = None
    awaiting_user_input: bool = True
    best_text: str | None = None
    reason: str = ""
    rounds: int = 0
    model_calls: int = 0
    corrections: int = 0
    repairs: int = 0
    narrowed: bool = False
    bounded: bool = False
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    enforcement: Enforcement = Enforcement("native", "native")
    wakes_on: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Turn(TurnReport):
    """What `ask` returns. `messages` is the conversation with this turn in it, valid as the next call's `history`."""

    messages: History = field(default_factory=History)

    def unwrap(self) -> str:
        """The delivered message. Raises `TurnFailed` with outcome and reason where there is none."""
        if self.message is None:
            raise TurnFailed(self.outcome.value, self.reason)
        return self.message

    def report(self) -> TurnReport:
        """This turn without its messages."""
        return TurnReport(**{each.name: getattr(self, each.name) for each in fields(TurnReport)})

    def __repr__(self) -> str:
        said = self.message if self.message is not None else self.reason
        return f"<Turn {self.outcome.value}: {said if len(said) <= 80 else said[:79] + '…'}>"
