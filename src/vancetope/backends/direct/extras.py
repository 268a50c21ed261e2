"""The optional libraries behind these backends: whether they are there, and loading them without stopping the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from vancetope.errors import MissingExtra

Kind: TypeAlias = Literal["anthropic", "gemini"]

MODELS_KEPT = 64

_EXTRAS: dict[Kind, tuple[str, str, str]] = {
    "anthropic": ("anthropic", "Anthropic", "anthropic"),
    "gemini": ("google", "Gemini", "google.genai"),
}


@cache
def missing_extra(kind: Kind) -> MissingExtra | None:
    """The error for an extra that is not installed, null if it is. Nothing heavy is imported."""
    extra, needed_for, library = _EXTRAS[kind]
    return None if _installed("pydantic_ai") and _installed(library) else MissingExtra(extra, needed_for)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@dataclass(slots=True)
class Layer:
    """One kind's library, loaded: the provider of all its models, and the models by name. It knows no key, no address
    and no connection, so that all backends and event loops of the process share it."""

    provider: Any
    make: Callable[[str, Any], Any]
    models: dict[str, Any]

    def model(self, name: str) -> Any:
        """The library's model of this name. It reads data about models the first time: call it in a thread then."""
        found = self.models.get(name)
        if found is None:
            found = self.make(name, self.provider)
            if len(self.models) >= MODELS_KEPT:
                self.models.pop(next(iter(self.models)), None)
            self.models[name] = found
        return found


_LAYERS: dict[Kind, Layer] = {}
_LOADING = threading.Lock()


async def loaded(kind: Kind, load: Callable[[], Layer], model: str | None = None) -> Layer:
    """The library, with this model made. Modules, certificates and tables are read in a thread, once a process."""
    layer = _LAYERS.get(kind)
    if layer is None or (model is not None and model not in layer.models):
        layer = await asyncio.to_thread(_load, kind, load, model)
    return layer


def _load(kind: Kind, load: Callable[[], Layer], model: str | None) -> Layer:
    with _LOADING:
        layer = _LAYERS.get(kind)
        if layer is None:
            layer = _LAYERS[kind] = load()
        if model is not None:
            layer.model(model)
    return layer
