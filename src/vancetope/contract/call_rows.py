"""The truth table's rows about one work call beside others: what is wrong with it, in the order in which it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vancetope import sentences
from vancetope.contract.calls import Read, near_names, offered_names
from vancetope.contract.seen import Seen

REPEAT_REFUSED = 3


def cut_beside(seen: Seen, each: Read) -> str | None:
    return sentences.cut_off(seen.reply.limit) if seen.was_cut and not each.closed else None


def _unknown(seen: Seen, each: Read) -> str | None:
    if each.kind != "unknown":
        return None
    return sentences.unknown_tool(each.call.name, near_names(each.call.name, seen.rules), offered_names(seen.rules))


def _bad_arguments(_seen: Seen, each: Read) -> str | None:
    return sentences.bad_arguments(each.call.name, each.problem) if each.problem else None


def _repeated(seen: Seen, each: Read) -> str | None:
    if each.call.name in seen.rules.offer.poll or seen.same_set < REPEAT_REFUSED:
        return None
    return sentences.REPEATED


def problem(seen: Seen, each: Read) -> str | None:
    """The error result of a call that cannot run, null for one that can."""
    problems = (check.problem(seen, each) for check in CALL_TABLE)
    return next(filter(None, problems), None)


@dataclass(frozen=True, slots=True)
class CallRow:
    """A row about one work call beside others."""

    name: str
    reply: str
    then: str
    budget: str
    problem: Callable[[Seen, Read], str | None]


CALL_TABLE: tuple[CallRow, ...] = (
    CallRow("cut_beside", "cut, beside whole ones", "*cut off, send it shorter*", "cut", cut_beside),
    CallRow("unknown", "of a tool that was not offered", "names the nearest names", "no call ran (3)", _unknown),
    CallRow(
        "bad_arguments", "whose arguments do not fit", "pointer, keyword, expected", "no call ran (3)", _bad_arguments
    ),
    CallRow(
        "repeated",
        "in a set that came three times in a row, no `poll`",
        "*the same call*; the fifth time the turn narrows",
        "own (5)",
        _repeated,
    ),
)
