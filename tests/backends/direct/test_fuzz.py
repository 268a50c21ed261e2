"""Whatever a server says is a reply or a typed error, also through the library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.direct.apis import BOTH, TOOLS, WAYS, Said, ask, asked
from tests.backends.direct.apis import events as said_in_events
from tests.backends.direct.apis import spoken as said_whole
from tests.backends.openai_raw import Answer, serving, stream
from tests.backends.openai_raw import answer as said
from vancetope.backends.direct import Kind, warm
from vancetope.backends.direct.asking import response
from vancetope.backends.direct.client import DIALECTS
from vancetope.backends.direct.dialect import Failure, NoReply, Notes
from vancetope.backends.direct.extras import _LAYERS
from vancetope.backends.direct.passage import written_event
from vancetope.backends.direct.reading import calls_in, parts_in, reply_of
from vancetope.backends.direct.seat import PASSAGE
from vancetope.backends.direct.speech import spoken
from vancetope.backends.direct.splice import Written
from vancetope.errors import ModelError
from vancetope.messages import Reply

NAMES: dict[Kind, list[str]] = {
    "anthropic": [
        *("type", "role", "model", "content", "stop_reason", "usage", "text", "thinking", "signature", "data", "id"),
        *("name", "input", "index", "delta", "content_block", "message", "partial_json", "input_tokens", "error"),
    ],
    "gemini": [
        *("candidates", "content", "parts", "role", "text", "thought", "thoughtSignature", "functionCall", "name"),
        *("args", "id", "finishReason", "usageMetadata", "promptTokenCount", "promptFeedback", "blockReason", "error"),
    ],
}
WORDS = [
    *("", "text", "thinking", "redacted_thinking", "tool_use", "end_turn", "tool_use", "assistant", "STOP", "SAFETY"),
    *("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"),
    *(
        "message_stop",
        "text_delta",
        "input_json_delta",
        "signature_delta",
        "error",
        "ping",
        "c2ln",
        '{"a": 1}',
        "é\ud83d",
    ),
]


def values(kind: Kind) -> st.SearchStrategy[Any]:
    plain = st.one_of(st.none(), st.booleans(), st.integers(-1, 9), st.sampled_from(WORDS), st.floats())
    return st.recursive(
        plain,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES[kind]), inner, max_size=6)
        ),
        max_leaves=25,
    )


def block() -> st.SearchStrategy[Any]:
    """A block of Anthropic's that may be whole."""
    kinds = st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "novelty"])
    others = {name: values("anthropic") for name in ("text", "thinking", "signature", "data", "id", "name", "input")}
    return st.fixed_dictionaries({"type": kinds}, optional=others)


def event(kind: Kind) -> st.SearchStrategy[Any]:
    """An event that may be whole."""
    if kind == "gemini":
        return answer(kind)
    names = [word for word in WORDS if word.startswith(("message_", "content_block_"))]
    deltas = ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "novelty"]
    said = st.text(max_size=5)
    delta = st.fixed_dictionaries(
        {"type": st.sampled_from(deltas)},
        optional={"text": said, "thinking": said, "signature": said, "partial_json": said, "stop_reason": said},
    )
    fields = {"index": st.integers(0, 2), "content_block": block(), "delta": delta, "usage": values(kind)}
    return st.fixed_dictionaries({"type": st.sampled_from(names)}, optional=fields)


def answer(kind: Kind) -> st.SearchStrategy[Any]:
    """A whole answer that may be one."""
    if kind == "anthropic":
        content = st.one_of(values(kind), st.lists(block(), max_size=4))
        return st.fixed_dictionaries(
            {"content": content}, optional={"stop_reason": values(kind), "usage": values(kind)}
        )
    call = st.fixed_dictionaries({}, optional={"name": values(kind), "args": values(kind), "id": values(kind)})
    fields = {"text": values(kind), "thought": values(kind), "thoughtSignature": values(kind), "functionCall": call}
    parts = st.lists(st.fixed_dictionaries({}, optional=fields), max_size=4)
    finish = st.one_of(values(kind), st.sampled_from(["STOP", "SAFETY", "NEW"]))
    first = st.fixed_dictionaries(
        {"content": st.fixed_dictionaries({"parts": parts})}, optional={"finishReason": finish, "index": values(kind)}
    )
    return st.fixed_dictionaries(
        {"candidates": st.lists(first, max_size=2)},
        optional={"usageMetadata": values(kind), "modelVersion": values(kind), "promptFeedback": values(kind)},
    )


class Stage:
    """A passage that says what it was given."""

    def __init__(self, content: bytes, kind: str) -> None:
        self.content, self.kind = content, kind

    async def send(self, made: Any) -> Any:
        from httpx2 import Response

        return Response(200, headers={"content-type": self.kind}, content=self.content)


async def read(kind: Kind, notes: Notes, whole: Mapping[str, Any] | None, events: bytes = b"") -> Reply:
    """What the library and we make of an answer that has been prepared for it."""
    dialect, request = DIALECTS[kind], asked(kind)
    layer = _LAYERS[kind]
    model = layer.models.setdefault(("fuzz", None), layer.make("fuzz", None, layer.provider))
    stage = (
        Stage(events, "text/event-stream") if whole is None else Stage(json.dumps(whole).encode(), "application/json")
    )
    held = PASSAGE.set(stage)
    try:
        said = spoken(Written().plan("fuzz", request.messages).fresh, kind, dialect.system, "fuzz")
        given = await response(model, said, request, dialect, None if whole is not None else lambda piece: None)
    finally:
        PASSAGE.reset(held)
    pieces, parts = parts_in(given)
    calls = calls_in(pieces, parts, dialect, notes)
    dialect.told(pieces, calls, notes)
    return reply_of(pieces, calls, dialect, notes, model="fuzz", characters=100, limit=None, requests=1)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    for kind in DIALECTS:
        asyncio.run(warm(kind))


def check_whole(kind: Kind, data: Any) -> None:
    for streams in (False, True):
        notes = Notes()
        try:
            if streams:
                events = b"".join(map(written_event, DIALECTS[kind].events(data, notes)))
                reply = asyncio.run(read(kind, notes, None, events))
            else:
                reply = asyncio.run(read(kind, notes, DIALECTS[kind].answer(data, notes)))
        except (NoReply, Failure):
            continue
        assert {type(said) for each in reply.calls for said in (each.id, each.name, each.arguments)} <= {str}
        assert notes.calls == len(reply.calls)


def check_stream(kind: Kind, sent: list[Any]) -> None:
    notes, events = Notes(), b""
    try:
        for each in sent:
            events += b"".join(map(written_event, DIALECTS[kind].event("", each, notes)))
    except Failure:
        return
    if notes.complete:
        asyncio.run(read(kind, notes, None, events))


@settings(max_examples=30)
@given(st.one_of(values("anthropic"), answer("anthropic")))
def test_whatever_anthropic_answers_is_read(data: Any) -> None:
    check_whole("anthropic", data)


@settings(max_examples=30)
@given(st.one_of(values("gemini"), answer("gemini")))
def test_whatever_gemini_answers_is_read(data: Any) -> None:
    check_whole("gemini", data)


@settings(max_examples=30)
@given(st.lists(event("anthropic"), max_size=8))
def test_whatever_anthropic_streams_is_read(sent: list[Any]) -> None:
    check_stream("anthropic", [*sent, {"type": "message_stop"}])


@settings(max_examples=30)
@given(st.lists(event("gemini"), max_size=5))
def test_whatever_gemini_streams_is_read(sent: list[Any]) -> None:
    check_stream("gemini", sent)


ODD: list[Any] = [[], {}, None, -1, 1e400, "x" * 5000, True]


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside, and to the whole."""
    yield ()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from ((key, *rest) for rest in places(each))


def put(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """The value with another one in this place."""
    if not place:
        return odd
    changed = copy(value)
    changed[place[0]] = put(value[place[0]], place[1:], odd)
    return changed


PARTS = (
    Said(thinking="hm", signature="c2ln"),
    Said("Hello"),
    Said(name="get_time", arguments={"city": "Paris"}, id="toolu_1"),
)


async def check_answers(kind: Kind, answers: list[Answer], streams: bool) -> None:
    """Each of these answers is a reply or an error of ours; anything else goes through `ask` as it is."""
    await warm(kind)
    on_piece = (lambda piece: None) if streams else None
    async with serving(*answers) as server:
        for _ in answers:
            found = await ask(kind, server, asked(kind, tools=TOOLS), on_piece, attempts=1)
            assert isinstance(found, Reply | ModelError)


@BOTH
@WAYS
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:9])
async def test_anything_may_stand_in_any_place_of_an_answer(kind: Kind, odd: Any, streams: bool) -> None:
    whole = said_whole(kind, *PARTS)
    await check_answers(kind, [said(put(whole, place, odd)) for place in places(whole)], streams)


@BOTH
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:9])
async def test_anything_may_stand_in_any_place_of_an_event(kind: Kind, odd: Any) -> None:
    sent = [json.loads(each.partition("data: ")[2]) for each in said_in_events(kind, *PARTS)]
    answers = []
    for number, one in enumerate(sent):
        for place in places(one):
            changed = [*sent[:number], put(one, place, odd), *sent[number + 1 :]]
            answers.append(stream(*(f"data: {json.dumps(each)}\n\n" for each in changed)))
    await check_answers(kind, answers, True)
