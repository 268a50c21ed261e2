"""The calls of one reply, each with its one result, in the model's order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vancetope.context import Context
from vancetope.contract.calls import read
from vancetope.messages import Call, Result
from vancetope.tools.batch import OUTPUT_CAP, Planned, Workshop, run_calls
from vancetope.tools.outputs import shortened
from vancetope.tools.values import printable


@dataclass(frozen=True, slots=True)
class Settled:
    """The step that answers the calls of a round."""

    results: tuple[Result, ...]


async def settled(
    ctx: Context, number: int, calls: Sequence[Call], answers: Sequence[str | None]
) -> tuple[Result, ...]:
    """Run the calls whose answer is null, give the others their error; one result a call, in the calls' order.

    Each call is a step of the journal, and so is the whole: a call that has finished never runs again.
    """
    if None not in answers:
        return tuple(
            refused(call, text or "", ctx.limits.output_cap) for call, text in zip(calls, answers, strict=True)
        )
    step = await ctx.journal.step(f"calls:{number}", partial(_settle, ctx, number, calls, answers), Settled)
    return step.results


async def _settle(ctx: Context, number: int, calls: Sequence[Call], answers: Sequence[str | None]) -> Settled:
    ordinals = {call.id: ordinal for ordinal, call in enumerate(calls)}

    async def step(call: Call, work: Callable[[], Awaitable[Result]]) -> Result:
        return await ctx.journal.step(f"call:{number}:{ordinals[call.id]}", work, Result)

    left = max(ctx.deadline - asyncio.get_running_loop().time(), 0.0)
    planned = [_planned(ctx, call, left) for call, text in zip(calls, answers, strict=True) if text is None]
    shop = Workshop(
        publish=ctx.publish,
        blobs=ctx.blobs,
        threads=ctx.threads,
        limits=ctx.limits,
        deps=ctx.deps,
        session=ctx.session,
        interrupt=ctx.halt.event,
        around=step,
    )
    ran = iter(await run_calls(planned, shop))
    return Settled(
        tuple(
            next(ran) if text is None else refused(call, text, ctx.limits.output_cap)
            for call, text in zip(calls, answers, strict=True)
        )
    )


def _planned(ctx: Context, call: Call, left: float) -> Planned:
    """The call with its tool, whose time ends with the turn's at the latest."""
    arguments = read(call, ctx.rules).arguments
    assert arguments is not None, "the judge lets no call run whose arguments it could not read"
    tool = ctx.tools[call.name]
    return Planned(call, replace(tool, timeout=min(tool.timeout or ctx.limits.timeout, left)), arguments)


def refused(call: Call, text: str, cap: int = OUTPUT_CAP) -> Result:
    """The result of a call that did not run. Its text may quote the model, so it is bounded like every other."""
    return Result(call.id, call.name, shortened(printable(text), cap), ok=False, size=len(text))
