"""`tool_describe`: what a deferred tool does and takes, of which the model is told only a name and a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from json import dumps
from typing import Any

from vancetope import sentences
from vancetope.messages import Assistant, Call, Message, Result, ToolSpec
from vancetope.schema.strict import NotJson, parse
from vancetope.schema.validate import decode_once
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.failure import ToolFailed

NAME = "tool_describe"
LONGEST_LINE = 160


def tool_describe(deferred: Mapping[str, Tool]) -> Tool:
    """The tool over these. Its description lists them, its result is what they do and take, as JSON. Where some of the
    names are unknown it tells those that were meant; where all are, the call fails."""

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:  # noqa: ARG001
        names = list(dict.fromkeys(arguments["names"]))
        unknown = [_unknown(each, deferred) for each in names if each not in deferred]
        known = [_whole(deferred[each].spec) for each in names if each in deferred]
        if not known:
            raise ToolFailed(" ".join(unknown))
        return dumps({"tools": known, **({"unknown": unknown} if unknown else {})}, ensure_ascii=False, indent=1)

    return Tool(_spec(deferred), run)


def described(messages: Iterable[Message]) -> frozenset[str]:
    """The names whose description the model has asked for and got in these messages. Names of tools that are not
    deferred may be among them."""
    asked: dict[str, Call] = {}
    names: set[str] = set()
    for message in messages:
        match message:
            case Assistant(calls=calls):
                asked |= {each.id: each for each in calls if each.name == NAME}
            case Result(call_id=call_id, ok=True) if call_id in asked:
                names.update(_names(asked.pop(call_id)))
            case _:
                pass
    return frozenset(names)


def _spec(deferred: Mapping[str, Tool]) -> ToolSpec:
    listed = "\n".join(f"- {name}: {_line(each.spec)}" for name, each in deferred.items())
    names = {
        "type": "array",
        "items": {"type": "string", "examples": list(deferred)[:3]},
        "minItems": 1,
        "description": sentences.TOOL_DESCRIBE_NAMES,
    }
    parameters = {"type": "object", "properties": {"names": names}, "required": ["names"]}
    description = f"{sentences.TOOL_DESCRIBE}\n{listed}"
    return ToolSpec(NAME, description, {**parameters, "additionalProperties": False})


def _line(spec: ToolSpec) -> str:
    """What a tool is for, in one line."""
    line = next((" ".join(each.split()) for each in spec.description.splitlines() if each.strip()), "")
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE].rsplit(' ', 1)[0]} …"


def _whole(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}


def _unknown(name: str, deferred: Mapping[str, Tool]) -> str:
    lowered = {each.lower(): each for each in deferred}
    near = [lowered[each] for each in get_close_matches(name.lower(), lowered, n=3, cutoff=0.5)]
    if near:
        return sentences.TOOL_DESCRIBE_NEAR.format(name=repr(name[:60]), near=" or ".join(near))
    return sentences.TOOL_DESCRIBE_UNKNOWN.format(name=repr(name[:60]), known=", ".join(deferred))


def _names(call: Call) -> list[str]:
    """The names that a call asked for, read as leniently as when it ran."""
    try:
        value = parse(call.arguments)
        value = parse(value) if isinstance(value, str) else value
    except NotJson:
        return []
    names = decode_once(_spec({}).parameters, value).get("names") if isinstance(value, dict) else None
    return [each for each in names if isinstance(each, str)] if isinstance(names, list) else []
