"""What a scripted model can say: builders of frozen replies, and what may happen around one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from vancetope.messages import Call, Finish, Reply
from vancetope.tools.respond import RESPOND

SAME_ID = "call_1"


@dataclass(frozen=True, slots=True)
class Staged:
    """A reply with something happening around it; `gated`, `restarted` and `failing` build it.

    Counts are pieces told before it happens. A request without streaming tells none, so there it happens at once.
    """

    reply: Reply
    gate: asyncio.Event | None = None
    gate_after: int = 0
    restart_after: int | None = None
    error: Exception | None = None
    error_after: int = 0


Answer: TypeAlias = Reply | str | Exception | Staged


def say(text: str, *, thinking: str = "", end_turn: bool | None = None) -> Reply:
    """Text without a call."""
    return Reply(text=text, thinking=thinking, end_turn=end_turn)


def call(name: str, /, **arguments: Any) -> Reply:
    """One tool call. All scripted calls carry the same id, so that nobody can rely on a provider's ids."""
    return raw_call(name, json_text(arguments))


def raw_call(name: str, arguments: str, *, id: str = SAME_ID) -> Reply:
    """One tool call whose arguments are this text, however broken."""
    return Reply(calls=(Call(id, name, arguments),), finish=Finish.TOOL_CALLS)


def calls(*replies: Reply, text: str = "", thinking: str = "") -> Reply:
    """The calls of these replies in one reply, in this order, with narration beside them if `text` is given."""
    together = tuple(each for reply in replies for each in reply.calls)
    return Reply(text=text, calls=together, thinking=thinking, finish=Finish.TOOL_CALLS)


def respond(message: str, awaiting_user_input: bool | None = None, **extra: Any) -> Reply:
    """The call that ends a turn. The flag is left out where it is None."""
    flag = {} if awaiting_user_input is None else {"awaiting_user_input": awaiting_user_input}
    return raw_call(RESPOND, json_text({"message": message, **flag, **extra}))


def action(tool: str, /, **arguments: Any) -> Reply:
    """The constrained form of a call: JSON text with `tool` and `arguments`."""
    return Reply(text=json_text({"tool": tool, "arguments": arguments}))


def think(thinking: str, then: Reply | str = "") -> Reply:
    """Thinking, alone or before another reply."""
    return replace(reply_of(then), thinking=thinking)


def empty(finish: Finish = Finish.STOP) -> Reply:
    """Neither text nor calls nor thinking."""
    return Reply(finish=finish)


def refuse(text: str = "") -> Reply:
    """The model refuses; `text` is what it says about it."""
    return Reply(text=text, finish=Finish.REFUSAL)


def filtered(partial: Reply | str = "") -> Reply:
    """The provider's content filter stopped the reply after this part of it."""
    return replace(reply_of(partial), finish=Finish.CONTENT_FILTER)


def malformed() -> Reply:
    """The provider could not read the model's own call."""
    return Reply(finish=Finish.MALFORMED_CALL)


def cut(reply: Reply | str, at: int | None = None) -> Reply:
    """This reply, stopped by the output limit; with `at`, only so many characters are left of its last part (the last
    call's arguments, or else the text, or else the thinking)."""
    whole = replace(reply_of(reply), finish=Finish.LENGTH)
    if at is None:
        return whole
    if whole.calls:
        last = whole.calls[-1]
        return replace(whole, calls=(*whole.calls[:-1], replace(last, arguments=last.arguments[:at])))
    if whole.text:
        return replace(whole, text=whole.text[:at])
    return replace(whole, thinking=whole.thinking[:at])


def gated(answer: Reply | str | Staged, gate: asyncio.Event, *, after: int = 0) -> Staged:
    """The answer waits for the event, after so many pieces were told: the place to interrupt a turn in the middle."""
    return replace(staged_of(answer), gate=gate, gate_after=after)


def restarted(answer: Reply | str | Staged, *, after: int) -> Staged:
    """The stream breaks after so many pieces, `Restarted` is told, and the answer streams again from its start."""
    return replace(staged_of(answer), restart_after=after)


def failing(answer: Reply | str | Staged, error: Exception, *, after: int) -> Staged:
    """The stream breaks after so many pieces and the error is raised."""
    return replace(staged_of(answer), error=error, error_after=after)


def as_action(reply: Reply) -> Reply:
    """A reply of exactly one call, as the JSON action text of a constrained model; any other reply unchanged.

    Arguments that are no JSON stay as they are inside the braces, so a broken call is a broken action.
    """
    if len(reply.calls) != 1 or reply.text:
        return reply
    only = reply.calls[0]
    cut_off = reply.finish is Finish.LENGTH
    text = f'{{"tool": {json_text(only.name)}, "arguments": {only.arguments}{"" if cut_off else "}"}'
    return replace(reply, text=text, calls=(), finish=reply.finish if cut_off else Finish.STOP)


def as_envelope(reply: Reply) -> Reply:
    """A reply as the envelope of a prompted model, text and calls in it; unchanged are blank replies, those that
    failed, and a text that is an envelope.

    Arguments that are no JSON stay as they are inside the envelope, so a broken call is a broken envelope.
    """
    if reply.finish in (Finish.REFUSAL, Finish.CONTENT_FILTER, Finish.MALFORMED_CALL):
        return reply
    if not reply.calls and (not reply.text.strip() or _is_envelope(reply.text)):
        return reply
    made = [f'{{"name": {json_text(each.name)}, "arguments": {each.arguments or "{}"}}}' for each in reply.calls]
    text = f'{{"content": {json_text(reply.text)}, "tool_calls": [{", ".join(made)}]}}'
    if reply.finish is Finish.LENGTH:
        text = text[:-3] if reply.calls else text[: text.rindex('", "tool_calls"')]
    finish = Finish.STOP if reply.finish is Finish.TOOL_CALLS else reply.finish
    return replace(reply, text=text, calls=(), finish=finish)


def _is_envelope(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and value.keys() == {"content", "tool_calls"}


def reply_of(answer: Reply | str) -> Reply:
    return say(answer) if isinstance(answer, str) else answer


def staged_of(answer: Reply | str | Staged) -> Staged:
    return answer if isinstance(answer, Staged) else Staged(reply_of(answer))


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
