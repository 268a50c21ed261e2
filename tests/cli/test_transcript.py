"""What stands on the screen for good, and what may still change."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import vancetope
from vancetope.backends.scripted import ScriptedBackend, call, calls, respond, restarted, say
from vancetope.backends.scripted.replies import Answer
from vancetope.cli.lines import Aside, Line, Part, Said
from vancetope.cli.transcript import SEEN, Transcript
from vancetope.events import (
    Event,
    MessageCommitted,
    MessageDelta,
    MessageReceived,
    MessageRetracted,
    RoundStarted,
    TextDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from vancetope.outcome import Outcome, TurnReport


def settled(events: Iterable[Event], *, echo: bool = False) -> list[Part]:
    transcript = Transcript(echo=echo, clock=lambda: 0.0)
    return [part for event in events for part in transcript.take(event)]


def of_turn(*answers: Answer) -> list[Part]:
    events: list[Event] = []
    vancetope.ask_blocking("Hi", model=ScriptedBackend(answers), recipe="ford", on_event=events.append)
    return settled(events)


def said(parts: Iterable[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Said)]


def test_a_message_is_said_once() -> None:
    assert said(of_turn(respond("It is 15:42."))) == ["It is 15:42."]


def test_narration_stands_above_the_call_that_it_announces() -> None:
    parts = of_turn(calls(call("file_list", path="."), text="Let me look."), respond("Done."))
    kinds = [type(part).__name__ for part in parts]
    assert kinds == ["Aside", "Line", "Said", "Line"]
    assert isinstance(parts[1], Line)
    assert parts[1].text.startswith('✓ file_list(path=".")')


def test_a_corrected_text_stays_narration_and_the_correction_is_one_line() -> None:
    parts = of_turn(say("Just talking."), respond("Now properly."))
    assert [part.text for part in parts if isinstance(part, Aside)] == ["Just talking."]
    assert said(parts) == ["Now properly."]
    assert sum(isinstance(part, Line) and "correction:" in part.text for part in parts) == 1


def test_a_fallback_text_appears_once() -> None:
    parts = of_turn(say("One."), say("Two."), say("Three."))
    assert said(parts) == ["Three."]
    assert [part.text for part in parts if isinstance(part, Aside)] == ["One.", "Two."]


def test_a_repeated_request_leaves_nothing_of_its_first_try() -> None:
    assert said(of_turn(restarted(respond("Whole answer."), after=3))) == ["Whole answer."]


def test_a_growing_message_is_live_until_it_is_committed_or_retracted() -> None:
    transcript = Transcript()
    transcript.take(TurnStarted(1, "m"))
    transcript.take(MessageDelta("m1", 0, "It "))
    transcript.take(MessageDelta("m1", 3, "is"))
    assert transcript.live() == [Said("It is")]
    assert transcript.take(MessageRetracted("m1")) == []
    assert all(isinstance(part, Line) for part in transcript.live())
    transcript.take(MessageDelta("m2", 0, "It is 15:42."))
    assert transcript.take(MessageCommitted("m2", "It is 15:42.")) == [Said("It is 15:42.")]


def test_of_a_long_growing_message_only_the_end_is_live() -> None:
    transcript = Transcript()
    for number in range(10_000):
        transcript.take(MessageDelta("m1", 9 * number, f"{number:8}\n"))
    (part,) = transcript.live()
    assert isinstance(part, Said)
    assert len(part.text) <= SEEN
    assert part.text.endswith("    9999\n")
    assert part.text.startswith(" ")


def test_running_tools_show_their_time_and_progress() -> None:
    now = 0.0
    transcript = Transcript(clock=lambda: now)
    transcript.take(TurnStarted(1, "m"))
    transcript.take(ToolStarted("c1", "search", {"what": "cats"}))
    transcript.take(ToolProgress("c1", "search", "3 of 10\x1b[31m"))
    now = 4.0
    assert transcript.live() == [Line('… search(what="cats") 4 s 3 of 10[31m', "dim", fits=True)]
    (line,) = transcript.take(ToolEnded("c1", "search", True, "found", 4.0))
    assert isinstance(line, Line)
    assert line.text == '✓ search(what="cats") 4.0 s'


def test_a_tool_that_never_ended_is_said_at_the_end_of_the_turn() -> None:
    parts = settled(
        [
            TurnStarted(1, "m"),
            RoundStarted(0),
            ToolStarted("c1", "search", {}),
            TurnEnded(TurnReport(outcome=Outcome.STOPPED)),
        ]
    )
    assert Line("✗ search() did not end", "bad") in parts


def test_a_message_is_echoed_when_its_turn_takes_it_and_waits_until_then() -> None:
    transcript = Transcript(echo=True)
    events: list[Event] = [MessageReceived("one"), TurnStarted(1, "m"), RoundStarted(0)]
    assert [part for event in events for part in transcript.take(event)] == [Line("> one", "you")]
    transcript.take(MessageReceived("two"))
    transcript.take(MessageReceived("now", "steer"))
    waiting = [part.text for part in transcript.live() if isinstance(part, Line)]
    assert waiting[-2:] == ["⧗ queued: two", "⧗ steers the next round: now"]
    assert transcript.take(RoundStarted(1)) == [Line("> now", "you")]
    transcript.take(TurnEnded(TurnReport(outcome=Outcome.RESPOND)))
    transcript.take(TurnStarted(2, "m"))
    assert transcript.take(RoundStarted(0)) == [Line("> two", "you")]


def test_a_turn_that_ends_at_its_door_still_shows_what_it_had_taken() -> None:
    parts = settled(
        [MessageReceived("one"), TurnStarted(1, "m"), TurnEnded(TurnReport(outcome=Outcome.INTERRUPTED))], echo=True
    )
    assert parts[0] == Line("> one", "you")


@pytest.mark.parametrize("order", ["retracted", "kept"])
def test_narration_that_becomes_the_message_is_not_shown_twice(order: str) -> None:
    events: list[Event] = [TurnStarted(1, "m"), RoundStarted(0), TextDelta("n1", 0, "It is late.")]
    events += [MessageRetracted("n1")] if order == "retracted" else []
    events += [MessageDelta("m1", 0, "It is late."), MessageCommitted("m1", "It is late.")]
    parts = settled(events)
    assert said(parts) == ["It is late."]
    assert len(parts) == (1 if order == "retracted" else 2)
