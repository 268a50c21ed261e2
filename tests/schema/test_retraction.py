# ruff: noqa: RUF001  full-width and other signs are the subject here
"""Numbers behind a value: which may be meant in place of one of its own."""

from __future__ import annotations

import time
from typing import Any

import pytest

from vancetope.schema.retraction import takes_back

MARA = {"name": "Mara", "age": 52}
PRICE = {"price": 19.5, "qty": 3}
BILL = {"lines": [{"cents": 18000}], "total": 22345}


@pytest.mark.parametrize(
    ("value", "behind"),
    [
        (MARA, "Correction: the age above is wrong, it should be 53."),
        (MARA, "Correctie: leeftijd 53"),
        (MARA, "Correction: 25"),
        (MARA, "53"),
        (MARA, "No, sorry, it is not 52 but 53!"),
        (MARA, "Mara is 53 (born 1973)."),
        (MARA, "更正：年龄应为 ５３。"),
        (MARA, "更正：年龄应为53岁。"),
        (MARA, "正しくは53歳です。"),
        (MARA, "التصحيح: ٥٣"),
        (MARA, "Should be 102"),
        (PRICE, "It is 21.5 now."),
        (PRICE, "Nein: 21,5."),
        (PRICE, "The price is $21.50."),
        (PRICE, "It was 7 of them."),
        (BILL, "The total is 23,345."),
        (BILL, "Die Summe ist 23.345."),
        (BILL, "La somme est de 23\u202f345."),
        ({"n": 0}, "It should be 5."),
        ({"n": -7}, "It should be -8."),
        ({"n": [1, 2, [{"x": 40}]]}, "39"),
    ],
)
def test_a_number_of_the_same_kind_and_magnitude_may_take_a_value_back(value: Any, behind: str) -> None:
    assert takes_back(value, [behind])


@pytest.mark.parametrize(
    ("value", "behind"),
    [
        (MARA, "tokens used: 1,204 (cached: 80%)"),
        (MARA, "tokens used: 1204"),
        (MARA, "1\u202f204 jetons, 80 % en cache"),
        (MARA, "cached: 80％"),
        (MARA, "cost: $0.0031"),
        (MARA, "Took 3.2 s, 12.5s in all, 40s to load."),
        (MARA, "The age, 52, was counted from the birth year, 1974."),
        (MARA, "10:52:11, on 2026-11-30, 24/7"),
        (MARA, "Made by gpt-4o, v20 of GPT-40, 30b, at 1.2.3."),
        (MARA, "1. name: from line one\n20) age: counted"),
        (MARA, "https://example.org/a-30?b30"),
        (MARA, "It is half a century and two years."),
        (PRICE, "tokens used: 1,204 (cached: 80%)"),
        (PRICE, "812 tokens in, 240 out"),
        (BILL, "Of the 22,345 cents 18.000 are for the first line."),
        ({"name": "Mara"}, "Correction: 53"),
        ({"ok": True, "none": None}, "2"),
        ([16], "tokens used: 1,204 (cached: 80%)"),
        ({"x": 0.4}, "tokens: 1,204, cost: $0.0031"),
    ],
)
def test_other_numbers_and_figures_of_programs_do_not(value: Any, behind: str) -> None:
    assert not takes_back(value, [behind])


def test_every_piece_of_text_counts() -> None:
    assert takes_back(MARA, ["Note:", "", "53"])
    assert not takes_back(MARA, [])


def test_long_texts_and_long_values_take_linear_time() -> None:
    value = {"rows": [{"id": number, "x": number + 0.5} for number in range(50_000)]}
    for text in ("9" * 500_000, "9," * 250_000, "9.9.9 " * 80_000, "49,999 " * 70_000, "1 " * 250_000, "10:" * 150_000):
        start = time.perf_counter()
        takes_back(value, [text])
        assert time.perf_counter() - start < 5
