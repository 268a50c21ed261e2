"""From a recipe to a system prompt."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from vancetope.errors import ConfigError
from vancetope.recipes.recipe import Recipe

VARIABLES = ("tier", "model", "provider", "mode", "recipe", "engine", "lang", "params", "role")


def system_prompt(recipe: Recipe, variables: Mapping[str, Any], instructions: str = "") -> str:
    """The recipe's prompt, the block about how a turn ends, and the caller's instructions, in this order.

    `variables` are those named in `VARIABLES`. Raises `ConfigError` naming the recipe and what its template got wrong.
    """
    respond = recipe.respondPrompt if recipe.respondPrompt is not None else _respond_block()
    parts = [_rendered(each, variables, recipe.name) for each in (recipe.promptPrefix, respond)]
    return "\n\n".join(part for part in (*parts, instructions.strip()) if part)


@cache
def _environment() -> SandboxedEnvironment:
    return SandboxedEnvironment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)


@lru_cache(maxsize=128)
def _template(text: str) -> Template:
    return _environment().from_string(text)


@cache
def _respond_block() -> str:
    return files("vancetope.recipes").joinpath("respond.md.j2").read_text("utf-8")


def _rendered(template: str, variables: Mapping[str, Any], name: str) -> str:
    try:
        return _template(template).render(**variables).strip()
    except TemplateError as error:
        raise ConfigError(f"recipe {name}: its prompt cannot be rendered: {error}") from None
