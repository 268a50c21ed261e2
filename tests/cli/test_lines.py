"""What a person reads beside the message."""

from __future__ import annotations

import pytest

from vancetope.cli.clean import clean, one_line
from vancetope.cli.lines import Aside, Line, call_text, exit_code, numbers, report_parts, tool_line
from vancetope.events import ToolEnded
from vancetope.messages import Usage
from vancetope.outcome import Enforcement, Outcome, TurnReport


def report(outcome: Outcome = Outcome.RESPOND, **fields: object) -> TurnReport:
    given = {"rounds": 2, "model_calls": 3, "usage": Usage(1234, 56), **fields}
    return TurnReport(outcome=outcome, **given)  # type: ignore[arg-type]


def test_the_numbers_of_a_turn_stand_in_one_line() -> None:
    assert numbers(report(cost=0.0123), 1.25) == "2 rounds · 3 calls · 1,234 tokens in, 56 out · $0.0123 · 1.2 s"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cost": 0.0}, None),
        ({"cost": 0.00001}, "< $0.0001"),
        ({"usage": Usage(5, 1, estimated=True)}, "~5 tokens in, ~1 out"),
        ({"corrections": 1}, "1 correction"),
        ({"bounded": True}, "message cut at its bound"),
        ({"enforcement": Enforcement("constrained", "none")}, "constrained enforcement was not honoured"),
        ({"outcome": Outcome.NATURAL_FALLBACK}, "natural_fallback"),
        ({"rounds": 1, "model_calls": 1}, "1 round · 1 call"),
    ],
)
def test_what_is_unusual_is_said_in_the_numbers(fields: dict[str, object], said: str | None) -> None:
    line = numbers(report(**fields), 1)  # type: ignore[arg-type]
    assert said is None or said in line
    assert ("$" in line) == (said is not None and "$" in said)


def test_a_failed_turn_is_one_red_line_with_the_best_text_below_it() -> None:
    failed = report(Outcome.REFUSED, reason="the model declined to answer", best_text="Perhaps")
    first, best, last = report_parts(failed, 1)
    assert first == Line("✗ refused: the model declined to answer", "bad")
    assert best == Aside("Perhaps")
    assert isinstance(last, Line)
    assert last.tone == "dim"


def test_an_interrupted_turn_keeps_its_text_and_is_marked() -> None:
    parts = report_parts(report(Outcome.INTERRUPTED, best_text="Once upon"), 1)
    assert parts[:2] == [Aside("Once upon"), Line("■ interrupted", "bad")]


def test_the_best_text_is_not_said_twice() -> None:
    parts = report_parts(report(Outcome.INTERRUPTED, best_text="Once upon "), 1, shown="Once upon")
    assert not [each for each in parts if isinstance(each, Aside)]


EXIT_CODES = {
    Outcome.RESPOND: 0,
    Outcome.NATURAL: 0,
    Outcome.NATURAL_FALLBACK: 0,
    Outcome.STARTED: 0,
    Outcome.MODEL_ERROR: 3,
    Outcome.BUDGET_EXCEEDED: 6,
    Outcome.INTERRUPTED: 130,
}


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_its_exit_code(outcome: Outcome) -> None:
    assert exit_code(outcome) == EXIT_CODES.get(outcome, 4)


def test_a_call_is_shown_with_short_arguments() -> None:
    assert call_text("clock", {"place": "Paris"}) == 'clock(place="Paris")'
    assert call_text("clock", "{broken") == "clock({broken)"
    long = call_text("file_grep", {"pattern": "x" * 500, "path": "y" * 500})
    assert len(long) < 100
    assert "\n" not in long


def test_a_tool_line_says_name_and_end_and_seconds() -> None:
    ok = ToolEnded("c1", "clock", True, "15:42", 0.25)
    bad = ToolEnded("c1", "clock", False, "no such\nplace", 1.0)
    assert tool_line("clock()", ok).text == "✓ clock() 0.2 s"
    assert tool_line("clock()", bad).text == "✗ clock() failed, 1.0 s: no such place"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred\x1b[0m", "a[31mred[0m"),
        ("\x9b31m\x90\x1b]0;title\x07", "31m]0;title"),
        ("tab\tand\nline\r\nkept\rgone", "tab\tand\nline\nkeptgone"),
        ("half \ud800 pair\x00\x7f", "half \ufffd pair"),
        ("漢字 🎉 \u200d מה", "漢字 🎉 \u200d מה"),
    ],
)
def test_control_characters_of_others_never_reach_a_terminal(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_one_line_is_one_line_and_short() -> None:
    assert one_line("a\n\n b\x1b[2J") == "a b[2J"
    assert len(one_line("x" * 10_000_000)) == 100
