"""`ask` raises for nothing that a server or a model says, however deep, large or odd it is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import pytest
import stamina
from hypothesis import given
from hypothesis import strategies as st

import vancetope as vt
from tests.backends.openai_raw import page, serving
from tests.harness import get_time
from vancetope.backends.base import Request
from vancetope.backends.faults import Fault, FaultServer, body, status
from vancetope.backends.openai import PROFILES, OpenAICompatible
from vancetope.backends.openai.arguments import Arguments
from vancetope.backends.openai.assembly import Assembly, take
from vancetope.backends.openai.failures import Where
from vancetope.backends.openai.sse import Sent
from vancetope.errors import ModelError, ReplyBroken
from vancetope.messages import User

WHERE = Where(PROFILES["vllm"], "http://127.0.0.1")
TEXT = b'{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}],"usage":'
SSE = "text/event-stream"


def streamed(*chunks: Any) -> Fault:
    told = [json.dumps(each) for each in chunks]
    data = "".join(f"data: {each}\n\n" for each in (*told, "[DONE]"))
    return body(data.encode(), content_type=SSE, leaves="reply")


def piece(arguments: str, id: str, index: int | None = 0) -> dict[str, Any]:
    said = {"id": id, "function": {"name": "get_time", "arguments": arguments}}
    return {"choices": [{"delta": {"tool_calls": [said if index is None else {**said, "index": index}]}}]}


def nested(levels: int, opens: str = "[", closes: str = "]", inside: str = "") -> bytes:
    return (opens * levels + inside + closes * levels).encode()


ENDS = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
ODD: dict[str, Fault] = {
    "an infinite count of tokens": body(TEXT + b'{"prompt_tokens":1e999,"completion_tokens":1}}'),
    "an infinite count of tokens, spelt out": body(TEXT + b'{"prompt_tokens":5,"completion_tokens":Infinity}}'),
    "an infinite count of cached tokens": body(
        TEXT + b'{"prompt_tokens":5,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1e999}}}'
    ),
    "an error nested deep": status(400, b'{"error":' + nested(900) + b"}"),
    "an error of errors": status(400, nested(900, '{"error":', "}", "1")),
    "an error nested deep in a good answer": body(b'{"error":' + nested(900) + b"}"),
    "arguments nested deep, then a call of another id": streamed(piece("[" * 20_000, "a"), piece("{}", "b"), ENDS),
    "arguments nested deep, then a call without index": streamed(
        piece("[" * 20_000, "a", None), piece("{}", "b", None), ENDS
    ),
}


@pytest.mark.parametrize("as_stream", [False, True])
@pytest.mark.parametrize("what", ODD)
async def test_a_turn_ends_with_an_outcome_whatever_the_server_says(what: str, as_stream: bool) -> None:
    with stamina.set_testing(True, attempts=2, cap=True):
        async with FaultServer(lambda _: ODD[what]) as server:
            model = OpenAICompatible(server.base_url, None, profile=PROFILES["vllm"], attempts=2)
            listen = (lambda _: None) if as_stream else None
            turn = await vt.ask("Go", model=model, tools=[get_time], turn_end="natural", on_event=listen)
            await model.aclose()
    assert turn.message or turn.reason


def chunked(calls: Iterable[dict[str, Any]]) -> list[Sent]:
    return [Sent("", (json.dumps({"choices": [{"delta": {"tool_calls": [each]}}]}),)) for each in calls]


MANY = 20_000
LABOURS: dict[str, list[dict[str, Any]]] = {
    "many calls": [{"index": at, "id": f"c{at}", "function": {"name": "a", "arguments": "{}"}} for at in range(MANY)],
    "many calls without index": [{"id": f"c{at}", "function": {"name": "a", "arguments": "{}"}} for at in range(MANY)],
    "a name in letters": [{"index": 0, "function": {"name": "abcdefg"[at % 7]}} for at in range(MANY)],
    "other ids in open arguments": [
        {"index": 0, "id": f"c{at}", "function": {"name": "a", "arguments": "x" * 1000 if at else '["'}}
        for at in range(MANY)
    ],
}


@pytest.mark.parametrize("what", LABOURS)
def test_the_work_for_a_stream_grows_with_its_length_alone(what: str) -> None:
    """Twice the length may cost twice the time; what grew with its square took twenty times as long as this allows."""
    chunks = chunked(LABOURS[what])
    assembly = Assembly(lambda _: None)
    began = time.process_time()
    for each in chunks:
        take(each, assembly, WHERE)
    assembly.body()
    assert time.process_time() - began < 2


async def test_blanks_before_a_reply_cost_no_more_than_their_length() -> None:
    async with serving(page(" " * 30_000_000)) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"], attempts=1)
        began = time.process_time()
        with pytest.raises(ReplyBroken):
            await backend.complete(Request("m", "", (User("x"),)))
        assert time.process_time() - began < 2
        await backend.aclose()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.data(),
)
def test_arguments_know_when_they_are_whole_however_they_were_cut(value: Any, data: st.DataObject) -> None:
    text = json.dumps({"a": value}, ensure_ascii=data.draw(st.booleans()))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1))))
    arguments = Arguments()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        arguments.add(text[start:end])
        assert arguments.whole() is (end == len(text))
    assert str(arguments) == text
    arguments.add(" ")
    assert arguments.whole()
    arguments.add("{}")
    assert not arguments.whole()


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("", True),
        ("12", True),
        ("tru", False),
        ('"a\\"', False),
        ('"a\\\\"', True),
        ("{bad}", False),
        ("]", False),
        ("[" * 9999, False),
    ],
)
def test_arguments_that_are_odd_are_whole_only_as_json(text: str, is_whole: bool) -> None:
    arguments = Arguments()
    for char in text:
        arguments.add(char)
    assert arguments.whole() is is_whole


async def test_a_failure_is_told_without_what_would_harm_a_terminal_or_a_file() -> None:
    said = json.dumps({"error": {"message": "no \x1b[2J such \ud83d model"}}).encode()
    async with FaultServer(lambda _: status(400, said)) as server:
        backend = OpenAICompatible(server.base_url, profile=PROFILES["vllm"], attempts=1)
        with pytest.raises(ModelError, match=r"no .*such  ?model") as caught:
            await backend.complete(Request("m", "s", (User("x"),)))
        await backend.aclose()
    assert str(caught.value).isprintable()
