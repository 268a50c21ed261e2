"""One connection pool and one set of limits per event loop, closed with the loop."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import ssl
import sys
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_plus
from urllib.request import getproxies, proxy_bypass

import httpx

from vancetope.errors import ConfigError

CONNECT = 10.0  # seconds to reach the server
KEEP_ALIVE = 30.0  # seconds an idle connection is kept

# What httpx and its parts load only at the first request of a process.
LATE = ("httpcore", "sniffio", "anyio._backends._asyncio")

SHORTEST_TOKEN = 8  # characters of a user that may be a token, with anything for its password
PUBLIC_PARAMETERS = frozenset({"api-version"})  # of a query, and no secret


@dataclass(frozen=True, slots=True)
class Origin:
    """A server's base URL, taken apart. `address` shows it without what may be secret."""

    prefix: str
    query: str = field(repr=False)
    host: str
    address: str
    authorization: str | None = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    secure: bool

    @classmethod
    def at(cls, base_url: str, server: str = "") -> Origin:
        """Raises `ConfigError` for anything but an http(s) URL of a host; it names the server, nothing of the URL."""
        base_url = base_url.strip()
        url = _parsed(base_url)
        if wrong := _wrong_with(base_url, url):
            whose = f" of {server}" if server else ""
            raise ConfigError(f"the base URL{whose} {wrong}; it looks like http://127.0.0.1:11434/v1")
        assert url is not None
        host = f"[{url.host}]" if ":" in url.host else url.host
        address = f"{url.scheme}://{host}" + (f":{url.port}" if url.port else "")
        query = f"?{url.query.decode()}" if url.query else ""
        authorization = f"Basic {_pair(url)}" if url.userinfo else None
        prefix = address + url.raw_path.decode().partition("?")[0].rstrip("/")
        return cls(prefix, query, url.host, address, authorization, _secrets(url), url.scheme == "https")

    def url(self, path: str) -> httpx.URL:
        """The URL of a path below the base URL, whose query it keeps."""
        return httpx.URL(f"{self.prefix}{path}{self.query}")

    def extensions(self) -> dict[str, Any]:
        """What a request carries for the transport; all but connecting is bounded by the call's own clock."""
        times = {"connect": CONNECT, "read": None, "write": None, "pool": None}
        return {"timeout": times, "trace": Handshake()} if self.secure else {"timeout": times}

    @property
    def loopback(self) -> bool:
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


@dataclass(slots=True)
class Pool:
    """What calls on one event loop share: the connections and, per model, the free slots."""

    transport: httpx.AsyncHTTPTransport
    per_model_limit: int
    guard: AsyncGenerator[None] | None = None
    _slots: dict[str, asyncio.Semaphore] = field(default_factory=dict)

    def slots(self, model: str) -> asyncio.Semaphore:
        found = self._slots.get(model)
        if found is None:
            found = self._slots[model] = asyncio.Semaphore(self.per_model_limit)
        return found


ByLoop: TypeAlias = dict[asyncio.AbstractEventLoop, Pool]


class Pools:
    """The pools of one backend, by event loop.

    A pool closes with its loop: an async generator that waits in it is finished by the loop's own shutdown (as in
    `asyncio.run`), which closes the connections while they still can be. It also closes when the backend is gone, and a
    dead loop's pool is never used again.
    """

    def __init__(self, origin: Origin, max_connections: int, per_model_limit: int) -> None:
        self._origin = origin
        self._limits = httpx.Limits(
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=KEEP_ALIVE,
        )
        self._per_model_limit = per_model_limit
        self._by_loop: ByLoop = {}
        weakref.finalize(self, _abandon, self._by_loop).atexit = False

    async def here(self) -> Pool:
        """The pool of the running loop."""
        loop = asyncio.get_running_loop()
        if (pool := self._by_loop.get(loop)) is not None:
            return pool
        # Loading modules and reading the machine's certificates takes time and files; a plain connection needs none.
        if not all(each in sys.modules for each in LATE):
            await asyncio.to_thread(_load_late)
        tls = await asyncio.to_thread(_tls) if self._origin.secure else _no_tls()
        if (pool := self._by_loop.get(loop)) is not None:
            return pool
        for old in [old for old in list(self._by_loop) if old.is_closed()]:  # other threads have loops of their own
            self._by_loop.pop(old, None)
        pool = Pool(_transport(self._origin, tls, self._limits), self._per_model_limit)
        pool.guard = _until_the_loop_ends(self._by_loop, loop, pool.transport)
        self._by_loop[loop] = pool
        await anext(pool.guard)
        return pool

    async def aclose(self) -> None:
        """Close the running loop's connections; those of other loops close with their loops."""
        pool = self._by_loop.get(asyncio.get_running_loop())
        if pool is not None and pool.guard is not None:
            await pool.guard.aclose()


class Handshake:
    """Watches one secure connection come up, as the `trace` extension of its request.

    httpcore closes the socket when a TLS handshake fails, but not when it is cancelled.
    """

    def __init__(self) -> None:
        self._stream: Any = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("connect_tcp.complete"):
            self._stream = info["return_value"]
        elif event.endswith("start_tls.failed") and self._stream is not None:
            await self._stream.aclose()


async def _until_the_loop_ends(
    by_loop: ByLoop, loop: asyncio.AbstractEventLoop, transport: httpx.AsyncHTTPTransport
) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        by_loop.pop(loop, None)
        await transport.aclose()


def _abandon(by_loop: ByLoop) -> None:
    """Close the pools of a backend that nobody closed, each on its loop if that still runs."""
    for loop, pool in list(by_loop.items()):
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_close_soon, pool)


def _close_soon(pool: Pool) -> None:
    if pool.guard is not None:
        closing = asyncio.ensure_future(pool.guard.aclose())
        _CLOSING.add(closing)
        closing.add_done_callback(_CLOSING.discard)


_CLOSING: set[asyncio.Future[None]] = set()


def _transport(origin: Origin, tls: ssl.SSLContext, limits: httpx.Limits) -> httpx.AsyncHTTPTransport:
    try:
        return httpx.AsyncHTTPTransport(verify=tls, limits=limits, proxy=_proxy(origin))
    except ImportError as error:
        raise ConfigError(f"the proxy that the environment names cannot be used: {error}") from None
    except (ValueError, httpx.InvalidURL):
        pass  # their words may quote the proxy's password
    raise ConfigError("the proxy that the environment names is no URL of a proxy, like http://proxy.example:3128")


def _proxy(origin: Origin) -> httpx.Proxy | None:
    """The environment's proxy for this server; this machine itself is never behind one."""
    if origin.loopback or proxy_bypass(origin.host):
        return None
    proxies = getproxies()
    url = proxies.get("https" if origin.secure else "http") or proxies.get("all")
    if not url:
        return None
    return httpx.Proxy(url if "://" in url else f"http://{url}")


def _load_late() -> None:
    for name in LATE:
        with suppress(ImportError):  # of another release; it finds its own parts then
            import_module(name)


def _tls() -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context()
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        raise ConfigError(
            "the certificates of this machine cannot be read; SSL_CERT_FILE and SSL_CERT_DIR, if set, have to name a "
            "file and a folder of certificates"
        ) from None


def _no_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _parsed(base_url: str) -> httpx.URL | None:
    try:
        url = httpx.URL(base_url)
        return url if (url.port or 0) <= 65535 else None
    except (httpx.InvalidURL, ValueError, UnicodeError):
        return None


def _wrong_with(base_url: str, url: httpx.URL | None) -> str:
    """What is wrong with a base URL, in words that quote nothing of it: any part may be a secret at a wrong place."""
    if not base_url.lower().startswith(("http://", "https://")):
        return "does not begin with http:// or https://"
    if len(base_url.split()) != 1:
        return "holds a blank"
    if url is None or not url.host:
        return "names no host, or a port that cannot be"
    if base_url.count("@") > bool(url.userinfo):
        return "holds an @ that does not end its user and password; write it as %40"
    return ""


def _pair(url: httpx.URL) -> str:
    """User and password as they go into the header."""
    return base64.b64encode(f"{url.username}:{url.password}".encode()).decode()


def _secrets(url: httpx.URL) -> tuple[str, ...]:
    """What of a base URL nobody may see, as it is written there and as it reads: its password, its user, the header
    made of both, and the values of its query."""
    user, _, password = url.userinfo.decode().partition(":")
    written = [password]
    # Beside a password a short user ("admin", "user") is no secret, and masking it would garble the text.
    if not password or len(url.username) >= SHORTEST_TOKEN:
        written.append(user)
    if url.userinfo:
        written.append(_pair(url).rstrip("="))
    for parameter in url.query.decode().split("&"):
        name, _, value = parameter.partition("=")
        if name not in PUBLIC_PARAMETERS:
            written.append(value or name)
    return tuple({each for text in written for each in (text, unquote(text), unquote_plus(text)) if each})
