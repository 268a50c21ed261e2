"""A process as values: its statuses, the legal moves between them, and where each outcome leads."""

from __future__ import annotations

from enum import StrEnum

from vancetope.errors import IllegalMove
from vancetope.outcome import FAILURES, Outcome, Role


class Status(StrEnum):
    """READY rests and waits for nobody (a worker rests as IDLE), BLOCKED waits for a person."""

    INIT = "init"
    READY = "ready"
    IDLE = "idle"
    BLOCKED = "blocked"
    RUNNING = "running"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    CLOSED = "closed"


class CloseReason(StrEnum):
    """Why a process is closed, for good."""

    DONE = "done"
    STOPPED = "stopped"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    ABANDONED = "abandoned"


_REST = frozenset({Status.READY, Status.IDLE, Status.BLOCKED})
_HELD = frozenset({Status.PAUSED, Status.SUSPENDED})
_OPEN = frozenset(Status) - {Status.CLOSED}

MOVES: dict[Status, frozenset[Status]] = {
    Status.INIT: frozenset({Status.RUNNING, Status.CLOSED}) | _HELD,
    Status.RUNNING: _REST | _HELD | {Status.CLOSED},
    **{status: frozenset({Status.RUNNING, Status.CLOSED}) | _HELD for status in _REST},
    **{status: _OPEN - {status} | {Status.CLOSED} for status in _HELD},
    Status.CLOSED: frozenset(),
}


def moved(now: Status, to: Status) -> Status:
    """`to`, if a process may go there from `now`. Raises `IllegalMove` with what is expected and what was asked."""
    if to not in MOVES[now]:
        allowed = ", ".join(sorted(MOVES[now])) or "nothing"
        raise IllegalMove(f"a process that is {now} cannot become {to}; expected {allowed}")
    return to


def rest(outcome: Outcome, role: Role, *, awaiting: bool) -> tuple[Status, CloseReason | None]:
    """Where a chat process rests after a turn with this outcome, and why it is closed if it is."""
    primary = role == "primary"
    if outcome is Outcome.STOPPED:
        return Status.CLOSED, CloseReason.STOPPED
    if outcome in FAILURES:
        return (Status.READY, None) if primary else (Status.CLOSED, CloseReason.INCOMPLETE)
    if not primary:
        return Status.IDLE, None
    waits = outcome in (Outcome.NATURAL, Outcome.NATURAL_FALLBACK, Outcome.INTERRUPTED) or (
        outcome is Outcome.RESPOND and awaiting
    )
    return (Status.BLOCKED if waits else Status.READY), None
