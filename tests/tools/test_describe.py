"""Deferred tools are told by a name and a line, and described when the model asks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.running import answer
from vancetope.messages import Assistant, Call, Message, Result, ToolSpec, User
from vancetope.schema.validate import compile
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.describe import LONGEST_LINE, NAME, described, tool_describe
from vancetope.tools.failure import ToolFailed
from vancetope.tools.functions import RESERVED, tool


def get_time(city: str, seconds: bool = False) -> str:
    """Tell the time in a city.

    The zone is that of the city, also for cities of other worlds.
    """
    return f"15:42 in {city}{':00' if seconds else ''}"


def count_ravens(place: str) -> str:
    """Count the ravens at a place."""
    return f"7 at {place}"


DEFERRED = {each.name: each for each in (tool(get_time), tool(count_ravens))}


def named(name: str, description: str) -> Tool:
    async def run(arguments: Any, context: ToolContext) -> str:
        return f"{arguments}{context.call_id}"

    return Tool(ToolSpec(name, description, {"type": "object"}), run)


def test_the_description_lists_each_tool_with_its_first_line() -> None:
    lines = tool_describe(DEFERRED).spec.description.splitlines()
    assert lines[-2:] == ["- get_time: Tell the time in a city.", "- count_ravens: Count the ravens at a place."]
    assert NAME in RESERVED


@pytest.mark.parametrize(
    ("description", "line"),
    [
        ("\n\n  First.\nSecond.", "First."),
        ("two   spaces\tand a tab", "two spaces and a tab"),
        ("", ""),
        ("   ", ""),
        ("word " * 100, f"{'word ' * (LONGEST_LINE // 5)}…"),
    ],
)
def test_a_line_is_short_and_only_one(description: str, line: str) -> None:
    told = tool_describe({"x": named("x", description)}).spec.description.splitlines()[-1]
    assert told == f"- x: {line}"


def test_its_arguments_are_a_list_of_names() -> None:
    fits = compile(tool_describe(DEFERRED).spec.parameters).fits
    assert fits({"names": ["get_time"]})
    assert not fits({"names": []})
    assert not fits({"names": "get_time"})
    assert not fits({})
    assert not fits({"names": ["get_time"], "more": 1})


async def test_the_result_is_what_the_tools_do_and_take() -> None:
    said = json.loads(await answer(tool_describe(DEFERRED), names=["count_ravens", "get_time", "count_ravens"]))
    assert said == {
        "tools": [
            {"name": each.name, "description": each.spec.description, "parameters": dict(each.spec.parameters)}
            for each in (DEFERRED["count_ravens"], DEFERRED["get_time"])
        ]
    }


async def test_an_unknown_name_is_answered_with_the_nearest_beside_what_is_known() -> None:
    said = json.loads(await answer(tool_describe(DEFERRED), names=["Get_Tim", "get_time", "zzz"]))
    assert [each["name"] for each in said["tools"]] == ["get_time"]
    assert said["unknown"] == [
        "There is no tool 'Get_Tim' in this list. Did you mean get_time?",
        "There is no tool 'zzz' in this list. It has: get_time, count_ravens.",
    ]


async def test_unknown_names_alone_are_a_failure() -> None:
    with pytest.raises(ToolFailed, match="Did you mean count_ravens"):
        await answer(tool_describe(DEFERRED), names=["count_raven"])


def asked(arguments: str, call_id: str = "c1", *, ok: bool = True, name: str = NAME) -> list[Message]:
    return [Assistant("", (Call(call_id, name, arguments),)), Result(call_id, name, "{}", ok=ok)]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ('{"names": ["a", "b"]}', {"a", "b"}),
        ('{"names": "[\\"a\\"]"}', {"a"}),
        ('"{\\"names\\": [\\"a\\"]}"', {"a"}),
        ('{"names": ["a", 5, null]}', {"a"}),
        ('{"names": "a"}', set()),
        ('{"names": {"a": 1}}', set()),
        ("[]", set()),
        ('{"names": ["a"', set()),
        ("", set()),
    ],
)
def test_what_was_described_is_read_as_the_call_was(arguments: str, names: set[str]) -> None:
    assert described(asked(arguments)) == names


def test_only_what_was_answered_counts() -> None:
    assert described([User("Hi"), *asked('{"names": ["a"]}', ok=False)]) == set()
    assert described([Assistant("", (Call("c1", NAME, '{"names": ["a"]}'),))]) == set()
    assert described(asked('{"names": ["a"]}', name="other")) == set()
    assert described([Result("c1", NAME, "{}")]) == set()


def test_all_turns_of_a_conversation_count() -> None:
    calls = (Call("c3", "clock", "{}"), Call("c4", NAME, '{"names": ["c"]}'))
    messages = [
        *asked('{"names": ["a"]}', "c1"),
        User("Go on"),
        *asked('{"names": ["b"]}', "c2"),
        Assistant("", calls),
        Result("c3", "clock", "15:42"),
        Result("c4", NAME, "{}"),
    ]
    assert described(messages) == {"a", "b", "c"}


@given(st.text(max_size=60))
def test_no_arguments_break_it(arguments: str) -> None:
    assert all(isinstance(each, str) for each in described(asked(arguments)))
