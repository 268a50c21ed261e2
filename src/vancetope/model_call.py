"""One request to the model: what it is shown, for which budget, in which time, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vancetope import sentences
from vancetope.backends.base import ModelSettings, Request
from vancetope.context import Context, Halted, HaltKind, Log
from vancetope.contract.verdict import End
from vancetope.contract.view import View, estimate, estimate_message, estimate_tools, fitting
from vancetope.errors import ContextTooLong, ModelError, RequestRejected
from vancetope.events import Notice, RepairSent, TurnNarrowed, UsageRecorded
from vancetope.messages import Message, Note, Reply, Result, ToolSpec, Usage
from vancetope.models.base import ModelInfo, cost_of
from vancetope.outcome import Outcome
from vancetope.tools.result_read import SPEC as RESULT_READ

ASSUMED_OUTPUT = 1024


@dataclass(frozen=True, slots=True)
class Sent:
    """The step that asks the model. It holds the reply, or the end that the turn comes to without one, or neither where
    the turn's time ran out. `idle`: nothing could continue the turn by itself when the reply came. `requests` counts
    what was sent to the server. `rejected`: the server refused the request itself."""

    reply: Reply | None = None
    end: End | None = None
    idle: bool = True
    requests: int = 0
    rejected: bool = False

    @property
    def late(self) -> bool:
        return self.reply is None and self.end is None


@dataclass(frozen=True, slots=True)
class Asking:
    """A request about to be sent, the tokens it is estimated to have, and how what comes back is read."""

    request: Request
    tokens: int
    read: Callable[[Reply], Reply]


async def ask_model(ctx: Context, log: Log, key: str, repair: str | None = None) -> Sent:
    """Ask the model for the next reply, under the journal's `key`; `repair` is a note that asks for the last one once
    more."""
    narrow = log.state.narrow
    if narrow and narrow is not log.told:
        log.told = narrow
        last = sentences.NARROWED_RESPOND if ctx.rules.turn_end == "respond" else sentences.NARROWED_NATURAL
        log.messages.append(Note(last.format(why=narrow.sentence)))
        ctx.publish(TurnNarrowed(narrow.sentence))
    settings = settings_of(ctx, log)
    shown = _view(ctx, log, settings, (Note(repair),) if repair else ())
    if isinstance(shown, End):
        return Sent(end=shown)
    request = ctx.compiler.request(shown, ctx.model, settings, ctx.patience.model_call)
    tokens = _tokens(ctx, shown.tools, shown.messages)
    asking = Asking(request, tokens, partial(ctx.compiler.reply, view=shown, model=ctx.model))
    if repair is not None and not _over_budget(ctx, log, asking):
        log.repairs += 1
        ctx.publish(RepairSent(repair))
    return await send(ctx, log, key, asking)


async def send(ctx: Context, log: Log, key: str, asking: Asking) -> Sent:
    """Send a request under the journal's `key`, unless the budget forbids it, and count what it used."""
    if end := _over_budget(ctx, log, asking):
        return Sent(end=end)
    sent = await ctx.journal.step(key, partial(_complete, ctx, log, asking), Sent)
    log.requests += sent.requests
    if sent.reply is not None:
        log.usage += sent.reply.usage
        log.unforced |= sent.reply.unforced
        ctx.publish(UsageRecorded(sent.reply.model or ctx.model.name, sent.reply.usage))
    return sent


def halted(kind: HaltKind, best_text: str | None) -> End:
    """The end of a turn that was interrupted or stopped."""
    if kind == "stopped":
        return End("stopped", Outcome.STOPPED, best_text=best_text, reason=sentences.WAS_STOPPED)
    return End("interrupted", Outcome.INTERRUPTED, best_text=best_text, reason=sentences.WAS_INTERRUPTED)


async def _complete(ctx: Context, log: Log, asking: Asking) -> Sent:
    left = ctx.deadline - asyncio.get_running_loop().time()
    final = log.state.narrow is not None
    if left <= 0 and not final:
        return Sent()
    best_text = log.state.best_text
    sent: list[None] = []
    request = replace(asking.request, on_send=partial(sent.append, None))
    clock = asyncio.timeout(max(left, ctx.patience.last_round) if final else left)
    try:
        async with clock:
            raw = await ctx.halt.guard(ctx.backend.complete(request, log.streamer.piece if ctx.streamed else None))
    except Halted:
        end = halted(ctx.halt.kind or "interrupted", log.streamer.partial() or best_text)
        return Sent(end=end, requests=len(sent))
    except TimeoutError as error:
        log.streamer.restart()
        if not clock.expired():  # the backend's own
            return Sent(end=_failed(str(error) or sentences.LATE, best_text), requests=len(sent))
        late = End("late", Outcome.INCOMPLETE, best_text=best_text, reason=sentences.LATE)
        return Sent(end=late if final else None, requests=len(sent))
    except ContextTooLong as error:
        end = _failed(str(error), best_text, Outcome.CONTEXT_OVERFLOW)
        return Sent(end=end, requests=error.requests)
    except ModelError as error:
        rejected = isinstance(error, RequestRejected)
        return Sent(end=_failed(str(error), best_text), requests=error.requests, rejected=rejected)
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
        reason = sentences.OVERFLOW.format(needed=needed, room=room)
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
    """The work tools of this request: `result_read` only once there is a cut result to read."""
    kept = ctx.blobs.handles()
    cut = any(isinstance(each, Result) and each.handle in kept for each in (*ctx.history, *log.messages))
    return tuple(spec for name, spec in ctx.rules.offer.tools.items() if cut or name != RESULT_READ.name)


def settings_of(ctx: Context, log: Log) -> ModelSettings:
    """How to sample the next reply; a cut reply has raised the output limit where the model has a ceiling for it."""
    limit = ctx.settings.max_tokens or ctx.model.output_limit
    if log.state.output_raised and ctx.model.output_ceiling:
        limit = max(limit or 0, ctx.model.output_ceiling)
    return replace(ctx.settings, max_tokens=limit)


def _over_budget(ctx: Context, log: Log, asking: Asking) -> End | None:
    """The end of a turn whose next call could go over its budget: what was spent, the request's estimated tokens and
    its output limit together."""
    if ctx.budget.tokens is None and ctx.budget.dollars is None:
        return None
    would = log.usage + Usage(asking.tokens, asking.request.settings.max_tokens or ASSUMED_OUTPUT)
    tokens = would.input_tokens + would.output_tokens
    cost = cost_of(ctx.model, would)
    reason = None
    if ctx.budget.tokens is not None and tokens > ctx.budget.tokens:
        reason = sentences.OVER_BUDGET.format(would=tokens, budget=ctx.budget.tokens)
    elif ctx.budget.dollars is not None and cost is not None and cost > ctx.budget.dollars:
        reason = sentences.OVER_MONEY.format(would=cost, budget=ctx.budget.dollars)
    if reason is None:
        return None
    return End("over_budget", Outcome.BUDGET_EXCEEDED, best_text=log.state.best_text, reason=reason)
