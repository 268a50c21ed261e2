"""A web server on loopback that answers exactly what a test says, and the fetchers that may reach it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from tests.tools.running import answer
from vancetope.tools.failure import ToolFailed
from vancetope.tools.web.connect import Resolver
from vancetope.tools.web.fetch import web_fetch
from vancetope.tools.web.fetcher import Fetcher, FetchLimits
from vancetope.tools.web.rules import WebRules

Writing: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]


def page(
    body: bytes | str = b"", kind: str | None = "text/html; charset=utf-8", status: str = "200 OK", **headers: str
) -> bytes:
    """A whole response. A header that is given replaces the one that would be made; underscores are hyphens."""
    data = body.encode() if isinstance(body, str) else body
    made = {"content-length": str(len(data)), "connection": "close"}
    if kind is not None:
        made["content-type"] = kind
    made |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in made.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + data


def redirect(location: str, status: str = "302 Found") -> bytes:
    return page("", status=status, location=location)


@dataclass
class Site:
    """What it answers by path, and what it was asked: heads as they came. `connections` are those open now."""

    pages: Mapping[str, bytes | Writing]
    port: int = 0
    heads: list[str] = field(default_factory=list)
    connections: int = 0
    taken: int = 0

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def rules(self) -> WebRules:
        return WebRules((f"127.0.0.1:{self.port}",))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.taken += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            path = head.split(" ")[1].partition("?")[0]
            found = self.pages.get(path, page("nothing here", status="404 Not Found"))
            if isinstance(found, bytes):
                writer.write(found)
                await writer.drain()
            else:
                await found(writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the test is over
        finally:
            self.connections -= 1
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def all_closed(self) -> bool:
        for _ in range(200):
            if not self.connections:
                return True
            await asyncio.sleep(0.01)
        return False


@contextlib.asynccontextmanager
async def serving(pages: Mapping[str, bytes | Writing] | bytes | Writing) -> AsyncIterator[Site]:
    """The site, for as long as the block runs; what is no mapping is answered at `/`."""
    site = Site(pages if isinstance(pages, Mapping) else {"/": pages})
    server = await asyncio.start_server(site.answer, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if "Site.answer" in repr(task):
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def resolving(**addresses: Sequence[str]) -> Resolver:
    """A resolver that knows these hosts (underscores are dots) and no other."""
    known = {name.replace("_", "."): found for name, found in addresses.items()}

    async def resolve(host: str, port: int) -> Sequence[str]:
        if host not in known:
            raise OSError("unknown")
        return known[host]

    return resolve


async def fetched(site: Site, path: str = "/", limits: FetchLimits | None = None, **arguments: Any) -> str:
    """What web_fetch says of a page of the site."""
    fetcher = Fetcher(site.rules, limits=limits or FetchLimits())
    return await answer(web_fetch(site.rules, fetcher), url=site.url(path), **arguments)


async def refusal(url: str, rules: WebRules | None = None, resolver: Resolver | None = None) -> str:
    """The one sentence that web_fetch refuses with."""
    rules = rules or WebRules()
    fetcher = Fetcher(rules, resolver or resolving())
    with pytest.raises(ToolFailed) as failed:
        await answer(web_fetch(rules, fetcher), url=url)
    return str(failed.value)


def body_of(frame: str) -> str:
    """What stands in a frame."""
    lines = frame.split("\n")
    return "\n".join(lines[3:-1])


def head_of(frame: str) -> str:
    return frame.split("\n")[0]
