"""From a recipe to a system prompt."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from vancetope.errors import ConfigError
from vancetope.recipes.recipe import Params, Recipe

VARIABLES = (
    "tier",
    "model",
    "provider",
    "mode",
    "recipe",
    "engine",
    "lang",
    "params",
    "role",
    "schema_json",
    "prompt",
)
MAX_PROMPT = 1024 * 1024


def system_prompt(recipe: Recipe, variables: Mapping[str, Any], instructions: str = "") -> str:
    """The recipe's prompt, for a chat the block about how a turn ends, and the caller's instructions, in this order.

    `variables` are those named in `VARIABLES`; the last two are empty in a chat. Raises `ConfigError` naming the recipe
    and what its template got wrong.
    """
    parts = [_rendered(each, variables, recipe.name) for each in (recipe.promptPrefix, *_ending(recipe))]
    return "\n\n".join(part for part in (*parts, instructions.strip()) if part)


def _ending(recipe: Recipe) -> tuple[str, ...]:
    if recipe.engine == "jeltz":
        return ()
    return (recipe.respondPrompt if recipe.respondPrompt is not None else _respond_block(),)


class _Sandbox(SandboxedEnvironment):
    """A sandbox in which `*`, `**` and `%` work on small numbers only: on texts and lists they can fill the memory."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if not all(isinstance(each, int | float) and abs(each) <= 1000 for each in (left, right)):
            raise TemplateError(f"{operator} is for numbers up to 1000")
        return super().call_binop(context, operator, left, right)


@cache
def _environment() -> SandboxedEnvironment:
    made = _Sandbox(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)
    made.filters["raw"] = str  # nothing is escaped here, so a template that asks for its text as it is gets it
    return made


@lru_cache(maxsize=128)
def _template(text: str) -> Template:
    """The compiled template. Raises `TemplateError` for one that uses what is not there, in whichever branch."""
    tree = _environment().parse(text)
    known = {*VARIABLES, *_environment().globals}
    for name in sorted(meta.find_undeclared_variables(tree) - known):
        raise TemplateError(f"there is no variable {name!r}; {_instead(name, VARIABLES)}")
    for each in tree.find_all(nodes.Getattr):
        of_params = isinstance(each.node, nodes.Name) and each.node.name == "params"
        if of_params and each.attr not in Params.model_fields and not hasattr(dict, each.attr):
            raise TemplateError(f"there is no params.{each.attr}; {_instead(each.attr, tuple(Params.model_fields))}")
    return _environment().from_string(tree)


def _instead(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


@cache
def _respond_block() -> str:
    return files("vancetope.recipes").joinpath("respond.md.j2").read_text("utf-8")


def _rendered(template: str, variables: Mapping[str, Any], name: str) -> str:
    try:
        return _whole(_template(template), variables).strip()
    except Exception as error:  # a template is a program: whatever it raises is its author's to mend
        kind = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
        problem = " ".join(f"{kind}{error}".split())
        raise ConfigError(f"recipe {name}: its prompt cannot be rendered: {problem}") from None


def _whole(template: Template, variables: Mapping[str, Any]) -> str:
    pieces: list[str] = []
    size = 0
    for piece in template.generate(**variables):
        size += len(piece)
        if size > MAX_PROMPT:
            raise TemplateError(f"it is longer than {MAX_PROMPT:,} characters")
        pieces.append(piece)
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TemplateError("half of a surrogate pair is no text") from None
    return text
