"""Which model a turn uses, why, which ones stand in for it, and how it is reached."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from vancetope.backends.base import Backend
from vancetope.errors import ConfigError, MissingExtra
from vancetope.models.aliases import LATER, Route, usable
from vancetope.models.base import HOSTED, PROVIDERS, ModelInfo
from vancetope.models.catalogue import Catalogue, catalogue
from vancetope.outcome import EnforcementName
from vancetope.settings import KINDS, Server, Settings, address, key_from_environment

DEFAULT_OPENAI = "gpt-5-mini"
LAST = "local:"  # where our aliases come down to
DEFAULT_LOCAL = "smollm2-135m"
# The model of a hosted provider that is named alone, in the order in which their keys are looked for.
DEFAULTS: Mapping[str, str] = {
    "openai": DEFAULT_OPENAI,
    "anthropic": "claude-haiku-5-5",
    "gemini": "gemini-3.8-flash",
}
# Reached through optional libraries: where the server is, and where its key comes from, by environment variables.
DIRECT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",)),
    "gemini": ("GEMINI_BASE_URL", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
FOUND_KEYS = ("OPENAI_API_KEY", *(each for _, variables in DIRECT.values() for each in variables))
STAYS = "--model local: stays on this machine"
OR_LOCAL = ", or use --model local:"

Reason: TypeAlias = Literal["argument", "recipe", "environment", "settings", "key", "server", "local"]
_REASONS: dict[Reason, str] = {
    "argument": "as you asked",
    "recipe": "named by the recipe",
    "environment": "named by VANCETOPE_MODEL",
    "settings": "named in the settings",
    "key": "",
    "server": "the server named in the settings",
    "local": "no key and no server found; it runs on this machine, free",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen model: what is known of it, why it was chosen, and where it is.

    `key_variable` names where its key comes from, `path` is the file of a local model or the script of a scripted one.
    `alias` is the name that it was asked for by, if that stands for several; `fallbacks` are the others of them that
    can be used here and are of its tier. `is_picked`: nobody named this model, a key that was found or the bundled list
    led to it. `hints` are sentences about what was passed over.
    """

    info: ModelInfo
    reason: Reason
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    kind: str = ""
    path: str = ""
    alias: str = ""
    is_picked: bool = False
    fallbacks: tuple[Choice, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def paid_by_surprise(self) -> bool:
        """Whether this model costs money and was chosen only because a key was found."""
        return self.is_picked and self.key is not None and self.kind in HOSTED

    @property
    def why(self) -> str:
        """Why this model, and whether that costs money."""
        parts = [_REASONS[self.reason]]
        if self.reason == "local" and self.hints:
            parts = ["no key that can be used and no server found; it runs on this machine, free"]
        if self.alias:
            parts.insert(0, f"for {self.alias}")
        if self.paid_by_surprise:
            parts.append(f"because {_found_in(self.key_variable or '')} is set; its use is paid, {STAYS}")
        return ", ".join(filter(None, parts))

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of this choice: what was passed over, and which models the catalogue does not
        know."""
        unknown = (each.info for each in (self, *self.fallbacks) if not each.info.known)
        return (*self.hints, *map(_assumed, unknown))

    def __str__(self) -> str:
        at = f" at {address(self.url)}" if self.url and not self.paid_by_surprise else ""
        return f"{self.info.id}{at} ({self.why})"

    def __repr__(self) -> str:
        return f"<Choice {self}>"


def _assumed(info: ModelInfo) -> str:
    window = "no end of its context window" if info.context_window is None else f"{info.context_window:,} tokens"
    sight = "images" if info.vision else "no images"
    price = "price unknown" if info.price is None else "free"
    return (
        f"the catalogue does not know {info.id}; assumed: {window}, {sight}, {info.enforcements[0]} enforcement, "
        f"{price}; an ai-models.yaml of yours can say more"
    )


def _found_in(variable: str) -> str:
    """The variable that a key was really found in: itself, or the one that names a file."""
    return variable if os.environ.get(variable) else f"{variable}_FILE"


def choose(
    argument: str | None, recipe: str | None, settings: Settings, *, agreed: Collection[str] | None = None
) -> Choice:
    """The model by order of precedence: argument, recipe, VANCETOPE_MODEL, settings; each may be the name of a model or
    an alias. Without any of these the first of an OpenAI, Anthropic or Gemini key, a server in the settings, the local
    model.

    `agreed` are the variables of those keys that may pay for a model that nobody named; null: all of them. Raises
    `ConfigError` for a name that cannot be, and for an alias of which nothing can be used here.
    """
    known = catalogue(settings.folders)
    aliases = usable(known.aliases, settings.servers)
    for reason, name in _named(argument, recipe, settings):
        if name in aliases:
            return _behind(name, reason, settings, known, agreed)
        if name:
            return parse(name, reason, settings, known)
    return _unnamed(settings, known, agreed)


def _named(argument: str | None, recipe: str | None, settings: Settings) -> Iterator[tuple[Reason, str | None]]:
    yield "argument", argument
    yield "recipe", recipe
    said = settings.values.get("model")
    yield "environment" if said and said.source == "environment" else "settings", settings.model


def _unnamed(settings: Settings, known: Catalogue, agreed: Collection[str] | None) -> Choice:
    hints: list[str] = []
    for provider in DEFAULTS:
        if (found := _key(provider)) and (agreed is None or found[0] in agreed):
            try:
                choice = parse(f"{provider}:", "key", settings, known)
            except MissingExtra as missing:
                hints.append(f"{_found_in(found[0])} is set, but {missing}")
            else:
                return replace(choice, is_picked=True, hints=tuple(hints))
        elif found:
            hints.append(f"{_found_in(found[0])} is set, but you said no to it here")
    if named := _first_server(settings):
        return replace(parse(f"{named}:", "server", settings, known), hints=tuple(hints))
    return replace(parse("local:", "local", settings, known), hints=tuple(hints))


def _key(provider: str) -> tuple[str, str] | None:
    """The variable of a provider's key that is set, and the key."""
    variables = DIRECT[provider][1] if provider in DIRECT else ("OPENAI_API_KEY",)
    return next(((each, key) for each in variables if (key := key_from_environment(each))), None)


def _behind(name: str, reason: Reason, settings: Settings, known: Catalogue, agreed: Collection[str] | None) -> Choice:
    """The first model behind an alias that can be used here, those after it as its fallbacks."""
    found: dict[str, Choice] = {}
    problems = []
    for _, each in considered(name, reason, settings, known):
        if isinstance(each, str):
            problems.append(each)
        elif agreed is None or not each.paid_by_surprise or each.key_variable in agreed:
            found.setdefault(each.info.id, each)
        else:
            problems.append(f"{each.info.id} would be paid by the key in {each.key_variable}, which nobody agreed to")
    if not found:
        raise ConfigError(f"none of the models of {name} can be used here: {'; '.join(problems)}")
    first, *others = found.values()
    return replace(first, fallbacks=tuple(each for each in others if each.info.tier == first.info.tier))


def considered(
    alias: str, reason: Reason, settings: Settings, known: Catalogue
) -> Iterator[tuple[Route, Choice | str]]:
    """Every model behind an alias in its order: the choice that it would be, or why it cannot be used here."""
    for route in _routes(alias, settings, known):
        try:
            choice = parse(route.model, reason, settings, known)
            if choice.kind == "local" and importlib.util.find_spec("xllamacpp") is None:
                raise MissingExtra("local", "the local model")
        except ConfigError as error:
            yield route, str(error).removesuffix(OR_LOCAL)
        else:
            is_picked = any(known.aliases[each].is_bundled for each in route.through)
            yield route, replace(choice, alias=alias, is_picked=is_picked)


def _routes(alias: str, settings: Settings, known: Catalogue) -> Iterator[Route]:
    """The models behind an alias. Where one of ours comes down to the local model, what the settings name goes first:
    who runs a model of their own means it."""
    for route in known.routes(alias, settings.servers):
        if route.model == LAST and all(known.aliases[each].is_bundled for each in route.through):
            yield from map(Route, _own(alias, settings, known))
        yield route


def _own(alias: str, settings: Settings, known: Catalogue) -> Iterator[str]:
    if (named := settings.model) and named != alias:
        meant = known.aliases.get(named)
        if meant is None or not meant.is_bundled:
            yield from (each.model for each in known.routes(named, settings.servers) if each.model != LAST)
    if server := _first_server(settings):
        yield f"{server}:"


def _first_server(settings: Settings) -> str | None:
    """The first server of the settings that says which of its models it means."""
    return next((each.name for each in settings.servers.values() if each.model), None)


def parse(name: str, reason: Reason, settings: Settings, known: Catalogue | None = None) -> Choice:
    """The choice behind `provider:name`, `local:/file.gguf`, `scripted:script` or a server's name in the settings; no
    alias. Raises `ConfigError` for a name that cannot be, a key that is missing and a library that is not installed."""
    known = known or catalogue(settings.folders)
    provider, colon, model = name.partition(":")
    if provider in settings.servers:
        return _at_server(settings.servers[provider], model, reason, known)
    if not colon:
        near = get_close_matches(name, known.aliases, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else f"an alias is one of {', '.join(known.aliases)}"
        raise ConfigError(f"model {name!r}: write provider:name, for example openai:{DEFAULT_OPENAI} or local:; {hint}")
    if provider == "local":
        return _local(model or DEFAULT_LOCAL, reason, known)
    if provider == "scripted":
        return Choice(known.lookup("scripted", model or "hello"), reason, kind="scripted", path=model or "hello")
    if provider in DIRECT:
        return _direct(provider, model or DEFAULTS[provider], reason, known)
    if provider in KINDS:
        return _at_server(Server(provider, provider, model or None), "", reason, known)
    there = (*PROVIDERS, *settings.servers)
    later = " (it comes with a later release)" if provider in LATER else ""
    raise ConfigError(f"model {name!r}: there is no provider {provider!r}{later}; there are {', '.join(there)}")


def _local(model: str, reason: Reason, known: Catalogue) -> Choice:
    is_file = model.endswith(".gguf") or os.sep in model
    name = Path(model).stem.lower() if is_file else model
    return Choice(known.lookup("local", name), reason, kind="local", path=model)


def _direct(provider: str, model: str, reason: Reason, known: Catalogue) -> Choice:
    from vancetope.backends.direct.extras import missing_extra

    info = known.lookup(provider, model)
    url_variable, variables = DIRECT[provider]
    found = _key(provider)
    if found is None:
        raise ConfigError(f"{info.id} needs a key: set {variables[0]}{OR_LOCAL}")
    if missing := missing_extra(cast(Literal["anthropic", "gemini"], provider)):
        raise missing
    url = os.environ.get(url_variable) or None
    return Choice(info, reason, url=url, key=found[1], key_variable=found[0], kind=provider)


def _at_server(server: Server, model: str, reason: Reason, known: Catalogue) -> Choice:
    from vancetope.backends.openai.profiles import PROFILES, base_url_of

    profile = PROFILES[server.kind]
    wanted = model or server.model or DEFAULTS.get(server.kind)
    if wanted is None:
        raise ConfigError(f"{server.name}: say which of its models, for example {server.name}:{_EXAMPLES[server.kind]}")
    info = known.lookup(server.kind, wanted, server.name if server.name != server.kind else None)
    if server.enforcement:
        first = cast(EnforcementName, server.enforcement)
        info = replace(info, enforcements=(first, *(each for each in info.enforcements if each != first)))
    if server.context_window:
        info = replace(info, context_window=server.context_window)
    url = server.url or os.environ.get(profile.url_variable or "") or profile.base_url
    if url is None:
        where = f"servers.{server.name}.url in the settings" if server.name != server.kind else profile.url_variable
        raise ConfigError(f"{info.id} needs an address: set {where}")
    variable = server.key_variable or profile.key_variable
    key = key_from_environment(variable) if variable else None
    if profile.needs_key and not key and url == (profile.base_url or url):
        raise ConfigError(f"{info.id} needs a key: set {variable}{OR_LOCAL}")
    url = base_url_of(profile, url, server.api_version)
    return Choice(info, reason, url=url, key=key, key_variable=variable, kind=server.kind)


# What to name where a server is named without one of its models.
_EXAMPLES = {
    "azure": "MY-DEPLOYMENT",
    "openrouter": "openai/gpt-5-mini",
    "ollama": "qwen3:4b",
    "lmstudio": "qwen/qwen3-4b",
    "llamacpp": "qwen3",
    "vllm": "Qwen/Qwen3-4B",
}


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
    where = choice.kind, choice.url, choice.key, choice.key_variable
    client = _shared(*where) if wire is None else _client(*where, wire)
    if choice.kind in DIRECT:
        from vancetope.backends.direct import Direct

        return cast(Direct, client).knowing(choice.info)
    return client


@lru_cache(maxsize=32)
def _shared(kind: str, url: str | None, key: str | None, key_variable: str | None) -> Backend:
    return _client(kind, url, key, key_variable, None)


def _client(
    kind: str, url: str | None, key: str | None, key_variable: str | None, wire: Callable[[str, Any], None] | None
) -> Backend:
    if kind in DIRECT:
        from vancetope.backends.direct import connect as connect_direct

        direct = cast(Literal["anthropic", "gemini"], kind)
        return connect_direct(direct, url, key or "", key_variable=key_variable, wire=wire)
    from vancetope.backends.openai import PROFILES, OpenAICompatible

    return OpenAICompatible(url, key, profile=replace(PROFILES[kind], key_variable=key_variable), wire=wire)
