"""What a file of models and aliases says, checked. Every problem is one sentence with the file, the entry, the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from re import split
from typing import Any, get_args

from vancetope.errors import ConfigError
from vancetope.models.aliases import Alias, unfit_name
from vancetope.models.base import Price, Quirk, ResponseFormat, Thinking, Tier
from vancetope.outcome import EnforcementName, TurnEnd
from vancetope.settings.kinds import Kind, Unfit, number, one_of, whole, yes_or_no
from vancetope.settings.wrong import fitting, mapping, named, unknown

LONGEST = 200  # characters of a glob or a name


@dataclass(frozen=True, slots=True)
class Entry:
    """What is said of the models that one of the globs matches: fields of `ModelInfo`. `known` is false where it is
    said of a server, whatever the model."""

    globs: tuple[str, ...]
    fields: Mapping[str, Any]
    known: bool = True

    def matches(self, names: Iterable[str]) -> bool:
        return any(_matches(glob, name) for name in names for glob in self.globs)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one file says."""

    entries: tuple[Entry, ...] = ()
    aliases: Mapping[str, Alias] = field(default_factory=dict)

    def entry(self, names: Iterable[str]) -> Entry | None:
        """The first entry for a model that has these names."""
        return next((each for each in self.entries if each.matches(names)), None)

    def names(self, provider: str) -> list[str]:
        """The models of a provider that entries name without a wildcard, in their order."""
        globs = (glob for each in self.entries for glob in each.globs)
        return [each for each in globs if each.startswith(f"{provider}:") and each == _start(each)]


def layer_from(said: Any, where: str, *, is_bundled: bool = False) -> Layer:
    """What a file says. Raises `ConfigError`."""
    keys = ("models", "aliases")
    said = mapping(said, where, "")
    for key in said:
        if key not in keys:
            raise unknown(key, where, "", keys)
    models = [] if said.get("models") is None else said["models"]
    if not isinstance(models, list):
        raise ConfigError(f"{where}: models: expected a list of entries, each with a match")
    entries = tuple(_entry(each, where, place) for place, each in enumerate(models, 1))
    _all_different(entries, where)
    aliases = mapping(said.get("aliases"), where, "aliases")
    return Layer(entries, {name: _alias(name, each, where, is_bundled) for name, each in aliases.items()})


def _matches(glob: str, name: str) -> bool:
    start = _start(glob)  # most globs differ there, and no pattern is compiled for them
    return name.startswith(start) and (glob == f"{start}*" or fnmatchcase(name, glob))


@lru_cache(maxsize=1024)
def _start(glob: str) -> str:
    """What a glob begins with: all of it where it has no wildcard."""
    return split(r"[*?\[]", glob, maxsplit=1)[0]


def _all_different(entries: Iterable[Entry], where: str) -> None:
    seen: set[str] = set()
    for glob in (glob for each in entries for glob in each.globs):
        if glob in seen:
            raise ConfigError(
                f"{where}: models: {glob}: it stands here twice, and the second entry would never be read"
            )
        seen.add(glob)


def _several(names: Iterable[str], told: str, *, may_be_empty: bool = False) -> Kind:
    one = one_of(*names)

    def of(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not (value or may_be_empty):
            raise Unfit
        found = tuple(one.of(each) for each in value)
        if len(set(found)) < len(found):
            raise Unfit
        return found

    return Kind(f"a list of {told}, each once: {one.told}", of)


def _thinking(value: Any) -> Any:
    return _THINKS.of({True: "yes", False: "no"}[value] if isinstance(value, bool) else value)  # YAML's bare yes and no


_THINKS = one_of(*get_args(Thinking))
_TOKENS = whole("a whole number of tokens, at least 1", 1)
_DOLLARS = number("a number of US dollars per million tokens, at least 0", lambda value: value >= 0)
_QUIRKS = get_args(Quirk)

# The keys of an entry, apart from its prices: the field that each one fills, its kind, and whether null is a value.
KEYS: Mapping[str, tuple[str, Kind, bool]] = {
    "contextWindow": ("context_window", _TOKENS, True),
    "outputLimit": ("output_limit", _TOKENS, True),
    "outputCeiling": ("output_ceiling", _TOKENS, True),
    "enforcements": ("enforcements", _several(get_args(EnforcementName), "enforcements"), False),
    "structuredOutput": (
        "structured_output",
        _several(get_args(ResponseFormat), "profiles of response formats", may_be_empty=True),
        False,
    ),
    "forcedChoice": ("forced_choice", yes_or_no(), False),
    "forcedChoiceWithThinking": ("forced_choice_with_thinking", yes_or_no(), False),
    "thinking": ("thinking", Kind(_THINKS.told, _thinking), False),
    "vision": ("vision", yes_or_no(), False),
    "quirks": ("quirks", _several(_QUIRKS, "quirks", may_be_empty=True), False),
    "turnEnd": ("turn_end", one_of(*get_args(TurnEnd)), True),
    "thought": ("thought", yes_or_no(), False),
    "stringBound": ("string_bound", whole("a whole number of characters, at least 1", 1), False),
    "tier": ("tier", one_of(*get_args(Tier)), False),
    "temperature": ("temperature", number("a number, at least 0", lambda value: value >= 0), True),
}
PRICES = {"input": "input", "output": "output", "cached": "cached", "cacheWrite": "cache_write"}
ALL_KEYS = ("match", "known", *KEYS, "price", "longPrice")


def _entry(said: Any, where: str, place: int) -> Entry:
    if not isinstance(said, Mapping):
        raise ConfigError(f"{where}: models: entry {place}: expected a mapping of keys with a match")
    globs = _globs(said.get("match"), f"{where}: models: entry {place}: match")
    at = f"models: {globs[0]}: "
    for key in said:
        if key not in ALL_KEYS:
            raise unknown(key, where, at, ALL_KEYS)
    found: dict[str, Any] = {}
    for key, (name, kind, may_be_null) in KEYS.items():
        if key in said:
            is_null = said[key] is None and may_be_null
            found[name] = None if is_null else fitting(said[key], kind, where, at + key)
    if "price" in said:
        found["price"] = _price(said["price"], where, f"{at}price")
    if "longPrice" in said:
        found["long_price"] = _price(said["longPrice"], where, f"{at}longPrice", "from")
        found["long_from"] = None if said["longPrice"] is None else _from(said["longPrice"], where, at)
    limit, ceiling = found.get("output_limit"), found.get("output_ceiling")
    if limit and ceiling and limit > ceiling:
        raise ConfigError(f"{where}: {at}outputLimit: it is above outputCeiling, the most that may be asked for")
    if limit and (window := found.get("context_window")) and limit >= window:
        raise ConfigError(f"{where}: {at}outputLimit: it leaves nothing of contextWindow for the question")
    return Entry(globs, found, fitting(said.get("known", True), yes_or_no(), where, f"{at}known"))


def _price(said: Any, where: str, at: str, *more: str) -> Price | None:
    if said is None:
        return None
    for key in mapping(said, where, at):
        if key not in (*more, *PRICES):
            raise unknown(key, where, f"{at}.", (*more, *PRICES))
    for key in (*more, "input", "output"):
        if said.get(key) is None:
            raise ConfigError(f"{where}: {at}: {key} is missing")
    prices = {PRICES[key]: fitting(each, _DOLLARS, where, f"{at}.{key}") for key, each in said.items() if key in PRICES}
    return Price(**prices)


def _from(said: Mapping[str, Any], where: str, at: str) -> int:
    tokens: int = fitting(said["from"], _TOKENS, where, f"{at}longPrice.from")
    return tokens


def _globs(said: Any, at: str) -> tuple[str, ...]:
    globs = said if isinstance(said, list) else [said]
    if said is None or not globs:
        raise ConfigError(f'{at}: it is missing; write for example match: "ollama:qwen3*"')
    for each in globs:
        if not isinstance(each, str) or len(each) > LONGEST or not each.isprintable() or set(each) & {" ", '"', "'"}:
            raise ConfigError(f"{at}: expected provider:name, or a list of these, with * for any text")
        provider, _, name = each.partition(":")
        if not provider or not name:
            raise ConfigError(f"{at}: {each} is no provider:name; write for example ollama:qwen3*, or ollama:* for all")
        if "[" in each and "]" not in each[each.rindex("[") + 2 :]:
            raise ConfigError(f"{at}: {each} opens a [ that nothing closes")
    return tuple(globs)


def _alias(name: Any, said: Any, where: str, is_bundled: bool) -> Alias:
    members = said if isinstance(said, list) else [said]
    at = f"{where}: aliases.{named(name)}"
    if wrong := unfit_name(name):
        raise ConfigError(f"{at}: {wrong}")
    if not members or not all(isinstance(each, str) and each.strip() and len(each) <= LONGEST for each in members):
        raise ConfigError(f'{at}: expected a model or a list of models, for example ["openai:gpt-5-mini", "local:"]')
    return Alias(name, tuple(each.strip() for each in members), where, is_bundled)
