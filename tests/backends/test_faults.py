"""The fault server: every kind is on the wire what it says, as JSON and as a stream."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.backends.listening import (
    BOTH,
    CONSTRAINED,
    Heard,
    asking,
    client,
    events,
    hear,
    heard,
    until,
)
from vancetope.backends.faults import (
    KINDS,
    NARRATIONS,
    FaultServer,
    Wire,
    halved,
    narration,
    slow,
)
from vancetope.backends.faults.fault import DONE
from vancetope.backends.scripted import call, calls, cut, gated, say, think
from vancetope.messages import Finish, Reply, Usage

FINAL = json.dumps({"message": DONE, "awaiting_user_input": True}, ensure_ascii=False)
PARIS = '{"city": "Paris"}'


# Replies.


@BOTH
async def test_a_reply_arrives_as_it_was_scripted(stream: bool) -> None:
    reply = calls(call("get_time", city="Zürich 👋🏽"), call("respond", message="x"), text="narrate", thinking="hmm")
    told = await heard(reply, stream=stream)
    assert (told.text, told.thinking, told.finish, told.whole) == ("narrate", "hmm", "tool_calls", True)
    assert told.arguments == [each.arguments for each in reply.calls]
    assert told.ids == ["call_1_0", "call_1_1"]
    assert told.headers["content-type"].startswith("text/event-stream" if stream else "application/json")
    assert (b"data: [DONE]\n\n" in told.raw) is stream
    assert told.objects[0]["object"] == ("chat.completion.chunk" if stream else "chat.completion")


@pytest.mark.parametrize(
    ("reply", "wire"),
    [
        (say("x"), "stop"),
        (cut("x"), "length"),
        (Reply(finish=Finish.CONTENT_FILTER), "content_filter"),
        (Reply(finish=Finish.MALFORMED_CALL), "MALFORMED_FUNCTION_CALL"),
        (Reply(finish=Finish.REFUSAL), "refusal"),
        (Reply(text="no", finish=Finish.REFUSAL), "stop"),
        (Reply(finish=Finish.UNKNOWN), None),
    ],
)
@BOTH
async def test_every_finish_has_its_word_on_the_wire(reply: Reply, wire: str | None, stream: bool) -> None:
    assert (await heard(reply, stream=stream)).finish == wire


async def test_usage_is_what_the_script_says_or_a_guess_and_in_a_stream_only_on_demand() -> None:
    exact = await heard(Reply(text="x", usage=Usage(7, 8, 1, 2)))
    assert exact.usage == {
        "prompt_tokens": 7,
        "completion_tokens": 8,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    guess = await heard(think("a" * 40, "b" * 40), stream=True, stream_options={"include_usage": True})
    assert guess.usage["completion_tokens"] == 20
    assert guess.usage["prompt_tokens"] > 50
    assert (await heard("x", stream=True)).usage is None


@pytest.mark.parametrize("chunking", [1, 3, 1000, lambda text: list(text)])
async def test_the_chunk_size_is_configurable(chunking: Any) -> None:
    async with FaultServer(["abcdef"], wire=Wire(chunking=chunking)) as server:
        told = await hear(server.base_url, asking(stream=True))
    deltas = [each["choices"][0]["delta"].get("content") for each in told.objects]
    size = chunking if isinstance(chunking, int) else 1
    assert deltas == ["", *("abcdef"[start : start + size] for start in range(0, 6, size)), None]


async def test_one_call_becomes_an_action_where_a_schema_is_asked_for() -> None:
    told = await heard(call("get_time", city="Paris"), tools=None, response_format=CONSTRAINED)
    assert json.loads(told.text) == {"tool": "get_time", "arguments": {"city": "Paris"}}
    assert (told.finish, told.calls) == ("stop", [])


@BOTH
async def test_a_gated_reply_waits_for_its_event(stream: bool) -> None:
    gate = asyncio.Event()
    async with FaultServer([gated("abcdef" * 4, gate, after=1)]) as server:
        asked = asyncio.create_task(hear(server.base_url, asking(stream=stream)))
        await until(lambda: bool(server.requests))
        await asyncio.sleep(0.02)
        assert not asked.done()
        gate.set()
        assert (await asked).text == "abcdef" * 4


async def test_a_lone_surrogate_is_escaped_instead_of_breaking_the_server() -> None:
    assert json.loads((await heard("a\ud800")).raw)["choices"][0]["message"]["content"] == "a\ud800"


# What every kind leaves behind.


@BOTH
@pytest.mark.parametrize("name", KINDS)
async def test_every_kind_leaves_what_it_says(name: str, stream: bool) -> None:
    fault = KINDS[name]
    assert fault.name == name
    assert fault.about.endswith(".")
    async with FaultServer([fault]) as server:
        body = asking(stream=stream or None)
        told = await hear(server.base_url, body, 0.6 if fault.leaves == "nothing" else 10.0)
        await until(lambda: server.open_connections == 0)
        assert [(each.answer, each.disconnected) for each in server.requests] == [(name, fault.leaves == "nothing")]
        assert (server.violations, server.failures) == ([], [])
    match fault.leaves:
        case "reply":
            assert told.whole
        case "error":
            assert not told.whole
        case "nothing":
            assert isinstance(told.broke, httpx.ReadTimeout)
        case "either":
            pass


@pytest.mark.parametrize("name", KINDS)
async def test_no_kind_breaks_the_server_for_a_constrained_or_a_bare_request(name: str) -> None:
    quick = 0.05 if KINDS[name].leaves == "nothing" else 10.0
    async with FaultServer([KINDS[name]] * 2) as server:
        await hear(server.base_url, asking(tools=None, response_format=CONSTRAINED), quick)
        await hear(server.base_url, asking(tools=None, stream=True), quick)
        assert (server.violations, server.failures) == ([], [])


def test_the_rows_are_rows_of_the_table() -> None:
    cited = {row for fault in KINDS.values() for row in fault.rows}
    assert all(re.fullmatch(r"C\d\d\d?|S\d\d", row) for row in cited)
    assert all(1 <= int(row[1:]) <= (103 if row[0] == "C" else 38) for row in cited)
    assert {"C01", "C04", "C19", "C20", "C22", "C29", "C30", "C32", "C46", "C61", "C80", "C83"} <= cited


# Kinds of odd replies: the same odd thing, as JSON and as a stream.

ODD: dict[str, Callable[[Heard], bool]] = {
    "null_finish": lambda h: h.finish is None and h.arguments == [FINAL],
    "null_finish_call": lambda h: h.finish is None and h.names == ["get_time"],
    "null_finish_empty": lambda h: h.finish is None and not h.text and not h.calls,
    "unknown_finish": lambda h: h.finish == "done_thinking" and h.arguments == [FINAL],
    "stop_with_call": lambda h: h.finish == "stop" and h.names == ["get_time"],
    "no_usage": lambda h: all("usage" not in each for each in h.objects),
    "null_usage": lambda h: all(each["usage"] is None for each in h.objects),
    "no_model": lambda h: all("model" not in each for each in h.objects),
    "reasoning_field": lambda h: h.thinking == "hmm" and b"reasoning_content" not in h.raw,
    "end_turn_false": lambda h: h.end_turn is False and h.finish == "stop" and h.text == NARRATIONS["en"],
    "empty_choices": lambda h: all(each["choices"] == [] for each in h.objects),
    "no_choices": lambda h: all("choices" not in each for each in h.objects),
    "null_message": lambda h: b'"message":null' in h.raw or b'"delta":null' in h.raw,
    "no_id": lambda h: h.ids == [None] and h.arguments == [PARIS],
    "empty_id": lambda h: h.ids == [""],
    "constant_id": lambda h: h.ids == ["call_0"],
    "equal_ids": lambda h: h.ids == ["call_0", "call_0"] and h.arguments == [PARIS, PARIS],
    "numbered_ids": lambda h: h.ids == ["get_time:0", "get_time:1"],
    "long_id": lambda h: len(h.ids[0]) == 396,
    "no_index": lambda h: h.arguments == [PARIS] and b'"tool_calls":[{"index"' not in h.raw,
    "two_without_index": lambda h: h.arguments == [PARIS, PARIS] and b'"tool_calls":[{"index"' not in h.raw,
    "object_arguments": lambda h: h.arguments == [{"city": "Paris"}],
    "null_arguments": lambda h: h.arguments == [None],
    "no_arguments": lambda h: h.arguments == [""],
    "double_encoded": lambda h: json.loads(json.loads(h.arguments[0])) == {"city": "Paris"},
    "nested_strings": lambda h: json.loads(h.arguments[0])["limits"] == "[1,2]",
    "wrapped_arguments": lambda h: json.loads(h.arguments[0]) == {"output": {"city": "Paris"}},
    "bad_arguments": lambda h: h.arguments == ["city: Paris"],
    "array_arguments": lambda h: h.arguments == ['["Paris"]'],
    "nan_arguments": lambda h: h.arguments == ['{"city": NaN}'],
    "missing_arguments": lambda h: h.arguments == ["{}"],
    "old_style_call": lambda h: not h.calls and b'"function_call":{"name":"get_time"' in h.raw,
    "no_name": lambda h: h.names == [None] and h.arguments == [PARIS],
    "empty_name": lambda h: h.names == [""],
    "odd_name": lambda h: h.names == ["functions.get time!\n"],
    "narration": lambda h: h.text == NARRATIONS["en"] and not h.calls and h.finish == "stop",
    "narration_with_call": lambda h: h.text == NARRATIONS["en"] and h.names == ["get_time"],
    "json_and_call": lambda h: h.text == '{"a": 1}' and h.names == ["get_time"],
    "unknown_tool": lambda h: h.names == ["get_tiem"],
    "constant_call": lambda h: h.names == ["get_time"] and h.arguments == [PARIS],
    "thinking_only": lambda h: bool(h.thinking) and not h.text and not h.calls and h.finish == "stop",
    "empty_text": lambda h: not h.text and not h.thinking and not h.calls and h.finish == "stop",
    "empty_block": lambda h: not h.text and not h.thinking and not h.calls and h.finish == "stop",
    "recitation": lambda h: h.finish == "content_filter" and h.text == DONE[:20],
    "window_full": lambda h: h.finish == "length" and h.text == DONE[:20],
    "blank_text": lambda h: h.text.isspace() and not h.calls,
    "calls_without_calls": lambda h: h.finish == "tool_calls" and not h.calls and not h.text,
    "malformed_call": lambda h: h.finish == "MALFORMED_FUNCTION_CALL" and not h.calls,
    "refusal_field": lambda h: h.refusal == "I will not do that." and not h.text and h.finish == "stop",
    "refusal_finish": lambda h: h.finish == "refusal" and not h.text,
    "content_filter": lambda h: h.finish == "content_filter" and h.text == DONE[:20],
    "filter_with_call": lambda h: h.finish == "content_filter" and h.names == ["get_time"],
    "cut_arguments": lambda h: h.finish == "length" and h.arguments == [PARIS[:5]],
    "cut_respond": lambda h: h.finish == "length" and h.arguments == [FINAL[:30]],
    "cut_text": lambda h: h.finish == "length" and h.text == DONE[:20],
    "cut_thinking": lambda h: h.finish == "length" and bool(h.thinking) and not h.text,
    "cut_empty": lambda h: h.finish == "length" and not h.text and not h.thinking and not h.calls,
    "cut_whole_call": lambda h: h.finish == "length" and h.arguments == [PARIS],
    "constraint_ignored": lambda h: h.text == DONE,
    "respond_after_work": lambda h: h.names == ["get_time", "respond"],
    "respond_before_work": lambda h: h.names == ["respond", "get_time"],
    "two_responds": lambda h: h.names == ["respond"] * 2 and h.arguments[0] != h.arguments[1],
    "final_twice": lambda h: h.names == ["respond"] * 2 and h.arguments[0] == h.arguments[1],
    "two_responds_and_work": lambda h: h.names == ["respond", "get_time", "respond"],
    "text_and_respond": lambda h: h.text == DONE and h.arguments == [FINAL],
    "invalid_respond": lambda h: json.loads(h.arguments[0]) == {"awaiting": True},
    "invalid_respond_and_work": lambda h: h.names == ["respond", "get_time"] and h.arguments[0] == "{}",
    "blank_respond": lambda h: json.loads(h.arguments[0])["message"] == "  ",
    "extra_respond": lambda h: json.loads(h.arguments[0])["mood"] == "well",
    "text_flag": lambda h: json.loads(h.arguments[0])["awaiting_user_input"] == "true",
    "no_flag": lambda h: json.loads(h.arguments[0]) == {"message": DONE},
    "fenced_respond": lambda h: h.arguments[0].startswith("```json\n{") and h.arguments[0].endswith("}\n```"),
}


@BOTH
@pytest.mark.parametrize("name", ODD)
async def test_an_odd_reply_is_odd_in_the_way_it_says(name: str, stream: bool) -> None:
    assert ODD[name](await heard(KINDS[name], stream=stream))


@pytest.mark.parametrize("language", NARRATIONS)
async def test_narration_comes_in_six_languages(language: str) -> None:
    assert (await heard(narration(language))).text == NARRATIONS[language]


async def test_a_server_that_ignores_the_constraint_says_prose() -> None:
    told = await heard(KINDS["constraint_ignored"], tools=None, response_format=CONSTRAINED)
    assert told.text == DONE


# Kinds of servers, proxies and networks.

STATUSES = {name: int(name.split("_")[1]) for name in KINDS if name.startswith("status_")}
REJECTIONS = [name for name in KINDS if name.startswith("context_")] + ["forced_choice_refused", "schema_refused"]


@pytest.mark.parametrize(("name", "code"), STATUSES.items())
async def test_a_status_is_that_status(name: str, code: int) -> None:
    told = await heard(KINDS[name])
    assert told.status == code
    if name in ("status_502", "status_503"):
        assert told.raw.startswith(b"<!doctype") if code == 502 else told.raw == b""
    else:
        assert "message" in json.loads(told.raw)["error"]


async def test_a_wrong_key_is_told_in_the_providers_own_words() -> None:
    told = await heard(KINDS["key_refused"])
    assert (told.status, json.loads(told.raw)["error"]["code"]) == (401, "invalid_api_key")


async def test_retry_after_is_seconds_a_date_or_missing() -> None:
    waits = [
        (await heard(KINDS[f"status_429{end}"])).headers.get("retry-after") for end in ("", "_date", "_bare", "_hours")
    ]
    assert waits == ["1", "Wed, 01 Oct 2025 00:00:00 GMT", None, "3600"]


@pytest.mark.parametrize("name", REJECTIONS)
async def test_a_rejection_is_a_400_in_the_providers_own_shape(name: str) -> None:
    told = await heard(KINDS[name], stream=True)
    assert told.status == 400
    assert "error" in str(json.loads(told.raw))


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("html_page", b"<!doctype"),
        ("not_json", b"upstream"),
        ("half_json", b'{"id":"chatcmpl-1"'),
        ("other_json", b'{"status"'),
        ("json_array", b"[]"),
        ("json_null", b"null"),
        ("empty_body", b""),
        ("error_in_body", b'{"error"'),
        ("bad_utf8_body", b'{"id":"chatcmpl-1"'),
    ],
)
@BOTH
async def test_a_wrong_body_comes_with_status_200(name: str, start: bytes, stream: bool) -> None:
    told = await heard(KINDS[name], stream=stream)
    assert (told.status, told.raw[: len(start)]) == (200, start)
    assert told.headers["content-type"].startswith("text/html" if name == "html_page" else "application/json")


@BOTH
async def test_silence_has_headers_or_not(stream: bool) -> None:
    before = await heard(KINDS["silence"], stream=stream, timeout=0.1)
    after = await heard(KINDS["silence_after_head"], stream=stream, timeout=0.1)
    inside = await heard(KINDS["silence_in_stream"], stream=stream, timeout=0.1)
    assert [told.status for told in (before, after, inside)] == [0, 200, 200]
    assert (before.raw, after.raw) == (b"", b"")
    assert len(events(inside.raw)) == (3 if stream else 0)
    assert len(inside.raw) > 100


@BOTH
async def test_a_broken_connection_breaks_where_it_says(stream: bool) -> None:
    at_once = await heard(KINDS["reset_at_once"], stream=stream)
    after = await heard(KINDS["reset_after_head"], stream=stream)
    closed = await heard(KINDS["closed_at_once"], stream=stream)
    assert [told.status for told in (at_once, after, closed)] == [0, 200, 0]
    assert isinstance(at_once.broke, httpx.ReadError)
    assert isinstance(after.broke, httpx.ReadError)
    assert isinstance(closed.broke, httpx.RemoteProtocolError)
    for name in ("reset_in_stream", "half_stream", "half_event", "half_arguments", "long_content_length"):
        told = await heard(KINDS[name], stream=stream)
        assert told.status == 200, name
        assert isinstance(told.broke, httpx.ReadError if name.startswith("reset") else httpx.RemoteProtocolError), name
        assert len(told.raw) > 100, name


async def test_half_a_stream_stops_after_so_many_events_or_bytes() -> None:
    assert len(events((await heard(halved("x" * 100, events=5), stream=True)).raw)) == 5
    assert len((await heard(halved("x" * 100, octets=333), stream=True)).raw) == 333
    assert len((await heard(halved("x" * 100, octets=33))).raw) == 33
    assert not (await heard(KINDS["half_event"], stream=True)).raw.endswith(b"\n")
    inside = await heard(KINDS["half_arguments"], stream=True)
    assert b"get_time" in inside.raw
    assert b"Paris" in inside.raw
    assert b"}" not in b"".join(re.findall(rb'"arguments":"(.*?)"', inside.raw))


async def test_a_slow_answer_is_whole() -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    told = await heard(slow("abc", delay=0.02), stream=True)
    assert told.text == "abc"
    assert loop.time() - start > 0.05
    assert (await heard(KINDS["slow"])).arguments == [FINAL]


async def test_wrong_lengths_are_wrong() -> None:
    long = await heard(KINDS["long_content_length"])
    short = await heard(KINDS["short_content_length"])
    assert int(long.headers["content-length"]) == len(long.raw) + 100
    assert short.broke is None
    assert not short.whole


@BOTH
async def test_a_body_may_end_with_its_connection(stream: bool) -> None:
    told = await heard(KINDS["until_close"], stream=stream)
    assert "content-length" not in told.headers
    assert "transfer-encoding" not in told.headers
    assert told.arguments == [FINAL]


@BOTH
@pytest.mark.parametrize("name", ["huge", "huge_line"])
async def test_a_huge_answer_is_bigger_than_32_mib(name: str, stream: bool) -> None:
    size = 0
    async with FaultServer([KINDS[name]]) as server, client() as http:
        url = f"{server.base_url}/chat/completions"
        answer = await http.send(http.build_request("POST", url, json=asking(stream=stream)), stream=True)
        async for block in answer.aiter_raw():
            size += len(block)
    assert size > 33 * 1024 * 1024


async def test_a_client_that_has_enough_of_a_huge_answer_is_seen_leaving() -> None:
    async with FaultServer([KINDS["huge"]]) as server, client() as http:
        async with http.stream("POST", f"{server.base_url}/chat/completions", json=asking()) as answer:
            async for _ in answer.aiter_raw():
                break
        await until(lambda: server.requests[0].disconnected)


@pytest.mark.parametrize("name", ["error_in_stream", "overloaded_in_stream"])
async def test_an_error_can_come_inside_a_stream(name: str) -> None:
    told = await heard(KINDS[name], stream=True)
    assert [("choices" in each, "error" in each) for each in told.objects] == [(True, False)] * 2 + [(False, True)]


# Streams that are right.


async def stream_of(name: str) -> bytes:
    told = await heard(KINDS[name], stream=True)
    if name != "bad_utf8":
        assert told.arguments == [FINAL] or name == "no_end"
    return told.raw


async def test_a_stream_may_end_in_many_ways() -> None:
    assert b"[DONE]" not in await stream_of("no_done")
    assert b'finish_reason":"' in await stream_of("no_done")
    unfinished = await stream_of("no_end")
    assert b"[DONE]" not in unfinished
    assert b'finish_reason":"' not in unfinished
    assert b"[DONE]" not in (await stream_of("after_done")).splitlines()[-2]
    assert b"late" in (await stream_of("after_done")).splitlines()[-2]


async def test_an_event_may_be_no_json() -> None:
    told = await heard(KINDS["bad_event"], stream=True)
    broken = events(told.raw)
    assert broken[-1] == "[DONE]"
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken[1])
    assert json.loads(broken[2])


async def test_a_stream_may_be_written_in_many_ways() -> None:
    assert (await stream_of("comments")).count(b": still here\n\n") > 10
    assert b"event: message\nid: 7\nretry: 10\ndata: " in await stream_of("event_names")
    assert b"data:{" in await stream_of("no_space")
    for name in ("crlf", "crlf_split"):
        raw = await stream_of(name)
        assert raw.count(b"\r\n") == raw.count(b"\n") > 10
    assert b"\n" not in await stream_of("cr")
    assert b"\xfc" in await stream_of("bad_utf8")
    assert len(events(await stream_of("token_per_character"))) > len(FINAL)
    assert len(events(await stream_of("one_delta"))) == 4


@pytest.mark.parametrize(("name", "size"), [("split_utf8", 1), ("crlf_split", 1), ("odd_packets", 7)])
async def test_packets_are_so_small_that_characters_are_split(name: str, size: int) -> None:
    async with FaultServer([KINDS[name]]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(server.base_url).port)
        body = json.dumps(asking(stream=True)).encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n")
        writer.write(b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        raw = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
    sizes = {int(line, 16) for line in re.findall(rb"(?:^|\r\n)([0-9a-f]+)\r\n", raw)}
    assert max(sizes) == size


@pytest.mark.parametrize(("stream", "kind"), [(True, "json_instead_of_stream"), (False, "stream_instead_of_json")])
async def test_the_other_form_than_asked_for_comes(stream: bool, kind: str) -> None:
    told = await heard(KINDS[kind], stream=stream)
    assert told.headers["content-type"].startswith("application/json" if stream else "text/event-stream")
    assert told.arguments == [FINAL]


def test_every_kind_has_a_test_of_its_own() -> None:
    here = Path(__file__)
    text = "".join(each.read_text(encoding="utf-8") for each in (here, here.with_name("test_fault_answers.py")))
    assert [name for name in KINDS if f'"{name}"' not in text and name not in (*STATUSES, *REJECTIONS)] == []
