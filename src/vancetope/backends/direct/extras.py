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
from vancetope.models.base import Thinking

Kind: TypeAlias = Literal["anthropic", "gemini"]

MODELS_KEPT = 64

_EXTRAS: dict[Kind, tuple[str, str, str]] = {
    "anthropic": ("anthropic", "Anthropic", "anthropic"),
    "gemini": ("google", "Gemini", "google.genai"),
}


def missing_extra(kind: Kind) -> MissingExtra | None:
    """The error for an extra that is not installed, null if it is. Nothing heavy is imported."""
    extra, needed_for, _ = _EXTRAS[kind]
    return None if _installed(kind) else MissingExtra(extra, needed_for)


@cache
def _installed(kind: Kind) -> bool:
    try:
        return all(find_spec(module) is not None for module in ("pydantic_ai", _EXTRAS[kind][2]))
    except ModuleNotFoundError:
        return False


@dataclass(slots=True)
class Layer:
    """One kind's library, loaded: the provider of all its models, and the models by name and what is said of their
    thinking. It knows no key, no address and no connection, so that all backends and event loops of the process share
    it."""

    provider: Any
    make: Callable[[str, Thinking | None, Any], Any]
    models: dict[tuple[str, Thinking | None], Any]
    rehearsed: bool = False


_LAYERS: dict[Kind, Layer] = {}
_LOADING = threading.Lock()


async def loaded(kind: Kind, load: Callable[[], Layer]) -> Layer:
    """The library. Its modules, certificates and tables are read in a thread, once a process."""
    layer = _LAYERS.get(kind)
    return layer if layer is not None else await asyncio.to_thread(_load, kind, load)


async def made(kind: Kind, load: Callable[[], Layer], name: str, thinking: Thinking | None) -> Any:
    """The library's model of this name; the library is loaded if it is not. `thinking` is what is known of the model
    (null: nothing, the library's own word holds)."""
    layer = _LAYERS.get(kind)
    found = layer.models.get((name, thinking)) if layer else None
    return found or await asyncio.to_thread(_model, kind, load, name, thinking)


def thinking_facts(thinking: Thinking | None) -> dict[str, Any]:
    """What is known of a model's thinking, in the library's terms."""
    if thinking is None:
        return {}
    return {"supports_thinking": thinking != "no", "thinking_always_enabled": thinking == "always"}


def _load(kind: Kind, load: Callable[[], Layer]) -> Layer:
    with _LOADING:
        if kind not in _LAYERS:
            _LAYERS[kind] = load()
        return _LAYERS[kind]


def _model(kind: Kind, load: Callable[[], Layer], name: str, thinking: Thinking | None) -> Any:
    """In a thread: the library reads data about models when it makes one."""
    layer = _load(kind, load)
    with _LOADING:
        key = name, thinking
        if key not in layer.models:
            if len(layer.models) >= MODELS_KEPT:
                del layer.models[next(iter(layer.models))]
            layer.models[key] = layer.make(name, thinking, layer.provider)
        return layer.models[key]
