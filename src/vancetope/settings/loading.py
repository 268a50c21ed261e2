"""From the environment and two files to the settings that hold."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vancetope.errors import ConfigError
from vancetope.settings.keys import CAPPED, KEYS, PREFIX, VARIABLES, Key
from vancetope.settings.kinds import Unfit
from vancetope.settings.servers import Server, said_of, servers_from
from vancetope.settings.values import TENANT, Settings, Source, Value, bundled, tenant_folder
from vancetope.settings.wrong import fitting, mapping, named, unfit, unknown
from vancetope.strict_yaml import read

FILE = "vancetope.yaml"
# Variables of ours that are no settings; the last three are for developing vancetope itself.
OTHER_VARIABLES = (
    TENANT,
    f"{PREFIX}CACHE_DIR",
    f"{PREFIX}DEBUG",
    f"{PREFIX}WITHOUT_ROW",
    f"{PREFIX}SCHEMA_SAMPLE",
    f"{PREFIX}JSON_SCHEMA_SUITE",
)
FOR_TESTS = f"{PREFIX}TEST_"


@dataclass(frozen=True, slots=True)
class Layer:
    """What one file or mapping says; `where` is the path of that file."""

    source: Source
    where: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    servers: Mapping[str, Server] = field(default_factory=dict)

    def said(self) -> dict[str, Value]:
        """Its settings, with who says them."""
        return {key: Value(value, self.source, self.where) for key, value in self.values.items()}


def project_of(folder: Path, tenant: Path | None = None) -> Path | None:
    """The nearest folder from here upwards that is a project: one with a `vancetope.yaml` that is not the tenant's."""
    upwards = (each for each in (folder, *folder.parents) if each != tenant)
    return next((each for each in upwards if (each / FILE).is_file()), None)


def load(folder: Path | None = None) -> Settings:
    """The settings that hold in `folder` (default: the current one): those of the environment, of the project around
    it, of the tenant, and what is bundled.

    Raises `ConfigError` naming the file or the variable, the key, and the key that was probably meant.
    """
    tenant = tenant_folder()
    try:
        here = (folder or Path.cwd()).resolve()
        project = project_of(here, tenant)
    except OSError as error:
        raise ConfigError(f"the current folder cannot be found: {error.strerror}") from None
    layer = Layer("project") if project is None else _file(project / FILE, "project")
    return _settings(layer, project, tenant, project or here)


def settings_from(fields: Any, where: str = "settings", project: Path | None = None) -> Settings:
    """The settings that hold where a mapping like that of the file takes the place of the project's file: environment,
    tenant and what is bundled are still around it. Raises `ConfigError` as `load` does."""
    if fields is None:
        raise ConfigError(f"{where}: the top: expected a mapping of keys")
    base = project or _current()
    return _settings(_layer(fields, "project", where, base), project, tenant_folder(), base)


def _current() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be found: {error.strerror}") from None


def _settings(project_says: Layer, project: Path | None, tenant: Path, base: Path) -> Settings:
    path = tenant / FILE
    tenant_says = _file(path, "tenant") if os.path.lexists(path) else Layer("tenant")
    environment = _environment()
    capped = [key for key in sorted(CAPPED) if _is_raised(key, project_says, tenant_says)]
    own = {key: value for key, value in project_says.said().items() if key not in capped}
    held = {**bundled(base), **tenant_says.said(), **own, **environment}
    servers = _servers(project_says, tenant_says)
    values = {key: held[key] for key in KEYS if key in held}
    for each, source in servers:
        values |= {key: Value(value, source.source, source.where) for key, value in said_of(each).items()}
    notices = (
        *(_stranger(name) for name in _strangers({each.key_variable for each, _ in servers})),
        *(
            f"{project_says.where}: {key}: a project cannot raise what {tenant_says.where} allows; the latter holds"
            for key in capped
            if key not in environment
        ),
    )
    return Settings(project, tenant, {each.name: each for each, _ in servers}, values, notices)


def _is_raised(key: str, project: Layer, tenant: Layer) -> bool:
    return key in project.values and key in tenant.values and bool(project.values[key] > tenant.values[key])


def _servers(project: Layer, tenant: Layer) -> list[tuple[Server, Layer]]:
    """The servers with who names them; one of the project takes the place of the tenant's with the same name."""
    own = [(each, project) for each in project.servers.values()]
    return own + [(each, tenant) for name, each in tenant.servers.items() if name not in project.servers]


def _file(path: Path, source: Source) -> Layer:
    fields = read(path, "the settings") if path.is_file() or not path.exists() else _no_file(path)
    return _layer({} if fields is None else fields, source, str(path), path.parent)


def _no_file(path: Path) -> Any:
    raise ConfigError(f"the settings {path} cannot be read: this is no file")


def _layer(fields: Any, source: Source, where: str, base: Path) -> Layer:
    """What a mapping says; a relative `files.root` counts from `base`."""
    top = dict(mapping(fields, where, ""))
    servers = servers_from(top.pop("servers", None), where)
    values = dict(_flat(top, where, ""))
    if "files.root" in values:
        values["files.root"] = _root(base, values["files.root"], f"{where}: files.root")
    return Layer(source, where, values, servers)


def _flat(fields: Mapping[Any, Any], where: str, prefix: str) -> Iterator[tuple[str, Any]]:
    """The settings in nested mappings, by dotted name."""
    below = {name.removeprefix(prefix).partition(".")[0]: None for name in KEYS if name.startswith(prefix)}
    for key, value in fields.items():
        if not isinstance(key, str) or key not in below:
            raise unknown(key, where, prefix, below if prefix else (*below, "servers"), KEYS)
        name = f"{prefix}{key}"
        if name not in KEYS:
            yield from _flat(mapping(value, where, name), where, f"{name}.")
        elif value is not None:
            yield name, fitting(value, KEYS[name].kind, where, name)


def _environment() -> dict[str, Value]:
    said = ((key, os.environ.get(key.variable, "")) for key in KEYS.values())
    return {key.name: Value(_spelt(key, text), "environment", key.variable) for key, text in said if text.strip()}


def _spelt(key: Key, text: str) -> Any:
    try:
        value = key.kind.of(key.kind.spelt(text))
    except Unfit as error:
        raise unfit(error, key.kind, key.variable) from None
    return _root(_current(), value, key.variable) if key.name == "files.root" else value


def _root(base: Path, said: str, place: str) -> str:
    try:
        return str((base / Path(said).expanduser()).resolve())
    except (OSError, ValueError, RuntimeError):  # a NUL, a loop of links, nobody's home
        raise ConfigError(f"{place}: there can be no such folder") from None


def _strangers(key_variables: set[str | None]) -> list[str]:
    """The variables that look like ours and are read by nothing."""
    theirs = {each for variable in key_variables if variable for each in (variable, f"{variable}_FILE")}
    known = {*VARIABLES, *OTHER_VARIABLES, *theirs}
    ours = (each for each in os.environ if each.upper().startswith(PREFIX) and not each.startswith(FOR_TESTS))
    return sorted(each for each in ours if each not in known)


def _stranger(name: str) -> str:
    near = get_close_matches(name.upper(), (*VARIABLES, *OTHER_VARIABLES[:3]), n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}?" if near else "`vancetope settings` lists those there are"
    return f"{named(name)} is set and nothing reads it; {hint}"
