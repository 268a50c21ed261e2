"""The contract as one JSON action, whose schema the server's grammar enforces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from json import dumps
from typing import Any

from vancetope.backends.base import ModelSettings, Request
from vancetope.contract import sentences
from vancetope.contract.calls import readable
from vancetope.contract.examples import described, worked
from vancetope.contract.grammar import action_schema
from vancetope.contract.partial import PartialReader
from vancetope.contract.rules import ANSWER, RESPOND
from vancetope.contract.view import View
from vancetope.messages import (
    Accepted,
    Assistant,
    Call,
    Finish,
    Message,
    Note,
    Reply,
    Result,
    System,
    Text,
    ToolSpec,
    User,
)
from vancetope.models.base import ModelInfo
from vancetope.schema.strict import NotJson, parse
from vancetope.tools.respond import answer_spec

THOUGHT_BOUND = 400


def request(view: View, model: ModelInfo, settings: ModelSettings, timeout: float) -> Request:
    """The allowed actions as one schema, described in the prompt with an example of each: a grammar alone does not tell
    a model what its choices mean."""
    allowed = actions(view)
    return Request(
        model=model.name,
        system=f"{view.system}\n\n{described(allowed)}\n\n{worked(allowed)}",
        messages=lowered(view),
        response_schema=action_schema(allowed, model.string_bound, THOUGHT_BOUND if model.thought else None),
        settings=settings,
        timeout=timeout,
    )


def actions(view: View) -> tuple[ToolSpec, ...]:
    """What the model may do now, the end of the turn last."""
    end = view.rules.respond if view.rules.turn_end == "respond" else answer_spec()
    assert end is not None
    return (end,) if view.narrowed else (*view.tools, end)


def reply(raw: Reply, view: View, model: ModelInfo) -> Reply:
    """The action in a reply's text as a call. What is no action stays text and is marked as not enforced; a cut action
    keeps the part of the message that was written."""
    try:
        value = parse(raw.text.strip())
    except NotJson:
        if raw.finish is Finish.LENGTH:
            return replace(raw, text=_written(raw.text))
        return replace(raw, unforced=bool(raw.text.strip()))
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str) or "arguments" not in value:
        return replace(raw, unforced=True)
    name, arguments = value["tool"], value["arguments"]
    allowed = {each.name: each for each in actions(view)}
    hit = name in allowed and _bounded(arguments, allowed[name], model.string_bound)
    thinking = raw.thinking or str(value.get("thought", ""))
    if name == ANSWER and ANSWER in allowed and isinstance(arguments, dict):
        return replace(raw, text=str(arguments.get("message", "")), thinking=thinking, bounded=hit)
    call = Call("", name, dumps(arguments, ensure_ascii=False), bounded=hit)
    return replace(raw, text="", calls=(call,), thinking=thinking, unforced=name not in allowed)


def lowered(view: View) -> tuple[User | Assistant | Result, ...]:
    """The messages as a plain chat: actions as their JSON, results as the user's side, neighbours of one side joined,
    because many chat templates want the sides to take turns."""
    end = RESPOND if view.rules.turn_end == "respond" else ANSWER
    out: list[User | Assistant] = []
    for message in view.messages:
        for side in _lower(message, end):
            before = out[-1] if out else None
            if isinstance(side, Assistant) and before is None:
                continue
            if isinstance(side, User) and isinstance(before, User):
                out[-1] = _joined(before, side)
            elif isinstance(side, Assistant) and isinstance(before, Assistant):
                out[-1] = Assistant(f"{before.text}\n{side.text}")
            else:
                out.append(side)
    return tuple(out)


def _lower(message: Message, end: str) -> tuple[User | Assistant, ...]:
    match message:
        case User():
            return (message,)
        case Assistant(text=text, calls=()):
            return (Assistant(text),)
        case Assistant(calls=calls):
            return tuple(Assistant(_action(each.name, readable(each.arguments))) for each in calls)
        case Result(name=name, text=text):
            return (User(sentences.action_result(name, text)),)
        case Note(text=text):
            return (User(sentences.NOTE_PREFIX + text),)
        case Accepted(text=text, awaiting_user_input=awaiting):
            said = dumps({"message": text}, ensure_ascii=False)
            return (Assistant(_action(end, sentences.respond_arguments(text, awaiting) if end == RESPOND else said)),)
        case System():
            return ()


def _action(name: str, arguments: str) -> str:
    return f'{{"tool": {dumps(name)}, "arguments": {arguments}}}'


def _joined(before: User, after: User) -> User:
    if isinstance(before.content, str) and isinstance(after.content, str):
        return User(f"{before.content}\n\n{after.content}")
    parts = [(Text(each.content),) if isinstance(each.content, str) else each.content for each in (before, after)]
    return User((*parts[0], *parts[1]))


def _written(text: str) -> str:
    """The part of the user's message in a cut action."""
    return PartialReader(("arguments", "message"), (("tool",), (RESPOND, ANSWER))).feed(text)


def _bounded(arguments: Any, spec: ToolSpec, bound: int) -> bool:
    """Whether a string of these arguments stopped at our bound, and not at one of the tool's own."""
    own: Mapping[str, Any] = spec.parameters.get("properties", {})
    if not isinstance(arguments, dict):
        return False
    return any(
        isinstance(value, str) and len(value) >= bound and own.get(key, {}).get("maxLength", bound + 1) > bound
        for key, value in arguments.items()
    )
