"""A reply in its place: everything that a row of the truth table may look at."""

from __future__ import annotations

from dataclasses import dataclass

from vancetope import sentences
from vancetope.contract.calls import Read, message_of
from vancetope.contract.rules import Rules
from vancetope.contract.verdict import End, State, Streak
from vancetope.messages import Finish, Reply, says_something
from vancetope.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything a row may look at."""

    rules: Rules
    state: State
    reply: Reply
    reads: tuple[Read, ...]
    idle: bool

    @property
    def text(self) -> str | None:
        """The reply's text, null if it is blank: blank text is no text."""
        return self.reply.text if says_something(self.reply.text) else None

    @property
    def responds(self) -> tuple[Read, ...]:
        return tuple(each for each in self.reads if each.kind == "respond")

    @property
    def was_cut(self) -> bool:
        return self.reply.finish is Finish.LENGTH

    @property
    def corrections_left(self) -> int:
        return self.rules.corrections - self.state.corrections

    @property
    def call_set(self) -> frozenset[str]:
        """The calls of this reply that count as repeated when they come again."""
        return frozenset(each.key for each in self.reads if each.call.name not in self.rules.offer.poll)

    @property
    def same_set(self) -> int:
        """How often in a row this set of calls has come, this time included; 0 for a set that may repeat."""
        if not self.call_set:
            return 0
        return self.state.same_set + 1 if self.call_set == self.state.last_set else 1

    def in_a_row(self, streak: Streak) -> int:
        """How many replies in a row were of this kind, if this one is; counted to four, no row asks for more."""
        before = self.state.streak
        return min(before[1] + 1, 4) if before and before[0] == streak else 1

    def best_text(self) -> str | None:
        """What a failure keeps: this reply's refused message or text, else the last one before it."""
        refused = (message_of(each.call) for each in self.responds)
        return next(filter(None, refused), None) or self.text or self.state.best_text

    def every(self, answer: str) -> tuple[str, ...]:
        return tuple(answer for _ in self.reads)

    def fail(self, row: str, outcome: Outcome, reason: str) -> End:
        return End(row, outcome, best_text=self.best_text(), reason=reason, answers=self.every(sentences.NOT_RUN))

    def fallback(self, row: str, text: str, reason: str, answers: tuple[str, ...] = ()) -> End:
        outcome, waits = Outcome.NATURAL_FALLBACK, self.waits
        return End(row, outcome, message=text, awaiting_user_input=waits, reason=reason, answers=answers)

    @property
    def waits(self) -> bool:
        """Whether a message without a word about it waits for a person: the role decides."""
        return self.rules.role == "primary"
