"""Faults of networks: silence, slowness, resets, halves, wrong lengths, too much."""

from __future__ import annotations

from collections.abc import Iterator

from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.faults.fault import (
    Fault,
    error_object,
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
from vancetope.backends.faults.wire import (
    EVENT_STREAM,
    JSON,
    Close,
    Data,
    Head,
    Raw,
    Reset,
    Silence,
    Step,
    Wire,
    completion,
    event,
    render,
)
from vancetope.backends.scripted import say

HUGE = 33 * 1024 * 1024
BLOCK = b"x" * (64 * 1024)


def _error_in_stream(asked: Asked, wire: Wire) -> Iterator[Step]:
    """Two chunks, then an error object where a chunk should be."""
    error = dumped(error_object("the engine stopped", "server_error", code=500))
    if not asked.stream:
        yield from status(500).plan(asked, wire)
        return
    sent = 0
    for step in render(well(asked), asked, wire):
        if isinstance(step, Data) and sent == 2:
            yield Data(event(error, wire))
            return
        sent += isinstance(step, Data)
        yield step


def _framed(asked: Asked, wire: Wire) -> bytes:
    return dumped(completion(well(asked), asked, wire)).encode()


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
        frame = {"id": "huge", "object": "chat.completion.chunk", "model": asked.model}
        chunk = {**frame, "choices": [{"index": 0, "delta": {"content": BLOCK.decode()}, "finish_reason": None}]}
        yield Head(headers=(EVENT_STREAM,))
        yield from (Data(event(dumped(chunk), wire)) for _ in range(HUGE // len(BLOCK)))
        yield Data(event(wire.done, wire))
        return
    before, after = dumped(completion(say("@"), asked, wire)).encode().split(b"@")
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
    Fault("error_in_stream", "An error object comes where a chunk should be.", _error_in_stream, (), "error"),
    Fault("long_content_length", "Less comes than content-length promised.", _long_length, (), "error"),
    Fault("short_content_length", "More comes than content-length promised.", _short_length, (), "error"),
    Fault("until_close", "A body that ends with its connection: old, but right.", _until_close),
    Fault("huge", "33 MiB of answer.", _huge, ("C86",), "either"),
    Fault("huge_line", "33 MiB of answer without a line end.", _huge_line, ("C86",), "error"),
)
