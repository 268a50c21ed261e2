"""A model that fails gives way to the next one of its list: once, told to people, and the same in a replay."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import stamina

import vancetope as vt
from tests.harness import get_time
from vancetope.asked import Asked
from vancetope.backends.base import OnPiece, Request, TextPiece
from vancetope.backends.faults import FaultServer, clock, reset, status
from vancetope.backends.scripted import ScriptedBackend, call, respond, say
from vancetope.context import Way
from vancetope.errors import (
    AuthRefused,
    CircuitOpen,
    ContextTooLong,
    ModelError,
    RateLimited,
    ReplyBroken,
    RequestRejected,
    ServerFailed,
    Unreachable,
)
from vancetope.events import Event, MessageRetracted, Notice, UsageRecorded
from vancetope.journal import RecordingJournal
from vancetope.lane import Lane
from vancetope.messages import Image, Reply, Text, User
from vancetope.models.base import ModelInfo
from vancetope.models.ledger import MemoryLedger
from vancetope.outcome import Outcome
from vancetope.prepare import Prepared, prepare
from vancetope.settings import load

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def info(name: str, **more: Any) -> ModelInfo:
    return ModelInfo(provider="case", name=name, enforcements=("native", "constrained"), **more)


class Failing:
    """A model that fails, after a piece of a reply if it has one."""

    def __init__(self, error: ModelError, piece: str = "", first: Reply | None = None) -> None:
        self.error, self.piece, self.first = error, piece, first
        self.requests: list[Request] = []

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        self.requests.append(request)
        if self.first is not None and len(self.requests) == 1:
            return self.first
        if self.piece and on_piece is not None:
            on_piece(TextPiece(self.piece))
        raise self.error

    async def aclose(self) -> None:
        pass


def ways(prepared: Prepared, *backends: Any, **facts: Any) -> Prepared:
    made = tuple(Way(info(f"m{number}", **facts), each) for number, each in enumerate(backends))
    return replace(prepared, ways=made, info=made[0].model)


async def played(*backends: Any, journal: Any = None, **facts: Any) -> tuple[Any, list[Event]]:
    events: list[Event] = []
    prepared = ways(prepare(Asked(model=backends[0], recipe="default")), *backends, **facts)
    ctx = prepared.context(
        drain=lambda round: (User("Hi"),) if round == 0 else (),
        publish=events.append,
        history=vt.History(),
        turn=1,
        journal=journal,
    )
    return await prepared.engine.steer(ctx), events


def notices(events: list[Event]) -> list[str]:
    return [each.text for each in events if isinstance(each, Notice)]


@pytest.mark.parametrize(
    "error", [RateLimited(), ServerFailed(), Unreachable(), ReplyBroken(), CircuitOpen(requests=0)], ids=repr
)
async def test_what_another_model_may_do_is_given_to_the_next(error: ModelError) -> None:
    turn, events = await played(Failing(error), ScriptedBackend([respond("From the second.")]))
    assert (turn.outcome, turn.message) == (Outcome.RESPOND, "From the second.")
    assert notices(events) == [f"case:m0 could not answer, case:m1 goes on in its place: {error}"]


async def test_the_row_of_a_stand_in_says_which_model_was_asked_for() -> None:
    ledger = MemoryLedger()
    failing, second = Failing(ServerFailed()), ScriptedBackend([respond("Yes.")])
    prepared = ways(prepare(Asked(model=failing, recipe="default", ledger=ledger)), failing, second)
    await Lane(prepared, lambda _: None).start("Hi")
    assert [(row.asked, row.used, row.outcome) for row in ledger.rows()] == [
        ("case:m0", "m0", "failed"),
        ("case:m0", "m1", "replied"),
    ]


@pytest.mark.parametrize("error", [AuthRefused(), RequestRejected(), ContextTooLong()], ids=repr)
async def test_what_its_owner_must_mend_is_told_and_not_passed_over(error: ModelError) -> None:
    second = ScriptedBackend([respond("From the second.")])
    turn, _ = await played(Failing(error), second)
    assert turn.message is None
    assert turn.reason == str(error)
    assert second.requests == []


async def test_an_empty_reply_is_no_failure_of_the_server() -> None:
    second = ScriptedBackend([respond("From the second.")])
    turn, _ = await played(ScriptedBackend([Reply(), Reply(), Reply()]), second)
    assert (turn.outcome, second.requests) == (Outcome.EMPTY_REPLY, [])


async def test_the_last_of_the_list_says_why_the_turn_failed() -> None:
    turn, events = await played(*(Failing(ServerFailed(f"number {number} failed")) for number in range(3)))
    assert (turn.outcome, turn.reason) == (Outcome.MODEL_ERROR, "number 2 failed")
    assert len(notices(events)) == 2
    assert turn.model_calls == 3


async def test_within_a_turn_there_is_no_way_back_and_nothing_is_lost() -> None:
    begins = Failing(ServerFailed(), first=call("clock"))
    second = ScriptedBackend([say("I will."), respond("Late.")])
    turn, _ = await played(begins, second)
    assert (turn.message, len(begins.requests), len(second.requests)) == ("Late.", 2, 2)
    assert second.requests[0].messages[: len(begins.requests[1].messages)] == begins.requests[1].messages
    assert [each.model for each in second.requests] == ["m1", "m1"]


async def test_the_next_turn_begins_with_the_first_model_again() -> None:
    failing = Failing(ServerFailed())
    second = ScriptedBackend([respond("One."), respond("Two.")])
    prepared = ways(prepare(Asked(model=failing, recipe="default")), failing, second)
    lane = Lane(prepared, lambda _: None)
    await lane.start("Hi")
    lane.post("Again")
    turn = await lane.settled()
    assert (turn.message, len(failing.requests)) == ("Two.", 2)


async def test_what_the_first_had_begun_to_say_is_taken_back() -> None:
    turn, events = await played(Failing(ReplyBroken(), piece="It is"), ScriptedBackend([respond("Late.")]))
    assert turn.message == "Late."
    assert any(isinstance(each, MessageRetracted) for each in events)


async def test_a_model_without_eyes_is_passed_over_where_there_are_images() -> None:
    blind, sighted = ScriptedBackend([respond("?")]), ScriptedBackend([respond("A cat.")])
    prepared = ways(prepare(Asked(model=blind, recipe="default")), Failing(ServerFailed()), blind, sighted, vision=True)
    first, second, third = prepared.ways
    prepared = replace(prepared, ways=(first, replace(second, model=info("m1")), third))
    message = User((Text("What is it?"), Image("https://example.org/cat.png")))
    ctx = prepared.context(
        drain=lambda round: (message,) if round == 0 else (), publish=lambda _: None, history=vt.History(), turn=1
    )
    turn = await prepared.engine.steer(ctx)
    assert (turn.message, blind.requests) == ("A cat.", [])


async def test_a_replay_falls_back_at_the_same_place_and_asks_nobody() -> None:
    journal = RecordingJournal()
    live, events = await played(Failing(ServerFailed("down")), ScriptedBackend([respond("Late.")]), journal=journal)
    frozen = RecordingJournal.from_json(journal.to_json(), frozen=True)
    nobody = Failing(ServerFailed("asked again"))
    again, told = await played(nobody, nobody, journal=frozen)
    assert again == live
    assert notices(told) == notices(events)
    assert nobody.requests == []


# Over the public surface, with lists out of a project's catalogue.


def project(folder: Path, aliases: dict[str, Any], servers: dict[str, Any]) -> Any:
    (folder / ".vancetope").mkdir()
    (folder / "vancetope.yaml").write_text(json.dumps({"servers": servers}))
    (folder / ".vancetope" / "ai-models.yaml").write_text(json.dumps({"aliases": aliases}))
    return load(folder)


async def test_a_list_of_a_project_is_followed_over_real_servers(tmp_path: Path) -> None:
    async with FaultServer([status(503), status(503), status(503)]) as down, FaultServer(clock) as up:
        servers = {
            "one": {"kind": "vllm", "url": down.base_url, "model": "a"},
            "two": {"kind": "vllm", "url": up.base_url, "model": "b"},
        }
        settings = await asyncio.to_thread(project, tmp_path, {"mine": ["one:a", "two:b"]}, servers)
        events: list[Event] = []
        with stamina.set_testing(True, attempts=3, cap=True):
            turn = await vt.ask(
                "What time is it in Paris?",
                model="mine",
                settings=settings,
                tools=[get_time],
                enforcement="native",
                on_event=events.append,
            )
        assert turn.outcome is Outcome.RESPOND
        assert (len(down.requests), len(up.requests)) == (3, 2)
        assert turn.model_calls == 5
        assert [each.purpose for each in events if isinstance(each, UsageRecorded)] == ["answer", "answer"]
        assert any("one:a could not answer, two:b goes on" in each for each in notices(events))


async def test_a_question_falls_back_and_keeps_its_attempts(tmp_path: Path) -> None:
    async with FaultServer([reset(), reset(), reset()]) as down, FaultServer([say('{"city": "Oslo"}')]) as up:
        servers = {
            "one": {"kind": "vllm", "url": down.base_url, "model": "a"},
            "two": {"kind": "vllm", "url": up.base_url, "model": "b"},
        }
        settings = await asyncio.to_thread(project, tmp_path, {"mine": ["one:a", "two:b"]}, servers)
        with stamina.set_testing(True, attempts=3, cap=True):
            answer = await vt.query("Which city?", SCHEMA, model="mine", settings=settings)
        assert (answer.success, answer.data, answer.attempts) == (True, {"city": "Oslo"}, 1)
        assert len(up.requests) == 1
