"""One page over HTTP: redirects, limits, and nothing sent but the question."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vancetope import sentences
from vancetope.tools import threads
from vancetope.tools.failure import ToolFailed
from vancetope.tools.web import response
from vancetope.tools.web.connect import GuardedBackend, Resolver, system_resolver
from vancetope.tools.web.response import Page
from vancetope.tools.web.rules import Target, WebRules, target

if TYPE_CHECKING:
    import httpcore

AGENT = b"vancetope"
ACCEPT = b"text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,application/xml;q=0.9,*/*;q=0.1"


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`body` in bytes after decompression, `connect` and `whole` in seconds, the latter over all redirects. A body of
    which some came in time is delivered as far as it came."""

    body: int = 5 * 1024 * 1024
    connect: float = 10.0
    whole: float = 30.0
    redirects: int = 5


@dataclass(slots=True)
class Fetcher:
    """Fetches pages: one connection for each request, straight to the server (no proxy, whatever the environment says),
    no cookie, no Referer, no credential. `tls` is made of the machine's certificates on first need."""

    rules: WebRules
    resolver: Resolver = system_resolver
    limits: FetchLimits = field(default_factory=FetchLimits)
    tls: ssl.SSLContext | None = None

    async def page(self, url: str) -> Page:
        """The page at this URL. Raises `ToolFailed` with one sentence where there is none, also for a type that is no
        text: its body is not read."""
        until = asyncio.get_running_loop().time() + self.limits.whole
        seen: set[str] = set()
        at = target(url, self.rules)
        while True:
            seen.add(str(at.url))
            answer = await self._answer(at, until)
            if isinstance(answer, Page):
                return answer
            at = self._redirected(at, answer, seen)

    def _redirected(self, at: Target, location: str, seen: set[str]) -> Target:
        try:
            following = at.joined(location, self.rules)
        except ToolFailed as refused:
            said = sentences.WEB_REDIRECTED.format(sentence=refused, url=at.shown)
            raise ToolFailed(said) from None
        if str(following.url) in seen:
            raise ToolFailed(sentences.WEB_CIRCLE.format(url=at.shown))
        if len(seen) > self.limits.redirects:
            raise ToolFailed(sentences.WEB_REDIRECTS.format(url=at.shown, count=self.limits.redirects))
        return following

    async def _answer(self, at: Target, until: float) -> Page | str:
        """The page, or where the server redirects to."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout_at(until):
                    answered = await stack.enter_async_context(self._asked(at))
            except TimeoutError:
                raise ToolFailed(sentences.WEB_SLOW.format(host=at.host, seconds=self.limits.whole)) from None
            headers = response.headers(answered)
            if answered.status in (301, 302, 303, 307, 308) and (location := headers.get("location")):
                return location
            page = response.unread(at.shown, answered.status, headers)
            if page.status < 400:
                response.check(page)
            return await response.read(page, answered.aiter_stream(), headers, self.limits.body, until)
        raise AssertionError  # the stack swallows nothing

    @contextlib.asynccontextmanager
    async def _asked(self, at: Target) -> AsyncIterator[httpcore.Response]:
        """The response to a GET, its body unread. httpcore's errors become `ToolFailed`."""
        import httpcore

        url = at.url
        secure = url.scheme == "https"
        if secure and self.tls is None:
            self.tls = await threads.current().run(_of_the_machine)
        backend: Any = GuardedBackend(self.rules, self.resolver)
        # Without one for http, httpcore reads the machine's certificates, in the event loop.
        tls = self.tls if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        pool = httpcore.AsyncConnectionPool(tls, network_backend=backend)
        where = httpcore.URL(scheme=url.raw_scheme, host=at.host.encode(), port=url.port, target=url.raw_path)
        times = {"timeout": {"connect": self.limits.connect}}
        try:
            async with pool, pool.stream("GET", where, headers=_sent(at), extensions=times) as answered:
                yield answered
        except httpcore.TimeoutException:
            raise ToolFailed(sentences.WEB_SLOW.format(host=at.host, seconds=self.limits.connect)) from None
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol):
            raise ToolFailed(sentences.WEB_NO_HTTP.format(host=at.host)) from None
        except httpcore.NetworkError as error:
            said = sentences.WEB_TLS if _is_tls(error) else sentences.WEB_UNREACHABLE
            raise ToolFailed(said.format(host=at.host)) from None
        finally:
            await backend.aclose()


def _is_tls(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None


def _sent(at: Target) -> list[tuple[bytes, bytes]]:
    return [
        (b"Host", at.url.netloc),
        (b"User-Agent", AGENT),
        (b"Accept", ACCEPT),
        (b"Accept-Encoding", b"gzip, deflate"),
        (b"Connection", b"close"),
    ]


def _of_the_machine() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()
