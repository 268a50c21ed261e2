"""What is known of models: the bundled list, and over it what a tenant and a project say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from vancetope.errors import ConfigError
from vancetope.models.aliases import Alias, Route, routes, usable
from vancetope.models.base import ModelInfo
from vancetope.models.entries import Layer, layer_from
from vancetope.strict_yaml import read

FILE = "ai-models.yaml"
_LONG = frozenset({"long_price", "long_from"})

MOST_FOUND = 1_000  # models whose facts are kept put together

State: TypeAlias = tuple[Path, int, int]  # a file, when it was changed last (nanoseconds), its size


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What is known of models. `layers` are the files that say it, the bundled one first; `aliases` are those of all of
    them, of each name the last one."""

    layers: tuple[Layer, ...]
    aliases: Mapping[str, Alias]
    _found: dict[tuple[str, ...], ModelInfo] = field(default_factory=dict, compare=False, repr=False)

    def lookup(self, provider: str, name: str, server: str | None = None) -> ModelInfo:
        """What is known of a model, safe defaults for the rest. `server` is the name of the server in the settings that
        it is on, if it is on one: entries may be about it too, and the model bears its name."""
        key = (provider, name, server or "")
        if (found := self._found.get(key)) is None:
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            found = self._found[key] = self._looked_up(provider, name, server)
        return found

    def _looked_up(self, provider: str, name: str, server: str | None) -> ModelInfo:
        names = [f"{each}:{name}" for each in (provider, server) if each]
        fields: dict[str, Any] = {}
        known = False
        for layer in self.layers:
            if entry := layer.entry(names):
                below = {key: each for key, each in fields.items() if key not in _LONG or "price" not in entry.fields}
                fields = {**below, **entry.fields}
                known = known or entry.known
        return ModelInfo(provider=server or provider, name=name, known=known, **fields)

    def names(self, provider: str) -> tuple[str, ...]:
        """The models of a provider that are known by name, as `provider:name`; those of a project come first."""
        return tuple(dict.fromkeys(name for layer in reversed(self.layers) for name in layer.names(provider)))

    def routes(self, name: str, servers: Collection[str] = ()) -> tuple[Route, ...]:
        """The models behind an alias in their order, with the way to each; the name alone where it is none. Raises
        `ConfigError` where the aliases lead back to one of themselves, or to what there is not."""
        return routes(name, usable(self.aliases, servers), servers)


def catalogue(folders: tuple[Path, ...] = ()) -> Catalogue:
    """What is known of models where these folders may each hold an `ai-models.yaml`; the first folder has the last
    word. A file is read again once it has changed. Raises `ConfigError`."""
    return _catalogue(tuple(state for each in folders if (state := _state(each / FILE))))


def _state(path: Path) -> State | None:
    """A file as it is now; null where there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "no file has such a name"
        raise ConfigError(f"the catalogue {path} cannot be read: {problem}") from None
    return path, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=16)
def _catalogue(states: tuple[State, ...]) -> Catalogue:
    layers = (_bundled(), *(_layer(each) for each in reversed(states)))
    return Catalogue(layers, {name: alias for each in layers for name, alias in each.aliases.items()})


@lru_cache(maxsize=16)
def _layer(state: State) -> Layer:
    path = state[0]
    return layer_from(read(path, "the catalogue"), str(path))


@cache
def _bundled() -> Layer:
    """The bundled list. A test has read it with the strict loader, which is ten times slower than libyaml's."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return layer_from(
        yaml.load(files("vancetope.models").joinpath(FILE).read_text("utf-8"), loader), FILE, is_bundled=True
    )
