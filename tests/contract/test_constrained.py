from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope import sentences
from vancetope.backends.base import ModelSettings, Request
from vancetope.contract import constrained
from vancetope.contract.examples import action, conversation
from vancetope.contract.rules import Rules
from vancetope.contract.view import View
from vancetope.messages import (
    Accepted,
    Assistant,
    Call,
    Finish,
    History,
    Image,
    Message,
    Note,
    Reply,
    Result,
    System,
    Text,
    ToolSpec,
    User,
    checked,
)
from vancetope.models.base import ModelInfo
from vancetope.outcome import TurnEnd
from vancetope.schema.validate import compile as compiled
from vancetope.tools.respond import respond_spec

STANDARD = ModelInfo(provider="test", name="standard", string_bound=40, thought=True)
TINY = ModelInfo(provider="local", name="tiny", string_bound=200, tier="tiny", thought=True)

CITY = ToolSpec(
    "get_time",
    "Tell the time in a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
WEATHER = replace(CITY, name="get_weather", description="Tell the weather in a city.")
HELLO = User("Hello!")


def view(*messages: Message, turn_end: TurnEnd = "respond", narrowed: bool = False) -> View:
    respond = respond_spec("primary") if turn_end == "respond" else None
    rules = Rules(turn_end=turn_end, respond=respond)
    return View("You are Ford.", messages or (HELLO,), rules, (CITY, WEATHER), narrowed)


def request(shown: View, model: ModelInfo = STANDARD) -> Request:
    return constrained.request(shown, model, ModelSettings(), 10)


def decoded(text: str, shown: View | None = None, model: ModelInfo = STANDARD, **fields: Any) -> Reply:
    return constrained.reply(Reply(text, **fields), shown or view(), model)


def fits(text: str, shown: View, model: ModelInfo = STANDARD) -> bool:
    return not compiled(request(shown, model).response_schema or {}).problems(json.loads(text))


def names(shown: View, model: ModelInfo) -> list[str]:
    return [each.name for each in constrained.actions(shown, model)]


def sides(shown: View, *, tiny: bool = False) -> list[tuple[str, Any]]:
    out = []
    for each in constrained.lowered(shown, tiny=tiny):
        assert isinstance(each, User | Assistant)
        out.append(("user", each.content) if isinstance(each, User) else ("model", each.text))
    assert [side for side, _ in out] == ["user", "model"] * (len(out) // 2) + ["user"] * (len(out) % 2)
    return out


def used(tool: str, text: str = "15:42", *, ok: bool = True, id: str = "c1") -> tuple[Message, ...]:
    return Assistant("", (Call(id, tool, '{"city": "Paris"}'),)), Result(id, tool, text, ok=ok)


# What is asked.


def test_a_standard_model_is_told_what_its_actions_mean() -> None:
    asked = request(view())
    assert asked.tools == ()
    assert asked.messages == (HELLO,)
    assert asked.system.startswith("You are Ford.\n\n")
    assert "- get_weather: Tell the weather in a city." in asked.system
    assert fits('{"thought": "hm", "tool": "get_time", "arguments": {"city": "Paris"}}', view())
    assert fits(
        '{"thought": "", "tool": "respond", "arguments": {"message": "a", "awaiting_user_input": false}}', view()
    )
    assert not fits('{"tool": "get_time", "arguments": {"city": "Paris"}}', view())
    assert not fits('{"thought": "", "tool": "get_date", "arguments": {}}', view())


def test_a_tiny_model_is_shown_a_conversation_and_does_not_think() -> None:
    asked = request(view(), TINY)
    assert asked.system == "You are Ford."
    assert asked.messages == (*conversation((CITY, WEATHER), "respond"), HELLO)
    assert fits('{"tool": "get_time", "arguments": {"city": "Paris"}}', view(), TINY)
    assert not fits('{"thought": "", "tool": "get_time", "arguments": {"city": "Paris"}}', view(), TINY)


def test_a_tiny_model_is_not_asked_whether_it_waits() -> None:
    assert fits('{"tool": "respond", "arguments": {"message": "a"}}', view(), TINY)
    assert not fits('{"tool": "respond", "arguments": {"message": "a", "awaiting_user_input": true}}', view(), TINY)


def test_a_tiny_model_s_conversation_stays_the_same_through_a_turn() -> None:
    first = request(view(), TINY)
    later = request(view(HELLO, *used("get_time"), Note("Stop."), narrowed=True), TINY)
    assert later.system == first.system
    assert later.messages[: len(first.messages) - 1] == first.messages[:-1]


def test_a_tiny_model_s_arguments_are_short_and_its_message_may_be_longer() -> None:
    text = "x" * (constrained.TINY_ARGUMENT_BOUND + 1)
    assert not fits(action("get_time", {"city": text}), view(), TINY)
    assert fits(action("respond", {"message": text}), view(), TINY)


@pytest.mark.parametrize("model", [STANDARD, TINY], ids=lambda each: each.name)
def test_a_narrowed_round_allows_the_end_of_the_turn_alone(model: ModelInfo) -> None:
    assert names(view(narrowed=True), model) == ["respond"]
    assert names(view(narrowed=True, turn_end="natural"), model) == ["answer"]


def test_a_tiny_model_may_use_a_tool_once_until_the_user_speaks() -> None:
    assert names(view(HELLO, *used("get_time")), TINY) == ["get_weather", "respond"]
    assert names(view(HELLO, *used("get_time", ok=False)), TINY) == ["get_weather", "respond"]
    assert names(view(HELLO, *used("get_time"), User("And now?")), TINY) == ["get_time", "get_weather", "respond"]
    assert names(view(HELLO, *used("get_time")), STANDARD) == ["get_time", "get_weather", "respond"]


def test_only_our_own_server_is_told_to_leave_no_space() -> None:
    assert "x-guidance" in (request(view(), TINY).response_schema or {})
    assert "x-guidance" not in (request(view()).response_schema or {})


# What comes back.


def test_an_action_becomes_a_call() -> None:
    reply = decoded('{"thought": "I look.", "tool": "get_time", "arguments": {"city": "Paris"}}')
    assert reply.calls == (Call("", "get_time", '{"city": "Paris"}'),)
    assert (reply.text, reply.thinking, reply.unforced, reply.bounded) == ("", "I look.", False, False)


@pytest.mark.parametrize(
    "text", ["It is late.", '"respond"', "[]", '{"message": "a"}', '{"tool": "respond"}', '{"tool":']
)
def test_what_is_no_action_stays_text_and_was_not_enforced(text: str) -> None:
    reply = decoded(text)
    assert (reply.text, reply.calls, reply.unforced) == (text, (), True)


def test_nothing_is_nothing() -> None:
    assert decoded("") == Reply("")
    assert decoded("", finish=Finish.LENGTH) == Reply("", finish=Finish.LENGTH)


def test_an_action_of_another_tool_is_a_call_that_was_not_enforced() -> None:
    reply = decoded('{"tool": "get_date", "arguments": {}}')
    assert ([each.name for each in reply.calls], reply.unforced) == (["get_date"], True)


def test_a_cut_action_keeps_the_part_of_its_message() -> None:
    cut = '{"thought": "x", "tool": "respond", "arguments": {"message": "It is 15:42 in P'
    reply = decoded(cut, finish=Finish.LENGTH)
    assert (reply.text, reply.calls, reply.unforced) == ("It is 15:42 in P", (), False)


def test_a_cut_call_of_a_tool_has_no_message() -> None:
    assert decoded('{"tool": "get_time", "arguments": {"message": "Pa', finish=Finish.LENGTH).text == ""


def test_cut_prose_stays_as_it_is() -> None:
    reply = decoded("Once upon a", finish=Finish.LENGTH)
    assert (reply.text, reply.unforced) == ("Once upon a", True)


def test_arguments_that_were_encoded_twice_stay_for_the_judge() -> None:
    reply = decoded(json.dumps({"tool": "get_time", "arguments": '{"city": "Paris"}'}))
    assert json.loads(json.loads(reply.calls[0].arguments)) == {"city": "Paris"}


def test_keys_beside_an_action_are_ignored() -> None:
    reply = decoded('{"tool": "get_time", "arguments": {"city": "Paris"}, "id": 7}')
    assert reply.calls == (Call("", "get_time", '{"city": "Paris"}'),)


def test_an_answer_is_text_where_text_ends_the_turn() -> None:
    reply = decoded('{"tool": "answer", "arguments": {"message": "Hello."}}', view(turn_end="natural"))
    assert (reply.text, reply.calls, reply.unforced) == ("Hello.", (), False)


def test_a_text_that_stopped_at_our_bound_is_marked() -> None:
    full = "x" * STANDARD.string_bound
    assert decoded(action("respond", {"message": full})).calls[0].bounded
    assert not decoded(action("respond", {"message": full[1:]})).calls[0].bounded
    assert decoded(action("answer", {"message": full}), view(turn_end="natural")).bounded
    assert decoded(action("get_time", {"city": "x" * constrained.TINY_ARGUMENT_BOUND}), model=TINY).calls[0].bounded


def test_a_text_at_a_bound_of_the_tool_itself_is_not_marked() -> None:
    properties = {
        "code": {"type": "string", "maxLength": 3},
        "word": {"enum": ["x" * 50]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 2}},
    }
    own = replace(CITY, parameters={"type": "object", "properties": properties})
    shown = replace(view(), tools=(own,))
    said = {"code": "abc", "word": "x" * 50, "tags": ["ab"]}
    assert not decoded(action("get_time", said), shown).calls[0].bounded
    inside = {"tags": ["x" * STANDARD.string_bound]}
    assert decoded(action("get_time", inside), replace(view(), tools=(replace(CITY, parameters={}),))).calls[0].bounded


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    arguments=st.dictionaries(st.text(max_size=8), VALUES, max_size=4), name=st.sampled_from(["get_time", "respond"])
)
def test_a_call_that_is_written_and_read_is_the_same(arguments: dict[str, Any], name: str) -> None:
    call = Call("c1", name, json.dumps(arguments, ensure_ascii=False))
    written = constrained.lowered(view(HELLO, Assistant("", (call,)), Result("c1", name, "ok")))[1]
    assert isinstance(written, Assistant)
    assert decoded(written.text).calls == (replace(call, id=""),)


# The conversation so far.


def test_several_calls_of_one_reply_become_one_action_after_another() -> None:
    calls = (Call("c1", "get_time", '{"city": "Paris"}'), Call("c2", "get_weather", '{"city": "Oslo"}'))
    messages = (
        HELLO,
        Assistant("I look.", calls),
        Result("c1", "get_time", "15:42"),
        Result("c2", "get_weather", "rain"),
    )
    assert sides(view(*messages)) == [
        ("user", "Hello!"),
        ("model", action("get_time", {"city": "Paris"})),
        ("user", "Result of get_time:\n15:42"),
        ("model", action("get_weather", {"city": "Oslo"})),
        ("user", "Result of get_weather:\nrain"),
    ]


def test_a_delivered_message_comes_back_as_the_action_in_force() -> None:
    messages = (HELLO, Accepted("Hi.", awaiting_user_input=False), User("Bye."))
    said = {"message": "Hi.", "awaiting_user_input": False}
    assert sides(view(*messages))[1] == ("model", action("respond", said))
    assert sides(view(*messages), tiny=True)[1] == ("model", action("respond", {"message": "Hi."}))
    assert sides(view(*messages, turn_end="natural"))[1] == ("model", action("answer", {"message": "Hi."}))


def test_arguments_that_were_no_json_come_back_as_json() -> None:
    messages = (HELLO, Assistant("", (Call("c1", "get_time", "{broken"),)), Result("c1", "get_time", "Not run."))
    assert sides(view(*messages))[1] == ("model", action("get_time", {"unreadable": "{broken"}))


def test_images_are_kept_where_neighbours_are_joined() -> None:
    image = Image("https://example.org/cat.png")
    assert sides(view(User("See:"), User((Text("this"), image)), User("What is it?"))) == [
        ("user", (Text("See:"), Text("this"), image, Text("What is it?")))
    ]


def test_what_people_read_is_not_sent_and_a_model_never_begins() -> None:
    assert sides(view(System("The model could not be reached."), Accepted("Welcome."), HELLO)) == [("user", "Hello!")]


def test_a_note_follows_what_happened() -> None:
    shown = view(HELLO, *used("get_time"), Note("Finish."))
    assert sides(shown)[-1] == ("user", f"Result of get_time:\n15:42\n\n{sentences.NOTE_PREFIX}Finish.")


def test_a_tiny_model_reads_a_note_before_what_it_is_about() -> None:
    shown = view(HELLO, *used("get_time"), Note("Finish."))
    assert sides(shown, tiny=True)[-1] == ("user", f"{sentences.NOTE_PREFIX}Finish.\n\nResult of get_time:\n15:42")


def test_a_tiny_model_is_asked_again_where_a_note_follows_its_own_text() -> None:
    shown = view(HELLO, Assistant("Well,"), Note("No call."))
    assert sides(shown, tiny=True)[-1] == ("user", f"{sentences.NOTE_PREFIX}No call.\n\nHello!")


def test_a_tiny_model_is_asked_again_after_an_answer_that_was_refused() -> None:
    refused = (
        Assistant("", (Call("c2", "respond", '{"message":"Too long"}'),)),
        Result("c2", "respond", "Shorter.", ok=False),
    )
    assert sides(view(HELLO, *used("get_time"), *refused), tiny=True)[-3:] == [
        ("user", "Result of get_time:\n15:42"),
        ("model", action("respond", {"message": "Too long"})),
        ("user", f"{sentences.NOTE_PREFIX}Shorter.\n\nResult of get_time:\n15:42"),
    ]
    assert sides(view(HELLO, *refused))[-1] == ("user", "Result of respond:\nShorter.")


def test_a_tiny_model_is_told_what_failed_and_not_what_to_call_next() -> None:
    shown = view(HELLO, *used("get_time", "there is no city Pari; near: Paris", ok=False))
    assert sides(shown, tiny=True)[-1] == ("user", "Result of get_time:\nthere is no city Pari")
    assert sides(shown)[-1] == ("user", "Result of get_time:\nthere is no city Pari; near: Paris")


WORDS = st.text(max_size=10)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["user", "note", "text", "accepted", "system", "calls"]))
        text = draw(WORDS)
        match kind:
            case "user":
                messages.append(User(text))
            case "note":
                messages.append(Note(text))
            case "text":
                messages.append(Assistant(text))
            case "accepted":
                messages.append(Accepted(text))
            case "system":
                messages.append(System(text))
            case _:
                ids = [f"c{len(messages)}{each}" for each in range(draw(st.integers(1, 3)))]
                messages.append(Assistant(text, tuple(Call(each, "get_time", draw(WORDS)) for each in ids)))
                messages += [Result(each, "get_time", draw(WORDS)) for each in ids]
    return tuple(messages)


@given(messages=histories(), tiny=st.booleans())
def test_the_sides_take_turns_and_the_user_begins(messages: tuple[Message, ...], tiny: bool) -> None:
    checked(History(messages))
    sides(view(*messages, HELLO), tiny=tiny)


@given(messages=histories(), tiny=st.booleans())
def test_every_message_is_shown_once_a_user_has_spoken(messages: tuple[Message, ...], tiny: bool) -> None:
    chat = "\n".join(str(text) for _, text in sides(view(HELLO, *messages), tiny=tiny))
    for each in messages:
        if isinstance(each, Result | Note):
            assert each.text in chat


@given(messages=histories())
def test_a_tiny_model_reads_a_question_or_a_result_last(messages: tuple[Message, ...]) -> None:
    last = [each for each in (HELLO, *messages) if isinstance(each, User | Result)][-1]
    side, text = sides(view(HELLO, *messages), tiny=True)[-1]
    if side == "user":
        assert str(text).endswith(str(last.content if isinstance(last, User) else last.text))


def test_calls_of_a_tool_api_are_kept_and_show_that_the_constraint_was_dropped() -> None:
    called = (Call("x", "get_time", '{"city": "Paris"}'),)
    kept = decoded('{"tool": "respond", "arguments": {"message": "Hi"}}', calls=called)
    assert (kept.calls, kept.unforced) == (called, True)
    assert kept.text.startswith("{")
