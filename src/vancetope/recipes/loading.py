"""Where recipes come from: a bundled name, a file, or a value."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from vancetope.errors import ConfigError
from vancetope.recipes.recipe import Recipe, recipe_from
from vancetope.strict_yaml import parsed, read

BUNDLED = ("default", "ford", "jeltz")


def load(recipe: str | Path | Recipe) -> Recipe:
    """The recipe by bundled name or file (`.yaml`, `.yml`). Raises `ConfigError` in one sentence."""
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, Path) or recipe.endswith((".yaml", ".yml")):
        return _from_file(Path(recipe))
    if recipe not in BUNDLED:
        raise ConfigError(f"there is no recipe {recipe!r}; bundled are {', '.join(BUNDLED)}, or give a .yaml file")
    return _bundled(recipe)


@cache
def _bundled(name: str) -> Recipe:
    where = f"{name}.yaml"
    fields = parsed(files("vancetope.recipes").joinpath(where).read_text("utf-8"), where)
    return recipe_from(fields, where, name, "bundled")


def _from_file(path: Path) -> Recipe:
    return recipe_from(read(path, "the recipe"), str(path), path.stem, str(path))
