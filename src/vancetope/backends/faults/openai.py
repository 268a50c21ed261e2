"""OpenAI's chat format: a reply as a completion or as chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from vancetope.backends.base import CallPiece, TextPiece, ThinkingPiece
from vancetope.backends.faults.asked import Asked, DialectName, dumped
from vancetope.backends.faults.wire import Told, Wire, event, provider_id, usage_of
from vancetope.backends.scripted import pieces_of
from vancetope.messages import Finish, Reply

NAME: Final[DialectName] = "openai"
CREATED = 1_760_000_000
PATH = "/chat/completions"


def reads(path: str) -> bool:
    """Whether a request to this path is in this dialect."""
    return path.endswith(PATH)


def form(body: Mapping[str, Any], _path: str) -> Mapping[str, Any]:
    """The request in OpenAI's chat format: itself."""
    return body


def framed(made: Mapping[str, Any], wire: Wire) -> bytes:
    """One object of a stream as its event."""
    return event(dumped(made), wire)


def end(wire: Wire) -> bytes:
    """What ends a stream."""
    return event(wire.done, wire) if wire.done else b""


def late(wire: Wire) -> bytes:
    """A chunk that comes behind the end."""
    return event('{"choices":[{"index":0,"delta":{"content":"late"}}]}', wire)


def error(code: int, message: str, _retry_after: float | None = None) -> dict[str, Any]:
    """An error as most providers of this format write it."""
    kind = {400: "invalid_request_error", 401: "invalid_request_error", 429: "requests", 500: "server_error"}
    return {"error": {"message": message, "type": kind.get(code, "scripted_error"), "code": None}}


def models(names: tuple[str, ...]) -> dict[str, Any]:
    """The list of models."""
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in names]
    return {"object": "list", "data": listed}


def whole(reply: Reply, asked: Asked, wire: Wire) -> dict[str, Any]:
    """The reply as one `chat.completion` object."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.finish is Finish.REFUSAL and reply.text:
        message |= {"content": None, "refusal": reply.text}
    elif reply.text == "" and not reply.calls:
        message["content"] = ""
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": provider_id(each.id, asked, index),
                "type": "function",
                "function": {"name": each.name, "arguments": each.arguments},
            }
            for index, each in enumerate(reply.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), **_end_turn(reply)}
    whole = {**_frame(asked, "chat.completion"), "choices": [choice]}
    return {**whole, "usage": _usage(reply, asked)} if wire.usage else whole


def stream(reply: Reply, asked: Asked, wire: Wire) -> Iterator[Told]:
    """The reply as `chat.completion.chunk` objects; the one after the finish carries usage if the request wants it."""
    frame = _frame(asked, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **extra: Any) -> dict[str, Any]:
        return {**frame, "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish, **extra}]}

    yield Told(chunk({"role": "assistant", "content": ""}), opening=True)
    begun: set[int] = set()
    text_key = "refusal" if reply.finish is Finish.REFUSAL else "content"
    for piece in pieces_of(reply, wire.chunking):
        match piece:
            case ThinkingPiece(text=text):
                yield Told(chunk({"reasoning_content": text}), 1)
            case TextPiece(text=text):
                yield Told(chunk({text_key: text}), 1)
            case CallPiece(index=index, name=name, arguments=arguments):
                part: dict[str, Any] = {"index": index} if wire.call_index else {}
                if index not in begun:
                    begun.add(index)
                    part |= {"id": provider_id(reply.calls[index].id, asked, index), "type": "function"}
                    part["function"] = {"name": name, "arguments": arguments}
                else:
                    part["function"] = {"arguments": arguments}
                yield Told(chunk({"tool_calls": [part]}), 1)
    yield Told(chunk({}, _finish(reply), **_end_turn(reply)))
    options = asked.body.get("stream_options")
    if wire.usage and isinstance(options, dict) and options.get("include_usage"):
        yield Told({**frame, "choices": [], "usage": _usage(reply, asked)})


def _frame(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{asked.number}", "object": kind, "created": CREATED, "model": asked.model}


def _end_turn(reply: Reply) -> dict[str, Any]:
    return {} if reply.end_turn is None else {"end_turn": reply.end_turn}


def _finish(reply: Reply) -> str | None:
    match reply.finish:
        case Finish.UNKNOWN:
            return None
        case Finish.MALFORMED_CALL:
            return "MALFORMED_FUNCTION_CALL"
        case Finish.REFUSAL:
            return "stop" if reply.text else "refusal"
        case known:
            return known.value


def _usage(reply: Reply, asked: Asked) -> dict[str, Any]:
    usage = usage_of(reply, asked)
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
    }
