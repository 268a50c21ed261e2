"""However the bytes of a stream are cut, and however the reply is cut into chunks, the reply is the same."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.backends.openai_raw import serving, stream
from tests.backends.test_openai_replies import CHUNK, FRAMINGS, QUIRKS, assert_told
from vancetope.backends.base import Piece, Request
from vancetope.backends.openai import PROFILES, OpenAICompatible
from vancetope.backends.openai.assembly import Assembly, take
from vancetope.backends.openai.failures import Where
from vancetope.backends.openai.reading import reply_in
from vancetope.backends.openai.sse import EventReader, Sent
from vancetope.messages import Reply, User

WHERE = Where(PROFILES["vllm"], "http://127.0.0.1")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
ARGUMENTS = st.dictionaries(TEXT, TEXT | st.integers() | st.none(), max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False)
)


def cuts(data: Sequence[Any], places: list[int]) -> list[Any]:
    """The data in pieces, cut at these places."""
    at = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(at)]


def read(blocks: list[bytes]) -> tuple[Reply, list[Piece]]:
    pieces: list[Piece] = []
    reader, assembly = EventReader(), Assembly(pieces.append)
    for block in blocks:
        for event in reader.feed(block):
            take(event, assembly, WHERE)
    for event in reader.close():
        take(event, assembly, WHERE)
    return reply_in(assembly.body(), PROFILES["vllm"], "m", characters=100, limit=None), pieces


def events(deltas: list[dict[str, Any]], end: str = "\n", finish: str = "stop") -> bytes:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}{end}{end}" for chunk in chunks]
    return "".join([*lines, f"data: [DONE]{end}{end}"]).encode()


@given(st.sampled_from(["\n", "\r\n"]), st.lists(st.integers(0, 10_000), max_size=12), TEXT, TEXT, ARGUMENTS)
def test_bytes_cut_anywhere_give_the_same_reply_and_pieces(
    end: str, places: list[int], text: str, thinking: str, arguments: str
) -> None:
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "reasoning_content": thinking},
        {"content": text},
        {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "clock", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": arguments[:3]}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": arguments[3:]}}]},
    ]
    data = events(deltas, end)
    assert read(cuts(data, places)) == read([data])


@given(st.sampled_from(sorted(FRAMINGS)), st.lists(st.integers(0, 10_000), max_size=12))
def test_every_framing_survives_every_cut(name: str, places: list[int]) -> None:
    data = FRAMINGS[name].removeprefix("\ufeff").encode()
    assert read(cuts(data, places)) == read([data])
    assert read([data])[0].text == "a b"


@given(
    TEXT,
    TEXT,
    st.lists(st.tuples(NAMES, ARGUMENTS), max_size=4),
    st.lists(st.integers(0, 10_000), max_size=8),
    st.randoms(use_true_random=False),
)
def test_a_reply_in_any_chunks_is_the_reply_in_one_piece(
    text: str, thinking: str, calls: list[tuple[str, str]], places: list[int], random: Any
) -> None:
    message = {
        "content": text,
        "reasoning_content": thinking,
        "tool_calls": [
            {"id": f"id{number}", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls)
        ],
    }
    answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
    whole = reply_in(answer, PROFILES["vllm"], "m", characters=100, limit=None)
    deltas: list[dict[str, Any]] = [{"reasoning_content": part} for part in cuts(thinking, places)]
    deltas += [{"content": part} for part in cuts(text, places)]
    heads = [
        {"tool_calls": [{"index": number, "id": f"id{number}", "function": {"name": name}}]}
        for number, (name, _) in enumerate(calls)
    ]
    # The arguments of the calls interleave in any way, each call's own in their order.
    bodies: list[list[dict[str, Any]]] = [
        [{"tool_calls": [{"index": number, "function": {"arguments": part}}]} for part in cuts(arguments, places)]
        for number, (_, arguments) in enumerate(calls)
    ]
    order = [number for number, parts in enumerate(bodies) for _ in parts]
    random.shuffle(order)
    deltas += heads + [bodies[number].pop(0) for number in order]
    reply, pieces = read([events(deltas)])
    assert reply == whole
    assert_told(reply, pieces)


async def test_a_stream_sent_byte_by_byte_over_tcp_is_the_same_reply() -> None:
    for name, deltas, calls in QUIRKS[:4]:
        data = events([{"content": "Größe 🙂"}, *({"tool_calls": listed} for listed in deltas)])
        async with serving(stream(*(data[at : at + 1] for at in range(len(data))))) as server:
            backend = OpenAICompatible(server.url, profile=PROFILES["vllm"])
            pieces: list[Piece] = []
            reply = await backend.complete(Request("m", "", (User("x"),)), pieces.append)
            await backend.aclose()
        assert (reply.text, reply.calls) == ("Größe 🙂", calls), name
        assert_told(reply, pieces)


async def test_pieces_are_told_as_they_come_not_at_the_end() -> None:
    async with serving(stream(CHUNK.replace('"stop"', "null") + "\n\n", 0.2, f"{CHUNK}\n\n")) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"])
        seen: list[float] = []
        await backend.complete(Request("m", "", (User("x"),)), lambda piece: seen.append(time.monotonic()))
        await backend.aclose()
    first, second = seen
    assert second - first > 0.15


def test_an_event_tells_its_name_and_its_lines() -> None:
    reader = EventReader()
    found = reader.feed(b"event: a\ndata: 1\ndata:2\nother: x\n\n\ndata: 3\n\nevent: lost\n\ndata: 4")
    assert found == [Sent("a", ("1", "2")), Sent("", ("3",))]
    assert reader.close() == [Sent("", ("4",))]
    assert reader.close() == []
