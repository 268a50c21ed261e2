"""Connections end with their event loop, limits hold, cancelling leaves nothing, loopback needs no proxy."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.backends.openai_raw import (
    DONE,
    HOLD,
    STREAM,
    USAGE,
    Raw,
    chunked,
    delta,
    page,
    said,
    serving,
    serving_bytes,
    serving_in_a_thread,
    stream,
)
from vancetope.backends.base import Request
from vancetope.backends.openai import PROFILES, OpenAICompatible, pool
from vancetope.backends.openai.pool import Origin
from vancetope.errors import ConfigError, RequestRejected, ServerFailed, Unreachable
from vancetope.messages import User

ASKED = Request("m", "", (User("hello"),), timeout=10.0)
GOOD = stream(delta(content="Hel"), delta("stop", content="lo"), USAGE, DONE)


def client(server: Raw, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(server.url, profile=PROFILES["vllm"], **options)


def ours() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


async def test_one_connection_serves_call_after_call_streamed_or_not() -> None:
    async with serving(said(), GOOD, page("", 400), page("", 500), GOOD, said()) as server:
        backend = client(server, attempts=1)
        for streamed in (False, True, False, False, True, False):
            with suppress(RequestRejected, ServerFailed):
                await backend.complete(ASKED, (lambda piece: None) if streamed else None)
        await backend.aclose()
        assert (len(server.asked), server.connections) == (6, 1)


async def test_an_end_mark_ends_the_reply_although_the_server_keeps_the_stream_open() -> None:
    async with serving([STREAM, chunked(delta(content="Hello")), chunked(DONE), HOLD]) as server:
        backend = client(server)
        reply = await asyncio.wait_for(backend.complete(ASKED, lambda piece: None), 2)
        assert reply.text == "Hello"
        await backend.aclose()


def test_one_backend_serves_one_event_loop_after_the_other_and_leaves_nothing_open() -> None:
    async def twice(backend: OpenAICompatible) -> str:
        first = await backend.complete(ASKED)
        second = await backend.complete(ASKED, lambda piece: None)
        return first.text + second.text

    with serving_in_a_thread(said(), GOOD, said(), GOOD) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        backend = client(server)
        for connections in (1, 2):
            assert asyncio.run(twice(backend)) == "HelloHello"
            gc.collect()
            assert server.connections == connections
            waited = time.monotonic() + 5
            while server.open and time.monotonic() < waited:
                time.sleep(0.005)
            assert server.open == 0, "the loop's end closed the connection"
    assert not backend._pools._by_loop


def test_a_loop_that_died_without_a_shutdown_is_forgotten() -> None:
    with serving_in_a_thread(said()) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # its connection could not be closed any more
        backend = client(server)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(backend.complete(ASKED))
        loop.close()
        assert asyncio.run(backend.complete(ASKED)).text == "Hello"
        assert not backend._pools._by_loop
        del loop
        gc.collect()


def test_loops_in_several_threads_share_one_backend() -> None:
    with serving_in_a_thread(said()) as server:
        backend = client(server)
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda _: asyncio.run(backend.complete(ASKED)).text, range(12)))
    assert found == ["Hello"] * 12


async def test_closing_closes_the_connections_and_a_later_call_opens_new_ones() -> None:
    async with serving(said()) as server:
        backend = client(server)
        await backend.aclose()
        await backend.complete(ASKED)
        await backend.aclose()
        await until(lambda: server.open == 0)
        await backend.aclose()
        await backend.complete(ASKED)
        assert server.connections == 2
        await backend.aclose()


async def test_a_backend_that_nobody_closed_leaves_no_connection_when_it_is_gone() -> None:
    async with serving(said()) as server:
        backend = client(server)
        await backend.complete(ASKED)
        del backend
        gc.collect()
        await until(lambda: server.open == 0)


@pytest.mark.parametrize(
    "given",
    [[HOLD], [STREAM, HOLD], [STREAM, chunked(delta(content="Hel")), HOLD], [b"HTTP/1.1 500 No\r\n\r\n", HOLD]],
    ids=["no answer", "no chunk", "in the stream", "in an error"],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_cancelling_closes_the_connection_at_once_and_leaves_no_task(given: Any, streamed: bool) -> None:
    async with serving(given) as server:
        backend = client(server)
        before = ours()
        task = asyncio.create_task(backend.complete(ASKED, (lambda piece: None) if streamed else None))
        await until(lambda: server.asked)
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 1)
        await asyncio.wait_for(server.gone.wait(), 1)
        await asyncio.sleep(0)
        assert len(ours() - before) == 0
        assert len(server.asked) == 1
        await backend.aclose()


async def test_a_cancelled_call_gives_its_slot_back() -> None:
    async with serving([HOLD], [HOLD], said()) as server:
        backend = client(server, per_model_limit=1)
        for number in (1, 2):
            task = asyncio.create_task(backend.complete(ASKED))
            await until(lambda number=number: len(server.asked) == number)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await asyncio.wait_for(backend.complete(ASKED), 2)).text == "Hello"
        await backend.aclose()


async def test_no_more_requests_to_one_model_run_at_once_than_the_limit_says() -> None:
    async with serving([0.02, *said()]) as server:
        backend = client(server, per_model_limit=3)
        await asyncio.gather(*(backend.complete(ASKED) for _ in range(12)))
        assert server.most_at_once == 3
        await backend.aclose()


async def test_another_model_has_slots_of_its_own() -> None:
    def slow_a(asked: Any) -> Any:
        return [HOLD] if asked.body["model"] == "a" else said()

    async with serving(by=slow_a) as server:
        backend = client(server, per_model_limit=1)
        first = asyncio.create_task(backend.complete(Request("a", "", (User("x"),))))
        await until(lambda: server.asked)
        assert (await backend.complete(Request("b", "", (User("x"),)))).text == "Hello"
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await backend.aclose()


async def test_waiters_leave_the_queue_for_a_slot_cleanly() -> None:
    async with serving([HOLD], said()) as server:
        backend = client(server, per_model_limit=1)
        first = asyncio.create_task(backend.complete(ASKED))
        await until(lambda: server.asked)
        waiting = [asyncio.create_task(backend.complete(ASKED)) for _ in range(5)]
        await asyncio.sleep(0.01)
        for task in waiting[:4]:
            task.cancel()
        await asyncio.gather(*waiting[:4], return_exceptions=True)
        assert len(server.asked) == 1
        first.cancel()
        assert (await asyncio.wait_for(waiting[4], 2)).text == "Hello"
        await backend.aclose()


async def test_waiting_for_a_slot_counts_as_time() -> None:
    async with serving([HOLD]) as server:
        backend = client(server, per_model_limit=1)
        first = asyncio.create_task(backend.complete(ASKED))
        await until(lambda: server.asked)
        with pytest.raises(Unreachable, match=r"no request could be sent within 0.1 s, all slots were taken") as caught:
            await backend.complete(Request("m", "", (User("x"),), timeout=0.1))
        assert caught.value.requests == 0
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await backend.aclose()


async def test_connections_stay_within_their_limit() -> None:
    async with serving([0.01, *said()]) as server:
        backend = client(server, max_connections=2, per_model_limit=50)
        await asyncio.gather(*(backend.complete(ASKED) for _ in range(10)))
        assert server.connections == 2
        await backend.aclose()


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "127.0.0.1:9")


@pytest.mark.usefixtures("proxied")
async def test_loopback_never_goes_through_a_proxy() -> None:
    async with serving(said()) as server:
        for host in ("127.0.0.1", "localhost"):
            backend = OpenAICompatible(f"http://{host}:{server.port}/v1", profile=PROFILES["vllm"])
            assert (await backend.complete(ASKED)).text == "Hello"
            await backend.aclose()


async def test_other_hosts_go_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(said()) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
        backend = OpenAICompatible("http://models.example:8000/v1", profile=PROFILES["vllm"])
        assert (await backend.complete(ASKED)).text == "Hello"
        await backend.aclose()
    assert server.asked[0].line == "POST http://models.example:8000/v1/chat/completions HTTP/1.1"


@pytest.mark.parametrize(
    ("url", "no_proxy", "through"),
    [
        ("http://models.example/v1", "", True),
        ("https://models.example/v1", "", True),
        ("http://models.example/v1", "models.example", False),
        ("http://models.example/v1", "*", False),
        ("http://127.8.8.8/v1", "", False),
        ("http://[::1]:80/v1", "", False),
        ("http://a.localhost/v1", "", False),
        ("http://192.168.1.5/v1", "", True),
    ],
)
@pytest.mark.usefixtures("proxied")
def test_who_goes_through_a_proxy(url: str, no_proxy: str, through: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", no_proxy)
    assert (pool._proxy(Origin.at(url)) is not None) is through


async def test_a_proxy_of_a_kind_we_cannot_speak_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://127.0.0.1:9")
    backend = OpenAICompatible("http://models.example/v1", profile=PROFILES["vllm"])
    with pytest.raises(ConfigError, match="the proxy that the environment names"):
        await backend.complete(ASKED)


async def test_cancelling_in_a_tls_handshake_closes_the_connection() -> None:
    async with serving(said()) as server:
        backend = OpenAICompatible(f"https://127.0.0.1:{server.port}/v1", profile=PROFILES["vllm"], attempts=1)
        task = asyncio.create_task(backend.complete(ASKED))
        await until(lambda: server.open)
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 1)
        await asyncio.wait_for(server.gone.wait(), 1)
        await backend.aclose()


async def test_a_server_that_cannot_speak_tls_is_unreachable() -> None:
    async with serving_bytes(b"no TLS here") as port:
        backend = OpenAICompatible(f"https://127.0.0.1:{port}/v1", profile=PROFILES["vllm"], attempts=1)
        found = await asyncio.gather(*(backend.complete(ASKED) for _ in range(2)), return_exceptions=True)
        await backend.aclose()
    assert [type(error) for error in found] == [Unreachable, Unreachable]
    assert "cannot be reached" in str(found[0])


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE"])
async def test_certificates_that_cannot_be_read_are_named(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for value in (str(tmp_path / "nowhere.pem"), str(broken)):
        monkeypatch.setenv(variable, value)
        client = OpenAICompatible("https://127.0.0.1:9/v1", profile=PROFILES["vllm"])
        with pytest.raises(ConfigError, match=r"certificates of this machine cannot be read; SSL_CERT_FILE"):
            await client.complete(Request("m", "", (User("x"),)))
