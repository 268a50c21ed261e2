"""The two APIs as a server speaks them: whole answers, streams, failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.backends.openai_raw import Answer, Raw, answer, stream
from vancetope.backends.base import ModelSettings, OnPiece, Request
from vancetope.backends.direct import Direct, Kind, connect
from vancetope.errors import ModelError
from vancetope.messages import Assistant, Call, Reply, Result, ToolSpec, User

KEY = "tok-0123456789abcdef"
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Where",
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City", "minLength": 1, "pattern": "^[A-Z]", "default": "Paris"},
        "zone": {"const": "CET"},
        "more": {"anyOf": [{"$ref": "#/$defs/more"}, {"type": "null"}]},
    },
    "required": ["city"],
    "$defs": {"more": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "x-unit": "s"}}}},
}
TOOLS = (
    ToolSpec("get_time", "tells the time", SCHEMA),
    ToolSpec("respond", "ends the turn", {"type": "object", "properties": {"message": {"type": "string"}}}),
)
MODEL: dict[Kind, str] = {"anthropic": "claude-opus-4-6", "gemini": "gemini-2.5-flash"}
BOTH = pytest.mark.parametrize("kind", ["anthropic", "gemini"])
WAYS = pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])


@dataclass(frozen=True)
class Said:
    """A part of an answer: a text, a thought with its signature, or a call."""

    text: str = ""
    thinking: str = ""
    signature: str = ""
    name: str = ""
    arguments: Any = None
    id: str = ""


def spoken(kind: Kind, *parts: Said, finish: str | None = "", **usage: Any) -> Any:
    """A whole answer as JSON. The finish is the usual one unless one is given."""
    if kind == "gemini":
        body: dict[str, Any] = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [*map(_part, parts)]}}]
        }
        if finish is not None:
            body["candidates"][0]["finishReason"] = finish or "STOP"
        counts = usage or {"promptTokenCount": 7, "candidatesTokenCount": 2}
        return body | {"usageMetadata": counts, "modelVersion": "gemini-2.5-flash-001"}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-6-1",
        "content": [*map(_block, parts)],
        "stop_reason": (finish or ("tool_use" if any(each.name for each in parts) else "end_turn"))
        if finish is not None
        else None,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 7, "output_tokens": 2},
    }


def events(kind: Kind, *parts: Said, finish: str | None = "", **usage: Any) -> list[str]:
    """The events of a stream, each as it goes over the wire."""
    whole = spoken(kind, *parts, finish=finish, **usage)
    if kind == "gemini":
        made = whole["candidates"][0]["content"]["parts"]
        chunks = [{"candidates": [{"content": {"role": "model", "parts": [each]}}]} for each in made]
        last = {**whole, "candidates": [{**whole["candidates"][0], "content": {"role": "model", "parts": []}}]}
        return [f"data: {json.dumps(each)}\r\n\r\n" for each in (*chunks, last)]
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    found = [event("message_start", message=start), event("ping")]
    for index, block in enumerate(whole["content"]):
        found += _streamed(index, block)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    found.append(event("message_delta", delta=delta, usage={"output_tokens": whole["usage"].get("output_tokens", 0)}))
    return [*found, event("message_stop")]


def event(kind: str, **fields: Any) -> str:
    """An event of Anthropic's."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def given(kind: Kind, *parts: Said, streams: bool = False, **more: Any) -> Answer:
    """What the server says."""
    return stream(*events(kind, *parts, **more)) if streams else answer(spoken(kind, *parts, **more))


HELLO = Said("Hello")
CALL = Said(name="get_time", arguments={"city": "Paris"}, id="toolu_1")


def asked(kind: Kind, *messages: User | Assistant | Result, **more: Any) -> Request:
    """A request; settings may stand in it by their names."""
    named = {
        name: more.pop(name) for name in ("temperature", "max_tokens", "seed", "thinking", "extra") if name in more
    }
    fields = {"system": "Be brief.", "settings": ModelSettings(**named), "timeout": 10.0, "model": MODEL[kind], **more}
    return Request(messages=messages or (User("What time is it?"),), **fields)


def backend(kind: Kind, server: Raw, **options: Any) -> Direct:
    return (
        Direct(kind, server.url.removesuffix("/v1"), KEY, **options) if options else connect(kind, server.url[:-3], KEY)
    )


async def ask(
    kind: Kind, server: Raw, request: Request | None = None, on_piece: OnPiece | None = None, **options: Any
) -> Reply | ModelError:
    """The reply to one request, or the error in its place."""
    one = backend(kind, server, **options)
    try:
        return await one.complete(request or asked(kind), on_piece)
    except ModelError as error:
        return error
    finally:
        await one.aclose()


async def replied(
    kind: Kind, server: Raw, request: Request | None = None, *, streams: bool = False, **options: Any
) -> Reply:
    reply = await ask(kind, server, request, (lambda piece: None) if streams else None, **options)
    assert isinstance(reply, Reply), reply
    return reply


def called(number: int = 0, name: str = "get_time", arguments: str = '{"city": "Paris"}') -> Call:
    return Call(f"c0010000{number}", name, arguments)


def result(number: int = 0, text: str = "15:42", **more: Any) -> Result:
    return Result(f"c0010000{number}", "get_time", text, **more)


def said_in(kind: Kind, body: Any) -> list[tuple[str, list[Any]]]:
    """The messages of a body: roles of the user and the model, and what each part says."""
    told = []
    for message in body["contents" if kind == "gemini" else "messages"]:
        parts: Sequence[Any] = message["parts" if kind == "gemini" else "content"]
        told.append((message["role"].replace("assistant", "model"), [_seen(part) for part in parts]))
    return told


def _seen(part: Any) -> Any:
    for name in ("text", "thinking", "input", "content", "functionCall", "functionResponse", "source", "data"):
        if name in part:
            return part[name]
    return part


def _part(said: Said) -> dict[str, Any]:
    signed = {"thoughtSignature": said.signature} if said.signature else {}
    if said.thinking:
        return {"text": said.thinking, "thought": True, **signed}
    if said.name or said.arguments is not None:
        named = {"id": said.id} if said.id else {}
        return {"functionCall": {**named, "name": said.name, "args": said.arguments}, **signed}
    return {"text": said.text, **signed}


def _block(said: Said) -> dict[str, Any]:
    if said.thinking:
        return {"type": "thinking", "thinking": said.thinking, "signature": said.signature}
    if said.name or said.arguments is not None:
        return {"type": "tool_use", "id": said.id, "name": said.name, "input": said.arguments}
    if said.signature:
        return {"type": "redacted_thinking", "data": said.signature}
    return {"type": "text", "text": said.text}


def _streamed(index: int, block: dict[str, Any]) -> list[str]:
    deltas: list[dict[str, Any]] = []
    begun = block
    match block["type"]:
        case "text":
            begun = {**block, "text": ""}
            half = len(block["text"]) // 2
            deltas = [{"type": "text_delta", "text": each} for each in (block["text"][:half], block["text"][half:])]
        case "thinking":
            begun = {**block, "thinking": "", "signature": ""}
            deltas = [{"type": f"{name}_delta", name: block[name]} for name in ("thinking", "signature")]
        case "tool_use":
            begun = {**block, "input": {}}
            written = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in ("", written[:5], written[5:])]
    told = [event("content_block_start", index=index, content_block=begun)]
    told += [event("content_block_delta", index=index, delta=each) for each in deltas]
    return [*told, event("content_block_stop", index=index)]
