"""Every failure is one typed error in one sentence: who said what, and what to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
import stamina

from tests.backends.direct.apis import BOTH, HELLO, KEY, WAYS, Said, ask, asked, backend, event, events, given
from tests.backends.openai_raw import HANG_UP, HOLD, STREAM, Answer, answer, chunked, page, serving, stream
from vancetope.backends.base import Piece, Restarted, TextPiece
from vancetope.backends.direct import Kind, passage
from vancetope.backends.direct.client import DIALECTS
from vancetope.backends.openai import QuotaSpent
from vancetope.errors import (
    AuthRefused,
    CircuitOpen,
    ContextTooLong,
    ModelError,
    RateLimited,
    ReplyBroken,
    RequestRejected,
    ServerFailed,
    Unreachable,
    VancetopeError,
)
from vancetope.messages import Reply


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


def anthropic(kind: str, message: str = "so it is") -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def gemini(code: int, status: str, message: str = "so it is", *details: Any) -> Any:
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.5s"}
DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}]}

FAILURES: list[tuple[Kind, int, Any, type[ModelError], str]] = [
    ("anthropic", 401, anthropic("authentication_error"), AuthRefused, "Set ANTHROPIC_API_KEY to a valid key"),
    ("anthropic", 403, anthropic("permission_error"), AuthRefused, "refuses the key"),
    (
        "anthropic",
        404,
        anthropic("not_found_error", "model: x"),
        RequestRejected,
        "`vancetope models` lists the models",
    ),
    ("anthropic", 400, anthropic("invalid_request_error"), RequestRejected, 'rejects the request (400): "so it is"'),
    ("anthropic", 413, anthropic("request_too_large"), ContextTooLong, "Send less"),
    (
        "anthropic",
        400,
        anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
        ContextTooLong,
        "does not fit its context window",
    ),
    (
        "anthropic",
        400,
        anthropic(
            "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
        ),
        ContextTooLong,
        "does not fit its context window",
    ),
    (
        "anthropic",
        400,
        anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        QuotaSpent,
        "Add credit",
    ),
    ("anthropic", 429, anthropic("rate_limit_error"), RateLimited, "Wait, or ask less at a time"),
    ("anthropic", 500, anthropic("api_error"), ServerFailed, "Try again later"),
    ("anthropic", 529, anthropic("overloaded_error", "Overloaded"), ServerFailed, 'failed (529): "Overloaded"'),
    (
        "gemini",
        400,
        gemini(400, "INVALID_ARGUMENT", "API key not valid. Please pass one."),
        AuthRefused,
        "GEMINI_API_KEY",
    ),
    ("gemini", 403, gemini(403, "PERMISSION_DENIED"), AuthRefused, "refuses the key"),
    ("gemini", 404, gemini(404, "NOT_FOUND", "models/x is not found"), RequestRejected, "`vancetope models`"),
    ("gemini", 400, gemini(400, "INVALID_ARGUMENT"), RequestRejected, "rejects the request"),
    (
        "gemini",
        400,
        gemini(
            400, "INVALID_ARGUMENT", "The input token count (1048577) exceeds the maximum number of tokens allowed."
        ),
        ContextTooLong,
        "does not fit its context window",
    ),
    ("gemini", 429, gemini(429, "RESOURCE_EXHAUSTED", "Slow down", RETRY), RateLimited, "Slow down"),
    ("gemini", 429, gemini(429, "RESOURCE_EXHAUSTED", "You exceeded", DAY), QuotaSpent, "today"),
    ("gemini", 503, gemini(503, "UNAVAILABLE", "The model is overloaded."), ServerFailed, "overloaded"),
    ("gemini", 500, [gemini(500, "INTERNAL")], ServerFailed, "so it is"),
    ("gemini", 302, {}, RequestRejected, "set the base URL"),
    ("anthropic", 502, "<html><title>Bad gateway</title></html>", ServerFailed, '"Bad gateway"'),
]


@pytest.mark.parametrize(("kind", "status", "body", "expected", "said"), FAILURES)
@WAYS
async def test_a_failure_is_one_typed_sentence(
    kind: Kind, status: int, body: Any, expected: type[ModelError], said: str, streams: bool
) -> None:
    told = page(body, status, "text/html") if isinstance(body, str) else answer(body, status)
    async with serving(told) as server:
        error = await ask(kind, server, on_piece=(lambda piece: None) if streams else None, attempts=1)
        assert isinstance(error, expected), error
        assert type(error) is expected
        assert str(error).startswith(f"{kind} at http://127.0.0.1:{server.port} (model ")
        assert said in str(error)
        assert "\n" not in str(error)
        assert (error.status, error.requests, len(server.asked)) == (status, 1, 1)
        assert error.__cause__ is None
        assert error.__context__ is None


@BOTH
async def test_the_server_says_how_long_to_wait(kind: Kind) -> None:
    async with serving(answer({}, 429, retry_after="0.01"), given(kind, HELLO)) as server:
        reply = await ask(kind, server)
        assert isinstance(reply, Reply)
        assert reply.requests == 2
    async with serving(answer({}, 429, retry_after="99")) as server:
        error = await ask(kind, server)
        assert isinstance(error, RateLimited)
        assert (error.retry_after, len(server.asked)) == (99.0, 1)


async def test_gemini_says_it_in_the_details() -> None:
    async with serving(
        answer(gemini(429, "RESOURCE_EXHAUSTED", "Slow down", {**RETRY, "retryDelay": "41.5s"}), 429)
    ) as server:
        error = await ask("gemini", server)
        assert isinstance(error, RateLimited)
        assert error.retry_after == 41.5


@BOTH
@pytest.mark.parametrize(
    "first",
    [
        answer({}, 500),
        answer({}, 529),
        page("", 200),
        page("not JSON"),
        [HANG_UP],
        page("<html></html>", kind="text/html"),
    ],
    ids=["500", "529", "empty", "prose", "hang up", "page"],
)
async def test_only_our_own_layer_tries_again(kind: Kind, first: Answer) -> None:
    sent: list[int] = []
    async with serving(first, given(kind, HELLO)) as server:
        reply = await ask(kind, server, asked(kind, on_send=lambda: sent.append(1)))
        assert isinstance(reply, Reply)
        assert (reply.requests, len(server.asked), len(sent)) == (2, 2, 2)
    for attempts in (1, 2):
        async with serving(answer({}, 500)) as server:
            error = await ask(kind, server, attempts=attempts)
            assert isinstance(error, ServerFailed)
            assert (error.requests, len(server.asked)) == (attempts, attempts)


@BOTH
async def test_a_model_that_is_down_is_left_alone(kind: Kind) -> None:
    async with serving(answer({}, 500)) as server:
        one = backend(kind, server, attempts=1)
        for _ in range(3):
            with pytest.raises(ServerFailed):
                await one.complete(asked(kind))
        with pytest.raises(CircuitOpen):
            await one.complete(asked(kind))
        assert len(server.asked) == 3
        await one.aclose()


def failing_inside(kind: Kind) -> list[str]:
    if kind == "gemini":
        return [*events(kind, HELLO)[:1], f"data: {json.dumps(gemini(503, 'UNAVAILABLE', 'Overloaded'))}\r\n\r\n"]
    failure = f"event: error\ndata: {json.dumps(anthropic('overloaded_error', 'Overloaded'))}\n\n"
    return [*events(kind, HELLO)[:4], failure]


@BOTH
async def test_a_failure_inside_a_stream_is_typed_and_tried_again(kind: Kind) -> None:
    pieces: list[Piece] = []
    async with serving(stream(*failing_inside(kind)), given(kind, HELLO, streams=True)) as server:
        reply = await ask(kind, server, on_piece=pieces.append)
        assert isinstance(reply, Reply)
        assert (reply.text, reply.requests) == ("Hello", 2)
    restarted = pieces.index(Restarted())
    assert "".join(each.text for each in pieces[restarted:] if isinstance(each, TextPiece)) == "Hello"
    async with serving(stream(*failing_inside(kind))) as server:
        error = await ask(kind, server, on_piece=pieces.append, attempts=1)
        assert isinstance(error, ServerFailed)
        assert 'Overloaded"' in str(error)
        assert error.status == (503 if kind == "gemini" else 529)


@BOTH
async def test_a_failure_inside_a_whole_answer_is_typed(kind: Kind) -> None:
    body = gemini(429, "RESOURCE_EXHAUSTED") if kind == "gemini" else anthropic("rate_limit_error")
    async with serving(answer(body)) as server:
        error = await ask(kind, server, attempts=1)
        assert isinstance(error, RateLimited)


@BOTH
@pytest.mark.parametrize("end", ["end", "hang up", "half a chunk"])
async def test_a_stream_that_ends_in_the_middle_is_no_short_reply(kind: Kind, end: str) -> None:
    whole = events(kind, Said("Hello world"))
    cut = whole[: 1 if kind == "gemini" else -2]
    steps = {"end": stream(*cut), "hang up": stream(*cut, end=HANG_UP), "half a chunk": stream(*cut, 'data: {"a')}
    async with serving(steps[end]) as server:
        pieces: list[Piece] = []
        error = await ask(kind, server, on_piece=pieces.append, attempts=1)
        assert isinstance(error, ReplyBroken), error
        assert "in the middle" in str(error) or "no JSON" in str(error)
        assert "after 11 characters" in str(error)
        assert pieces


@BOTH
async def test_what_fails_behind_the_finish_costs_nothing(kind: Kind) -> None:
    whole = events(kind, HELLO)
    for end in (stream(*whole, end=HANG_UP), stream(*whole, "data: {cut", end=HANG_UP)):
        async with serving(end) as server:
            reply = await ask(kind, server, on_piece=lambda piece: None)
            assert isinstance(reply, Reply), reply
            assert (reply.text, reply.requests) == ("Hello", 1)


async def test_an_end_mark_ends_the_reply_although_the_server_keeps_the_stream_open() -> None:
    async with serving([STREAM, *map(chunked, events("anthropic", HELLO)), HOLD]) as server:
        reply = await ask("anthropic", server, on_piece=lambda piece: None)
        assert isinstance(reply, Reply)
        assert reply.text == "Hello"


@BOTH
async def test_silence_in_a_stream_ends_it(kind: Kind) -> None:
    async with serving([STREAM, *map(chunked, events(kind, HELLO)[: 1 if kind == "gemini" else 4]), HOLD]) as server:
        error = await ask(kind, server, on_piece=lambda piece: None, attempts=1, idle_timeout=0.2)
        assert isinstance(error, ReplyBroken)
        assert "fell silent for 0.2 s" in str(error)


@BOTH
@WAYS
async def test_the_timeout_bounds_everything(kind: Kind, streams: bool) -> None:
    on_piece = (lambda piece: None) if streams else None
    async with serving([HOLD]) as server:
        error = await ask(kind, server, asked(kind, timeout=0.3), on_piece)
        assert isinstance(error, Unreachable)
        assert "gave no answer within 0.3 s" in str(error)
    async with serving([b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", HOLD]) as server:
        error = await ask(kind, server, asked(kind, timeout=0.3), on_piece)
        assert isinstance(error, ReplyBroken)
        assert "did not finish within 0.3 s" in str(error)


@BOTH
async def test_a_server_that_is_not_there_cannot_be_reached(kind: Kind) -> None:
    async with serving(given(kind, HELLO)) as server:
        pass
    error = await ask(kind, server, attempts=1)
    assert isinstance(error, Unreachable)
    assert "cannot be reached" in str(error)
    assert "Check the base URL." in str(error)


@BOTH
async def test_an_answer_without_end_is_given_up(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vancetope.backends.openai.bodies.LARGEST_ANSWER", 1000)
    async with serving(given(kind, Said("x" * 2000))) as server:
        error = await ask(kind, server, attempts=1)
        assert isinstance(error, ReplyBroken)
        assert "sends more than" in str(error)


@BOTH
@WAYS
async def test_what_a_listener_raises_is_its_own(kind: Kind, streams: bool) -> None:
    def fails(*piece: Any) -> None:
        raise ZeroDivisionError("mine")

    async with serving(given(kind, HELLO, streams=streams)) as server:
        request = asked(kind) if streams else asked(kind, on_send=fails)
        with pytest.raises(ZeroDivisionError, match="mine"):
            await backend(kind, server).complete(request, fails if streams else None)
        assert len(server.asked) == int(streams)


@BOTH
@pytest.mark.parametrize(
    ("code", "kind_of_error"),
    [("429", RateLimited), (429.0, RateLimited), ("401", AuthRefused), (True, ServerFailed), (1e400, ServerFailed)],
)
async def test_a_code_inside_an_answer_may_be_a_text(kind: Kind, code: Any, kind_of_error: type[ModelError]) -> None:
    async with serving(answer({"error": {"code": code, "message": "so it is"}})) as server:
        assert type(await ask(kind, server, attempts=1)) is kind_of_error


@BOTH
@WAYS
async def test_a_failure_that_is_nested_deep_is_a_failure(kind: Kind, streams: bool) -> None:
    deep = '{"type": "error", "error": {"details": ' + "[" * 900 + "]" * 900 + "}}"
    answers = stream(f"event: error\ndata: {deep}\n\n") if streams else page(deep)
    async with serving(answers) as server:
        error = await ask(kind, server, on_piece=(lambda piece: None) if streams else None, attempts=1)
        assert isinstance(error, ServerFailed | ReplyBroken)


@BOTH
@pytest.mark.parametrize("method", ["answer", "patched"])
async def test_a_mistake_of_ours_is_typed_too(kind: Kind, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any) -> Any:
        raise TypeError(f"unhashable: {KEY}")

    monkeypatch.setattr(type(DIALECTS[kind]), method, fails)
    async with serving(given(kind, HELLO)) as server:
        with pytest.raises(VancetopeError, match=r"cannot be (read|built): \"unhashable: \*\*\*\"") as failed:
            await backend(kind, server, attempts=1).complete(asked(kind))
        assert failed.value.__context__ is None


@BOTH
async def test_comments_behind_a_whole_reply_do_not_hold_it(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage, "AFTER_FINISH", 0.3)
    pings = [part for _ in range(200) for part in (0.05, chunked(": ping\n\n"))]
    said = [chunked(each) for each in events(kind, HELLO)]
    async with serving([STREAM, *said, *pings]) as server, asyncio.timeout(8):
        reply = await ask(kind, server, on_piece=lambda piece: None)
        assert isinstance(reply, Reply)
        assert reply.text == "Hello"


async def test_events_that_name_no_known_failure_are_one_of_the_server() -> None:
    for told in ("data: {}\n\n", 'data: {"type": "error", "error": "out of luck"}\n\n'):
        async with serving(stream(events("anthropic", HELLO)[0], f"event: error\n{told}")) as server:
            error = await ask("anthropic", server, on_piece=lambda piece: None, attempts=1)
            assert isinstance(error, ServerFailed)


async def test_a_stream_without_an_event_is_broken() -> None:
    async with serving(stream(event("ping"))) as server:
        error = await ask("anthropic", server, on_piece=lambda piece: None, attempts=1)
        assert isinstance(error, ReplyBroken)
        assert "in the middle" in str(error)
