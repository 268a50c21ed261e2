"""Connections end with their loop, limits hold, cancelling leaves nothing, no key leaves, nothing heavy loads early."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from tests.backends.direct.apis import (
    BOTH,
    HELLO,
    KEY,
    MODEL,
    TOOLS,
    WAYS,
    Said,
    ask,
    asked,
    backend,
    events,
    given,
    replied,
    said_in,
)
from tests.backends.openai_raw import HOLD, STREAM, Answer, Asked, answer, chunked, serving, serving_in_a_thread
from vancetope.backends.direct import Direct, Kind, connect, extras, missing_extra, warm
from vancetope.backends.direct.client import DIALECTS
from vancetope.errors import AuthRefused, ConfigError, MissingExtra, ModelError, Unreachable
from vancetope.messages import Assistant, Call, Result, User
from vancetope.models.base import ModelInfo
from vancetope.models.catalogue import catalogue


@BOTH
def test_a_key_that_cannot_be_one_is_refused_at_once(kind: Kind) -> None:
    variable = {"anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}[kind]
    with pytest.raises(ConfigError, match=f"{kind} needs a key: set {variable}"):
        connect(kind, None, "")
    with pytest.raises(ConfigError, match="needs a key: set MY_KEY"):
        connect(kind, None, None, key_variable="MY_KEY")
    with pytest.raises(ConfigError, match="the key in MY_KEY holds characters that no key has"):
        connect(kind, None, "tok\n1", key_variable="MY_KEY")
    assert connect(kind, "http://127.0.0.1:1", "").profile.needs_key is False


@BOTH
@pytest.mark.parametrize("url", ["127.0.0.1", "ftp://x", "http://", "http://a b", "http://user:tok-12345@h@x"])
def test_a_base_url_that_cannot_be_one_is_refused_at_once(kind: Kind, url: str) -> None:
    with pytest.raises(ConfigError, match=f"the base URL of {kind}") as refused:
        connect(kind, url, KEY)
    assert "tok-12345" not in str(refused.value)


@BOTH
def test_limits_below_one_are_refused(kind: Kind) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        Direct(kind, None, KEY, attempts=0)


@BOTH
def test_a_missing_library_is_said_with_what_to_install(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_extra(kind) is None
    extra = {"anthropic": "anthropic", "gemini": "google"}[kind]
    found = find_spec
    for hidden in ("pydantic_ai", {"anthropic": "anthropic", "gemini": "google.genai"}[kind]):
        extras._installed.cache_clear()
        monkeypatch.setattr(extras, "find_spec", lambda name, gone=hidden: None if name == gone else found(name))
        with pytest.raises(MissingExtra, match=rf"needs the extra '{extra}': pip install 'vancetope\[{extra}\]'"):
            connect(kind, None, KEY)
    monkeypatch.undo()
    extras._installed.cache_clear()


def test_nothing_heavy_is_loaded_before_the_first_request() -> None:
    code = (
        "import sys; from vancetope.backends.direct import connect, missing_extra\n"
        f"[(missing_extra(kind), connect(kind, None, {KEY!r})) for kind in ('anthropic', 'gemini')]\n"
        "print([name for name in ('pydantic_ai', 'anthropic', 'google.genai', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


ENVIRONMENT = {
    "GEMINI_API_KEY": "a",
    "GOOGLE_API_KEY": "b",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_CLOUD_PROJECT": "p",
    "ANTHROPIC_API_KEY": "a",
    "ANTHROPIC_AUTH_TOKEN": "b",
    "ANTHROPIC_CUSTOM_HEADERS": "x-a: b",
    "SSL_CERT_FILE": "/nonexistent",
    "SSL_CERT_DIR": "/nonexistent",
    "GOOGLE_GENAI_HTTP_CLIENT": "none",
    "HTTPS_PROXY": "no proxy at all",
    "ALL_PROXY": "socks9://x",
    "NO_PROXY": "",
    "no_proxy": "",
}


@BOTH
def test_the_libraries_heed_nothing_of_the_environment_and_say_nothing(kind: Kind) -> None:
    with serving_in_a_thread(given(kind, HELLO)) as server:
        code = (
            "import asyncio; from vancetope.backends.base import Request; from vancetope.messages import User\n"
            "from vancetope.backends.direct import connect\n"
            f"one = connect({kind!r}, {server.url[:-3]!r}, {KEY!r})\n"
            f"asked = Request({MODEL[kind]!r}, 'x', (User('x'),))\n"
            "print(asyncio.run(one.complete(asked)).text)"
        )
        env = os.environ | ENVIRONMENT
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
        assert (done.stdout.strip(), done.stderr) == ("Hello", "")
        headers = server.asked[0].headers
    assert (headers.get("x-goog-api-key") or headers["x-api-key"]) == KEY
    assert not {"x-a", "authorization"} & headers.keys()


WATCHED = """
import asyncio, sys, threading
import httpx
from vancetope.backends.openai.pool import Origin, Pools

seen = []

class Watch:
    def find_spec(self, name, *more):
        own = name.partition(".")[0] in sys.stdlib_module_names  # small ones, of asyncio itself
        if threading.current_thread() is threading.main_thread() and not own:
            seen.append(name)

async def main(url):
    origin = Origin.at(url)
    sys.meta_path.insert(0, Watch())
    pool = await Pools(origin, 1, 1).here()
    request = httpx.Request("POST", origin.url("/x"), content=b"{}", extensions=origin.extensions())
    await (await pool.transport.handle_async_request(request)).aread()

asyncio.run(main(sys.argv[1]))
print(seen)
"""


def test_a_first_request_loads_no_module_on_the_event_loop() -> None:
    with serving_in_a_thread(given("gemini", HELLO)) as server:
        child = [sys.executable, "-c", WATCHED, server.url]
        done = subprocess.run(child, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@BOTH
async def test_a_library_that_cannot_be_loaded_is_said_so(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Any) -> Any:
        raise ImportError(f"no such part {KEY}")

    monkeypatch.setattr(extras, "_LAYERS", {})
    monkeypatch.setattr(type(DIALECTS[kind]), "load", fails)
    async with serving(given(kind, HELLO)) as server:
        with pytest.raises(
            ConfigError, match=r"the library for .* cannot be loaded: \"no such part \*\*\*\""
        ) as failed:
            await backend(kind, server).complete(asked(kind))
        assert failed.value.__context__ is None


@BOTH
async def test_the_library_is_loaded_in_a_thread_and_once(kind: Kind) -> None:
    await asyncio.gather(warm(kind), warm(kind))
    layer = extras._LAYERS[kind]
    await warm(kind)
    async with serving(given(kind, HELLO)) as server:
        await replied(kind, server)
    assert extras._LAYERS[kind] is layer


@BOTH
async def test_loading_the_library_counts_to_the_time_of_the_call(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(extras, "_LAYERS", {})
    monkeypatch.setattr(extras, "_load", lambda *given: release.wait(5))
    async with serving(given(kind, HELLO)) as server:
        error = await ask(kind, server, asked(kind, timeout=0.1))
        release.set()
        assert isinstance(error, Unreachable)
        assert "no request was ready within 0.1 s" in str(error)
        assert (error.requests, server.asked) == (0, [])


@BOTH
def test_the_library_has_been_run_once_before_its_first_request(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "_LAYERS", {})
    asyncio.run(warm(kind))
    assert extras._LAYERS[kind].rehearsed
    assert extras._LAYERS[kind].models == {}


@BOTH
async def test_what_is_known_of_a_models_thinking_holds_over_the_bundled_list(kind: Kind) -> None:
    name = {"anthropic": "claude-haiku-4-5", "gemini": "gemini-2.5-flash"}[kind]
    asks = asked(kind, model=name, thinking="low")
    async with serving(given(kind, HELLO)) as server:
        one = backend(kind, server)
        never = one.knowing(ModelInfo(provider=kind, name=name, thinking="no"))
        for each in (one, never, one):
            await each.complete(asks)
        await never.complete(replace(asks, model=f"{name}-x"))
        assert never.knowing(ModelInfo(provider=kind, name=name, thinking="yes")) is not never
        await one.aclose()
        thinks = ['"thinking' in each.text for each in server.asked]
    assert thinks == [True, False, True, True]


@BOTH
def test_a_backend_that_learns_nothing_new_is_itself(kind: Kind) -> None:
    one = connect(kind, None, KEY)
    for name in (MODEL[kind], "nobody-knows-it"):
        assert one.knowing(catalogue().lookup(kind, name)) is one


@BOTH
@pytest.mark.parametrize("path", ["", "/", "/{version}", "/{version}/", "/proxy", "/proxy/{version}?team=a%20b"])
async def test_the_base_url_may_end_in_the_version_or_not(kind: Kind, path: str) -> None:
    version = {"anthropic": "v1", "gemini": "v1beta"}[kind]
    async with serving(given(kind, HELLO)) as server:
        one = connect(kind, f"http://127.0.0.1:{server.port}{path.format(version=version)}", KEY)
        await one.complete(asked(kind))
        await one.aclose()
        target = server.asked[0].line.split()[1]
        proxy = "/proxy" if "proxy" in path else ""
        tail = {"anthropic": "/v1/messages", "gemini": "/v1beta/models/gemini-2.5-flash:generateContent"}[kind]
        assert target == f"{proxy}{tail}" + ("?team=a%20b" if "?" in path else "")
        assert server.asked[0].headers["x-api-key" if kind == "anthropic" else "x-goog-api-key"] == KEY
        assert server.asked[0].headers["user-agent"] == "vancetope"


@BOTH
async def test_the_environment_of_the_library_changes_nothing(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "tok-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setattr(extras, "_LAYERS", {})
    async with serving(given(kind, HELLO)) as server:
        await replied(kind, server)
        assert "somebody" not in json.dumps(server.asked[0].headers)


@BOTH
async def test_one_connection_serves_call_after_call_streamed_or_not(kind: Kind) -> None:
    whole, streamed = given(kind, HELLO), given(kind, HELLO, streams=True)
    async with serving(whole, streamed, streamed, whole) as server:
        one = backend(kind, server)
        for streams in (False, True, True, False):
            await one.complete(asked(kind), (lambda piece: None) if streams else None)
        await one.aclose()
        assert (len(server.asked), server.connections) == (4, 1)


@BOTH
async def test_requests_to_one_model_wait_for_a_free_slot(kind: Kind) -> None:
    slow: Answer = [0.05, *given(kind, HELLO)]
    async with serving(slow) as server:
        one = backend(kind, server, per_model_limit=2)
        await asyncio.gather(*(one.complete(asked(kind)) for _ in range(6)))
        await one.aclose()
        assert (len(server.asked), server.most_at_once) == (6, 2)


@BOTH
async def test_calls_at_once_do_not_mix(kind: Kind) -> None:
    def echo(one: Asked) -> Any:
        text = (
            one.body["contents"][0]["parts"][0]["text"]
            if kind == "gemini"
            else one.body["messages"][0]["content"][0]["text"]
        )
        return given(kind, Said(text), streams="stream" in one.line or one.body.get("stream") is True)

    async with serving(by=echo) as server:
        one = backend(kind, server)
        texts = [f"number {number}" for number in range(8)]
        replies = await asyncio.gather(
            *(
                one.complete(asked(kind, User(text)), (lambda piece: None) if n % 2 else None)
                for n, text in enumerate(texts)
            )
        )
        await one.aclose()
        assert [each.text for each in replies] == texts


@BOTH
def test_one_backend_serves_one_event_loop_after_the_other(kind: Kind) -> None:
    async def twice(one: Direct) -> str:
        first = await one.complete(asked(kind))
        second = await one.complete(asked(kind), lambda piece: None)
        return first.text + second.text

    answers = [given(kind, HELLO), given(kind, HELLO, streams=True)] * 2
    with serving_in_a_thread(*answers) as server:
        one = backend(kind, server)
        assert [asyncio.run(twice(one)) for _ in range(2)] == ["HelloHello"] * 2
        assert (len(server.asked), server.connections) == (4, 2)


@BOTH
def test_event_loops_at_the_same_time_do_not_disturb_each_other(kind: Kind) -> None:
    answers = [given(kind, Said(f"{number}")) for number in range(12)]
    with serving_in_a_thread(*answers) as server, ThreadPoolExecutor(4) as threads:
        one = backend(kind, server)
        replies = [*threads.map(lambda _: asyncio.run(one.complete(asked(kind))), range(12))]
        assert sorted(int(each.text) for each in replies) == [*range(12)]


@BOTH
@WAYS
async def test_cancelling_leaves_nothing_running(kind: Kind, streams: bool) -> None:
    begun: Answer = [STREAM, *map(chunked, events(kind, HELLO)[:1]), HOLD] if streams else [HOLD]
    async with serving(begun) as server:
        one = backend(kind, server)
        await warm(kind)
        before = asyncio.all_tasks()
        call = asyncio.create_task(one.complete(asked(kind), (lambda piece: None) if streams else None))
        while not server.asked:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.gone.wait(), 5)
        assert {task for task in asyncio.all_tasks() if task not in before and not task.done()} <= server_tasks()
        await one.aclose()


def server_tasks() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if "serve" in repr(task.get_coro())}


@BOTH
@WAYS
async def test_the_wire_is_told_of_everything_with_secrets_masked(kind: Kind, streams: bool) -> None:
    seen: list[tuple[str, Any]] = []
    parts = (
        Said(thinking="hm", signature="c2ln"),
        Said(f"Your key is {KEY}."),
        Said(name="f", arguments={"a": 1}, id="1"),
    )
    async with serving(given(kind, *parts, streams=streams), answer({"error": {"message": KEY}}, 401)) as server:
        one = backend(kind, server, wire=lambda what, value: seen.append((what, value)), attempts=1)
        on_piece = (lambda piece: None) if streams else None
        await one.complete(asked(kind, User(f"my key is {KEY}"), tools=TOOLS), on_piece)
        with pytest.raises(AuthRefused):
            await one.complete(asked(kind), on_piece)
        await one.aclose()
        assert [what for what, _ in seen] == ["request", "reply", "request", "reply"]
        assert KEY not in repr(seen)
        assert "my key is ***" in json.dumps(seen[0][1])
        told = json.dumps(seen[1][1])
        assert "Your key is ***." in told
        assert ('"functionCall"' if kind == "gemini" else '"tool_use"') in told
        assert seen[3][1] == {"status": 401, "body": '{"error": {"message": "***"}}'}
        assert seen[0][1].keys() == server.asked[0].body.keys()


SECRET = "s3cr3t-p4ss/word"


@BOTH
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("status", [200, 302, 400, 401, 404, 429, 500])
async def test_no_secret_leaves_through_an_error(kind: Kind, status: int, streams: bool) -> None:
    leak = json.dumps({"error": {"type": "x", "message": f"{KEY} s3cr3t-p4ss/word s3cr3t-p4ss%2Fword {KEY.upper()}"}})
    async with serving(
        [f"HTTP/1.1 {status} X\r\nlocation: http://x/{KEY}\r\ncontent-length: {len(leak)}\r\n\r\n{leak}".encode()]
    ) as server:
        url = f"http://user:s3cr3t-p4ss%2Fword@127.0.0.1:{server.port}/?token=t0ken-t0ken"
        one = Direct(kind, url, KEY, attempts=1)
        with pytest.raises(ModelError) as failed:
            await one.complete(asked(kind), (lambda piece: None) if streams else None)
        await one.aclose()
        asked_for = server.asked[0]
        assert "token=t0ken-t0ken" in asked_for.line
        assert asked_for.headers["authorization"].startswith("Basic ")
    shown = "".join(traceback.format_exception(failed.value)) + repr(failed.value) + repr(one)
    for secret in (KEY, KEY.upper(), SECRET, "s3cr3t-p4ss%2Fword", "t0ken-t0ken"):
        assert secret not in shown
    assert failed.value.__context__ is None
    assert failed.value.__cause__ is None


@BOTH
async def test_a_request_that_the_library_cannot_build_is_said_so(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any, **more: Any) -> Any:
        raise RuntimeError("no such thing")

    async with serving(given(kind, HELLO)) as server:
        one = backend(kind, server)
        monkeypatch.setattr("pydantic_ai.direct.model_request", fails)
        with pytest.raises(ConfigError, match='cannot be built: "no such thing"'):
            await one.complete(asked(kind))
        await one.aclose()
        assert server.asked == []


@BOTH
async def test_a_body_that_is_no_json_is_said_so(kind: Kind) -> None:
    async with serving(given(kind, HELLO)) as server:
        with pytest.raises(ConfigError, match="cannot be written as JSON"):
            await ask(kind, server, asked(kind, extra={"x": {1, 2}}))
        assert server.asked == []


@BOTH
async def test_parts_of_a_long_conversation_are_heard_in_order(kind: Kind) -> None:
    messages: list[Any] = []
    for number in range(30):
        call = Call(f"c{number:08d}", "get_time", "{}")
        messages += [
            User(f"q{number}"),
            Assistant("", (call,)),
            Result(call.id, "get_time", f"r{number}"),
            Assistant(f"a{number}"),
        ]
    async with serving(given(kind, HELLO, streams=False)) as server:
        one = backend(kind, server)
        for upto in (5, 60, 120):
            await one.complete(asked(kind, *messages[:upto], User("last")))
        await one.aclose()
        texts = [each.text for each in server.asked]
        ahead = backend(kind, server)  # writes the long past before the request, in a thread
        await ahead.complete(asked(kind, *messages, User("last")))
        await ahead.aclose()
        assert said_in(kind, server.asked[3].body) == said_in(kind, server.asked[2].body)
    for number in range(30):
        for mark in (f'"q{number}"', f'"r{number}"', f'"a{number}"'):
            assert texts[2].count(mark) == 1
