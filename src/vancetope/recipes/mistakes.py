"""What is wrong with the fields of a recipe, in one sentence: where, what, and what to give instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

LONGEST = 40
DEEPEST = 2  # mappings within a recipe: params.budget
# By the kind of pydantic's problem: what to give instead.
_GIVE: Mapping[str, str] = {
    "string_type": "give a text",
    "string_unicode": "give a text",
    "bool_type": "give true or false",
    "int_type": "give a whole number",
    "int_from_float": "give a whole number",
    "float_type": "give a number",
    "finite_number": "give a finite number",
    "tuple_type": "give a list of names",
    "model_type": "give a mapping of keys",
    "greater_than": "give more than {gt}",
    "greater_than_equal": "give at least {ge}",
    "less_than_equal": "give at most {le}",
}


def first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """The first problem in one sentence, with the key or value that was probably meant where one is unknown."""
    problems = error.errors(include_url=False)
    first: Any = problems[0]
    path = _path(first["loc"], model)
    if first["type"] == "extra_forbidden":
        return f"{_dotted(path)}: unknown key; {near_or(path[-1], sorted(_keys(model, path[:-1])), 'known keys are')}"
    if first["type"] == "value_error":
        text = str(first["ctx"]["error"])
        goes_on = text.partition(":")[0].isidentifier()  # it names a key of this mapping itself
        return text if not path else f"{_dotted(path)}{'.' if goes_on else ': '}{text}"
    return f"{_dotted(path)}: is {shown(first['input'])}; {_instead(first, problems, path, model)}"


def no_mapping(what: str, value: Any) -> str:
    """What to say of a value that should be `what`, a mapping."""
    return f"{what} is a mapping of keys, and this is {'empty' if value is None else shown(value)}"


def shown(value: Any) -> str:
    """A value as a sentence may show it: short, on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and abs(value) >= 10**LONGEST:
        return "a number of too many digits"
    text = repr(value)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return f"the text {text}" if isinstance(value, str) else text


def odd_key(fields: Any, *path: str) -> str | None:
    """What to say of the first key that is no text: YAML takes a bare `on`, `no`, `5` or `null` for another value."""
    for key, value in fields.items() if isinstance(fields, Mapping) else ():
        if not isinstance(key, str):
            return f"{_dotted([*path, shown(key)])}: is no key; put it between quotation marks, or remove it"
        if len(path) < DEEPEST and (problem := odd_key(value, *path, key)):
            return problem
    return None


def _plain(value: Any) -> str:
    """A number of a limit, as people write it."""
    whole = isinstance(value, int | float) and value == int(value)
    return f"{int(value):,}" if whole else str(value)


def _instead(first: Any, problems: list[Any], path: list[str], model: type[BaseModel]) -> str:
    if first["type"] == "literal_error":
        choices = [each.strip("'") for each in re.findall(r"'[^']*'", first["ctx"]["expected"])]
        return near_or(str(first["input"]), choices, "give one of")
    kinds = dict.fromkeys(
        _GIVE[each["type"]].format(**{name: _plain(value) for name, value in each.get("ctx", {}).items()})
        for each in problems
        if each["type"] in _GIVE and _path(each["loc"], model) == path
    )
    give = " or ".join([*kinds][:1] + [each.removeprefix("give ") for each in [*kinds][1:]])
    if not give:
        return str(first["msg"])
    return f"{give}, or remove the key" if first["input"] is None and not path[-1].isdigit() else give


def near_or(name: str, known: Sequence[str], otherwise: str, most: int | None = None) -> str:
    """Which of the known names was probably meant, in whatever letters; else, behind `otherwise`, the first `most` of
    them."""
    lowered = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    return f"did you mean {lowered[near[0]]}?" if near else f"{otherwise} {', '.join(known[:most])}"


def _dotted(path: list[str]) -> str:
    """The path of a key as a sentence may show it, whatever somebody took for a key."""
    steps = (each if each and each.isprintable() else repr(each) for each in path)
    return ".".join(each if len(each) <= LONGEST else f"{each[:LONGEST]}…" for each in steps)


def _path(steps: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """The keys on the way to a value, without the names of types that pydantic tried there."""
    path: list[str] = []
    here: Any = model
    for step in steps:
        fields = _fields(here)
        if step == "[key]" or (fields is None and isinstance(step, str)):
            continue
        path.append(str(step))
        known = fields.get(str(step)) if fields else None
        here = known.annotation if known is not None else None
    return path


def _keys(model: type[BaseModel], path: list[str]) -> set[str]:
    """The keys that a model knows at this path."""
    here: Any = model
    for step in path:
        field = (_fields(here) or {}).get(step)
        here = field.annotation if field else None
    return set(_fields(here) or ()) - {"name", "source"}


def _fields(kind: Any) -> dict[str, Any] | None:
    """The fields of a model, also of one that may be null; null for what is no model."""
    for each in (kind, *(get_args(kind) if get_origin(kind) in (Union, UnionType) else ())):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return dict(each.model_fields)
    return None
