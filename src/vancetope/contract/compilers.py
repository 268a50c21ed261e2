"""One contract, three compilers: how the allowed actions reach a model and come back as calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from vancetope.backends.base import ModelSettings, Request
from vancetope.contract import constrained, native, prompted
from vancetope.contract.rules import Rules
from vancetope.contract.view import View
from vancetope.errors import ConfigError
from vancetope.messages import Assistant, Reply, Result, ToolSpec, User
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName


class Compiler(Protocol):
    """A way to enforce the contract.

    Contract: `request` shows the model every message of the view and allows nothing but its actions; `reply` gives the
    calls in what came back, loses nothing of it and never judges it. `lowered` gives the conversation alone, in the
    form in which `request` shows it. `extra` estimates the tokens that `request` adds to system prompt, messages and
    tools. All are pure.
    """

    def request(self, view: View, model: ModelInfo, settings: ModelSettings, timeout: float) -> Request: ...

    def reply(self, raw: Reply, view: View, model: ModelInfo) -> Reply: ...

    def lowered(self, view: View) -> tuple[User | Assistant | Result, ...]: ...

    def extra(self, tools: Sequence[ToolSpec], rules: Rules, model: ModelInfo) -> int: ...


COMPILERS: Mapping[EnforcementName, Compiler] = {
    "native": native,
    "constrained": constrained,
    "prompted": prompted,
}


def compiler(asked: EnforcementName | None, model: ModelInfo) -> tuple[EnforcementName, Compiler]:
    """The compiler for a model: the one asked for, else the model's own first. Every model can be prompted; raises
    `ConfigError` where it cannot do what was asked."""
    name = asked or (*model.enforcements, "prompted")[0]
    if name != "prompted" and name not in model.enforcements:
        raise ConfigError(
            f"{model.id} cannot do {name!r} enforcement; "
            f"it can do {', '.join(map(repr, dict.fromkeys((*model.enforcements, 'prompted'))))}"
        )
    return name, COMPILERS[name]
