"""One turn, one message (C48 to C53), however often and wherever the model says it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import vancetope
from tests.cases.playing import EACH, PROMPT, Line, answer, at, clockwork, content, play, users
from vancetope.backends.faults import KINDS, FaultServer
from vancetope.backends.faults.fault import DONE
from vancetope.backends.scripted import respond, say
from vancetope.events import MessageCommitted, TextDelta, UsageRecorded
from vancetope.messages import Accepted, Usage
from vancetope.outcome import EnforcementName, Outcome


@EACH
@pytest.mark.parametrize("kind", ["text_and_respond", "final_twice", "two_responds", "respond_after_work"])
async def test_c48_one_turn_leaves_one_message_under_one_id(kind: str, enforcement: EnforcementName) -> None:
    async with FaultServer(lambda asked: KINDS[kind] if len(asked.messages) == 2 else answer) as server:
        line = Line(server, enforcement)
        line.lane.post("What time is it?")
        turn = await line.lane.settled()
    line.keeps_promises()
    commits = [event for event in line.events if isinstance(event, MessageCommitted)]
    assert [event.text for event in commits] == [turn.message]
    assert sum(isinstance(message, Accepted) for message in turn.messages) == 1


@EACH
async def test_c49_equal_answers_of_different_turns_are_all_delivered_under_different_ids(
    enforcement: EnforcementName,
) -> None:
    async with FaultServer(lambda asked: respond("It is 15:42.")) as server:
        line = Line(server, enforcement, tools=())
        for _ in range(4):
            line.lane.post("What time is it?")
            await line.lane.settled()
    line.keeps_promises()
    commits = [event for event in line.events if isinstance(event, MessageCommitted)]
    assert [event.text for event in commits] == ["It is 15:42."] * 4
    assert len({event.id for event in commits}) == 4
    assert users(line.lane.history) == ["What time is it?"] * 4


async def test_c49_an_answer_equal_to_an_earlier_narration_is_still_an_answer() -> None:
    played = await play([say("It is 15:42."), respond("It is 15:42.")])
    assert played.committed == ["It is 15:42."]


async def test_c51_every_field_of_a_servers_reply_reaches_the_turn() -> None:
    usage = Usage(1000, 200, cached_tokens=300, thinking_tokens=40)
    reply = replace(respond("Hello."), thinking="Hm.", text="Beside it.", usage=usage)
    played = await play([reply])
    assert played.turn.usage == usage
    assert [(event.model, event.usage) for event in played.of(UsageRecorded)] == [("test", usage)]
    assert "".join(event.text for event in played.of(TextDelta)) == "Beside it."
    assert played.turn.message == "Hello."


@EACH
@pytest.mark.parametrize("beside", ["Memory updated: user likes tea.", DONE, "Done.", "x" * 5000])
async def test_c52_text_beside_an_accepted_answer_is_never_delivered(beside: str, enforcement: EnforcementName) -> None:
    played = await play([replace(answer, text=beside)], enforcement)
    assert (played.turn.outcome, played.committed) == (Outcome.RESPOND, ["It is 15:42 in Paris."])
    assert beside not in played.turn.messages.to_json()
    assert len(played.requests) == 1


@EACH
async def test_c52_nobody_asks_for_a_text_after_an_accepted_answer(enforcement: EnforcementName) -> None:
    async with FaultServer([answer, say("The user was told the time.")]) as server:
        turn = await vancetope.ask(PROMPT, enforcement=enforcement, **at(server))
        assert (turn.message, server.left) == ("It is 15:42 in Paris.", 1)


@EACH
async def test_c53_an_accepted_answer_is_in_the_next_request_exactly_once(enforcement: EnforcementName) -> None:
    async with FaultServer(clockwork) as server:
        line = Line(server, enforcement, tools=())
        line.lane.post("Say one.")
        first = await line.lane.settled()
        line.lane.post("Say two.")
        await line.lane.settled()
    line.keeps_promises()
    assert first.message == "You said: Say one."
    texts = [str(message) for message in server.requests[-1].messages if message["role"] != "system"]
    assert sum("You said: Say one." in text for text in texts) == 1
    assert sum(isinstance(message, Accepted) for message in line.lane.history) == 2
    if enforcement == "native":
        assert [content(message) for message in server.requests[-1].messages if message["role"] == "tool"] == [
            "Delivered to the user."
        ]


@EACH
async def test_c53_a_message_that_was_refused_is_not_shown_to_later_turns(enforcement: EnforcementName) -> None:
    async with FaultServer([KINDS["two_responds"], answer, answer]) as server:
        line = Line(server, enforcement)
        line.lane.post("What time is it?")
        await line.lane.settled()
        line.lane.post("Once more.")
        await line.lane.settled()
    line.keeps_promises()
    assert "raining" not in str(server.requests[-1].messages)
    assert "It is 15:42 in Paris." in str(server.requests[-1].messages)
