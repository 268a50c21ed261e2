"""Settings of a project: one file, checked, with the environment before it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project says. `root` is the folder that file tools may see."""

    project: Path | None = None
    model: str | None = None
    servers: Mapping[str, Server] = field(default_factory=dict)
    default_recipe: str = "ford"
    root: Path = field(default_factory=Path.cwd)


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
    return Settings(
        project=project,
        model=_text(fields.get("model"), where, "model"),
        servers={name: _server(name, each, where) for name, each in servers.items()},
        default_recipe=_text(session.get("defaultRecipe"), where, "session.defaultRecipe") or "ford",
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
