"""The turn: prepare, ask, judge, act, until the contract says that it has ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial

from vancetope import sentences
from vancetope.context import Context, HaltKind, Log
from vancetope.contract import view
from vancetope.contract.ask import ask
from vancetope.contract.envelope import in_force
from vancetope.contract.judge import begin, judge, ran
from vancetope.contract.stream import RawStreamer, Streamer
from vancetope.contract.verdict import End, Go, Verdict
from vancetope.events import CorrectionSent, Notice, RoundStarted, TurnEnded, TurnStarted
from vancetope.messages import Accepted, Call, History, Note, Reply, System, User, call_id, whole_characters
from vancetope.model_call import Sent, halted
from vancetope.outcome import FAILURES, Enforcement, Outcome, Turn
from vancetope.repair import ask_for_reply
from vancetope.tool_calls import refused, settled


@dataclass(frozen=True, slots=True)
class Opened:
    """The step that begins a round: what was drained, and what the clock and the door said."""

    drained: tuple[User, ...]
    late: bool
    halt: HaltKind | None


async def run(ctx: Context) -> Turn:
    """One turn, from draining its messages to a typed outcome. It never raises for what a model or its server does."""
    log = Log(_streamer(ctx, 0))
    started(ctx)
    while True:
        left = ctx.rules.iterations + 1 - log.state.rounds
        verdict = await ask(partial(send, ctx, log), partial(judged, ctx, log), left)
        if isinstance(verdict, End):
            return finish(ctx, log, verdict)
        await act(ctx, log, verdict)


def started(ctx: Context) -> None:
    """Tell that the turn has begun, and what people should know of it."""
    ctx.publish(TurnStarted(ctx.turn, ctx.model.id))
    for each in ctx.notices:
        ctx.publish(Notice(each))


async def send(ctx: Context, log: Log, correction: Verdict | None) -> Sent:
    """Begin a round and ask the model once."""
    if isinstance(correction, Go):
        await act(ctx, log, correction)
    number = log.state.rounds
    log.streamer = _streamer(ctx, number)
    opened = await ctx.journal.step(f"open:{number}", partial(_open, ctx, number), Opened)
    log.messages += opened.drained
    log.state = begin(log.state, drained=bool(opened.drained), late=opened.late)
    if opened.halt:
        return Sent(end=halted(opened.halt, log.state.best_text))
    if number == 0 and not opened.drained:
        return Sent(end=End("no_input", Outcome.NO_INPUT, reason=sentences.NO_INPUT))
    ctx.publish(RoundStarted(number))
    corrects = isinstance(correction, Go) and correction.spends == "correction"
    sent = await ask_for_reply(ctx, log, f"model:{number}:0", corrects=corrects)
    if sent.late:
        log.state = begin(log.state, drained=False, late=True)
        sent = await ask_for_reply(ctx, log, f"model:{number}:1", corrects=corrects)
    return sent


def judged(ctx: Context, log: Log, sent: Sent) -> Verdict:
    """The verdict on what came back; a reply joins the conversation, with ids of ours on its calls."""
    if sent.reply is None:
        return sent.end or End("late", Outcome.INCOMPLETE, best_text=log.state.best_text, reason=sentences.LATE)
    reply = _minted(ctx.turn, log, sent.reply)
    log.unforced |= reply.missed
    log.reply = reply
    log.messages += view.spoken(reply)
    log.state, verdict = judge(ctx.rules, log.state, reply, idle=sent.idle)
    if isinstance(verdict, Go):
        log.streamer.rejected()
    return verdict


async def act(ctx: Context, log: Log, go: Go) -> None:
    """Every call of the reply gets its one result, by running or as an error; what no call can carry becomes a note."""
    results = await settled(ctx, log.state.rounds - 1, log.reply.calls, go)
    log.messages += results
    log.state = ran(log.state, results)
    if go.say:
        log.messages.append(Note(go.say))
    if said := go.say or "\n".join(filter(None, go.answers)):
        ctx.publish(CorrectionSent(go.row, said))


def finish(ctx: Context, log: Log, end: End) -> Turn:
    """The turn as one value; what it delivers is committed, once."""
    log.messages += map(refused, log.reply.calls, end.answers)
    messages = view.remembered(log.messages)
    if end.message is not None:
        log.streamer.commit(end.message)
        messages.append(Accepted(end.message, end.awaiting_user_input))
    else:
        log.streamer.rejected()
        failed = end.outcome in FAILURES and ctx.rules.role == "primary"
        messages += [System(end.reason)] if failed else []
    turn = Turn(
        outcome=end.outcome,
        message=end.message,
        awaiting_user_input=end.awaiting_user_input,
        best_text=end.best_text if end.message is None else None,
        reason=end.reason,
        rounds=log.state.rounds,
        model_calls=log.requests,
        corrections=log.state.corrections,
        repairs=log.repairs,
        narrowed=log.state.narrow is not None,
        bounded=end.bounded,
        usage=log.usage,
        cost=log.cost,
        enforcement=Enforcement(ctx.enforcement, "none" if log.unforced else ctx.enforcement),
        messages=History((*ctx.history, *messages)),
    )
    ctx.publish(TurnEnded(turn.report()))
    return turn


async def _open(ctx: Context, number: int) -> Opened:
    late = asyncio.get_running_loop().time() >= ctx.deadline
    return Opened(tuple(ctx.drain(number)), late, ctx.halt.kind)


def _minted(turn: int, log: Log, reply: Reply) -> Reply:
    """The reply as it is stored: with ids of ours, never twice in a process, and whole characters everywhere."""
    calls = tuple(
        Call(
            call_id(turn, number),
            whole_characters(each.name),
            whole_characters(each.arguments),
            each.bounded,
        )
        for number, each in enumerate(reply.calls, start=log.calls)
    )
    log.calls += len(calls)
    text, thinking = whole_characters(reply.text), whole_characters(reply.thinking)
    return replace(reply, text=text, thinking=thinking, calls=calls)


def _streamer(ctx: Context, number: int) -> Streamer:
    if ctx.raw:
        return RawStreamer(f"{ctx.turn}.{number}", ctx.publish)
    plain = ctx.enforcement == "prompted" and not in_force(ctx.rules)
    return Streamer(f"{ctx.turn}.{number}", ctx.rules.turn_end, "native" if plain else ctx.enforcement, ctx.publish)
