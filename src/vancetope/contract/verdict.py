"""What a judge says of a reply, and what it remembers of a turn: frozen values, no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vancetope.outcome import Outcome

Spends: TypeAlias = Literal["-", "cut", "correction", "mixed", "own", "cap"]
Streak: TypeAlias = Literal["cut", "malformed", "silent", "no_call_ran", "open_ended"]


@dataclass(frozen=True, slots=True)
class Narrow:
    """Why one last round follows. `sentence` is said to the model and to people."""

    reason: Literal["iterations", "deadline", "mixed", "no_call_ran", "repeated"]
    sentence: str


@dataclass(frozen=True, slots=True)
class Go:
    """The turn goes on. `answers` has one entry per call of the reply, in order: null to run it, else its error result.
    `arguments` are the calls' decoded arguments, null where they could not be read; the judge fills them in.

    `say` is a note for the model where no call can carry the correction. `streak` is the kind of reply this was, for
    rows that count replies in a row. `objected` marks an objection, made once a turn, to an otherwise valid answer.
    """

    row: str
    spends: Spends
    answers: tuple[str | None, ...] = ()
    arguments: tuple[Mapping[str, Any] | None, ...] = ()
    say: str | None = None
    streak: Streak | None = None
    narrow: Narrow | None = None
    raise_output: bool = False
    objected: bool = False
    bounded: bool = False
    same_set: int = 0

    @property
    def runs(self) -> bool:
        """Whether a call of the reply is to be run."""
        return None in self.answers

    @property
    def again(self) -> bool:
        """Whether the model is asked again at once, with no tool run in between."""
        return not self.runs


@dataclass(frozen=True, slots=True)
class End:
    """The turn ends. `answers` are the results of calls beside the end, none of which runs."""

    row: str
    outcome: Outcome
    message: str | None = None
    awaiting_user_input: bool = True
    best_text: str | None = None
    reason: str = ""
    answers: tuple[str, ...] = ()
    bounded: bool = False

    @property
    def again(self) -> bool:
        return False


Verdict: TypeAlias = Go | End


@dataclass(frozen=True, slots=True)
class State:
    """What the judge remembers of the replies so far. It is a fold over them and nothing else, so a turn that is read
    again from its journal stands where it stood."""

    rounds: int = 0
    corrections: int = 0
    mixed: int = 0
    streak: tuple[Streak, int] | None = None
    last_set: frozenset[str] = frozenset()
    same_set: int = 0
    biggest_result: int = 0
    objected: bool = False
    bounded: bool = False
    output_raised: bool = False
    narrow: Narrow | None = None
    best_text: str | None = None
    ended: bool = False
