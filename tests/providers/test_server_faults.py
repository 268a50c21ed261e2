"""Servers that fail, over all providers: what is tried again, what is not, and what a person is told."""

from __future__ import annotations

import pytest
import stamina

import vancetope
from tests.cases.playing import PROMPT, TOOLS, answer, brief, paris
from tests.providers.providing import EVERY, KEY, SHORT, WAYS, Provider, led_to, play, spec
from vancetope.backends.faults import KINDS, FaultServer, Given, first, halved, status
from vancetope.backends.scripted import say
from vancetope.context import Patience
from vancetope.events import MessageRetracted
from vancetope.outcome import Outcome

NOTED = "It is 15:42 in Paris."


# What the same request cannot mend is not tried again.

FINAL: dict[str, tuple[str, str]] = {
    "status_400": ("400", "rejects"),
    "status_401": ("401", "key"),
    "status_403": ("403", "key"),
    "status_404": ("404", "models"),
    "key_refused": ("40", "key"),
}


@EVERY
@WAYS
@pytest.mark.parametrize("kind", FINAL)
async def test_what_the_same_request_cannot_mend_ends_the_turn_at_once(
    provider: Provider, streams: bool, kind: str
) -> None:
    played = await play([KINDS[kind]], provider, streams)
    turn = played.turn
    assert (turn.outcome, turn.model_calls, turn.message) == (Outcome.MODEL_ERROR, 1, None)
    code, word = FINAL[kind]
    assert code in turn.reason
    assert word in turn.reason
    assert KEY not in turn.reason
    if "key" in word:
        assert f"{provider.upper()}_API_KEY" in turn.reason


@EVERY
@WAYS
async def test_a_conversation_that_does_not_fit_is_an_outcome_of_its_own(provider: Provider, streams: bool) -> None:
    played = await play([paris, KINDS["context_exceeded"]], provider, streams)
    assert played.turn.outcome is Outcome.CONTEXT_OVERFLOW
    assert "prompt is too long" not in played.turn.reason or provider == "anthropic"


# What may pass is tried again, and the turn goes on as if nothing had been.

PASSING = [
    "status_429_bare",
    "status_429_date",
    "status_429_body",
    "status_500",
    "status_502",
    "status_503",
    "status_529",
]
BROKEN = [
    "half_json",
    "not_json",
    "html_page",
    "empty_body",
    "other_json",
    "json_null",
    "half_stream",
    "half_event",
    "half_arguments",
    "reset_in_stream",
    "reset_after_head",
    "error_in_stream",
    "overloaded_in_stream",
    "bad_event",
    "no_end",
    "long_content_length",
]
AT_ONCE = ["reset_at_once", "closed_at_once"]


@EVERY
@WAYS
@pytest.mark.parametrize("kind", [*PASSING, *BROKEN, *AT_ONCE])
async def test_what_may_pass_is_tried_again(provider: Provider, streams: bool, kind: str) -> None:
    played = await play([paris, KINDS[kind], answer], provider, streams, repeats=1)
    turn = played.turn
    assert (turn.outcome, turn.message, turn.corrections) == (Outcome.RESPOND, NOTED, 0)
    assert (turn.rounds, turn.model_calls) == (2, 3)
    failed, again = played.requests[1:]
    assert (failed.body, failed.turns) == (again.body, again.turns)


@EVERY
@WAYS
@pytest.mark.parametrize(("kind", "most"), [("status_500", 3), ("status_529", 3), ("half_stream", 2), ("bad_event", 2)])
async def test_a_server_that_stays_broken_ends_the_turn(
    provider: Provider, streams: bool, kind: str, most: int
) -> None:
    """A reply that broke off may have been billed: it is asked for only once more."""
    played = await play(first(then=lambda asked: KINDS[kind]), provider, streams, repeats=most - 1)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.MODEL_ERROR, most)
    assert played.turn.reason
    again = await play([brief], provider, streams, prompt="And now?", history=played.turn.messages)
    assert again.turn.outcome is Outcome.RESPOND


@EVERY
async def test_what_was_shown_of_a_stream_that_broke_is_taken_back(provider: Provider) -> None:
    given: list[Given] = [halved(say("It is " * 20), events=6), say(NOTED)]
    played = await play(given, provider, True, turn_end="natural", repeats=1)
    assert (played.turn.message, played.committed) == (NOTED, [NOTED])
    assert len(played.of(MessageRetracted)) == 1


# When to come back.


@EVERY
@WAYS
async def test_retry_after_is_waited_for(provider: Provider, streams: bool) -> None:
    busy = status(429, None, ("retry-after", "1"))
    async with FaultServer([busy, brief], key=KEY) as server:
        with led_to(provider, server), stamina.set_testing(False):
            listener = (lambda event: None) if streams else None
            turn = await vancetope.ask(PROMPT, model=spec(provider), tools=TOOLS, on_event=listener)
        assert (turn.outcome, turn.model_calls) == (Outcome.RESPOND, 2)
        one, two = server.requests
        assert two.arrived - one.arrived >= 1.0, "earlier is what the server asked us not to do"


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_gemini_says_in_its_body_when_to_come_back(streams: bool) -> None:
    async with FaultServer([status(429, retry_after=0.5), brief], key=KEY) as server:
        with led_to("gemini", server), stamina.set_testing(False):
            listener = (lambda event: None) if streams else None
            turn = await vancetope.ask(PROMPT, model=spec("gemini"), tools=TOOLS, on_event=listener)
        assert (turn.outcome, turn.model_calls) == (Outcome.RESPOND, 2)
        one, two = server.requests
        assert two.arrived - one.arrived >= 0.5


@EVERY
@WAYS
async def test_a_wait_that_is_longer_than_ones_patience_is_not_begun(provider: Provider, streams: bool) -> None:
    played = await play([KINDS["status_429_hours"]], provider, streams)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.MODEL_ERROR, 1)
    assert "429" in played.turn.reason


# Silence.


@EVERY
@WAYS
@pytest.mark.parametrize("kind", ["silence", "silence_after_head", "silence_in_stream"])
async def test_silence_ends_with_ones_patience(provider: Provider, streams: bool, kind: str) -> None:
    played = await play([KINDS[kind]], provider, streams, patience=SHORT)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.MODEL_ERROR, 1)
    assert "0.4 s" in played.turn.reason
    assert all(asked.disconnected for asked in played.requests)


@EVERY
@WAYS
async def test_a_slow_reply_is_whole(provider: Provider, streams: bool) -> None:
    played = await play([KINDS["slow"]], provider, streams, patience=Patience(model_call=15.0))
    assert played.turn.outcome is Outcome.RESPOND


# Streams as servers really write them.

WRITTEN = [
    "no_done",
    "after_done",
    "split_utf8",
    "odd_packets",
    "token_per_character",
    "one_delta",
    "comments",
    "event_names",
    "crlf",
    "crlf_split",
    "no_space",
    "until_close",
]


@EVERY
@pytest.mark.parametrize("kind", WRITTEN)
async def test_a_stream_is_read_however_it_is_written(provider: Provider, kind: str) -> None:
    played = await play([paris, KINDS[kind]], provider, True)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.RESPOND, 2)
    assert played.turn.message
    assert "Grüße aus Zürich, 再见" in played.turn.message


# One model's circuit.


@EVERY
async def test_a_model_that_is_down_is_left_alone_for_a_while(provider: Provider) -> None:
    async with FaultServer(lambda asked: KINDS["status_503"], key=KEY) as server:
        with led_to(provider, server), stamina.set_testing(True, attempts=10, cap=True):
            turns = [await vancetope.ask(PROMPT, model=spec(provider)) for _ in range(4)]
        assert [turn.outcome for turn in turns] == [Outcome.MODEL_ERROR] * 4
        assert [turn.model_calls for turn in turns] == [3, 3, 3, 0]
        assert len(server.requests) == 9
        assert "left alone" in turns[3].reason
