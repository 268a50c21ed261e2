"""One contract, three compilers: how the allowed actions reach a model and come back as calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from vancetope.backends.base import ModelSettings, Request
from vancetope.contract import constrained, native
from vancetope.contract.rules import Rules
from vancetope.contract.view import View
from vancetope.errors import ConfigError
from vancetope.messages import Reply, ToolSpec
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName


class Compiler(Protocol):
    """A way to enforce the contract.

    Contract: `request` shows the model every message of the view and allows nothing but its actions; `reply` gives the
    calls in what came back, loses nothing of it and never judges it. `extra` estimates the tokens that `request` adds
    to system prompt, messages and tools. All are pure.
    """

    def request(self, view: View, model: ModelInfo, settings: ModelSettings, timeout: float) -> Request: ...

    def reply(self, raw: Reply, view: View, model: ModelInfo) -> Reply: ...

    def extra(self, tools: Sequence[ToolSpec], rules: Rules, model: ModelInfo) -> int: ...


COMPILERS: Mapping[EnforcementName, Compiler] = {"native": native, "constrained": constrained}


def compiler(asked: EnforcementName | None, model: ModelInfo) -> tuple[EnforcementName, Compiler]:
    """The compiler for a model: the one asked for, else the model's own first. Raises `ConfigError` where the model
    cannot do what was asked."""
    name = asked or model.enforcements[0]
    if name not in model.enforcements:
        raise ConfigError(
            f"{model.id} cannot do {name!r} enforcement; it can do {', '.join(map(repr, model.enforcements))}"
        )
    if name not in COMPILERS:
        raise ConfigError(f"{name!r} enforcement is not in this release; use 'native' or 'constrained'")
    return name, COMPILERS[name]
