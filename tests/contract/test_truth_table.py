from __future__ import annotations

from dataclasses import replace

import pytest

from tests.contract.truth import EXAMPLES, LONG, NARROW, NATURAL, RULES, Example, hello, holds, paris, played
from vancetope.backends.scripted import calls, empty, say
from vancetope.contract import call_rows, rows
from vancetope.contract.judge import begin, judge, ran
from vancetope.contract.seen import Seen
from vancetope.contract.verdict import End, Go, State, Verdict
from vancetope.outcome import Outcome

ROW_NAMES = [row.name for row in rows.TABLE] + [row.name for row in call_rows.CALL_TABLE]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.row}: {each.about}")
def test_the_judge_says_what_the_table_says(example: Example) -> None:
    state, verdict = played(example)
    assert holds(example), f"{verdict}\n{state}"


def test_every_row_has_an_example() -> None:
    assert set(ROW_NAMES) == {example.row for example in EXAMPLES}


def breaks_an_example() -> bool:
    try:
        return not all(map(holds, EXAMPLES))
    except AssertionError:
        return True


def test_the_whole_table_breaks_none() -> None:
    assert not breaks_an_example()


@pytest.mark.parametrize("name", ROW_NAMES)
def test_a_row_that_is_taken_out_breaks_an_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "TABLE", tuple(row for row in rows.TABLE if row.name != name))
    monkeypatch.setattr(call_rows, "CALL_TABLE", tuple(row for row in call_rows.CALL_TABLE if row.name != name))
    assert breaks_an_example()


@pytest.mark.parametrize("name", [row.name for row in rows.TABLE])
def test_a_row_that_says_the_opposite_breaks_an_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def opposite(row: rows.Row) -> rows.Row:
        def verdict(seen: Seen) -> Verdict | None:
            said = row.verdict(seen)
            if said is None:
                return None
            if isinstance(said, End):
                return Go(row.name, "-", answers=tuple("no" for _ in seen.reads))
            return seen.fail(row.name, Outcome.INCOMPLETE, "no")

        return replace(row, verdict=verdict)

    flipped = tuple(opposite(row) if row.name == name else row for row in rows.TABLE)
    monkeypatch.setattr(rows, "TABLE", flipped)
    assert breaks_an_example()


@pytest.mark.parametrize("name", ["mixed", "repeated", "no_call_ran", "iterations", "deadline"])
def test_a_turn_narrows_for_a_reason_that_it_names(name: str) -> None:
    mixed, unknown = calls(paris, hello), replace(paris, calls=(replace(paris.calls[0], name="x"),))
    replies = {"mixed": [mixed] * 3, "repeated": [paris] * 5, "no_call_ran": [unknown] * 3, "iterations": [paris]}
    state = begin(State(), drained=False, late=name == "deadline")
    for reply in replies.get(name, []):
        state, _ = judge(NARROW if name == "iterations" else RULES, state, reply)
    assert state.narrow is not None
    assert state.narrow.reason == name


def test_the_objection_to_a_short_answer_is_made_once() -> None:
    for rules, reply in ((RULES, hello), (NATURAL, say("Late."))):
        state = ran(State(), [LONG])
        state, first = judge(rules, state, reply)
        state, second = judge(rules, state, reply)
        assert isinstance(first, Go)
        assert isinstance(second, End)


def test_corrections_are_one_counter_over_all_rows() -> None:
    state, kinds = State(), []
    for reply in (say("a"), empty(), say("b")):
        state, verdict = judge(RULES, state, reply)
        kinds.append(type(verdict))
    assert kinds == [Go, Go, End]
    assert state.corrections == 2
