"""One request and its answer behind a conversation, over each provider's wire format: through httpx alone, through the
provider's own library, through our backend alone, and as a whole turn of ours.

Each function below gets the server's root URL, the conversation and whether the reply is to be streamed, and gives a
coroutine function that asks once and returns the answer. Imports are inside: a contestant's process loads only its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.contestants import QUESTION

Ask: TypeAlias = Callable[[], Awaitable[str]]
Past: TypeAlias = Sequence[dict[str, str]]
Contestant: TypeAlias = Callable[[str, Past, bool], Ask]

MODELS = {"openai": "bench", "anthropic": "claude-sonnet-5", "gemini": "gemini-3.8-flash"}
LIMIT = 1024  # tokens of output, where a format demands a limit
KEY = "bench-key"


@dataclass(frozen=True, slots=True)
class Wire:
    """A request in one format: its path, with and without a stream, its headers, its body, and the text in a whole
    reply and in one event of a stream."""

    path: str
    stream_path: str
    headers: dict[str, str]
    body: Callable[[Past, bool], dict[str, Any]]
    text: Callable[[Any], str]
    piece: Callable[[Any], str]


def raw(wire: str) -> Contestant:
    """httpx and json, nothing else: what nobody can do without."""

    def made(root: str, past: Past, streamed: bool) -> Ask:
        import httpx

        client, known = httpx.AsyncClient(timeout=60), WIRES[wire]
        url = root + (known.stream_path if streamed else known.path)

        async def whole() -> str:
            response = await client.post(url, json=known.body(past, False), headers=known.headers)
            response.raise_for_status()
            return known.text(json.loads(response.content))

        async def in_pieces() -> str:
            said = ""
            async with client.stream("POST", url, json=known.body(past, True), headers=known.headers) as response:
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if line.startswith("data: ") and line != "data: [DONE]":
                        said += known.piece(json.loads(line[6:]))
            return said

        return in_pieces if streamed else whole

    return made


def openai_library(root: str, past: Past, streamed: bool) -> Ask:
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(api_key=KEY, base_url=f"{root}/v1")

    async def whole() -> str:
        reply = await client.chat.completions.create(model=MODELS["openai"], messages=_said(past))
        return str(reply.choices[0].message.content)

    async def in_pieces() -> str:
        said = ""
        async for chunk in await client.chat.completions.create(
            model=MODELS["openai"], messages=_said(past), stream=True, stream_options={"include_usage": True}
        ):
            for choice in chunk.choices:
                said += choice.delta.content or ""
        return said

    return in_pieces if streamed else whole


def anthropic_library(root: str, past: Past, streamed: bool) -> Ask:
    from anthropic import AsyncAnthropic

    client: Any = AsyncAnthropic(api_key=KEY, base_url=root)
    asked = {"model": MODELS["anthropic"], "max_tokens": LIMIT}

    async def whole() -> str:
        reply = await client.messages.create(**asked, messages=_said(past))
        return str(reply.content[0].text)

    async def in_pieces() -> str:
        said = ""
        async for chunk in await client.messages.create(**asked, messages=_said(past), stream=True):
            if chunk.type == "content_block_delta":
                said += chunk.delta.text
        return said

    return in_pieces if streamed else whole


def gemini_library(root: str, past: Past, streamed: bool) -> Ask:
    from google.genai import Client

    client: Any = Client(api_key=KEY, http_options={"base_url": root})  # closes its connections when it is gone

    async def whole() -> str:
        reply = await client.aio.models.generate_content(model=MODELS["gemini"], contents=_contents(past))
        return str(reply.text)

    async def in_pieces() -> str:
        said = ""
        stream = client.aio.models.generate_content_stream(model=MODELS["gemini"], contents=_contents(past))
        async for chunk in await stream:
            said += chunk.text or ""
        return said

    return in_pieces if streamed else whole


def backend(wire: str) -> Contestant:
    """Our backend alone, from the conversation to the reply."""

    def made(root: str, past: Past, streamed: bool) -> Ask:
        from vancetope.backends.base import Piece, Request, TextPiece
        from vancetope.messages import Assistant, User

        known = [User(each["content"]) if each["role"] == "user" else Assistant(each["content"]) for each in past]
        ours = _backend(wire, root)

        async def ask() -> str:
            shown: list[str] = []

            def show(piece: Piece) -> None:
                assert isinstance(piece, TextPiece)
                shown.append(piece.text)

            reply = await ours.complete(Request(MODELS[wire], "", (*known, User(QUESTION))), show if streamed else None)
            assert not streamed or (len(shown) > 1 and "".join(shown) == reply.text)
            return str(reply.text)

        return ask

    return made


def turn(wire: str) -> Contestant:
    """A whole turn of ours."""

    def made(root: str, past: Past, streamed: bool) -> Ask:
        import vancetope
        from vancetope.messages import Accepted

        _environment(wire, root)
        history = vancetope.History(
            tuple(
                vancetope.User(each["content"]) if each["role"] == "user" else Accepted(each["content"], True)
                for each in past
            )
        )
        model = f"{wire}:{MODELS[wire]}"

        async def whole() -> str:
            ended = await vancetope.ask(QUESTION, model=model, history=history)
            assert (ended.outcome, ended.model_calls) == ("respond", 1), ended
            return ended.unwrap()

        async def in_pieces() -> str:
            shown, said = "", ""
            async for event in vancetope.stream(QUESTION, model=model, history=history):
                if event.type == "message_delta":
                    shown += event.text
                elif event.type == "message_committed":
                    said = event.text
            assert shown == said
            return said

        return in_pieces if streamed else whole

    return made


def _said(past: Past) -> list[dict[str, str]]:
    return [*past, {"role": "user", "content": QUESTION}]


def _contents(past: Past) -> list[dict[str, Any]]:
    roles = {"user": "user", "assistant": "model"}
    return [{"role": roles[each["role"]], "parts": [{"text": each["content"]}]} for each in _said(past)]


def _openai_body(past: Past, streamed: bool) -> dict[str, Any]:
    options = {"stream": True, "stream_options": {"include_usage": True}} if streamed else {}
    return {"model": MODELS["openai"], "messages": _said(past), **options}


def _anthropic_body(past: Past, streamed: bool) -> dict[str, Any]:
    return {"model": MODELS["anthropic"], "max_tokens": LIMIT, "messages": _said(past), "stream": streamed}


def _gemini_body(past: Past, streamed: bool) -> dict[str, Any]:  # noqa: ARG001
    return {"contents": _contents(past)}


def _gemini_text(data: Any) -> str:
    return "".join(part["text"] for part in data["candidates"][0]["content"]["parts"])


def _backend(wire: str, root: str) -> Any:
    if wire == "openai":
        from vancetope.backends.openai import PROFILES, OpenAICompatible

        return OpenAICompatible(f"{root}/v1", KEY, profile=PROFILES["openai"])
    from vancetope.backends.direct import connect

    return connect("anthropic" if wire == "anthropic" else "gemini", root, KEY)


def _environment(wire: str, root: str) -> None:
    name = wire.upper()
    os.environ.update({f"{name}_API_KEY": KEY, f"{name}_BASE_URL": f"{root}/v1" if wire == "openai" else root})


WIRES = {
    "openai": Wire(
        path="/v1/chat/completions",
        stream_path="/v1/chat/completions",
        headers={"authorization": f"Bearer {KEY}"},
        body=_openai_body,
        text=lambda data: str(data["choices"][0]["message"]["content"]),
        piece=lambda data: "".join(choice["delta"].get("content") or "" for choice in data["choices"]),
    ),
    "anthropic": Wire(
        path="/v1/messages",
        stream_path="/v1/messages",
        headers={"x-api-key": KEY, "anthropic-version": "2023-06-01"},
        body=_anthropic_body,
        text=lambda data: str(data["content"][0]["text"]),
        piece=lambda data: str(data["delta"]["text"]) if data["type"] == "content_block_delta" else "",
    ),
    "gemini": Wire(
        path=f"/v1beta/models/{MODELS['gemini']}:generateContent",
        stream_path=f"/v1beta/models/{MODELS['gemini']}:streamGenerateContent?alt=sse",
        headers={"x-goog-api-key": KEY},
        body=_gemini_body,
        text=_gemini_text,
        piece=_gemini_text,
    ),
}
LIBRARIES: dict[str, tuple[str, Contestant]] = {
    "openai": ("openai", openai_library),
    "anthropic": ("anthropic", anthropic_library),
    "gemini": ("google-genai", gemini_library),
}


def contestants(wire: str) -> dict[str, Contestant]:
    """Who speaks this format, the base first."""
    library, made = LIBRARIES[wire]
    return {"raw httpx": raw(wire), library: made, "vancetope, backend": backend(wire), "vancetope, turn": turn(wire)}
