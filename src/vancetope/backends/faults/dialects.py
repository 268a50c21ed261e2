"""The dialects of the server: what each makes of requests, replies and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from vancetope.backends.faults import anthropic, gemini, openai
from vancetope.backends.faults.asked import Asked, DialectName
from vancetope.backends.faults.wire import Told, Wire
from vancetope.messages import Reply


class Dialect(Protocol):
    """How one provider's API is spoken: a module.

    Contract: `reads` knows its paths, `form` reads a request (body, path) as a chat in OpenAI's format. `whole` and
    `stream` are a reply as one object and as the objects of a stream, `framed` is such an object on the wire, `end`
    what ends a stream, `late` what may come behind that. `error` is an error object of a status, a sentence, and the
    seconds to wait; `models` the list of models.
    """

    @property
    def NAME(self) -> DialectName: ...

    def reads(self, path: str, /) -> bool: ...

    def form(self, body: Mapping[str, Any], path: str, /) -> Mapping[str, Any]: ...

    def whole(self, reply: Reply, asked: Asked, wire: Wire, /) -> dict[str, Any]: ...

    def stream(self, reply: Reply, asked: Asked, wire: Wire, /) -> Iterator[Told]: ...

    def framed(self, made: Mapping[str, Any], wire: Wire, /) -> bytes: ...

    def end(self, wire: Wire, /) -> bytes: ...

    def late(self, wire: Wire, /) -> bytes: ...

    def error(self, code: int, message: str, retry_after: float | None, /) -> dict[str, Any]: ...

    def models(self, names: tuple[str, ...], /) -> dict[str, Any]: ...


DIALECTS: Mapping[DialectName, Dialect] = {each.NAME: each for each in (openai, anthropic, gemini)}


def dialect_of(asked: Asked) -> Dialect:
    """The dialect in which this was asked."""
    return DIALECTS[asked.dialect]


def dialect_at(path: str) -> Dialect | None:
    """The dialect that is spoken at this path."""
    return next((each for each in DIALECTS.values() if each.reads(path)), None)
