"""One question to the library: our request in its terms, its response."""

from __future__ import annotations

import asyncio
import json
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
from vancetope.backends.direct.splice import Plan, Written, spliced
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
    request = Request("rehearsal", "x", (User("x"),), (ToolSpec("x", "x", {"type": "object"}),))
    plan = Written().plan(request.model, request.messages)
    with suppress(Exception):
        model = layer.make(request.model, None, layer.provider)
        for streams in (False, True):
            asyncio.run(_staged(dialect, model, plan, request, streams))
        layer.rehearsed = True
    return layer


def written_ahead(dialect: Dialect, model: Any, plan: Plan, written: Written) -> None:
    """Have the library write a long past, to be kept. It takes a fraction of a millisecond for each message, which adds
    up: call it in a thread. Where it fails, the request itself will."""
    request = Request(plan.model, "", plan.messages)
    with suppress(Exception):
        stage = asyncio.run(_staged(dialect, model, plan, request, False))
        spliced(plan, dialect.messages(stage.body[dialect.conversation]), dialect.model_role, written)


async def _staged(dialect: Dialect, model: Any, plan: Plan, request: Request, streams: bool) -> _Stage:
    stage = _Stage(dialect, streams)
    held = PASSAGE.set(stage)
    try:
        said = spoken(plan.fresh, dialect.kind, dialect.system, plan.model)
        await response(model, said, request, dialect, _unheard if streams else None)
    finally:
        PASSAGE.reset(held)
    return stage


class _Stage:
    """A passage that leads nowhere: it answers with a text and a call."""

    def __init__(self, dialect: Dialect, streams: bool) -> None:
        self.body: dict[str, Any] = {}
        self._dialect = dialect
        self._streams = streams

    async def send(self, made: Any) -> Any:
        from httpx2 import Response

        self.body = json.loads(await made.aread())
        answer = self._dialect.told([Piece("text", "x"), Piece("call")], [Call("x", "x", "{}")], Notes())
        if self._streams:
            events = b"".join(map(written_event, self._dialect.events(answer, Notes())))
            return Response(200, headers={"content-type": "text/event-stream"}, content=events)
        return Response(200, json=self._dialect.answer(answer, Notes()))


def _unheard(_: Shown) -> None:
    return None
