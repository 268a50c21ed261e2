"""Strict JSON: the whole text or nothing, and always one of five reasons."""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.schema.strict import MAX_BYTES, MAX_DEPTH, REASONS, NotJson, deeper_than, parse, same

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)


def reason(text: str | bytes) -> str:
    with pytest.raises(NotJson) as raised:
        parse(text)
    assert str(raised.value)
    assert "\n" not in str(raised.value)
    return raised.value.reason


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_valid_json_gives_what_the_standard_library_gives(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse(text) == json.loads(text)
    assert parse(text.encode()) == json.loads(text)
    assert parse(f" \t\r\n{text}\n") == json.loads(text)


@given(st.text() | st.text('{}[]",:\\u0d8e- tnf'))
def test_any_text_is_parsed_or_refused_with_a_reason(text: str) -> None:
    try:
        value = parse(text)
    except NotJson as error:
        refusal = error
    else:
        assert parse(json.dumps(value, allow_nan=False)) == value
        return
    assert refusal.reason in REASONS


@given(st.binary())
def test_any_bytes_are_parsed_or_refused_with_a_reason(data: bytes) -> None:
    why: str = REASONS[0]
    try:
        parse(data)
    except NotJson as refusal:
        why = refusal.reason
    assert why in REASONS


@given(st.dictionaries(TEXT, VALUES, min_size=1, max_size=3), st.data())
def test_an_object_cut_anywhere_is_truncated(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert reason(text[:cut]) == "truncated"


@pytest.mark.parametrize("text", ["", "  \n", "hello", "Here is: {}", "\ufeff{}", "<html>", "```json\n{}\n```"])
def test_prose_and_blanks_hold_no_json(text: str) -> None:
    assert reason(text) == "none"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1} and more',
        '{"a": 1}{"a": 1}',
        "[1,]",
        "{'a': 1}",
        '{"a": 1]',
        "[1 2]",
        '"a\nb"',
        '{"a": "\\q"}',
        "[01]",
        "[+1]",
        "[.5]",
        "[True]",
        "// c\n{}",
    ],
)
def test_almost_json_is_invalid_and_says_where(text: str) -> None:
    assert reason(text) in ("invalid", "none")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "[NaN]", '{"a": -Infinity}', "1e999", "[-1e999]"])
def test_what_no_json_number_is_stays_out(text: str) -> None:
    """C95."""
    assert reason(text) == "invalid"


def test_the_largest_float_is_still_json() -> None:
    assert parse("1.7976931348623157e308") == sys.float_info.max
    assert math.isfinite(parse("1e-999"))


@pytest.mark.parametrize(
    "text", ['"\\ud83d"', '"\\uDE00"', '{"\\ud83d": 1}', '["x", {"a": ["\\ud83dx"]}]', '"\ud83d"', '"\\ude00\\ud83d"']
)
def test_half_a_surrogate_pair_is_invalid(text: str) -> None:
    assert reason(text) == "invalid"


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parse('"\\ud83d\\ude00"') == "\U0001f600"
    assert parse('"\\\\ud83d"') == "\\ud83d"


@pytest.mark.parametrize("second", ["2", "true", '"1"', "[1]", "null", '{"b": 1}'])
def test_a_key_twice_with_unequal_values_is_invalid(second: str) -> None:
    assert reason(f'{{"a": 1, "a": {second}}}') == "invalid"
    assert reason(f'[{{"x": {{"a": {second}, "\\u0061": 1}}}}]') == "invalid"


@pytest.mark.parametrize("both", [("1", "1.0"), ('"x"', '"\\u0078"'), ('{"a": [1]}', '{"a": [1.0]}'), ("[]", "[ ]")])
def test_a_key_twice_with_equal_values_is_one_key(both: tuple[str, str]) -> None:
    assert parse(f'{{"a": {both[0]}, "a": {both[1]}}}') == {"a": json.loads(both[1])}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_depth_is_bounded_exactly(opening: str, closing: str) -> None:
    times = MAX_DEPTH // opening.count("[") if opening == "[" else MAX_DEPTH // (len(closing))
    assert parse(opening * times + "1" + closing * times)
    assert reason(opening * (times + 1) + "1" + closing * (times + 1)) == "too_deep"


def test_brackets_in_strings_and_side_by_side_are_not_depth() -> None:
    assert parse(json.dumps({"a": "[" * 1_000, "b": '"{' * 1_000, "c": "\\[" * 500}))
    assert len(parse("[" + ",".join(["[{}]"] * 1_000) + "]")) == 1_000
    assert reason('["' + "[" * 1_000) == "truncated"


@pytest.mark.parametrize(
    "text", ["{" * 1_000_000, "[" * 1_000_000, '"' * 1_000_000, '"\\' * 500_000, '{"a":' * 300_000]
)
def test_hostile_text_is_refused_quickly(text: str) -> None:
    started = time.perf_counter()
    assert reason(text) in REASONS
    assert time.perf_counter() - started < 0.1


def test_integers_too_long_to_print_are_too_large() -> None:
    assert reason("9" * 6_000) == "too_large"
    assert reason('{"a": -' + "9" * 6_000 + "}") == "too_large"
    assert parse("9" * 4_000) == int("9" * 4_000)


def test_size_is_counted_in_bytes() -> None:
    assert parse(json.dumps("a" * (MAX_BYTES - 2)))
    assert reason(json.dumps("a" * (MAX_BYTES - 1))) == "too_large"
    assert reason('"' + "é" * (MAX_BYTES // 2) + '"') == "too_large"
    assert reason(b'"' + b"a" * MAX_BYTES + b'"') == "too_large"
    assert reason(" " * (MAX_BYTES + 1)) == "too_large"


def test_bytes_that_are_no_utf8_are_invalid() -> None:
    assert reason(b'"\xff"') == "invalid"
    assert reason(b'"\xed\xa0\x80"') == "invalid"


def test_deeper_than_counts_levels_and_ends_for_a_value_that_holds_itself() -> None:
    loop: list[Any] = []
    loop.append({"again": loop})
    shared: list[Any] = []
    for _ in range(100):
        shared = [shared, shared]
    assert not deeper_than("x", 0)
    assert deeper_than([], 0)
    assert not deeper_than([{}], 2)
    assert deeper_than([{"a": ()}], 2)
    assert deeper_than(loop, MAX_DEPTH)
    assert not deeper_than(shared, MAX_DEPTH)


@given(VALUES)
def test_same_is_reflexive_and_tells_true_from_one(value: Any) -> None:
    assert same(value, json.loads(json.dumps(value)))
    assert not same(True, 1)
    assert not same([0], [False])
    assert not same({"a": 1}, {"a": 1, "b": 1})
