"""What Anthropic's API takes of thinking in a request, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vancetope.backends.base import Request
from vancetope.backends.direct.dialect import record
from vancetope.messages import Assistant

DEFAULT_MAX_TOKENS = 8192
"""Sent where nobody says how much may be written: this API demands a limit."""

ROOM = 1024  # tokens that are left for the answer where thinking has a budget, and the smallest budget there is
THINKING = ("thinking", "redacted_thinking")
MODEL_SPEAKS = b'{"role":"assistant"'
MARKS = (b'"type":"thinking"', b'"type":"redacted_thinking"')


def binds(request: Request, model: Any) -> bool:
    """Whether thinking comes back that the server takes only behind the very same request. Ours may have changed since:
    a narrowed round offers fewer tools. The server is told to leave such thinking out instead of refusing all."""
    binds = model.profile.get("anthropic_binds_thinking_blocks", False)
    return binds and any(isinstance(each, Assistant) and each.carried for each in request.messages)


def fit(body: dict[str, Any], asked: int | None, forced: bool, messages: list[bytes]) -> None:
    """Thinking that has a budget leaves room for the answer; without a limit of the caller's the limit grows instead.
    None is done where the server refuses it: with a forced call, and after calls that were made without thinking."""
    thinking = record(body.get("thinking"))
    if thinking.get("type") != "enabled":
        return
    budget = thinking["budget_tokens"]
    left_out = forced or _called_at_once(messages)
    if asked is None and not left_out:
        body["max_tokens"] = max(body["max_tokens"], budget + DEFAULT_MAX_TOKENS)
    budget = min(budget, body["max_tokens"] - ROOM)
    if left_out or budget < ROOM:
        del body["thinking"]
    else:
        body["thinking"] = {**thinking, "budget_tokens": budget}


def _called_at_once(messages: list[bytes]) -> bool:
    """Whether the model's last words hold calls and do not begin with thinking."""
    said = next((each for each in reversed(messages) if each.startswith(MODEL_SPEAKS)), None)
    blocks = json.loads(b"[" + said + b"]")[-1]["content"] if said and b'"tool_use"' in said else []
    return any(each["type"] == "tool_use" for each in blocks) and blocks[0]["type"] not in THINKING


def may_think(body: Mapping[str, Any], model: Any) -> bool:
    """Whether the model may think about this request."""
    kind = record(body.get("thinking")).get("type")
    by_itself = model.profile.get("thinking_enabled_by_default") or model.profile.get("thinking_always_enabled")
    return kind != "disabled" if kind else bool(by_itself)


def unthinking(messages: list[bytes]) -> list[bytes]:
    """The messages without thinking, which the server refuses in a request that does none."""
    return [_without_thinking(each) if _thought(each) else each for each in messages]


def _thought(said: bytes) -> bool:
    return said.startswith(MODEL_SPEAKS) and any(mark in said for mark in MARKS)


def _without_thinking(said: bytes) -> bytes:
    spoken = json.loads(b"[" + said + b"]")
    for message in spoken:
        if kept := [each for each in message["content"] if each["type"] not in THINKING]:
            message["content"] = kept
    return written(spoken)


def written(spoken: list[Any]) -> bytes:
    """Messages as they stand in a request, one after another."""
    return json.dumps(spoken, ensure_ascii=False, separators=(",", ":")).encode()[1:-1]
