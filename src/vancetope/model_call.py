"""One request to the model: what it is shown, for which budget, in which time, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from vancetope import sentences, spending
from vancetope.backends.base import ModelSettings, Request
from vancetope.context import Context, Halted, HaltKind, Log
from vancetope.contract.verdict import End
from vancetope.contract.view import View, estimate, estimate_message, estimate_tools, fitting
from vancetope.errors import ContextTooLong, ModelError, RequestRejected
from vancetope.events import Notice, RepairSent, TurnNarrowed, UsageRecorded
from vancetope.messages import Message, Note, Reply, Result, ToolSpec, User
from vancetope.models.base import ModelInfo
from vancetope.models.ledger import Estimate, Purpose, Reservation, cut_short, failed, replied
from vancetope.outcome import Outcome
from vancetope.spending import ASSUMED_OUTPUT, Spent
from vancetope.tools.describe import described
from vancetope.tools.result_read import SPEC as RESULT_READ


@dataclass(frozen=True, slots=True)
class Sent:
    """The step that asks the model. It holds the reply, or the end that the turn comes to without one, or neither where
    the turn's time ran out. `idle`: nothing could continue the turn by itself when the reply came. `requests` counts
    what was sent to the server, `spent` is what it cost. `rejected`: the server refused the request itself;
    `replaceable`: another model may do what this one could not; `begun`: a reply may have begun that nobody got, and be
    billed."""

    reply: Reply | None = None
    end: End | None = None
    idle: bool = True
    requests: int = 0
    spent: Spent = field(default_factory=Spent)
    rejected: bool = False
    replaceable: bool = False
    begun: bool = False

    @property
    def late(self) -> bool:
        return self.reply is None and self.end is None


@dataclass(frozen=True, slots=True)
class Asking:
    """A request about to be sent, what it is for, the tokens it is estimated to have, and how what comes back is
    read."""

    request: Request
    tokens: int
    read: Callable[[Reply], Reply]
    purpose: Purpose = "answer"


async def ask_model(
    ctx: Context, log: Log, key: str, *, repair: str | None = None, purpose: Purpose = "answer"
) -> Sent:
    """Ask the model for the next reply, under the journal's `key`; where it fails, those that may stand in for it.
    `repair` is a note that asks for the last reply once more."""
    narrow = log.state.narrow
    if narrow and narrow is not log.told:
        log.told = narrow
        last = sentences.NARROWED_RESPOND if ctx.rules.turn_end == "respond" else sentences.NARROWED_NATURAL
        log.messages.append(Note(last.format(why=narrow.sentence)))
        ctx.publish(TurnNarrowed(narrow.sentence))
    told = repair is None
    while True:
        asking = _asking(ctx, log, repair, purpose)
        if isinstance(asking, End):
            return Sent(end=asking)
        if not told and not _over_budget(ctx, log, asking):
            told = True
            log.repairs += 1
            ctx.publish(RepairSent(repair or ""))
        sent = await send(ctx, log, key, asking)
        if not falls_back(ctx, log, sent):
            return sent
        key = f"{key}:{ctx.model.id}"


def _asking(ctx: Context, log: Log, repair: str | None, purpose: Purpose) -> Asking | End:
    settings = settings_of(ctx, log)
    shown = _view(ctx, log, settings, (Note(repair),) if repair else ())
    if isinstance(shown, End):
        return shown
    request = ctx.compiler.request(shown, ctx.model, settings, ctx.patience.model_call)
    tokens = _tokens(ctx, shown.tools, shown.messages)
    return Asking(request, tokens, partial(ctx.compiler.reply, view=shown, model=ctx.model), purpose)


def falls_back(ctx: Context, log: Log, sent: Sent) -> bool:
    """Whether the turn goes on with another model, because this one could not give a reply; people are told."""
    if not sent.replaceable or sent.end is None:
        return False
    failed = ctx.model.id
    needs_vision = any(isinstance(each, User) and not isinstance(each.content, str) for each in log.messages)
    while (way := ctx.route.next()) and needs_vision and not way.model.vision:
        pass
    if way is None:
        return False
    log.streamer.restart()
    ctx.publish(Notice(sentences.FELL_BACK.format(failed=failed, why=sent.end.reason, model=way.model.id)))
    return True


async def send(ctx: Context, log: Log, key: str, asking: Asking) -> Sent:
    """Send a request under the journal's `key`, unless the budget forbids it, and count what it used."""
    if end := _over_budget(ctx, log, asking):
        return Sent(end=end)
    sent = await ctx.journal.step(key, partial(_paid, ctx, log, key, asking), Sent)
    log.requests += sent.requests
    spending.add(log, sent.spent)
    if sent.reply is not None:
        log.unforced |= sent.reply.unforced
        used = sent.reply.model or ctx.model.name
        ctx.publish(UsageRecorded(used, sent.spent.usage, sent.spent.cost, asking.purpose))
    for warning in sent.spent.warnings:
        ctx.publish(Notice(warning))
    return sent


def halted(kind: HaltKind, best_text: str | None) -> End:
    """The end of a turn that was interrupted or stopped."""
    if kind == "stopped":
        return End("stopped", Outcome.STOPPED, best_text=best_text, reason=sentences.WAS_STOPPED)
    return End("interrupted", Outcome.INTERRUPTED, best_text=best_text, reason=sentences.WAS_INTERRUPTED)


async def _paid(ctx: Context, log: Log, key: str, asking: Asking) -> Sent:
    """One call, held on its account while it runs and settled whatever becomes of it."""
    settings = asking.request.settings
    if settings.max_tokens is None and (room := spending.output_room(ctx, log, asking.tokens)) is not None:
        asking = replace(asking, request=replace(asking.request, settings=replace(settings, max_tokens=room)))
    held = spending.hold(ctx, log, key, _most(ctx, asking))
    if isinstance(held, End):
        return Sent(end=held)
    out: list[None] = []
    try:
        sent = await _complete(ctx, log, asking, out)
    except BaseException:
        _settle(ctx, log, asking, held, Sent(requests=len(out), begun=bool(out)))
        raise
    return replace(sent, spent=_settle(ctx, log, asking, held, sent))


def _settle(ctx: Context, log: Log, asking: Asking, held: Reservation, sent: Sent) -> Spent:
    model, purpose, asked = ctx.model, asking.purpose, ctx.route.first.model.id
    if sent.reply is not None:
        return spending.settle(ctx, held, replied(held, model, purpose, sent.reply, asked))
    if not sent.requests:
        ctx.ledger.release(held)
        return Spent()
    if not sent.begun:
        return spending.settle(ctx, held, failed(held, model, purpose, sent.requests, asked))
    usage = spending.lost(asking.tokens, log.streamer.partial())
    return spending.settle(ctx, held, cut_short(held, model, purpose, sent.requests, asked, usage))


async def _complete(ctx: Context, log: Log, asking: Asking, sent: list[None]) -> Sent:
    left = ctx.deadline - asyncio.get_running_loop().time()
    final = log.state.narrow is not None
    if left <= 0 and not final:
        return Sent()
    best_text = log.state.best_text
    request = replace(asking.request, on_send=partial(sent.append, None))
    clock = asyncio.timeout(max(left, ctx.patience.last_round) if final else left)
    try:
        async with clock:
            on_piece = log.streamer.piece if ctx.streamed else None
            raw = await ctx.halt.guard(ctx.route.now.backend.complete(request, on_piece))
    except Halted:
        end = halted(ctx.halt.kind or "interrupted", log.streamer.partial() or best_text)
        return Sent(end=end, requests=len(sent), begun=bool(sent))
    except TimeoutError as error:
        log.streamer.restart()
        if not clock.expired():  # the backend's own
            return Sent(end=_failed(str(error) or sentences.LATE, best_text), requests=len(sent))
        late = End("late", Outcome.INCOMPLETE, best_text=best_text, reason=sentences.LATE)
        return Sent(end=late if final else None, requests=len(sent), begun=bool(sent))
    except ContextTooLong as error:
        end = _failed(str(error), best_text, Outcome.CONTEXT_OVERFLOW)
        return Sent(end=end, requests=error.requests)
    except ModelError as error:
        return Sent(
            end=_failed(str(error), best_text),
            requests=error.requests,
            rejected=isinstance(error, RequestRejected),
            replaceable=error.replaceable,
            begun=error.begun,
        )
    reply = asking.read(raw)
    limit = reply.limit if reply.limit is not None else request.settings.max_tokens
    return Sent(reply=replace(reply, limit=limit), idle=ctx.idle(), requests=raw.requests)


def _failed(reason: str, best_text: str | None, outcome: Outcome = Outcome.MODEL_ERROR) -> End:
    return End("model_error", outcome, best_text=best_text, reason=reason)


def _view(ctx: Context, log: Log, settings: ModelSettings, last: tuple[Note, ...]) -> View | End:
    """What fits the window: the running turn always, earlier turns as far as there is room."""
    offered = _offered(ctx, log)
    running = (*log.messages, *last)
    past = past_beside(ctx, log, settings, partial(_tokens, ctx, offered, running))
    if isinstance(past, End):
        return past
    return View(ctx.system, (*past, *running), ctx.rules, offered, log.state.narrow is not None, log.memo)


def past_beside(
    ctx: Context, log: Log, settings: ModelSettings, tokens: Callable[[], int]
) -> tuple[Message, ...] | End:
    """The earlier turns that fit the window beside what a request needs in any case; people are told how many are left
    out. The end of the turn where that alone does not fit."""
    room = _room_for(ctx.model, settings)
    if room is None:
        return ctx.history.messages
    if (needed := tokens()) > room:
        reason = sentences.OVERFLOW.format(needed=needed, room=max(room, 0))
        return End("overflow", Outcome.CONTEXT_OVERFLOW, best_text=log.state.best_text, reason=reason)
    past, hidden = fitting(ctx.history, room - needed)
    if hidden > log.hidden:
        log.hidden = hidden
        ctx.publish(Notice(sentences.hidden_turns(hidden)))
    return past


def _room_for(model: ModelInfo, settings: ModelSettings) -> int | None:
    """How many tokens a request to this model may have beside its reply; null where its window is unknown."""
    if model.context_window is None:
        return None
    return model.context_window - (settings.max_tokens or min(ASSUMED_OUTPUT, model.context_window // 4))


def _tokens(ctx: Context, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> int:
    """The estimated tokens of a request that shows these messages and offers these tools."""
    added = ctx.compiler.extra(tools, ctx.rules, ctx.model)
    return estimate(ctx.system) + estimate_tools(tools) + added + sum(map(estimate_message, messages))


def _offered(ctx: Context, log: Log) -> tuple[ToolSpec, ...]:
    """The work tools of this request: `result_read` only once there is a cut result to read, deferred ones once they
    have been described."""
    kept = ctx.blobs.handles()
    seen = (*ctx.history, *log.messages)
    cut = any(isinstance(each, Result) and each.handle in kept for each in seen)
    offer = ctx.rules.offer
    hidden = offer.deferred - described(seen) if offer.deferred else frozenset[str]()
    hidden |= frozenset() if cut else {RESULT_READ.name}
    return tuple(spec for name, spec in offer.tools.items() if name not in hidden)


def settings_of(ctx: Context, log: Log) -> ModelSettings:
    """How to sample the next reply; a cut reply has raised the output limit where the model has a ceiling for it."""
    settings = ctx.route.now.settings
    limit = settings.max_tokens or ctx.model.output_limit
    if log.state.output_raised and ctx.model.output_ceiling:
        limit = max(limit or 0, ctx.model.output_ceiling)
    return replace(settings, max_tokens=limit)


def _over_budget(ctx: Context, log: Log, asking: Asking) -> End | None:
    if ctx.budget.tokens is None and ctx.budget.dollars is None:
        return None
    return spending.over_budget(ctx, log, _most(ctx, asking))


def _most(ctx: Context, asking: Asking) -> Estimate:
    return spending.most(ctx, asking.tokens, asking.request.settings.max_tokens)
