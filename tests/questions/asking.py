"""Putting a structured question: the public function on one side, a server or a script on the other, and what every
answer must keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import jsonschema_rs
import pytest
import stamina

import vancetope
from tests.cases.playing import at, content
from tests.harness import Refusing, shown
from vancetope.answer import Answer
from vancetope.backends.faults import Asked, Fault, FaultServer, Script
from vancetope.backends.scripted import Script as Lines
from vancetope.backends.scripted import ScriptedBackend
from vancetope.events import (
    CorrectionSent,
    Event,
    MessageCommitted,
    MessageDelta,
    Notice,
    RawDelta,
    TextDelta,
    TurnEnded,
    TurnStarted,
)
from vancetope.journal import RecordingJournal
from vancetope.messages import Reply
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName, Outcome, TurnReport

FORMS: tuple[EnforcementName, ...] = ("native", "constrained", "prompted")
ALL = pytest.mark.parametrize("enforcement", FORMS)
BY_FORMAT = pytest.mark.parametrize("enforcement", ["native", "constrained"])
PROMPT = "Which city is it, and how many people live there?"
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer", "minimum": 1}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
OSLO = {"city": "Oslo", "people": 717_710}
FITS = json.dumps(OSLO)
MISFIT = '{"city": "Oslo"}'
ERRORS = {
    "invalid_params",
    "invalid_schema",
    "schema_violation",
    "max_attempts_exceeded",
    "llm_error",
    "output_truncated",
    "refused",
    "budget_exceeded",
    "stopped",
    "internal_error",
}
FRAME = 400  # characters of our own sentences around what is wrong with a reply
EXCERPT = 2_000


@dataclass
class Put:
    """An answer with everything that was seen of it on both sides. `asked` holds the bodies that a server saw, or the
    requests that a script saw in the same shape."""

    answer: Answer[Any]
    events: list[Event]
    asked: list[Asked]
    server: FaultServer | None = None

    @property
    def wrapper(self) -> dict[str, Any]:
        return self.answer.wrapper()

    @property
    def calls(self) -> int:
        return len(self.asked)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def corrections(self) -> list[str]:
        return [event.text for event in self.of(CorrectionSent)]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.of(Notice)]

    @property
    def report(self) -> TurnReport:
        return cast(TurnReport, self.of(TurnEnded)[-1].data)

    def said(self, number: int) -> list[str]:
        """What this request holds behind the system prompt."""
        return [content(each) for each in self.asked[number].messages[1:]]


def formed(asked: Asked) -> bool:
    """Whether this request asks for the caller's answer by a response format."""
    return asked.schema is not None and '"tool"' not in json.dumps(asked.schema)


async def put(
    script: Script,
    enforcement: EnforcementName | None = "native",
    *,
    prompt: Any = PROMPT,
    schema: Any = CITY,
    kind: str = "openai",
    model: str = "test",
    fields: Mapping[str, Any] | None = None,
    listening: bool = True,
    server: FaultServer | None = None,
    **options: Any,
) -> Put:
    """One question to a strict server with this script, streamed if somebody is `listening`."""
    events: list[Event] = []
    async with server or FaultServer(script) as running:
        where: dict[str, Any] = {**at(running, kind, **(fields or {})), "model": f"case:{model}", **options}
        where |= {"enforcement": enforcement, "on_event": events.append if listening else None}
        answer = await vancetope.query(prompt, schema, **where)
        made = Put(answer, events, running.requests, running)
        assert running.violations == []
        assert [each for each in running.repeats if each.after not in RETRIED] == [], "asked twice the same"
    keeps_promises(made, schema, most_attempts(options))
    return made


def most_attempts(options: Mapping[str, Any]) -> int:
    """The most attempts there may be with these options; ten where a recipe decides, or where the number is wrong."""
    given = options.get("max_attempts", 3)
    return given if isinstance(given, int) and 1 <= given <= 10 else 10


# Answers of a server after which the client may send the very same request again.
RETRIED = {
    "reset_at_once",
    "half_stream",
    "closed_at_once",
    "html_page",
    *(f"status_{code}" for code in ("429", "429_date", "429_bare", "500", "502", "503", "529")),
}


@dataclass(slots=True)
class Known(ScriptedBackend):
    """A scripted model of which the catalogue would know this."""

    info: ModelInfo = field(default_factory=lambda: ModelInfo(provider="lab", name="model"))


def known(script: Lines, **facts: Any) -> Known:
    return Known(script, info=ModelInfo(provider="lab", name="model", **{"enforcements": FORMS, **facts}))


async def play(
    script: Lines,
    enforcement: EnforcementName | None = "native",
    *,
    prompt: Any = PROMPT,
    schema: Any = CITY,
    facts: Mapping[str, Any] | None = None,
    follow_form: bool = False,
    replayed: bool = True,
    **options: Any,
) -> Put:
    """One question over a script, live and streamed; then again from its journal's JSON with a model that refuses every
    call, which must come to the same answer."""
    known_facts = {"enforcements": FORMS, **(facts or {})}
    backend = Known(script, follow_form=follow_form, info=ModelInfo(provider="lab", name="model", **known_facts))
    events: list[Event] = []
    journal = RecordingJournal()
    asked = {"enforcement": enforcement, **options}
    answer = await vancetope.query(prompt, schema, model=backend, journal=journal, on_event=events.append, **asked)
    made = Put(answer, events, [as_asked(each) for each in backend.requests])
    keeps_promises(made, schema, most_attempts(options))
    if replayed:
        await replays(answer, journal, prompt, schema, backend.info, asked)
    return made


class Mute(Refusing):
    """A model that must not be asked, of which the same is known as of the one that was."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info


async def replays(
    answer: Answer[Any],
    journal: RecordingJournal,
    prompt: Any,
    schema: Any,
    info: ModelInfo,
    asked: Mapping[str, Any],
) -> None:
    frozen = RecordingJournal.from_json(journal.to_json(), frozen=True)
    again = await vancetope.query(prompt, schema, model=Mute(info), journal=frozen, **asked)
    assert again == answer, "a replayed question was answered otherwise"
    assert again.wrapper() == answer.wrapper()
    assert frozen.ran == []


def as_asked(request: Any) -> Asked:
    """A request to a script as a server would see it."""
    from vancetope.backends.openai.profiles import PROFILES
    from vancetope.backends.openai.wire import body_of

    return Asked(body_of(request, PROFILES["openai"], stream=False))


# What is true of every answer.


def keeps_promises(made: Put, schema: Any = CITY, most: int = 3) -> None:
    """What the design promises of every answer, whatever the model and its server did."""
    answer, wrapper = made.answer, made.wrapper
    assert json.loads(json.dumps(wrapper, allow_nan=False)) == wrapper
    assert answer.model_calls == made.calls
    assert 0 <= answer.attempts <= most
    assert answer.attempts <= made.calls
    if answer.success:
        assert list(wrapper) == ["success", "attempts", "data"]
        assert answer.attempts >= 1
        assert (answer.error, answer.message, answer.last_invalid) == (None, "", None)
        assert answer.rule in ("strict", "fence", "span", "tidied", "closed")
        assert isinstance(answer.value, dict)
        if isinstance(schema, Mapping):
            assert answer.data == answer.value
            assert jsonschema_rs.validator_for(dict(schema), offline=True).is_valid(answer.value)
    else:
        assert list(wrapper) == ["success", "attempts", "error", "message", "lastInvalid"]
        assert answer.error in ERRORS
        assert answer.message.strip()
        assert (answer.data, answer.value, answer.rule) == (None, None, None)
        if answer.attempts == 0:
            assert answer.last_invalid is None
        if answer.error == "max_attempts_exceeded" and answer.last_invalid is not None:
            assert isinstance(answer.last_invalid, str)
            assert len(answer.last_invalid) <= 2_000
    if made.events:
        keeps_order(made)
    for asked in made.asked:
        assert not ("response_format" in asked.body and "tools" in asked.body)
    for text in made.corrections:
        assert len(text) <= 1_500 + FRAME + EXCERPT


def keeps_order(made: Put) -> None:
    """One start, one end, which is last and holds the wrapper; between them nothing that looks like an answer."""
    assert [made.events.index(each) for each in made.of(TurnStarted)] == [0]
    assert [made.events.index(each) for each in made.of(TurnEnded)] == [len(made.events) - 1]
    report = made.report
    stopped = made.answer.error == "stopped"
    text = report.best_text if stopped else report.message
    assert text is not None
    assert json.loads(text) == made.wrapper
    assert report.outcome is (Outcome.STOPPED if stopped else Outcome.NATURAL)
    assert report.awaiting_user_input is False
    assert (report.model_calls, report.usage, report.cost) == (
        made.answer.model_calls,
        made.answer.usage,
        made.answer.cost,
    )
    assert report.enforcement == made.answer.enforcement
    assert made.of(MessageDelta) == made.of(MessageCommitted) == made.of(TextDelta) == []
    written(made.events)


def written(events: Iterable[Event]) -> dict[str, str]:
    """What people have seen of the attempts and not seen taken back; offsets are checked on the way."""
    as_text = [TextDelta(each.id, each.offset, each.text) if isinstance(each, RawDelta) else each for each in events]
    return shown(as_text)


def unlike(text: str, number: int) -> str:
    """A reply that is another one each time, so that no rule about equal replies holds."""
    return text.replace("Oslo", f"Oslo {number}")


def always(given: Fault | Reply | str) -> Callable[[Asked], Fault | Reply | str]:
    """The same, whatever is asked."""
    return lambda asked: given


@contextmanager
def without_waiting(attempts: int = 3) -> Iterator[None]:
    """The client repeats its requests at once."""
    with stamina.set_testing(True, attempts=attempts, cap=True):
        yield
