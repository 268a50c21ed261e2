"""The judge: a pure fold over the replies of a turn. What each kind of reply leads to is the table in `rows.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vancetope import sentences
from vancetope.contract import rows
from vancetope.contract.calls import read
from vancetope.contract.rules import Rules
from vancetope.contract.seen import Seen
from vancetope.contract.verdict import End, Go, Narrow, State, Verdict
from vancetope.messages import Reply, Result
from vancetope.tools.describe import NAME as TOOL_DESCRIBE

__all__ = ["begin", "judge", "ran"]


def begin(state: State, *, drained: bool, late: bool) -> State:
    """The state at the start of a round: a drained message makes a repeated call legitimate again, a deadline that has
    passed narrows the turn."""
    if drained:
        state = replace(state, last_set=frozenset(), same_set=0)
    if late and state.narrow is None:
        state = replace(state, narrow=Narrow("deadline", sentences.NARROW_DEADLINE))
    return state


def judge(rules: Rules, state: State, reply: Reply, *, idle: bool = False) -> tuple[State, Verdict]:
    """The verdict on a reply, and the state after it.

    `idle` is true when no child, no job and no message could continue the turn by itself. The first row that matches
    decides. The verdict is `End` at the latest in the round after `rules.iterations`. A repair that did not help has
    spent one correction, if one was left: it brought no envelope, or one that breaks the contract in another way.
    """
    state = _spent(rules, state) if reply.missed and reply.repairs else state
    seen = Seen(rules, state, reply, tuple(read(call, rules) for call in reply.calls), idle)
    verdict = _first_verdict(seen)
    if reply.repairs and not reply.missed and _broken(verdict):
        seen = replace(seen, state=_spent(rules, state))
        verdict = _first_verdict(seen)
    if isinstance(verdict, Go):
        verdict = replace(verdict, arguments=tuple(each.arguments for each in seen.reads))
    return _after(seen, verdict), verdict


def ran(state: State, results: Sequence[Result]) -> State:
    """The state after the calls of a reply have run. A tool's description is no data for an answer."""
    biggest = max((each.size for each in results if each.ok and each.name != TOOL_DESCRIBE), default=0)
    return replace(state, biggest_result=max(state.biggest_result, biggest))


def _first_verdict(seen: Seen) -> Verdict:
    for row in rows.TABLE:
        if (verdict := row.verdict(seen)) is not None:
            return verdict
    raise AssertionError("the truth table has no row for this reply")


def _broken(verdict: Verdict) -> bool:
    """Whether the reply broke the contract; an objection is about what it says, not about its form."""
    return isinstance(verdict, Go) and verdict.spends == "correction" and not verdict.objected


def _spent(rules: Rules, state: State) -> State:
    """The state after one correction, if one was left."""
    return replace(state, corrections=min(state.corrections + 1, max(rules.corrections, state.corrections)))


def _after(seen: Seen, verdict: Verdict) -> State:
    state = replace(seen.state, rounds=seen.state.rounds + 1)
    if isinstance(verdict, End):
        return replace(state, ended=True, bounded=state.bounded or verdict.bounded)
    return replace(
        state,
        corrections=state.corrections + (verdict.spends == "correction"),
        mixed=state.mixed + (verdict.spends == "mixed"),
        streak=(verdict.streak, seen.in_a_row(verdict.streak)) if verdict.streak else None,
        last_set=seen.call_set if verdict.same_set else frozenset(),
        same_set=verdict.same_set,
        objected=state.objected or verdict.objected,
        bounded=state.bounded or verdict.bounded,
        output_raised=state.output_raised or verdict.raise_output,
        narrow=verdict.narrow or _cap(seen.rules, state),
        best_text=seen.best_text(),
    )


def _cap(rules: Rules, state: State) -> Narrow | None:
    if state.rounds < rules.iterations:
        return None
    return Narrow("iterations", sentences.NARROW_ITERATIONS.format(n=rules.iterations))
