"""Anthropic's and Gemini's own APIs, reached as a user reaches them: a model's name, a key and an address."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import vancetope
from tests.cases.playing import PROMPT, TOOLS, Line, Played
from tests.cases.playing import keeps_promises as keeps_turn
from tests.questions.asking import CITY, RETRIED, Put, most_attempts
from tests.questions.asking import PROMPT as QUESTION
from tests.questions.asking import keeps_promises as keeps_answer
from vancetope.asked import Asked as Wanted
from vancetope.backends.faults import Asked, FaultServer, Script
from vancetope.backends.faults.asked import text_of
from vancetope.events import Event
from vancetope.lane import Lane
from vancetope.outcome import EnforcementName
from vancetope.prepare import prepare

MODELS = {"anthropic": "anthropic:claude-haiku-5-5", "gemini": "gemini:gemini-3.8-flash"}
BOTH = pytest.mark.parametrize("provider", MODELS)
FORMS = pytest.mark.parametrize("enforcement", ["native", "prompted"])
STREAMED = pytest.mark.parametrize("listening", [True, False], ids=["streamed", "whole"])
KEY = "sk-of-a-case-0123456789"
UNENDED = "last_message"  # the rule of both APIs that a request ends with what the user says


@contextmanager
def reached(server: FaultServer, provider: str) -> Iterator[dict[str, Any]]:
    """The arguments that lead to this server through a provider's own API, whose key and address are in the
    environment meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(f"{provider.upper()}_API_KEY", KEY)
        patch.setenv(f"{provider.upper()}_BASE_URL", url_of(server, provider))
        yield {"model": MODELS[provider], "settings": {}}


def url_of(server: FaultServer, provider: str) -> str:
    return server.anthropic_url if provider == "anthropic" else server.gemini_url


def spoke(server: FaultServer, provider: str) -> None:
    """Every request was in this provider's own dialect, with the key, and as its API takes it."""
    assert server.violations == []
    assert {asked.dialect for asked in server.requests} <= {provider}
    assert all(asked.authorized for asked in server.requests)


async def play(
    script: Script,
    provider: str,
    enforcement: EnforcementName = "native",
    *,
    prompt: Any = PROMPT,
    tools: Iterable[Any] = TOOLS,
    repeats: int = 0,
    listening: bool = True,
    unchecked: Iterable[str] = (),
    **options: Any,
) -> Played:
    """One turn over this provider against a strict server with this script, streamed if somebody is `listening`."""
    events: list[Event] = []
    async with FaultServer(script, key=KEY, unchecked=unchecked) as server:
        with reached(server, provider) as where:
            listener = events.append if listening else None
            asked = {"tools": tools, "enforcement": enforcement, "on_event": listener, **where, **options}
            turn = await vancetope.ask(prompt, **asked)
        played = Played(turn, events, server)
    keeps_turn(played, repeats)
    spoke(server, provider)
    return played


@dataclass
class ProviderLine(Line):
    """A process that speaks to a provider's own API."""

    provider: str = "anthropic"

    def __post_init__(self) -> None:
        with reached(self.server, self.provider) as where:
            asked = {"tools": self.tools, "enforcement": self.enforcement, **where, **self.options}
            self.lane = Lane(prepare(Wanted(**asked)), self._heard)

    def keeps_promises(self) -> None:
        super().keeps_promises()
        spoke(self.server, self.provider)


async def put(
    script: Script,
    provider: str,
    *,
    prompt: Any = QUESTION,
    schema: Any = CITY,
    listening: bool = True,
    repeats: Collection[str] | None = RETRIED,
    **options: Any,
) -> Put:
    """One question over this provider to a strict server with this script, streamed if somebody is `listening`. The
    same request may come again after the answers named in `repeats`; null: after any."""
    events: list[Event] = []
    async with FaultServer(script, key=KEY) as server:
        with reached(server, provider) as where:
            listener = events.append if listening else None
            answer = await vancetope.query(prompt, schema, **{"on_event": listener, **where, **options})
        made = Put(answer, events, server.requests, server)
    if repeats is not None:
        assert [each for each in server.repeats if each.after not in repeats] == [], "asked twice the same"
    keeps_answer(made, schema, most_attempts(options))
    spoke(server, provider)
    for asked in server.requests:
        assert not ("response_format" in asked.form and "tools" in asked.form)
    return made


def told(asked: Asked) -> str:
    """What the model was told since it last said something; both APIs take it as several texts of one message."""
    said: list[str] = []
    for message in reversed(asked.messages):
        if message["role"] in ("assistant", "system"):
            break
        said.append(text_of(message.get("content")))
    return "\n".join(reversed(said))


def choice_of(provider: str, body: Mapping[str, Any]) -> str | None:
    """The tool that the body forces, in the provider's own words; null where the model is free."""
    if provider == "anthropic":
        choice = body.get("tool_choice", {"type": "auto"})
        return None if choice["type"] == "auto" else choice["name"]
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {"mode": "AUTO"})
    if calling["mode"] == "AUTO":
        return None
    assert calling["mode"] == "ANY"
    (name,) = calling["allowedFunctionNames"]
    return str(name)


def thinks(provider: str, body: Mapping[str, Any]) -> bool:
    """Whether the body asks for thinking, in the provider's own words."""
    if provider == "anthropic":
        return body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    thinking = body.get("generationConfig", {}).get("thinkingConfig", {})
    return bool(thinking.get("thinkingLevel") or thinking.get("thinkingBudget"))


def limit_of(provider: str, body: Mapping[str, Any]) -> int | None:
    """The output limit of the body."""
    if provider == "anthropic":
        limit = body["max_tokens"]
    else:
        limit = body.get("generationConfig", {}).get("maxOutputTokens")
    assert limit is None or isinstance(limit, int)
    return limit


def one_by_one(*answers: Any, rest: Any) -> Callable[[Any], Any]:
    """These answers, then the same for ever."""
    left = list(answers)
    return lambda asked: left.pop(0) if left else rest
