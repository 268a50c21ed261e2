"""One text in, one text out: a request to a function that knows nothing of messages."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from vancetope.backends.base import OnPiece, Request, TextPiece
from vancetope.backends.text.transcript import transcript
from vancetope.errors import ConfigError, ModelError, ReplyBroken, ServerFailed, Unreachable, VancetopeError
from vancetope.messages import Reply, Usage
from vancetope.models.base import ModelInfo
from vancetope.tools.failure import failure_text

TextFunction: TypeAlias = Callable[[str], Awaitable[str]]

CHARACTERS_PER_TOKEN = 4
SAID = 200  # characters of a function's own words in a sentence of ours


class TextBackend:
    """A `Backend` over an async function from text to text, called once for each reply.

    `info` says what is known of the model behind it; without it the model is `text:` and the function's name, of
    unknown price and window. Sampling settings are the function's business and are not passed on. Usage is estimated.

    Whatever the function raises is a `ModelError` with its class and first line, but errors of ours pass unchanged. A
    call that is cancelled or runs out of time is cancelled inside the function. Raises `ConfigError` at once for what
    cannot be such a function, and for a request that has no form as text (`tools`, `response_schema`).
    """

    def __init__(self, function: TextFunction, *, info: ModelInfo | None = None) -> None:
        name = name_of(function)
        if problem := _problem(function):
            raise ConfigError(f"a text model is an async function from text to text, and {name} {problem}")
        self._function = function
        self._name = name
        self.info = info or ModelInfo(provider="text", name=name, enforcements=("prompted",), forced_choice=False)

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        """What the function says, as it says it. Contract: see `Backend`."""
        if request.tools or request.response_schema is not None:
            what = "tools" if request.tools else "a response schema"
            raise ConfigError(f"{self.info.id} takes only text: a request with {what} has to be put into words before")
        prompt = transcript(request.system, request.messages)
        if request.on_send is not None:
            request.on_send()
        text = await self._said(prompt, request.timeout)
        if on_piece is not None and text.strip():
            on_piece(TextPiece(text))
        usage = Usage(max(1, len(prompt) // CHARACTERS_PER_TOKEN), len(text) // CHARACTERS_PER_TOKEN, estimated=True)
        return Reply(text=text, usage=usage, model=request.model)

    async def aclose(self) -> None:
        """Nothing is open between two calls."""

    async def _said(self, prompt: str, timeout: float) -> str:
        clock = asyncio.timeout(timeout)
        try:
            async with clock:
                text = await self._awaited(prompt)
        except VancetopeError:
            raise
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            raise ServerFailed(f"{self.info.id} failed: the call cancelled itself") from None
        except Exception as error:
            if clock.expired():
                raise Unreachable(f"{self.info.id} gave no answer within {timeout:g} s") from None
            raise self._failed(error) from error
        if not isinstance(text, str):
            raise ReplyBroken(f"{self.info.id} answered with an object of the class {type(text).__name__}, not a text")
        return text

    async def _awaited(self, prompt: str) -> Any:
        answer: Any = self._function(prompt)
        if inspect.isawaitable(answer):
            return await answer
        kind = type(answer).__name__
        raise ConfigError(
            f"a text model is an async function from text to text, and {self._name} returned {kind} without waiting"
        )

    def _failed(self, error: Exception) -> ModelError:
        """The error for what the function raised; of a group with one member, the member."""
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        first = next(iter(failure_text(error).splitlines()), "")
        said = "".join(filter(str.isprintable, first))
        kind = Unreachable if isinstance(error, ConnectionError | TimeoutError) else ServerFailed
        return kind(f"{self.info.id} failed: {said if len(said) <= SAID else said[: SAID - 1] + '…'}")


def name_of(function: object) -> str:
    """What to call a function: its own name, or that of the function or class behind it; never blank."""
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__name__", None)
    name = name if isinstance(name, str) else type(function).__name__
    return name if name.isidentifier() else "function"


def _problem(function: Any) -> str | None:
    """Why this cannot be an async function from text to text, as far as one can know before it is called."""
    while isinstance(function, partial):
        function = function.func
    if not callable(function):
        return "is not callable"
    called = function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__
    if inspect.iscoroutinefunction(called):
        return None
    if inspect.isasyncgenfunction(called) or inspect.isgeneratorfunction(called):
        return "yields, where it should return one text"
    if getattr(called, "__annotations__", {}).get("return") in (str, "str"):
        return "is not async"
    return None
