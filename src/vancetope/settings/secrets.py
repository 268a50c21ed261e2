"""Secrets: where they may come from, and how what lies near them may be shown. No value of one leaves this module but
through `key_from_environment`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from vancetope.errors import ConfigError

MOST_BYTES = 64 * 1024  # of a file that holds a secret
NO_ADDRESS = "an address that is no URL"

SecretState: TypeAlias = Literal["set", "set through FILE", "not set", "file unreadable", "file empty"]

VARIABLES: Mapping[str, str] = {
    "OPENAI_API_KEY": "OpenAI",
    "ANTHROPIC_API_KEY": "Anthropic",
    "GEMINI_API_KEY": "Gemini",
    "GOOGLE_API_KEY": "Gemini, where GEMINI_API_KEY is not set",
    "AZURE_OPENAI_API_KEY": "Azure OpenAI",
    "OPENROUTER_API_KEY": "OpenRouter",
    "OLLAMA_API_KEY": "Ollama",
    "LLAMA_API_KEY": "llama.cpp",
    "VLLM_API_KEY": "vLLM",
    "LM_API_TOKEN": "LM Studio",
    "BRAVE_API_KEY": "Brave's web search",
    "TAVILY_API_KEY": "Tavily's web search",
}
ADDRESSES = (
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
    "GEMINI_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "OPENROUTER_BASE_URL",
    "OLLAMA_BASE_URL",
    "LLAMACPP_BASE_URL",
    "VLLM_BASE_URL",
    "LMSTUDIO_BASE_URL",
)


@dataclass(frozen=True, slots=True)
class Secret:
    """A variable that a secret is read from, what for, and whether there is one."""

    variable: str
    about: str
    state: SecretState


def key_from_environment(variable: str) -> str | None:
    """A secret from the environment, or from the file that `VARIABLE_FILE` names. Raises `ConfigError` where that file
    cannot be read; neither the value nor the name of the file is part of a message."""
    if value := os.environ.get(variable):
        return value
    path = os.environ.get(f"{variable}_FILE")
    if not path:
        return None
    try:
        content = _read_once(path) if _is_a_pipe(path) else _read(path)
        if len(content) <= MOST_BYTES:
            return content.decode("utf-8").strip() or None
        problem = f"it has more than {MOST_BYTES:,} bytes"
    except OSError as error:
        problem = error.strerror or "it cannot be opened"
    except UnicodeDecodeError:
        problem = "it is not UTF-8 text"
    except ValueError:
        problem = "no file has such a name"
    # Not its name: people put the secret itself there by mistake.
    raise ConfigError(f"{variable}_FILE names a file that cannot be read: {problem}")


def _read(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(MOST_BYTES + 1)


_read_once = lru_cache(maxsize=32)(_read)  # what a pipe (`<(pass show key)`) holds is gone once it is read


def _is_a_pipe(path: str) -> bool:
    return Path(path).is_fifo()


def secrets(named: Iterable[tuple[str, str]] = ()) -> tuple[Secret, ...]:
    """Every variable that anything here reads a secret from; `named` are further ones, each with what it is for."""
    known = dict(VARIABLES)
    for variable, about in named:
        known[variable] = f"{known[variable]}, {about}" if variable in known else about
    return tuple(Secret(variable, about, _state(variable)) for variable, about in known.items())


def addresses() -> Mapping[str, str]:
    """The addresses of servers that the environment names, by variable, as they may be shown."""
    return {variable: address(said) for variable in ADDRESSES if (said := os.environ.get(variable))}


def _state(variable: str) -> SecretState:
    if os.environ.get(variable):
        return "set"
    if not os.environ.get(f"{variable}_FILE"):
        return "not set"
    try:
        return "set through FILE" if key_from_environment(variable) else "file empty"
    except ConfigError:
        return "file unreadable"


def address(url: str) -> str:
    """A URL as it may be shown: user, password and query may be secret, and any part of one that cannot be."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return NO_ADDRESS
    if parts.scheme not in {"http", "https"} or url.count("@") > (parts.username is not None):
        return NO_ADDRESS
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def shown(value: Any) -> Any:
    """A value of the settings as it may be shown: addresses in it without what may be secret."""
    if isinstance(value, str):
        return address(value) if "://" in value else value
    return [shown(each) for each in value] if isinstance(value, tuple) else value
