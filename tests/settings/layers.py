"""The layers of the settings as a person writes them: two real files, a mapping in code and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
import yaml

from vancetope.settings import KEYS, Settings, load, settings_from

Layer: TypeAlias = Literal["environment", "project", "tenant"]
LAYERS: tuple[Layer, ...] = ("environment", "project", "tenant")  # the first one wins

# For every key a value for each layer, all different where the kind has as many.
SAMPLES: Mapping[str, tuple[Any, Any, Any]] = {
    "model": ("scripted:e", "scripted:p", "scripted:t"),
    "turnEnd": ("respond", "natural", "respond"),
    "enforcement": ("native", "constrained", "prompted"),
    "maxIterations": (1, 20, 300),
    "maxValidationCorrections": (0, 5, 7),
    "maxAttempts": (1, 10, 4),
    "validation": (False, True, False),
    "temperature": (0, 0.25, 2),
    "maxTokens": (1, 500, 600),
    "thinking": ("off", "low", "high"),
    "session.defaultRecipe": ("default", "quick-lookup", "my.yaml"),
    "files.root": ("/srv/e", "/srv/p", "/srv/t"),
    **{f"budgets.{scope}.tokens": (30, 10, 20) for scope in ("turn", "tree", "project", "tenant", "day")},
    **{f"budgets.{scope}.dollars": (3, 0.5, 1.25) for scope in ("turn", "tree", "project", "tenant", "day")},
    "budgets.warnAt": (1, 0.5, 0.25),
    "search.provider": ("searxng", "brave", "tavily"),
    "search.url": ("http://e.example", "https://p.example/search", "http://127.0.0.1:8888"),
    "web.allow": (["e.example", "127.0.0.1:80"], ["p.example"], ["[::1]:8080"]),
}


def nested(dotted: str, value: Any) -> dict[str, Any]:
    """The mapping of a file that says this."""
    for part in reversed(dotted.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def spelt(value: Any) -> str:
    """The value as a text of the environment."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class Place:
    """A project and a tenant of a test."""

    project: Path
    tenant: Path
    monkeypatch: pytest.MonkeyPatch

    def file(self, layer: Layer) -> Path:
        return (self.project if layer == "project" else self.tenant) / "vancetope.yaml"

    def say(self, layer: Layer, key: str, value: Any) -> str:
        """Say it there; where that is."""
        if layer == "environment":
            self.monkeypatch.setenv(KEYS[key].variable, spelt(value))
            return KEYS[key].variable
        self.file(layer).write_text(yaml.safe_dump(nested(key, value)))
        return str(self.file(layer))

    def settings(self, mapping: dict[str, Any] | None = None) -> Settings:
        """What holds in the project, or with this mapping in the place of its file."""
        return load(self.project) if mapping is None else settings_from(mapping)
