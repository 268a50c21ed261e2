"""The settings as values: what holds, and who said it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import platformdirs

from vancetope.errors import ConfigError
from vancetope.settings.keys import KEYS
from vancetope.settings.secrets import Secret, secrets, shown
from vancetope.settings.servers import Server

PROJECT_FOLDER = ".vancetope"
TENANT = "VANCETOPE_TENANT"

Source: TypeAlias = Literal["environment", "project", "tenant", "bundled"]


@dataclass(frozen=True, slots=True, repr=False)
class Value:
    """What holds for one key, and who said it: `where` is the name of a variable or the path of a file."""

    value: Any
    source: Source
    where: str = ""

    @property
    def shown(self) -> Any:
        """The value as it may be shown: of an address not what may be secret."""
        return shown(self.value)

    def __repr__(self) -> str:
        return f"Value({self.shown!r}, {self.source!r}, {self.where!r})"


def bundled(root: Path | None = None) -> dict[str, Value]:
    """What holds where nobody says anything; file tools see `root`, by default the current folder."""
    held = {key.name: Value(key.default, "bundled") for key in KEYS.values() if key.default is not None}
    return held | {"files.root": Value(str(root or Path.cwd()), "bundled")}


def tenant_folder() -> Path:
    """The folder of the tenant: the one that VANCETOPE_TENANT names, else the user's configuration folder, which need
    not exist. Raises `ConfigError` where the variable names no folder."""
    named = os.environ.get(TENANT)
    if not named:
        # Unlike Path.resolve it takes a loop of links for what it is; a project is told from a tenant by its real path.
        return Path(os.path.realpath(platformdirs.user_config_dir("vancetope")))
    try:
        folder = Path(named).expanduser().resolve()
        if folder.is_dir():
            return folder
    except (OSError, ValueError, RuntimeError):
        pass
    raise ConfigError(f"{TENANT} names a folder that is not there: {shown(named)}")


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds in a project.

    `project` and `tenant` are folders, the tenant's may not exist. `values` has every key that somebody says something
    about, and who it was. `notices` are sentences about what was not done as it was probably meant; a person should see
    them once.
    """

    project: Path | None = None
    tenant: Path = field(default_factory=tenant_folder)
    servers: Mapping[str, Server] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=bundled)
    notices: tuple[str, ...] = ()

    def get(self, key: str) -> Any:
        """What holds for a dotted key such as `budgets.day.dollars`; null where nobody says anything. Raises `KeyError`
        for a key that there is not."""
        if said := self.values.get(key):
            return said.value
        return None if key.startswith("servers.") else KEYS[key].default

    @property
    def model(self) -> str | None:
        """The model that a turn uses where neither its caller nor its recipe names one."""
        model: str | None = self.get("model")
        return model

    @property
    def default_recipe(self) -> str:
        """The recipe of a chat that names none."""
        recipe: str = self.get("session.defaultRecipe")
        return recipe

    @property
    def root(self) -> Path:
        """The folder that file tools may see."""
        return Path(self.get("files.root"))

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where recipes and catalogues of one's own may lie, the first one wins: the project's, the tenant's."""
        return (self.tenant,) if self.project is None else (self.project / PROJECT_FOLDER, self.tenant)

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Every variable that anything here reads a secret from, and whether there is one."""
        named = ((each.key_variable, f"the server {each.name}") for each in self.servers.values() if each.key_variable)
        return secrets(named)
