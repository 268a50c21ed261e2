"""The public functions: one turn, one structured answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

from vancetope.answer import Answer
from vancetope.asked import Asked
from vancetope.backends.base import Backend, ModelSettings
from vancetope.backends.text import TextFunction
from vancetope.context import Budget, Patience
from vancetope.errors import ConfigError
from vancetope.events import Event
from vancetope.inputs import history_of, user_message
from vancetope.journal import Journal
from vancetope.messages import File, History, Image, Message, Text, User, next_turn
from vancetope.options import JOURNAL, LISTENER, check_one
from vancetope.outcome import EnforcementName, Role, Turn, TurnEnd
from vancetope.prepare import Prepared, prepare, prepare_question
from vancetope.questions import answered, question_of
from vancetope.recipes.recipe import Recipe
from vancetope.settings import Settings
from vancetope.tools.base import Tool

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

Prompt: TypeAlias = str | Iterable[str | Text | Image | File] | User
Model: TypeAlias = str | Backend | TextFunction | None


class QueryOptions(TypedDict, total=False):
    """What `query` takes beside prompt and schema; what is not listed here is as in `ask`.

    `max_attempts` (1 to 10, 3 unless the recipe says otherwise) bounds the model's replies, `format_checks` makes a
    string that misses its `format` wrong. `enforcement` says how the schema is asked for: by the provider's response
    format, by a server's grammar, or in words. `max_iterations` (20) bounds the tool rounds before the answer.
    """

    model: Model
    recipe: str | Path | Recipe
    settings: Settings | Mapping[str, Any] | None
    tools: Iterable[Tool | Callable[..., Any]]
    history: History | Iterable[Message]
    instructions: str
    max_attempts: int | None
    format_checks: bool
    enforcement: EnforcementName | None
    max_iterations: int | None
    budget: Budget | int | None
    model_settings: ModelSettings | Mapping[str, Any] | None
    deadline: float | None
    patience: Patience | None
    deps: Any
    lang: str
    journal: Journal | None
    on_event: Callable[[Event], None] | None
    wire: Callable[[str, Any], None] | None


async def ask(
    prompt: Prompt,
    *,
    model: Model = None,
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

    `model` is `provider:name`, a `Backend` or an async function from text to text; without it the model is chosen by
    settings and environment. `tools` are typed functions or `Tool`s. `history` is the `messages` of an earlier turn.
    `deadline` is how long the turn may take and `budget` how many tokens it may use (or a `Budget`). `on_event` gets
    every event as it happens and must not raise; with it, or with `stream`, replies are streamed.

    Raises `ConfigError` in one sentence, before any request, for what cannot work: an unknown model, a bad recipe, an
    empty prompt, a history with a call that has no result. Cancelling it leaves nothing running.
    """
    given = locals()
    check_one("journal", journal, JOURNAL)
    check_one("on_event", on_event, LISTENER)
    asked = Asked(**{name: given[name] for name in _ASKED if name in given})
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


@overload
async def query(prompt: Prompt, schema: type[S], **options: Unpack[QueryOptions]) -> Answer[S]: ...
@overload
async def query(
    prompt: Prompt, schema: Mapping[str, Any], **options: Unpack[QueryOptions]
) -> Answer[dict[str, Any]]: ...
async def query(prompt: Prompt, schema: Any, **options: Unpack[QueryOptions]) -> Answer[Any]:
    """One structured answer: an object that fits the schema, or one named failure, whatever the model does.

    `schema` is a JSON Schema whose top is an object, or a pydantic model (any class that pydantic can validate), of
    which `data` is an instance then. `options` are those of `QueryOptions`.

    Raises `ConfigError` in one sentence, before any request, for an unknown model, a bad recipe and options that cannot
    be; what is wrong with prompt, schema, `max_attempts` or `format_checks` is the answer's error. Cancelling it leaves
    nothing running.
    """
    unknown = sorted(set(options) - set(QueryOptions.__annotations__))
    if unknown:
        raise TypeError(f"query() got an unexpected keyword argument {unknown[0]!r}")
    journal, on_event = options.get("journal"), options.get("on_event")
    check_one("journal", journal, JOURNAL)
    check_one("on_event", on_event, LISTENER)
    given = {"recipe": "jeltz", **{name: value for name, value in options.items() if name in _ASKED}}
    prepared = prepare_question(Asked(**cast(dict[str, Any], given)))
    attempts = options.get("max_attempts")
    question = question_of(
        prompt,
        schema,
        prepared.info,
        max_attempts=prepared.max_attempts if attempts is None else attempts,
        format_checks=options.get("format_checks", False),
    )
    return await answered(
        prepared,
        question,
        publish=on_event or _nobody,
        history=history_of(options.get("history", ()), prepared.info),
        journal=journal,
        streamed=on_event is not None,
        notices=prepared.notices,
    )


@overload
def query_blocking(prompt: Prompt, schema: type[S], **options: Unpack[QueryOptions]) -> Answer[S]: ...
@overload
def query_blocking(
    prompt: Prompt, schema: Mapping[str, Any], **options: Unpack[QueryOptions]
) -> Answer[dict[str, Any]]: ...
def query_blocking(prompt: Prompt, schema: Any, **options: Unpack[QueryOptions]) -> Answer[Any]:
    """`query` for scripts and notebooks: it blocks, also where an event loop is already running."""
    return _to_end(query(prompt, schema, **options))


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
        notices=prepared.notices,
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
