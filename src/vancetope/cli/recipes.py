"""`vancetope recipes`: which recipes there are, where each comes from, and one of them as it stands."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vancetope.cli.clean import clean, one_line
from vancetope.cli.lines import Line
from vancetope.cli.page import shown_path, toned, wrapped
from vancetope.cli.trouble import print_json
from vancetope.cli.watch import plain
from vancetope.recipes.loading import FOLDER, Found, Place, listed, load, text_of
from vancetope.recipes.recipe import Recipe
from vancetope.settings import Settings
from vancetope.settings import load as load_settings


def recipes(name: str | None, *, as_json: bool) -> int:
    """Show every recipe, or the one of this name (or in this file); the exit code."""
    settings = load_settings()
    found = listed(settings.folders)
    if name is not None:
        _show(load(name, settings.folders), found, as_json=as_json)
    elif as_json:
        print_json({"default": settings.default_recipe, "recipes": [_plain(each) for each in found]})
    else:
        for line in _listing(found, settings):
            print(toned(line.text, line.tone, sys.stdout))
    return 0


def _show(recipe: Recipe, found: Sequence[Found], *, as_json: bool) -> None:
    """One recipe: the text of its file, with where it comes from as a comment, so that it is still a recipe."""
    at = next((each for each in found if _is_at(recipe, each)), None)
    if as_json:
        place = {"path": recipe.source} if at is None else _plain(at)
        print_json({"name": recipe.name, **place, "recipe": recipe.model_dump(exclude={"name", "source"})})
        return
    source = shown_path(Path(recipe.source)) if at is None else _told(at.place)
    hides = "" if at is None or not at.shadows else f"; hides {_all_told(at.shadows)}"
    print(toned(one_line(f"# {recipe.name}: {source}{hides}", 1000), "dim", sys.stdout))
    print(clean(text_of(recipe)).rstrip())


def _is_at(recipe: Recipe, found: Found) -> bool:
    return recipe.source == str(found.path) if found.path else (recipe.source, recipe.name) == ("bundled", found.name)


def _plain(found: Found) -> dict[str, Any]:
    return {
        "name": found.name,
        "source": found.source,
        "path": None if found.path is None else str(found.path),
        "description": found.description,
        "engine": found.engine,
        "tags": plain(found.tags),
        "shadows": [
            {"source": each.source, "path": None if each.path is None else str(each.path)} for each in found.shadows
        ],
        "problem": found.problem or None,
    }


def _listing(found: Sequence[Found], settings: Settings) -> Iterator[Line]:
    """A recipe a line, the one of a chat that names none marked; what is long is wrapped below its column."""
    name_width = max(len(each.name) for each in found)
    width = max(len(each.source) for each in found)
    for each in found:
        mark = "→" if each.name == settings.default_recipe else " "
        lead = f"{mark} {each.name:<{name_width}}  {each.source:<{width}}  "
        about = each.problem or each.description or "(no description)"
        for text in wrapped(one_line(about, 1000), lead):
            yield Line(text, "bad" if each.problem else "plain")
        if each.shadows:
            for text in wrapped(f"hides {_all_told(each.shadows)}", " " * len(lead)):
                yield Line(text, "dim")
    yield Line("")
    own = shown_path(settings.folders[0] / FOLDER / "NAME.yaml")
    for text in wrapped(f"`vancetope recipes NAME` shows one; put your own into {own}", ""):
        yield Line(text, "dim")


def _all_told(places: Sequence[Place]) -> str:
    return " and ".join("the bundled one" if each.path is None else _told(each) for each in places)


def _told(place: Place) -> str:
    return "bundled" if place.path is None else f"{place.source}, {shown_path(place.path)}"
