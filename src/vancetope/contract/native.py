"""The contract through a provider's own tool API."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vancetope import sentences
from vancetope.backends.base import ModelSettings, Request
from vancetope.contract.rules import Rules
from vancetope.contract.view import View, estimate_tools
from vancetope.messages import Accepted, Assistant, Call, Message, Note, Reply, Result, System, ToolSpec, User
from vancetope.models.base import ModelInfo
from vancetope.tools.respond import RESPOND


def request(view: View, model: ModelInfo, settings: ModelSettings, timeout: float) -> Request:
    """The allowed actions as tools. A narrowed round offers nothing but the end of the turn and, where the server takes
    it, asks for it by name: for this one request."""
    respond = view.rules.respond if view.rules.turn_end == "respond" else None
    tools: tuple[ToolSpec, ...] = () if view.narrowed else view.tools
    forced = view.narrowed and respond is not None and _may_force(model, settings)
    return Request(
        model=model.name,
        system=view.system,
        messages=lowered(view),
        tools=(*tools, respond) if respond else tools,
        choice=RESPOND if forced else "auto",
        settings=settings,
        timeout=timeout,
    )


def _may_force(model: ModelInfo, settings: ModelSettings) -> bool:
    """Whether the server takes a choice by name; some refuse it for a model that thinks."""
    thinks = model.thinking == "always" or settings.thinking not in (None, "off")
    return model.forced_choice and (model.forced_choice_with_thinking or not thinks)


def reply(raw: Reply, view: View, model: ModelInfo) -> Reply:
    return raw


def extra(tools: Sequence[ToolSpec], rules: Rules, model: ModelInfo) -> int:
    """`respond`, which is offered beside the tools."""
    return estimate_tools([rules.respond]) if rules.respond else 0


def lowered(view: View) -> tuple[User | Assistant | Result, ...]:
    """The messages in the provider's terms. An accepted message comes back in the form that the contract in force asks
    for, so that the model reads its own good example."""
    out: list[User | Assistant | Result] = []
    as_call = view.rules.turn_end == "respond"
    for position, message in enumerate(view.messages):
        if isinstance(message, Accepted) and as_call:
            out += view.once(position, message, partial(_delivered, message, position))
        else:
            out += _lower(message)
    while out and not isinstance(out[0], User):
        out.pop(0)
    return tuple(out)


def _lower(message: Message) -> tuple[User | Assistant | Result, ...]:
    match message:
        case User() | Result() | Assistant():
            return (message,)
        case Note(text=text):
            return (User(sentences.NOTE_PREFIX + text),)
        case Accepted(text=text):
            return (Assistant(text),)
        case System():
            return ()


def _delivered(message: Accepted, position: int) -> tuple[Assistant, Result]:
    """An accepted message as the call that delivered it."""
    arguments = sentences.respond_arguments(message.text, message.awaiting_user_input)
    call = Call(f"a{position:08d}", RESPOND, arguments)
    return Assistant("", (call,)), Result(call.id, RESPOND, sentences.DELIVERED)
