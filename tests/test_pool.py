"""Which tools a process has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness import get_time
from vancetope import sentences
from vancetope.errors import ConfigError
from vancetope.models.base import ModelInfo
from vancetope.pool import Pool, pool
from vancetope.recipes.recipe import Recipe, ToolPool
from vancetope.settings import settings_from

INFO = ModelInfo(provider="case", name="plain")
TINY = ModelInfo(provider="case", name="small", tier="tiny")
# Searching that cannot work: a key is missing, an address is, an address is none.
UNUSABLE: tuple[dict[str, Any], ...] = (
    {"search": {"provider": "brave"}},
    {"search": {"provider": "searxng"}},
)


def having(settings: dict[str, Any] | None = None, info: ModelInfo = INFO, given: Any = (), **lists: Any) -> Pool:
    recipe = Recipe(tools=ToolPool(**{name: tuple(names) for name, names in lists.items()}))
    return pool(recipe, settings_from(settings or {}), info, given)


def names(made: Pool) -> list[str]:
    return [each.name for each in made.tools]


def test_tools_are_those_that_are_added_and_the_callers_in_their_order() -> None:
    assert names(having(add=["file_read", "clock"], given=[get_time])) == ["file_read", "clock", "get_time"]


def test_what_a_recipe_removes_is_gone_whoever_brings_it() -> None:
    assert names(having(add=["clock"], remove=["get_time"], given=[get_time])) == ["clock"]


def test_deferred_tools_come_with_the_tool_that_describes_them() -> None:
    made = having(add=["clock"], defer=["file_read", "get_time"], given=[get_time])
    assert names(made) == ["clock", "file_read", "get_time", "tool_describe"]
    assert made.deferred == {"file_read", "get_time"}


def test_a_tiny_model_gets_what_it_can_use_and_all_of_it_at_once() -> None:
    made = having(info=TINY, add=["clock", "web_search"], defer=["file_read", "get_time"], given=[get_time])
    assert names(made) == ["clock", "get_time"]
    assert (made.deferred, made.notices) == (frozenset(), ())


@pytest.mark.parametrize("where", ["add", "remove", "defer"])
def test_a_tool_that_nobody_has_is_refused_with_the_one_that_was_meant(where: str) -> None:
    recipe = Recipe(tools=ToolPool(**{where: ("web_serch",)}))
    with pytest.raises(ConfigError, match=r"there is no tool 'web_serch'; did you mean web_search\?"):
        pool(recipe, settings_from({}), INFO, ())


def test_without_a_provider_there_is_no_searching_and_people_are_told() -> None:
    made = having(add=["web_fetch", "web_search"])
    assert names(made) == ["web_fetch"]
    assert made.notices == (sentences.NO_SEARCH,)


def test_with_a_provider_there_is() -> None:
    made = having({"search": {"provider": "searxng", "url": "http://127.0.0.1:8888"}}, add=["web_fetch", "web_search"])
    assert names(made) == ["web_fetch", "web_search"]
    assert made.notices == ()


@pytest.mark.parametrize("settings", UNUSABLE)
def test_searching_that_cannot_work_stops_only_who_wants_to_search(settings: dict[str, Any]) -> None:
    assert names(having(settings, add=["clock", "web_fetch"])) == ["clock", "web_fetch"]
    assert names(having(settings, info=TINY, add=["web_search"])) == []
    with pytest.raises(ConfigError, match=r"search\."):
        having(settings, add=["web_search"])


def test_a_folder_that_is_gone_stops_only_who_wants_its_files(tmp_path: Path) -> None:
    settings = {"files": {"root": str(tmp_path / "gone")}}
    assert names(having(settings, add=["clock"])) == ["clock"]
    with pytest.raises(ConfigError, match=r"files\.root: the root of the file tools is not a folder"):
        having(settings, add=["file_read"])
