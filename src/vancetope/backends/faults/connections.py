"""Faults of networks: silence, slowness, resets, halves, wrong lengths, too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vancetope.backends.faults.asked import Asked
from vancetope.backends.faults.dialects import dialect_of
from vancetope.backends.faults.fault import (
    Fault,
    Plan,
    error_of,
    halved,
    named,
    raw_answer,
    reset,
    silence,
    slow,
    status,
    steps,
    well,
    work,
)
from vancetope.backends.faults.render import render, whole
from vancetope.backends.faults.wire import EVENT_STREAM, JSON, Close, Data, Head, Raw, Reset, Silence, Step, Wire
from vancetope.backends.scripted import say

HUGE = 33 * 1024 * 1024
BLOCK = b"x" * (64 * 1024)
OVERLOADED = "the model is overloaded, try again later"


def _breaks_with(code: int, message: str) -> Plan:
    """Two events, then an error where the next should be; where no stream is asked for, the error's own status."""

    def plan(asked: Asked, wire: Wire) -> Iterator[Step]:
        if not asked.stream:
            yield from status(code, message=message).plan(asked, wire)
            return
        given = list(render(well(asked), asked, wire))
        before = min(2, sum(isinstance(step, Data) for step in given) - 1)
        yield from given[: before + 1]
        yield Data(dialect_of(asked).framed(error_of(asked, code, message), wire))

    return plan


def _framed(asked: Asked, wire: Wire) -> bytes:
    return whole(well(asked), asked, wire)


def _long_length(asked: Asked, wire: Wire) -> Iterator[Step]:
    data = _framed(asked, wire)
    yield raw_answer(data, len(data) + 100)
    yield Close()


def _short_length(asked: Asked, wire: Wire) -> Iterator[Step]:
    data = _framed(asked, wire)
    yield raw_answer(data, len(data) - 20)
    yield Close()


def _until_close(asked: Asked, wire: Wire) -> Iterator[Step]:
    """Neither length nor chunks: the body ends with the connection, as HTTP/1.0 did it."""
    whole = [step.data for step in render(well(asked), asked, wire) if isinstance(step, Data)]
    kind = EVENT_STREAM[1] if asked.stream else "application/json"
    yield Raw(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode() + b"".join(whole))
    yield Close()


def _huge(asked: Asked, wire: Wire) -> Iterator[Step]:
    """An answer of 33 MiB; streamed, it is 528 deltas of 64 KiB."""
    if asked.stream:
        dialect, block = dialect_of(asked), say(BLOCK.decode())
        yield Head(headers=(EVENT_STREAM,))
        for told in dialect.stream(block, asked, replace(wire, chunking=len(BLOCK))):
            times = HUGE // len(BLOCK) if told.pieces else 1
            sent = dialect.framed(told.made, wire)
            yield from (Data(sent) for _ in range(times))
        yield Data(dialect.end(wire))
        return
    before, after = whole(say("@@@"), asked, wire).split(b"@@@")
    yield Head(length=len(before) + HUGE + len(after))
    yield Data(before)
    yield from (Data(BLOCK) for _ in range(HUGE // len(BLOCK)))
    yield Data(after)


def _huge_line(asked: Asked, _wire: Wire) -> Iterator[Step]:
    """33 MiB without a single line end."""
    yield Head(headers=(EVENT_STREAM,) if asked.stream else (JSON,))
    yield Data(b'data: {"choices":[{"delta":{"content":"')
    yield from (Data(BLOCK) for _ in range(HUGE // len(BLOCK)))


CONNECTIONS = (
    named("silence", "The request is taken and never answered.", silence()),
    named("silence_after_head", "Status and headers come, then nothing.", silence(head=True)),
    named("silence_in_stream", "Three chunks come, then nothing.", halved(events=3, end=Silence()), leaves="nothing"),
    named("slow", "Every chunk comes late, but all of them come.", slow()),
    named("reset_at_once", "The connection is reset before any answer.", reset()),
    named("reset_after_head", "The connection is reset after status and headers.", reset(head=True)),
    named("reset_in_stream", "The connection is reset after three chunks.", halved(events=3, end=Reset())),
    named("closed_at_once", "The connection is closed without an answer.", steps(Close())),
    named("half_stream", "The connection is closed after three chunks.", halved(events=3), "C46"),
    named("half_event", "The connection is closed in the middle of an event.", halved(octets=300)),
    named(
        "half_arguments",
        "The connection is closed inside a call's arguments.",
        halved(work, events=3),
        "C46",
    ),
    Fault(
        "error_in_stream",
        "An error object comes where a chunk should be.",
        _breaks_with(500, "the engine stopped"),
        (),
        "error",
    ),
    Fault(
        "overloaded_in_stream", "The provider is overloaded, in mid-stream.", _breaks_with(529, OVERLOADED), (), "error"
    ),
    Fault("long_content_length", "Less comes than content-length promised.", _long_length, (), "error"),
    Fault("short_content_length", "More comes than content-length promised.", _short_length, (), "error"),
    Fault("until_close", "A body that ends with its connection: old, but right.", _until_close),
    Fault("huge", "33 MiB of answer.", _huge, ("C86",), "either"),
    Fault("huge_line", "33 MiB of answer without a line end.", _huge_line, ("C86",), "error"),
)
