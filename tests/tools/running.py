"""Running tools in tests: a workshop that keeps its events, and calls without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from vancetope.events import Event
from vancetope.messages import Call
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.batch import Blobs, Limits, Planned, Threads, Workshop


def context(emit: Callable[[Any], None] = lambda _: None, deps: Any = None) -> ToolContext:
    return ToolContext(deps, "session", "c1", emit)


async def answer(tool: Tool, **arguments: Any) -> str:
    """What the tool itself says; what it raises is raised."""
    return await tool.run(arguments, context())


def planned(tool: Tool, number: int = 1, **arguments: Any) -> Planned:
    return Planned(Call(f"c{number}", tool.name, "{}"), tool, arguments)


def workshop(
    events: list[Event] | None = None,
    limits: Limits | None = None,
    interrupt: asyncio.Event | None = None,
    **others: Any,
) -> Workshop:
    kept: list[Event] = [] if events is None else events
    return Workshop(kept.append, Blobs(), Threads(), limits or Limits(), interrupt=interrupt, **others)
