"""Ford as a process in memory: greeting, follow-up, steer, interrupt, stop, and what is left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vancetope.asked import Asked
from vancetope.backends.scripted import Answer, ScriptedBackend, call, gated, respond, say
from vancetope.errors import ConfigError, IllegalMove, RateLimited
from vancetope.events import Event, MessageCommitted, MessageReceived, MessageRetracted, StatusChanged, TurnEnded
from vancetope.lane import Lane
from vancetope.messages import Accepted, Assistant, History, Result, System, User
from vancetope.outcome import Outcome
from vancetope.prepare import prepare
from vancetope.process import MOVES, CloseReason, Status, moved, rest


class Talk:
    """A lane over a script, and what was seen of it."""

    def __init__(self, script: list[Answer], **asked: Any) -> None:
        self.backend = ScriptedBackend(script)
        self.events: list[Event] = []
        self.lane = Lane(prepare(Asked(model=self.backend, recipe="ford", **asked)), self.events.append)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def statuses(self) -> list[str]:
        return [event.status for event in self.of(StatusChanged)]


async def test_ford_greets_without_asking_the_model() -> None:
    talk = Talk([])
    turn = await talk.lane.start()
    assert (turn.outcome, talk.lane.status, talk.backend.requests) == (Outcome.STARTED, Status.READY, [])
    assert turn.message == "Ford here. Ask me anything."
    assert talk.lane.history.messages == (Accepted("Ford here. Ask me anything."),)


async def test_a_process_that_begins_with_a_message_answers_it_instead() -> None:
    talk = Talk([respond("Hello!")])
    turn = await talk.lane.start("Hi")
    assert turn.message == "Hello!"
    assert talk.lane.history.messages == (User("Hi"), Accepted("Hello!"))


async def test_a_worker_does_not_greet_and_rests_idle() -> None:
    talk = Talk([respond("Done.")], role="worker")
    await talk.lane.start()
    assert (talk.lane.status, talk.of(MessageCommitted)) == (Status.IDLE, [])
    talk.lane.post("Do it")
    turn = await talk.lane.settled()
    assert (turn.outcome, talk.lane.status) == (Outcome.RESPOND, Status.IDLE)


async def test_the_greeting_is_never_shown_to_the_model_as_the_users_side() -> None:
    talk = Talk([respond("Hello!")])
    await talk.lane.start()
    talk.lane.post("Hi")
    await talk.lane.settled()
    assert talk.backend.requests[0].messages == (User("Hi"),)


async def test_a_conversation_remembers_and_waits() -> None:
    talk = Talk([respond("Hello!"), respond("You said Hi.")])
    for text in ("Hi", "What did I say?"):
        talk.lane.post(text)
        await talk.lane.settled()
    assert [type(each) for each in talk.lane.history] == [User, Accepted, User, Accepted]
    assert talk.lane.status is Status.BLOCKED
    assert talk.statuses == ["running", "blocked", "running", "blocked"]


async def test_a_follow_up_waits_for_the_next_turn_and_a_steer_joins_the_next_round() -> None:
    gate = asyncio.Event()
    talk = Talk([gated(call("clock"), gate), respond("Noon, in French."), respond("And then.")])
    talk.lane.post("What time is it?")
    await asyncio.sleep(0)
    talk.lane.post("After that, tell a joke.")
    talk.lane.post("In French, please.", "steer")
    gate.set()
    await talk.lane.settled()
    first, second, third = (request.messages for request in talk.backend.requests)
    assert first == (User("What time is it?"),)
    assert second[-1] == User("In French, please.")
    assert third[-1] == User("After that, tell a joke.")
    users = [each.content for each in talk.lane.history if isinstance(each, User)]
    assert sorted(users) == sorted(["What time is it?", "In French, please.", "After that, tell a joke."])
    assert [event.mode for event in talk.of(MessageReceived)] == ["follow_up", "follow_up", "steer"]


async def test_a_steer_that_an_accepted_answer_overtakes_starts_the_next_turn() -> None:
    gate = asyncio.Event()
    talk = Talk([gated(respond("Noon."), gate), respond("Midi.")])
    talk.lane.post("What time is it?")
    await asyncio.sleep(0)
    talk.lane.post("In French, please.", "steer")
    gate.set()
    await talk.lane.settled()
    assert [event.text for event in talk.of(MessageCommitted)] == ["Noon.", "Midi."]


@pytest.mark.parametrize("after", [0, 1, 4])
async def test_an_interrupt_during_a_reply_takes_back_what_was_shown(after: int) -> None:
    gate = asyncio.Event()
    talk = Talk([gated(respond("It is noon in Paris."), gate, after=after), respond("Yes?")])
    talk.lane.post("What time is it?")
    while not talk.backend.requests:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    talk.lane.interrupt()
    turn = await talk.lane.settled()
    assert (turn.outcome, talk.lane.status) == (Outcome.INTERRUPTED, Status.BLOCKED)
    assert talk.of(MessageCommitted) == []
    assert len(talk.of(MessageRetracted)) == (1 if turn.best_text else 0)
    talk.lane.post("Go on")
    assert (await talk.lane.settled()).message == "Yes?"


async def test_an_interrupt_during_a_tool_gives_its_call_a_result() -> None:
    started = asyncio.Event()

    async def dig() -> str:
        """Dig."""
        started.set()
        await asyncio.sleep(30)
        return "gold"

    talk = Talk([call("dig"), respond("I stopped.")], tools=[dig])
    talk.lane.post("Dig")
    await started.wait()
    talk.lane.interrupt()
    turn = await talk.lane.settled()
    assert turn.outcome is Outcome.INTERRUPTED
    assert [each.text for each in turn.messages if isinstance(each, Result)] == ["interrupted"]
    talk.lane.post("And?")
    await talk.lane.settled()
    assert [type(each) for each in talk.backend.requests[1].messages] == [User, Assistant, Result, User]


async def test_an_interrupt_can_take_back_the_queue() -> None:
    gate = asyncio.Event()
    talk = Talk([gated(respond("Noon."), gate)])
    talk.lane.post("What time is it?")
    await asyncio.sleep(0)
    talk.lane.post("And tomorrow?")
    assert talk.lane.interrupt(drop_queue=True) == (User("And tomorrow?"),)
    turn = await talk.lane.settled()
    assert turn.outcome is Outcome.INTERRUPTED
    assert talk.lane.status is Status.BLOCKED


async def test_an_interrupt_at_rest_does_nothing() -> None:
    talk = Talk([respond("Noon.")])
    talk.lane.post("Hi")
    await talk.lane.settled()
    talk.lane.interrupt()
    assert talk.lane.status is Status.BLOCKED
    assert len(talk.of(TurnEnded)) == 1


async def test_stop_ends_the_running_turn_and_closes_for_good() -> None:
    gate = asyncio.Event()
    talk = Talk([gated(respond("Noon."), gate)])
    talk.lane.post("What time is it?")
    await asyncio.sleep(0.01)
    await talk.lane.stop()
    assert (talk.lane.status, talk.lane.close_reason) == (Status.CLOSED, CloseReason.STOPPED)
    assert talk.of(TurnEnded)[0].data.outcome is Outcome.STOPPED
    with pytest.raises(IllegalMove, match="closed"):
        talk.lane.post("Hello?")


async def test_a_failed_turn_says_so_and_the_next_one_works() -> None:
    talk = Talk([RateLimited("too many requests"), respond("Back.")])
    talk.lane.post("Hi")
    turn = await talk.lane.settled()
    assert (turn.outcome, talk.lane.status) == (Outcome.MODEL_ERROR, Status.READY)
    assert talk.lane.history[-1] == System("too many requests")
    talk.lane.post("Again")
    assert (await talk.lane.settled()).message == "Back."
    assert not any(isinstance(each, System) for each in talk.backend.requests[1].messages)


async def test_a_worker_that_fails_is_closed() -> None:
    talk = Talk([say("a"), RateLimited("too many requests")], role="worker")
    talk.lane.post("Do it")
    turn = await talk.lane.settled()
    assert (talk.lane.status, talk.lane.close_reason) == (Status.CLOSED, CloseReason.INCOMPLETE)
    assert turn.best_text == "a"


async def test_nothing_is_left_running() -> None:
    before = asyncio.all_tasks()
    gate = asyncio.Event()
    talk = Talk([gated(respond("Noon."), gate)])
    talk.lane.post("Hi")
    await asyncio.sleep(0.01)
    await talk.lane.stop()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


def test_every_outcome_rests_somewhere_legal() -> None:
    for outcome in Outcome:
        for role in ("primary", "worker"):
            for awaiting in (True, False):
                status, reason = rest(outcome, role, awaiting=awaiting)
                assert moved(Status.RUNNING, status) is status
                assert (reason is not None) == (status is Status.CLOSED)


def test_an_illegal_move_names_what_was_expected() -> None:
    with pytest.raises(IllegalMove, match=r"ready cannot become idle; expected closed, paused, running"):
        moved(Status.READY, Status.IDLE)
    assert MOVES[Status.CLOSED] == frozenset()


async def test_history_can_be_carried_into_a_new_process() -> None:
    talk = Talk([call("clock", timezone="UTC"), respond("It is noon.")])
    talk.lane.post("What time is it?")
    turn = await talk.lane.settled()
    again = ScriptedBackend([call("clock", timezone="UTC"), respond("Still noon.")])
    kept = History.from_json(turn.messages.to_json())
    seen: list[Event] = []
    lane = Lane(prepare(Asked(model=again, recipe="ford")), seen.append, history=kept)
    lane.post("And now?")
    await lane.settled()
    ids = [each.id for message in lane.history if isinstance(message, Assistant) for each in message.calls]
    assert ids == ["c00100000", "c00200000"]


async def test_a_process_rests_after_what_no_turn_can_report() -> None:
    talk = Talk([])
    talk.lane.post("Hi")
    with pytest.raises(ConfigError, match="script"):
        await talk.lane.settled()
    assert talk.lane.status is Status.READY
