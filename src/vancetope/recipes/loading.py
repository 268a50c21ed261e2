"""Where recipes come from: a name, a file, or a value.

A name is looked up in the project, then with the tenant, then among those that are bundled. The first file wins as a
whole: nothing of those behind it is merged in, and one that is broken is an error, never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from stat import S_ISREG
from typing import Literal, TypeAlias

from vancetope.errors import ConfigError
from vancetope.recipes.recipe import Recipe, recipe_from
from vancetope.recipes.rendering import check_templates
from vancetope.settings import PROJECT_FOLDER
from vancetope.strict_yaml import parsed, read

BUNDLED = ("analyze", "code-read", "default", "ford", "jeltz", "quick-lookup", "web-research")
FOLDER = "recipes"
ENDINGS = (".yaml", ".yml")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

Source: TypeAlias = Literal["project", "tenant", "bundled"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a recipe of some name stands. `path` is null for a bundled one."""

    source: Source
    path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A recipe that can be used by its name, and the places of those of the same name that it hides, nearest first.
    `problem` says why it cannot be loaded, and is "" where it can."""

    name: str
    place: Place
    description: str = ""
    engine: str = ""
    tags: tuple[str, ...] = ()
    shadows: tuple[Place, ...] = ()
    problem: str = ""

    @property
    def source(self) -> Source:
        return self.place.source

    @property
    def path(self) -> Path | None:
        return self.place.path


def load(recipe: str | Path | Recipe, folders: Sequence[Path] = ()) -> Recipe:
    """The recipe by its name, or from its file (`.yaml`, `.yml`).

    `folders` are the project's and the tenant's, nearest first; a recipe NAME is their `recipes/NAME.yaml`. Raises
    `ConfigError` in one sentence that names the file.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, Path) or recipe.endswith(ENDINGS):
        return _from_file(Path(recipe))
    if not _NAME.fullmatch(recipe):
        raise ConfigError(
            f"recipe {recipe[:80]!r}: a name has letters, digits, - and _ only; of a file give the path, with .yaml"
        )
    for folder in folders:
        if (path := _file_in(folder, recipe)) is not None:
            return _from_file(path)
    if recipe in BUNDLED:
        return _bundled(recipe)
    raise ConfigError(_unknown(recipe, folders))


def listed(folders: Sequence[Path] = ()) -> tuple[Found, ...]:
    """Every recipe that has a name, in the order of the names. One that cannot be loaded is listed with its problem.
    Raises `ConfigError` for a folder that cannot be read."""
    return tuple(_found(name, places, folders) for name, places in sorted(_places(folders).items()))


def text_of(recipe: Recipe) -> str:
    """The text of a loaded recipe's file, "" for one that was made in Python. Raises `ConfigError` where it cannot be
    read any more."""
    if recipe.source in ("", "bundled"):
        return _bundled_text(recipe.name) if recipe.source else ""
    try:
        return Path(recipe.source).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"the recipe {recipe.source} cannot be read") from None


def _found(name: str, places: Sequence[Place], folders: Sequence[Path]) -> Found:
    place, *shadowed = places
    try:
        recipe = load(name, folders)
    except ConfigError as error:
        return Found(name=name, place=place, shadows=tuple(shadowed), problem=str(error))
    return Found(
        name=name,
        place=place,
        description=recipe.description,
        engine=recipe.engine,
        tags=recipe.tags,
        shadows=tuple(shadowed),
    )


def _places(folders: Sequence[Path]) -> Mapping[str, list[Place]]:
    """Every name, and where it stands, the place that wins first."""
    places: dict[str, list[Place]] = {}
    for folder in folders:
        for path in _files_in(folder):
            places.setdefault(path.stem, []).append(Place(_source(folder), path))
    for name in BUNDLED:
        places.setdefault(name, []).append(Place("bundled"))
    return places


def _files_in(folder: Path) -> Iterator[Path]:
    """The files in a folder that are recipes or were meant to be."""
    try:
        paths = sorted((folder / FOLDER).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ConfigError(f"the recipes in {folder / FOLDER} cannot be read: {error.strerror}") from None
    for path in paths:
        is_hidden = path.name.startswith(".") or (path.suffix == ".yml" and path.with_suffix(".yaml") in paths)
        if path.suffix in ENDINGS and not is_hidden:
            yield path


def _source(folder: Path) -> Source:
    return "project" if folder.name == PROJECT_FOLDER else "tenant"


def _file_in(folder: Path, name: str) -> Path | None:
    """The file of this recipe in this folder, if there is one, whatever state it is in."""
    path, misnamed = (folder / FOLDER / f"{name}{ending}" for ending in ENDINGS)
    if _is_there(path):
        return path
    if _is_there(misnamed):
        raise ConfigError(f"{misnamed}: the file of a recipe with a name ends in .yaml; rename it")
    return None


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigError(f"the recipe {path} cannot be read: {error.strerror}") from None
    return True


@cache
def _bundled(name: str) -> Recipe:
    where = f"bundled recipe {name}"
    return _checked(recipe_from(parsed(_bundled_text(name), where), where, name, "bundled"))


def _bundled_text(name: str) -> str:
    return files("vancetope.recipes").joinpath(f"{name}.yaml").read_text("utf-8")


def _from_file(path: Path) -> Recipe:
    with suppress(OSError, ValueError):  # what cannot even be looked at is told by the attempt to read it
        if not S_ISREG(path.stat().st_mode):
            raise ConfigError(f"the recipe {path} cannot be read: it is a folder or a device, give a file")
    return _checked(recipe_from(read(path, "the recipe"), str(path), path.stem, str(path)))


def _checked(recipe: Recipe) -> Recipe:
    check_templates(recipe)
    return recipe


def _unknown(name: str, folders: Sequence[Path]) -> str:
    places = _places(folders)
    lowered = {each.lower(): each for each in places}
    near = get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    hint = f"did you mean {lowered[near[0]]}? " if near else ""
    by_source: dict[str, list[str]] = {}
    for each, (place, *_) in sorted(places.items()):
        by_source.setdefault(place.source, []).append(each)
    known = "; ".join(
        f"{', '.join(by_source[source])} ({source})"
        for source in ("project", "tenant", "bundled")
        if source in by_source
    )
    return f"there is no recipe {name!r}; {hint}There are {known}".replace("; There", "; there")
