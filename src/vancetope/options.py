"""What a caller's options may be: one row an option, checked before anything else is done with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from vancetope.backends.base import ModelSettings, Thinking
from vancetope.context import Budget, Patience
from vancetope.errors import ConfigError
from vancetope.messages import Message
from vancetope.outcome import EnforcementName, Role, TurnEnd
from vancetope.recipes.recipe import Recipe

YEAR = 366 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what to give, and whether a value is one of it. `null`: it may be left unsaid."""

    told: str
    fits: Callable[[Any], bool]
    null: bool = False


def or_null(kind: Kind) -> Kind:
    return replace(kind, null=True)


def one_of(*names: str) -> Kind:
    return Kind(f"one of {', '.join(map(repr, names))}", lambda value: isinstance(value, str) and value in names)


def whole(least: float, what: str = "a whole number") -> Kind:
    told = what if least == -inf else f"{what}, at least {least}"
    return Kind(told, lambda value: _is_whole(value) and value >= least)


def check(given: object, rows: Mapping[str, Kind], prefix: str = "") -> None:
    """Raises `ConfigError` for the first attribute of `given` that is not of the kind in its row."""
    for name, kind in rows.items():
        check_one(prefix + name, getattr(given, name), kind)


def check_one(name: str, value: Any, kind: Kind) -> None:
    """Raises `ConfigError` naming the option and what to give, if `value` is not of this kind."""
    if not (kind.null if value is None else kind.fits(value)):
        raise ConfigError(f"{name} is {shown(value)}; give {kind.told}{', or None' if kind.null else ''}")


def shown(value: Any) -> str:
    """A wrong value as a sentence may show it: short ones as they are, of others only the type."""
    if value is None or isinstance(value, bool | float | str) or (isinstance(value, int) and abs(value) < 10**15):
        text = repr(value)
        return text if len(text) <= 60 else text[:59] + "…"
    return f"of type {type(value).__name__}"


def message_problem(messages: tuple[Any, ...]) -> tuple[int, str] | None:
    """The first of these that is no message of ours or holds a value of a wrong type: its position, and a few words."""
    try:
        _messages().validate_python(messages)
    except ValidationError as error:
        position, *path = max((each["loc"] for each in error.errors(include_url=False)), key=_first_and_deepest)
        given = messages[int(position)]
        if not isinstance(given, get_args(Message)):
            return int(position), shown(given)
        names = [str(step) for step in path[1:] if isinstance(step, int) or (step.isidentifier() and step.islower())]
        return int(position), f"a message with a wrong value at {'.'.join(each for each in names if each != 'str')}"
    return None


def _first_and_deepest(path: tuple[int | str, ...]) -> tuple[int, int]:
    return -int(path[0]), len(path)


@cache
def _messages() -> TypeAdapter[tuple[Message, ...]]:
    strict = ConfigDict(strict=True, revalidate_instances="always")
    return TypeAdapter(tuple[Annotated[Message, Field(discriminator="kind")], ...], config=strict)


def is_text(value: Any) -> bool:
    """Whether this is a text that can be sent: half of a surrogate pair cannot."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= each <= "\udfff" for each in value))


def _is_name(value: Any) -> bool:
    return is_text(value) and bool(value.strip())


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_object_with(method: str) -> Callable[[Any], bool]:
    return lambda value: not isinstance(value, type) and callable(getattr(value, method, None))


_has_complete = _is_object_with("complete")

TEXT = Kind("a text of valid Unicode", is_text)
SECONDS = Kind("a number of seconds above 0, a year at most", lambda value: _is_number(value) and 0 < value <= YEAR)
TOKENS = whole(1, "a whole number of tokens")
FUNCTION = Kind("a function", callable)
JOURNAL = or_null(Kind("a Journal", _is_object_with("step")))
LISTENER = or_null(FUNCTION)

ASKED: Mapping[str, Kind] = {
    "model": or_null(
        Kind(
            "a text such as 'openai:gpt-5-mini', a Backend, or an async function from text to text",
            lambda value: _is_name(value) or _has_complete(value) or (callable(value) and not isinstance(value, type)),
        )
    ),
    "recipe": Kind(
        "the name of a bundled recipe, a .yaml file or a Recipe",
        lambda value: isinstance(value, Path | Recipe) or is_text(value),
    ),
    "tools": Kind("a list of functions and Tools", _is_list),
    "instructions": TEXT,
    "turn_end": or_null(one_of(*get_args(TurnEnd))),
    "role": or_null(one_of(*get_args(Role))),
    "enforcement": or_null(one_of(*get_args(EnforcementName))),
    "max_iterations": or_null(whole(1)),
    "max_validation_corrections": or_null(whole(0)),
    "validation": or_null(Kind("True or False", lambda value: isinstance(value, bool))),
    "budget": or_null(
        Kind(f"{TOKENS.told}, or Budget(dollars=...)", lambda value: isinstance(value, Budget) or TOKENS.fits(value))
    ),
    "model_settings": or_null(
        Kind(
            "a ModelSettings or a mapping such as {'temperature': 0}",
            lambda value: isinstance(value, ModelSettings | Mapping),
        )
    ),
    "deadline": or_null(SECONDS),
    "patience": or_null(Kind("a Patience", lambda value: isinstance(value, Patience))),
    "lang": TEXT,
    "wire": or_null(FUNCTION),
}
RECIPE_PARAMS: Mapping[str, Kind] = {"greeting": or_null(TEXT)}
BUDGET: Mapping[str, Kind] = {
    "tokens": or_null(TOKENS),
    "dollars": or_null(Kind("US dollars, above 0", lambda value: _is_number(value) and 0 < value < inf)),
}
PATIENCE: Mapping[str, Kind] = {"model_call": SECONDS, "turn": SECONDS, "last_round": SECONDS}
MODEL_SETTINGS: Mapping[str, Kind] = {
    "temperature": or_null(Kind("a number, 0 or more", lambda value: _is_number(value) and 0 <= value < inf)),
    "max_tokens": or_null(TOKENS),
    "seed": or_null(whole(-inf)),
    "thinking": or_null(one_of(*get_args(Thinking))),
    "extra": Kind(
        "a mapping with texts as keys",
        lambda value: isinstance(value, Mapping) and all(map(is_text, value)),
    ),
}
