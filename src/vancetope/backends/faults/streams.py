"""Streams as servers really write them: right ones that naive readers misread, and wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vancetope.backends.faults.asked import Asked
from vancetope.backends.faults.dialects import dialect_of
from vancetope.backends.faults.fault import Fault, body, spoken, well
from vancetope.backends.faults.render import render
from vancetope.backends.faults.statuses import bad_utf8, half_json
from vancetope.backends.faults.wire import Data, Step, Wire
from vancetope.backends.scripted import say

SOUND, CUT = "Zürich".encode(), "Zürich".encode("latin-1")


def _well(name: str, about: str, rows: str = "", **wire: Any) -> Fault:
    return spoken(name, about, well, rows, **wire)


def _after_done(asked: Asked, wire: Wire) -> Iterator[Step]:
    yield from render(well(asked), asked, wire)
    if asked.stream:
        yield Data(b": bye\n\n" + dialect_of(asked).late(wire))


def _no_end(asked: Asked, wire: Wire) -> Iterator[Step]:
    """The stream ends in good order after three chunks at most: no finish, no [DONE], no error."""
    if not asked.stream:
        yield from body(b"").plan(asked, wire)
        return
    given = list(render(well(asked), asked, wire))
    yield from given[: min(4, len(given) - 1)]


def _bad_event(asked: Asked, wire: Wire) -> Iterator[Step]:
    """An event of the reply is cut in its middle, as if its end had got lost; all others are whole."""
    if not asked.stream:
        yield from body(half_json).plan(asked, wire)
        return
    events = 0
    for step in render(well(asked), asked, wire):
        events += isinstance(step, Data)
        if isinstance(step, Data) and events == (1 if asked.dialect == "gemini" else 2):
            step = Data(step.data.rstrip()[: len(step.data) // 2] + f"{wire.newline}{wire.newline}".encode())
        yield step


def _bad_utf8(asked: Asked, wire: Wire) -> Iterator[Step]:
    if not asked.stream:
        yield from body(bad_utf8).plan(asked, wire)
        return
    for step in render(say("Zürich"), asked, wire):
        yield Data(step.data.replace(SOUND, CUT)) if isinstance(step, Data) else step


STREAMS = (
    _well("no_done", "A whole stream without its last line.", done=""),
    Fault("no_end", "A stream that ends in good order, but without finish and last line.", _no_end, ("C46",), "error"),
    Fault("after_done", "Something more comes after the last line.", _after_done),
    Fault("bad_event", "An event in the stream is no JSON.", _bad_event, (), "error"),
    Fault("bad_utf8", "A byte in the stream is not UTF-8.", _bad_utf8, (), "either"),
    _well("split_utf8", "Every byte comes alone, so characters and lines are split.", "C99", packet=1),
    _well("odd_packets", "Writes of seven bytes, across lines and events.", "C99", packet=7),
    _well("token_per_character", "One delta a character.", "C99", chunking=1),
    _well("one_delta", "The whole reply in one delta.", "C99", chunking=1_000_000),
    _well("comments", "Keep-alive comments between the events.", before=": still here\n\n"),
    _well("event_names", "Every event has a name, an id, a retry time.", before="event: message\nid: 7\nretry: 10\n"),
    _well("crlf", "Lines end with CR and LF.", newline="\r\n"),
    _well("crlf_split", "Lines end with CR and LF, which come in separate writes.", newline="\r\n", packet=1),
    _well("cr", "Lines end with CR alone, as the standard allows.", newline="\r"),
    _well("no_space", "No space behind the colon, as the standard allows.", prefix="data:"),
    _well("json_instead_of_stream", "A stream was asked for, JSON comes.", streams=False),
    _well("stream_instead_of_json", "JSON was asked for, a stream comes.", streams=True, leaves="either"),
)
