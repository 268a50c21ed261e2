"""The one repair of a prompted model's reply that held no envelope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from vancetope.context import Context, Log
from vancetope.contract import prompted
from vancetope.contract.ask import ask
from vancetope.messages import Finish, Reply, says_something
from vancetope.model_call import Sent, ask_model
from vancetope.outcome import Outcome

HALTED = (Outcome.INTERRUPTED, Outcome.STOPPED)


@dataclass(frozen=True, slots=True)
class Try:
    """What came back, and whether its envelope is asked for once more."""

    sent: Sent
    again: bool


async def ask_for_reply(ctx: Context, log: Log, key: str, *, repairs: bool) -> Sent:
    """Ask the model for the next reply. Where `repairs` allows it, an envelope that is missing is asked for once more;
    if that fails too, the first reply stands."""
    kept: Try = await ask(partial(_send, ctx, log, key), partial(_judge, repairs), 1 + repairs)
    return kept.sent


async def _send(ctx: Context, log: Log, key: str, before: Try | None) -> Sent:
    if before is None or before.sent.reply is None:
        return await ask_model(ctx, log, key)
    log.streamer.restart()
    said = prompted.repair(before.sent.reply.text, ctx.rules)
    return _better(before.sent, await ask_model(ctx, log, f"{key}:repair", repair=said))


def _judge(repairs: bool, sent: Sent) -> Try:
    reply = sent.reply
    return Try(sent, again=repairs and reply is not None and reply.missed and not reply.repairs)


def _better(first: Sent, second: Sent) -> Sent:
    """The second reply if it is an envelope, else the first, which is kept as text; what keeps a request from being
    sent, or stops it, ends the turn."""
    if second.end and (second.end.outcome in HALTED or not second.requests):
        text = first.reply.text if first.reply else None
        return replace(second, end=replace(second.end, best_text=text))
    kept = second if second.reply is not None and _is_envelope(second.reply) else first
    assert kept.reply is not None
    return replace(kept, reply=replace(kept.reply, repairs=1))


def _is_envelope(reply: Reply) -> bool:
    whole = reply.finish not in (Finish.LENGTH, Finish.REFUSAL, Finish.CONTENT_FILTER)
    return whole and not reply.missed and (bool(reply.calls) or says_something(reply.text))
