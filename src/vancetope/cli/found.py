"""Looking for models: keys, servers that answer, and files on this machine."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vancetope.cli.clean import one_line
from vancetope.errors import ConfigError, ModelError, Unreachable
from vancetope.settings import Server, Settings, key_from_environment

if TYPE_CHECKING:
    from vancetope.backends.openai.profiles import Profile

PROBE = 0.5  # seconds a server has to answer
LOCAL_PORTS = ("ollama", "llamacpp", "vllm")


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be named as it stands here. `path` and `size`, in bytes, are those of a local file."""

    name: str
    size: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One way to a model. `state` says why it can be used, or why not; `models` are those it offers, if known."""

    name: str
    is_usable: bool
    state: str
    models: tuple[Offer, ...] = ()


async def found(settings: Settings, *, probe: bool) -> list[Found]:
    """Every way to a model from here; servers are asked all at once, for half a second."""
    servers = [*settings.servers.values(), *(Server(kind, kind) for kind in LOCAL_PORTS)]
    answers = await asyncio.gather(*(_server(each, each.name in settings.servers, probe) for each in servers))
    return [_openai(), *answers, await asyncio.to_thread(_local)]


def _openai() -> Found:
    try:
        key = key_from_environment("OPENAI_API_KEY")
    except ConfigError as error:
        return Found("openai", False, str(error))
    if base := os.environ.get("OPENAI_BASE_URL"):
        from vancetope.backends.openai.pool import Origin

        try:
            at = Origin.at(base).address
        except ConfigError as error:
            return Found("openai", False, str(error))
        return Found("openai", True, f"OPENAI_BASE_URL names {at}" + (", with a key" if key else ", without a key"))
    if key:
        return Found("openai", True, "OPENAI_API_KEY is set (paid)")
    return Found("openai", False, "no key: set OPENAI_API_KEY")


async def _server(server: Server, is_named: bool, probe: bool) -> Found:
    from vancetope.backends.openai import PROFILES, OpenAICompatible

    profile = PROFILES[server.kind]
    url = server.url or os.environ.get(f"{server.kind.upper()}_BASE_URL") or profile.base_url
    variable = server.key_variable or profile.key_variable
    try:
        client = OpenAICompatible(url, key_from_environment(variable) if variable else None, profile=profile)
    except ConfigError as error:
        return Found(server.name, False, str(error))
    at = _address(url)
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
    return Found(
        server.name, True, f"answers at {at}", tuple(Offer(f"{server.name}:{one_line(each)}") for each in names)
    )


def _address(url: str | None) -> str:
    from vancetope.backends.openai.pool import Origin

    return Origin.at(url or "").address


def _silent(at: str, profile: Profile) -> str:
    start = f"; start it with `{profile.start}`" if profile.start else ""
    return f"nothing answers at {at}{start}"


def _local() -> Found:
    from vancetope.backends.local.weights import DEFAULT, KNOWN, installed, pulled

    files = {name: path for name, model in KNOWN.items() if (path := installed(model))}
    known = set(files.values())
    listed = [Offer(f"local:{name}", path.stat().st_size, str(path)) for name, path in files.items()]
    listed += [Offer(f"local:{each.stem}", each.stat().st_size, str(each)) for each in pulled() if each not in known]
    if importlib.util.find_spec("xllamacpp") is None:
        return Found("local", False, "its runtime is not installed: pip install 'vancetope[local]'", tuple(listed))
    if not listed:
        size = f"{KNOWN[DEFAULT].size / 1e6:.0f} MB"
        return Found("local", False, f"its runtime is installed, no model is: vancetope models pull ({size})")
    return Found("local", True, "runs on this machine, free", tuple(listed))
