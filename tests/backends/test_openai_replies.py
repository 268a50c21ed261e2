"""Every odd reply that a server was seen to give is read whole: streamed and not, it is the same reply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
import stamina

from tests.backends.openai_raw import DONE, STREAM, USAGE, answer, chunked, delta, event, page, said, serving, stream
from vancetope.backends.base import CallPiece, ModelSettings, Piece, Request, TextPiece, ThinkingPiece
from vancetope.backends.openai import PROFILES, OpenAICompatible, course
from vancetope.backends.openai.reading import calls_in, finish_in, text_in, usage_in
from vancetope.errors import ReplyBroken
from vancetope.messages import Call, Finish, Reply, Usage, User

ASKED = Request("m", "be brief", (User("hello"),), settings=ModelSettings(max_tokens=64))
COUNTED = {"prompt_tokens": 7, "completion_tokens": 2}


@pytest.fixture
def retries() -> Iterator[None]:
    """As many attempts as the backend allows, without waiting."""
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


async def read(*answers: Any, streamed: bool, asked: Request = ASKED) -> tuple[Reply, list[Piece]]:
    pieces: list[Piece] = []
    async with serving(*answers) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"])
        try:
            return await backend.complete(asked, pieces.append if streamed else None), pieces
        finally:
            await backend.aclose()


def whole(message: Any, finish: Any = "stop", usage: Any = COUNTED, choice: Any = (), **top: Any) -> dict[str, Any]:
    """An answer that did not stream."""
    return {
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, **dict(choice)}],
        "usage": usage,
        **top,
    }


def call(name: Any = "clock", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"id": "p1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def told(pieces: list[Piece]) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Text, thinking and calls as the pieces tell them; the name only ever in a call's first piece."""
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    thinking = "".join(piece.text for piece in pieces if isinstance(piece, ThinkingPiece))
    calls: dict[int, list[str]] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            if piece.index not in calls:
                calls[piece.index] = [piece.name, ""]
            else:
                assert piece.name == ""
            calls[piece.index][1] += piece.arguments
    assert list(calls) == sorted(calls)
    return text, thinking, tuple((name, arguments) for name, arguments in calls.values())


def assert_told(reply: Reply, pieces: list[Piece]) -> None:
    assert told(pieces) == (reply.text, reply.thinking, tuple((one.name, one.arguments) for one in reply.calls))


async def test_an_ordinary_reply_carries_everything_that_the_server_said() -> None:
    usage = {
        "prompt_tokens": 70,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    message = {"content": "Hello", "reasoning_content": "hm", "end_turn": False, "tool_calls": [call()]}
    reply, _ = await read(answer(whole(message, "tool_calls", usage)), streamed=False)
    assert reply == Reply(
        text="Hello",
        calls=(Call("p1", "clock", "{}"),),
        thinking="hm",
        finish=Finish.TOOL_CALLS,
        usage=Usage(70, 20, 64, 5),
        end_turn=False,
        requests=1,
        limit=64,
        model="m-1",
        carried=reply.carried,
    )
    assert json.loads(reply.carried)["reasoning_content"] == "hm"


# name, message, finish reason, what else the choice and the answer hold -> the fields of the reply that it must give
ODD: list[tuple[str, Any, Any, dict[str, Any], dict[str, Any]]] = [
    ("plain text", {"content": "hi"}, "stop", {}, {"text": "hi", "finish": Finish.STOP}),
    ("null finish", {"content": "hi"}, None, {}, {"text": "hi", "finish": Finish.UNKNOWN}),
    ("unknown finish", {"content": "hi"}, "tired", {}, {"text": "hi", "finish": Finish.UNKNOWN}),
    ("finish that is no word", {"content": "hi"}, 7, {}, {"text": "hi", "finish": Finish.UNKNOWN}),
    ("upper case", {"content": "hi"}, "STOP", {}, {"finish": Finish.STOP}),
    ("length", {"content": "hi"}, "length", {}, {"finish": Finish.LENGTH}),
    ("max_tokens", {"content": "hi"}, "max_tokens", {}, {"finish": Finish.LENGTH}),
    ("filter", {"content": "hi"}, "content_filter", {}, {"finish": Finish.CONTENT_FILTER}),
    ("malformed", {"content": ""}, "malformed_function_call", {}, {"finish": Finish.MALFORMED_CALL, "text": ""}),
    ("MALFORMED", {"content": None}, "MALFORMED_FUNCTION_CALL", {}, {"finish": Finish.MALFORMED_CALL, "text": ""}),
    ("refusal", {"content": None, "refusal": "No."}, "stop", {}, {"finish": Finish.REFUSAL, "text": "No."}),
    ("refusal beside text", {"content": "A ", "refusal": "No."}, "stop", {}, {"text": "A No."}),
    ("blank refusal", {"content": "yes", "refusal": ""}, "stop", {}, {"finish": Finish.STOP, "text": "yes"}),
    (
        "refusal as a part",
        {"content": [{"type": "refusal", "refusal": "No."}]},
        "stop",
        {},
        {"finish": Finish.REFUSAL, "text": "No."},
    ),
    ("no message", None, "stop", {}, {"text": "", "finish": Finish.STOP}),
    ("empty message", {}, "stop", {}, {"text": "", "calls": ()}),
    ("null content", {"content": None}, "stop", {}, {"text": ""}),
    (
        "parts",
        {"content": [{"type": "text", "text": "a"}, {"type": "image"}, "b", {"type": "output_text", "text": "c"}]},
        "stop",
        {},
        {"text": "abc"},
    ),
    (
        "thinking as a part",
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, "a"]},
        "stop",
        {},
        {"text": "a", "thinking": "hm"},
    ),
    ("reasoning_content", {"content": "a", "reasoning_content": "hm"}, "stop", {}, {"thinking": "hm"}),
    ("reasoning", {"content": "a", "reasoning": "hm"}, "stop", {}, {"thinking": "hm"}),
    ("thinking", {"content": "a", "thinking": "hm"}, "stop", {}, {"thinking": "hm"}),
    ("thought twice", {"content": "a", "reasoning": "hm", "reasoning_content": "hm"}, "stop", {}, {"thinking": "hm"}),
    ("think tags", {"content": "<think>x</think>a"}, "stop", {}, {"text": "<think>x</think>a", "thinking": ""}),
    ("end_turn in the message", {"content": "a", "end_turn": False}, "stop", {}, {"end_turn": False}),
    ("end_turn in the choice", {"content": "a"}, "stop", {"choice": {"end_turn": True}}, {"end_turn": True}),
    ("end_turn at the top", {"content": "a"}, "stop", {"end_turn": False}, {"end_turn": False}),
    ("end_turn that is no boolean", {"content": "a", "end_turn": "no"}, "stop", {}, {"end_turn": None}),
    ("call", {"tool_calls": [call()]}, "tool_calls", {}, {"calls": (Call("p1", "clock", "{}"),)}),
    ("call and stop", {"tool_calls": [call()]}, "stop", {}, {"finish": Finish.STOP}),
    ("call without id", {"tool_calls": [call(id=None)]}, "tool_calls", {}, {"calls": (Call("", "clock", "{}"),)}),
    (
        "equal ids",
        {"tool_calls": [call("a"), call("b")]},
        "tool_calls",
        {},
        {"calls": (Call("p1", "a", "{}"), Call("p1", "b", "{}"))},
    ),
    (
        "same call twice",
        {"tool_calls": [call(), call()]},
        "tool_calls",
        {},
        {"calls": (Call("p1", "clock", "{}"), Call("p1", "clock", "{}"))},
    ),
    (
        "arguments as an object",
        {"tool_calls": [call(arguments={"city": "Zürich"})]},
        "tool_calls",
        {},
        {"calls": (Call("p1", "clock", '{"city": "Zürich"}'),)},
    ),
    ("arguments null", {"tool_calls": [call(arguments=None)]}, "stop", {}, {"calls": (Call("p1", "clock", ""),)}),
    ("arguments empty", {"tool_calls": [call(arguments="")]}, "stop", {}, {"calls": (Call("p1", "clock", ""),)}),
    ("arguments cut", {"tool_calls": [call(arguments='{"a')]}, "length", {}, {"calls": (Call("p1", "clock", '{"a'),)}),
    ("call without name", {"tool_calls": [call(name=None)]}, "stop", {}, {"calls": (Call("p1", "", "{}"),)}),
    ("legacy", {"function_call": {"name": "a", "arguments": "1"}}, None, {}, {"calls": (Call("", "a", "1"),)}),
    (
        "flat call",
        {"tool_calls": [{"id": "p1", "name": "a", "arguments": {}}]},
        "tool_use",
        {},
        {"calls": (Call("p1", "a", "{}"),), "finish": Finish.TOOL_CALLS},
    ),
    ("calls null", {"content": "a", "tool_calls": None}, "stop", {}, {"text": "a", "calls": ()}),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["whole", "whole though a stream was asked for", "streamed", "streamed unasked"])
@pytest.mark.parametrize(("name", "message", "finish", "more", "expected"), ODD, ids=[row[0] for row in ODD])
async def test_an_odd_reply_is_read_the_same_way_however_it_comes(
    name: str, message: Any, finish: Any, more: dict[str, Any], expected: dict[str, Any], mode: str
) -> None:
    if mode.startswith("whole"):
        given = answer(whole(message, finish, **more))
    else:
        top = dict(more)
        choice = {"index": 0, "delta": message, "finish_reason": finish, **top.pop("choice", {})}
        given = stream(event({"model": "m-1", "choices": [choice], **top}), USAGE, DONE)
    streamed = mode in {"streamed", "whole though a stream was asked for"}
    reply, pieces = await read(given, streamed=streamed)
    assert {field: getattr(reply, field) for field in expected} == expected
    assert reply.usage == Usage(7, 2)
    assert reply.model == "m-1"
    if streamed:
        assert_told(reply, pieces)


# name, the deltas of the one choice -> the calls
QUIRKS: list[tuple[str, list[list[dict[str, Any]]], tuple[Call, ...]]] = [
    (
        "id and name only in the first chunk",
        [
            [{"index": 0, "id": "x", "function": {"name": "a", "arguments": ""}}],
            [{"index": 0, "function": {"arguments": '{"k":'}}],
            [{"index": 0, "function": {"arguments": "1}"}}],
        ],
        (Call("x", "a", '{"k":1}'),),
    ),
    (
        "name and id repeated in each chunk",
        [
            [{"index": 0, "id": "x", "function": {"name": "a", "arguments": '{"k"'}}],
            [{"index": 0, "id": "x", "function": {"name": "a", "arguments": ":1}"}}],
        ],
        (Call("x", "a", '{"k":1}'),),
    ),
    (
        "name repeated in each chunk, no id, no index",
        [
            [{"function": {"name": "a", "arguments": '{"k"'}}],
            [{"function": {"name": "a", "arguments": ":1}"}}],
            [{"function": {"name": "a", "arguments": "{}"}}],
        ],
        (Call("", "a", '{"k":1}'), Call("", "a", "{}")),
    ),
    (
        "name in pieces",
        [
            [{"index": 0, "id": "x", "function": {"name": "get_"}}],
            [{"index": 0, "function": {"name": "time"}}],
            [{"index": 0, "function": {"arguments": "{}"}}],
        ],
        (Call("x", "get_time", "{}"),),
    ),
    (
        "name that grows",
        [
            [{"index": 0, "function": {"name": "get"}}],
            [{"index": 0, "function": {"name": "get_time"}}],
            [{"index": 0, "function": {"arguments": "{}"}}],
        ],
        (Call("", "get_time", "{}"),),
    ),
    ("no arguments ever", [[{"index": 0, "id": "x", "function": {"name": "a"}}]], (Call("x", "a", ""),)),
    ("a name only", [[{"function": {"name": "a"}}], [{"function": {"name": "a"}}]], (Call("", "a", ""),)),
    (
        "interleaved",
        [
            [{"index": 0, "id": "x", "function": {"name": "a", "arguments": ""}}],
            [{"index": 1, "id": "y", "function": {"name": "b", "arguments": ""}}],
            [{"index": 1, "function": {"arguments": '{"b":'}}, {"index": 0, "function": {"arguments": '{"a":'}}],
            [{"index": 0, "function": {"arguments": "1}"}}],
            [{"index": 1, "function": {"arguments": "2}"}}],
        ],
        (Call("x", "a", '{"a":1}'), Call("y", "b", '{"b":2}')),
    ),
    (
        "interleaved by id, no index",
        [
            [{"id": "x", "function": {"name": "a", "arguments": ""}}],
            [{"id": "y", "function": {"name": "b", "arguments": ""}}],
            [{"id": "x", "function": {"arguments": '{"a":'}}],
            [{"id": "y", "function": {"arguments": "{}"}}],
            [{"id": "x", "function": {"arguments": "1}"}}],
        ],
        (Call("x", "a", '{"a":1}'), Call("y", "b", "{}")),
    ),
    (
        "whole calls in one chunk",
        [[call("a", id="x", index=0), call("b", id="y", index=1)]],
        (Call("x", "a", "{}"), Call("y", "b", "{}")),
    ),
    (
        "whole calls in one chunk, neither id nor index",
        [[call("a", id=""), call("b", id=""), call("b", id="")]],
        (Call("", "a", "{}"), Call("", "b", "{}"), Call("", "b", "{}")),
    ),
    (
        "every call numbered 0",
        [[call("a", id="x", index=0)], [call("a", id="y", index=0)]],
        (Call("x", "a", "{}"), Call("y", "a", "{}")),
    ),
    (
        "every call numbered 0 under one id",
        [[call("a", id="x", index=0)], [call("b", id="x", index=0)]],
        (Call("x", "a", "{}"), Call("x", "b", "{}")),
    ),
    (
        "another id in each chunk",
        [
            [{"index": 0, "id": "x", "function": {"name": "a", "arguments": '{"k"'}}],
            [{"index": 0, "id": "y", "function": {"name": None, "arguments": ":1}"}}],
        ],
        (Call("x", "a", '{"k":1}'),),
    ),
    (
        "numbered from 1",
        [[call("a", id="x", index=1)], [call("b", id="y", index=2)]],
        (Call("x", "a", "{}"), Call("y", "b", "{}")),
    ),
    ("arguments as an object", [[call("a", {"k": [1]}, id="x", index=0)]], (Call("x", "a", '{"k": [1]}'),)),
    ("a null among them", [[None, call("a", id="x", index=0)]], (Call("x", "a", "{}"),)),  # type: ignore[list-item]
    (
        "id late",
        [
            [{"index": 0, "function": {"name": "a", "arguments": ""}}],
            [{"index": 0, "id": "x", "function": {"arguments": "{}"}}],
        ],
        (Call("x", "a", "{}"),),
    ),
]


@pytest.mark.parametrize(("name", "deltas", "calls"), QUIRKS, ids=[row[0] for row in QUIRKS])
async def test_streamed_calls_are_put_together(
    name: str, deltas: list[list[dict[str, Any]]], calls: tuple[Call, ...]
) -> None:
    parts = [delta(role="assistant", content=None), *(delta(tool_calls=listed) for listed in deltas)]
    reply, pieces = await read(stream(*parts, delta("tool_calls"), USAGE, DONE), streamed=True)
    assert reply.calls == calls
    assert_told(reply, pieces)


CHUNK = 'data: {"choices":[{"delta":{"content":"a b"},"finish_reason":"stop"}]}'
FRAMINGS: dict[str, str] = {
    "blank behind the colon": f"{CHUNK}\n\ndata: [DONE]\n\n",
    "no blank behind the colon": f"{CHUNK}\n\ndata:[DONE]\n\n".replace("data: ", "data:"),
    "CRLF": f"{CHUNK}\r\n\r\ndata: [DONE]\r\n\r\n",
    "CR": f"{CHUNK}\r\rdata: [DONE]\r\r",
    "comments and other fields": f": hi\n\nid: 1\nretry: 5\nevent: chunk\n{CHUNK}\n\n:\n\ndata: [DONE]\n\n",
    "many lines": CHUNK.replace('"finish', '\ndata: "finish').replace("[{", "[\ndata: {") + "\n\ndata: [DONE]\n\n",
    "no blank lines": f'data: {{"choices":[{{"delta":{{"content":""}}}}]}}\n{CHUNK}\ndata: [DONE]\n',
    "no end mark": f"{CHUNK}\n\n",
    "no last line end": CHUNK,
    "no finish but an end mark": 'data: {"choices":[{"delta":{"content":"a b"}}]}\n\ndata: [DONE]\n\n',
    "byte order mark": f"\ufeff{CHUNK}\n\n",
    "empty data": f"data:\n\n{CHUNK}\n\ndata: \n\n",
    "leading blank lines": f"\n\n{CHUNK}\n\n",
    "rubbish behind the end": f"{CHUNK}\n\ndata: oops\n\ndata: [DONE]\n\n{CHUNK}\n\n",
    "an error behind the finish": f'{CHUNK}\n\ndata: {{"error":{{"message":"late"}}}}\n\n',
    "the whole message instead of a delta": f"{CHUNK}\n\n".replace("delta", "message"),
    "the whole message behind its deltas": f"{CHUNK}\n\n" + CHUNK.replace("delta", "message") + "\n\n",
    "an empty finish with every chunk": CHUNK.replace("a b", "").replace('"stop"', '""') + f"\n\n{CHUNK}\n\n",
    "other choices": CHUNK.replace("[{", '[{"index":1,"delta":{"content":"x"}},{"index":0,') + "\n\n",
    "chunks that say nothing": "".join(
        f"data: {chunk}\n\n" for chunk in ('{"x":1}', '{"choices":[null]}', '{"choices":[{"delta":null}]}', "[]", "7")
    )
    + CHUNK,
}


@pytest.mark.parametrize(("name", "text"), FRAMINGS.items(), ids=FRAMINGS)
@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain; charset=utf-8", "application/json"])
async def test_events_are_read_however_they_are_framed_and_labelled(name: str, text: str, kind: str) -> None:
    reply, pieces = await read(page(text, kind=kind), streamed=True)
    assert reply.text == "a b"
    assert reply.finish is (Finish.UNKNOWN if "no finish" in name else Finish.STOP)
    assert reply.usage.estimated
    assert_told(reply, pieces)


async def test_a_character_cut_between_two_packets_is_whole_again() -> None:
    chunk = {"choices": [{"delta": {"content": "Größe 北京 🙂"}, "finish_reason": "stop"}]}
    text = f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
    reply, pieces = await read(stream(*(text[at : at + 1] for at in range(len(text)))), streamed=True)
    assert reply.text == "Größe 北京 🙂"
    assert_told(reply, pieces)


async def test_a_whole_answer_byte_by_byte_keeps_its_characters() -> None:
    body = '{"ä🙂é":1,"choices":[{"message":{"content":"Größe 🙂"},"finish_reason":"stop"}]}'.encode()
    reply, _ = await read(stream(*(body[at : at + 1] for at in range(len(body)))), streamed=False)
    assert reply.text == "Größe 🙂"


async def test_an_empty_finish_is_no_finish() -> None:
    with pytest.raises(ReplyBroken, match="in the middle"):
        await read(stream(delta("", content="Hel")), streamed=True)


async def test_bytes_that_are_no_utf8_do_not_lose_the_reply() -> None:
    body = b'{"choices":[{"message":{"content":"a\xff b"},"finish_reason":"stop"}]}'
    reply, _ = await read(page(body), streamed=False)
    assert reply.text == "a\ufffd b"


async def test_a_body_in_lone_surrogate_escapes_survives() -> None:
    reply, _ = await read(page(r'{"choices":[{"message":{"content":"\ud83d\ude42 \ud83d"}}]}'), streamed=False)
    assert reply.text == "🙂 \ud83d"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": 0, "completion_tokens": 0}, "7"]
)
async def test_missing_usage_is_estimated(usage: Any, streamed: bool) -> None:
    message = {"content": "x" * 40}
    given = answer(whole(message, "stop", usage))
    if streamed:
        choice = {"delta": message, "finish_reason": "stop"}
        given = stream(event({"choices": [choice], "usage": usage}), DONE)
    reply, _ = await read(given, streamed=streamed, asked=Request("m", "", (User("y" * 4000),)))
    assert reply.usage.estimated
    assert reply.usage.output_tokens == 10
    assert 1000 <= reply.usage.input_tokens <= 1050


def test_tokens_are_counted_under_every_name_that_servers_use() -> None:
    assert usage_in({"input_tokens": 5, "output_tokens": 3}, 400, 400) == Usage(5, 3)
    assert usage_in({"prompt_tokens": 5, "completion_tokens": 3, "prompt_cache_hit_tokens": 2}, 0, 9).cached_tokens == 2
    assert usage_in({"prompt_tokens": 5.0, "completion_tokens": 0}, 400, 0) == Usage(5, 0)


@pytest.mark.parametrize("streamed", [False, True])
async def test_no_choices_but_a_bill_is_an_empty_reply(streamed: bool) -> None:
    given = answer({"choices": [], "usage": COUNTED})
    reply, _ = await read(stream(USAGE, DONE) if streamed else given, streamed=streamed)
    assert (reply.text, reply.calls, reply.finish) == ("", (), Finish.UNKNOWN)
    assert reply.usage == Usage(7, 2)


async def test_a_limit_given_as_an_extra_counts_as_the_limit() -> None:
    asked = Request("m", "", (User("x"),), settings=ModelSettings(extra={"max_completion_tokens": 5}))
    reply, _ = await read(said(), streamed=False, asked=asked)
    assert reply.limit == 5
    reply, _ = await read(said(), streamed=False, asked=Request("m", "", (User("x"),)))
    assert reply.limit is None


BROKEN: list[tuple[str, Any, str]] = [
    ("no choices at all", page('{"object": "list", "data": []}'), "holds no choices"),
    ("a list", page("[1, 2]"), "holds no choices"),
    ("choices null", page('{"choices": null}'), "holds no choices"),
    ("a web page", page("<html><head><title>Welcome</title></head></html>", kind="text/html"), 'page: "Welcome"'),
    ("text", page("Internal error", kind="text/plain"), 'no JSON: "Internal error"'),
    ("nothing", page(""), "an empty page"),
    ("half a JSON", page('{"choices": [{"mess'), "no JSON"),
    ("nested too deep", page('{"choices": [{"message": {"content": ' + "[" * 50_000), "no JSON"),
    ("half a stream", stream(delta(content="Hel"), delta(content="lo")), "in the middle, after 5 characters"),
    ("half a stream, cut off", stream(delta(content="Hello"), end="hang up"), "after 5 characters"),
    ("half a call", stream(delta(tool_calls=[call(arguments='{"a')]), end="hang up"), "after 3 characters"),
    ("an empty stream", stream(": nothing\n\n"), "after 0 characters"),
    ("only an end mark", stream(DONE), "holds no choices"),
    ("a chunk that is no JSON", stream(delta(content="Hello"), 'data: {"choi\n\n'), "no JSON, after 5 characters"),
    ("a page cut off", [b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{", "hang up"], "broke off in the middle"),
    ("a stream cut in its first chunk", [STREAM, b"50\r\ndata: {", "hang up"], "broke off in the middle"),
]


@pytest.mark.parametrize(("name", "given", "sentence"), BROKEN, ids=[row[0] for row in BROKEN])
@pytest.mark.usefixtures("retries")
async def test_what_is_no_reply_is_said_in_one_sentence_and_asked_for_once_more(
    name: str, given: Any, sentence: str
) -> None:
    async with serving(given) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"], attempts=5)
        with pytest.raises(ReplyBroken) as caught:
            await backend.complete(ASKED, lambda piece: None)
        await backend.aclose()
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"vllm at http://127.0.0.1:{server.port} (model m) ")
    assert "\n" not in str(caught.value)
    assert caught.value.requests == len(server.asked) == 2, "a broken reply may have been billed"


@pytest.mark.parametrize("given", [[], ["hang up"], [0.02, "hang up"]], ids=["open", "cut off", "later"])
async def test_what_happens_behind_the_finish_cannot_break_a_reply(
    given: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "AFTER_FINISH", 0.1)
    reply, _ = await read([STREAM, chunked(delta("stop", content="Hello")), *given], streamed=True)
    assert (reply.text, reply.finish, reply.requests) == ("Hello", Finish.STOP, 1)


def test_an_unknown_finish_is_never_a_stop() -> None:
    words: tuple[object, ...] = ("", "weird", None, 3, [], "stopp")
    assert {finish_in(word) for word in words} == {Finish.UNKNOWN}


def test_parts_that_are_no_text_are_passed_over() -> None:
    assert text_in([{"type": "audio", "text": "no"}, {"text": "yes"}, 7, None, {"type": 4, "text": "no"}]) == "yes"


def test_a_call_that_is_no_object_is_kept_as_its_text() -> None:
    assert calls_in({"tool_calls": ["clock()", None, 7]}) == (Call("", "", "clock()"), Call("", "", "7"))


def test_parts_of_any_depth_cannot_crash_us() -> None:
    deep: Any = "x"
    for _ in range(10_000):
        deep = [{"text": deep}]
    assert text_in(deep) == ""
    assert calls_in({"tool_calls": [call(arguments=deep)]})[0].arguments == "(nested too deep)"


def test_deep_arguments_come_back_as_they_were() -> None:
    arguments = json.loads("[" * 50 + "]" * 50)
    assert json.loads(calls_in({"tool_calls": [call(arguments=arguments)]})[0].arguments) == arguments


@pytest.mark.parametrize("done", [True, False])
async def test_comments_behind_a_whole_reply_do_not_hold_it(done: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "AFTER_FINISH", 0.3)
    pings = [part for _ in range(200) for part in (0.05, chunked(": ping\n\n"))]
    end = DONE if done else ""
    answer = [*stream(delta(content="Hello"), delta("stop"), end, end=b""), *pings]
    async with serving(answer) as server, asyncio.timeout(8):
        client = OpenAICompatible(server.url, profile=PROFILES["vllm"])
        reply = await client.complete(Request("m", "", (User("x"),)), lambda _: None)
        await client.aclose()
    assert (reply.text, reply.finish) == ("Hello", Finish.STOP)
