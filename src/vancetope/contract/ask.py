"""Ask, judge, say what was wrong: the one loop behind the turn and every other contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

R = TypeVar("R")
V = TypeVar("V", bound="Ruling")


class Ruling(Protocol):
    """What a judge says. Contract: `again` is true if and only if the same question is to be asked once more, with the
    correction that this ruling carries."""

    @property
    def again(self) -> bool: ...


async def ask(send: Callable[[V | None], Awaitable[R]], judge: Callable[[R], V], attempts: int) -> V:
    """The first ruling on a reply that does not ask again. `send` gets the ruling before it, whose correction it adds.

    `attempts` is the most requests that the caller's budget has left; a judge that asks again after them has a bug.
    """
    ruling: V | None = None
    for _ in range(attempts):
        ruling = judge(await send(ruling))
        if not ruling.again:
            return ruling
    raise AssertionError(f"a judge asked again after {attempts} attempts")
