"""The search engines that are bundled: SearXNG, Brave, Tavily."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from vancetope import sentences
from vancetope.errors import ConfigError
from vancetope.tools import threads
from vancetope.tools.web import address
from vancetope.tools.web.response import Inflater, UnknownEncoding, status_text, wait
from vancetope.tools.web.search import Hit, SearchFailed, SearchProvider, Why

if TYPE_CHECKING:
    import httpx

SECONDS = 20.0
LARGEST = 4 * 1024 * 1024
"""Bytes of an answer."""

BRAVE = "https://api.search.brave.com/res/v1/web/search"
TAVILY = "https://api.tavily.com/search"
KEYS = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}
"""The environment variable with each provider's key."""
SEARXNG = "SearXNG"
NAMES = ("searxng", *KEYS)


def search_provider(name: str, url: str | None = None, key: str | None = None) -> SearchProvider:
    """The bundled provider of this name (`NAMES`). SearXNG needs the URL of an instance and may have a key, which goes
    as a bearer token to what stands before it; the others need a key, and `url` replaces the address of their API.

    The address is its owner's choice and may be private; others are asked through the environment's proxy. Raises
    `ConfigError` in one sentence.
    """
    name = name.strip().lower()
    if name not in NAMES:
        raise ConfigError(f"search.provider: there is no provider {name[:40]!r}; the providers are {', '.join(NAMES)}")
    url = _checked(url.strip()) if url and url.strip() else None
    key = key.strip() if key else ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{KEYS.get(name, 'the key of the search provider')}: the value holds what no key has")
    if name == "searxng":
        if url is None:
            raise ConfigError(
                "search.url: the provider searxng needs the URL of an instance, such as http://127.0.0.1:8888"
            )
        return SearXNG(url, key)
    if not key:
        raise ConfigError(f"search.provider: {name} needs a key; set the variable {KEYS[name]}")
    return Brave(key, url or BRAVE) if name == "brave" else Tavily(key, url or TAVILY)


def _checked(url: str) -> str:
    import httpx

    try:
        parsed = httpx.URL(url)
        address.literal(parsed.raw_host.decode().lower().removesuffix("."))
    except (httpx.InvalidURL, ValueError):
        parsed = None
    if parsed is None or parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo:
        raise ConfigError(
            "search.url: this is no http(s) URL without user name and password; it looks like http://127.0.0.1:8888"
        )
    return url


@dataclass(frozen=True, slots=True)
class SearXNG:
    """A SearXNG instance at `url`, whose settings list json among `search.formats`."""

    url: str
    key: str = field(default="", repr=False)
    name: str = SEARXNG

    async def search(self, query: str, count: int) -> Sequence[Hit]:
        import httpx

        path = self.url.partition("?")[0].rstrip("/").removesuffix("/search")
        sent = httpx.Request(
            "GET",
            f"{path}/search",
            params={"q": query, "format": "json"},
            headers={"authorization": f"Bearer {self.key}"} if self.key else {},
        )
        found = await _asked(self.name, sent, {401: "key" if self.key else "forbidden", 403: "forbidden"})
        return _hits(self.name, found.get("results"), "content")[:count]


@dataclass(frozen=True, slots=True)
class Brave:
    """Brave's web search."""

    key: str = field(repr=False)
    url: str = BRAVE
    name: str = "Brave Search"

    async def search(self, query: str, count: int) -> Sequence[Hit]:
        import httpx

        sent = httpx.Request(
            "GET",
            self.url,
            params={"q": query, "count": str(min(count, 20))},
            headers={"x-subscription-token": self.key, "accept": "application/json"},
        )
        found = await _asked(self.name, sent, {401: "key", 402: "spent", 403: "key", 422: "refused"})
        web = found.get("web")  # left out where nothing was found
        return _hits(self.name, web.get("results") if isinstance(web, Mapping) else [], "description")[:count]


@dataclass(frozen=True, slots=True)
class Tavily:
    """Tavily's search, in its basic depth and without an answer of its own."""

    key: str = field(repr=False)
    url: str = TAVILY
    name: str = "Tavily"

    async def search(self, query: str, count: int) -> Sequence[Hit]:
        import httpx

        sent = httpx.Request(
            "POST",
            self.url,
            json={"query": query, "max_results": min(count, 20), "search_depth": "basic"},
            headers={"authorization": f"Bearer {self.key}"},
        )
        found = await _asked(self.name, sent, {400: "refused", 401: "key", 403: "key", 432: "spent", 433: "spent"})
        return _hits(self.name, found.get("results"), "content")[:count]


async def _asked(name: str, sent: httpx.Request, meant: Mapping[int, Why]) -> Mapping[str, Any]:
    """The JSON object that the provider answers. `meant` says what its statuses mean. Raises `SearchFailed`."""
    import httpx

    tls: Any = await threads.current().run(httpx.create_ssl_context) if sent.url.scheme == "https" else False
    sent.headers.update({"user-agent": "vancetope", "accept-encoding": "gzip, deflate"})
    here = not _is_remote(sent.url.host)
    try:
        async with asyncio.timeout(SECONDS), httpx.AsyncClient(verify=tls, timeout=None, trust_env=not here) as client:
            answered = await client.send(sent, stream=True)
            try:
                body = await _body(name, answered)
            finally:
                await answered.aclose()
    except (TimeoutError, httpx.TimeoutException):
        said = sentences.SEARCH_SLOW.format(provider=name, seconds=SECONDS)
        raise SearchFailed(said, "unreachable") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError):  # the last two: of an odd proxy
        raise SearchFailed(sentences.SEARCH_UNREACHABLE.format(provider=name), "unreachable") from None
    if answered.status_code != 200:
        raise _failure(name, answered, body, meant)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else _unreadable(name)


def _is_remote(host: str) -> bool:
    """Whether an address may lie behind a proxy: private ones and this machine do not."""
    try:
        number = address.literal(host)
    except ValueError:
        return True
    return host != "localhost" if number is None else address.is_public(number)


async def _body(name: str, answered: httpx.Response) -> bytes:
    body = bytearray()
    try:
        inflated = Inflater(answered.headers.get("content-encoding", ""), name)
        async for piece in answered.aiter_raw():
            for part in inflated(piece):
                body += part
                if len(body) > LARGEST:
                    _unreadable(name)
    except (zlib.error, UnknownEncoding):
        _unreadable(name)
    return bytes(body)


def _unreadable(name: str) -> NoReturn:
    raise SearchFailed(sentences.SEARCH_UNREADABLE.format(provider=name), "failed")


_SAID: Mapping[Why, str] = {
    "key": sentences.SEARCH_KEY,
    "forbidden": sentences.SEARCH_FORBIDDEN,
    "limit": sentences.SEARCH_LIMIT,
    "spent": sentences.SEARCH_SPENT,
    "refused": sentences.SEARCH_REFUSED,
    "failed": sentences.SEARCH_FAILED,
}


def _failure(name: str, answered: httpx.Response, body: bytes, meant: Mapping[int, Why]) -> SearchFailed:
    """One sentence. What the server says is not quoted: it may hold the key."""
    status = answered.status_code
    why: Why = "limit" if status == 429 else meant.get(status, "failed")
    if status == 422 and b"SUBSCRIPTION_TOKEN_INVALID" in body:  # how Brave names a wrong key
        why = "key"
    seconds = _seconds(answered.headers) if why == "limit" else None
    said = _SAID[why].format(
        provider=name,
        hint=sentences.SEARCH_JSON_HINT if name == SEARXNG else "",
        status=status_text(status),
        wait="" if seconds is None else sentences.WAIT.format(seconds=seconds),
    )
    return SearchFailed(said, why, seconds)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """When to come back: Retry-After, or the longest of Brave's limits of which nothing is left."""
    if (seconds := wait(headers)) is not None:
        return seconds
    left = re.findall(r"[0-9]+", headers.get("x-ratelimit-remaining", ""))
    resets = re.findall(r"[0-9]+", headers.get("x-ratelimit-reset", ""))
    spent = [int(reset) for count, reset in zip(left, resets, strict=False) if int(count) == 0]
    return float(max(spent)) if spent else None


def _hits(name: str, results: Any, snippet: str) -> list[Hit]:
    """The hits of a list of objects with `title`, `url` and a snippet; what is no such object is passed over."""
    if not isinstance(results, list):
        _unreadable(name)
    return [
        Hit(_text(each.get("title")), _text(each.get("url")), _text(each.get(snippet)))
        for each in results
        if isinstance(each, Mapping)
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
