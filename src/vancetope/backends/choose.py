"""Which model a turn uses, why, and how it is reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from vancetope.backends.base import Backend
from vancetope.errors import ConfigError
from vancetope.models.base import ModelInfo
from vancetope.models.catalogue import lookup
from vancetope.outcome import EnforcementName
from vancetope.settings import KINDS, Server, Settings, key_from_environment

DEFAULT_OPENAI = "gpt-5-mini"
DEFAULT_LOCAL = "smollm2-135m"
LATER = ("anthropic", "gemini", "claude-cli", "codex-cli", "gemini-cli", "opencode-cli", "grok-cli")

Reason: TypeAlias = Literal["argument", "recipe", "environment", "settings", "key", "server", "local"]
_REASONS: dict[Reason, str] = {
    "argument": "as you asked",
    "recipe": "named by the recipe",
    "environment": "named by VANCETOPE_MODEL",
    "settings": "named in the settings",
    "key": "because OPENAI_API_KEY is set; its use is paid, --model local: stays on this machine",
    "server": "the server named in the settings",
    "local": "no key and no server found; it runs on this machine, free",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen model: what is known of it, why it was chosen, and where it is. `key_variable` names where its key comes
    from, `path` is the file of a local model or the script of a scripted one."""

    info: ModelInfo
    reason: Reason
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    kind: str = ""
    path: str = ""
    fallbacks: tuple[Choice, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def paid_by_surprise(self) -> bool:
        """Whether this model costs money and was chosen only because a key was found."""
        return self.reason == "key"

    def __str__(self) -> str:
        at = f" at {_address(self.url)}" if self.url and self.reason != "key" else ""
        return f"{self.info.id}{at} ({_REASONS[self.reason]})"

    def __repr__(self) -> str:
        return f"<Choice {self}>"


def _address(url: str) -> str:
    """A base URL as it may be shown: user, password and query may be secret, and any part of one that cannot be."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "an address that is no URL"
    if parts.scheme not in {"http", "https"} or url.count("@") > (parts.username is not None):
        return "an address that is no URL"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def choose(
    argument: str | None, recipe: str | None, settings: Settings, *, agreed: Collection[str] | None = None
) -> Choice:
    """The model by order of precedence: argument, recipe, VANCETOPE_MODEL, settings; without any of these the first of
    an OpenAI key, a server in the settings, the local model. Raises `ConfigError` for a name that cannot be."""
    named: tuple[tuple[Reason, str | None], ...] = (
        ("argument", argument),
        ("recipe", recipe),
        ("environment", os.environ.get("VANCETOPE_MODEL")),
        ("settings", settings.model),
    )
    for reason, name in named:
        if name:
            return parse(name, reason, settings)
    if key_from_environment("OPENAI_API_KEY"):
        return parse(f"openai:{DEFAULT_OPENAI}", "key", settings)
    if settings.servers:
        return parse(f"{next(iter(settings.servers))}:", "server", settings)
    return parse("local:", "local", settings)


def parse(name: str, reason: Reason, settings: Settings) -> Choice:
    """The choice behind `provider:name`, `local:/file.gguf`, `scripted:script` or a server's name in the settings."""
    provider, colon, model = name.partition(":")
    if not colon and provider not in settings.servers:
        raise ConfigError(f"model {name!r}: write provider:name, for example openai:{DEFAULT_OPENAI} or local:")
    if provider in settings.servers:
        return _at_server(settings.servers[provider], model, reason)
    if provider == "local":
        return _local(model or DEFAULT_LOCAL, reason)
    if provider == "scripted":
        return Choice(lookup("scripted", model or "hello"), reason, kind="scripted", path=model or "hello")
    if provider in KINDS:
        return _at_server(Server(provider, provider, model or None), "", reason)
    known = (*KINDS, "local", "scripted", *settings.servers)
    later = " (it comes with a later release)" if provider in LATER else ""
    raise ConfigError(f"model {name!r}: there is no provider {provider!r}{later}; there are {', '.join(known)}")


def _local(model: str, reason: Reason) -> Choice:
    is_file = model.endswith(".gguf") or os.sep in model
    name = Path(model).stem.lower() if is_file else model
    return Choice(lookup("local", name), reason, kind="local", path=model)


def _at_server(server: Server, model: str, reason: Reason) -> Choice:
    from vancetope.backends.openai.profiles import PROFILES

    profile = PROFILES[server.kind]
    wanted = model or server.model or (DEFAULT_OPENAI if server.kind == "openai" else None)
    if wanted is None:
        raise ConfigError(f"{server.name}: say which of its models, for example {server.name}:qwen3:4b")
    info = replace(lookup(server.kind, wanted), provider=server.name)
    if server.enforcement:
        first = cast(EnforcementName, server.enforcement)
        info = replace(info, enforcements=(first, *(each for each in info.enforcements if each != first)))
    if server.context_window:
        info = replace(info, context_window=server.context_window)
    url = server.url or os.environ.get(f"{server.kind.upper()}_BASE_URL") or profile.base_url
    variable = server.key_variable or profile.key_variable
    key = key_from_environment(variable) if variable else None
    if profile.needs_key and not key and url == profile.base_url:
        raise ConfigError(f"{info.id} needs a key: set {variable}, or use --model local:")
    return Choice(info, reason, url=url, key=key, key_variable=variable, kind=server.kind)


def connect(choice: Choice, wire: Callable[[str, Any], None] | None = None) -> Backend:
    """The backend that reaches a chosen model; nothing is sent and nothing started before its first request.

    One server has one backend in a process, because connections and the limit of requests at a time are shared; a
    backend whose `wire` somebody reads is theirs alone. The local model's child is shared by its launcher.
    """
    if choice.kind == "scripted":
        from vancetope.backends.scripted import load as load_script

        return load_script(choice.path)
    if choice.kind == "local":
        from vancetope.backends.local.backend import LocalBackend

        return LocalBackend(choice.path, context=choice.info.context_window, wire=wire)
    if wire is None:
        return _shared(choice.kind, choice.url, choice.key, choice.key_variable)
    return _client(choice.kind, choice.url, choice.key, choice.key_variable, wire)


@lru_cache(maxsize=32)
def _shared(kind: str, url: str | None, key: str | None, key_variable: str | None) -> Backend:
    return _client(kind, url, key, key_variable, None)


def _client(
    kind: str, url: str | None, key: str | None, key_variable: str | None, wire: Callable[[str, Any], None] | None
) -> Backend:
    from vancetope.backends.openai import PROFILES, OpenAICompatible

    return OpenAICompatible(url, key, profile=replace(PROFILES[kind], key_variable=key_variable), wire=wire)
