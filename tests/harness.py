"""Playing a script as a turn: live and streamed, then again from its journal with a model that refuses every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from vancetope import api
from vancetope.backends.base import OnPiece, Request
from vancetope.backends.scripted import Script, ScriptedBackend
from vancetope.events import Event, MessageCommitted, MessageDelta, MessageRetracted, TextDelta, TurnEnded
from vancetope.journal import RecordingJournal
from vancetope.messages import Assistant, History, Reply, Result, checked
from vancetope.outcome import DELIVERED, EnforcementName, Turn

PROMPT = "What time is it in Paris?"


def get_time(city: str) -> str:
    """Tell the time in a city."""
    return f"It is 15:42 in {city}."


def get_weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"Rain in {city}."


def fail(reason: str = "") -> str:
    """Fail."""
    raise RuntimeError(reason)


def read_book(pages: int = 600) -> str:
    """Read something long."""
    return "word " * (pages // 5)


TOOLS: tuple[Callable[..., Any], ...] = (get_time, get_weather, fail, read_book)


class Refusing:
    """A model that must not be asked."""

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        raise AssertionError("a replayed turn asked the model again")

    async def aclose(self) -> None:
        pass


@dataclass
class Played:
    """A turn with everything that was seen of it."""

    turn: Turn
    events: list[Event]
    requests: list[Request]
    journal: RecordingJournal
    shown: dict[str, str] = field(default_factory=dict)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def committed(self) -> list[str]:
        return [event.text for event in self.of(MessageCommitted)]

    @property
    def trace(self) -> list[str]:
        """The kinds of events, without the deltas: the turn's control flow."""
        return [event.type for event in self.events if not isinstance(event, TextDelta | MessageDelta)]


async def play(
    script: Script,
    enforcement: EnforcementName = "native",
    *,
    prompt: Any = PROMPT,
    tools: Iterable[Any] = TOOLS,
    chunking: Any = 3,
    follow_form: bool = True,
    **options: Any,
) -> Played:
    """One turn over a script, live and streamed; replayed from its journal's JSON, and checked against every promise
    that holds for all turns."""
    backend = ScriptedBackend(script, chunking=chunking, follow_form=follow_form)
    events: list[Event] = []
    journal = RecordingJournal()
    asked: dict[str, Any] = {"tools": tools, "enforcement": enforcement, **options}
    turn = await api.ask(prompt, model=backend, journal=journal, on_event=events.append, **asked)
    played = Played(turn, events, backend.requests, journal)
    keeps_promises(played)
    frozen = RecordingJournal.from_json(journal.to_json(), frozen=True)
    again = await api.ask(prompt, model=Refusing(), journal=frozen, **asked)
    assert again == turn, "a replayed turn ended otherwise"
    assert frozen.ran == []
    return played


def keeps_promises(played: Played) -> None:
    """What is true of every turn."""
    turn = played.turn
    ended = played.of(TurnEnded)
    assert [event.data for event in ended] == [turn.report()]
    assert played.events[-1] is ended[0]
    assert (turn.message is not None) == (turn.outcome in DELIVERED)
    assert played.committed == ([turn.message] if turn.message is not None else [])
    assert turn.reason or turn.outcome in DELIVERED
    checked(turn.messages)
    assert History.from_json(turn.messages.to_json()) == turn.messages
    played.shown = shown(played.events)
    for event in played.of(MessageCommitted):
        assert played.shown[event.id] == event.text, "what was streamed is not what was committed"
    kept = {event.id for event in played.of(MessageCommitted)}
    assert [key for key in played.shown if key.startswith("m") and key not in kept] == [], "a message was left open"
    for request in played.requests:
        every_call_has_one_result(request)
    for before, after in zip(played.requests, played.requests[1:], strict=False):
        assert before != after or not before.messages, "the same request was sent twice"


def every_call_has_one_result(request: Request) -> None:
    checked(History(request.messages))
    ids = [call.id for message in request.messages if isinstance(message, Assistant) for call in message.calls]
    assert len(set(ids)) == len(ids)
    assert all(len(each) >= 9 and each.isalnum() for each in ids)
    assert [message.call_id for message in request.messages if isinstance(message, Result)] == ids


def shown(events: Iterable[Event]) -> dict[str, str]:
    """What a person has seen under each id and not seen taken back; offsets are checked on the way."""
    texts: dict[str, str] = {}
    for event in events:
        match event:
            case TextDelta(id=id, offset=offset, text=text) | MessageDelta(id=id, offset=offset, text=text):
                assert offset == len(texts.get(id, "")), f"a hole in {id}"
                texts[id] = texts.get(id, "") + text
            case MessageRetracted(id=id):
                assert id in texts, f"{id} was taken back before it was shown"
                del texts[id]
            case _:
                pass
    return texts
