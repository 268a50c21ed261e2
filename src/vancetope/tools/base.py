"""What a tool is to the runtime."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vancetope.messages import ToolSpec


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the runtime gives a tool whose parameter is annotated with this type; the model never sees that parameter.

    `deps` is what the caller passed to `ask(deps=...)`, `session` names the conversation ("" for a single ask),
    `emit` publishes a `ToolProgress` event with any JSON-like value.
    """

    deps: Any
    session: str
    call_id: str
    emit: Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its spec, and `run(arguments, context)` that gives the result's text.

    `arguments` fit the spec's schema when `run` is called. Whatever `run` raises becomes an error result for the model.
    `alone`: no other call runs beside it. `poll`: the same call may be repeated at will. `timeout` in seconds, null for
    the runtime's default.
    """

    spec: ToolSpec
    run: Callable[[Mapping[str, Any], ToolContext], Awaitable[str]]
    alone: bool = False
    poll: bool = False
    timeout: float | None = None

    @property
    def name(self) -> str:
        return self.spec.name
