"""Think engines, by name. A chat engine is two functions over a context that is built fresh for each turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vancetope.context import Context
from vancetope.engines import ford
from vancetope.errors import ConfigError
from vancetope.outcome import Turn


class Engine(Protocol):
    """A chat engine.

    Contract: `start` opens a process and `steer` runs one turn of it; both end with a `Turn` and never raise for what a
    model does. An engine keeps nothing between two calls: what it needs is in the context.
    """

    async def start(self, ctx: Context, greeting: str | None) -> Turn: ...

    async def steer(self, ctx: Context) -> Turn: ...


ENGINES: Mapping[str, Engine] = {"ford": ford}


def engine(name: str) -> Engine:
    """The chat engine of this name. Raises `ConfigError` naming those there are."""
    if name == "jeltz":
        raise ConfigError("the engine jeltz answers structured questions, not chats: use query with a schema")
    if name not in ENGINES:
        raise ConfigError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
    return ENGINES[name]
