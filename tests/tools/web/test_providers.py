from __future__ import annotations

import asyncio
import gzip
import json
import logging
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.tools.web.serving import Site, page, serving
from vancetope.errors import ConfigError
from vancetope.tools.web import providers
from vancetope.tools.web.providers import KEYS, NAMES, search_provider
from vancetope.tools.web.search import Hit, SearchFailed, SearchProvider

KEY = "sk-hush-123456"
RESULT = {"title": "T <b>1</b>", "url": "http://a.example/", "content": "C", "description": "C"}
ANSWERS: dict[str, Any] = {
    "searxng": {"query": "q", "number_of_results": 0, "results": [RESULT, RESULT], "answers": [], "suggestions": []},
    "brave": {"type": "search", "web": {"type": "search", "results": [RESULT, RESULT]}},
    "tavily": {"query": "q", "results": [{**RESULT, "score": 0.9, "raw_content": None}] * 2, "response_time": 1.2},
}
SHOWN = {"searxng": "SearXNG", "brave": "Brave Search", "tavily": "Tavily"}


def at(site: Site, name: str, path: str = "/search") -> SearchProvider:
    return search_provider(name, site.url("" if name == "searxng" else path), KEY)


def sending(answer: object, status: str = "200 OK", **headers: str) -> dict[str, bytes]:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return {"/search": page(body, "application/json", status, **headers)}


async def failing(name: str, answer: object, status: str = "200 OK", **headers: str) -> SearchFailed:
    async with serving(sending(answer, status, **headers)) as site:
        with pytest.raises(SearchFailed) as failed:
            await at(site, name).search("q", 5)
        assert KEY not in str(failed.value)
        return failed.value


@pytest.mark.parametrize("name", NAMES)
async def test_hits_are_read_from_the_providers_answer(name: str) -> None:
    async with serving(sending(ANSWERS[name])) as site:
        provider = at(site, name)
        assert provider.name == SHOWN[name]
        assert await provider.search("q", 5) == [Hit("T <b>1</b>", "http://a.example/", "C")] * 2
        assert len(await provider.search("q", 1)) == 1


async def test_searxng_is_asked_for_json_at_search() -> None:
    async with serving({"/search": sending(ANSWERS["searxng"])["/search"], "/sub/search": page("{}")}) as site:
        for url in (site.url(""), site.url("/"), site.url("/search"), site.url("/search?lang=x")):
            await search_provider("searxng", url).search("a b&c", 3)
        asked = urlsplit(site.heads[0].split(" ")[1])
        assert parse_qs(asked.query) == {"q": ["a b&c"], "format": ["json"]}
        assert {urlsplit(head.split(" ")[1]).path for head in site.heads} == {"/search"}
        assert "authorization" not in site.heads[0].lower()


async def test_brave_is_asked_with_its_own_header() -> None:
    async with serving(sending(ANSWERS["brave"])) as site:
        await at(site, "brave").search("a b", 7)
        head = site.heads[0].lower()
        assert parse_qs(urlsplit(head.split(" ")[1]).query) == {"q": ["a b"], "count": ["7"]}
        assert f"x-subscription-token: {KEY}\r\n" in head
        assert "accept: application/json\r\n" in head


async def test_tavily_is_asked_with_a_body_and_a_bearer() -> None:
    sent = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        sent.extend(head + await reader.readexactly(length))
        writer.write(page(json.dumps(ANSWERS["tavily"]), "application/json"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    try:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/search"
        await search_provider("tavily", url, KEY).search("a b", 3)
    finally:
        server.close()
    head, _, body = sent.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /search ")
    assert f"authorization: bearer {KEY}".encode() in head.lower()
    assert json.loads(body) == {"query": "a b", "max_results": 3, "search_depth": "basic"}


@pytest.mark.parametrize("name", NAMES)
async def test_nothing_found_is_no_failure(name: str) -> None:
    nothing: dict[str, Any] = {"searxng": {"results": []}, "brave": {"type": "search"}, "tavily": {"results": []}}
    async with serving(sending(nothing[name])) as site:
        assert not await at(site, name).search("q", 5)


@pytest.mark.parametrize(
    ("name", "status", "why", "said"),
    [
        ("searxng", "401 No", "key", "SearXNG refuses the key that is set for it"),
        ("searxng", "403 No", "forbidden", "must list json among search.formats"),
        ("brave", "401 No", "key", "Brave Search refuses the key"),
        ("brave", "403 No", "key", "Brave Search refuses the key"),
        ("brave", "402 Pay", "spent", "the plan at Brave Search is used up"),
        ("brave", "422 No", "refused", "Brave Search refuses this query"),
        ("tavily", "400 No", "refused", "Tavily refuses this query"),
        ("tavily", "401 No", "key", "Tavily refuses the key"),
        ("tavily", "432 Plan", "spent", "the plan at Tavily is used up"),
        ("tavily", "433 Paygo", "spent", "the plan at Tavily is used up"),
        *((name, "500 Oops", "failed", f"{SHOWN[name]} failed with HTTP 500 Internal Server Error") for name in NAMES),
        *((name, "302 Found", "failed", f"{SHOWN[name]} failed with HTTP 302 Found") for name in NAMES),
        *((name, "429 Slow", "limit", f"{SHOWN[name]} takes no more searches for now") for name in NAMES),
    ],
)
async def test_a_status_is_one_sentence_without_the_key(name: str, status: str, why: str, said: str) -> None:
    failed = await failing(name, {"error": f"bad key {KEY}", "detail": KEY}, status, location="http://10.0.0.1/")
    assert failed.why == why
    assert said in str(failed)
    assert "\n" not in str(failed)


async def test_a_wrong_key_is_known_as_such_at_brave_whatever_its_status() -> None:
    answer = {"type": "ErrorResponse", "error": {"status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID"}}
    assert (await failing("brave", answer, "422 No")).why == "key"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "12"}, 12.0),
        ({"x_ratelimit_remaining": "0, 900", "x_ratelimit_reset": "1, 1419704"}, 1.0),
        ({"x_ratelimit_remaining": "0, 0", "x_ratelimit_reset": "1, 1419704"}, 1419704.0),
        ({"x_ratelimit_remaining": "", "x_ratelimit_reset": "1"}, None),
        ({}, None),
    ],
)
async def test_a_limit_says_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    failed = await failing("brave", {}, "429 Slow", **headers)
    assert failed.wait == seconds
    assert ("try again in" in str(failed)) is (seconds is not None)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "answer", [b"<html>", b"[]", b"", b"\xff\xfe", b'{"results": 5, "web": {"results": 5}}', b"[" * 100_000]
)
async def test_an_answer_that_is_no_list_of_hits_is_told(name: str, answer: bytes) -> None:
    failed = await failing(name, answer)
    assert str(failed) == f"{SHOWN[name]} sent an answer that is no list of hits"


@pytest.mark.parametrize("name", NAMES)
async def test_results_of_odd_shapes_are_passed_over(name: str) -> None:
    odd: list[Any] = [None, 5, [], {}, {"title": 5, "url": None, "content": [], "description": {}}, RESULT]
    async with serving(sending({"results": odd, "web": {"results": odd}})) as site:
        assert Hit("T <b>1</b>", "http://a.example/", "C") in await at(site, name).search("q", 20)


async def test_a_compressed_answer_is_read_and_a_bomb_is_not() -> None:
    async with serving(sending(gzip.compress(json.dumps(ANSWERS["brave"]).encode()), content_encoding="gzip")) as site:
        assert await at(site, "brave").search("q", 5)
    for body, encoding in ((gzip.compress(b" " * 50_000_000), "gzip"), (b"no gzip", "gzip"), (b"x", "br")):
        assert "no list of hits" in str(await failing("brave", body, content_encoding=encoding))


async def test_a_server_that_is_not_there_is_told() -> None:
    async with serving({}) as site:
        provider = at(site, "searxng")
    with pytest.raises(SearchFailed, match=r"^SearXNG cannot be reached$") as failed:
        await provider.search("q", 5)
    assert failed.value.why == "unreachable"


async def test_a_server_that_falls_silent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    monkeypatch.setattr(providers, "SECONDS", 0.2)
    async with serving({"/search": silent}) as site:
        with pytest.raises(SearchFailed, match=r"^SearXNG did not answer within 0\.2 s$"):
            await at(site, "searxng").search("q", 5)


async def test_a_search_that_is_cancelled_leaves_nothing_behind() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with serving({"/search": silent}) as site:
        before = asyncio.all_tasks()
        search = asyncio.ensure_future(at(site, "tavily").search("q", 5))
        while not site.heads:
            await asyncio.sleep(0.01)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
        assert not {task for task in asyncio.all_tasks() - before if "Site.answer" not in repr(task)}


async def test_keys_are_in_no_representation_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in NAMES:
        async with serving(sending(ANSWERS[name])) as site:
            provider = at(site, name)
            await provider.search("q", 5)
            assert KEY not in repr(provider)
    assert KEY not in caplog.text


async def test_this_machine_is_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(sending(ANSWERS["searxng"])) as site, serving({}) as proxy:
        for name in ("http_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        assert await at(site, "searxng").search("q", 5)
        assert proxy.taken == 0


async def test_another_machine_is_asked_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving({"http://search.example/search": sending(ANSWERS["brave"])["/search"]}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url(""))
        assert await search_provider("brave", "http://search.example/search", KEY).search("q", 5)
        assert proxy.taken == 1


async def test_an_odd_proxy_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "odd://user:hunter2@proxy.example")
    with pytest.raises(SearchFailed, match=r"^Brave Search cannot be reached$"):
        await search_provider("brave", "http://search.example/", KEY).search("q", 5)


@pytest.mark.parametrize(
    ("name", "url", "key", "said"),
    [
        ("google", None, None, "there is no provider 'google'; the providers are searxng, brave, tavily"),
        ("", None, None, "there is no provider ''"),
        ("searxng", None, None, "search.url: the provider searxng needs the URL of an instance"),
        ("searxng", " ", None, "search.url: the provider searxng needs the URL of an instance"),
        ("searxng", "localhost:8888", None, "search.url: this is no http(s) URL"),
        ("searxng", "http://", None, "search.url: this is no http(s) URL"),
        ("searxng", "http://u:hunter2@h/", None, "without user name and password"),
        ("searxng", "http://[x", None, "search.url: this is no http(s) URL"),
        ("brave", None, None, "brave needs a key; set the variable BRAVE_API_KEY"),
        ("tavily", None, " ", "tavily needs a key; set the variable TAVILY_API_KEY"),
        ("tavily", None, "hunter2 two", "TAVILY_API_KEY: the value holds what no key has"),
        ("brave", None, "hunter2\x01", "BRAVE_API_KEY: the value holds what no key has"),
        ("brave", None, "hunter2ü", "BRAVE_API_KEY: the value holds what no key has"),
    ],
)
def test_a_wrong_setting_is_one_sentence(name: str, url: str | None, key: str | None, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        search_provider(name, url, key)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_names_are_taken_in_any_case_and_keys_without_space_around() -> None:
    assert search_provider(" Brave ", None, f" {KEY}\n").name == "Brave Search"
    assert set(KEYS) < set(NAMES)
