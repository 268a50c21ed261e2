"""Where recipes come from: a bundled name, a file, or a value."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from vancetope.errors import ConfigError
from vancetope.recipes.recipe import Recipe, recipe_from

BUNDLED = ("default", "ford")


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
    return _parsed(files("vancetope.recipes").joinpath(f"{name}.yaml").read_text("utf-8"), f"{name}.yaml", name)


def _from_file(path: Path) -> Recipe:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"the recipe {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"the recipe {path} is not UTF-8 text") from None
    return _parsed(text, str(path), path.stem)


def _parsed(text: str, where: str, name: str) -> Recipe:
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise ConfigError(f"{where}: not YAML{line}: {getattr(error, 'problem', error)}") from None
    if isinstance(fields, dict):
        fields.setdefault("name", name)
    return recipe_from(fields, where)
