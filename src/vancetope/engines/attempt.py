"""One attempt at a structured answer: the request, how much room its reply has, and whether its form was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vancetope.backends.base import Request
from vancetope.context import Context, Log
from vancetope.contract import native
from vancetope.contract.form import ROOM, Form
from vancetope.contract.verdict import End
from vancetope.contract.view import View, estimate, estimate_message
from vancetope.messages import Finish, Message, Reply, Result
from vancetope.model_call import Asking, Sent, past_beside, send, settings_of
from vancetope.models.base import ModelInfo
from vancetope.models.ledger import Purpose
from vancetope.outcome import EnforcementName
from vancetope.schema.strict import NotJson, parse
from vancetope.spending import ASSUMED_OUTPUT


async def attempt(
    ctx: Context,
    log: Log,
    key: str,
    form: Form,
    purpose: Purpose,
    prompts: Mapping[EnforcementName, str],
    messages: Sequence[Message],
    limit: int | None,
) -> tuple[Sent, int]:
    """Ask once, in this form and without tools: what came back, and the estimated tokens of the request. `limit` is a
    raised output limit, in tokens."""
    system = prompts[form.mode]
    settings = settings_of(ctx, log)
    settings = replace(settings, max_tokens=limit or settings.max_tokens)
    tokens = estimate(system) + sum(map(estimate_message, messages))
    past = past_beside(ctx, log, settings, lambda: tokens)
    if isinstance(past, End):
        return Sent(end=past), tokens
    shown = (*past, *messages)
    view = View(system, shown, ctx.rules, (), narrowed=True)
    used_tools = any(isinstance(each, Result) for each in shown)
    request = Request(
        model=ctx.model.name,
        system=system,
        messages=ctx.compiler.lowered(view) if used_tools else native.lowered(view),
        response_schema=form.response_schema,
        settings=settings,
        timeout=ctx.patience.model_call,
    )
    with_past = tokens + sum(map(estimate_message, past))
    return await send(ctx, log, key, Asking(request, with_past, _as_it_is, purpose)), tokens


def _as_it_is(reply: Reply) -> Reply:
    return reply


def more_room(model: ModelInfo, reply: Reply, tokens: int) -> int | None:
    """The output limit to ask with after a reply that was cut, in tokens, where the request had so many; null where no
    more can be had."""
    counted = 0 if reply.usage.estimated else reply.usage.output_tokens
    had = reply.limit or counted or max(reply.usage.output_tokens, ASSUMED_OUTPUT)
    wanted = model.output_ceiling or had * ROOM
    if model.context_window is not None:
        wanted = min(wanted, model.context_window - max(tokens, reply.usage.input_tokens))
    return wanted if wanted > had else None


def enforced(form: Form, reply: Reply) -> bool:
    """Whether the server kept to the response format, as far as the reply can tell: a constraint may be accepted and
    then dropped."""
    if form.validator is None or reply.finish is not Finish.STOP:
        return True
    try:
        return form.validator.fits(parse(reply.text))
    except NotJson:
        return False
