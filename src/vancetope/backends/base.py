"""The seam to a model: one request in, one reply out, deltas on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from vancetope.messages import Assistant, Reply, Result, ToolSpec, User

Thinking: TypeAlias = Literal["off", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How to sample. `None` leaves the provider's default; `thinking` is how hard a model that can do so thinks before
    it answers, `extra` goes into the request body as it is."""

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    thinking: Thinking | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model, provider-neutral.

    `choice` is "auto", or the name of the one tool that must be called. `response_schema` asks the server to constrain
    its text to that JSON Schema; then `tools` is empty. `envelope` is true where the messages ask for a text that is
    the envelope of prompted backends: a hint for those that can do something about it. `timeout` bounds the whole call,
    retries included, in seconds. `on_send` is called whenever this goes out to the server, so that a call which is cut
    short can still be counted.
    """

    model: str
    system: str
    messages: tuple[User | Assistant | Result, ...]
    tools: tuple[ToolSpec, ...] = ()
    choice: str = "auto"
    response_schema: Mapping[str, Any] | None = None
    envelope: bool = False
    settings: ModelSettings = field(default_factory=ModelSettings)
    timeout: float = 300.0
    on_send: Callable[[], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    text: str
    kind: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A piece of the call with this index in the reply. `name` is whole in the first piece and empty afterwards."""

    index: int
    name: str
    arguments: str
    kind: Literal["call"] = "call"


@dataclass(frozen=True, slots=True)
class Restarted:
    """The request is sent again: everything told so far did not count."""

    kind: Literal["restarted"] = "restarted"


Piece: TypeAlias = TextPiece | ThinkingPiece | CallPiece | Restarted
OnPiece: TypeAlias = Callable[[Piece], None]


class Backend(Protocol):
    """A way to reach models.

    Contract: `complete` returns exactly what the model gave, however odd (empty, cut, nameless calls), and raises a
    `ModelError` only where there is no reply at all. Ids of the returned calls are provisional; the turn mints its own.
    Arguments that came as an object are given as its JSON text. With `on_piece` the reply is streamed; the pieces are a
    preview, the returned reply is the answer, and `Restarted` is told before a request is repeated after a piece. The
    request's `on_send` is called before each time it is sent, as often as the reply or the error will count.
    It never runs tools, never edits what the model wrote, never logs or raises a secret, and leaves nothing open when
    it is cancelled.
    """

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply: ...

    async def aclose(self) -> None: ...
