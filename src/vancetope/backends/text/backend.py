"""One text in, one text out: a request to a function that knows nothing of messages."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from vancetope.backends.base import OnPiece, Request, TextPiece
from vancetope.backends.text.transcript import HEADINGS, heading, transcript
from vancetope.errors import ConfigError, ModelError, ReplyBroken, ServerFailed, Unreachable
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

    Whatever the function raises is a `ModelError` with its class and first line; a `ModelError` or `ConfigError` of its
    own passes unchanged. A call that is cancelled or runs out of time is cancelled inside the function. Raises
    `ConfigError` at once for what cannot be such a function, and for a request that has no form as text (`tools`,
    `response_schema`).
    """

    def __init__(self, function: TextFunction, *, info: ModelInfo | None = None) -> None:
        name = name_of(function)
        if problem := _problem(function):
            raise _unfit(name, problem)
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
        text = _unheaded(await self._said(prompt, request.timeout))
        if on_piece is not None and text.strip():
            on_piece(TextPiece(text))
        usage = Usage(max(1, len(prompt) // CHARACTERS_PER_TOKEN), len(text) // CHARACTERS_PER_TOKEN, estimated=True)
        return Reply(text=text, usage=usage, model=request.model)

    async def aclose(self) -> None:
        """Nothing is open between two calls."""

    async def _said(self, prompt: str, timeout: float) -> str:
        task = asyncio.current_task()
        assert task is not None
        asked_before = task.cancelling()
        clock = asyncio.timeout(timeout)
        try:
            async with clock:
                text = await self._awaited(prompt)
        except (Exception, asyncio.CancelledError) as error:
            if task.cancelling() > asked_before:
                if isinstance(error, asyncio.CancelledError):
                    raise
                raise asyncio.CancelledError from error  # a clean-up that fails undoes no cancellation
            if isinstance(error, ModelError | ConfigError):
                raise
            if clock.expired():
                raise Unreachable(f"{self.info.id} gave no answer within {timeout:g} s") from None
            raise self._failed(error) from error
        if not isinstance(text, str):
            raise ReplyBroken(f"{self.info.id} answered with an object of the class {type(text).__name__}, not a text")
        return text

    async def _awaited(self, prompt: str) -> Any:
        answer: Any = self._function(prompt)
        if not inspect.isawaitable(answer):
            raise _unfit(self._name, f"is not async: it returned an object of the class {type(answer).__name__}")
        return await answer

    def _failed(self, error: BaseException) -> ModelError:
        """The error for what the function raised, a cancellation that nobody asked for among it; of a group with one
        member, the member."""
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        first = next(iter(failure_text(error).splitlines()), "")
        said = "".join(filter(str.isprintable, first))
        kind = Unreachable if isinstance(error, ConnectionError | TimeoutError) else ServerFailed
        return kind(f"{self.info.id} failed: {said if len(said) <= SAID else said[: SAID - 1] + '…'}")


def _unheaded(text: str) -> str:
    """The text without the assistant's heading, which the prompt ends with, where the model wrote it once more."""
    first, _, rest = text.lstrip().partition("\n")
    return rest.lstrip("\r\n") if first.strip() == heading(HEADINGS["assistant"]) else text


def _unfit(name: str, problem: str) -> ConfigError:
    return ConfigError(f"a text model is an async function from text to text, and {name} {problem}")


def name_of(function: object) -> str:
    """What to call a function: its own name, or that of its class; never blank."""
    function = _whole(function)
    name = getattr(function, "__name__", None)
    name = name if isinstance(name, str) else type(function).__name__
    return name if name.isidentifier() else "function"


def _problem(function: Any) -> str | None:
    """Why this cannot be an async function from text to text, as far as one can know before it is called: what wraps
    another function may make anything of it."""
    if not callable(function):
        return "is not callable"
    signature = _signature(function)
    if signature is not None and not _takes_one_text(signature):
        return "cannot be called with one text"
    whole = _whole(function)
    called = whole if inspect.isroutine(whole) or inspect.isclass(whole) else type(whole).__call__
    if inspect.isasyncgenfunction(called) or inspect.isgeneratorfunction(called):
        return "yields, where it should return one text"
    if inspect.iscoroutinefunction(called) or hasattr(called, "__wrapped__") or signature is None:
        return None
    return "is not async" if signature.return_annotation in (str, "str") else None


def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError, NameError):  # it has none, or one that cannot be read yet
        return None


def _takes_one_text(signature: inspect.Signature) -> bool:
    try:
        signature.bind("")
    except TypeError:
        return False
    return True


def _whole(function: Any) -> Any:
    """The function of which this is a part."""
    while isinstance(function, partial):
        function = function.func
    return function
