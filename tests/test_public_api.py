"""The public surface, pinned: the names, their types as a user's type checker sees them, and that they are lazy."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any, assert_type

import pytest
from pydantic import BaseModel

import vancetope as vt
from vancetope.answer import AnswerError
from vancetope.backends.scripted import ScriptedBackend, ScriptedText, gated, respond
from vancetope.messages import Message, Usage
from vancetope.schema import Rule

NAMES = sorted(
    [
        *(
            "Answer",
            "AnswerFailed",
            "Backend",
            "Budget",
            "ConfigError",
            "Event",
            "File",
            "History",
            "Image",
            "Lane",
            "ModelError",
        ),
        *("ModelSettings", "Outcome", "Recipe", "Tool", "ToolContext", "Turn", "TurnFailed", "User"),
        *("VancetopeError", "ask", "ask_blocking", "query", "query_blocking", "stream", "tool"),
    ]
)


def get_time(city: str) -> str:
    """Tell the time in a city."""
    return f"15:42 in {city}"


def test_the_public_names_are_these() -> None:
    assert sorted(vt.__all__) == NAMES
    for name in NAMES:
        assert getattr(vt, name).__module__.startswith("vancetope") or name == "Event"
    assert set(NAMES) <= set(dir(vt))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = vt.nothing_of_ours


async def test_a_turn_is_typed() -> None:
    turn = await vt.ask("Hi", model=ScriptedBackend([respond("Hello!")]), tools=[get_time])
    assert_type(turn, vt.Turn)
    assert_type(turn.outcome, vt.Outcome)
    assert_type(turn.message, str | None)
    assert_type(turn.awaiting_user_input, bool)
    assert_type(turn.best_text, str | None)
    assert_type(turn.reason, str)
    assert_type(turn.rounds, int)
    assert_type(turn.model_calls, int)
    assert_type(turn.corrections, int)
    assert_type(turn.repairs, int)
    assert_type(turn.narrowed, bool)
    assert_type(turn.bounded, bool)
    assert_type(turn.usage, Usage)
    assert_type(turn.cost, float | None)
    assert_type(turn.wakes_on, tuple[str, ...])
    assert_type(turn.messages, vt.History)
    assert_type(turn.messages[0], Message)
    assert_type(turn.unwrap(), str)
    messages: Sequence[Message] = turn.messages
    assert len(messages) == 2


async def test_a_stream_is_typed() -> None:
    events = vt.stream("Hi", model=ScriptedBackend([respond("Hello!")]))
    assert_type(events, AsyncIterator[vt.Event])
    kinds = [event.type async for event in events]
    assert (kinds[0], kinds[-1]) == ("turn_started", "turn_ended")


def test_a_tool_is_typed() -> None:
    @vt.tool(alone=True)
    def look(context: vt.ToolContext, city: str) -> str:
        """Look at a city."""
        return city

    assert_type(look, vt.Tool)
    assert_type(vt.tool(get_time), vt.Tool)


class Country(BaseModel):
    name: str


async def test_an_answer_is_typed() -> None:
    said = ScriptedText(['{"name": "France"}'] * 4)
    answer = await vt.query("Describe France.", Country, model=said)
    assert_type(answer, vt.Answer[Country])
    assert_type(answer.success, bool)
    assert_type(answer.data, Country | None)
    assert_type(answer.attempts, int)
    assert_type(answer.error, AnswerError | None)
    assert_type(answer.message, str)
    assert_type(answer.rule, Rule | None)
    assert_type(answer.usage, Usage)
    assert_type(answer.cost, float | None)
    assert_type(answer.unwrap(), Country)
    assert_type(await vt.query("?", {"type": "object"}, model=said), vt.Answer[dict[str, Any]])


async def test_what_an_answer_lacks_is_raised_by_unwrap() -> None:
    answer = await vt.query("?", Country, model=ScriptedText(["no"]), max_attempts=1)
    with pytest.raises(vt.AnswerFailed, match="max_attempts_exceeded") as caught:
        answer.unwrap()
    assert (caught.value.error, caught.value.exit_code) == ("max_attempts_exceeded", 5)
    assert repr(answer).startswith("<Answer max_attempts_exceeded: ")


async def test_an_option_that_query_does_not_have_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="turn_end"):
        await vt.query("?", Country, turn_end="respond")  # type: ignore[call-overload]


async def test_a_chat_has_no_use_for_the_recipe_of_questions_and_the_other_way_round() -> None:
    with pytest.raises(vt.ConfigError, match="use query"):
        await vt.ask("?", recipe="jeltz", model=ScriptedText([]))
    with pytest.raises(vt.ConfigError, match="is for chats"):
        await vt.query("?", Country, recipe="ford", model=ScriptedText([]))


def test_blocking_works_in_a_script() -> None:
    turn = vt.ask_blocking("Hi", model=ScriptedBackend([respond("Hello!")]))
    assert_type(turn, vt.Turn)
    assert turn.message == "Hello!"
    said = ScriptedText(['{"name": "France"}'] * 2)
    assert_type(vt.query_blocking("?", Country, model=said), vt.Answer[Country])
    assert_type(vt.query_blocking("?", {"type": "object"}, model=said), vt.Answer[dict[str, Any]])


def test_blocking_works_inside_a_running_loop() -> None:
    async def notebook() -> vt.Turn:
        return vt.ask_blocking("Hi", model=ScriptedBackend([respond("Hello!")]))

    assert asyncio.run(notebook()).message == "Hello!"


async def test_unwrap_raises_with_the_reason() -> None:
    turn = await vt.ask("Hi", model=ScriptedBackend([respond(" "), respond(" "), respond(" ")]))
    with pytest.raises(vt.TurnFailed, match="incomplete"):
        turn.unwrap()
    assert repr(turn).startswith("<Turn incomplete: ")


async def test_closing_a_stream_early_cancels_the_turn() -> None:
    before = asyncio.all_tasks()
    endless = gated(respond("Hello!"), asyncio.Event(), after=6)
    events = vt.stream("Hi", model=ScriptedBackend([endless]))
    async for event in events:
        if event.type == "message_delta":
            break
    assert len(asyncio.all_tasks()) > len(before)
    await events.aclose()  # type: ignore[attr-defined]
    assert asyncio.all_tasks() == before


def test_importing_loads_nothing_heavy() -> None:
    code = "import vancetope, sys; print(sorted({'httpx', 'pydantic', 'rich', 'typer', 'jinja2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
