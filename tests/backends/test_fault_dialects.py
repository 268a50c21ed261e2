"""The fault server in Anthropic's and Gemini's dialects: every kind is on the wire what it says, whole and streamed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.backends.hearing import (
    MODEL,
    OTHERS,
    PROMPT,
    SCHEMAS,
    SYSTEM,
    Heard,
    asking,
    constrained,
    hear,
    heard,
    values,
)
from tests.backends.listening import ACTIONS, BOTH, CONSTRAINED, client, until
from tests.backends.listening import asking as asking_openai
from tests.backends.listening import called as called_openai
from tests.backends.listening import hear as hear_openai
from tests.backends.listening import result as result_openai
from vancetope.backends.faults import KINDS, NARRATIONS, SCENARIOS, Asked, FaultServer, Wire, halved, status
from vancetope.backends.faults.fault import DONE
from vancetope.backends.scripted import call, calls, cut, gated, say, think
from vancetope.messages import Finish, Reply, Usage

FINAL = {"message": DONE, "awaiting_user_input": True}
PARIS = {"city": "Paris"}

# Replies.


@BOTH
@OTHERS
async def test_a_reply_arrives_as_it_was_scripted(dialect: str, stream: bool) -> None:
    reply = calls(call("get_time", city="Zürich 👋🏽"), call("respond", message="x"), text="narrate", thinking="hmm")
    told = await heard(dialect, reply, stream=stream)
    assert (told.text, told.thinking, told.whole) == ("narrate", "hmm", True)
    assert (told.names, values(told)) == (["get_time", "respond"], [{"city": "Zürich 👋🏽"}, {"message": "x"}])
    assert told.ids == (["toolu_1_0", "toolu_1_1"] if dialect == "anthropic" else ["call_1_0", "call_1_1"])
    assert told.finish == ("tool_use" if dialect == "anthropic" else "STOP")
    assert len(told.signatures) == 1
    assert told.headers["content-type"].startswith("text/event-stream" if stream else "application/json")


FINISHES: list[tuple[Reply, Any, Any]] = [
    (say("x"), "end_turn", "STOP"),
    (cut("x"), "max_tokens", "MAX_TOKENS"),
    (call("get_time"), "tool_use", "STOP"),
    (Reply(text="x", finish=Finish.CONTENT_FILTER), "refusal", "SAFETY"),
    (Reply(finish=Finish.MALFORMED_CALL), "end_turn", "MALFORMED_FUNCTION_CALL"),
    (Reply(finish=Finish.REFUSAL), "refusal", "PROHIBITED_CONTENT"),
    (Reply(text="no", finish=Finish.REFUSAL), "refusal", "PROHIBITED_CONTENT"),
    (Reply(text="x", finish=Finish.UNKNOWN), None, None),
    (say("on", end_turn=False), "pause_turn", "STOP"),
]


@pytest.mark.parametrize(("reply", "anthropic", "gemini"), FINISHES)
@BOTH
async def test_every_finish_has_its_word_on_the_wire(reply: Reply, anthropic: Any, gemini: Any, stream: bool) -> None:
    assert (await heard("anthropic", reply, stream=stream)).finish == anthropic
    assert (await heard("gemini", reply, stream=stream)).finish == gemini


@BOTH
async def test_gemini_refuses_a_prompt_without_a_candidate(stream: bool) -> None:
    told = await heard("gemini", Reply(finish=Finish.REFUSAL), stream=stream)
    assert told.objects[0]["promptFeedback"] == {"blockReason": "PROHIBITED_CONTENT"}
    assert all("candidates" not in each for each in told.objects)


@BOTH
async def test_usage_has_each_dialects_own_fields(stream: bool) -> None:
    usage = Usage(100, 50, cached_tokens=20, cache_write_tokens=30, thinking_tokens=10)
    told = await heard("anthropic", Reply(text="x", usage=usage), stream=stream)
    assert told.usage == {
        "input_tokens": 50,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 20,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 10},
    }
    told = await heard("gemini", Reply(text="x", usage=usage), stream=stream)
    assert told.usage == {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 20,
        "candidatesTokenCount": 40,
        "thoughtsTokenCount": 10,
        "totalTokenCount": 150,
    }
    guess = await heard("gemini", think("a" * 40, "b" * 40), stream=stream)
    assert guess.usage["candidatesTokenCount"] == guess.usage["thoughtsTokenCount"] == 10


async def test_a_stream_of_anthropics_has_its_events_in_order() -> None:
    told = await heard("anthropic", calls(call("get_time", city="P"), text="t", thinking="h"), stream=True)
    kinds = [each["type"].removeprefix("content_") for each in told.objects]
    one = ["block_start", "block_delta", "block_stop"]
    thought = ["block_start", "block_delta", "block_delta", "block_stop"]
    assert kinds == ["message_start", *thought, *one, *thought, "message_delta", "message_stop"]
    assert [each["index"] for each in told.objects if each["type"] == "content_block_start"] == [0, 1, 2]
    names = [line.removeprefix(b"event: ").decode() for line in told.raw.splitlines() if line.startswith(b"event: ")]
    assert names == [each["type"] for each in told.objects]


async def test_gemini_tells_each_call_whole_and_the_finish_last() -> None:
    told = await heard("gemini", calls(call("get_time", city="P" * 50), call("get_time"), text="t" * 20), stream=True)
    candidates = [each["candidates"][0] for each in told.objects]
    assert ["functionCall" in str(each) for each in candidates] == [False] * 3 + [True, True, False]
    assert ["finishReason" in each for each in candidates] == [False] * 5 + [True]


@BOTH
@OTHERS
async def test_one_call_becomes_an_action_where_a_schema_is_asked_for(dialect: str, stream: bool) -> None:
    schema = {"type": "object", "properties": {"tool": {"const": "get_time"}}, "additionalProperties": False}
    told = await heard(dialect, call("get_time", city="P"), stream=stream, **constrained(dialect, schema))
    assert json.loads(told.text) == {"tool": "get_time", "arguments": {"city": "P"}}
    assert (told.names, told.finish) == ([], "end_turn" if dialect == "anthropic" else "STOP")


@BOTH
@OTHERS
@pytest.mark.parametrize("after", [0, 1, 99])
async def test_a_gated_reply_waits_for_its_event(dialect: str, stream: bool, after: int) -> None:
    gate = asyncio.Event()
    async with FaultServer([gated("abcdef" * 4, gate, after=after)]) as server:
        asked = asyncio.create_task(hear(server, dialect, stream=stream))
        await until(lambda: bool(server.requests))
        await asyncio.sleep(0.02)
        assert not asked.done()
        gate.set()
        assert (await asked).text == "abcdef" * 4


@OTHERS
async def test_arguments_that_are_no_object_come_as_they_can(dialect: str) -> None:
    told = await heard(dialect, cut(call("get_time", city="Paris"), 5))
    assert told.arguments == ([{}] if dialect == "anthropic" else []), "a call cut by the limit"
    told = await heard(dialect, KINDS["bad_arguments"])
    assert told.arguments == ["city: Paris"]


@OTHERS
async def test_a_lone_surrogate_is_escaped_instead_of_breaking_the_server(dialect: str) -> None:
    assert (await heard(dialect, think("b\udc00", "a\ud800"))).text == "a\ud800"


# What every kind leaves behind.


@BOTH
@OTHERS
@pytest.mark.parametrize("name", KINDS)
async def test_every_kind_leaves_what_it_says(name: str, dialect: str, stream: bool) -> None:
    fault = KINDS[name]
    async with FaultServer([fault]) as server:
        told = await hear(server, dialect, stream=stream, timeout=0.6 if fault.leaves == "nothing" else 10.0)
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


@OTHERS
@pytest.mark.parametrize("name", KINDS)
async def test_no_kind_breaks_the_server_for_a_constrained_or_a_bare_request(name: str, dialect: str) -> None:
    quick = 0.05 if KINDS[name].leaves == "nothing" else 10.0
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False}
    async with FaultServer([KINDS[name]] * 2) as server:
        await hear(server, dialect, asking(dialect, **constrained(dialect, schema)), timeout=quick)
        await hear(server, dialect, asking(dialect, tools=None), stream=True, timeout=quick)
        assert (server.violations, server.failures) == ([], [])


# Kinds of odd replies: the same odd thing in each dialect, whole and streamed.

ODD: dict[str, Callable[[Heard], bool]] = {
    "null_finish": lambda h: h.finish is None and values(h) == [FINAL],
    "null_finish_call": lambda h: h.finish is None and h.names == ["get_time"],
    "null_finish_empty": lambda h: h.finish is None and not h.blocks,
    "unknown_finish": lambda h: h.finish == "done_thinking" and values(h) == [FINAL],
    "stop_with_call": lambda h: h.finish in ("end_turn", "STOP") and h.names == ["get_time"],
    "no_usage": lambda h: b'"usage' not in h.raw and h.usage is None,
    "null_usage": lambda h: h.usage is None and (b'"usage":null' in h.raw or b'"usageMetadata":null' in h.raw),
    "no_model": lambda h: b'"model"' not in h.raw.replace(b'"role":"model"', b"") and b"modelVersion" not in h.raw,
    "end_turn_false": lambda h: h.finish in ("pause_turn", "STOP") and h.text == NARRATIONS["en"],
    "no_id": lambda h: h.ids == [None] and values(h) == [PARIS],
    "empty_id": lambda h: h.ids == [""],
    "constant_id": lambda h: h.ids == ["call_0"],
    "equal_ids": lambda h: h.ids == ["call_0", "call_0"] and values(h) == [PARIS, PARIS],
    "numbered_ids": lambda h: h.ids == ["get_time:0", "get_time:1"],
    "long_id": lambda h: len(h.ids[0]) == 396,
    "double_encoded": lambda h: '{"city": "Paris"}' in str(h.arguments[0]).replace("\\", ""),
    "nested_strings": lambda h: values(h)[0]["limits"] == "[1,2]",
    "wrapped_arguments": lambda h: values(h) == [{"output": PARIS}],
    "bad_arguments": lambda h: h.arguments == ["city: Paris"],
    "array_arguments": lambda h: values(h) == [["Paris"]],
    "nan_arguments": lambda h: "nan" in str(values(h)[0]["city"]).lower(),
    "missing_arguments": lambda h: values(h) == [{}],
    "no_arguments": lambda h: values(h) in ([{}], [""]),
    "no_name": lambda h: h.names == [None] and values(h) == [PARIS],
    "empty_name": lambda h: h.names == [""],
    "odd_name": lambda h: h.names == ["functions.get time!\n"],
    "narration": lambda h: h.text == NARRATIONS["en"] and not h.names,
    "narration_with_call": lambda h: h.text == NARRATIONS["en"] and h.names == ["get_time"],
    "thinking_only": lambda h: bool(h.thinking) and not h.text and not h.names,
    "empty_text": lambda h: h.blocks == 0 and h.finish in ("end_turn", "STOP"),
    "empty_block": lambda h: h.blocks == 1 and not h.text and h.finish in ("end_turn", "STOP"),
    "blank_text": lambda h: h.text.isspace(),
    "calls_without_calls": lambda h: h.finish in ("tool_use", "STOP") and h.blocks == 0,
    "refusal_field": lambda h: h.text == "I will not do that." and h.finish in ("refusal", "PROHIBITED_CONTENT"),
    "refusal_finish": lambda h: h.finish in ("refusal", "PROHIBITED_CONTENT") and not h.text,
    "content_filter": lambda h: h.finish in ("refusal", "SAFETY") and h.text == DONE[:20],
    "recitation": lambda h: h.finish in ("refusal", "RECITATION") and h.text == DONE[:20],
    "window_full": lambda h: h.finish in ("model_context_window_exceeded", "MAX_TOKENS") and h.text == DONE[:20],
    "cut_text": lambda h: h.finish in ("max_tokens", "MAX_TOKENS") and h.text == DONE[:20],
    "cut_empty": lambda h: h.finish in ("max_tokens", "MAX_TOKENS") and not h.text and not h.names,
    "cut_whole_call": lambda h: h.finish in ("max_tokens", "MAX_TOKENS") and values(h) == [PARIS],
    "respond_after_work": lambda h: h.names == ["get_time", "respond"],
    "two_responds": lambda h: h.names == ["respond"] * 2,
    "empty_choices": lambda h: not h.text,
    "answer_in_prose": lambda h: h.text == DONE,
}


@BOTH
@OTHERS
@pytest.mark.parametrize("name", ODD)
async def test_an_odd_reply_is_odd_in_the_way_it_says(name: str, dialect: str, stream: bool) -> None:
    assert ODD[name](await heard(dialect, KINDS[name], stream=stream))


@pytest.mark.parametrize("kind", ["empty_choices", "no_choices", "null_message"])
async def test_gemini_may_say_no_candidate_at_all(kind: str) -> None:
    told = await heard("gemini", KINDS[kind])
    found = {"empty_choices": [], "no_choices": "none", "null_message": [{"content": None}]}[kind]
    said = told.objects[0].get("candidates", "none")
    assert ([{"content": each["content"]} for each in said] if kind == "null_message" else said) == found
    assert told.text == ""


@OTHERS
@BOTH
async def test_a_server_that_ignores_the_constraint_says_prose(dialect: str, stream: bool) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    told = await heard(dialect, KINDS["constraint_ignored"], stream=stream, **constrained(dialect, schema))
    assert told.text == DONE
    forced: dict[str, Any] = {"tool_choice": {"type": "tool", "name": "respond"}}
    if dialect == "gemini":
        forced = {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["respond"]}}}
    told = await heard(dialect, KINDS["constraint_ignored"], stream=stream, **forced)
    assert (told.text, told.names) == (DONE, [])


# Errors.

ERRORS = {
    400: ("invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "UNAUTHENTICATED"),
    403: ("permission_error", "PERMISSION_DENIED"),
    404: ("not_found_error", "NOT_FOUND"),
    429: ("rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("api_error", "INTERNAL"),
    504: ("timeout_error", "DEADLINE_EXCEEDED"),
    529: ("overloaded_error", "UNKNOWN"),
}


@BOTH
@pytest.mark.parametrize("code", ERRORS)
async def test_an_error_has_each_dialects_own_shape(code: int, stream: bool) -> None:
    kind, name = ERRORS[code]
    told = await heard("anthropic", status(code, message="so it is"), stream=stream)
    assert (told.status, told.error["type"]) == (code, "error")
    assert told.error["error"] == {"type": kind, "message": "so it is"}
    told = await heard("gemini", status(code, message="so it is"), stream=stream)
    assert told.status == code
    assert told.error["error"] == {"code": code, "message": "so it is", "status": name}


@OTHERS
async def test_when_to_come_back_stands_in_a_header_or_in_geminis_details(dialect: str) -> None:
    header, inside = await heard(dialect, KINDS["status_429"]), await heard(dialect, KINDS["status_429_body"])
    assert (header.headers["retry-after"], inside.headers.get("retry-after")) == ("1", None)
    assert ('"retryDelay":"1s"' in inside.raw.decode()) is (dialect == "gemini")


@OTHERS
@pytest.mark.parametrize(("name", "code"), [("error_in_stream", 500), ("overloaded_in_stream", 529)])
async def test_an_error_can_come_inside_a_stream(dialect: str, name: str, code: int) -> None:
    told = await heard(dialect, KINDS[name], stream=True)
    assert told.status == 200
    assert told.objects[-1] == told.error
    kind, word = ERRORS[code]
    assert (told.error["error"].get("type"), told.error["error"].get("status")) == (
        (kind, None) if dialect == "anthropic" else (None, word)
    )
    assert (b"event: error\n" in told.raw) is (dialect == "anthropic")
    assert (await heard(dialect, KINDS[name])).status == code


async def test_a_full_context_and_a_wrong_key_are_told_in_the_providers_own_words() -> None:
    assert "prompt is too long" in (await heard("anthropic", KINDS["context_exceeded"])).error["error"]["message"]
    assert "input token count" in (await heard("gemini", KINDS["context_exceeded"])).error["error"]["message"]
    wrong = await heard("anthropic", KINDS["key_refused"])
    assert (wrong.status, wrong.error["error"]["type"]) == (401, "authentication_error")
    wrong = await heard("gemini", KINDS["key_refused"])
    assert (wrong.status, wrong.error["error"]["details"][0]["reason"]) == (400, "API_KEY_INVALID")


# Networks.


@OTHERS
async def test_a_stream_is_cut_before_its_end_however_short_it_is(dialect: str) -> None:
    for name in ("half_stream", "half_arguments", "half_event", "reset_in_stream"):
        told = await heard(dialect, KINDS[name], stream=True)
        assert told.status == 200, name
        assert isinstance(told.broke, httpx.TransportError), name
        assert b"finishReason" not in told.raw, name
        assert b"message_delta" not in told.raw, name
    told = await heard(dialect, halved("x" * 100, events=4), stream=True)
    assert told.raw.count(b"data: ") == 4
    assert len((await heard(dialect, halved("x" * 100, octets=333), stream=True)).raw) == 333


@OTHERS
async def test_a_stream_may_end_in_many_ways(dialect: str) -> None:
    assert b"message_stop" not in (await heard(dialect, KINDS["no_done"], stream=True)).raw
    unfinished = await heard(dialect, KINDS["no_end"], stream=True)
    assert (unfinished.broke, unfinished.whole, unfinished.finish) == (None, False, None)
    late = await heard(dialect, KINDS["after_done"], stream=True)
    assert late.raw.rstrip().endswith(b'{"type":"ping"}' if dialect == "anthropic" else b'{"responseId":"late"}')
    assert b"Z\xfcrich" in (await heard(dialect, KINDS["bad_utf8"], stream=True)).raw


@OTHERS
@pytest.mark.parametrize(
    "name", ["split_utf8", "odd_packets", "token_per_character", "one_delta", "comments", "event_names", "crlf", "cr"]
)
async def test_a_stream_may_be_written_in_many_ways(dialect: str, name: str) -> None:
    told = await heard(dialect, KINDS[name], stream=True)
    assert (values(told), told.whole) == ([FINAL], True)


# What the server keeps: the same views, whoever asks.

MORE: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "aaaaaaaaa", "name": "get_time", "input": PARIS},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "aaaaaaaaa", "content": "15:42"}]},
    ],
    "gemini": [
        {
            "role": "model",
            "parts": [{"text": "I look."}, {"functionCall": {"id": "aaaaaaaaa", "name": "get_time", "args": PARIS}}],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "aaaaaaaaa", "name": "get_time", "response": {"output": "15:42"}}},
            ],
        },
    ],
}
FORCED: dict[str, dict[str, Any]] = {
    "anthropic": {"tool_choice": {"type": "tool", "name": "respond"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["respond"]}}},
}


async def asked_everywhere(
    openai: dict[str, Any], changes: dict[str, Any], *, more: bool = False, stream: bool = False
) -> list[Asked]:
    """The same request in all three dialects, `changes` to it by dialect; with `more`, a call and its result."""
    async with FaultServer(["x"] * 3, models=("m",)) as server:
        await hear_openai(server.base_url, {**openai, **({"stream": True} if stream else {})})
        for dialect in ("anthropic", "gemini"):
            added = MORE[dialect] if more else []
            await hear(server, dialect, asking(dialect, *added, **changes.get(dialect, {})), stream=stream)
        assert server.violations == []
        return server.requests


@BOTH
async def test_the_views_of_a_request_are_the_same_in_every_dialect(stream: bool) -> None:
    call_of_ours = {**called_openai("aaaaaaaaa"), "content": "I look."}
    openai = asking_openai(call_of_ours, result_openai("aaaaaaaaa"))
    forced = {"type": "function", "function": {"name": "respond"}}
    asked = await asked_everywhere({**openai, "tool_choice": forced}, FORCED, more=True, stream=stream)
    assert [each.dialect for each in asked] == ["openai", "anthropic", "gemini"]
    for each in asked:
        assert each.system == SYSTEM
        assert each.turns == [("user", PROMPT), ("assistant", "I look."), ("tool", "15:42")]
        assert [message["role"] for message in each.messages] == ["system", "user", "assistant", "tool"]
        (made,) = each.messages[2]["tool_calls"]
        assert (made["id"], made["function"]["name"]) == ("aaaaaaaaa", "get_time")
        assert json.loads(made["function"]["arguments"]) == PARIS
        assert each.messages[3]["tool_call_id"] == "aaaaaaaaa"
        assert each.tools == SCHEMAS
        assert (each.forced, each.result, each.said) == ("respond", "15:42", PROMPT)
        assert (each.stream, each.schema, each.thinking) == (stream, None, False)
    assert [each.model for each in asked] == ["m", *MODEL.values()]


async def test_a_schema_that_is_asked_for_is_seen_in_every_dialect() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    changes = {dialect: constrained(dialect, schema) for dialect in ("anthropic", "gemini")}
    asked = await asked_everywhere(asking_openai(tools=None, response_format=form), changes)
    assert [each.schema for each in asked] == [schema] * 3
    assert [each.tools for each in asked] == [{}] * 3


async def test_thinking_that_is_asked_for_is_seen_in_every_dialect() -> None:
    changes: dict[str, dict[str, Any]] = {
        "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        "gemini": {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}},
    }
    asked = await asked_everywhere(asking_openai(reasoning_effort="high"), changes)
    assert [each.thinking for each in asked] == [True] * 3


@pytest.mark.parametrize(
    ("anthropic", "gemini", "forced"),
    [
        ({"type": "any"}, {"mode": "ANY"}, "required"),
        ({"type": "auto"}, {"mode": "AUTO"}, None),
        ({"type": "none"}, {"mode": "NONE"}, None),
        ({"type": "any"}, {"mode": "ANY", "allowedFunctionNames": ["respond", "get_time"]}, "required"),
    ],
)
async def test_every_choice_is_read(anthropic: Any, gemini: Any, forced: str | None) -> None:
    async with FaultServer(["x"] * 2) as server:
        await hear(server, "anthropic", asking("anthropic", tool_choice=anthropic))
        await hear(server, "gemini", asking("gemini", toolConfig={"functionCallingConfig": gemini}))
        assert [each.forced for each in server.requests] == [forced] * 2
        assert server.violations == []


async def test_geminis_own_schemas_and_calls_without_ids_are_read() -> None:
    own = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
    declared = [{"functionDeclarations": [{"name": "get_time", "parameters": own}]}]
    more = [
        {"role": "model", "parts": [{"functionCall": {"name": "get_time", "args": PARIS}} for _ in range(2)]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "get_time", "response": {"time": n}}} for n in (1, 2)],
        },
    ]
    async with FaultServer(["x"]) as server:
        await hear(server, "gemini", asking("gemini", *more, tools=declared))
        (asked,) = server.requests
    assert asked.tools["get_time"] == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }
    ids = [call["id"] for call in asked.messages[2]["tool_calls"]]
    assert [each["tool_call_id"] for each in asked.messages[3:]] == ids
    assert [each["content"] for each in asked.messages[3:]] == ['{"time":1}', '{"time":2}']
    assert len(set(ids)) == 2


async def test_geminis_fields_may_be_spelled_with_underscores() -> None:
    body = asking("gemini", tools=None)
    snake = {
        "contents": body["contents"],
        "system_instruction": body["systemInstruction"],
        "generation_config": {"response_mime_type": "application/json", "response_json_schema": {"type": "object"}},
    }
    async with FaultServer(["x"]) as server:
        assert (await hear(server, "gemini", snake)).status == 200
        assert (server.requests[0].system, server.requests[0].schema) == (SYSTEM, {"type": "object"})


@OTHERS
async def test_requests_are_kept_without_their_secrets(dialect: str) -> None:
    name = {"anthropic": "X-Api-Key", "gemini": "X-Goog-Api-Key"}[dialect]
    async with FaultServer(["a", "b"], key="s3cret") as server:
        for key in ("s3cret", "wrong"):
            await hear(server, dialect, headers={name: key, "X-Own": "kept"})
        assert [each.authorized for each in server.requests] == [True, False]
        assert [each.answer for each in server.requests] == [
            "reply",
            "status_401" if dialect == "anthropic" else "key_refused",
        ]
        assert "s3cret" not in repr(server.requests)
        assert server.requests[0].headers["x-own"] == "kept"
        assert server.requests[0].body == asking(dialect)


async def test_geminis_key_may_stand_in_the_address() -> None:
    async with FaultServer(["a"], key="s3cret") as server, client() as http:
        url = f"{server.gemini_url}/v1beta/models/m:generateContent?key=s3cret"
        assert (await http.post(url, json=asking("gemini"))).status_code == 200
        assert (server.requests[0].authorized, server.requests[0].model) == (True, "m")
        assert "s3cret" not in repr(server.requests)


async def test_models_are_listed_and_other_paths_are_not_found_in_each_dialect() -> None:
    version = {"anthropic-version": "2023-06-01"}
    async with FaultServer(models=("one", "two")) as server, client() as http:
        listed = (await http.get(f"{server.anthropic_url}/v1/models", headers=version)).json()
        assert ([each["id"] for each in listed["data"]], listed["has_more"]) == (["one", "two"], False)
        listed = (await http.get(f"{server.gemini_url}/v1beta/models")).json()
        assert [each["name"] for each in listed["models"]] == ["models/one", "models/two"]
        lost = await http.get(f"{server.anthropic_url}/v1/nothing", headers=version)
        assert (lost.status_code, lost.json()["error"]["type"]) == (404, "not_found_error")
        lost = await http.get(f"{server.gemini_url}/v1beta/nothing")
        assert (lost.status_code, lost.json()["error"]["status"]) == (404, "NOT_FOUND")
        assert server.requests == []


async def test_one_server_answers_all_dialects_from_one_script() -> None:
    async with FaultServer(SCENARIOS["clock"], wire=Wire(chunking=3)) as server:
        told = [await hear(server, dialect, stream=True) for dialect in ("anthropic", "gemini")]
        assert [(each.names, values(each)) for each in told] == [(["get_time"], [PARIS])] * 2
        assert (await hear_openai(server.base_url, asking_openai())).names == ["get_time"]
        last = [await hear(server, dialect, asking(dialect, *MORE[dialect])) for dialect in ("anthropic", "gemini")]
        assert [values(each)[0]["message"] for each in last] == ["It is 15:42 in Paris."] * 2


async def test_the_action_schema_is_answered_with_an_action() -> None:
    one = {**ACTIONS["anyOf"][0], "additionalProperties": False}
    async with FaultServer(SCENARIOS["clock"], unchecked={"output"}) as server:
        told = await hear(server, "anthropic", asking("anthropic", **constrained("anthropic", one)))
        assert json.loads(told.text) == {"tool": "get_time", "arguments": PARIS}
        assert (await hear_openai(server.base_url, asking_openai(tools=None, response_format=CONSTRAINED))).text
