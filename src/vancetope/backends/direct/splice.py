"""The past of a conversation as it went over the wire: the library need not write it again in every round."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from threading import Lock
from typing import Any

from vancetope.backends.direct.speech import Spoken, Turn, turns_of

MOST = 32 * 1024 * 1024  # bytes that are kept
ALIKE = 4  # conversations that are kept of those that begin with the same message


@dataclass(frozen=True, slots=True)
class Plan:
    """A conversation, of which the first turns are written already; at least the last is fresh. `starts` are the
    positions at which the turns begin."""

    model: str
    messages: tuple[Spoken, ...]
    past: tuple[bytes, ...]
    fresh: tuple[Turn, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation that was written: a turn's JSON for each of its starts."""

    messages: tuple[Spoken, ...]
    turns: tuple[bytes, ...]
    starts: tuple[int, ...]
    size: int

    def shared(self, messages: Sequence[Spoken]) -> int:
        """How many of its turns begin these messages, and end where they end here: the next one begins alike too."""
        same = len(self.messages)
        for position, (old, new) in enumerate(zip(self.messages, messages, strict=False)):
            if old is not new and old != new:
                same = position
                break
        same = min(same, len(messages))
        return max(0, bisect_left(self.starts, same) - 1)


class Written:
    """Conversations that have been written for a model; those not continued for the longest time go first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, Spoken], list[_Conversation]] = OrderedDict()
        self._lock = Lock()  # event loops of several threads may be at it at once

    def plan(self, model: str, messages: tuple[Spoken, ...]) -> Plan:
        """What the library has to write of this conversation."""
        alike = self._kept.get((model, messages[0]), []) if messages else []
        count, known = max(((each.shared(messages), each) for each in alike), key=itemgetter(0), default=(0, None))
        if known is None or count == 0:
            turns, starts = turns_of(messages)
            return Plan(model, messages, (), tuple(turns), tuple(starts))
        begin = known.starts[count]
        turns, starts = turns_of(messages[begin:])
        there = (*known.starts[:count], *(begin + each for each in starts))
        return Plan(model, messages, known.turns[:count], tuple(turns), there)

    def keep(self, plan: Plan, turns: Sequence[bytes]) -> None:
        """Remember a conversation as it was written, in the place of those that it continues."""
        key = (plan.model, plan.messages[0])
        made = _Conversation(plan.messages, tuple(turns), plan.starts, sum(map(len, turns)))
        with self._lock:
            before = self._kept.pop(key, [])
            others = [each for each in before if each.shared(plan.messages) < len(each.turns) - 1]
            self._kept[key] = [*others[1 - ALIKE :], made]
            sizes = [(each, sum(one.size for one in alike)) for each, alike in self._kept.items()]
            over = sum(size for _, size in sizes) - self._most
            for each, size in sizes:
                if over <= 0:
                    break
                del self._kept[each]
                over -= size


def spliced(plan: Plan, made: Sequence[Any], model_role: str, written: Written) -> list[bytes]:
    """The whole conversation as JSON, one item for each turn, from what the library made of the fresh turns."""
    sides = [list(side) for _, side in groupby(made, key=lambda message: message["role"])]
    if plan.fresh[0].side == "model" and sides and sides[0][0]["role"] != model_role:
        del sides[0]  # the library puts a silent user before a model that speaks first
    turns = [*plan.past, *(b",".join(map(_json, side)) for side in sides)]
    if len(turns) == len(plan.starts):
        written.keep(plan, turns)
    return turns


def _json(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
