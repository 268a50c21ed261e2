"""One turn suite over all providers: what a turn does, asked of each provider in its own dialect, streamed and not."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

import vancetope
from tests.cases.playing import PROMPT, TOOLS, answer, brief, oslo, paris, roles, until, work_calls, work_results
from tests.providers.providing import EVERY, KEY, OPEN, TOLD, WAYS, Provider, address, info, play
from vancetope.backends.direct import connect
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, first
from vancetope.backends.faults.fault import DONE
from vancetope.backends.faults.fields import CALLS, FIELDS
from vancetope.backends.faults.sayings import RESPONDS, SAYINGS
from vancetope.backends.scripted import call, calls, cut, empty, respond, say, think
from vancetope.events import TextDelta
from vancetope.messages import Accepted, Assistant
from vancetope.outcome import Enforcement, Outcome

NOTED = "It is 15:42 in Paris."


@EVERY
@WAYS
async def test_a_tool_turn_ends_with_respond(provider: Provider, streams: bool) -> None:
    played = await play([paris, answer], provider, streams, instructions="Be kind.")
    assert (played.turn.outcome, played.turn.message) == (Outcome.RESPOND, NOTED)
    assert (played.turn.rounds, played.turn.corrections) == (2, 0)
    assert played.turn.enforcement == Enforcement("native", "native")
    one, two = played.requests
    assert (one.forced, two.forced) == (None, None)
    assert list(one.tools) == list(two.tools)
    assert {"get_time", "get_weather", "respond"} <= one.tools.keys()
    assert one.tools["get_time"]["properties"]["city"]["type"] == "string"
    assert one.turns == [("user", PROMPT)]
    assert two.turns == [("user", PROMPT), ("assistant", ""), ("tool", "It is 15:42 in Paris.")]
    assert one.system == two.system
    assert "Be kind." in one.system
    (made,) = two.messages[2]["tool_calls"]
    assert (made["function"]["name"], json.loads(made["function"]["arguments"])) == ("get_time", {"city": "Paris"})
    assert two.messages[3]["tool_call_id"] == made["id"]
    assert [message.ok for message in work_results(played.turn)] == [True]


@EVERY
@WAYS
async def test_text_alone_is_corrected_in_its_place(provider: Provider, streams: bool) -> None:
    played = await play([say("I will look at the clock."), paris, brief], provider, streams)
    assert (played.turn.outcome, played.turn.corrections) == (Outcome.RESPOND, 1)
    _, two, _ = played.requests
    assert [role for role, _ in two.turns] == ["user", "assistant", "user"]
    assert two.turns[1] == ("assistant", "I will look at the clock.")
    assert "respond" in two.turns[2][1]
    assert len({asked.system for asked in played.requests}) == 1, "a correction never moves into the system prompt"


@EVERY
@WAYS
async def test_what_went_before_is_sent_again_as_it_was(provider: Provider, streams: bool) -> None:
    script = [say("First."), calls(paris, oslo, text="Both."), call("get_tiem", city="Rome"), brief]
    played = await play(script, provider, streams)
    assert played.turn.outcome is Outcome.RESPOND
    for before, after in zip(played.requests, played.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        assert after.tools == before.tools


@EVERY
@WAYS
async def test_two_calls_of_one_reply_have_two_results_in_order(provider: Provider, streams: bool) -> None:
    played = await play([calls(paris, oslo, text="Both at once."), brief], provider, streams)
    assert played.turn.outcome is Outcome.RESPOND
    last = played.requests[1]
    assert roles(last) == ["system", "user", "assistant", "tool", "tool"]
    assert last.turns[1:] == [
        ("assistant", "Both at once."),
        ("tool", "It is 15:42 in Paris."),
        ("tool", "Rain in Oslo."),
    ]
    ids = [made["id"] for made in last.messages[2]["tool_calls"]]
    assert [each["tool_call_id"] for each in last.messages[3:]] == ids
    assert len(set(ids)) == 2
    if streams:
        assert "".join(each.text for each in played.of(TextDelta)) == "Both at once."


@EVERY
@WAYS
async def test_respond_beside_work_is_not_taken(provider: Provider, streams: bool) -> None:
    played = await play([calls(paris, respond("It rains.", True)), brief], provider, streams)
    assert (played.turn.outcome, played.turn.message) == (Outcome.RESPOND, NOTED)
    assert work_calls(played.turn.messages) == ["get_time"]
    results = [text for role, text in played.requests[1].turns if role == "tool"]
    assert results[0] == "It is 15:42 in Paris."
    assert "last and only call" in results[1]
    assert "It rains." not in str(played.turn.messages)


@EVERY
@WAYS
async def test_the_last_round_forces_the_end(provider: Provider, streams: bool) -> None:
    played = await play([paris, oslo, brief], provider, streams, max_iterations=2)
    assert (played.turn.outcome, played.turn.narrowed) == (Outcome.RESPOND, True)
    assert [asked.forced for asked in played.requests] == [None, None, "respond"]
    assert list(played.requests[2].tools) == ["respond"]


@EVERY
@WAYS
async def test_a_forced_end_that_is_ignored_is_taken_as_it_comes(provider: Provider, streams: bool) -> None:
    script: list[Given] = [paris, KINDS["constraint_ignored"]]
    played = await play(script, provider, streams, max_iterations=1)
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL_FALLBACK, DONE)


THINKERS: list[tuple[Provider, str, str | None]] = [
    ("anthropic", "claude-haiku-4-5", None),  # a budget for thinking and a forced choice exclude each other
    ("anthropic", "claude-opus-5-5", None),  # takes no forced choice at all
    ("anthropic", "claude-sonnet-5-5", None),
    ("anthropic", "claude-opus-5", "respond"),
    ("anthropic", "claude-haiku-5-5", "respond"),  # its thinking is bound to the tools, which are others now
    ("gemini", "gemini-3.8-flash", "respond"),
    ("openai", "gpt-5-mini", "respond"),
]


@pytest.mark.parametrize(("provider", "model", "forced"), THINKERS)
@WAYS
async def test_a_model_that_thinks_is_forced_only_where_its_provider_takes_that(
    provider: Provider, model: str, forced: str | None, streams: bool
) -> None:
    script = [think("hmm", paris), think("so", brief)]
    options: dict[str, Any] = {"max_iterations": 1, "model_settings": {"thinking": "low", "max_tokens": 9000}}
    played = await play(script, provider, streams, model=model, unchecked=(TOLD,), **options)
    assert (played.turn.outcome, played.turn.message) == (Outcome.RESPOND, NOTED)
    assert [asked.thinking for asked in played.requests] == [True, True]
    assert [asked.forced for asked in played.requests] == [None, forced]


@EVERY
@WAYS
async def test_a_reply_in_text_ends_a_natural_turn(provider: Provider, streams: bool) -> None:
    played = await play([paris, say(NOTED)], provider, streams, turn_end="natural")
    assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL, NOTED)
    assert all("respond" not in asked.tools for asked in played.requests)


@EVERY
@WAYS
async def test_a_prompted_turn_needs_no_tools_of_the_provider(provider: Provider, streams: bool) -> None:
    played = await play([paris, brief], provider, streams, enforcement="prompted")
    assert (played.turn.outcome, played.turn.message) == (Outcome.RESPOND, NOTED)
    assert all(asked.envelope and asked.schema is None for asked in played.requests)
    assert all("tools" not in asked.body for asked in played.requests)


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@WAYS
async def test_a_backend_made_by_hand_plays_the_same_turn(
    provider: Literal["anthropic", "gemini"], streams: bool
) -> None:
    async with FaultServer([paris, answer], key=KEY) as server:
        backend = connect(provider, address(provider, server), KEY)
        listener = (lambda event: None) if streams else None
        turn = await vancetope.ask(PROMPT, model=backend, tools=TOOLS, on_event=listener)
        await backend.aclose()
        assert (turn.outcome, turn.message, server.violations) == (Outcome.RESPOND, NOTED, [])
        await until(lambda: server.open_connections == 0)


# Refusals and filters.

REFUSED = ["refusal_field", "refusal_finish"]


@EVERY
@WAYS
@pytest.mark.parametrize("kind", REFUSED)
async def test_a_refusal_ends_the_turn(provider: Provider, streams: bool, kind: str) -> None:
    played = await play([KINDS[kind]], provider, streams)
    assert played.turn.outcome in (Outcome.REFUSED, Outcome.FILTERED)
    assert played.turn.message is None
    assert played.turn.best_text == ("I will not do that." if kind == "refusal_field" else None)


@EVERY
@WAYS
@pytest.mark.parametrize("kind", ["content_filter", "recitation", "filter_with_call"])
async def test_a_filter_ends_the_turn_and_no_call_of_it_runs(provider: Provider, streams: bool, kind: str) -> None:
    played = await play([KINDS[kind]], provider, streams)
    assert played.turn.outcome in (Outcome.FILTERED, Outcome.REFUSED)
    assert all(not each.ok for each in work_results(played.turn))
    assert played.turn.best_text == (None if kind == "filter_with_call" else DONE[:20])


# Replies that say nothing, or not all.


@EVERY
@WAYS
@pytest.mark.parametrize("kind", ["empty_text", "empty_block", "blank_text", "thinking_only", "calls_without_calls"])
async def test_an_empty_reply_is_no_error_of_the_server(provider: Provider, streams: bool, kind: str) -> None:
    played = await play([KINDS[kind], paris, brief], provider, streams)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.RESPOND, 3)
    again = await play([KINDS[kind]] * 9, provider, streams)
    assert again.turn.outcome in (Outcome.EMPTY_REPLY, Outcome.INCOMPLETE, Outcome.MALFORMED_CALL)
    assert again.turn.model_calls < 9


@EVERY
@WAYS
async def test_a_malformed_call_is_told_or_taken_for_nothing(provider: Provider, streams: bool) -> None:
    played = await play([KINDS["malformed_call"], brief], provider, streams)
    assert (played.turn.outcome, played.turn.rounds) == (Outcome.RESPOND, 2)


@EVERY
@WAYS
@pytest.mark.parametrize(
    "kind", ["cut_text", "cut_arguments", "cut_respond", "cut_thinking", "cut_empty", "window_full"]
)
async def test_a_cut_reply_is_asked_for_in_short(provider: Provider, streams: bool, kind: str) -> None:
    played = await play([KINDS[kind], brief], provider, streams)
    assert (played.turn.outcome, played.turn.message) == (Outcome.RESPOND, NOTED)
    assert played.rows in ([], ["cut"]), "the row of a reply with nothing in it raises the limit and says nothing"
    twice = await play([KINDS[kind]] * 2 + [brief], provider, streams)
    assert twice.turn.outcome in (Outcome.OUTPUT_TRUNCATED, Outcome.RESPOND)


@EVERY
@WAYS
async def test_a_cut_reply_with_a_whole_call_runs_it(provider: Provider, streams: bool) -> None:
    played = await play([cut(paris), brief], provider, streams)
    assert (played.turn.outcome, work_calls(played.turn.messages)) == (Outcome.RESPOND, ["get_time"])


# Ids.

IDS = ["no_id", "empty_id", "constant_id", "equal_ids", "numbered_ids", "long_id"]


@EVERY
@WAYS
@pytest.mark.parametrize("kind", IDS)
async def test_ids_are_ours_whatever_the_provider_gives(provider: Provider, streams: bool, kind: str) -> None:
    played = await play([KINDS[kind], KINDS[kind], brief], provider, streams)
    assert played.turn.outcome is Outcome.RESPOND
    ids = [call.id for each in played.turn.messages if isinstance(each, Assistant) for call in each.calls]
    assert len(set(ids)) == len(ids) >= 2
    assert all(len(each) == 9 and each.isalnum() for each in ids)
    sent = [made["id"] for each in played.requests[-1].messages for made in each.get("tool_calls", ())]
    assert sent == ids
    assert [each["tool_call_id"] for each in played.requests[-1].messages if each["role"] == "tool"] == ids


# Every odd reply there is.

ODD = [each.name for group in (FIELDS, CALLS, SAYINGS, RESPONDS) for each in group if each.leaves == "reply"]


def in_time(asked: Asked) -> Given:
    """A model that comes to its senses."""
    results = [text for role, text in asked.turns if role == "tool" and "15:42" in text]
    return brief if results else paris


@EVERY
@WAYS
@pytest.mark.parametrize("kind", ODD)
async def test_after_any_odd_reply_the_turn_has_one_outcome_and_its_history_can_go_on(
    provider: Provider, streams: bool, kind: str
) -> None:
    # A stream of Gemini's has no other end than its finish reason: without it, it may be a half one, and is asked for
    # once more.
    repeats = int(provider == "gemini" and streams and kind.startswith("null_finish"))
    unchecked = (OPEN,) if kind == "end_turn_false" else ()
    script = first(KINDS[kind], then=in_time)
    turn = (await play(script, provider, streams, repeats=repeats, unchecked=unchecked)).turn
    assert turn.outcome is not Outcome.MODEL_ERROR, turn.reason
    if turn.outcome is Outcome.RESPOND:
        assert isinstance(turn.messages[-1], Accepted)
    follows = await play([brief], provider, streams, prompt="And now?", history=turn.messages)
    assert follows.turn.outcome is Outcome.RESPOND
    assert follows.requests[0].said.endswith("And now?")


@EVERY
def test_the_models_of_this_suite_are_known_with_all_that_matters(provider: Provider) -> None:
    known = info(provider)
    assert known.known
    assert known.price is not None
    assert known.forced_choice
    assert known.structured_output


@EVERY
@WAYS
async def test_a_turn_without_tools_needs_one_request(provider: Provider, streams: bool) -> None:
    played = await play([brief], provider, streams, tools=())
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.RESPOND, 1)
    assert len(TOOLS) == 2
    assert list(played.requests[0].tools) == ["respond"]


@EVERY
@WAYS
async def test_nothing_again_and_again_is_an_outcome(provider: Provider, streams: bool) -> None:
    played = await play(lambda asked: empty(), provider, streams)
    assert played.turn.outcome is Outcome.EMPTY_REPLY
    assert played.turn.reason
