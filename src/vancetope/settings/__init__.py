"""Settings of a project: one file, checked, with the environment before it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

import platformdirs

from vancetope.errors import ConfigError
from vancetope.strict_yaml import read

PROJECT_FILE = "vancetope.yaml"
PROJECT_FOLDER = ".vancetope"

KINDS = ("ollama", "llamacpp", "vllm", "openai")


@dataclass(frozen=True, slots=True)
class Server:
    """An OpenAI-compatible server named in the settings. `key_variable` names the environment variable of its key."""

    name: str
    kind: str
    model: str | None = None
    url: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    enforcement: str | None = None
    context_window: int | None = None


Source: TypeAlias = Literal["environment", "project", "tenant", "bundled"]

DEFAULTS: Mapping[str, Any] = {
    "maxIterations": 100,
    "maxValidationCorrections": 2,
    "maxAttempts": 3,
    "validation": True,
    "session.defaultRecipe": "ford",
    "budgets.warnAt": 0.8,
}


@dataclass(frozen=True, slots=True)
class Value:
    """What holds for one key, and who said it: `where` is the name of a variable or the path of a file."""

    value: Any
    source: Source
    where: str = ""


def bundled() -> dict[str, Value]:
    """What holds where nobody says anything."""
    return {key: Value(value, "bundled") for key, value in DEFAULTS.items()}


def tenant_folder() -> Path:
    """The folder of the tenant: the one that VANCETOPE_TENANT names, else the user's configuration folder."""
    return Path(os.environ.get("VANCETOPE_TENANT") or platformdirs.user_config_dir("vancetope")).absolute()


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds in a project. `root` is the folder that file tools may see, `tenant` a folder that may not exist,
    `values` has every key that somebody says something about, with who it was."""

    project: Path | None = None
    tenant: Path = field(default_factory=tenant_folder)
    servers: Mapping[str, Server] = field(default_factory=dict)
    root: Path = field(default_factory=Path.cwd)
    values: Mapping[str, Value] = field(default_factory=bundled)

    def get(self, key: str) -> Any:
        """What holds for a dotted key such as `budgets.day.dollars`; null where nobody says anything."""
        said = self.values.get(key)
        return None if said is None else said.value

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
    def folders(self) -> tuple[Path, ...]:
        """Where recipes and catalogues of one's own may lie, the first one wins: the project's, the tenant's."""
        return (self.tenant,) if self.project is None else (self.project / PROJECT_FOLDER, self.tenant)


def project_of(folder: Path) -> Path | None:
    """The nearest folder from here upwards that is a project: one with a `vancetope.yaml`."""
    return next((each for each in (folder, *folder.parents) if (each / PROJECT_FILE).is_file()), None)


def load(folder: Path | None = None) -> Settings:
    """The settings of the project around `folder` (default: the current one); the defaults where there is none.

    Raises `ConfigError` naming the file, the key, and the key that was probably meant.
    """
    try:
        here = (folder or Path.cwd()).resolve()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be found: {error.strerror}") from None
    project = project_of(here)
    if project is None:
        return Settings(root=here)
    path = project / PROJECT_FILE
    fields = read(path, "the settings")
    return settings_from({} if fields is None else fields, str(path), project)


def settings_from(fields: Any, where: str = "settings", project: Path | None = None) -> Settings:
    """Settings out of a mapping like that of the file: `model`, `servers`, `session.defaultRecipe`, `files.root`."""
    _keys(fields, where, "", ("model", "servers", "session", "files"))
    session, files, servers = (
        {} if fields.get(key) is None else fields[key] for key in ("session", "files", "servers")
    )
    _keys(session, where, "session.", ("defaultRecipe",))
    _keys(files, where, "files.", ("root",))
    if not isinstance(servers, Mapping):
        raise ConfigError(f"{where}: servers: expected a mapping of names to servers")
    said = {
        "model": _text(fields.get("model"), where, "model"),
        "session.defaultRecipe": _text(session.get("defaultRecipe"), where, "session.defaultRecipe"),
    }
    return Settings(
        project=project,
        servers={name: _server(name, each, where) for name, each in servers.items()},
        values=bundled() | {key: Value(value, "project", where) for key, value in said.items() if value},
        root=_root(project, _text(files.get("root"), where, "files.root") or ".", where),
    )


def _root(project: Path | None, said: str, where: str) -> Path:
    try:
        return ((project or Path.cwd()) / said).resolve()
    except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links, a current folder that is gone
        raise ConfigError(f"{where}: files.root: there can be no folder {said!r}") from None


def key_from_environment(variable: str) -> str | None:
    """A secret from the environment, or from the file that `VARIABLE_FILE` names. Raises `ConfigError` where that file
    cannot be read; the value is never part of a message."""
    if value := os.environ.get(variable):
        return value
    path = os.environ.get(f"{variable}_FILE")
    if not path:
        return None
    try:
        return Path(path).read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{variable}_FILE names a file that cannot be read: {path}") from None


def _server(name: Any, fields: Any, where: str) -> Server:
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"{where}: servers: {name!r} is no name; a server needs a text as its name")
    prefix = f"servers.{name}."
    _keys(fields, where, prefix, ("kind", "url", "model", "keyVariable", "enforcement", "contextWindow"))
    kind = _text(fields.get("kind"), where, prefix + "kind")
    if kind not in KINDS:
        raise ConfigError(f"{where}: {prefix}kind: expected one of {', '.join(KINDS)}")
    if ":" in name or name in (*KINDS, "local", "scripted"):
        raise ConfigError(f"{where}: servers.{name}: a server needs a name of its own, without a colon")
    enforcement = _text(fields.get("enforcement"), where, prefix + "enforcement")
    if enforcement not in (None, "native", "constrained", "prompted"):
        raise ConfigError(f"{where}: {prefix}enforcement: expected native, constrained or prompted")
    window = fields.get("contextWindow")
    if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
        raise ConfigError(f"{where}: {prefix}contextWindow: expected a number of tokens")
    return Server(
        name=name,
        kind=kind,
        model=_text(fields.get("model"), where, prefix + "model"),
        url=_text(fields.get("url"), where, prefix + "url"),
        key_variable=_text(fields.get("keyVariable"), where, prefix + "keyVariable"),
        enforcement=enforcement,
        context_window=window,
    )


def _keys(fields: Any, where: str, prefix: str, known: tuple[str, ...]) -> None:
    if not isinstance(fields, Mapping):
        raise ConfigError(f"{where}: {prefix.rstrip('.') or 'the top'}: expected a mapping of keys")
    for key in fields:
        if key not in known:
            near = get_close_matches(str(key), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
            raise ConfigError(f"{where}: {prefix}{key}: unknown key; {hint}")


def _text(value: Any, where: str, key: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ConfigError(f"{where}: {key}: expected a text")
