"""How an attempt at a structured answer is asked for: by a response format, or in words only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from json import loads
from typing import Any

from vancetope.contract.grammar import LIST_BOUND, bounded, stopped
from vancetope.errors import ConfigError
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName
from vancetope.schema.profiles import PROFILES
from vancetope.schema.rewrite import Unsuited, rewrite
from vancetope.schema.validate import CACHED_LENGTH, Validator
from vancetope.schema.validate import compile as compiled

ROOM = 4
GRAMMARS = frozenset({"llguidance", "gbnf", "xgrammar", "ollama"})
GENERIC: Mapping[EnforcementName, str] = {"native": "openai", "constrained": "gbnf"}


@dataclass(frozen=True, slots=True)
class Form:
    """One way of asking. `response_schema` goes to the server, null where the schema is asked for in words only; `why`
    says why, where more had been wanted. `validator` is of that schema. `restore` brings a value of the server's own
    form back to the caller's, `at_bound` tells whether a value stopped at a bound that only our grammar had set."""

    mode: EnforcementName
    response_schema: Mapping[str, Any] | None = None
    validator: Validator | None = None
    restore: Callable[[Any], Any] | None = None
    at_bound: Callable[[Any], bool] | None = None
    why: str = ""


def profile(asked: EnforcementName | None, model: ModelInfo) -> str | None:
    """The profile of the response format to use with a model; null to ask in words. Raises `ConfigError` where the
    model's server cannot do what was asked."""
    if asked == "prompted":
        return None
    known = model.structured_output
    if strange := [each for each in known if each not in PROFILES]:
        raise ConfigError(f"{model.id}: there is no response format {strange[0]!r}; there are {', '.join(PROFILES)}")
    if asked is None:
        return known[0] if known else GENERIC["constrained"] if model.enforcements[:1] == ("constrained",) else None
    fitting = [each for each in known if mode_of(each) == asked]
    if fitting:
        return fitting[0]
    if not known and asked in model.enforcements:
        return GENERIC[asked]
    able = [*dict.fromkeys(map(mode_of, known))] if known else list(model.enforcements)
    ways = ", ".join(map(repr, dict.fromkeys((*able, "prompted"))))
    raise ConfigError(f"{model.id} cannot answer by schema under {asked!r} enforcement; it can do {ways}")


def mode_of(name: str) -> EnforcementName:
    """The enforcement that a profile's response format is."""
    return "constrained" if name in GRAMMARS else "native"


def form(schema: Validator, name: str | None, model: ModelInfo, *, raised: bool) -> Form:
    """The form of an attempt. Our own server's grammar bounds every string and list, or a small model fills its window
    with one of them; `raised` gives them more room. Equal schemas are rewritten once."""
    if name is None:
        return Form("prompted")
    room = ROOM if raised else 1
    bounds = (model.string_bound * room, LIST_BOUND * room) if model.provider == "local" else None
    return (_cached if len(schema.text) <= CACHED_LENGTH else _made)(schema.text, name, bounds)


def _made(text: str, name: str, bounds: tuple[int, int] | None) -> Form:
    schema = loads(text)
    rewritten = rewrite(schema, name)
    if isinstance(rewritten, Unsuited):
        return Form("prompted", why=rewritten.sentence)
    if bounds is None:
        return Form(mode_of(name), rewritten.schema, compiled(rewritten.schema), rewritten.restored)
    bound, items = bounds
    tight = bounded(rewritten.schema, bound, "", items)
    at_bound = partial(stopped, schema=schema, bound=bound, items=items)
    return Form(mode_of(name), tight, compiled(tight), rewritten.restored, at_bound)


_cached = lru_cache(maxsize=256)(_made)
