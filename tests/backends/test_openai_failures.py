"""What a server's failure becomes: a typed error of one sentence that says who said what, and what to do."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from tests.backends.openai_raw import HANG_UP, HOLD, STREAM, chunked, delta, event, page, serving, stream
from vancetope.backends.base import Request
from vancetope.backends.openai import PROFILES, OpenAICompatible, Profile, QuotaSpent, bodies
from vancetope.backends.openai.failures import Where, failed_inside, lost
from vancetope.backends.openai.waiting import retry_after
from vancetope.errors import (
    AuthRefused,
    ConfigError,
    ContextTooLong,
    ModelError,
    RateLimited,
    ReplyBroken,
    RequestRejected,
    ServerFailed,
    Unreachable,
)
from vancetope.messages import User

ASKED = Request("gpt-x", "", (User("hello"),), timeout=5.0)
KEY = "sk-proj-topsecret1234"


async def failure(
    *answers: Any, profile: Profile = PROFILES["openai"], streamed: bool = False, asked: Request = ASKED, **options: Any
) -> ModelError:
    async with serving(*answers) as server:
        backend = OpenAICompatible(server.url, KEY, profile=profile, attempts=1, **options)
        try:
            with pytest.raises(ModelError) as caught:
                await backend.complete(asked, (lambda piece: None) if streamed else None)
        finally:
            await backend.aclose()
    error = caught.value
    assert error.requests == len(server.asked) == 1
    assert "\n" not in str(error)
    assert KEY not in str(error)
    return error


def error_of(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, **more}})


STATUSES: list[tuple[int, str, type[ModelError], tuple[str, ...]]] = [
    (401, error_of("Incorrect API key provided"), AuthRefused, ("401", '"Incorrect API key', "Set OPENAI_API_KEY")),
    (403, error_of("Country not supported"), AuthRefused, ("403", '"Country not supported"', "OPENAI_API_KEY")),
    (404, error_of("no such model", code="model_not_found"), RequestRejected, ("gpt-x", "`vancetope models`")),
    (404, "404 page not found", RequestRejected, ('"404 page not found"', "/v1")),
    (400, error_of("bad", code="context_length_exceeded"), ContextTooLong, ("context window (400)",)),
    (400, error_of("This model's maximum context length is 8 tokens."), ContextTooLong, ("larger window",)),
    (
        400,
        error_of("the request exceeds the available context size", type="exceed_context_size_error", n_ctx=256),
        ContextTooLong,
        ("exceeds the available",),
    ),
    (500, error_of("too big", type="exceed_context_size_error"), ContextTooLong, ("(500)",)),
    (400, error_of("prompt is too long: 9 tokens"), ContextTooLong, ("prompt is too long",)),
    (400, json.dumps({"message": "x" * 400 + " maximum context length"}), ContextTooLong, ("...",)),
    (413, "", RequestRejected, ("(413)",)),
    (400, error_of("Unknown field"), RequestRejected, ('(400): "Unknown field"',)),
    (422, json.dumps({"detail": [{"loc": ["body"], "msg": "field required"}]}), RequestRejected, ('"field required"',)),
    (400, json.dumps({"error": "no such thing"}), RequestRejected, ('"no such thing"',)),
    (429, error_of("slow down"), RateLimited, ("fewer requests",)),
    (429, error_of("You exceeded your quota", code="insufficient_quota"), QuotaSpent, ("no credit left",)),
    (429, error_of("You exceeded your quota", type="insufficient_quota"), QuotaSpent, ("Add credit",)),
    (402, error_of("Insufficient Balance"), QuotaSpent, ("(402)", "Insufficient Balance")),
    (408, "", ServerFailed, ("(408)",)),
    (409, "", ServerFailed, ("(409)",)),
    (500, error_of("oops"), ServerFailed, ('failed (500): "oops"',)),
    (502, "<html><title>502 Bad Gateway</title>\n<p>x</p></html>", ServerFailed, ('"502 Bad Gateway"',)),
    (503, error_of("Loading model", type="unavailable_error"), ServerFailed, ('"Loading model"',)),
    (529, error_of("busy", type="overloaded_error"), ServerFailed, ("busy",)),
    (500, "", ServerFailed, ("failed (500). Try again",)),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "words"), STATUSES)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_status_becomes_its_error(
    status: int, body: str, kind: type[ModelError], words: tuple[str, ...], streamed: bool
) -> None:
    error = await failure(page(body, status), streamed=streamed)
    assert type(error) is kind
    assert error.status == status
    assert str(error).startswith("openai at http://127.0.0.1:")
    assert "(model gpt-x)" in str(error)
    for word in words:
        assert word in str(error)


def test_no_credit_is_a_rate_limit_that_waiting_cannot_help() -> None:
    assert issubclass(QuotaSpent, RateLimited)
    assert not QuotaSpent.retryable


async def test_a_redirect_says_where_to() -> None:
    error = await failure(page("", 308, location="https://x.example/v1/chat/completions"))
    assert type(error) is RequestRejected
    assert "redirects to https://x.example/v1/chat/completions (308)" in str(error)


async def test_a_servers_words_are_cut_to_300_characters() -> None:
    error = await failure(page(error_of("word " * 1000), 400))
    quoted = str(error).split('"')[1]
    assert len(quoted) == 300
    assert quoted.endswith("...")


async def test_a_profile_without_key_variable_still_gives_advice() -> None:
    error = await failure(page("", 401), profile=PROFILES["local"])
    assert str(error).endswith("Give it a valid key.")


async def test_an_endless_error_page_is_read_only_in_part() -> None:
    error = await failure([b"HTTP/1.1 500 No\r\n\r\n", b"x" * 100_000, HOLD])
    assert type(error) is ServerFailed


async def test_an_error_page_that_breaks_off_is_still_that_error() -> None:
    error = await failure([b"HTTP/1.1 401 No\r\ncontent-length: 999\r\n\r\nno key", HANG_UP])
    assert type(error) is AuthRefused
    assert '"no key"' in str(error)


INSIDE: list[tuple[Any, type[ModelError], int | None, str]] = [
    ({"message": "Overloaded", "type": "overloaded_error"}, ServerFailed, None, '"Overloaded"'),
    ({"message": "slow down", "code": "rate_limit_exceeded"}, RateLimited, 429, "fewer requests"),
    ({"message": "slow down", "code": 429}, RateLimited, 429, "fewer requests"),
    ({"message": "slow down", "code": "429"}, RateLimited, 429, "fewer requests"),
    ({"message": "no", "type": "invalid_request_error"}, RequestRejected, 400, "rejects"),
    ({"message": "no", "code": "context_length_exceeded"}, ContextTooLong, None, "context window"),
    ({"message": "no", "type": "exceed_context_size_error", "code": 400}, ContextTooLong, 400, "context window"),
    ({"message": "no", "code": "invalid_api_key"}, AuthRefused, 401, "refuses the key"),
    ({"message": "no", "code": "insufficient_quota"}, QuotaSpent, 429, "no credit"),
    ("it broke", ServerFailed, None, '"it broke"'),
]


@pytest.mark.parametrize(("error", "kind", "status", "words"), INSIDE)
@pytest.mark.parametrize("form", ["data", "event: error", "error field", "whole", "whole with empty choices"])
async def test_an_error_inside_a_good_answer_is_typed_too(
    error: Any, kind: type[ModelError], status: int | None, words: str, form: str
) -> None:
    data = {"error": error}
    if form.startswith("whole"):
        given = page(json.dumps(data if form == "whole" else {**data, "choices": []}))
    elif form == "error field":
        given = stream(delta(content="Hel"), f"error: {json.dumps(error)}\n\n")
    else:
        prefix = "event: error\n" if form.startswith("event") else ""
        given = stream(delta(content="Hel"), prefix + event(error if prefix else data))
    found = await failure(given, streamed=True)
    assert type(found) is kind
    assert found.status == status
    assert words in str(found)


async def test_an_error_member_beside_a_reply_is_no_error() -> None:
    body = {"error": None, "choices": [{"message": {"content": "hi"}}]}
    async with serving(page(json.dumps(body))) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"])
        assert (await backend.complete(ASKED)).text == "hi"
        await backend.aclose()


@pytest.mark.parametrize(
    ("profile", "words"), [("ollama", "Start it with `ollama serve`."), ("local", "Check the base URL.")]
)
async def test_a_server_that_is_not_there_is_unreachable(profile: str, words: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        backend = OpenAICompatible(f"http://127.0.0.1:{port}/v1", profile=PROFILES[profile], attempts=1)
        with pytest.raises(Unreachable, match="cannot be reached") as caught:
            await backend.complete(ASKED)
        with pytest.raises(Unreachable, match="cannot be reached"):
            await backend.list_models()
        await backend.aclose()
    assert str(caught.value).endswith(words)


@pytest.mark.parametrize(
    ("given", "words"),
    [([HANG_UP], "closed the connection without an answer"), ([b"SSH-2.0-OpenSSH\r\n\r\n"], "without an answer")],
)
async def test_a_server_that_says_nothing_of_use_is_unreachable(given: Any, words: str) -> None:
    error = await failure(given)
    assert type(error) is Unreachable
    assert words in str(error)


async def test_a_silent_server_is_given_up_when_the_time_is_over() -> None:
    asked = Request("gpt-x", "", (User("hello"),), timeout=0.1)
    error = await failure([HOLD], asked=asked)
    assert type(error) is Unreachable
    assert str(error).endswith("gave no answer within 0.1 s")


async def test_a_slow_reply_is_given_up_when_the_time_is_over() -> None:
    asked = Request("gpt-x", "", (User("hello"),), timeout=0.1)
    for streamed in (False, True):
        error = await failure([STREAM, chunked(delta(content="Hello")), HOLD], streamed=streamed, asked=asked)
        assert type(error) is ReplyBroken
        assert "did not finish within 0.1 s; 5 characters" in str(error)
    error = await failure([b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n", HOLD], asked=asked)
    assert "did not finish within 0.1 s; 0 characters" in str(error)


async def test_a_stream_that_falls_silent_is_broken() -> None:
    error = await failure([STREAM, chunked(delta(content="Hello")), HOLD], streamed=True, idle_timeout=0.05)
    assert type(error) is ReplyBroken
    assert "fell silent for 0.05 s; 5 characters" in str(error)


async def test_a_stream_that_lives_by_comments_is_not_silent() -> None:
    parts = [part for _ in range(8) for part in (": still here\n\n", 0.02)]
    async with serving(stream(delta(content="a"), *parts, delta("stop", content="b"))) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"], idle_timeout=0.1)
        assert (await backend.complete(ASKED, lambda piece: None)).text == "ab"
        await backend.aclose()


async def test_a_model_may_think_before_its_first_chunk_as_long_as_there_is_time() -> None:
    async with serving([STREAM, 0.2, *stream(delta("stop", content="b"))[1:]]) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"], idle_timeout=0.05)
        assert (await backend.complete(ASKED, lambda piece: None)).text == "b"
        await backend.aclose()


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_answer_of_no_end_is_given_up(streamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "LARGEST_ANSWER", 1024 * 1024)
    body = delta(content="x" * 100_000) if streamed else "{" + " " * 100_000
    error = await failure([STREAM, *(chunked(body) for _ in range(12)), HOLD], streamed=streamed)
    assert type(error) is ReplyBroken
    assert "more than 1 MiB" in str(error)


async def test_a_model_name_that_no_server_has_is_still_one_sentence() -> None:
    asked = Request("no\nsuch model 🙂", "", (User("x"),))
    async with serving(page(error_of("unknown"), 404)) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"], attempts=1)
        with pytest.raises(RequestRejected) as caught:
            await backend.complete(asked)
        await backend.aclose()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_the_time_to_wait_is_read_from_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_to_come_is_seconds_from_now() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    found = retry_after({"retry-after": date})
    assert found is not None
    assert 50 < found <= 60


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (httpx.LocalProtocolError("Illegal header value"), ConfigError, "cannot be sent"),
        (httpx.UnsupportedProtocol("no"), ConfigError, "cannot be sent"),
        (httpx.ProxyError("407 Proxy Authentication Required"), Unreachable, "through the proxy"),
        (httpx.ConnectTimeout(""), Unreachable, "cannot be reached. Check"),
        (httpx.ReadError(""), Unreachable, "without an answer."),
    ],
)
def test_a_failed_connection_is_typed_by_what_failed(error: httpx.RequestError, kind: type, words: str) -> None:
    found = lost(Where(PROFILES["local"], "http://x"), error, answered=False, characters=0)
    assert type(found) is kind
    assert words in str(found)


@pytest.mark.parametrize("code", ["9" * 5000, "٤٠٤", "4040", "-1", "429.0", "1" + "0" * 400])
def test_a_code_that_is_no_status_is_only_a_word(code: str) -> None:
    found = failed_inside(Where(PROFILES["openai"], "http://127.0.0.1:1"), {"code": code, "message": "m"})
    assert found.status is None
