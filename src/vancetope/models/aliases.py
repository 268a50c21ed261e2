"""Names that stand for models: which ones stand behind a name, and the way that leads to each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from vancetope.errors import ConfigError
from vancetope.models.base import PROVIDERS

# Providers that come with a later release; nothing else may take their names.
LATER = ("claude-cli", "codex-cli", "gemini-cli", "opencode-cli", "grok-cli")
LONGEST_NAME = 100
MOST_STEPS = 32  # from one alias to the next


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for one of several models or aliases, the first that can be used. `where` is the file that says so."""

    name: str
    members: tuple[str, ...]
    where: str = ""
    is_bundled: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """A model behind a name, and the aliases that lead to it, the first one asked for."""

    model: str
    through: tuple[str, ...] = ()


def unfit_name(name: Any) -> str | None:
    """Why this cannot be the name of an alias, if it cannot."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME or " " in name:
        return "expected a text without spaces as the name of an alias"
    first, colon, rest = name.partition(":")
    if not first or (colon and not rest):
        return "a name neither begins nor ends with a colon"
    if first in (*PROVIDERS, *LATER):
        return f"{first} is a provider; an alias needs a name of its own"
    return None


def usable(aliases: Mapping[str, Alias], servers: Collection[str]) -> dict[str, Alias]:
    """The aliases beside servers of these names: a bundled one makes way for a server of its name. Raises `ConfigError`
    where somebody's own one has the name of a server."""
    found = {}
    for name, alias in aliases.items():
        if name.partition(":")[0] not in servers:
            found[name] = alias
        elif not alias.is_bundled:
            raise ConfigError(f"{alias.where}: aliases.{name}: there is a server of this name; rename one of them")
    return found


def routes(name: str, aliases: Mapping[str, Alias], servers: Collection[str] = ()) -> tuple[Route, ...]:
    """The models behind a name in their order, each once; the name itself where it is no alias. Raises `ConfigError`
    with the way through the aliases where it comes back to one of them, or to a name that stands for nothing."""
    if name not in aliases:
        return (Route(name),)
    found: dict[str, Route] = {}
    done: set[str] = set()

    def follow(name: str, through: tuple[str, ...]) -> None:
        if name in through:
            raise ConfigError(f"the alias {_way(through, name)} comes back to itself; take one of these steps out")
        if len(through) > MOST_STEPS:
            raise ConfigError(
                f"the alias {through[0]} leads through more than {MOST_STEPS} aliases; name a model sooner"
            )
        if name not in aliases:
            _exists(name, through, aliases, servers)
            found.setdefault(name, Route(name, through))
        elif name not in done:
            for each in aliases[name].members:
                follow(each, (*through, name))
            done.add(name)

    follow(name, ())
    return tuple(found.values())


def _exists(name: str, through: tuple[str, ...], aliases: Mapping[str, Alias], servers: Collection[str]) -> None:
    provider, colon, _ = name.partition(":")
    if provider in servers or (colon and provider in PROVIDERS):
        return
    where = aliases[through[-1]].where
    kind = "provider" if colon else "model, alias or server"
    later = " (it comes with a later release)" if provider in LATER else ""
    raise ConfigError(f"{where}: the alias {_way(through, name)}: there is no {kind} {provider!r}{later}")


def _way(through: tuple[str, ...], name: str) -> str:
    return " -> ".join((*through, name))
