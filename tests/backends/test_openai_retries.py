"""When a request is sent again, how often, and what the listener is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
import stamina

from tests.backends.openai_raw import (
    DONE,
    HANG_UP,
    HOLD,
    STREAM,
    USAGE,
    Answer,
    Raw,
    answer,
    chunked,
    delta,
    page,
    said,
    serving,
    stream,
)
from vancetope.backends.base import Piece, Request, Restarted, TextPiece
from vancetope.backends.openai import PROFILES, OpenAICompatible
from vancetope.errors import ModelError, RateLimited, ReplyBroken, ServerFailed
from vancetope.messages import Reply, User

ASKED = Request("m", "", (User("hello"),), timeout=10.0)
GOOD = stream(delta(content="Hel"), delta("stop", content="lo"), USAGE, DONE)


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


async def ask(
    server: Raw, pieces: list[Piece] | None = None, *, asked: Request = ASKED, attempts: int = 3
) -> Reply | ModelError:
    backend = OpenAICompatible(server.url, profile=PROFILES["vllm"], attempts=attempts)
    try:
        return await backend.complete(asked, None if pieces is None else pieces.append)
    except ModelError as error:
        return error
    finally:
        await backend.aclose()


@pytest.mark.parametrize(
    ("given", "requests"),
    [
        (page("", 400), 1),
        (page("", 401), 1),
        (page("", 402), 1),
        (page("", 403), 1),
        (page("", 404), 1),
        (page("", 422), 1),
        (page("", 308), 1),
        (answer({"error": {"code": "insufficient_quota"}}, 429), 1),
        (page("", 501), 1),
        (answer({"error": {"code": "context_length_exceeded"}}, 500), 1),
        (page("", 408), 3),
        (page("", 409), 3),
        (page("", 425), 3),
        (page("", 429), 3),
        (page("", 500), 3),
        (page("", 502), 3),
        (page("", 503), 3),
        (page("", 529), 3),
        ([HANG_UP], 3),
        (answer({"error": {"message": "broke"}}), 3),
        (page("<html>"), 2),
        (page("{}"), 2),
        ([STREAM, chunked(delta(content="a")), HANG_UP], 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_only_what_may_go_away_is_tried_again(given: Answer, requests: int, streamed: bool) -> None:
    async with serving(given) as server:
        error = await ask(server, [] if streamed else None)
    assert isinstance(error, ModelError)
    assert error.requests == len(server.asked) == requests


async def test_a_reply_counts_every_request_that_it_took() -> None:
    async with serving(page("", 500), page("", 429), said("Hello")) as server:
        reply = await ask(server)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.requests, len(server.asked)) == ("Hello", 3, 3)


async def test_every_request_is_the_same() -> None:
    async with serving(page("", 500), page("", 500), said()) as server:
        await ask(server)
    assert len({asked.text for asked in server.asked}) == 1


async def test_the_number_of_attempts_is_a_setting() -> None:
    for attempts in (1, 2, 5):
        async with serving(page("", 500)) as server:
            error = await ask(server, attempts=attempts)
        assert isinstance(error, ServerFailed)
        assert error.requests == len(server.asked) == attempts


async def test_different_failures_share_one_count() -> None:
    async with serving(page("{}"), page("", 500), page("{}"), said()) as server:
        error = await ask(server, attempts=9)
    assert isinstance(error, ReplyBroken), "the second broken reply is the last"
    assert error.requests == 3


async def test_the_listener_is_told_before_a_reply_begins_anew() -> None:
    cut = stream(delta(content="Hel"), end=HANG_UP)
    pieces: list[Piece] = []
    async with serving(cut, GOOD) as server:
        reply = await ask(server, pieces)
    assert isinstance(reply, Reply)
    assert reply.text == "Hello"
    assert pieces == [TextPiece("Hel"), Restarted(), TextPiece("Hel"), TextPiece("lo")]


async def test_nothing_is_taken_back_where_nothing_was_shown() -> None:
    pieces: list[Piece] = []
    async with serving(page("", 500), stream(delta(role="assistant"), end=HANG_UP), GOOD) as server:
        await ask(server, pieces)
    assert pieces == [TextPiece("Hel"), TextPiece("lo")]


async def test_what_was_shown_is_taken_back_once() -> None:
    pieces: list[Piece] = []
    async with serving(stream(delta(content="x"), end=HANG_UP), page("", 500), GOOD) as server:
        await ask(server, pieces)
    assert pieces == [TextPiece("x"), Restarted(), TextPiece("Hel"), TextPiece("lo")]


async def test_a_failure_for_good_takes_nothing_back() -> None:
    pieces: list[Piece] = []
    async with serving(stream(delta(content="x"), end=HANG_UP)) as server:
        assert isinstance(await ask(server, pieces, attempts=1), ReplyBroken)
    assert pieces == [TextPiece("x")]


async def test_a_wait_longer_than_the_time_left_is_not_begun() -> None:
    async with serving(page("", 429, retry_after="60")) as server:
        error = await ask(server)
    assert isinstance(error, RateLimited)
    assert (error.retry_after, error.requests) == (60.0, 1)


async def test_the_test_mode_takes_the_servers_wait_away_too() -> None:
    begun = time.monotonic()
    async with serving(page("", 429, retry_after="5"), said()) as server:
        assert isinstance(await ask(server), Reply)
    assert time.monotonic() - begun < 2


async def test_outside_the_test_mode_the_servers_wait_is_kept() -> None:
    begun = time.monotonic()
    with stamina.set_testing(False):
        async with serving(page("", 503, retry_after="0.3"), said()) as server:
            assert isinstance(await ask(server), Reply)
    assert 0.3 <= time.monotonic() - begun < 2


async def test_everything_stays_inside_the_time_of_the_request() -> None:
    begun = time.monotonic()
    with stamina.set_testing(False):
        async with serving(page("", 500)) as server:
            error = await ask(server, asked=Request("m", "", (User("x"),), timeout=0.5), attempts=9)
    assert isinstance(error, ServerFailed), "what the server said, not that time ran out"
    assert time.monotonic() - begun < 0.6


@pytest.mark.parametrize("kind", [TimeoutError, ValueError, RecursionError, httpx.ReadError, ServerFailed])
async def test_a_listener_that_fails_is_heard_at_once(kind: type[BaseException]) -> None:
    told: list[Piece] = []

    def fails(piece: Piece) -> None:
        told.append(piece)
        raise kind("mine")

    async with serving(GOOD) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"])
        with pytest.raises(kind, match="mine"):
            await backend.complete(ASKED, fails)
        await asyncio.wait_for(server.gone.wait(), 2)
        await backend.aclose()
    assert len(server.asked) == len(told) == 1


async def test_a_failed_listing_of_models_is_not_repeated() -> None:
    async with serving(page("", 500)) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"])
        with pytest.raises(ServerFailed):
            await backend.list_models()
        await backend.aclose()
    assert len(server.asked) == 1


async def test_cancelling_while_waiting_for_the_next_attempt_ends_at_once() -> None:
    with stamina.set_testing(False):
        async with serving(page("", 503, retry_after="5"), [HOLD]) as server:
            backend = OpenAICompatible(server.url, profile=PROFILES["vllm"])
            task = asyncio.create_task(backend.complete(ASKED))
            while not server.asked:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 1)
            await backend.aclose()
    assert len(server.asked) == 1


@pytest.mark.parametrize("as_stream", [False, True])
async def test_each_request_is_told_before_it_leaves(as_stream: bool) -> None:
    told: list[int] = []
    async with serving(page("", 503), page("", 429), GOOD) as server:
        asked = replace(ASKED, on_send=lambda: told.append(len(server.asked)))
        reply = await ask(server, [] if as_stream else None, asked=asked)
    assert isinstance(reply, Reply)
    assert told == [0, 1, 2]
    assert reply.requests == 3


async def test_the_requests_of_a_call_that_is_cancelled_were_told() -> None:
    told: list[int] = []
    async with serving(page("", 503), [HOLD]) as server:
        call = asyncio.create_task(ask(server, asked=replace(ASKED, on_send=lambda: told.append(1))))
        while len(server.asked) < 2:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert len(told) == 2


async def test_a_request_that_waits_for_a_slot_is_not_told() -> None:
    told: list[int] = []
    async with serving([HOLD]) as server:
        backend = OpenAICompatible(server.url, profile=PROFILES["vllm"], per_model_limit=1)
        first = asyncio.create_task(backend.complete(ASKED))
        while not server.asked:
            await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await backend.complete(replace(ASKED, on_send=lambda: told.append(1)))
        first.cancel()
        await asyncio.wait([first])
        await backend.aclose()
    assert told == []
