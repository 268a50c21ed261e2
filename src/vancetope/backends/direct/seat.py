"""The seat under the library's HTTP client: what it would send goes through the request that is being made."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

PLACE = "http://model.invalid"
"""Where the library believes the server to be. It is never looked up: the seat knows the address, the library must not,
since its errors and logs quote it."""


class Passage(Protocol):
    """One attempt, as the seat sees it."""

    async def send(self, request: Any) -> Any:
        """Send what the library made, in the form it should have, and answer it."""
        ...


PASSAGE: ContextVar[Passage] = ContextVar("PASSAGE")


class Seat:
    """A transport for the library's client. It has no connection of its own, so it belongs to no event loop."""

    async def handle_async_request(self, request: Any) -> Any:
        return await PASSAGE.get().send(request)

    async def __aenter__(self) -> Seat:
        return self

    async def __aexit__(self, *exception: object) -> None:
        return None

    async def aclose(self) -> None:
        return None


def client() -> Any:
    """An HTTP client for the library that sits on the seat. Time is bounded by the call, not here."""
    from httpx2 import AsyncClient

    return AsyncClient(transport=Seat(), timeout=None, trust_env=False)  # type: ignore[arg-type]
