"""Playing a case: the public functions on one side, the fault server on the other, and what every turn must keep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import pytest

import vancetope
from tests.harness import get_time, get_weather, shown
from vancetope.asked import Asked as Wanted
from vancetope.backends.faults import Asked, FaultServer, Script, deliver
from vancetope.backends.scripted import call, respond, say
from vancetope.events import (
    CorrectionSent,
    Event,
    MessageCommitted,
    MessageDelta,
    StatusChanged,
    TextDelta,
    TurnEnded,
    TurnStarted,
)
from vancetope.lane import Lane
from vancetope.messages import Assistant, History, Reply, Result, User, checked
from vancetope.outcome import DELIVERED, EnforcementName, Outcome, Turn
from vancetope.prepare import prepare

EACH = pytest.mark.parametrize("enforcement", ["native", "constrained", "prompted"])
PROMPT = "What time is it in Paris?"
TOOLS: tuple[Callable[..., Any], ...] = (get_time, get_weather)

paris = call("get_time", city="Paris")
oslo = call("get_weather", city="Oslo")
answer = respond("It is 15:42 in Paris.")
brief = respond("It is 15:42 in Paris.", True)  # may be short whatever the tools said: it says that it waits


def ends_with(text: str, enforcement: EnforcementName) -> Reply:
    """How a `natural` turn ends: with text, which is the action `answer` under a grammar."""
    return call("answer", message=text) if enforcement == "constrained" else say(text)


def at(server: FaultServer, kind: str = "openai", **fields: Any) -> dict[str, Any]:
    """The arguments that lead to this server, named in settings as a server of this kind."""
    return {"model": "case:test", "settings": {"servers": {"case": {"kind": kind, "url": server.base_url, **fields}}}}


@dataclass
class Played:
    """A turn with everything that was seen of it on both sides."""

    turn: Turn
    events: list[Event]
    server: FaultServer

    @property
    def requests(self) -> list[Asked]:
        return self.server.requests

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def committed(self) -> list[str]:
        return [event.text for event in self.of(MessageCommitted)]

    @property
    def rows(self) -> list[str]:
        """The rows of the truth table for which the model was corrected."""
        return [event.row for event in self.of(CorrectionSent)]

    def news(self, number: int) -> str:
        """What the model is told in this request and was not in the one before: results, sentences of the runtime."""
        before, after = (asked.messages for asked in self.requests[number - 1 : number + 1])
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
        return "\n".join(content(each) for each in after[same:] if each["role"] != "assistant")

    @property
    def trace(self) -> list[tuple[str, ...]]:
        """The turn's control flow: kinds of events without deltas and texts, and the roles that each request held."""
        happened = [(event.type,) for event in self.events if not isinstance(event, TextDelta | MessageDelta)]
        return [*happened, *(tuple(roles(asked)) for asked in self.requests)]


async def play(
    script: Script,
    enforcement: EnforcementName = "native",
    *,
    prompt: Any = PROMPT,
    tools: Iterable[Any] = TOOLS,
    kind: str = "openai",
    fields: dict[str, Any] | None = None,
    repeats: int = 0,
    server: FaultServer | None = None,
    listening: bool = True,
    **options: Any,
) -> Played:
    """One turn against a strict server with this script, streamed if somebody is `listening`."""
    events: list[Event] = []
    async with server or FaultServer(script) as running:
        listener = events.append if listening else None
        asked = {"tools": tools, "enforcement": enforcement, "on_event": listener, **options}
        turn = await vancetope.ask(prompt, **at(running, kind, **fields or {}), **asked)
        played = Played(turn, events, running)
        keeps_promises(played, repeats)
    return played


def keeps_promises(played: Played, repeats: int = 0) -> None:
    """What is true of every turn against every server."""
    turn, server = played.turn, played.server
    assert server.violations == []
    assert len(server.repeats) == repeats, server.repeats
    assert turn.model_calls == len(server.requests)
    assert (turn.message is not None) == (turn.outcome in DELIVERED)
    assert turn.reason or turn.message is not None
    assert turn.best_text is None or turn.message is None
    whole(turn.messages)
    if played.events:
        assert played.of(TurnEnded) == [played.events[-1]]
        assert played.events[-1].data == turn.report()  # type: ignore[union-attr]
        only_what_was_committed_is_left(played.events)
        assert played.committed == ([turn.message] if turn.message is not None else [])


def whole(history: History) -> None:
    """Every call has its one result, in order; no id comes twice; it survives being stored."""
    checked(history)
    assert History.from_json(history.to_json()) == history


def only_what_was_committed_is_left(events: Sequence[Event]) -> None:
    """What was streamed as a message was committed, under the same id and byte for byte, or taken back."""
    kept = {event.id: event.text for event in events if isinstance(event, MessageCommitted)}
    left = {id: text for id, text in shown(events).items() if id.startswith("m")}
    assert left == kept


def roles(asked: Asked) -> list[str]:
    return [message["role"] for message in asked.messages]


def content(message: Any) -> str:
    return message["content"] or ""


def told(asked: Asked) -> str:
    """What the model was told since it last said something: results and sentences of the runtime."""
    said: list[str] = []
    for message in reversed(asked.messages):
        if message["role"] in ("assistant", "system"):
            break
        said.append(content(message))
    return "\n".join(reversed(said))


def everything(asked: Asked) -> str:
    """All texts of the conversation in this request, calls included, without the system prompt."""
    return "\n".join(str(message) for message in asked.messages[1:])


def clockwork(asked: Asked) -> Reply:
    """A model that keeps the contract: one call of `get_time`, then an answer that holds its result."""
    said = told(asked)
    if "It is 15:42" not in said and "get_time" in asked.tools:
        return paris
    return deliver(asked, "It is 15:42 in Paris." if "It is 15:42" in said else f"You said: {said}")


def work_results(turn: Turn) -> list[Result]:
    return [message for message in turn.messages if isinstance(message, Result)]


def work_calls(history: History) -> list[str]:
    return [each.name for message in history if isinstance(message, Assistant) for each in message.calls]


def users(history: Iterable[Any]) -> list[str]:
    return [str(message.content) for message in history if isinstance(message, User)]


# Processes in memory.


@dataclass
class Line:
    """A lane with all its events, and things to do when the n-th event comes."""

    server: FaultServer
    enforcement: EnforcementName = "native"
    tools: Iterable[Any] = TOOLS
    options: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    on_event: Callable[[int, Event], None] = lambda number, event: None
    lane: Lane = field(init=False)

    def __post_init__(self) -> None:
        asked = Wanted(tools=self.tools, enforcement=self.enforcement, **at(self.server, **self.fields), **self.options)
        self.lane = Lane(prepare(asked), self._heard)

    def _heard(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(len(self.events), event)

    @property
    def statuses(self) -> list[str]:
        return [event.status for event in self.events if isinstance(event, StatusChanged)]

    @property
    def ended(self) -> list[Outcome]:
        return [event.data.outcome for event in self.events if isinstance(event, TurnEnded)]

    @property
    def started(self) -> int:
        return sum(isinstance(event, TurnStarted) for event in self.events)

    @property
    def committed(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, MessageCommitted)]

    def keeps_promises(self) -> None:
        """What is true of every process, whatever was done to it."""
        assert self.server.violations == []
        assert self.started == len(self.ended)
        whole(self.lane.history)
        only_what_was_committed_is_left(self.events)


async def until(what: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait until it is true; fails where it never becomes so."""
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.001)


async def settle(rounds: int = 50) -> None:
    """Let everything run that could run."""
    for _ in range(rounds):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)


def ids(asked: Asked) -> Iterator[str]:
    """The ids of the calls in a request."""
    for message in asked.messages:
        yield from (each["id"] for each in message.get("tool_calls") or ())
