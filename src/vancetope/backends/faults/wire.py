"""How an answer looks on the wire: steps of the server, and a reply rendered as them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from vancetope.backends.base import CallPiece, TextPiece, ThinkingPiece
from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.scripted import Chunking, Staged, as_action, as_envelope, pieces_of
from vancetope.backends.scripted.replies import SAME_ID, reply_of
from vancetope.errors import ConfigError
from vancetope.messages import Finish, Reply, Usage

JSON = ("content-type", "application/json")
EVENT_STREAM = ("content-type", "text/event-stream; charset=utf-8")
CREATED = 1_760_000_000

# Steps. A plan that runs out of steps ends its body properly; after `Raw`, `Reset` and `Close` the connection is gone.


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers. Without `length` the body is chunked."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (JSON,)
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """A piece of the body, written and flushed."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes that go out as they are, whatever HTTP says."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Until the event is set."""

    gate: asyncio.Event


@dataclass(frozen=True, slots=True)
class Silence:
    """Until the client leaves or the server is closed."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection breaks, as if the machine had gone."""


@dataclass(frozen=True, slots=True)
class Close:
    """The connection is closed, though the answer is not complete."""


Step: TypeAlias = Head | Data | Raw | Pause | Wait | Silence | Reset | Close
Edit: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


def unchanged(given: dict[str, Any]) -> dict[str, Any]:
    return given


@dataclass(frozen=True, slots=True)
class Wire:
    """How a server writes its answers.

    `chunking` splits texts into deltas, `packet` the stream into writes of so many bytes (None: one write an event).
    `edit` changes each JSON object before it is sent: the whole completion, or every chunk of a stream.
    `follow_form`: a reply of one call becomes an action text where the request asks for a JSON schema.
    """

    chunking: Chunking = 8
    packet: int | None = None
    delay: float = 0.0
    edit: Edit = unchanged
    newline: str = "\n"
    prefix: str = "data: "
    before: str = ""
    done: str = "[DONE]"
    usage: bool = True
    call_index: bool = True
    streams: bool | None = None
    follow_form: bool = True


def render(answer: Reply | str | Staged, asked: Asked, wire: Wire) -> Iterator[Step]:
    """The steps of a well-formed answer, as JSON or as a stream, whichever was asked for."""
    staged = answer if isinstance(answer, Staged) else Staged(reply_of(answer))
    if staged.restart_after is not None or staged.error is not None:
        raise ConfigError("a server cannot restart a reply or raise an error: use a fault kind instead")
    reply = _in_form(staged.reply, asked) if wire.follow_form else staged.reply
    if asked.stream if wire.streams is None else wire.streams:
        yield from _streamed(reply, asked, wire, staged)
        return
    if staged.gate is not None:
        yield Wait(staged.gate)
    if wire.delay:
        yield Pause(wire.delay)
    body = dumped(wire.edit(completion(reply, asked, wire))).encode()
    yield Head(length=len(body))
    yield Data(body)


def _in_form(reply: Reply, asked: Asked) -> Reply:
    if asked.schema is not None:
        return as_action(reply)
    return as_envelope(reply) if asked.envelope else reply


def completion(reply: Reply, asked: Asked, wire: Wire) -> dict[str, Any]:
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
                "id": _provider_id(each.id, asked, index),
                "type": "function",
                "function": {"name": each.name, "arguments": each.arguments},
            }
            for index, each in enumerate(reply.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), **_end_turn(reply)}
    whole = {**_frame(asked, "chat.completion"), "choices": [choice]}
    return {**whole, "usage": _usage(reply, asked)} if wire.usage else whole


def chunks(reply: Reply, asked: Asked, wire: Wire) -> Iterator[dict[str, Any]]:
    """The reply as `chat.completion.chunk` objects; the one after the finish carries usage if the request wants it."""
    frame = _frame(asked, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **extra: Any) -> dict[str, Any]:
        return {**frame, "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish, **extra}]}

    yield chunk({"role": "assistant", "content": ""})
    begun: set[int] = set()
    text_key = "refusal" if reply.finish is Finish.REFUSAL else "content"
    for piece in pieces_of(reply, wire.chunking):
        match piece:
            case ThinkingPiece(text=text):
                yield chunk({"reasoning_content": text})
            case TextPiece(text=text):
                yield chunk({text_key: text})
            case CallPiece(index=index, name=name, arguments=arguments):
                part: dict[str, Any] = {"index": index} if wire.call_index else {}
                if index not in begun:
                    begun.add(index)
                    part |= {"id": _provider_id(reply.calls[index].id, asked, index), "type": "function"}
                    part["function"] = {"name": name, "arguments": arguments}
                else:
                    part["function"] = {"arguments": arguments}
                yield chunk({"tool_calls": [part]})
    yield chunk({}, _finish(reply), **_end_turn(reply))
    options = asked.body.get("stream_options")
    if wire.usage and isinstance(options, dict) and options.get("include_usage"):
        yield {**frame, "choices": [], "usage": _usage(reply, asked)}


def event(data: str, wire: Wire) -> bytes:
    """One server-sent event."""
    return f"{wire.before}{wire.prefix}{data}{wire.newline}{wire.newline}".encode()


def _streamed(reply: Reply, asked: Asked, wire: Wire, staged: Staged) -> Iterator[Step]:
    yield Head(headers=(EVENT_STREAM, ("cache-control", "no-cache")))
    sent = -1  # the opening chunk tells no piece
    last = sum(1 for _ in pieces_of(reply, wire.chunking))
    for chunk in chunks(reply, asked, wire):
        if staged.gate is not None and sent == min(staged.gate_after, last):
            yield Wait(staged.gate)
        if wire.delay:
            yield Pause(wire.delay)
        yield from _packets(event(dumped(wire.edit(chunk)), wire), wire.packet)
        sent += 1
    if wire.done:
        yield from _packets(event(wire.done, wire), wire.packet)


def _packets(data: bytes, size: int | None) -> Iterator[Data]:
    step = size or len(data)
    yield from (Data(data[start : start + step]) for start in range(0, len(data), step))


def _frame(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{asked.number}", "object": kind, "created": CREATED, "model": asked.model}


def _end_turn(reply: Reply) -> dict[str, Any]:
    return {} if reply.end_turn is None else {"end_turn": reply.end_turn}


def _provider_id(id: str, asked: Asked, index: int) -> str:
    """The script's own id, or one that is unique on this server where the script left the builders' default."""
    return f"call_{asked.number}_{index}" if id == SAME_ID else id


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
    usage = reply.usage
    if usage == Usage():
        said = len(reply.text) + len(reply.thinking) + sum(len(each.name) + len(each.arguments) for each in reply.calls)
        usage = Usage(max(1, asked.size // 4), max(1, said // 4), thinking_tokens=len(reply.thinking) // 4)
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
    }
