"""How an answer goes over the wire: steps of the server, and how it writes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from vancetope.backends.faults.asked import Asked
from vancetope.backends.scripted import Chunking
from vancetope.backends.scripted.replies import SAME_ID
from vancetope.messages import Reply, Usage

JSON = ("content-type", "application/json")
EVENT_STREAM = ("content-type", "text/event-stream; charset=utf-8")

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
    `edit` changes each JSON object before it is sent: the whole answer, or every object of a stream. `done` is the last
    line of OpenAI's streams; where it is empty, the end that other dialects have for it is left out too.
    `empty_block`: a reply of nothing holds one block of empty text, in dialects that have blocks.
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
    empty_block: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """One object of a stream and how many pieces of the reply it tells. `opening`: it comes before the first piece."""

    made: dict[str, Any]
    pieces: int = 0
    opening: bool = False


def event(data: str, wire: Wire, name: str = "") -> bytes:
    """One server-sent event, with a name or without."""
    named = f"event: {name}{wire.newline}" if name else ""
    return f"{wire.before}{named}{wire.prefix}{data}{wire.newline}{wire.newline}".encode()


def provider_id(id: str, asked: Asked, index: int, prefix: str = "call") -> str:
    """The script's own id, or one that is unique on this server where the script left the builders' default."""
    return f"{prefix}_{asked.number}_{index}" if id == SAME_ID else id


def usage_of(reply: Reply, asked: Asked) -> Usage:
    """What the script says of tokens, or else a guess from sizes."""
    if reply.usage != Usage():
        return reply.usage
    said = len(reply.text) + len(reply.thinking) + sum(len(each.name) + len(each.arguments) for each in reply.calls)
    return Usage(max(1, asked.size // 4), max(1, said // 4), thinking_tokens=len(reply.thinking) // 4)
