"""Ford: one model, its tools, one question, one answer."""

from __future__ import annotations

from vancetope import sentences, turn
from vancetope.context import Context
from vancetope.events import MessageCommitted, MessageDelta, TurnEnded
from vancetope.messages import Accepted, History
from vancetope.outcome import Enforcement, Outcome, Turn


async def start(ctx: Context, greeting: str | None) -> Turn:
    """Greet without asking the model; a worker, and a process that begins with a message, does not greet."""
    messages = ctx.history
    if greeting and ctx.rules.role == "primary":
        messages = History((*messages, Accepted(greeting)))
        ctx.publish(MessageDelta(f"m{ctx.turn}.0.0", 0, greeting))
        ctx.publish(MessageCommitted(f"m{ctx.turn}.0.0", greeting))
    started = Turn(
        outcome=Outcome.STARTED,
        message=greeting if ctx.rules.role == "primary" else None,
        awaiting_user_input=True,
        reason="" if ctx.rules.role == "primary" and greeting else sentences.STARTED,
        enforcement=Enforcement(ctx.enforcement, ctx.enforcement),
        messages=messages,
    )
    ctx.publish(TurnEnded(started.report()))
    return started


async def steer(ctx: Context) -> Turn:
    """One turn over what the user said."""
    return await turn.run(ctx)
