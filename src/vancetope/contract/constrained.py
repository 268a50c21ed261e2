"""The contract as one JSON action, whose schema the server's grammar enforces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json import dumps

from vancetope import sentences
from vancetope.backends.base import ModelSettings, Request
from vancetope.contract.calls import readable
from vancetope.contract.examples import action, conversation, described
from vancetope.contract.grammar import action_schema, stopped
from vancetope.contract.partial import PartialReader
from vancetope.contract.rules import Rules
from vancetope.contract.sides import add, joined, note
from vancetope.contract.view import View, estimate, estimate_message
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
)
from vancetope.models.base import ModelInfo
from vancetope.schema.strict import NotJson, parse
from vancetope.tools.respond import ANSWER, RESPOND, answer_spec

THOUGHT_BOUND = 400
TINY_ARGUMENT_BOUND = 64
_ENDS = (RESPOND, ANSWER)


def request(view: View, model: ModelInfo, settings: ModelSettings, timeout: float) -> Request:
    """The allowed actions as one schema. A grammar alone does not tell a model what its choices mean: they are
    described in the system prompt, or, for a tiny model, shown in a short conversation before the first message."""
    allowed = actions(view, model)
    tiny = model.tier == "tiny"
    return Request(
        model=model.name,
        system=view.system if tiny else f"{view.system}\n\n{_form(allowed)}",
        messages=(*conversation(view.tools, _end(view)), *lowered(view, tiny=True)) if tiny else lowered(view),
        response_schema=action_schema(
            [(each, _bound(each, model)) for each in allowed],
            thought=THOUGHT_BOUND if model.thought and not tiny else None,
            compact=model.provider == "local",
        ),
        settings=settings,
        timeout=timeout,
    )


def actions(view: View, model: ModelInfo) -> tuple[ToolSpec, ...]:
    """What the model may do now, the end of the turn last.

    A tiny model may use a tool once, and again when the user has spoken: it does not stop by itself, and what it tries
    after a failure is a guess. It is not asked whether it waits for the user either: its role decides.
    """
    end = view.rules.respond if view.rules.turn_end == "respond" else answer_spec()
    assert end is not None
    if model.tier != "tiny":
        return (end,) if view.narrowed else (*view.tools, end)
    message = {"properties": {"message": end.parameters["properties"]["message"]}, "required": ["message"]}
    end = replace(end, parameters={**end.parameters, **message})
    tools = () if view.narrowed else tuple(each for each in view.tools if not _used(each.name, view.messages))
    return (*tools, end)


def reply(raw: Reply, view: View, model: ModelInfo) -> Reply:
    """The action in a reply's text as a call. What is no action stays as it is, calls of a tool API among it, and is
    marked as not enforced; a cut action keeps the part of the message that was written."""
    if raw.calls:
        return replace(raw, unforced=True)
    try:
        value = parse(raw.text.strip())
    except NotJson:
        if raw.finish is Finish.LENGTH and raw.text.lstrip().startswith("{"):
            return replace(raw, text=_written(raw.text))
        return replace(raw, unforced=bool(raw.text.strip()))
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str) or "arguments" not in value:
        return replace(raw, unforced=True)
    name, arguments = value["tool"], value["arguments"]
    allowed = {each.name: each for each in actions(view, model)}
    hit = name in allowed and stopped(arguments, allowed[name].parameters, _bound(allowed[name], model))
    thinking = raw.thinking or str(value.get("thought", ""))
    if name == ANSWER and ANSWER in allowed:
        message = arguments.get("message") if isinstance(arguments, dict) else None
        if not isinstance(message, str):
            return replace(raw, text="", finish=Finish.MALFORMED_CALL, thinking=thinking, unforced=True)
        return replace(raw, text=message, thinking=thinking, bounded=hit)
    call = Call("", name, dumps(arguments, ensure_ascii=False), bounded=hit)
    return replace(raw, text="", calls=(call,), thinking=thinking, unforced=name not in allowed)


def extra(tools: Sequence[ToolSpec], rules: Rules, model: ModelInfo) -> int:
    """The actions' description, or a tiny model's example conversation."""
    view = View("", (), rules, tuple(tools))
    if model.tier == "tiny":
        return sum(map(estimate_message, conversation(view.tools, _end(view))))
    return estimate(_form(actions(view, model)))


def _form(allowed: Sequence[ToolSpec]) -> str:
    return f"{sentences.ACTION_FORM}\n{described(allowed)}"


def lowered(view: View, *, tiny: bool = False) -> tuple[User | Assistant | Result, ...]:
    """The messages as a plain chat whose sides take turns, as many chat templates want it. Actions are their JSON,
    results come from the user's side. Several calls of one reply become one action after another, each with its result:
    the model reads its own good example.

    A tiny model repeats what it read last. So a sentence of the runtime, a note or the refusal of an answer, stands
    before what it is about, the last question or result, which is said again where it is further up.
    """
    chat: list[User | Assistant] = []
    calls: dict[str, Call] = {}
    about: User | None = None
    end = _end(view)
    for message in view.messages:
        if isinstance(message, Assistant):
            calls |= {each.id: each for each in message.calls}
        sides = _lower(message, calls, end, tiny=tiny)
        if tiny and (isinstance(message, Note) or (isinstance(message, Result) and message.name == end)):
            if about is not None and len(sides) == 1 and chat and chat[-1] == about:
                chat.pop()
            said = note(message.text)
            sides = (*sides[:-1], said if about is None else joined(said, about))
        elif sides and isinstance(sides[-1], User):
            about = sides[-1]
        for side in sides:
            add(chat, side)
    return tuple(chat)


def _lower(message: Message, calls: Mapping[str, Call], end: str, *, tiny: bool) -> tuple[User | Assistant, ...]:
    match message:
        case User():
            return (message,)
        case Note(text=text):
            return (note(text),)
        case Assistant(text=text, calls=()):
            return (Assistant(text),)
        case Result(call_id=call_id, name=name, text=text, ok=ok):
            said = User(sentences.action_result(name, text if ok or not tiny else _first_clause(text)))
            called = calls.get(call_id)
            return (said,) if called is None else (Assistant(_written_call(called)), said)
        case Accepted(text=text, awaiting_user_input=awaiting):
            waits = {} if tiny or end == ANSWER else {"awaiting_user_input": awaiting}
            return (Assistant(action(end, {"message": text, **waits})),)
        case _:
            return ()


def _written_call(call: Call) -> str:
    return action(call.name, parse(readable(call.arguments)))


def _first_clause(text: str) -> str:
    """What went wrong, without the advice for a next call: a tiny model has none, and repeats the advice."""
    return re.split(r"[;\n]|\. ", text, maxsplit=1)[0]


def _end(view: View) -> str:
    return RESPOND if view.rules.turn_end == "respond" else ANSWER


def _used(name: str, messages: Sequence[Message]) -> bool:
    spoke = max((at for at, each in enumerate(messages) if isinstance(each, User)), default=-1)
    return any(isinstance(each, Result) and each.name == name for each in messages[spoke + 1 :])


def _written(text: str) -> str:
    """The part of the user's message in a cut action."""
    return PartialReader(("arguments", "message"), (("tool",), _ENDS)).feed(text)


def _bound(spec: ToolSpec, model: ModelInfo) -> int:
    tiny = model.tier == "tiny" and spec.name not in _ENDS
    return min(model.string_bound, TINY_ARGUMENT_BOUND) if tiny else model.string_bound
