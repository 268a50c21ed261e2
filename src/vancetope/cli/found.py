"""Looking for models: keys, libraries, servers that answer, and files on this machine."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from vancetope.backends.choose import DEFAULTS, DIRECT
from vancetope.cli.clean import one_line
from vancetope.errors import ConfigError, ModelError, Unreachable
from vancetope.models.base import ModelInfo
from vancetope.models.catalogue import Catalogue, catalogue
from vancetope.settings import Server, Settings, key_from_environment

if TYPE_CHECKING:
    from vancetope.backends.openai.profiles import Profile

PROBE = 0.5  # seconds a server has to answer
LOCAL_PORTS = ("ollama", "lmstudio", "llamacpp", "vllm")


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be named as it stands here. `path` and `size`, in bytes, are those of a local file; `info` is
    what the catalogue knows of it, null where it does not."""

    name: str
    size: int | None = None
    path: str | None = None
    info: ModelInfo | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One way to a model. `state` says why it can be used, or why not; `models` are those it offers, if known."""

    name: str
    is_usable: bool
    state: str
    models: tuple[Offer, ...] = ()


async def found(settings: Settings, *, probe: bool) -> list[Found]:
    """Every way to a model from here; servers are asked all at once, for half a second. Raises `ConfigError` where a
    catalogue cannot be read."""
    known = await asyncio.to_thread(catalogue, settings.folders)
    hosted = await asyncio.to_thread(
        lambda: [_openai(known), *(_direct(each, known) for each in DIRECT), *_by_key(known)]
    )
    servers = [*settings.servers.values(), *(Server(kind, kind) for kind in LOCAL_PORTS)]
    answers = await asyncio.gather(*(_server(each, each.name in settings.servers, probe, known) for each in servers))
    return [*hosted, *answers, await asyncio.to_thread(_local, known)]


def _openai(known: Catalogue) -> Found:
    try:
        key = key_from_environment("OPENAI_API_KEY")
    except ConfigError as error:
        return Found("openai", False, str(error))
    offers = _known_names("openai", known)
    if base := os.environ.get("OPENAI_BASE_URL"):
        try:
            at = _address(base)
        except ConfigError as error:
            return Found("openai", False, str(error))
        return Found(
            "openai", True, f"OPENAI_BASE_URL names {at}" + (", with a key" if key else ", without a key"), offers
        )
    if key:
        return Found("openai", True, "OPENAI_API_KEY is set (paid)", offers)
    return Found("openai", False, "no key: set OPENAI_API_KEY", offers)


def _direct(provider: str, known: Catalogue) -> Found:
    """A provider that is reached through optional libraries."""
    from vancetope.backends.direct.extras import missing_extra

    url_variable, variables = DIRECT[provider]
    offers = _known_names(provider, known)
    missing = missing_extra(cast(Literal["anthropic", "gemini"], provider))
    try:
        variable = next((each for each in variables if key_from_environment(each)), None)
        base = os.environ.get(url_variable)
        at = f"{url_variable} names {_address(base)}" if base else ""
    except ConfigError as error:
        return Found(provider, False, str(error), offers)
    if variable is None:
        state = f"no key: set {' or '.join(variables)}" + (f"; {missing}" if missing else "")
        return Found(provider, False, state, offers)
    if missing:
        return Found(provider, False, f"{variable} is set, but {missing}", offers)
    return Found(provider, True, f"{at}, with a key" if at else f"{variable} is set (paid)", offers)


def _by_key(known: Catalogue) -> Iterable[Found]:
    """Hosted servers of our own wire format that are not asked what they have: it is too much, or no answer to it."""
    from vancetope.backends.openai.profiles import PROFILES

    for kind in ("azure", "openrouter"):
        profile, offers = PROFILES[kind], _known_names(kind, known)
        url, variable = os.environ.get(profile.url_variable or ""), profile.key_variable or ""
        try:
            key = key_from_environment(variable)
            at = _address(url) if url else ""
        except ConfigError as error:
            yield Found(kind, False, str(error), offers)
            continue
        lacks = ([] if url or profile.base_url else [f"no address: set {profile.url_variable}"]) + (
            [] if key else [f"no key: set {variable}"]
        )
        state = f"{profile.url_variable} names {at}, with a key (paid)" if at else f"{variable} is set (paid)"
        if not profile.lists_models:
            state += f"; name the deployment: {kind}:MY-DEPLOYMENT"
        yield Found(kind, not lacks, "; ".join(lacks) or state, offers)


async def _server(server: Server, is_named: bool, probe: bool, known: Catalogue) -> Found:
    from vancetope.backends.openai import PROFILES, OpenAICompatible
    from vancetope.backends.openai.profiles import base_url_of

    profile = PROFILES[server.kind]
    url = base_url_of(
        profile, server.url or os.environ.get(profile.url_variable or "") or profile.base_url or "", server.api_version
    )
    variable = server.key_variable or profile.key_variable
    try:
        client = OpenAICompatible(url, key_from_environment(variable) if variable else None, profile=profile)
    except ConfigError as error:
        return Found(server.name, False, str(error))
    at = _address(url)
    if not profile.lists_models:
        return Found(server.name, True, f"{at}; name the deployment: {server.name}:MY-DEPLOYMENT")
    if not probe:
        return Found(server.name, is_named, f"{at}, not asked")
    try:
        names = await client.list_models(timeout=PROBE)
    except Unreachable:
        return Found(server.name, False, _silent(at, profile))
    except ModelError as error:
        return Found(server.name, False, one_line(str(error), 200))
    finally:
        await client.aclose()
    offers = (
        Offer(f"{server.name}:{one_line(each)}", info=_facts(known.lookup(server.kind, each, _own_name(server))))
        for each in names
    )
    return Found(server.name, True, f"answers at {at}", tuple(offers))


def _own_name(server: Server) -> str | None:
    return None if server.name == server.kind else server.name


def _address(url: str | None) -> str:
    from vancetope.backends.openai.pool import Origin

    return Origin.at(url or "").address


def _silent(at: str, profile: Profile) -> str:
    start = f"; start it with `{profile.start}`" if profile.start else ""
    return f"nothing answers at {at}{start}"


def _known_names(provider: str, known: Catalogue) -> tuple[Offer, ...]:
    """The models of a hosted provider that the catalogue knows by name, the default one first."""
    names = [each.partition(":")[2] for each in known.names(provider)]
    first = DEFAULTS.get(provider)
    ordered = [first, *(each for each in names if each != first)] if first in names else names
    return tuple(Offer(f"{provider}:{each}", info=_facts(known.lookup(provider, each))) for each in ordered if each)


def _facts(info: ModelInfo) -> ModelInfo | None:
    return info if info.known else None


def _local(known: Catalogue) -> Found:
    from vancetope.backends.local.weights import DEFAULT, KNOWN, installed, pulled

    files = {name: path for name, model in KNOWN.items() if (path := installed(model))}
    ours = set(files.values())
    for each in pulled():
        if each not in ours:
            files.setdefault(each.stem, each)
    listed = tuple(
        Offer(f"local:{name}", path.stat().st_size, str(path), _facts(known.lookup("local", name.lower())))
        for name, path in files.items()
    )
    if importlib.util.find_spec("xllamacpp") is None:
        return Found("local", False, "its runtime is not installed: pip install 'vancetope[local]'", listed)
    if not listed:
        size = f"{KNOWN[DEFAULT].size / 1e6:.0f} MB"
        return Found("local", False, f"its runtime is installed, no model is: vancetope models pull ({size})")
    return Found("local", True, "runs on this machine, free", listed)
