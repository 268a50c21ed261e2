"""From a recipe to a system prompt."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import SandboxedEnvironment

from vancetope.errors import ConfigError
from vancetope.recipes.recipe import Recipe
from vancetope.recipes.template_check import check

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
MAX_PROBLEM = 400


def system_prompt(recipe: Recipe, variables: Mapping[str, Any], instructions: str = "") -> str:
    """The recipe's prompt, for a chat the block about how a turn ends, and the caller's instructions, in this order.

    `variables` are those named in `VARIABLES`; the last two are empty in a chat. Raises `ConfigError` naming the recipe
    and what its template got wrong.
    """
    parts = [_rendered(recipe, key, text, variables) for key, text in _templates(recipe)]
    return "\n\n".join(part for part in (*parts, instructions.strip()) if part)


def check_templates(recipe: Recipe) -> None:
    """Raises `ConfigError` naming the recipe and the key of a template that cannot work, in whichever branch."""
    for key, text in _templates(recipe):
        try:
            _template(text)
        except Exception as error:  # the compiler of a template raises what it likes, RecursionError among it
            raise ConfigError(f"{recipe.where}: {key}: {_problem(error)}") from None


def _templates(recipe: Recipe) -> tuple[tuple[str, str], ...]:
    """The recipe's templates, each with the key that it stands under."""
    prefix = ("promptPrefix", recipe.promptPrefix)
    if recipe.engine == "jeltz":
        return (prefix,)
    own = recipe.respondPrompt
    return (prefix, ("respondPrompt", own if own is not None else _respond_block()))


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
    check(tree, _environment(), VARIABLES)
    return _environment().from_string(tree)


@cache
def _respond_block() -> str:
    return files("vancetope.recipes").joinpath("respond.md.j2").read_text("utf-8")


def _rendered(recipe: Recipe, key: str, text: str, variables: Mapping[str, Any]) -> str:
    try:
        return _whole(_template(text), variables).strip()
    except Exception as error:  # a template is a program: whatever it raises is its author's to mend
        raise ConfigError(f"{recipe.where}: {key}: cannot be rendered: {_problem(error)}") from None


def _problem(error: Exception) -> str:
    """What a template got wrong, on one line."""
    kind = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
    line = f"line {error.lineno} of the template: " if isinstance(error, TemplateSyntaxError) else ""
    text = " ".join(f"{line}{kind}{error.message if isinstance(error, TemplateError) else error}".split())
    return text if len(text) <= MAX_PROBLEM else f"{text[:MAX_PROBLEM]}…"


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
