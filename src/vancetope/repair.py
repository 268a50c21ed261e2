"""The one repair of a prompted model's reply that held no envelope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from vancetope.context import Context, Log
from vancetope.contract import prompted
from vancetope.contract.ask import ask
from vancetope.messages import Finish, Reply, says_something
from vancetope.model_call import Sent, ask_model
from vancetope.models.ledger import Purpose
from vancetope.outcome import Outcome

ENDS_THE_TURN = (Outcome.INTERRUPTED, Outcome.STOPPED, Outcome.BUDGET_EXCEEDED)

Asked: TypeAlias = tuple[Sent, bool]  # what came back, and whether that is all there is to it: no repair may follow


@dataclass(frozen=True, slots=True)
class Try:
    """What came back, and whether its envelope is asked for once more."""

    sent: Sent
    again: bool


async def ask_for_reply(ctx: Context, log: Log, key: str, *, corrects: bool) -> Sent:
    """Ask the model for the next reply. An envelope that is missing is asked for once more, unless a correction has
    just been spent (`corrects`); if that fails too, the first reply stands."""
    purpose: Purpose = "correction" if corrects else "answer"
    repairs = not corrects
    kept: Try = await ask(partial(_send, ctx, log, key, purpose), partial(_judge, repairs), 1 + repairs)
    return kept.sent


async def _send(ctx: Context, log: Log, key: str, purpose: Purpose, before: Try | None) -> Asked:
    if before is None or before.sent.reply is None:
        return await ask_model(ctx, log, key, purpose=purpose), False
    log.streamer.restart()
    said = prompted.repair(before.sent.reply.text, ctx.rules)
    second = await ask_model(ctx, log, f"{key}:repair", repair=said, purpose="repair")
    kept = _better(before.sent, before.sent.reply, second)
    if kept.reply is not None and kept.reply.missed:
        log.streamer.restart()  # nothing that the failed repair showed counts
    return kept, True


def _judge(repairs: bool, asked: Asked) -> Try:
    sent, final = asked
    reply = sent.reply
    missed = reply is not None and reply.missed and reply.end_turn is not False
    return Try(sent, again=repairs and missed and not final)


def _better(first: Sent, reply: Reply, second: Sent) -> Sent:
    """The second reply if it is an envelope, else the first, which is kept as text, unspent where the repair was never
    sent; a budget that forbids the repair, and what stops it, ends the turn."""
    if second.end and second.end.outcome in ENDS_THE_TURN:
        return replace(second, end=replace(second.end, best_text=reply.text))
    if second.reply is not None and _is_envelope(second.reply):
        return replace(second, reply=replace(second.reply, repairs=1))
    return replace(first, reply=replace(reply, repairs=min(second.requests, 1)))


def _is_envelope(reply: Reply) -> bool:
    whole = reply.finish not in (Finish.LENGTH, Finish.REFUSAL, Finish.CONTENT_FILTER)
    return whole and not reply.missed and (bool(reply.calls) or says_something(reply.text))
