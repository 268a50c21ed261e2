"""The table of reports about structured output is whole: every row has its tests or a part that owes it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from tests.cases.owed import Part
from tests.cases.owed_structured import ROWS, ROWS_WITH_TESTS, TABLE, TESTS

ROOT = Path(__file__).parent.parent.parent
COLLECTION = ROOT.parent / "shared" / "cases" / "structured.md"


def defined() -> list[str]:
    """The names of the tests in this folder that carry a row's number."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("test_*.py")))
    return [name for text in texts for name in re.findall(r"^(?:async )?def (test_s\d+_\w+)\(", text, re.MULTILINE)]


def row_of(name: str) -> str:
    return name.split("_")[1].upper()


def test_every_row_about_structured_output_has_tests_or_a_part_that_owes_it() -> None:
    for number, row in TABLE.items():
        assert re.fullmatch(r"S(0[1-9]|[1-3]\d)", number)
        assert row.tests or row.later, f"{number} is nobody's"
        assert not row.later or row.why, f"{number} is put off without a word why"
        assert set(row.later) <= set(get_args(Part))
    assert list(TABLE) == sorted(TABLE, key=lambda number: int(number[1:]))


def test_that_table_names_exactly_the_tests_that_exist_each_under_its_row() -> None:
    named = [name for row in TABLE.values() for name in row.tests]
    assert [name for name, times in Counter(defined()).items() if times > 1] == []
    assert sorted(named) == sorted(defined())
    assert [(number, name) for number, row in TABLE.items() for name in row.tests if row_of(name) != number] == []


def test_the_tests_that_it_names_are_collected(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> None:
    collected = {getattr(item, "originalname", item.name) for item in request.session.items}
    here = {name for name in collected if re.match(r"test_s\d+_", name)}
    # In a run of only some tests there is nothing to compare but these.
    assert here <= set(defined())
    if not pytestconfig.args or {str(ROOT / "tests"), "tests", "tests/cases"} & set(pytestconfig.args):
        filtered = pytestconfig.getoption("keyword") or pytestconfig.getoption("lf", default=False)
        assert filtered or here == set(defined())


def test_that_list_does_not_get_shorter_unseen() -> None:
    assert len(TABLE) == ROWS
    assert sum(bool(row.tests) for row in TABLE.values()) == ROWS_WITH_TESTS
    assert sum(len(row.tests) for row in TABLE.values()) == TESTS


def test_its_rows_are_those_of_the_collection_where_it_is_at_hand() -> None:
    if COLLECTION.is_file():
        listed = re.findall(r"^\| (S\d+) \|", COLLECTION.read_text(encoding="utf-8"), re.MULTILINE)
        assert list(TABLE) == listed
