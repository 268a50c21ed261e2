"""The local model as a backend: the OpenAI-compatible client, pointed at a child process of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vancetope.backends.base import OnPiece, Piece, Request, Restarted
from vancetope.backends.local.launcher import Lease, ensure_alive, serving
from vancetope.backends.local.spawn import Endpoint, Serving
from vancetope.backends.local.weights import find
from vancetope.backends.openai import PROFILES, OpenAICompatible
from vancetope.errors import ReplyBroken, Unreachable
from vancetope.messages import Reply


class LocalBackend:
    """A `Backend` for a model file on this machine.

    `model` is a known name or the path of a GGUF file. The child that serves it is started by the first request, shared
    by everybody in this process, and ends some time after the last one. A request during which it died is sent once
    more to a new one.
    """

    def __init__(
        self, model: str, *, context: int | None = None, wire: Callable[[str, Any], None] | None = None
    ) -> None:
        self._model = model
        self._serving = Serving(context=context) if context else Serving()
        self._wire = wire
        self._clients: dict[Endpoint, OpenAICompatible] = {}

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        """The model's reply. Contract: see `Backend`."""
        shown = False

        def tell(piece: Piece) -> None:
            nonlocal shown
            shown = True
            if on_piece:
                on_piece(piece)

        async with serving(await find(self._model), self._serving) as lease:
            endpoint, client = await self._client(lease)
            try:
                # Always streamed: llama.cpp notices only in a stream that nobody reads its answer any more.
                return await client.complete(request, tell)
            except (ReplyBroken, Unreachable) as error:
                again, client = await self._client(lease, lost=endpoint)
                if again == endpoint:
                    raise
                if shown and on_piece:
                    on_piece(Restarted())
                reply = await client.complete(request, tell)
                return replace(reply, requests=reply.requests + error.requests)

    async def _client(self, lease: Lease, lost: Endpoint | None = None) -> tuple[Endpoint, OpenAICompatible]:
        endpoint = await ensure_alive(lease, lost)
        if endpoint not in self._clients:
            await self.aclose()
            self._clients = {
                endpoint: OpenAICompatible(
                    endpoint.base_url, endpoint.api_key, profile=PROFILES["local"], wire=self._wire
                )
            }
        return endpoint, self._clients[endpoint]

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients = {}
