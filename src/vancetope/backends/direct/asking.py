"""One question to the library: our request in its terms, its response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from vancetope.backends.base import Piece as Shown
from vancetope.backends.base import Request
from vancetope.backends.direct.carried import Piece
from vancetope.backends.direct.dialect import Dialect, Notes
from vancetope.backends.direct.extras import Layer
from vancetope.backends.direct.passage import written_event
from vancetope.backends.direct.reading import Preview
from vancetope.backends.direct.seat import PASSAGE
from vancetope.backends.direct.speech import spoken
from vancetope.backends.direct.splice import Written
from vancetope.messages import Call, ToolSpec, User, whole_characters


def terms(request: Request, dialect: Dialect, model: Any) -> tuple[Any, Any]:
    """Settings and parameters of a request, in the library's terms. It never tries again by itself."""
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    settings = {"max_retries": 0, **dialect.settings(request, model)}
    if request.settings.thinking is not None:
        off = request.settings.thinking == "off"
        settings["thinking"] = False if off else request.settings.thinking
    tools = [
        ToolDefinition(
            name=each.name,
            description=whole_characters(each.description),
            parameters_json_schema=dict(each.parameters),
        )
        for each in request.tools
    ]
    system = [InstructionPart(content=whole_characters(request.system))] if request.system.strip() else None
    return settings, ModelRequestParameters(function_tools=tools, instruction_parts=system)


async def response(
    model: Any, said: list[Any], request: Request, dialect: Dialect, tell: Callable[[Shown], None] | None
) -> Any:
    """The library's response, streamed where somebody is told of its pieces."""
    from pydantic_ai.direct import model_request, model_request_stream

    settings, parameters = terms(request, dialect, model)
    more: Any = {"model_settings": settings, "model_request_parameters": parameters, "instrument": False}
    if tell is None:
        return await model_request(model, said, **more)
    preview = Preview()
    async with model_request_stream(model, said, **more) as stream:
        async for event in stream:
            for piece in preview.of(event):
                tell(piece)
    return stream.get()


def rehearsed(dialect: Dialect) -> Layer:
    """The library, loaded and run once against itself, both ways: it makes much of what it needs at its first request,
    which would hold up the event loop. Call it in a thread; a rehearsal that fails does not matter."""
    layer = dialect.load()
    with suppress(Exception):
        asyncio.run(_rehearse(dialect, layer))
        layer.rehearsed = True
    return layer


async def _rehearse(dialect: Dialect, layer: Layer) -> None:
    request = Request("rehearsal", "x", (User("x"),), (ToolSpec("x", "x", {"type": "object"}),))
    model = layer.make(request.model, layer.provider)
    said = spoken(Written().plan(request.model, request.messages).fresh, dialect.kind, dialect.system)
    for streams in (False, True):
        held = PASSAGE.set(_Stage(dialect, streams))
        try:
            await response(model, said, request, dialect, _unheard if streams else None)
        finally:
            PASSAGE.reset(held)


class _Stage:
    """A passage that leads nowhere: it answers with a text and a call."""

    def __init__(self, dialect: Dialect, streams: bool) -> None:
        self._dialect = dialect
        self._streams = streams

    async def send(self, made: Any) -> Any:
        from httpx2 import Response

        answer = self._dialect.told([Piece("text", "x"), Piece("call")], [Call("x", "x", "{}")], Notes())
        if self._streams:
            events = b"".join(map(written_event, self._dialect.events(answer, Notes())))
            return Response(200, headers={"content-type": "text/event-stream"}, content=events)
        return Response(200, json=self._dialect.answer(answer, Notes()))


def _unheard(_: Shown) -> None:
    return None
