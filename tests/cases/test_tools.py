"""Names, arguments and outputs of tools, and the room they take (C80 to C99)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
import stamina
from pydantic import BaseModel, ConfigDict

from tests.cases.playing import (
    EACH,
    PROMPT,
    Line,
    answer,
    brief,
    content,
    ends_with,
    everything,
    paris,
    play,
    told,
    users,
    work_calls,
    work_results,
)
from vancetope.backends.faults import KINDS, FaultServer, Given, Wire
from vancetope.backends.scripted import action, call, calls, raw_call, respond
from vancetope.events import MessageDelta, Notice, ToolStarted
from vancetope.messages import Accepted, Assistant, Call, History, Message, Result, User
from vancetope.outcome import EnforcementName, Outcome

# Names.


@EACH
@pytest.mark.parametrize("name", ["get_tiem", "getTime", "GET_TIME", "get-time", "functions.get_time"])
async def test_c80_a_name_that_is_nearly_right_is_answered_with_the_right_one(
    name: str, enforcement: EnforcementName
) -> None:
    played = await play([call(name, city="Paris"), paris, answer], enforcement)
    assert played.turn.outcome is Outcome.RESPOND
    assert "get_time" in told(played.requests[1])
    assert (played.turn.corrections, played.turn.model_calls) == (0, 3)
    assert [result.ok for result in work_results(played.turn)] == [False, True]


@EACH
@pytest.mark.parametrize("kind", ["unknown_tool", "empty_name", "odd_name"])
async def test_c80_three_names_in_a_row_that_are_none_end_in_a_last_round(
    kind: str, enforcement: EnforcementName
) -> None:
    script: list[Given] = [KINDS[kind], KINDS[kind], KINDS[kind], answer]
    played = await play(script, enforcement)
    assert (played.turn.outcome, played.turn.narrowed, len(played.requests)) == (Outcome.RESPOND, True, 4)
    assert played.of(ToolStarted) == []
    after = await play([answer], enforcement, history=played.turn.messages)
    assert after.turn.outcome is Outcome.RESPOND


async def test_c80_calls_without_a_name_are_told_so() -> None:
    script: list[Given] = [KINDS["no_name"], paris, answer]
    played = await play(script)
    assert [result.ok for result in work_results(played.turn)] == [False, True]
    assert "no tool named" in told(played.requests[1])


@EACH
async def test_c80_a_name_like_nothing_is_answered_with_all_there_are(enforcement: EnforcementName) -> None:
    played = await play([call("zzz"), answer], enforcement)
    said = told(played.requests[1])
    assert all(name in said for name in ("zzz", "get_time", "get_weather", "respond"))


@EACH
async def test_c81_an_unknown_name_is_never_taken_for_somebody_elses(enforcement: EnforcementName) -> None:
    played = await play([call("browser_click", x=1), answer], enforcement)
    assert len(played.requests) == 2
    assert [(result.name, result.ok) for result in work_results(played.turn)] == [("browser_click", False)]
    assert played.turn.outcome is not Outcome.CLIENT_CALLS


@EACH
async def test_c81_respond_under_natural_is_an_unknown_name_like_any_other(enforcement: EnforcementName) -> None:
    script = [respond("Hello."), ends_with("It is late.", enforcement)]
    played = await play(script, enforcement, turn_end="natural")
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL, "It is late.")
    assert "no tool named 'respond'" in told(played.requests[1])


# Arguments.


def order(
    item: str,
    count: int = 1,
    price: float = 0.0,
    gift: bool = False,
    sizes: list[int] | None = None,
    options: dict[str, int] | None = None,
) -> str:
    """Order something."""
    return json.dumps([item, count, price, gift, sizes, options])


class Place(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str


AS_TEXT: list[tuple[dict[str, Any], list[Any]]] = [
    ({"count": "3"}, ["tea", 3, 0.0, False, None, None]),
    ({"price": "2.5"}, ["tea", 1, 2.5, False, None, None]),
    ({"gift": "true"}, ["tea", 1, 0.0, True, None, None]),
    ({"sizes": "[1, 2]"}, ["tea", 1, 0.0, False, [1, 2], None]),
    ({"options": '{"sugar": 2}'}, ["tea", 1, 0.0, False, None, {"sugar": 2}]),
    ({"sizes": "null"}, ["tea", 1, 0.0, False, None, None]),
]


@EACH
@pytest.mark.parametrize(
    ("given", "wanted"), AS_TEXT, ids=lambda each: "-".join(each) if isinstance(each, dict) else ""
)
async def test_c83_a_value_that_came_as_text_is_decoded_once_where_the_schema_wants_another_type(
    given: dict[str, Any], wanted: list[Any], enforcement: EnforcementName
) -> None:
    played = await play([call("order", item="tea", **given), answer], enforcement, tools=[order])
    (result,) = work_results(played.turn)
    assert (result.ok, json.loads(result.text)) == (True, wanted)
    assert played.turn.corrections == 0


@EACH
@pytest.mark.parametrize("text", ["3", "true", "null", '{"a": 1}', "[1]", '"quoted"', "1e999"])
async def test_c83_a_value_that_may_be_text_is_never_decoded(text: str, enforcement: EnforcementName) -> None:
    played = await play([call("order", item=text), answer], enforcement, tools=[order])
    assert json.loads(work_results(played.turn)[0].text)[0] == text


@pytest.mark.parametrize("kind", ["object_arguments", "double_encoded", "stop_with_call", "old_style_call"])
async def test_c83_whole_arguments_in_another_dress_are_understood(kind: str) -> None:
    played = await play([KINDS[kind], answer])
    assert [(result.name, result.text) for result in work_results(played.turn)] == [
        ("get_time", "It is 15:42 in Paris.")
    ]


@EACH
async def test_c83_only_one_level_is_decoded(enforcement: EnforcementName) -> None:
    played = await play([call("order", item="tea", options={"sugar": "2"}), answer], enforcement, tools=[order])
    (result,) = work_results(played.turn)
    assert not result.ok
    assert "/options/sugar" in result.text


@EACH
@pytest.mark.parametrize("inner", ['{"admin": true}', '{"city": "Paris", "admin": true}', '{"city": 5}'])
async def test_c84_what_hides_in_a_text_is_decoded_before_it_is_checked(
    inner: str, enforcement: EnforcementName
) -> None:
    ran: list[Any] = []

    def visit(place: Place) -> str:
        """Visit a place."""
        ran.append(place)
        return "visited"

    played = await play([call("visit", place=inner), answer], enforcement, tools=[visit])
    assert (ran, work_results(played.turn)[0].ok) == ([], False)
    assert "/place" in work_results(played.turn)[0].text


@EACH
@pytest.mark.parametrize(
    "wrapped",
    ['{"output": {"city": "Paris"}}', '{"arguments": {"city": "Paris"}}', '{"city": {"city": "Paris"}}', '["Paris"]'],
)
async def test_c85_arguments_inside_another_object_are_an_error_that_names_what_is_missing(
    wrapped: str, enforcement: EnforcementName
) -> None:
    played = await play([raw_call("get_time", wrapped), paris, answer], enforcement)
    if enforcement == "prompted" and wrapped.startswith("["):
        assert (played.turn.repairs, played.turn.rounds) == (1, 2)  # no envelope holds such arguments
        return
    assert [result.ok for result in work_results(played.turn)] == [False, True]
    assert "do not fit" in told(played.requests[1])


@EACH
async def test_c85_a_wrapped_answer_is_refused_and_told_so(enforcement: EnforcementName) -> None:
    played = await play([raw_call("respond", '{"output": {"message": "Hello."}}'), answer], enforcement)
    assert (played.rows, played.committed) == (["invalid_respond"], ["It is 15:42 in Paris."])


@pytest.mark.parametrize("bad", ['{"city": NaN}', '{"city": Infinity}', '{"city": 1e999}', '{"city": "\\ud800"}'])
async def test_c95_what_is_no_strict_json_is_no_argument(bad: str) -> None:
    played = await play([raw_call("get_time", bad), answer])
    assert [result.ok for result in work_results(played.turn)] == [False]
    assert played.of(ToolStarted) == []
    after = await play([answer], history=played.turn.messages)
    assert after.turn.outcome is Outcome.RESPOND


async def test_c95_a_tool_that_returns_a_number_that_json_cannot_hold_breaks_no_request() -> None:
    def ratio(city: str) -> dict[str, float]:
        """Tell a ratio."""
        return {"nan": float("nan"), "inf": float("inf")}

    played = await play([call("ratio", city="x"), answer], tools=[ratio])
    assert json.loads(work_results(played.turn)[0].text) == {"nan": "NaN", "inf": "Infinity"}


# Outputs.

MEGABYTE = 1024 * 1024


def dump(megabytes: int, seed: str = "x") -> str:
    """Return a lot of text."""
    return "begin " + seed * (megabytes * MEGABYTE) + " end"


@pytest.mark.timeout(60)
async def test_c86_a_result_of_200_mb_leaves_head_tail_and_a_handle_and_can_be_read_on() -> None:
    started = time.monotonic()
    script = [
        call("dump", megabytes=200),
        call("result_read", handle="r-c00100000", offset=100 * MEGABYTE, length=50),
        brief,
    ]
    played = await play(script, tools=[dump])
    assert time.monotonic() - started < 15
    first, second = work_results(played.turn)
    assert first.size == 200 * MEGABYTE + 10
    assert first.handle == "r-c00100000"
    assert first.text.startswith("begin xxx")
    assert first.text.endswith("xxx end")
    assert len(first.text.encode()) <= 32 * 1024
    assert second.ok
    assert second.text.endswith("x" * 50)
    assert all(asked.size < 48 * 1024 for asked in played.requests)
    assert ["result_read" in asked.tools for asked in played.requests] == [False, True, True]
    assert len(played.turn.messages.to_json()) < 48 * 1024


@EACH
async def test_c86_many_capped_results_do_not_break_the_next_request(enforcement: EnforcementName) -> None:
    window = 16_000
    async with FaultServer(lambda asked: heavy(asked.number)) as server:
        line = Line(server, enforcement, tools=[dump], fields={"contextWindow": window})
        for number in range(6):
            line.lane.post(f"Dump {number}")
            assert (await line.lane.settled()).outcome is Outcome.RESPOND
        turn = await line.lane.settled()
    line.keeps_promises()
    assert all(asked.size < window * 3 for asked in server.requests), "a third of its bytes are tokens, cautiously"
    assert any(isinstance(event, Notice) and "oldest" in event.text for event in line.events)
    assert len(work_results(turn)) == 6


def heavy(number: int) -> Given:
    """A heavy result in every first request of a turn, then the answer."""
    return call("dump", megabytes=1, seed=str(number % 10)) if number % 2 else brief


@EACH
async def test_c86_a_turn_that_alone_is_too_large_is_told_so_without_another_request(
    enforcement: EnforcementName,
) -> None:
    many = calls(*(call("dump", megabytes=1, seed=str(number)) for number in range(9)))
    played = await play([many], enforcement, tools=[dump], fields={"contextWindow": 16_000})
    assert (played.turn.outcome, len(played.requests)) == (Outcome.CONTEXT_OVERFLOW, 1)
    assert "16" in played.turn.reason or "fit" in played.turn.reason
    after = await play([answer], enforcement, history=played.turn.messages, fields={"contextWindow": 16_000})
    assert after.turn.outcome is Outcome.RESPOND
    assert users(after.turn.messages) == [PROMPT, PROMPT]


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", "\x1b[31mred\x1b[0m", "", " \n", "﷽" * 50_000])
async def test_c86_an_odd_output_breaks_no_request(odd: str) -> None:
    def say_odd(city: str) -> str:
        """Say something odd."""
        return odd

    played = await play([call("say_odd", city="x"), brief], tools=[say_odd])
    assert played.turn.outcome is Outcome.RESPOND
    assert len(work_results(played.turn)[0].text.encode()) <= 32 * 1024


# Room.


@EACH
@pytest.mark.parametrize("kind", sorted(name for name in KINDS if name.startswith("context_")))
async def test_c87_a_server_that_says_too_long_is_not_asked_again(kind: str, enforcement: EnforcementName) -> None:
    with stamina.set_testing(True, attempts=5, cap=True):
        played = await play(lambda asked: KINDS[kind], enforcement)
    assert (played.turn.outcome, len(played.requests)) == (Outcome.CONTEXT_OVERFLOW, 1)


@EACH
async def test_c87_what_does_not_fit_is_known_before_anything_is_paid(enforcement: EnforcementName) -> None:
    played = await play([], enforcement, prompt="word " * 20_000, fields={"contextWindow": 8000})
    assert (played.turn.outcome, played.requests) == (Outcome.CONTEXT_OVERFLOW, [])
    assert "8" in played.turn.reason or "fit" in played.turn.reason


def heavy_turn(pairs: int) -> list[Message]:
    """One user message, this many calls with their results, one answer."""
    messages: list[Message] = [User("Look at everything.")]
    for number in range(pairs):
        made = Call(f"c001{number:03x}00", "get_time", '{"city": "Paris"}')
        messages += [Assistant("", (made,)), Result(made.id, "get_time", "It is 15:42. " * 40, size=520)]
    return [*messages, Accepted("I have looked at everything.")]


@EACH
async def test_c89_a_turn_of_two_hundred_calls_makes_room_as_a_whole(enforcement: EnforcementName) -> None:
    past = History(tuple(heavy_turn(200)))
    played = await play([answer], enforcement, history=past, fields={"contextWindow": 16_000})
    assert played.turn.outcome is Outcome.RESPOND
    assert "Look at everything." not in everything(played.requests[0])
    assert [content(message) for message in played.requests[0].messages[1:]] == [PROMPT]
    assert len([each for each in played.of(Notice) if "oldest" in each.text]) == 1
    assert len(played.turn.messages) == len(past) + 2, "nothing of it is forgotten by the caller's side"
    wide = await play([answer], enforcement, history=past, fields={"contextWindow": 400_000})
    assert "Look at everything." in everything(wide.requests[0])
    assert [each for each in wide.of(Notice) if "oldest" in each.text] == []


# Streamed arguments.

TEXT = 'Grüße "Zürich" \\ \n 👋🏽 \u0001 再见 \u2028 end'
SPELLINGS: Mapping[str, str] = {
    "plain": json.dumps({"message": TEXT, "awaiting_user_input": True}, ensure_ascii=False),
    "escaped": json.dumps({"message": TEXT, "awaiting_user_input": True}),
    "message_last": json.dumps({"awaiting_user_input": True, "message": TEXT}),
    "spaced": '{ \n"message" :\t' + json.dumps(TEXT) + " \n}",
    "escaped_key": json.dumps({"message": TEXT}).replace('"message"', '"\\u006dessage"'),
    "decoy": json.dumps({"note": '"message": "no"', "message": TEXT}),
}


@EACH
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_c99_a_message_arrives_the_same_in_every_chunking(spelling: str, enforcement: EnforcementName) -> None:
    arguments = SPELLINGS[spelling]
    for chunking in (*range(1, 9), 13, 31, len(arguments)):
        server = FaultServer([raw_call("respond", arguments)], wire=Wire(chunking=chunking))
        played = await play([], enforcement, server=server)
        assert played.turn.message == TEXT
        assert "".join(event.text for event in played.of(MessageDelta)) == TEXT
        if chunking <= 8 and spelling != "escaped_key":
            assert len(played.of(MessageDelta)) > 3, "it is streamed while it is written"


@pytest.mark.parametrize("packet", [1, 2, 3, 7, 64])
async def test_c99_a_message_arrives_the_same_in_packets_of_any_size(packet: int) -> None:
    server = FaultServer([raw_call("respond", SPELLINGS["plain"])], wire=Wire(packet=packet))
    played = await play([], server=server)
    assert "".join(event.text for event in played.of(MessageDelta)) == TEXT


async def test_c99_arguments_never_leak_into_the_narration() -> None:
    server = FaultServer([calls(paris, text="Looking."), answer], wire=Wire(chunking=1))
    played = await play([], server=server)
    assert "city" not in "".join(event.text for event in played.events if event.type == "text_delta")
    assert work_calls(played.turn.messages) == ["get_time"]


async def test_c99_an_action_text_is_not_shown_as_narration() -> None:
    server = FaultServer([action("get_time", city="Paris"), action("respond", message="Hi.")], wire=Wire(chunking=1))
    played = await play([], "constrained", server=server)
    assert played.committed == ["Hi."]
    assert [event for event in played.events if event.type == "text_delta"] == []
