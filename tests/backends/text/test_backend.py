"""A text backend keeps the contract of every backend, with nothing but a function from text to text."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.backends.base import Backend, Piece, Request, TextPiece
from vancetope.backends.scripted import ScriptedText, ScriptExhausted
from vancetope.backends.text import TextBackend, TextFunction, transcript
from vancetope.errors import (
    AuthRefused,
    ConfigError,
    MissingExtra,
    ModelError,
    RateLimited,
    ReplyBroken,
    RequestRejected,
    ServerFailed,
    TurnFailed,
    Unreachable,
)
from vancetope.messages import Finish, Image, Reply, ToolSpec, Usage, User
from vancetope.models.base import ModelInfo, cost_of

ASKED = Request(model="echo", system="Be brief.", messages=(User("What time is it in Paris?"),), timeout=10.0)
TOOL = ToolSpec("get_time", "the time", {"type": "object"})


async def echo(prompt: str) -> str:
    return prompt


class Oracle:
    async def __call__(self, prompt: str) -> str:
        return "42"

    async def ask(self, prompt: str) -> str:
        return "43"


def failing(error: BaseException) -> TextBackend:
    async def flaky(prompt: str) -> str:
        raise error

    return TextBackend(flaky)


def loosely(function: object) -> TextFunction:
    """What a caller without a type checker hands over."""
    given: Any = function
    return given  # type: ignore[no-any-return]


async def test_the_function_is_asked_once_with_the_whole_conversation_and_its_text_is_the_reply() -> None:
    model = ScriptedText([" It is 15:42.\n"])
    reply = await TextBackend(model).complete(ASKED)
    assert model.prompts == [transcript(ASKED.system, ASKED.messages)]
    size = len(model.prompts[0]) // 4
    assert reply == Reply(text=" It is 15:42.\n", usage=Usage(size, 3, estimated=True), model="echo")
    assert (reply.finish, reply.requests) == (Finish.STOP, 1)


@given(st.text(st.characters()))
def test_whatever_the_function_says_is_the_reply(said: str) -> None:
    pieces: list[Piece] = []
    reply = asyncio.run(TextBackend(ScriptedText([said])).complete(ASKED, pieces.append))
    assert reply.text == said
    assert pieces == ([TextPiece(said)] if said.strip() else [])


async def test_sending_is_told_before_the_function_is_asked() -> None:
    order: list[str] = []

    async def model(prompt: str) -> str:
        order.append("asked")
        return ""

    await TextBackend(model).complete(replace(ASKED, on_send=lambda: order.append("sent")))
    assert order == ["sent", "asked"]


async def test_many_calls_may_run_at_once() -> None:
    gate = asyncio.Event()

    async def model(prompt: str) -> str:
        gate.set() if "second" in prompt else await gate.wait()
        return "done"

    backend = TextBackend(model)
    asked = (replace(ASKED, messages=(User(each),)) for each in ("first", "second"))
    replies = await asyncio.gather(*map(backend.complete, asked))
    assert [each.text for each in replies] == ["done", "done"]


async def test_closing_it_closes_nothing_of_the_function() -> None:
    backend: Backend = TextBackend(echo)
    await backend.aclose()
    assert (await backend.complete(ASKED)).text


# What is known of the model.


async def ask_claude(prompt: str) -> str:
    return ""


async def with_style(style: str, prompt: str) -> str:
    return style


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (ask_claude, "ask_claude"),
        (Oracle(), "Oracle"),
        (Oracle().ask, "ask"),
        (functools.partial(with_style, "short"), "with_style"),
        (functools.partial(functools.partial(with_style), "short"), "with_style"),
        (functools.partial(Oracle().ask), "ask"),
        (lambda prompt: ask_claude(prompt), "function"),
        (ScriptedText([]), "ScriptedText"),
    ],
)
def test_the_model_bears_the_name_of_its_function(function: TextFunction, name: str) -> None:
    info = TextBackend(function).info
    assert (info.id, info.enforcements) == (f"text:{name}", ("prompted",))
    assert (info.context_window, info.vision, info.forced_choice) == (None, False, False)
    assert cost_of(info, Usage(1000, 1000)) is None


def test_what_the_caller_knows_of_the_model_is_kept() -> None:
    info = ModelInfo(provider="lab", name="big", context_window=1000, enforcements=("prompted",))
    assert TextBackend(echo, info=info).info is info


# What cannot be such a function.


async def streams(prompt: str) -> AsyncIterator[str]:
    yield prompt


def yields(prompt: str) -> Iterator[str]:
    yield prompt


def shouts(prompt: str) -> str:
    return prompt.upper()


class Shouter:
    def __call__(self, prompt: str) -> str:
        return prompt.upper()


async def takes_nothing() -> str:
    return ""


async def takes_two(one: str, two: str) -> str:
    return one + two


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("claude", "str is not callable"),
        (None, "NoneType is not callable"),
        (streams, "streams yields, where it should return one text"),
        (yields, "yields yields"),
        (shouts, "shouts is not async"),
        (Shouter(), "Shouter is not async"),
        (Shouter().__call__, "__call__ is not async"),
        (functools.partial(shouts), "shouts is not async"),
        (takes_nothing, "takes_nothing cannot be called with one text"),
        (takes_two, "takes_two cannot be called with one text"),
        (functools.partial(takes_two, "one", "two"), "takes_two cannot be called"),
    ],
)
def test_what_is_no_async_function_from_text_to_text_is_refused_at_once(function: object, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"a text model is an async function from text to text, and {problem}"):
        TextBackend(loosely(function))


def traced(function: Callable[[str], Any]) -> Callable[[str], Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


def threaded(function: Callable[[str], str]) -> Callable[[str], Awaitable[str]]:
    @functools.wraps(function)
    def wrapper(prompt: str) -> Awaitable[str]:
        return asyncio.to_thread(function, prompt)

    return wrapper


def joined(function: Callable[[str], AsyncIterator[str]]) -> TextFunction:
    @functools.wraps(function)
    async def wrapper(prompt: str) -> str:
        return "".join([each async for each in function(prompt)])

    return wrapper


def with_client(function: Callable[[str, str], Awaitable[str]]) -> TextFunction:
    @functools.wraps(function)
    async def wrapper(prompt: str) -> str:
        return await function("client", prompt)

    return wrapper


@pytest.mark.parametrize(
    "function",
    [
        echo,
        traced(echo),
        threaded(shouts),
        joined(streams),
        with_client(takes_two),
        lambda prompt: echo(prompt),
        lambda prompt: asyncio.ensure_future(echo(prompt)),
        AsyncMock(return_value="mocked"),
        Oracle(),
        functools.partial(Oracle.ask, Oracle()),
    ],
)
async def test_anything_that_gives_a_text_to_wait_for_will_do(function: TextFunction) -> None:
    assert (await TextBackend(function).complete(ASKED)).text


@pytest.mark.parametrize(
    ("function", "kind"),
    [(lambda prompt: "text", "str"), (traced(shouts), "str"), (print, "NoneType"), (str, "str")],
)
async def test_a_function_that_turns_out_not_to_be_async_is_our_callers_error(function: object, kind: str) -> None:
    with pytest.raises(ConfigError, match=f"is not async: it returned an object of the class {kind}"):
        await TextBackend(loosely(function)).complete(ASKED)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (replace(ASKED, tools=(TOOL,)), "tools"),
        (replace(ASKED, response_schema={"type": "object"}), "a response schema"),
    ],
)
async def test_what_has_no_form_as_text_is_never_dropped_in_silence(asked: Request, what: str) -> None:
    model, sent = ScriptedText(["never"]), list[None]()
    with pytest.raises(ConfigError, match=f"text:ScriptedText takes only text: a request with {what}"):
        await TextBackend(model).complete(replace(asked, on_send=lambda: sent.append(None)))
    assert (model.left, sent) == (1, [])


async def test_a_request_with_an_image_is_rejected_and_not_sent() -> None:
    model, sent = ScriptedText(["never"]), list[None]()
    asked = replace(ASKED, messages=(User((Image("data:,"),)),), on_send=lambda: sent.append(None))
    with pytest.raises(RequestRejected) as raised:
        await TextBackend(model).complete(asked)
    assert (raised.value.requests, model.left, sent) == (0, 1, [])


# Failures.


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (ValueError("boom\nat line 5"), ServerFailed, "text:flaky failed: ValueError: boom"),
        (ValueError(), ServerFailed, "text:flaky failed: ValueError: (no message)"),
        (Unspeakable(), ServerFailed, "text:flaky failed: Unspeakable: (no message)"),
        (ValueError("\x1b[31mred\ud800"), ServerFailed, "text:flaky failed: ValueError: [31mred"),
        (StopIteration(), ServerFailed, "text:flaky failed: RuntimeError: coroutine raised StopIteration"),
        (OSError(2, "No such file", "claude"), ServerFailed, "FileNotFoundError: [Errno 2] No such file: 'claude'"),
        (ConnectionRefusedError(111, "refused"), Unreachable, "ConnectionRefusedError: [Errno 111] refused"),
        (TimeoutError("of its own"), Unreachable, "text:flaky failed: TimeoutError: of its own"),
        (ExceptionGroup("in a group", [ValueError("inner")]), ServerFailed, "text:flaky failed: ValueError: inner"),
        (ExceptionGroup("two", [ValueError("a"), ValueError("b")]), ServerFailed, "ExceptionGroup: two (2 sub-exc"),
        (TurnFailed("refused", "of another turn"), ServerFailed, "TurnFailed: the turn ended as refused"),
        (asyncio.CancelledError(), ServerFailed, "text:flaky failed: CancelledError: (no message)"),
    ],
)
async def test_what_the_function_raises_is_one_sentence_of_a_model_error(
    error: BaseException, kind: type[ModelError], sentence: str
) -> None:
    with pytest.raises(ModelError) as raised:
        await failing(error).complete(ASKED)
    assert type(raised.value) is kind
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.requests == 1


async def test_long_words_are_cut() -> None:
    with pytest.raises(ServerFailed) as raised:
        await failing(ValueError("x" * 5000)).complete(ASKED)
    said = str(raised.value).removeprefix("text:flaky failed: ")
    assert len(said) == 200
    assert said.endswith("x…")


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("slow down", retry_after=2.0),
        AuthRefused("log in first", requests=0),
        ConfigError("no such model"),
        MissingExtra("local", "this"),
        ScriptExhausted("none left"),
    ],
)
async def test_errors_that_already_say_who_must_act_pass_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        await failing(error).complete(ASKED)
    assert raised.value is error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_ends_it(kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        asyncio.run(failing(kind()).complete(ASKED))


@pytest.mark.parametrize(("answer", "kind"), [(None, "NoneType"), (b"bytes", "bytes"), ({"a": 1}, "dict"), (3, "int")])
async def test_an_answer_that_is_no_text_is_a_broken_reply(answer: object, kind: str) -> None:
    async def model(prompt: str) -> Any:
        return answer

    pieces: list[Piece] = []
    with pytest.raises(ReplyBroken, match=f"text:model answered with an object of the class {kind}, not a text"):
        await TextBackend(model).complete(ASKED, pieces.append)
    assert pieces == []


async def test_a_listener_that_fails_is_not_the_models_failure() -> None:
    def broken(piece: Piece) -> None:
        raise ValueError("the screen is gone")

    with pytest.raises(ValueError, match="the screen is gone"):
        await TextBackend(echo).complete(ASKED, broken)


# Time and cancellation.


class Slow:
    """A model that waits for ever; `ended` says how its call came to an end."""

    def __init__(self, at_end: Callable[[], None] = lambda: None) -> None:
        self.started = asyncio.Event()
        self.ended = ""
        self.at_end = at_end

    async def __call__(self, prompt: str) -> str:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.ended = "cancelled"
            self.at_end()
            raise
        return ""


def boom() -> None:
    raise ValueError("while cleaning up")


@pytest.mark.parametrize("at_end", [lambda: None, boom])
async def test_a_function_that_takes_too_long_is_cancelled(at_end: Callable[[], None]) -> None:
    model = Slow(at_end)
    with pytest.raises(Unreachable, match=r"^text:Slow gave no answer within 0\.01 s$") as raised:
        await TextBackend(model).complete(replace(ASKED, timeout=0.01))
    assert model.ended == "cancelled"
    assert raised.value.requests == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_answer_that_comes_although_time_ran_out_is_an_answer() -> None:
    async def stubborn(prompt: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "late"
        return "never"

    assert (await TextBackend(stubborn).complete(replace(ASKED, timeout=0.01))).text == "late"


@pytest.mark.parametrize("at_end", [lambda: None, boom])
async def test_a_cancelled_call_is_cancelled_inside_the_function_and_leaves_nothing(at_end: Callable[[], None]) -> None:
    model = Slow(at_end)
    task = asyncio.create_task(TextBackend(model).complete(ASKED))
    await model.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.ended == "cancelled"
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_the_time_limit_of_a_caller_is_the_callers() -> None:
    with pytest.raises(TimeoutError) as raised:
        async with asyncio.timeout(0.01):
            await TextBackend(Slow()).complete(ASKED)
    assert not isinstance(raised.value, ModelError)


async def test_a_task_that_the_function_gave_is_cancelled_with_the_call() -> None:
    model = Slow()
    backend = TextBackend(lambda prompt: asyncio.ensure_future(model(prompt)))
    with pytest.raises(Unreachable):
        await backend.complete(replace(ASKED, timeout=0.01))
    assert model.ended == "cancelled"


async def test_after_a_cancellation_that_somebody_kept_to_himself_a_failure_is_still_a_failure() -> None:
    async def cleaning_up() -> Reply:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await failing(ValueError("boom")).complete(ASKED)
        raise AssertionError

    task = asyncio.create_task(cleaning_up())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(ServerFailed, match="boom"):
        await task


async def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await TextBackend(echo).complete(ASKED)
    with pytest.raises(ServerFailed):
        await failing(ValueError("secret")).complete(ASKED)
    assert [each for each in caplog.records if each.name != "asyncio"] == []
