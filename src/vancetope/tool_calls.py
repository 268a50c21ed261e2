"""The calls of one reply, each with its one result, in the model's order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from vancetope.context import Context
from vancetope.contract.verdict import Go
from vancetope.messages import Call, Result
from vancetope.tools.batch import OUTPUT_CAP, Planned, Workshop, run_calls
from vancetope.tools.outputs import shortened
from vancetope.tools.values import printable


@dataclass(frozen=True, slots=True)
class Settled:
    """The step that answers the calls of a round."""

    results: tuple[Result, ...]


async def settled(ctx: Context, number: int, calls: Sequence[Call], go: Go) -> tuple[Result, ...]:
    """Run the calls whose answer is null, give the others their error; one result a call, in the calls' order.

    Each call is a step of the journal, and so is the whole: a call that has finished never runs again.
    """
    if not go.runs:
        return tuple(
            refused(call, text or "", ctx.limits.output_cap) for call, text in zip(calls, go.answers, strict=True)
        )
    step = await ctx.journal.step(f"calls:{number}", partial(_settle, ctx, number, calls, go), Settled)
    return step.results


async def _settle(ctx: Context, number: int, calls: Sequence[Call], go: Go) -> Settled:
    ordinals = {call.id: ordinal for ordinal, call in enumerate(calls)}

    async def step(call: Call, work: Callable[[], Awaitable[Result]]) -> Result:
        return await ctx.journal.step(f"call:{number}:{ordinals[call.id]}", work, Result)

    left = max(ctx.deadline - asyncio.get_running_loop().time(), 0.0)
    answered = zip(calls, go.answers, go.arguments, strict=True)
    planned = [_planned(ctx, call, arguments, left) for call, text, arguments in answered if text is None]
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
            for call, text in zip(calls, go.answers, strict=True)
        )
    )


def _planned(ctx: Context, call: Call, arguments: Mapping[str, Any] | None, left: float) -> Planned:
    """The call with its tool, whose time ends with the turn's at the latest."""
    assert arguments is not None, "the judge lets no call run whose arguments it could not read"
    tool = ctx.tools[call.name]
    return Planned(call, replace(tool, timeout=min(tool.timeout or ctx.limits.timeout, left)), arguments)


def refused(call: Call, text: str, cap: int = OUTPUT_CAP) -> Result:
    """The result of a call that did not run. Its text may quote the model, so it is bounded like every other."""
    return Result(call.id, call.name, shortened(printable(text), cap), ok=False, size=len(text))
