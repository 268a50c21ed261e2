"""What a plain, patient client hears in Anthropic's and Gemini's dialects: whole or streamed, well or broken."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.backends.listening import ENOUGH, TIME, client, events
from tests.backends.listening import MESSAGE as RESPOND
from vancetope.backends.faults import FaultServer, Given

OTHERS = pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
SYSTEM, PROMPT = "Be brief.", "What time is it in Paris?"
MODEL = {"anthropic": "claude-scripted", "gemini": "gemini-scripted"}
SCHEMAS = {"get_time": TIME, "respond": RESPOND}


def asking(dialect: str, *more: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A request that the provider takes, with more messages or contents; a change to None leaves the key out."""
    if dialect == "anthropic":
        tools: list[dict[str, Any]] = [
            {"name": name, "description": f"does {name}", "input_schema": schema} for name, schema in SCHEMAS.items()
        ]
        first: dict[str, Any] = {"role": "user", "content": PROMPT}
        body: dict[str, Any] = {
            "model": MODEL[dialect],
            "max_tokens": 4096,
            "system": SYSTEM,
            "messages": [first, *more],
        }
    else:
        made = [
            {"name": name, "description": f"does {name}", "parametersJsonSchema": schema}
            for name, schema in SCHEMAS.items()
        ]
        tools = [{"functionDeclarations": made}]
        first = {"role": "user", "parts": [{"text": PROMPT}]}
        body = {"systemInstruction": {"parts": [{"text": SYSTEM}]}, "contents": [first, *more]}
    return {key: value for key, value in {**body, "tools": tools, **changes}.items() if value is not None}


def constrained(dialect: str, schema: Any) -> dict[str, Any]:
    """The changes that ask for a text that fits the schema."""
    if dialect == "anthropic":
        return {"tools": None, "output_config": {"format": {"type": "json_schema", "schema": schema}}}
    config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    return {"tools": None, "generationConfig": config}


@dataclass
class Heard:
    """One answer as it came. `whole` is false where it broke off or is no reply at all; `blocks` counts Anthropic's."""

    status: int = 0
    whole: bool = False
    text: str = ""
    thinking: str = ""
    signatures: list[str] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    names: list[Any] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)
    finish: Any = None
    usage: Any = None
    blocks: int = 0
    objects: list[Any] = field(default_factory=list)
    raw: bytes = b""
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    broke: Exception | None = None

    @property
    def error(self) -> Any:
        """The error object in it, wherever it stands."""
        return next((each for each in self.objects if isinstance(each, dict) and "error" in each), None)


def path(server: FaultServer, dialect: str, stream: bool, model: str = "") -> str:
    if dialect == "anthropic":
        return f"{server.anthropic_url}/v1/messages"
    what = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"{server.gemini_url}/v1beta/models/{model or MODEL[dialect]}:{what}"


async def hear(
    server: FaultServer,
    dialect: str,
    body: Any = None,
    *,
    stream: bool = False,
    timeout: float = 10.0,
    headers: dict[str, str] | None = None,
    model: str = "",
) -> Heard:
    """Ask, and read until the answer ends or breaks. `timeout` is how long it may be silent, in seconds."""
    heard, raw = Heard(), bytearray()
    body = asking(dialect) if body is None else body
    if dialect == "anthropic" and stream and isinstance(body, dict):
        body = {**body, "stream": True}
    async with client(timeout, headers) as one:
        try:
            async with one.stream("POST", path(server, dialect, stream, model), json=body) as answer:
                heard.status, heard.headers = answer.status_code, answer.headers
                async for block in answer.aiter_raw():
                    raw += block
        except httpx.HTTPError as error:
            heard.broke = error
    heard.raw = bytes(raw)
    if heard.broke is None and len(raw) < ENOUGH:
        _read(heard)
    return heard


async def heard(dialect: str, answer: Given, *, stream: bool = False, timeout: float = 10.0, **changes: Any) -> Heard:
    """What a client hears when the server gives this one answer."""
    async with FaultServer([answer]) as server:
        told = await hear(server, dialect, asking(dialect, **changes), stream=stream, timeout=timeout)
        assert server.violations == []
        return told


def _read(heard: Heard) -> None:
    streamed = heard.headers["content-type"].startswith("text/event-stream")
    for text in events(heard.raw) if streamed else [heard.raw.decode("utf-8", "replace")]:
        try:
            heard.objects.append(json.loads(text))
        except ValueError:
            return
    for each in heard.objects:
        if isinstance(each, dict):
            _event(heard, each) if "type" in each else _chunk(heard, each)
    heard.whole = heard.whole and heard.error is None and heard.status == 200


def _chunk(heard: Heard, given: dict[str, Any]) -> None:
    """Gemini."""
    heard.usage = given.get("usageMetadata", heard.usage)
    if reason := given.get("promptFeedback", {}).get("blockReason"):
        heard.finish, heard.whole = reason, True
    for candidate in given.get("candidates") or ():
        heard.whole |= "finishReason" in candidate
        heard.finish = candidate.get("finishReason", heard.finish)
        for part in (candidate.get("content") or {}).get("parts") or ():
            heard.blocks += 1
            if part.get("thought"):
                heard.thinking += part["text"]
            else:
                heard.text += part.get("text", "")
            if "thoughtSignature" in part:
                heard.signatures.append(part["thoughtSignature"])
            if "functionCall" in part:
                _call(heard, part["functionCall"], part["functionCall"].get("args"))


def _call(heard: Heard, made: dict[str, Any], arguments: Any) -> None:
    heard.ids.append(made.get("id"))
    heard.names.append(made.get("name"))
    heard.arguments.append(arguments)


def _event(heard: Heard, given: dict[str, Any]) -> None:
    """Anthropic: a message, or one event of a stream."""
    match given["type"]:
        case "message":
            heard.finish, heard.usage = given.get("stop_reason"), given.get("usage")
            heard.whole = isinstance(given.get("content"), list)
            for block in given.get("content") or ():
                _block(heard, block)
        case "message_start":
            heard.usage = given["message"].get("usage")
        case "content_block_start":
            _block(heard, {**given["content_block"], "input": ""})
        case "content_block_delta":
            _delta(heard, given["delta"])
        case "message_delta":
            heard.finish, heard.whole = given["delta"].get("stop_reason"), True
            heard.usage = given.get("usage", heard.usage)


def _block(heard: Heard, block: dict[str, Any]) -> None:
    heard.blocks += 1
    match block["type"]:
        case "text":
            heard.text += block["text"]
        case "thinking":
            heard.thinking += block["thinking"]
            heard.signatures += [block["signature"]] if block["signature"] else []
        case "tool_use":
            _call(heard, block, block.get("input"))


def _delta(heard: Heard, delta: dict[str, Any]) -> None:
    match delta["type"]:
        case "text_delta":
            heard.text += delta["text"]
        case "thinking_delta":
            heard.thinking += delta["thinking"]
        case "signature_delta":
            heard.signatures.append(delta["signature"])
        case "input_json_delta":
            heard.arguments[-1] += delta["partial_json"]


def values(told: Heard) -> list[Any]:
    """The arguments of the calls, of streams that tell them as JSON text too."""
    return [json.loads(each) if isinstance(each, str) and each else each for each in told.arguments]
