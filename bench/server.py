"""A server with OpenAI's chat completions that answers at once: what a turn takes against it is the client's own time.
Beside them it has Anthropic's messages and Gemini's content, for conversations without `get_time`.

The first request of a conversation gets a call of `get_time`. Once its result is the last message, the answer comes: as
a call of `respond` where that tool is offered, as text elsewhere. Streams have the same number of chunks either way.

An inquiry of `bench.structured` is answered by its object: in a call of the first tool where tools are offered, as text
elsewhere. `GET /v1/sent` tells how many bytes the last request had.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bench import dialects
from bench.dialects import cut
from bench.structured import INQUIRIES

ANSWER = "It is 15:42 in Paris, the sky is clear."
ANSWERS = {each.question: each.answer for each in INQUIRIES.values()}
USAGE = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}

sent = 0


def message_for(body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The assistant's message and its finish."""
    offered = [tool["function"]["name"] for tool in body.get("tools") or ()]
    if (answer := ANSWERS.get(body["messages"][-1]["content"])) is not None:
        if offered:
            return _calls(offered[0], answer), "tool_calls"
        return {"role": "assistant", "content": json.dumps(answer)}, "stop"
    if "get_time" in offered and body["messages"][-1]["role"] != "tool":
        return _calls("get_time", {"city": "Paris"}), "tool_calls"
    return answer_for(offered)


def answer_for(offered: list[str]) -> tuple[dict[str, Any], str]:
    """The message that answers, and its finish."""
    if "respond" in offered:
        return _calls("respond", {"message": ANSWER}), "tool_calls"
    return {"role": "assistant", "content": ANSWER}, "stop"


def chunks_of(message: dict[str, Any], finish: str) -> Iterator[dict[str, Any]]:
    """The deltas that add up to the message, and what ends them."""
    if calls := message.get("tool_calls"):
        function = calls[0]["function"]
        named = {**calls[0], "index": 0, "function": {"name": function["name"], "arguments": ""}}
        yield _choice({"role": "assistant", "content": None, "tool_calls": [named]})
        for piece in cut(function["arguments"]):
            yield _choice({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    else:
        yield _choice({"role": "assistant", "content": ""})
        for piece in cut(message["content"]):
            yield _choice({"content": piece})
    yield _choice({}, finish)
    yield {"choices": [], "usage": USAGE}


async def complete(request: Request) -> Response:
    global sent
    content = await request.body()
    sent, body = len(content), json.loads(content)
    message, finish = message_for(body)
    base = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
    if body.get("stream"):
        return StreamingResponse(_events(base, message, finish), media_type="text/event-stream")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    answer = {**base, "object": "chat.completion", "choices": [choice], "usage": USAGE}
    return Response(json.dumps(answer), media_type="application/json")


async def complete_anthropic(request: Request) -> Response:
    body = json.loads(await request.body())
    message, _ = answer_for(dialects.anthropic_offered(body))
    if body.get("stream"):
        return _stream(dialects.anthropic_events(message, body["model"]))
    return Response(json.dumps(dialects.anthropic_message(message, body["model"])), media_type="application/json")


async def complete_gemini(request: Request) -> Response:
    body = json.loads(await request.body())
    model, _, method = request.path_params["call"].partition(":")
    message, _ = answer_for(dialects.gemini_offered(body))
    if method == "streamGenerateContent":
        return _stream(dialects.gemini_events(message, model))
    return Response(json.dumps(dialects.gemini_content(message, model)), media_type="application/json")


def _stream(events: Iterator[str]) -> Response:
    async def told() -> AsyncIterator[str]:
        for event in events:
            yield event

    return StreamingResponse(told(), media_type="text/event-stream")


async def tell_sent(request: Request) -> Response:  # noqa: ARG001
    return Response(str(sent))


async def _events(base: dict[str, Any], message: dict[str, Any], finish: str) -> AsyncIterator[str]:
    for chunk in chunks_of(message, finish):
        yield f"data: {json.dumps({**base, 'object': 'chat.completion.chunk', **chunk})}\n\n"
    yield "data: [DONE]\n\n"


def _calls(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


async def main() -> None:
    """Serve on a free port of loopback and print it. It ends when its parent closes stdin."""
    routes = [
        Route("/v1/chat/completions", complete, methods=["POST"]),
        Route("/v1/messages", complete_anthropic, methods=["POST"]),
        Route("/v1beta/models/{call}", complete_gemini, methods=["POST"]),
        Route("/v1/sent", tell_sent),
    ]
    app = Starlette(routes=routes)
    # Only with the protocol named does asyncio turn Nagle's algorithm off, and without that a reply in two writes waits
    # 40 ms for an acknowledgement.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", lifespan="off", access_log=False, timeout_keep_alive=600)
    print(listening.getsockname()[1], flush=True)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listening]))
    await asyncio.to_thread(input_ends)
    server.should_exit = True
    server.force_exit = True
    await serving


def input_ends() -> None:
    sys.stdin.buffer.read()


if __name__ == "__main__":
    asyncio.run(main())
