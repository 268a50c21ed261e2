"""One turn over any provider: the public functions on one side, the fault server in that provider's dialect on the
other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import pytest
import stamina

import vancetope
from tests.cases.playing import PROMPT, TOOLS, Played, keeps_promises
from vancetope.answer import Answer
from vancetope.backends.faults import Asked, FaultServer, Script
from vancetope.context import Patience
from vancetope.events import Event
from vancetope.models.base import ModelInfo
from vancetope.models.catalogue import catalogue

Provider: TypeAlias = Literal["openai", "anthropic", "gemini"]

PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic", "gemini")
EVERY = pytest.mark.parametrize("provider", PROVIDERS)
WAYS = pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
# Models of which the catalogue knows all: prices, limits, whether a choice can be forced.
MODELS: dict[Provider, str] = {
    "openai": "gpt-5-mini",
    "anthropic": "claude-haiku-5-5",
    "gemini": "gemini-3.8-flash",
}
# Only servers of OpenAI's format that tell their thinking tell it, and those take it back.
TOLD = "known_keys"
# A reply that the provider left open goes back as the last message, which is taken only then.
OPEN = "last_message"
KEY = "k3y-0123456789abcdef"
SHORT = Patience(model_call=0.4, turn=20.0, last_round=0.4)


def info(provider: Provider, name: str = "") -> ModelInfo:
    return catalogue(()).lookup(provider, name or MODELS[provider])


def address(provider: Provider, server: FaultServer) -> str:
    return {"openai": server.base_url, "anthropic": server.anthropic_url, "gemini": server.gemini_url}[provider]


@contextmanager
def led_to(provider: Provider, server: FaultServer, key: str = KEY) -> Iterator[None]:
    """The environment in which a model of this provider is at this server, as a user sets it."""
    with pytest.MonkeyPatch.context() as patch:
        name = provider.upper()
        patch.setenv(f"{name}_API_KEY", key)
        patch.setenv(f"{name}_BASE_URL", address(provider, server))
        yield


@contextmanager
def no_waiting() -> Iterator[None]:
    """Retries come at once."""
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


def spec(provider: Provider, name: str = "") -> str:
    return f"{provider}:{name or MODELS[provider]}"


async def play(
    script: Script,
    provider: Provider,
    streams: bool,
    *,
    prompt: Any = PROMPT,
    tools: Iterable[Any] = TOOLS,
    model: str = "",
    repeats: int = 0,
    unchecked: Iterable[str] = (),
    **options: Any,
) -> Played:
    """One turn of this provider's model against a strict server with this script."""
    events: list[Event] = []
    async with FaultServer(script, key=KEY, unchecked=unchecked) as running:
        listener = events.append if streams else None
        with led_to(provider, running), no_waiting():
            asked = {"model": spec(provider, model), "tools": tools, "on_event": listener, **options}
            turn = await vancetope.ask(prompt, **asked)
        played = Played(turn, events, running)
        in_dialect(running.requests, provider, streams)
        assert running.violations == [], running.violations
        keeps_promises(played, repeats)
    assert KEY not in f"{turn!r} {turn.report()} {events} {turn.messages.to_json()}"
    return played


def in_dialect(requests: Iterable[Asked], provider: Provider, streams: bool) -> None:
    """Every request is the provider's own, with its key, and asks for a stream only where somebody listens."""
    for asked in requests:
        assert (asked.dialect, asked.stream) == (provider, streams)
        assert asked.authorized in (True, None)


async def put(
    script: Script,
    provider: Provider,
    streams: bool,
    schema: Any,
    *,
    prompt: Any = "Which city is it?",
    repeats: int = 0,
    **options: Any,
) -> tuple[Answer[Any], FaultServer]:
    """One structured question to this provider's model."""
    events: list[Event] = []
    async with FaultServer(script, key=KEY) as running:
        with led_to(provider, running), no_waiting():
            asked = {"model": spec(provider), "on_event": events.append if streams else None, **options}
            answer = await vancetope.query(prompt, schema, **asked)
        in_dialect(running.requests, provider, streams)
        assert running.violations == []
        assert len(running.repeats) == repeats
        assert answer.model_calls == len(running.requests)
    return answer, running
