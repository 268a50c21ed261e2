"""What is known of the servers that speak this wire format, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One kind of server.

    `base_url` is where it listens unless told otherwise, `key_variable` the environment variable its key is read from.
    `max_tokens_field` names the output limit in a request; `stream_usage`: a stream may be asked for its usage;
    `needs_key`: without a key no request is worth sending. `raw_arguments`: it takes back the arguments of a call as
    they were written; the others parse them and refuse what is no JSON object. `reads_markers`: it takes the marks of
    its chat template (`<|im_start|>`) for such wherever they stand, also in what users and tools say. `hangs_up`: it
    closes a connection that it announced to keep. `home` is the domain for which all this was written, null if any.
    `start` is how a person starts such a server.
    """

    name: str
    base_url: str | None = None
    key_variable: str | None = None
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_usage: bool = True
    needs_key: bool = False
    raw_arguments: bool = False
    reads_markers: bool = True
    hangs_up: bool = False
    home: str | None = None
    start: str = ""


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="openai",
            base_url="https://api.openai.com/v1",
            key_variable="OPENAI_API_KEY",
            max_tokens_field="max_completion_tokens",
            needs_key=True,
            raw_arguments=True,
            reads_markers=False,
            home="openai.com",
        ),
        Profile(
            name="ollama",
            base_url="http://127.0.0.1:11434/v1",
            key_variable="OLLAMA_API_KEY",
            start="ollama serve",
        ),
        Profile(
            name="llamacpp",
            base_url="http://127.0.0.1:8080/v1",
            key_variable="LLAMA_API_KEY",
            start="llama-server -m MODEL.gguf",
            hangs_up=True,
        ),
        Profile(
            name="vllm",
            base_url="http://127.0.0.1:8000/v1",
            key_variable="VLLM_API_KEY",
            start="vllm serve MODEL",
        ),
        Profile(name="local", hangs_up=True),
    )
}


def at_host(profile: Profile, host: str) -> Profile:
    """The profile for a server at this host: away from its home only what every compatible server takes is left."""
    if profile.home is None or host == profile.home or host.endswith(f".{profile.home}"):
        return profile
    return replace(profile, max_tokens_field="max_tokens", needs_key=False, raw_arguments=False, reads_markers=True)
