"""What an answer becomes: parts, finishes, counts, and what is carried back to the provider that signed it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.backends.direct.apis import (
    BOTH,
    CALL,
    HELLO,
    TOOLS,
    WAYS,
    Said,
    asked,
    called,
    event,
    given,
    replied,
    result,
    spoken,
)
from tests.backends.openai_raw import answer, serving, stream
from vancetope.backends.direct import Kind
from vancetope.messages import Assistant, Call, Finish, Reply, Usage, User


async def reply_to(kind: Kind, *parts: Said, streams: bool = False, **more: Any) -> Reply:
    async with serving(given(kind, *parts, streams=streams, **more)) as server:
        return await replied(kind, server, asked(kind, tools=TOOLS), streams=streams)


@BOTH
@WAYS
async def test_text_thinking_and_calls_come_back(kind: Kind, streams: bool) -> None:
    parts = (Said(thinking="It wants", signature="c2ln"), Said("Let me look."), CALL, replace(CALL, id="toolu_2"))
    reply = await reply_to(kind, *parts, streams=streams)
    assert (reply.text, reply.thinking, reply.finish) == ("Let me look.", "It wants", Finish.TOOL_CALLS)
    assert [(each.id, each.name, json.loads(each.arguments)) for each in reply.calls] == [
        ("toolu_1", "get_time", {"city": "Paris"}),
        ("toolu_2", "get_time", {"city": "Paris"}),
    ]
    assert (reply.requests, reply.end_turn, reply.cost) == (1, None, None)
    assert reply.model == ("claude-opus-4-6-1" if kind == "anthropic" else "gemini-2.5-flash-001")


@BOTH
@WAYS
async def test_an_empty_answer_is_a_reply(kind: Kind, streams: bool) -> None:
    reply = await reply_to(kind, streams=streams)
    assert (reply.text, reply.calls, reply.finish) == ("", (), Finish.STOP)
    blank = await reply_to(kind, Said(""), streams=streams)
    assert (blank.text, blank.finish) == ("", Finish.STOP)


@WAYS
@pytest.mark.parametrize(
    ("kind", "word", "finish", "end_turn"),
    [
        ("anthropic", "end_turn", Finish.STOP, None),
        ("anthropic", "stop_sequence", Finish.STOP, None),
        ("anthropic", "max_tokens", Finish.LENGTH, None),
        ("anthropic", "model_context_window_exceeded", Finish.LENGTH, None),
        ("anthropic", "refusal", Finish.REFUSAL, None),
        ("anthropic", "pause_turn", Finish.STOP, False),
        ("anthropic", "a_new_reason", Finish.UNKNOWN, None),
        ("gemini", "STOP", Finish.STOP, None),
        ("gemini", "MAX_TOKENS", Finish.LENGTH, None),
        ("gemini", "SAFETY", Finish.CONTENT_FILTER, None),
        ("gemini", "PROHIBITED_CONTENT", Finish.CONTENT_FILTER, None),
        ("gemini", "MALFORMED_FUNCTION_CALL", Finish.MALFORMED_CALL, None),
        ("gemini", "UNEXPECTED_TOOL_CALL", Finish.MALFORMED_CALL, None),
        ("gemini", "OTHER", Finish.UNKNOWN, None),
        ("gemini", "A_NEW_REASON", Finish.UNKNOWN, None),
    ],
)
async def test_every_reason_to_stop_is_known_or_unknown(
    kind: Kind, word: str, finish: Finish, end_turn: bool | None, streams: bool
) -> None:
    reply = await reply_to(kind, HELLO, finish=word, streams=streams)
    assert (reply.text, reply.finish, reply.end_turn) == ("Hello", finish, end_turn)


@BOTH
async def test_no_reason_to_stop_is_unknown_where_the_answer_came_whole(kind: Kind) -> None:
    assert (await reply_to(kind, HELLO, finish=None)).finish is Finish.UNKNOWN


async def test_why_anthropic_refuses_is_the_text_where_there_is_no_other() -> None:
    refused = spoken("anthropic", finish="refusal") | {"stop_details": {"explanation": "That I cannot help with."}}
    async with serving(answer(refused)) as server:
        reply = await replied("anthropic", server)
    assert (reply.text, reply.finish) == ("That I cannot help with.", Finish.REFUSAL)


@WAYS
async def test_a_prompt_that_gemini_blocks_is_filtered_content(streams: bool) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    said = stream(f"data: {json.dumps(blocked)}\r\n\r\n") if streams else answer(blocked)
    async with serving(said) as server:
        reply = await replied("gemini", server, streams=streams)
    assert (reply.text, reply.finish, reply.usage.input_tokens) == ("", Finish.CONTENT_FILTER, 9)


@WAYS
async def test_anthropics_counts_are_summed_to_all_input(streams: bool) -> None:
    counts = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    reply = await reply_to("anthropic", HELLO, streams=streams, **counts)
    assert reply.usage == Usage(
        input_tokens=123, output_tokens=9, cached_tokens=100, cache_write_tokens=20, thinking_tokens=4
    )


@WAYS
async def test_geminis_counts_hold_its_thoughts_in_the_output(streams: bool) -> None:
    counts = {
        "promptTokenCount": 120,
        "cachedContentTokenCount": 100,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 129,
    }
    reply = await reply_to("gemini", HELLO, streams=streams, **counts)
    assert reply.usage == Usage(input_tokens=120, output_tokens=9, cached_tokens=100, thinking_tokens=4)


@BOTH
@WAYS
async def test_tokens_that_nobody_counted_are_guessed(kind: Kind, streams: bool) -> None:
    zero = {"input_tokens": 0, "output_tokens": 0} if kind == "anthropic" else {"promptTokenCount": 0}
    usage = (await reply_to(kind, Said("Hello there"), streams=streams, **zero)).usage
    assert usage.estimated
    assert usage.input_tokens > 50
    assert usage.output_tokens == 3


@BOTH
async def test_the_limit_is_the_one_that_was_sent(kind: Kind) -> None:
    async with serving(given(kind, HELLO)) as server:
        assert (await replied(kind, server, asked(kind, max_tokens=99))).limit == 99
        named = {"max_tokens": 44} if kind == "anthropic" else {"generationConfig": {"maxOutputTokens": 44}}
        assert (await replied(kind, server, asked(kind, max_tokens=99, extra=named))).limit == 44
        assert (await replied(kind, server, asked(kind))).limit == (8192 if kind == "anthropic" else None)


@WAYS
async def test_what_anthropic_signed_goes_back_in_its_place(streams: bool) -> None:
    parts = (Said(thinking="It wants", signature="c2ln"), Said(signature="cmVk"), Said("Let me look."), CALL)
    first = await reply_to("anthropic", *parts, streams=streams)
    again = Assistant(first.text, (Call("c00100000", "get_time", first.calls[0].arguments),), first.carried)
    async with serving(given("anthropic", HELLO)) as server:
        request = asked("anthropic", User("x"), again, result(), thinking="low", extra={"cache_control": None})
        await replied("anthropic", server, request)
        assert server.asked[0].body["messages"][1]["content"] == [
            {"type": "thinking", "thinking": "It wants", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "cmVk"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c00100000", "name": "get_time", "input": {"city": "Paris"}},
        ]


@WAYS
async def test_what_gemini_signed_goes_back_in_its_place(streams: bool) -> None:
    parts = (Said(thinking="It wants"), Said("Let me look."), replace(CALL, signature="c2ln"), replace(CALL, id="2"))
    first = await reply_to("gemini", *parts, streams=streams)
    calls = tuple(Call(f"c0010000{number}", each.name, each.arguments) for number, each in enumerate(first.calls))
    async with serving(given("gemini", HELLO)) as server:
        messages = (User("x"), Assistant(first.text, calls, first.carried), result(), result(1))
        await replied("gemini", server, asked("gemini", *messages))
        assert [each.get("thoughtSignature") for each in server.asked[0].body["contents"][1]["parts"]] == [
            None,
            "c2ln",
            None,
        ]


@BOTH
@pytest.mark.parametrize("carried", ["", "no JSON", "[]", '{"version": 9}', "other"])
async def test_what_somebody_else_carried_is_ignored(kind: Kind, carried: str) -> None:
    other: Kind = "gemini" if kind == "anthropic" else "anthropic"
    if carried == "other":
        carried = (await reply_to(other, Said(thinking="secret", signature="c2ln"), HELLO)).carried
        assert "c2ln" in carried
    async with serving(given(kind, HELLO)) as server:
        request = asked(kind, User("x"), Assistant("Hello", (called(arguments="{}"),), carried), result())
        await replied(kind, server, request)
        text = server.asked[0].text
    assert "secret" not in text
    assert "c2ln" not in text


@BOTH
async def test_a_message_that_was_changed_keeps_what_is_signed(kind: Kind) -> None:
    parts = (Said(thinking="It wants", signature="c2ln"), Said("Let me look."), replace(CALL, signature="Y2FsbA=="))
    first = await reply_to(kind, *parts)
    changed = Assistant("Looking.", (Call("c00100000", "get_time", "{}"),), first.carried)
    async with serving(given(kind, HELLO)) as server:
        await replied(kind, server, asked(kind, User("x"), changed, result(), thinking="low"))
        text = server.asked[0].text
    assert "Looking." in text
    assert "Let me look." not in text
    assert ("c2ln" if kind == "anthropic" else "Y2FsbA==") in text


@BOTH
async def test_nothing_is_carried_where_nothing_was_signed(kind: Kind) -> None:
    assert (await reply_to(kind, Said("Hello"), CALL)).carried == ""


@BOTH
@WAYS
@pytest.mark.parametrize("arguments", [{}, {"a": {"b": [1, "é", None]}}, None])
async def test_arguments_come_back_as_their_json(kind: Kind, streams: bool, arguments: Any) -> None:
    reply = await reply_to(kind, Said(name="f", arguments=arguments), streams=streams and arguments is not None)
    assert json.loads(reply.calls[0].arguments) == (arguments or {})


@BOTH
@pytest.mark.parametrize("odd", ["{city: Paris", [1, 2], 7])
async def test_arguments_that_are_no_object_stay_what_they_were(kind: Kind, odd: Any) -> None:
    reply = await reply_to(kind, Said("x"), CALL, Said(name="f", arguments=odd, id="2"))
    assert [each.arguments for each in reply.calls] == [
        '{"city": "Paris"}',
        odd if isinstance(odd, str) else json.dumps(odd),
    ]


async def test_arguments_cut_in_a_stream_stay_what_they_were() -> None:
    reply = await reply_to(
        "anthropic", Said(name="f", arguments='{"city": "Par', id="1"), finish="max_tokens", streams=True
    )
    assert (reply.calls[0].arguments, reply.finish) == ('{"city": "Par', Finish.LENGTH)


LIMIT: dict[Kind, str] = {"anthropic": "max_tokens", "gemini": "MAX_TOKENS"}


@BOTH
@WAYS
@pytest.mark.parametrize("arguments", [{}, {"city": "Par"}, {"a": {"b": [1]}}])
async def test_a_call_that_the_limit_cut_is_no_whole_json(kind: Kind, streams: bool, arguments: Any) -> None:
    one = Said(name="get_time", arguments={"city": "Paris"}, id="1")
    cut = Said(name="get_time", arguments=arguments, id="2")
    if streams and kind == "anthropic":
        whole = spoken(kind, Said("Well"), one, cut, finish=LIMIT[kind])
        async with serving(answer(whole)) as server:  # a whole answer where a stream was asked for
            reply = await replied(kind, server, streams=True)
    else:
        reply = await reply_to(kind, Said("Well"), one, cut, finish=LIMIT[kind], streams=streams)
    assert reply.finish is Finish.LENGTH
    assert reply.calls[0].arguments == '{"city": "Paris"}'
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.calls[1].arguments)
    assert bool(reply.calls[1].arguments) is bool(arguments)


@BOTH
@WAYS
async def test_a_call_is_whole_where_the_limit_came_in_a_later_text(kind: Kind, streams: bool) -> None:
    reply = await reply_to(kind, CALL, Said("I wou"), finish=LIMIT[kind], streams=streams)
    assert (reply.finish, reply.calls[0].arguments) == (Finish.LENGTH, '{"city": "Paris"}')


async def test_a_call_that_a_stream_shows_to_its_end_is_whole_whatever_the_limit() -> None:
    reply = await reply_to("anthropic", CALL, finish="max_tokens", streams=True)
    assert (reply.finish, reply.calls[0].arguments) == (Finish.LENGTH, '{"city": "Paris"}')


@pytest.mark.parametrize("delta", ["", "{"])
async def test_a_call_of_which_the_limit_left_nothing_is_no_call_without_arguments(delta: str) -> None:
    reply = await reply_to("anthropic", Said(name="f", arguments=delta, id="1"), finish="max_tokens", streams=True)
    assert reply.calls[0].arguments == delta


async def test_arguments_in_the_beginning_of_a_call_that_the_limit_cut_are_no_whole_json() -> None:
    block = {"type": "tool_use", "id": "1", "name": "f", "input": {"city": "Par"}}
    start = event("message_start", message=spoken("anthropic", finish=None))
    begun = event("content_block_start", index=0, content_block=block)
    stop = event("content_block_stop", index=0)
    ends = event("message_delta", delta={"stop_reason": "max_tokens"}, usage={}) + event("message_stop")
    async with serving(stream(start, begun, stop, ends)) as server:
        reply = await replied("anthropic", server, streams=True)
        assert reply.calls[0].arguments == '{"city": "Par"'


@BOTH
@WAYS
async def test_calls_without_a_name_or_an_id_are_calls(kind: Kind, streams: bool) -> None:
    reply = await reply_to(kind, Said(name="", arguments={"a": 1}), Said(name="f", arguments={}), streams=streams)
    assert [each.name for each in reply.calls] == ["", "f"]
    assert json.loads(reply.calls[0].arguments) == {"a": 1}


@BOTH
@WAYS
async def test_ids_that_come_twice_are_harmless(kind: Kind, streams: bool) -> None:
    reply = await reply_to(kind, CALL, CALL, replace(CALL, arguments={"city": "Rome"}), streams=streams)
    assert [json.loads(each.arguments)["city"] for each in reply.calls] == ["Paris", "Paris", "Rome"]


ODD_ANTHROPIC: list[Any] = [
    {"content": None, "stop_reason": "end_turn"},
    {"content": "Hello", "stop_reason": "end_turn"},
    {"content": [None, 7, {"type": "text", "text": None}, {"type": "novelty"}, {"type": "text", "text": "Hello"}]},
    {"content": [{"type": "text", "text": "Hello"}], "usage": "many", "model": 7, "stop_reason": 3},
    {"stop_reason": "end_turn", "usage": {"input_tokens": "7", "output_tokens": -1}},
]
ODD_GEMINI: list[Any] = [
    {"candidates": None, "usageMetadata": {}},
    {"candidates": [{"content": None, "finishReason": "STOP"}]},
    {"candidates": [None], "usageMetadata": {"promptTokenCount": "7"}},
    {"candidates": [{"content": {"parts": [None, 7, {"text": None}, {"novelty": 1}, {"text": "Hello"}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "Hello", "thoughtSignature": "?"}]}}], "modelVersion": 7},
    [{"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "novelty": 1}], "novelty": {}}],
]


@pytest.mark.parametrize(
    ("kind", "data"), [*(("anthropic", each) for each in ODD_ANTHROPIC), *(("gemini", each) for each in ODD_GEMINI)]
)
@WAYS
async def test_odd_answers_are_replies_also_where_a_stream_was_asked_for(kind: Kind, data: Any, streams: bool) -> None:
    async with serving(answer(data)) as server:
        reply = await replied(kind, server, streams=streams)
        assert reply.text == ("Hello" if "Hello" in json.dumps(data) else "")
        assert len(server.asked) == 1


@BOTH
@WAYS
@pytest.mark.parametrize("data", [{}, [], "Hello", {"object": "list"}, None])
async def test_json_that_is_no_answer_is_broken(kind: Kind, data: Any, streams: bool) -> None:
    async with serving(answer(data)) as server:
        with pytest.raises(AssertionError, match=r"answers with JSON that is no reply"):
            await replied(kind, server, streams=streams, attempts=1)


@BOTH
async def test_json_where_a_stream_was_asked_for_is_told_in_pieces(kind: Kind) -> None:
    async with serving(given(kind, Said(thinking="hm", signature="c2ln"), HELLO, CALL)) as server:
        reply = await replied(kind, server, asked(kind, tools=TOOLS), streams=True)
        assert (reply.text, reply.thinking, len(reply.calls)) == ("Hello", "hm", 1)
        assert reply.carried


async def test_a_call_whose_arguments_stand_in_its_beginning_is_whole() -> None:
    block = {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}
    start = event("message_start", message=spoken("anthropic", finish=None))
    begun = event("content_block_start", index=0, content_block=block)
    delta = event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"a": 1}'})
    stop = event("content_block_stop", index=0)
    ends = event("message_delta", delta={"stop_reason": "tool_use"}, usage={}) + event("message_stop")
    for events in ((start, begun, stop, ends), (start, begun, delta, stop, ends)):
        async with serving(stream(*events)) as server:
            reply = await replied("anthropic", server, streams=True)
            assert reply.calls[0].arguments == '{"a": 1}'


async def test_events_without_their_beginning_are_read() -> None:
    delta = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hello"})
    lost = event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": "{}"})
    ends = event("message_delta", delta={"stop_reason": "end_turn"})
    async with serving(stream(delta, lost, event("novelty"), "data: [DONE]\n\n", ends)) as server:
        reply = await replied("anthropic", server, streams=True)
        assert (reply.text, reply.finish) == ("Hello", Finish.STOP)


@BOTH
async def test_a_stream_where_none_was_asked_for_is_broken(kind: Kind) -> None:
    async with serving(given(kind, HELLO, streams=True)) as server:
        with pytest.raises(AssertionError, match=r"answers with a stream where none was asked for"):
            await replied(kind, server, attempts=1)


@WAYS
@pytest.mark.parametrize("token", ["b3Bl", "no base64!"])
async def test_what_gemini_would_go_on_with_is_a_reply_at_its_limit(streams: bool, token: str) -> None:
    first = spoken("gemini", Said("Hel"), finish="CONTINUATION")
    first["candidates"][0]["continuationToken"] = token
    given = stream(f"data: {json.dumps(first)}\r\n\r\n") if streams else answer(first)
    async with serving(given) as server:
        reply = await replied("gemini", server, streams=streams)
        assert (reply.text, reply.finish, reply.requests) == ("Hel", Finish.LENGTH, 1)
        assert len(server.asked) == 1


async def test_a_later_zero_takes_no_count_back() -> None:
    start = event("message_start", message=spoken("anthropic", input_tokens=2500, cache_read_input_tokens=900))
    text = event("content_block_start", index=0, content_block={"type": "text", "text": "Hello"})
    counts = {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9}
    ends = event("message_delta", delta={"stop_reason": "end_turn"}, usage=counts) + event("message_stop")
    async with serving(stream(start, text, ends)) as server:
        usage = (await replied("anthropic", server, streams=True)).usage
        assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.estimated) == (3400, 900, 9, False)
    chunks = [
        spoken("gemini", HELLO, finish=None, promptTokenCount=7, candidatesTokenCount=2),
        spoken("gemini", promptTokenCount=0, candidatesTokenCount=0),
    ]
    async with serving(stream(*(f"data: {json.dumps(each)}\n\n" for each in chunks))) as server:
        usage = (await replied("gemini", server, streams=True)).usage
        assert (usage.input_tokens, usage.output_tokens) == (7, 2)


@BOTH
@WAYS
async def test_line_ends_of_unicode_are_part_of_the_text(kind: Kind, streams: bool) -> None:
    said = "a\u2028b\u2029c\x85d\x0be"
    call = Said(name="get_time", arguments={"city": said}, id="1")
    reply = await reply_to(kind, Said(said), call, streams=streams)
    assert (reply.text, json.loads(reply.calls[0].arguments)) == (said, {"city": said})


@BOTH
async def test_what_a_model_signed_goes_to_no_other(kind: Kind) -> None:
    parts = (Said(thinking="It wants", signature="c2ln"), replace(CALL, signature="Y2FsbA=="))
    first = await reply_to(kind, *parts)
    again = Assistant("", (Call("c00100000", "get_time", "{}"),), first.carried)
    other = {"anthropic": "claude-opus-4-8", "gemini": "gemini-3.7-flash"}[kind]
    async with serving(given(kind, HELLO)) as server:
        await replied(kind, server, asked(kind, User("x"), again, result(), model=other, thinking="low"))
        assert first.carried
        assert "c2ln" not in server.asked[0].text
        assert "Y2FsbA==" not in server.asked[0].text


def begun(index: int, given: Any) -> str:
    return event("content_block_start", index=index, content_block={**BLOCK, "input": given})


def more(index: int, text: str) -> str:
    return event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": text})


def ended(index: int) -> str:
    return event("content_block_stop", index=index)


BLOCK = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
ODD_STREAMS = [
    ((begun(0, ""), more(0, '{"i":20}'), ended(0)), ['{"i":20}']),
    ((begun(0, {"i": 6}),), ['{"i": 6}']),
    ((begun(0, {}), more(0, '{"i":1}'), ended(0), begun(0, {}), more(0, '{"i":2}'), ended(0)), ['{"i":1}', '{"i":2}']),
    ((begun(0, {"i": 1}), begun(0, {}), more(0, '{"i":2}')), ['{"i": 1}', '{"i":2}']),
    ((begun(0, {}), begun(1, {}), more(0, '{"i":1}'), more(1, '{"i":2}')), ['{"i":1}', '{"i":2}']),
]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(("sent", "arguments"), ODD_STREAMS)
async def test_calls_of_odd_streams_keep_their_arguments(sent: Any, arguments: list[str], marked: bool) -> None:
    start = event("message_start", message=spoken("anthropic", finish=None))
    text = event("content_block_start", index=0, content_block={"type": "text", "text": "Hello"}) + ended(0)
    ends = event("message_delta", delta={"stop_reason": "tool_use"}, usage={})
    async with serving(stream(start, text, *sent, ends, event("message_stop") if marked else "")) as server:
        reply = await replied("anthropic", server, streams=True)
        assert (reply.text, [each.arguments for each in reply.calls]) == ("Hello", arguments)


async def test_arguments_that_gemini_gives_in_pieces_are_not_whole() -> None:
    part = {"functionCall": {"name": "f", "willContinue": True, "partialArgs": [{"jsonPath": "$.i", "numberValue": 1}]}}
    whole = spoken("gemini", HELLO)
    whole["candidates"][0]["content"]["parts"].append(part)
    async with serving(answer(whole)) as server:
        reply = await replied("gemini", server)
        assert json.loads(reply.calls[0].arguments) == part["functionCall"]["partialArgs"]


@BOTH
@WAYS
async def test_a_byte_order_mark_before_an_answer_is_no_part_of_it(kind: Kind, streams: bool) -> None:
    body = b"\xef\xbb\xbf" + json.dumps(spoken(kind, HELLO)).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    async with serving([head + body]) as server:
        assert (await replied(kind, server, streams=streams)).text == "Hello"
