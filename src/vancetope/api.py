"""The public functions: one question, one turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from vancetope.backends.base import Backend, ModelSettings
from vancetope.context import Budget, Patience
from vancetope.errors import ConfigError
from vancetope.events import Event
from vancetope.journal import Journal
from vancetope.messages import File, History, Image, Message, Text, User, next_turn
from vancetope.options import JOURNAL, LISTENER, check_one
from vancetope.outcome import EnforcementName, Role, Turn, TurnEnd
from vancetope.prepare import Asked, Prepared, history_of, prepare, user_message
from vancetope.recipes.recipe import Recipe
from vancetope.settings import Settings
from vancetope.tools.base import Tool

P = ParamSpec("P")
T = TypeVar("T")


async def ask(
    prompt: str | Iterable[str | Text | Image | File] | User,
    *,
    model: str | Backend | None = None,
    recipe: str | Path | Recipe = "default",
    settings: Settings | Mapping[str, Any] | None = None,
    tools: Iterable[Tool | Callable[..., Any]] = (),
    history: History | Iterable[Message] = (),
    instructions: str = "",
    turn_end: TurnEnd | None = None,
    role: Role | None = None,
    enforcement: EnforcementName | None = None,
    max_iterations: int | None = None,
    max_validation_corrections: int | None = None,
    validation: bool | None = None,
    budget: Budget | int | None = None,
    model_settings: ModelSettings | Mapping[str, Any] | None = None,
    deadline: float | None = None,
    patience: Patience | None = None,
    deps: Any = None,
    lang: str = "",
    journal: Journal | None = None,
    on_event: Callable[[Event], None] | None = None,
    wire: Callable[[str, Any], None] | None = None,
) -> Turn:
    """One turn: the prompt in, a `Turn` out, whatever the model does.

    `model` is `provider:name` or a `Backend`; without it the model is chosen by settings and environment. `tools` are
    typed functions or `Tool`s. `history` is the `messages` of an earlier turn. `deadline` is how long the turn may take
    and `budget` how many tokens it may use (or a `Budget`). `on_event` gets every event as it happens and must not
    raise; with it, or with `stream`, replies are streamed.

    Raises `ConfigError` in one sentence, before any request, for what cannot work: an unknown model, a bad recipe, an
    empty prompt, a history with a call that has no result. Cancelling it leaves nothing running.
    """
    given = locals()
    check_one("journal", journal, JOURNAL)
    check_one("on_event", on_event, LISTENER)
    asked = Asked(**{name: given[name] for name in _ASKED})
    prepared = prepare(asked)
    return await _one_turn(prepared, prompt, history, journal, on_event)


def _streaming(function: Callable[P, Coroutine[Any, Any, Turn]]) -> Callable[P, AsyncIterator[Event]]:
    @wraps(function)
    async def stream(*args: P.args, **options: P.kwargs) -> AsyncIterator[Event]:
        if options.get("on_event") is not None:
            raise ConfigError("stream gives the events itself; on_event belongs to ask")
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        told: dict[str, Any] = {**options, "on_event": events.put_nowait}
        task = asyncio.ensure_future(cast(Any, function)(*args, **told))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            task.result()
        finally:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    return stream


def _blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    @wraps(function)
    def block(*args: P.args, **options: P.kwargs) -> T:
        return _to_end(function(*args, **options))

    return block


stream = _streaming(ask)
stream.__name__ = "stream"
stream.__doc__ = """The events of one turn, as they happen; the last is `TurnEnded`.

It takes what `ask` takes, but `on_event`. Errors of the arguments are raised by the first step. Closing the iterator
early cancels the turn.
"""

ask_blocking = _blocking(ask)
ask_blocking.__name__ = "ask_blocking"
ask_blocking.__doc__ = """`ask` for scripts and notebooks: it blocks, also where an event loop is already running."""


async def _one_turn(
    prepared: Prepared, prompt: Any, history: Any, journal: Journal | None, on_event: Callable[[Event], None] | None
) -> Turn:
    message = user_message(prompt, prepared.info)
    past = history_of(history, prepared.info)
    ctx = prepared.context(
        drain=lambda round: (message,) if round == 0 else (),
        publish=on_event or _nobody,
        history=past,
        turn=next_turn(past),
        journal=journal,
        streamed=on_event is not None,
    )
    return await prepared.engine.steer(ctx)


def _nobody(event: Event) -> None:
    """Nobody listens."""


def _to_end(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="vancetope-blocking")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


_ASKED = tuple(Asked.__dataclass_fields__)
