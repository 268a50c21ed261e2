"""What a turn leaves can be stored, sent and built upon, whatever the model wrote; ids are never twice the same."""

from __future__ import annotations

from typing import Any

import pytest

import vancetope as vt
from tests.harness import get_time
from vancetope.backends.base import Request
from vancetope.backends.scripted import Answer, ScriptedBackend, call, calls, raw_call, respond, say
from vancetope.errors import ConfigError
from vancetope.events import Event, MessageCommitted
from vancetope.messages import Accepted, Assistant, Call, History, Result, User

HALF = "half \ud83d of a pair"
WRITTEN: dict[str, tuple[list[Answer], dict[str, Any]]] = {
    "text": ([say(HALF)], {"turn_end": "natural"}),
    "fallback": ([say(HALF)], {"max_validation_corrections": 0}),
    "the name of a call": ([call(HALF), respond("x")], {}),
    "raw arguments": ([raw_call("get_time", '{"city": "' + HALF + '"}'), respond("x")], {}),
}


@pytest.mark.parametrize("where", WRITTEN)
async def test_half_a_surrogate_pair_of_a_model_never_spoils_the_history(where: str) -> None:
    script, options = WRITTEN[where]
    turn = await vt.ask("Go", model=ScriptedBackend(script), tools=[get_time], **options)
    assert History.from_json(turn.messages.to_json()) == turn.messages
    (turn.message or "").encode()


def ids_in(request: Request) -> list[str]:
    return [call.id for each in request.messages if isinstance(each, Assistant) for call in each.calls]


HISTORIES = {
    "an id like that of a delivered message": "a00000003",
    "a long id of c and hexadecimal digits": "c" + "f" * 60,
}


@pytest.mark.parametrize("history", HISTORIES)
async def test_ids_of_a_foreign_history_neither_collide_with_ours_nor_change_their_form(history: str) -> None:
    id = HISTORIES[history]
    past = History((User("a"), Assistant("", (Call(id, "f", "{}"),)), Result(id, "f", "x"), Accepted("b")))
    model = ScriptedBackend([call("get_time", city="x"), respond("y")])
    turn = await vt.ask("Go", model=model, tools=[get_time], history=past)
    for request in model.requests:
        assert len(set(ids_in(request))) == len(ids_in(request))
    ours = [each.id for message in turn.messages[4:] if isinstance(message, Assistant) for each in message.calls]
    assert [len(each) for each in ours] == [9]


async def test_ids_are_nine_letters_and_digits_however_many_calls_a_reply_has() -> None:
    model = ScriptedBackend([calls(*[call("get_time", city=str(each)) for each in range(300)]), respond("y")])
    turn = await vt.ask("Go", model=model, tools=[get_time])
    ids = [each.id for message in turn.messages if isinstance(message, Assistant) for each in message.calls]
    assert {len(each) for each in ids} == {9}


async def test_the_ids_of_messages_differ_from_turn_to_turn_of_one_conversation() -> None:
    events: list[Event] = []
    first = await vt.ask("One", model=ScriptedBackend([respond("1")]), on_event=events.append)
    await vt.ask("Two", model=ScriptedBackend([respond("2")]), on_event=events.append, history=first.messages)
    ids = [event.id for event in events if isinstance(event, MessageCommitted)]
    assert len(set(ids)) == 2


async def test_a_history_with_images_is_refused_for_a_model_that_sees_none() -> None:
    past = History((User((vt.Image("data:image/png;base64,AAAA"),)), Accepted("A cat.")))
    with pytest.raises(ConfigError, match="image"):
        await vt.ask("And now?", model=ScriptedBackend([respond("x")]), history=past)


async def test_a_result_that_was_cut_in_an_earlier_turn_is_offered_for_reading_only_if_it_is_there() -> None:
    def long() -> str:
        """Be long."""
        return "y" * 100_000

    first = await vt.ask("One", model=ScriptedBackend([call("long"), respond("z", True)]), tools=[long])
    model = ScriptedBackend([respond("x")])
    await vt.ask("Two", model=model, tools=[long], history=first.messages)
    assert "result_read" not in [tool.name for tool in model.requests[0].tools]
