"""What is told about a schema before it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

import vancetope as vt
from vancetope.backends.scripted import ScriptedText
from vancetope.events import Event, Notice


async def notices(schema: dict[str, Any]) -> list[str]:
    events: list[Event] = []
    await vt.query("?", schema, model=ScriptedText(["{}"]), max_attempts=1, on_event=events.append)
    return [each.text for each in events if isinstance(each, Notice)]


async def test_a_typo_in_a_keyword_is_told_with_its_place() -> None:
    said = await notices({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minLenght": 3}}})
    assert len(said) == 1
    assert "/properties/a" in said[0]
    assert "minLength" in said[0]


async def test_a_note_of_the_author_is_no_typo() -> None:
    assert await notices({"type": "object", "required": ["a"], "x-author": "me", "version": 3}) == []


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": {"a": {"type": "string"}}}])
async def test_a_schema_that_allows_nearly_everything_is_told(schema: dict[str, Any]) -> None:
    assert [each for each in await notices(schema) if "allows nearly everything" in each]


async def test_a_schema_that_says_what_it_wants_is_not_commented() -> None:
    assert await notices({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}) == []
