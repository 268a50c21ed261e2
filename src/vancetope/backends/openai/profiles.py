"""What is known of the servers that speak this wire format, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from vancetope.backends.openai.efforts import ANY, AZURE, LLAMACPP, OPENAI, OPENROUTER, VLLM, Efforts
from vancetope.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One kind of server.

    `base_url` is where it listens unless told otherwise, by `url_variable` of the environment for one; `path` is where
    its API is on a host that is named alone, and `by_model` the path below which every model has one of its own.
    `key_variable` is the environment variable of its key, `key_header` the header that the key goes into (a bearer's
    token in `authorization`, else as it is); `needs_key`: without a key no request is worth sending. `lists_models`:
    the list that it gives is of models that can be asked.

    `max_tokens_field` names the output limit in a request; `stream_usage`: a stream may be asked for its usage;
    `efforts` is how a model there is told how hard to think. `raw_arguments`: it takes back the arguments of a call as
    they were written; the others parse them and refuse what is no JSON object. `reads_markers`: it takes the marks of
    its chat template (`<|im_start|>`) for such wherever they stand, also in what users and tools say. `states_cost`: it
    says what a reply cost, in US dollars. `hangs_up`: it closes a connection that it announced to keep.

    `home` is the domain for which all this was written, null if any. `start` is how a person starts such a server.
    """

    name: str
    base_url: str | None = None
    url_variable: str | None = None
    path: str = ""
    by_model: str = ""
    key_variable: str | None = None
    key_header: Literal["authorization", "api-key"] = "authorization"
    needs_key: bool = False
    lists_models: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_usage: bool = True
    efforts: Efforts = field(default=ANY, hash=False)
    raw_arguments: bool = False
    reads_markers: bool = True
    states_cost: bool = False
    hangs_up: bool = False
    home: str | None = None
    start: str = ""


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="openai",
            base_url="https://api.openai.com/v1",
            url_variable="OPENAI_BASE_URL",
            key_variable="OPENAI_API_KEY",
            needs_key=True,
            max_tokens_field="max_completion_tokens",
            efforts=OPENAI,
            raw_arguments=True,
            reads_markers=False,
            home="openai.com",
        ),
        Profile(
            name="azure",
            url_variable="AZURE_OPENAI_ENDPOINT",
            path="/openai/v1",
            by_model="/openai",
            key_variable="AZURE_OPENAI_API_KEY",
            key_header="api-key",
            needs_key=True,
            lists_models=False,  # it lists what could be deployed, not what is
            max_tokens_field="max_completion_tokens",
            efforts=AZURE,
            raw_arguments=True,
            reads_markers=False,
        ),
        Profile(
            name="openrouter",
            base_url="https://openrouter.ai/api/v1",
            url_variable="OPENROUTER_BASE_URL",
            key_variable="OPENROUTER_API_KEY",
            needs_key=True,
            efforts=OPENROUTER,
            states_cost=True,
        ),
        Profile(
            name="ollama",
            base_url="http://127.0.0.1:11434/v1",
            url_variable="OLLAMA_BASE_URL",
            key_variable="OLLAMA_API_KEY",
            start="ollama serve",
        ),
        Profile(
            name="lmstudio",
            base_url="http://127.0.0.1:1234/v1",
            url_variable="LMSTUDIO_BASE_URL",
            key_variable="LM_API_TOKEN",
            start="lms server start",
        ),
        Profile(
            name="llamacpp",
            base_url="http://127.0.0.1:8080/v1",
            url_variable="LLAMACPP_BASE_URL",
            key_variable="LLAMA_API_KEY",
            efforts=LLAMACPP,
            hangs_up=True,
            start="llama-server -m MODEL.gguf",
        ),
        Profile(
            name="vllm",
            base_url="http://127.0.0.1:8000/v1",
            url_variable="VLLM_BASE_URL",
            key_variable="VLLM_API_KEY",
            efforts=VLLM,
            start="vllm serve MODEL",
        ),
        Profile(name="local", efforts=(), hangs_up=True),
    )
}
"""The profiles by name. Where the facts come from:

- `azure`: Microsoft's pages on the v1 API and its life cycle. A base URL with an `api-version`, but without `/v1`, is
  the older API, in which the path names the deployment.
- `openrouter`: its pages "Usage accounting", "Reasoning tokens" and "Errors".
- `lmstudio`: its page "Authentication" names the variable of the token.
- The others: the documents and sources of the servers themselves.
"""


def at_host(profile: Profile, host: str) -> Profile:
    """The profile for a server at this host: away from its home only what every compatible server takes is left."""
    if profile.home is None or host == profile.home or host.endswith(f".{profile.home}"):
        return profile
    return replace(
        profile,
        max_tokens_field="max_tokens",
        needs_key=False,
        efforts=ANY,
        raw_arguments=False,
        reads_markers=True,
    )


def base_url_of(profile: Profile, url: str, api_version: str | None = None) -> str:
    """The base URL behind what a person calls the server's URL, with `api_version` in its query: an endpoint without a
    path gets the profile's. What is no URL comes back as it is."""
    url = url.strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    path, query = parts.path.rstrip("/").removesuffix("/chat/completions"), parts.query
    version = dict(parse_qsl(query)).get("api-version", "")
    if api_version and not version:
        query = "&".join(filter(None, (query, f"api-version={quote(api_version, safe='')}")))
        version = api_version
    if profile.path and parts.netloc and path in ("", profile.by_model):
        dated = version[:1].isdigit()  # the later API has `preview` and the like for its version, if any
        path = profile.by_model if dated else profile.path
    return urlunsplit((parts.scheme, parts.netloc, path, query, parts.fragment))


def chat_path(profile: Profile, prefix: str, model: str) -> str:
    """The path of a chat completion below the base URL whose part before the query is `prefix`."""
    if profile.by_model and prefix.endswith(profile.by_model):
        return f"/deployments/{quote(model, safe='')}/chat/completions"
    return "/chat/completions"


def checked_key(given: str | None, profile: Profile) -> str:
    """The key without blanks around it, empty where there is none. Raises `ConfigError` for one that is missing, and
    for one that no request can carry."""
    key = (given or "").strip()
    if profile.needs_key and not key:
        raise ConfigError(f"{profile.name} needs a key: set {profile.key_variable}")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key in {profile.key_variable or 'the settings'} holds characters that no key has")
    return key
