"""Every setting there is: one row a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from vancetope.settings.kinds import Kind, folder, hosts, number, one_of, text, url, whole, yes_or_no

PREFIX = "VANCETOPE_"
SCOPES = {
    "turn": "one turn",
    "tree": "a turn and everything that it starts",
    "project": "the project as a whole",
    "tenant": "everything of the tenant",
    "day": "everything of one day",
}
# A project may lower these and not raise them: they hold for more than the project.
CAPPED = frozenset(f"budgets.{scope}.{unit}" for scope in ("tenant", "day") for unit in ("tokens", "dollars"))


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its dotted name, what it is for, the kind of its value, and its value where nobody says one."""

    name: str
    about: str
    kind: Kind
    default: Any = None

    @property
    def variable(self) -> str:
        """The variable of the environment that says it: VANCETOPE_TURN_END for `turnEnd`."""
        return _variable(self.name)


@cache
def _variable(name: str) -> str:
    return PREFIX + re.sub(r"(?=[A-Z])", "_", name).replace(".", "_").upper()


def _budgets() -> tuple[Key, ...]:
    tokens = whole("a whole number of tokens, at least 1", 1)
    dollars = number("a number of US dollars above 0", lambda value: value > 0)
    return tuple(
        Key(f"budgets.{scope}.{unit}", f"the most {unit} that {what} may use", kind)
        for scope, what in SCOPES.items()
        for unit, kind in (("tokens", tokens), ("dollars", dollars))
    )


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key("model", "the model, where neither caller nor recipe names one", text("a text such as ollama:qwen3:4b")),
        Key("turnEnd", "how a turn may end", one_of("respond", "natural")),
        Key("enforcement", "how the contract reaches the model", one_of("native", "constrained", "prompted")),
        Key("maxIterations", "most rounds of a turn", whole("a whole number, at least 1", 1), 100),
        Key("maxValidationCorrections", "most corrections of a turn", whole("a whole number, at least 0", 0), 2),
        Key("maxAttempts", "most replies to a structured question", whole("a whole number from 1 to 10", 1, 10), 3),
        Key("validation", "whether the message of a turn is checked", yes_or_no(), True),
        Key("temperature", "of the model", number("a number, at least 0", lambda value: value >= 0)),
        Key("maxTokens", "most tokens of a reply", whole("a whole number of tokens, at least 1", 1)),
        Key("thinking", "how much a model thinks that can", one_of("off", "low", "medium", "high")),
        Key("session.defaultRecipe", "the recipe of a chat that names none", text("the name of a recipe"), "ford"),
        Key("files.root", "the folder that file tools may see", folder("a folder"), "."),
        *_budgets(),
        Key(
            "budgets.warnAt",
            "the part of a budget at which a warning comes",
            number("a number above 0, at most 1", lambda value: 0 < value <= 1),
            0.8,
        ),
        Key("search.provider", "who searches the web", one_of("searxng", "brave", "tavily")),
        Key("search.url", "where that provider is", url("an address that begins with http:// or https://")),
        Key(
            "web.allow",
            "hosts that web tools may reach though they are private",
            hosts("a list of hosts, each perhaps with a port, such as [wiki.example, 127.0.0.1:8080]"),
        ),
    )
}
VARIABLES: Mapping[str, Key] = {key.variable: key for key in KEYS.values()}
