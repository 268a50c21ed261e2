"""What people see while a reply is written, for every chunking and both enforcements."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness import play, shown
from vancetope.backends.scripted import call, calls, raw_call, respond, restarted, say
from vancetope.events import MessageCommitted, MessageDelta, MessageRetracted, TextDelta
from vancetope.messages import says_something
from vancetope.outcome import EnforcementName, Outcome

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1).filter(says_something)
FORMS = st.sampled_from(["native", "constrained", "prompted"])


def chunker(sizes: list[int]) -> Any:
    def chunk(text: str) -> list[str]:
        pieces, position, turn = [], 0, 0
        while position < len(text):
            size = sizes[turn % len(sizes)]
            pieces.append(text[position : position + size])
            position, turn = position + size, turn + 1
        return pieces

    return chunk


@given(message=TEXT, sizes=st.lists(st.integers(1, 20), min_size=1, max_size=6), enforcement=FORMS)
async def test_joined_deltas_equal_the_committed_text(
    message: str, sizes: list[int], enforcement: EnforcementName
) -> None:
    played = await play([respond(message)], enforcement, chunking=chunker(sizes), validation=False)
    deltas = "".join(event.text for event in played.of(MessageDelta))
    assert deltas == message == played.turn.message
    assert played.of(MessageRetracted) == []


@given(message=TEXT, after=st.integers(1, 12), enforcement=FORMS)
async def test_a_repeated_request_takes_back_what_was_shown(
    message: str, after: int, enforcement: EnforcementName
) -> None:
    played = await play([restarted(respond(message), after=after)], enforcement, chunking=2)
    assert played.committed == [message]
    retracted = {event.id for event in played.of(MessageRetracted)}
    assert all(event.id not in retracted for event in played.of(MessageCommitted))


@given(text=TEXT, enforcement=FORMS)
async def test_a_fallback_is_sent_as_one_delta_before_its_commit(text: str, enforcement: EnforcementName) -> None:
    played = await play([say(text)], enforcement, max_validation_corrections=0)
    if played.turn.outcome is not Outcome.NATURAL_FALLBACK:
        return  # the text happened to be an action
    assert [event.text for event in played.of(MessageDelta)] == [text]
    assert shown(played.events) == {played.of(MessageCommitted)[0].id: text}


@given(text=TEXT)
async def test_natural_text_streams_as_the_message(text: str) -> None:
    played = await play([say(text)], turn_end="natural", chunking=1)
    assert "".join(event.text for event in played.of(MessageDelta)) == text
    assert played.of(TextDelta) == []


async def test_natural_text_is_taken_back_when_a_call_follows_it() -> None:
    first = calls(call("get_time", city="Paris"), text="Let me see.")
    played = await play([first, say("It is 15:42.")], turn_end="natural")
    assert len(played.of(MessageRetracted)) == 1
    assert played.committed == ["It is 15:42."]


async def test_text_beside_respond_is_narration_and_never_the_message() -> None:
    played = await play([calls(respond("Hello!"), text="Now I greet.")])
    assert "".join(event.text for event in played.of(TextDelta)) == "Now I greet."
    assert played.committed == ["Hello!"]


async def test_a_respond_beside_another_call_is_taken_back_as_soon_as_that_begins() -> None:
    first = calls(respond("It is noon."), call("get_time", city="Paris"))
    played = await play([first, respond("It is 15:42.")], chunking=4)
    assert len(played.of(MessageRetracted)) == 1
    assert played.committed == ["It is 15:42."]


async def test_a_respond_behind_another_call_is_never_shown() -> None:
    first = calls(call("get_time", city="Paris"), respond("It is noon."))
    played = await play([first, respond("It is 15:42.")], chunking=4)
    assert played.of(MessageRetracted) == []
    assert "".join(event.text for event in played.of(MessageDelta)) == "It is 15:42."


@pytest.mark.parametrize(
    "arguments",
    [
        '{"awaiting_user_input": true, "message": "It is 15:42."}',
        '{ "mood" : {"message": "no"}, "message" : "It is 15:42." }',
        '{"message": "It is 15:42.", "message": "It is 15:42."}',
        '"{\\"message\\": \\"It is 15:42.\\"}"',
    ],
)
async def test_the_message_is_found_wherever_it_stands(arguments: str) -> None:
    played = await play([raw_call("respond", arguments)], chunking=1)
    assert played.committed == ["It is 15:42."]
