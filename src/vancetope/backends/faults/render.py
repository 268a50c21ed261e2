"""A reply as the steps of the server, in the dialect of the request."""

from __future__ import annotations

from collections.abc import Iterator

from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.faults.dialects import dialect_of
from vancetope.backends.faults.wire import EVENT_STREAM, Data, Head, Pause, Step, Wait, Wire
from vancetope.backends.scripted import Staged, as_action, as_envelope, pieces_of
from vancetope.backends.scripted.replies import reply_of
from vancetope.errors import ConfigError
from vancetope.messages import Reply


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
    body = whole(reply, asked, wire)
    yield Head(length=len(body))
    yield Data(body)


def whole(reply: Reply, asked: Asked, wire: Wire) -> bytes:
    """The reply as one JSON text."""
    return dumped(wire.edit(dialect_of(asked).whole(reply, asked, wire))).encode()


def _in_form(reply: Reply, asked: Asked) -> Reply:
    if asked.schema is not None:
        return as_action(reply)
    return as_envelope(reply) if asked.envelope else reply


def _streamed(reply: Reply, asked: Asked, wire: Wire, staged: Staged) -> Iterator[Step]:
    yield Head(headers=(EVENT_STREAM, ("cache-control", "no-cache")))
    dialect, sent = dialect_of(asked), 0
    gate, last = staged.gate, sum(1 for _ in pieces_of(reply, wire.chunking))
    for told in dialect.stream(reply, asked, wire):
        if gate is not None and not told.opening and sent >= min(staged.gate_after, last):
            yield Wait(gate)
            gate = None
        if wire.delay:
            yield Pause(wire.delay)
        yield from _packets(dialect.framed(wire.edit(told.made), wire), wire.packet)
        sent += told.pieces
    yield from _packets(dialect.end(wire), wire.packet)


def _packets(data: bytes, size: int | None) -> Iterator[Data]:
    step = size or len(data) or 1
    yield from (Data(data[start : start + step]) for start in range(0, len(data), step))
