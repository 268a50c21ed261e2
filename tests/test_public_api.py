"""The public surface, pinned: the names, their types as a user's type checker sees them, and that they are lazy."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from typing import assert_type

import pytest

import vancetope as vt
from vancetope.backends.scripted import ScriptedBackend, gated, respond
from vancetope.messages import Message, Usage

NAMES = sorted(
    [
        *("Backend", "Budget", "ConfigError", "Event", "File", "History", "Image", "Lane", "ModelError"),
        *("ModelSettings", "Outcome", "Recipe", "Tool", "ToolContext", "Turn", "TurnFailed", "User"),
        *("VancetopeError", "ask", "ask_blocking", "stream", "tool"),
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


def test_blocking_works_in_a_script() -> None:
    turn = vt.ask_blocking("Hi", model=ScriptedBackend([respond("Hello!")]))
    assert_type(turn, vt.Turn)
    assert turn.message == "Hello!"


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
