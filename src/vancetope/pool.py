"""Which tools a process has: those its recipe brings, and those of its caller."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from vancetope import sentences
from vancetope.errors import ConfigError
from vancetope.models.base import ModelInfo
from vancetope.recipes.mistakes import near_or
from vancetope.recipes.recipe import Recipe
from vancetope.settings import Settings, key_from_environment
from vancetope.tools.base import Tool
from vancetope.tools.clock import clock
from vancetope.tools.describe import tool_describe
from vancetope.tools.files import file_tools
from vancetope.tools.functions import as_tools
from vancetope.tools.web.providers import KEYS, search_provider
from vancetope.tools.web.rules import WebRules
from vancetope.tools.web.search import SearchProvider
from vancetope.tools.web.tools import web_tools

TINY_TOOLS = frozenset({"clock"})
FILES = frozenset({"file_list", "file_read", "file_grep"})
WEB = frozenset({"web_fetch", "web_search"})


@dataclass(frozen=True, slots=True)
class Pool:
    """The tools of a process, by the order in which a model is shown them. `deferred` names those it is told of by
    name until it asks for more; `notices` say what a person should know of what is missing."""

    tools: tuple[Tool, ...]
    deferred: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()


def pool(recipe: Recipe, settings: Settings, info: ModelInfo, given: Iterable[Tool | Callable[..., Any]]) -> Pool:
    """The recipe's bundled tools and the caller's, without those that the recipe removes; the caller's take the place
    of bundled ones of the same name. A tiny model gets of the bundled ones only those that it can use; beside file
    tools it answers no question any more. Raises `ConfigError` where a recipe names a tool that nobody has."""
    own = {each.name: each for each in as_tools(given)}
    named = (*recipe.tools.add, *recipe.tools.defer)
    wanted = [name for name in named if name not in own and (info.tier != "tiny" or name in TINY_TOOLS)]
    bundled = _bundled(settings, wanted)
    for name in (*named, *recipe.tools.remove):
        if name not in bundled and name not in own:
            raise ConfigError(
                f"{recipe.where}: there is no tool {name!r}; {near_or(name, (*bundled, *own), 'there are')}"
            )
    usable = {name: each for name in wanted if (each := bundled[name]) is not None}
    tools = {**usable, **own}
    tools = {name: each for name, each in tools.items() if name not in recipe.tools.remove}
    deferred = {name: each for name, each in tools.items() if name in recipe.tools.defer and info.tier != "tiny"}
    notices = (sentences.NO_SEARCH,) if "web_search" in wanted and "web_search" not in usable else ()
    return Pool((*tools.values(), *([tool_describe(deferred)] if deferred else ())), frozenset(deferred), notices)


def _bundled(settings: Settings, wanted: Collection[str]) -> Mapping[str, Tool | None]:
    """The bundled tools by name; null for one that is not wanted, or cannot be used as things are set."""
    web = {}
    if not WEB.isdisjoint(wanted):
        provider = _search(settings) if "web_search" in wanted else None
        tools = web_tools(WebRules(tuple(settings.get("web.allow") or ())), provider)
        web = {each.name: each for each in tools}  # made for each process: web_fetch keeps the pages that it is reading
    files = {} if FILES.isdisjoint(wanted) else _files(settings.root)
    made = {"clock": _clock(), **files, **web}
    return {name: made.get(name) for name in ("clock", *sorted(FILES | WEB))}


_clock = cache(clock)


@lru_cache(maxsize=16)
def _files(root: Path) -> Mapping[str, Tool]:
    return {each.name: each for each in file_tools(root)}


def _search(settings: Settings) -> SearchProvider | None:
    name = settings.get("search.provider")
    if name is None:
        return None
    variable = KEYS.get(name)
    return search_provider(name, settings.get("search.url"), key_from_environment(variable) if variable else None)
