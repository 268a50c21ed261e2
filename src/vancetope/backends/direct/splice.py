"""The past of a conversation as it went over the wire: the library need not write it again in every round."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from vancetope.backends.direct.speech import Turn

MOST = 32 * 1024 * 1024  # bytes that are kept


class Written:
    """Turns that have been written for a model, as JSON; the least used go first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[tuple[str, Turn], bytes] = OrderedDict()

    def get(self, model: str, turn: Turn) -> bytes | None:
        found = self._kept.get((model, turn))
        if found is not None:
            self._kept.move_to_end((model, turn))
        return found

    def keep(self, model: str, turn: Turn, messages: bytes) -> None:
        self._size += len(messages) - len(self._kept.get((model, turn), b""))
        self._kept[model, turn] = messages
        while self._size > self._most:
            self._size -= len(self._kept.popitem(last=False)[1])


@dataclass(frozen=True, slots=True)
class Plan:
    """A conversation, of which the first turns are written already; at least the last is fresh."""

    model: str
    past: tuple[bytes, ...]
    fresh: tuple[Turn, ...]


def planned(model: str, turns: Sequence[Turn], written: Written) -> Plan:
    """What the library has to write of these turns; there is at least one."""
    past: list[bytes] = []
    for turn in turns[:-1]:
        if (found := written.get(model, turn)) is None:
            break
        past.append(found)
    return Plan(model, tuple(past), tuple(turns[len(past) :]))


def spliced(plan: Plan, made: Sequence[Any], model_role: str, written: Written) -> list[bytes]:
    """The whole conversation as JSON, one item for each turn, from what the library made of the fresh turns."""
    sides = [list(side) for _, side in groupby(made, key=lambda message: message["role"])]
    first = plan.fresh[0].side == "model"
    if first and sides and sides[0][0]["role"] != model_role:
        del sides[0]  # the library puts a silent user before a model that speaks first
    fresh = [b",".join(map(_json, side)) for side in sides]
    if len(fresh) == len(plan.fresh):
        for turn, messages in zip(plan.fresh, fresh, strict=True):
            written.keep(plan.model, turn, messages)
    return [*plan.past, *fresh]


def _json(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
