"""Servers that the settings name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vancetope.errors import ConfigError
from vancetope.settings.kinds import Kind, Unfit, one_of, text, url, whole
from vancetope.settings.wrong import fitting, mapping, named, unknown

KINDS = ("openai", "azure", "openrouter", "ollama", "lmstudio", "llamacpp", "vllm")
# Names that mean something else where a model is named.
TAKEN = ("local", "scripted", "anthropic", "gemini", "default")


@dataclass(frozen=True, slots=True)
class Server:
    """An OpenAI-compatible server named in the settings. `key_variable` names the environment variable of its key,
    `api_version` is what Azure wants to be told."""

    name: str
    kind: str
    model: str | None = None
    url: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    enforcement: str | None = None
    context_window: int | None = None
    api_version: str | None = None


def _variable(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,99}", value):
        raise Unfit
    return value


# The keys of a server in a file: the field each one fills, and its kind.
FIELDS: Mapping[str, tuple[str, Kind]] = {
    "kind": ("kind", one_of(*KINDS)),
    "url": ("url", url("an address that begins with http:// or https://")),
    "model": ("model", text("the name of a model")),
    "keyVariable": (
        "key_variable",
        Kind("the name of an environment variable in capitals, such as LAB_KEY, never the key itself", _variable),
    ),
    "enforcement": ("enforcement", one_of("native", "constrained", "prompted")),
    "contextWindow": ("context_window", whole("a whole number of tokens, at least 1", 1)),
    "apiVersion": ("api_version", text("a text such as 2026-01-01")),
}


def servers_from(said: Any, where: str) -> dict[str, Server]:
    """The servers in a mapping of names to mappings. Raises `ConfigError` naming the server and the key."""
    return {name: _server(name, each, where) for name, each in mapping(said, where, "servers").items()}


def said_of(server: Server) -> dict[str, Any]:
    """What a server's entry says, by the dotted keys of the settings."""
    said = {f"servers.{server.name}.{key}": getattr(server, name) for key, (name, _) in FIELDS.items()}
    return {key: value for key, value in said.items() if value is not None}


def _server(name: Any, said: Any, where: str) -> Server:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ConfigError(f"{where}: servers: {named(name)} is no name; a server needs a text as its name")
    prefix = f"servers.{named(name)}."
    fields = mapping(said, where, prefix.rstrip("."))
    for key in fields:
        if key not in FIELDS:
            raise unknown(key, where, prefix, FIELDS)
    found = {
        field: fitting(value, kind, where, prefix + key)
        for key, (field, kind) in FIELDS.items()
        if (value := fields.get(key)) is not None or key == "kind"
    }
    if ":" in name or name in (*KINDS, *TAKEN):
        raise ConfigError(f"{where}: servers.{named(name)}: a server needs a name of its own, without a colon")
    if found.get("api_version") and found["kind"] != "azure":
        raise ConfigError(f"{where}: {prefix}apiVersion: only a server of kind azure has one; remove it")
    return Server(name=name, **found)
