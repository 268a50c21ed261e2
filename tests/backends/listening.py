"""What a plain, patient client hears of an answer: JSON or stream, whole or broken."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from vancetope.backends.faults import FaultServer, Given

ENOUGH = 32 * 1024 * 1024  # bytes that no reply needs
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TIME = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MESSAGE = {
    "type": "object",
    "properties": {"message": {"type": "string"}, "awaiting_user_input": {"type": "boolean"}},
    "required": ["message"],
}


def tool(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": f"does {name}", "parameters": schema}}


TOOLS = [tool("get_time", TIME), tool("respond", MESSAGE)]
ACTIONS = {
    "anyOf": [
        {"type": "object", "properties": {"tool": {"const": name}, "arguments": schema}}
        for name, schema in (("get_time", TIME), ("respond", MESSAGE))
    ]
}
CONSTRAINED = {"type": "json_schema", "json_schema": {"name": "action", "schema": ACTIONS}}


def asking(*more: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A request that every server takes; a change to None leaves the key out."""
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What time is it in Paris?"}]
    body = {"model": "m", "messages": [*messages, *more], "tools": TOOLS, **changes}
    return {key: value for key, value in body.items() if value is not None}


def called(*ids: str, name: str = "get_time", arguments: str = '{"city":"Paris"}') -> dict[str, Any]:
    made = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id: str, text: str = "15:42") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


@dataclass
class Heard:
    """One answer as it came. `whole` is false where it broke off or is no reply at all."""

    status: int = 0
    whole: bool = False
    text: str = ""
    thinking: str = ""
    refusal: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    finishes: list[str | None] = field(default_factory=list)
    usage: Any = None
    end_turn: Any = None
    objects: list[Any] = field(default_factory=list)
    raw: bytes = b""
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    broke: Exception | None = None

    @property
    def finish(self) -> str | None:
        return self.finishes[-1] if self.finishes else None

    @property
    def ids(self) -> list[Any]:
        return [call.get("id") for call in self.calls]

    @property
    def names(self) -> list[Any]:
        return [call["function"].get("name") for call in self.calls]

    @property
    def arguments(self) -> list[Any]:
        return [call["function"].get("arguments") for call in self.calls]


def client(timeout: float = 10.0, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    """A client that does not read the machine's certificates anew each time."""
    return httpx.AsyncClient(timeout=timeout, headers=headers, verify=NO_TLS)


async def hear(url: str, body: Any, timeout: float = 10.0, headers: dict[str, str] | None = None) -> Heard:
    """Ask, and read until the answer ends or breaks. `timeout` is how long it may be silent, in seconds."""
    heard, raw = Heard(), bytearray()
    async with client(timeout, headers) as one:
        try:
            async with one.stream("POST", f"{url}/chat/completions", json=body) as answer:
                heard.status, heard.headers = answer.status_code, answer.headers
                async for block in answer.aiter_raw():
                    raw += block
        except httpx.HTTPError as error:
            heard.broke = error
    heard.raw = bytes(raw)
    if heard.broke is None and heard.status == 200 and len(raw) < ENOUGH:
        _read(heard)
    return heard


def events(raw: bytes) -> list[str]:
    """The data of a stream's events."""
    lines = re.split("\r\n|\n|\r", raw.decode("utf-8", "replace"))
    return [line.removeprefix("data:").removeprefix(" ") for line in lines if line.startswith("data:")]


def _read(heard: Heard) -> None:
    if heard.headers["content-type"].startswith("text/event-stream"):
        said = events(heard.raw)
        texts = said[: said.index("[DONE]")] if "[DONE]" in said else said
    else:
        texts, said = [heard.raw.decode("utf-8", "replace")], []
    for text in texts:
        try:
            heard.objects.append(json.loads(text))
        except ValueError:
            return
    for each in heard.objects:
        for choice in each.get("choices") or () if isinstance(each, dict) else ():
            _choice(heard, choice)
            heard.whole |= bool(choice.get("finish_reason")) or "message" in choice or "[DONE]" in said
        if isinstance(each, dict):
            heard.usage = each.get("usage", heard.usage)
            heard.whole &= "error" not in each


def _choice(heard: Heard, choice: dict[str, Any]) -> None:
    part = choice.get("message") or choice.get("delta") or {}
    heard.text += part.get("content") or ""
    heard.thinking += part.get("reasoning_content") or part.get("reasoning") or ""
    heard.refusal += part.get("refusal") or ""
    heard.finishes.append(choice.get("finish_reason"))
    heard.end_turn = choice.get("end_turn", heard.end_turn)
    for piece in part.get("tool_calls", ()):
        index = piece.get("index", len(heard.calls) - ("type" not in piece))
        if index == len(heard.calls):
            heard.calls.append(piece)
        else:
            heard.calls[index]["function"]["arguments"] += piece["function"]["arguments"]


async def heard(answer: Given, *, stream: bool = False, timeout: float = 10.0, **changes: Any) -> Heard:
    """What a client hears when the server gives this one answer."""
    async with FaultServer([answer]) as server:
        told = await hear(server.base_url, asking(stream=stream or None, **changes), timeout)
        assert server.violations == []
        return told


async def until(holds: Callable[[], bool]) -> None:
    """Give others time until this holds; the test's own time limit ends a wait in vain."""
    while not holds():
        await asyncio.sleep(0.002)
