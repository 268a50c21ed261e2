"""Tools from plain typed functions: the schema from the signature, the description from the docstring."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, overload

from vancetope.errors import ConfigError
from vancetope.messages import ToolSpec
from vancetope.schema.validate import InvalidSchema, compile
from vancetope.tools import docstrings, threads
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.signatures import Parameters, parameters_of
from vancetope.tools.values import text_of

RESERVED = frozenset({"respond", "answer", "result_read", "tool_describe"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


@overload
def tool(
    fn: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    alone: bool = False,
    poll: bool = False,
    timeout: float | None = None,
) -> Tool: ...
@overload
def tool(
    fn: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    alone: bool = False,
    poll: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    alone: bool = False,
    poll: bool = False,
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A tool from a function, a bound method, a `functools.partial` or another callable; also a decorator.

    Every parameter needs a type; one annotated `ToolContext` is filled by the runtime and hidden from the model, and so
    is what a partial fixed. A plain `def` runs in a thread, an `async def` in the event loop. What it returns becomes
    text (see `values.text_of`). `alone`, `poll` and `timeout` are those of `Tool`. Raises `ConfigError` naming tool and
    parameter where the signature cannot be a JSON Schema.
    """
    if fn is None:
        return functools.partial(tool, name=name, description=description, alone=alone, poll=poll, timeout=timeout)
    plain = _unwrapped(fn)
    named = checked_name(name or _name_of(plain))
    if inspect.isclass(plain) or _yields(plain):
        raise ConfigError(
            f"tool {named!r}: a tool is a function that returns its result, not a class or a generator; "
            "return a list, or one text"
        )
    if timeout is not None and not timeout > 0:
        raise ConfigError(f"tool {named!r}: timeout is a number of seconds above 0, not {timeout!r}")
    told = docstrings.read(_doc_of(plain))
    taken = parameters_of(fn, plain, named, told.parameters)
    spec = ToolSpec(named, description or told.summary or named.replace("_", " "), taken.schema)
    return Tool(spec, _Function(fn, taken, _is_async(plain)), alone, poll, timeout)


def as_tools(items: Iterable[Tool | Callable[..., Any]]) -> tuple[Tool, ...]:
    """Tools from tools and functions, in order.

    Raises `ConfigError` for two of one name, a name that is reserved or impossible, and parameters that are no schema.
    """
    made: dict[str, Tool] = {}
    for item in items:
        if not isinstance(item, Tool) and not callable(item):
            raise ConfigError(f"a tool is a function or a Tool, not {type(item).__name__}")
        each = item if isinstance(item, Tool) else _made(item)
        _check(each)
        if each.name in RESERVED:
            raise ConfigError(f"the tool name {each.name!r} belongs to the runtime, choose another")
        if each.name in made:
            raise ConfigError(f"two tools are named {each.name!r}, give one another name")
        made[each.name] = each
    return tuple(made.values())


def _made(fn: Callable[..., Any]) -> Tool:
    """The tool of a function; made once for one that closes over nothing, because every request asks for it anew."""
    return _made_once(fn) if inspect.isfunction(fn) and fn.__closure__ is None else tool(fn)


@functools.lru_cache(maxsize=256)
def _made_once(fn: Callable[..., Any]) -> Tool:
    return tool(fn)


def _check(made: Tool) -> None:
    checked_name(made.name)
    if made.spec.parameters.get("type", "object") != "object":
        raise ConfigError(f"tool {made.name!r}: the schema of its arguments must be an object")
    try:
        compile(made.spec.parameters)
    except InvalidSchema as error:
        raise ConfigError(f"tool {made.name!r}: {error}") from None


def checked_name(name: str) -> str:
    """The same name, if every provider takes it. Raises `ConfigError` otherwise."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"the tool name {name!r} is not possible: a letter or _ first, then letters, digits, _ and -, 64 at most"
        )
    return name


@dataclass(frozen=True, slots=True)
class _Function:
    """The `run` of a tool made from a function."""

    fn: Callable[..., Any]
    taken: Parameters
    is_async: bool

    async def __call__(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        values = self.taken.values(arguments, context)
        if self.is_async:
            return text_of(await self.fn(**values))

        def work() -> str | Awaitable[Any]:
            value = self.fn(**values)
            return value if inspect.isawaitable(value) else text_of(value)

        value = await threads.current().run(work)
        return value if isinstance(value, str) else text_of(await value)


def _unwrapped(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function under partials."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def _name_of(fn: Callable[..., Any]) -> str:
    name = getattr(fn, "__name__", None)
    if not isinstance(name, str) or name == "<lambda>":
        kind = "a lambda" if name == "<lambda>" else f"an object of the class {type(fn).__name__}"
        raise ConfigError(f"{kind} has no name for the model: give one with tool(fn, name=...)")
    return name


def _doc_of(fn: Callable[..., Any]) -> str | None:
    if inspect.isroutine(fn):
        return inspect.getdoc(fn)
    return type(fn).__call__.__doc__ or inspect.getdoc(type(fn))


def _yields(fn: Callable[..., Any]) -> bool:
    called = fn if inspect.isroutine(fn) else type(fn).__call__
    return inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called)


def _is_async(fn: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004
