"""The contract as an envelope that is asked for in words: for models and command lines that know only text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from json import dumps
from typing import Any

from vancetope import sentences
from vancetope.backends.base import ModelSettings, Request
from vancetope.contract.calls import readable
from vancetope.contract.envelope import CONTENT, ENVELOPE, MESSAGE, NAME, in_force
from vancetope.contract.examples import call, described
from vancetope.contract.partial import PartialReader
from vancetope.contract.rules import Rules
from vancetope.contract.sides import add, note
from vancetope.contract.view import View, estimate
from vancetope.messages import (
    Accepted,
    Assistant,
    Call,
    Finish,
    Message,
    Note,
    Reply,
    Result,
    ToolSpec,
    User,
    says_something,
)
from vancetope.models.base import ModelInfo
from vancetope.schema import reasoning
from vancetope.schema.extraction import NoJson, find
from vancetope.schema.strict import NotJson, parse
from vancetope.schema.validate import compile as compiled
from vancetope.tools.respond import RESPOND

_BEGUN = re.compile(r'\s*(```\w*\s*)?\{\s*("content"|"tool_calls"|"?[a-z_]*$)')
CARRIES_CALLS = ("strict", "fence")
QUOTED = 2000


def request(view: View, model: ModelInfo, settings: ModelSettings, timeout: float) -> Request:
    """The form of the envelope, the contract in force and the allowed tools in the system prompt; the conversation as a
    plain chat. Under `natural` without tools there is nothing to call, so plain text is asked for."""
    asked = in_force(view.rules)
    return Request(
        model=model.name,
        system=f"{view.system}\n\n{_form(view)}" if asked else view.system,
        messages=lowered(view),
        envelope=asked,
        settings=settings,
        timeout=timeout,
    )


def reply(raw: Reply, view: View, model: ModelInfo) -> Reply:
    """The calls and the text of the envelope in a reply's text. Without one the text stays as it is, marked as missed
    where something could have been called; of an envelope that was cut, refused or filtered the part of the message
    that was written is left. Calls of a tool API, which nobody offered, are marked as not enforced."""
    if raw.calls:
        return replace(raw, unforced=True)
    if not in_force(view.rules):
        return raw
    if raw.finish in (Finish.REFUSAL, Finish.CONTENT_FILTER) or (raw.finish is Finish.LENGTH and not _whole(raw.text)):
        begun = raw.text[reasoning.after_leading(raw.text) :]
        return replace(raw, text=_written(begun, view.rules)) if _BEGUN.match(begun) else raw
    found = find(raw.text, compiled(ENVELOPE), "stop")
    misses = _may_call(view) and says_something(raw.text)
    if isinstance(found, NoJson) or (found.value["tool_calls"] and found.rule not in CARRIES_CALLS):
        return replace(raw, missed=misses)
    calls = tuple(
        Call("", each["name"], dumps(each["arguments"], ensure_ascii=False)) for each in found.value["tool_calls"]
    )
    return replace(raw, text=found.value["content"], calls=calls)


def extra(tools: Sequence[ToolSpec], rules: Rules, model: ModelInfo) -> int:
    """The envelope's form and the description of the tools."""
    return estimate(_form(View("", (), rules, tuple(tools)))) if in_force(rules) else 0


def repair(raw: str, rules: Rules) -> str:
    """The one request to send a reply again as an envelope. It quotes the reply, cut."""
    quoted = raw if len(raw) <= QUOTED else f"{raw[:QUOTED]}…"
    return sentences.REPAIR.format(form=sentences.ENVELOPE_FORM, contract=_contract(rules), quoted=quoted)


def lowered(view: View) -> tuple[User | Assistant | Result, ...]:
    """The messages as a plain chat: replies and accepted messages as envelopes, so that the model reads its own good
    example; results, and what the runtime says, on the user's side."""
    chat: list[User | Assistant] = []
    for position, message in enumerate(view.messages):
        for side in view.once(position, message, partial(_lower, message, view.rules)):
            add(chat, side)
    return tuple(chat)


def _lower(message: Message, rules: Rules) -> tuple[User | Assistant, ...]:
    match message:
        case User():
            return (message,)
        case Note(text=text):
            return (note(text),)
        case Result(name=name, text=text):
            return (User(sentences.action_result(name, text)),)
        case Assistant(text=text, calls=calls):
            return (Assistant(_written_envelope(text, calls) if in_force(rules) or calls else text),)
        case Accepted(text=text, awaiting_user_input=awaiting) if rules.turn_end == "respond":
            arguments = sentences.respond_arguments(text, awaiting)
            return (Assistant(_written_envelope("", (Call("", RESPOND, arguments),))),)
        case Accepted(text=text):
            return (Assistant(_written_envelope(text, ()) if in_force(rules) else text),)
        case _:
            return ()


def _written_envelope(text: str, calls: Sequence[Call]) -> str:
    return _envelope(text, *(call(each.name, parse(readable(each.arguments))) for each in calls))


def _envelope(text: str, *calls: str) -> str:
    return f'{{"content": {dumps(text, ensure_ascii=False)}, "tool_calls": [{", ".join(calls)}]}}'


def _lone_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A whole reply that makes one call: a model that copies an example has kept the form."""
    return _envelope("", call(name, arguments))


def _may_call(view: View) -> bool:
    """Whether this request offers anything to call."""
    return view.rules.turn_end == "respond" or bool(view.tools and not view.narrowed)


def _contract(rules: Rules) -> str:
    return sentences.ENVELOPE_RESPOND if rules.turn_end == "respond" else sentences.ENVELOPE_NATURAL


def _form(view: View) -> str:
    respond = view.rules.respond if view.rules.turn_end == "respond" else None
    offered = (*(() if view.narrowed else view.tools), *((respond,) if respond else ()))
    lines = [f"{sentences.ENVELOPE_FORM}.", _contract(view.rules)]
    if respond is None:
        lines.append(sentences.ENVELOPE_ANSWER.format(reply=_envelope(sentences.EXAMPLE_MESSAGE)))
    return "\n".join([*lines, sentences.ENVELOPE_TOOLS, described(offered, _lone_call)] if offered else lines)


def _whole(text: str) -> bool:
    """Whether this text is one whole envelope: it closed by itself, so the output limit took nothing from it."""
    try:
        return compiled(ENVELOPE).fits(parse(text.strip()))
    except NotJson:
        return False


def _written(text: str, rules: Rules) -> str:
    """The part of the user's message in an envelope that was begun: of the `respond` call, or else of the content."""
    text = text[text.index("{") :]
    message = PartialReader(MESSAGE, (NAME, (RESPOND,))).feed(text) if rules.turn_end == "respond" else ""
    return message or PartialReader(CONTENT).feed(text)
