"""Ask, judge, say what was wrong: the one loop behind the turn and every other contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

V = TypeVar("V", bound="Ruling")


class Ruling(Protocol):
    """What a judge says. Contract: `again` is true if and only if the same question is to be asked once more, with the
    correction that this ruling carries."""

    @property
    def again(self) -> bool: ...


async def ask(rule: Callable[[V | None], Awaitable[V]], attempts: int) -> V:
    """The first ruling that does not ask again. `rule` sends one request, with the correction of the ruling before it
    if there was one, and judges the reply.

    `attempts` is the most requests that the caller's budget has left; a judge that still asks again after them is a bug.
    """
    ruling: V | None = None
    for _ in range(attempts):
        ruling = await rule(ruling)
        if not ruling.again:
            return ruling
    raise AssertionError(f"a judge asked again after {attempts} attempts")
