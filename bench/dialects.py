"""The answers of `bench.server` as Anthropic's messages and as Gemini's content: the same messages, as whole replies
and as the events of a stream. Gemini streams a call in one piece, as it really does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

PIECES = 10  # chunks that an answer is cut into
USAGE = {"input_tokens": 50, "output_tokens": 10}
COUNTED = {"promptTokenCount": 50, "candidatesTokenCount": 10, "totalTokenCount": 60}


def cut(text: str) -> list[str]:
    size = -(-len(text) // PIECES)
    return [text[at : at + size] for at in range(0, len(text), size)]


def anthropic_offered(body: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in body.get("tools") or ()]


def anthropic_message(message: dict[str, Any], model: str) -> dict[str, Any]:
    block, stop = _block(message)
    return {**_head(model), "content": [block], "stop_reason": stop, "usage": USAGE}


def anthropic_events(message: dict[str, Any], model: str) -> Iterator[str]:
    block, stop = _block(message)
    yield _event("message_start", message={**_head(model), "content": [], "stop_reason": None, "usage": USAGE})
    if block["type"] == "tool_use":
        yield _event("content_block_start", index=0, content_block={**block, "input": {}})
        deltas = [{"type": "input_json_delta", "partial_json": each} for each in cut(json.dumps(block["input"]))]
    else:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        deltas = [{"type": "text_delta", "text": each} for each in cut(block["text"])]
    for delta in deltas:
        yield _event("content_block_delta", index=0, delta=delta)
    yield _event("content_block_stop", index=0)
    yield _event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=USAGE)
    yield _event("message_stop")


def gemini_offered(body: dict[str, Any]) -> list[str]:
    return [each["name"] for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]


def gemini_content(message: dict[str, Any], model: str) -> dict[str, Any]:
    return _candidate([_part(message)], model, ends=True)


def gemini_events(message: dict[str, Any], model: str) -> Iterator[str]:
    part = _part(message)
    parts = [{"text": each} for each in cut(part["text"])] if "text" in part else [part]
    for number, each in enumerate(parts, 1):
        yield f"data: {json.dumps(_candidate([each], model, ends=number == len(parts)))}\r\n\r\n"


def _head(model: str) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}


def _block(message: dict[str, Any]) -> tuple[dict[str, Any], str]:
    if calls := message.get("tool_calls"):
        function = calls[0]["function"]
        called = {"id": "toolu_1", "name": function["name"], "input": json.loads(function["arguments"])}
        return {"type": "tool_use", **called}, "tool_use"
    return {"type": "text", "text": message["content"]}, "end_turn"


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def _part(message: dict[str, Any]) -> dict[str, Any]:
    if calls := message.get("tool_calls"):
        function = calls[0]["function"]
        return {"functionCall": {"name": function["name"], "args": json.loads(function["arguments"])}}
    return {"text": message["content"]}


def _candidate(parts: list[dict[str, Any]], model: str, *, ends: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if ends:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "modelVersion": model, "responseId": "r1", "usageMetadata": COUNTED}
