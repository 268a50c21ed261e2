"""Anthropic's messages: a request read as a chat, a reply as a message or as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vancetope.backends.base import CallPiece, TextPiece, ThinkingPiece
from vancetope.backends.faults.asked import Asked, DialectName, dumped, objects, parsed, signature, text_of
from vancetope.backends.faults.wire import Told, Wire, event, provider_id, usage_of
from vancetope.backends.scripted import pieces_of
from vancetope.messages import Finish, Reply

NAME: Final[DialectName] = "anthropic"
PATH = "/v1/messages"
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
# Models that bind their thinking to what was said before it: system prompt, tools, messages.
BINDING = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
)
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
FINISHES = {
    Finish.STOP: "end_turn",
    Finish.TOOL_CALLS: "tool_use",
    Finish.LENGTH: "max_tokens",
    Finish.CONTENT_FILTER: "refusal",
    Finish.REFUSAL: "refusal",
    Finish.MALFORMED_CALL: "end_turn",
}


def reads(path: str) -> bool:
    """Whether a request to this path is in this dialect."""
    return path.endswith(PATH)


# Requests.


def form(body: Mapping[str, Any], _path: str) -> dict[str, Any]:
    """The request in OpenAI's chat format."""
    system = text_of(body.get("system"))
    messages = [{"role": "system", "content": system}] if system else []
    for message in objects(body.get("messages")):
        messages += _messages(message)
    made: dict[str, Any] = {"model": body.get("model", ""), "messages": messages, "stream": body.get("stream") is True}
    tools = [
        {"name": each.get("name"), "description": each.get("description"), "parameters": each.get("input_schema")}
        for each in objects(body.get("tools"))
    ]
    if tools:
        made["tools"] = [{"type": "function", "function": each} for each in tools]
    if isinstance(choice := body.get("tool_choice"), dict):
        named = {"type": "function", "function": {"name": choice.get("name")}}
        made["tool_choice"] = named if choice.get("type") == "tool" else CHOICES.get(str(choice.get("type")))
    if (schema := output_schema(body)) is not None:
        made["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    if thinks(body):
        made["reasoning_effort"] = "medium"
    return made


def output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON Schema that the text must fit, where one is asked for."""
    config = body.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else body.get("output_format")
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    schema = wanted.get("schema")
    return schema if isinstance(schema, dict) else {}


def thinks(body: Mapping[str, Any]) -> bool:
    """Whether thinking is asked for."""
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")


def blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A message's blocks; a string is one block of text."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def of_kind(body: Mapping[str, Any], kind: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Every block of this type, and the number of its message."""
    for at, message in enumerate(body["messages"]):
        yield from ((at, block) for block in blocks(message) if block["type"] == kind)


def prefix(body: Mapping[str, Any], messages: int | None = None) -> str:
    """What a thought is bound to: system prompt, tools and so many messages (all of them), in one spelling. Marks of
    a cache do not count."""
    merged: list[dict[str, Any]] = []
    for message in objects(body.get("messages"))[:messages]:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        if merged and merged[-1]["role"] == message.get("role"):
            merged[-1]["content"] += blocks
        else:
            merged.append({"role": message.get("role"), "content": list(blocks)})
    said = {"system": text_of(body.get("system")), "tools": body.get("tools") or [], "messages": merged}
    return json.dumps(_unmarked(said), sort_keys=True)


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if isinstance(value, dict):
        return {key: _unmarked(each) for key, each in value.items() if key != "cache_control"}
    return value


def _messages(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The one or more chat messages that a message is: results stand in messages of their own."""
    role, content = str(message.get("role")), message.get("content")
    if role == "assistant":
        yield _assistant(content)
        return
    if not isinstance(content, list):
        yield {"role": role, "content": text_of(content)}
        return
    parts: list[dict[str, Any]] = []
    for block in objects(content):
        if block.get("type") == "tool_result":
            id, text = block.get("tool_use_id"), text_of(block.get("content"))
            yield {"role": "tool", "tool_call_id": id, "content": text}
        elif block.get("type") == "text":
            parts.append({"type": "text", "text": str(block.get("text", ""))})
        else:
            parts.append({"type": "file", "file": block})
    if len(parts) == 1 and parts[0]["type"] == "text":
        yield {"role": role, "content": parts[0]["text"]}
    elif parts:
        yield {"role": role, "content": parts}


def _assistant(content: object) -> dict[str, Any]:
    blocks = objects(content)
    made: dict[str, Any] = {"role": "assistant", "content": text_of(content) or None}
    thoughts = [str(each.get("thinking", "")) for each in blocks if each.get("type") == "thinking"]
    if thoughts:
        made["reasoning_content"] = "".join(thoughts)
    calls = [each for each in blocks if each.get("type") == "tool_use"]
    if calls:
        made["tool_calls"] = [
            {
                "id": each.get("id"),
                "type": "function",
                "function": {"name": each.get("name"), "arguments": dumped(each.get("input"))},
            }
            for each in calls
        ]
    return made


# Answers.


def whole(reply: Reply, asked: Asked, wire: Wire) -> dict[str, Any]:
    """The reply as one message."""
    content: list[dict[str, Any]] = []
    if reply.thinking:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": _signature(reply, asked)})
    if reply.text or (wire.empty_block and not reply.calls):
        content.append({"type": "text", "text": reply.text, "citations": None})
    for index, each in enumerate(reply.calls):
        value = parsed(each.arguments)
        if isinstance(value, str) and reply.finish is Finish.LENGTH:
            value = {}
        content.append({**_call(reply, asked, index), "input": value})
    usage = {"usage": _usage(reply, asked)} if wire.usage else {}
    return {**_frame(asked), "content": content, **_finish(reply), **usage}


def stream(reply: Reply, asked: Asked, wire: Wire) -> Iterator[Told]:
    """The reply as the events of a stream, from message_start to message_stop."""
    last = _usage(reply, asked)
    opening = {**_frame(asked), "content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None}
    if wire.usage:
        opening["usage"] = {**last, "output_tokens": 1, "output_tokens_details": None}
    yield Told({"type": "message_start", "message": opening}, opening=True)
    yield from _blocks(reply, asked, wire)
    usage = {"usage": last} if wire.usage else {}
    yield Told({"type": "message_delta", "delta": _finish(reply), **usage})
    if wire.done:
        yield Told({"type": "message_stop"})


def _blocks(reply: Reply, asked: Asked, wire: Wire) -> Iterator[Told]:
    """Start, deltas and stop of each block."""
    open_one: tuple[str, int] | None = None
    index = -1
    pieces = list(pieces_of(reply, wire.chunking))
    if not pieces and wire.empty_block:
        pieces.append(TextPiece(""))
    for piece in pieces:
        key = (piece.kind, piece.index if isinstance(piece, CallPiece) else 0)
        if key != open_one:
            if open_one is not None:
                yield from _stop(open_one[0], reply, asked, index)
            open_one, index = key, index + 1
            start = {"type": "content_block_start", "index": index, "content_block": _start(key, reply, asked)}
            yield Told(start)
        delta: dict[str, Any] = {}
        match piece:
            case ThinkingPiece(text=text):
                delta = {"type": "thinking_delta", "thinking": text}
            case TextPiece(text=text):
                delta = {"type": "text_delta", "text": text}
            case CallPiece(arguments=arguments):
                delta = {"type": "input_json_delta", "partial_json": arguments}
        if any(delta.get(name) for name in ("thinking", "text", "partial_json")):
            yield Told({"type": "content_block_delta", "index": index, "delta": delta}, 1)
    if open_one is not None:
        yield from _stop(open_one[0], reply, asked, index)


def _start(key: tuple[str, int], reply: Reply, asked: Asked) -> dict[str, Any]:
    if key[0] == "call":
        return _call(reply, asked, key[1])
    if key[0] == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": "", "citations": None}


def _signature(reply: Reply, asked: Asked) -> str:
    return signature(reply.thinking, prefix(asked.body) if asked.model.startswith(BINDING) else "")


def _stop(kind: str, reply: Reply, asked: Asked, index: int) -> Iterator[Told]:
    if kind == "thinking":
        signed = {"type": "signature_delta", "signature": _signature(reply, asked)}
        yield Told({"type": "content_block_delta", "index": index, "delta": signed})
    yield Told({"type": "content_block_stop", "index": index})


def _call(reply: Reply, asked: Asked, index: int) -> dict[str, Any]:
    made = reply.calls[index]
    id = provider_id(made.id, asked, index, "toolu")
    return {"type": "tool_use", "id": id, "name": made.name, "input": {}, "caller": {"type": "direct"}}


def _frame(asked: Asked) -> dict[str, Any]:
    return {"id": f"msg_{asked.number}", "type": "message", "role": "assistant", "model": asked.model}


def _finish(reply: Reply) -> dict[str, Any]:
    reason = FINISHES.get(reply.finish)
    if reply.end_turn is False and reply.finish is Finish.STOP:
        reason = "pause_turn"
    details = {"type": "refusal", "category": None, "explanation": None} if reason == "refusal" else None
    return {"stop_reason": reason, "stop_sequence": None, "stop_details": details}


def _usage(reply: Reply, asked: Asked) -> dict[str, Any]:
    usage = usage_of(reply, asked)
    return {
        "input_tokens": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": usage.thinking_tokens},
    }


def framed(made: Mapping[str, Any], wire: Wire) -> bytes:
    """One object of a stream as its event, which has the object's type as its name."""
    return event(dumped(made), wire, str(made.get("type", "")))


def end(_wire: Wire) -> bytes:
    """What ends a stream: nothing behind its last event."""
    return b""


def late(wire: Wire) -> bytes:
    """An event that comes behind the end."""
    return framed({"type": "ping"}, wire)


def error(code: int, message: str, _retry_after: float | None = None) -> dict[str, Any]:
    """An error with the type that goes with this status."""
    kind = ERRORS.get(code, "api_error" if code >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


def models(names: tuple[str, ...]) -> dict[str, Any]:
    """The list of models."""
    made = "2026-01-01T00:00:00Z"
    listed = [{"type": "model", "id": name, "display_name": name, "created_at": made} for name in names]
    ends = {"first_id": names[0], "last_id": names[-1]} if names else {"first_id": None, "last_id": None}
    return {"data": listed, "has_more": False, **ends}
