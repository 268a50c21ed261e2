"""Connections to addresses that were checked, and to no others."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from vancetope import sentences
from vancetope.tools import threads
from vancetope.tools.failure import ToolFailed
from vancetope.tools.web import address
from vancetope.tools.web.rules import WebRules

if TYPE_CHECKING:
    import httpcore

TRIED = 4
"""Addresses of one name that are tried, one after the other; they share the time to connect."""


class Resolver(Protocol):
    """From a host's name to its addresses.

    Contract: gives every address that the name has, as text, in the order in which they should be tried. Raises
    `OSError` where there is none. Does not block the event loop.
    """

    async def __call__(self, host: str, port: int) -> Sequence[str]: ...


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """The machine's own resolver, in a thread."""
    found = await threads.current().run(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    return [str(each[4][0]) for each in found]


class GuardedBackend:
    """httpcore's way to the network for one fetch: each name is resolved once, all its addresses are checked, and the
    connection goes to one of them by its number.

    So a name that changes its address between check and connection gains nothing, nor does one that has a private
    address among public ones. TLS still asks for the name that the URL holds. `aclose` closes every connection,
    whatever became of it: httpcore forgets one whose TLS handshake is cancelled.
    """

    def __init__(self, rules: WebRules, resolver: Resolver) -> None:
        self._rules = rules
        self._resolver = resolver
        self._opened: list[httpcore.AsyncNetworkStream] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises `ToolFailed` where the host may not be reached, httpcore's errors where it cannot be."""
        import httpcore

        numbers = await self._numbers(host.removesuffix("."), port)
        network = httpcore.AnyIOBackend()
        failed: Exception | None = None
        share = None if timeout is None else timeout / len(numbers)
        for number in numbers:
            try:
                stream = await network.connect_tcp(number, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
                continue
            self._opened.append(stream)
            return stream
        raise failed or httpcore.ConnectError()

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise ToolFailed(sentences.WEB_PRIVATE.format(host=path))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def aclose(self) -> None:
        while self._opened:
            await self._opened.pop().aclose()

    async def _numbers(self, host: str, port: int) -> list[str]:
        """The addresses to try. All that the host has may be reached, or it raises `ToolFailed`."""
        found = [str(literal)] if (literal := address.literal(host)) else await self._resolved(host, port)
        if not self._rules.permits(host, port) and not all(map(_is_public, found)):
            raise ToolFailed(sentences.WEB_PRIVATE.format(host=host))
        return _in_turn(list(dict.fromkeys(found)))[:TRIED]

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        try:
            found = await self._resolver(host, port)
        except (OSError, UnicodeError):
            found = ()
        if not found:
            raise ToolFailed(sentences.WEB_UNKNOWN_HOST.format(host=host))
        return found


def _in_turn(numbers: list[str]) -> list[str]:
    """The same, with the first of the other family second: one of the two may lead nowhere from here."""
    other = next((each for each in numbers if (":" in each) != (":" in numbers[0])), None)
    if other is None:
        return numbers
    return [numbers[0], other, *(each for each in numbers[1:] if each != other)]


def _is_public(number: str) -> bool:
    try:
        return address.is_public(ipaddress.ip_address(number))
    except ValueError:
        return False
