"""No test reaches another machine, and none sees a key of the person who runs it.

`install()` works in the process that calls it; `sitecustomize` beside this file calls it in every child Python process,
because conftest and the Makefile put this folder on PYTHONPATH.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Callable
from typing import Any

# The first guarded process cleans its environment and leaves this mark. Its children keep what a test hands them on
# purpose (a key of a fake server, say): cleaning them too would make the command line untestable.
CLEANED = "VANCETOPE_TEST_ENVIRONMENT_CLEANED"

_SECRET = re.compile(
    r".*_API_KEY(_FILE)?|.*_BASE_URL|(OPENAI|ANTHROPIC|GEMINI|GOOGLE|AZURE|OPENROUTER|OLLAMA|LM|BRAVE|TAVILY)_.*"
    r"|VANCETOPE_(?!TEST_|CACHE_DIR$|WITHOUT_ROW$|SCHEMA_SAMPLE$|JSON_SCHEMA_SUITE$).*"  # all settings of the person's
    r"|(https?|ftp|all|no)_proxy",
    re.IGNORECASE,
)
_UNIX: int | None = getattr(socket, "AF_UNIX", None)


class OutsideNetworkRefused(RuntimeError):
    """A test tried to leave this machine.

    Not an OSError: code under test turns those into "the server cannot be reached", and the test would pass.
    """

    def __init__(self, what: str, address: object) -> None:
        super().__init__(f"the tests' network guard refused {what} to {address!r}: only loopback addresses are allowed")


def is_secret(name: str) -> bool:
    return _SECRET.fullmatch(name) is not None


def clean_environment() -> None:
    if CLEANED in os.environ:
        return
    for name in [name for name in os.environ if is_secret(name)]:
        del os.environ[name]
    os.environ[CLEANED] = "1"


def is_loopback(host: object) -> bool:
    if isinstance(host, bytes | bytearray):
        host = bytes(host).decode("ascii", "replace")
    if not isinstance(host, str):
        return False
    if host.lower() in {"localhost", "localhost."}:
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _refuse_outside(what: str, sock: socket.socket, address: Any) -> None:
    if sock.family == _UNIX:
        return
    if not (isinstance(address, tuple) and address and is_loopback(address[0])):
        raise OutsideNetworkRefused(what, address)


def _guard_socket(name: str, position: int) -> None:
    """Check the address that `socket.name` takes: at `position`, or last where that is negative."""
    original = getattr(socket.socket, name)

    def guarded(self: socket.socket, *args: Any) -> Any:
        # sendmsg takes its address fourth, and None or nothing when the socket is already connected.
        address = args[position] if -len(args) <= position < len(args) else None
        if address is not None:
            _refuse_outside(name, self, address)
        return original(self, *args)

    guarded.__name__ = name
    setattr(socket.socket, name, guarded)


def _guard_lookup(name: str) -> None:
    original: Callable[..., Any] = getattr(socket, name)

    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        # Nothing and the wildcards are what servers bind to: looking them up asks nobody.
        if host not in {None, "", b"", "0.0.0.0", "::"} and not is_loopback(host):
            raise OutsideNetworkRefused(name, host)
        return original(host, *args, **kwargs)

    guarded.__name__ = name
    setattr(socket, name, guarded)


def install() -> None:
    """Clean the environment and guard the socket module. A second call does nothing."""
    clean_environment()
    if getattr(socket, "_vancetope_guarded", False):
        return
    socket._vancetope_guarded = True  # type: ignore[attr-defined]
    _guard_socket("connect", 0)
    _guard_socket("connect_ex", 0)
    _guard_socket("sendto", -1)
    _guard_socket("sendmsg", 3)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        _guard_lookup(name)
