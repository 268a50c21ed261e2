"""The file that a project keeps its usage in: what is written, what is read, and that nothing in it breaks a turn."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.cli.usage_file import (
    FileLedger,
    append,
    closed,
    end_of,
    file_ledger,
    line_of,
    lines_of,
    row_in,
    usage_path,
)
from vancetope.messages import Reply, Usage
from vancetope.models.base import ModelInfo, Price
from vancetope.models.budgets import Account, Budgets, Limit, Refusal
from vancetope.models.ledger import CallOutcome, Estimate, MemoryLedger, Purpose, Reservation, Row, replied
from vancetope.settings import Settings, Value

INFO = ModelInfo(provider="lab", name="m", price=Price(input=1, output=5, cached=0.1))
ROW = Row(
    id="p:1:model:0:0",
    at=datetime(2026, 11, 30, 12, tzinfo=UTC),
    account=Account("p:1", "p", "/elsewhere", "/tenant"),
    provider="lab",
    asked="default:fast",
    used="m-2026",
    purpose="answer",
    usage=Usage(input_tokens=100, output_tokens=20, cached_tokens=50, cache_write_tokens=10, thinking_tokens=5),
    price=INFO.price,
    cost=0.0002,
    requests=1,
    outcome="replied",
)


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    yield
    closed()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "vancetope.yaml").touch()
    return tmp_path


def settings(project: Path | None, **limits: Any) -> Settings:
    """Settings with a budget: `day_tokens=5` is `budgets.day.tokens`."""
    said = {f"budgets.{name.replace('_', '.')}": Value(limit, "project") for name, limit in limits.items()}
    return Settings(project=project, tenant=Path("/tenant"), values=said)


def account(project: Path, process: str = "q") -> Account:
    return Account(f"{process}:1", process, str(project), "/tenant")


def call(ledger: FileLedger | MemoryLedger, whose: Account, tokens: int = 10) -> Row:
    held = ledger.reserve(whose, Estimate(tokens, 0, 0.1), Budgets())
    assert isinstance(held, Reservation)
    row = replied(held, INFO, "answer", Reply(usage=Usage(input_tokens=tokens)))
    ledger.settle(held, row)
    return row


def written(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in usage_path(project).read_text().splitlines()]


# A row and its line.

TOKENS = st.integers(0, 10**9)
PRICES = st.floats(0, 1000)


@given(
    st.builds(
        Row,
        id=st.text(),
        at=st.datetimes(timezones=st.just(UTC)),
        account=st.builds(Account, st.text(), st.text(), st.text(), st.text()),
        provider=st.text(),
        asked=st.text(),
        used=st.text(),
        purpose=st.sampled_from(get_args(Purpose)),
        usage=st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS, st.booleans()),
        price=st.none()
        | st.builds(Price, input=PRICES, output=PRICES, cached=st.none() | PRICES, cache_write=st.none() | PRICES),
        cost=st.none() | PRICES,
        requests=st.integers(0, 9),
        outcome=st.sampled_from(get_args(CallOutcome)),
    )
)
def test_a_line_gives_back_its_row(row: Row) -> None:
    line = line_of(row)
    assert line.count(b"\n") == 1
    assert row_in(line) == row


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"cost": -1},
        {"cost": "free"},
        {"cost": float("nan")},
        {"cost": float("inf")},
        {"cost": 10**400},
        {"input": 1.5},
        {"input": True},
        {"input": -1},
        {"at": "yesterday"},
        {"at": "2026-11-30T12:00:00"},
        {"at": 5},
        {"purpose": "fun"},
        {"outcome": ["replied"]},
        {"id": None},
        {"turn": {}},
        {"price": [1]},
        {"price": [1, 2, 3, 4, 5]},
        {"price": 7},
        {"price": [None, 1, None, None]},
    ],
)
def test_a_line_with_another_value_is_none_of_ours(change: dict[str, Any]) -> None:
    fields = json.loads(line_of(ROW))
    assert row_in(json.dumps({**fields, **change}).encode()) is None


@pytest.mark.parametrize("gone", sorted(json.loads(line_of(ROW))))
def test_a_line_without_one_of_its_fields_is_none_of_ours(gone: str) -> None:
    fields = json.loads(line_of(ROW))
    del fields[gone]
    assert row_in(json.dumps(fields).encode()) is None


@given(st.binary() | st.sampled_from([b"[" * 100_000, b"[]", b"null", b'"v"', b"{}", b'{"v":1}', b"\xff\xfe"]))
def test_other_bytes_are_none_of_ours(line: bytes) -> None:
    assert row_in(line) is None


# Writing.


def test_a_row_is_a_line_that_only_its_owner_can_read(project: Path) -> None:
    ledger = file_ledger(settings(project))
    row = call(ledger, account(project))
    assert closed() == ()
    assert stat.S_IMODE(usage_path(project).stat().st_mode) == 0o600
    assert [row_in(line) for line in usage_path(project).read_bytes().splitlines()] == [row]


def test_outside_of_a_project_nothing_is_written() -> None:
    ledger = file_ledger(settings(None))
    assert isinstance(ledger, MemoryLedger)
    assert file_ledger(settings(None)) is ledger
    assert closed() == ()


def test_a_row_that_is_settled_again_is_not_written_again(project: Path) -> None:
    ledger = file_ledger(settings(project))
    held = ledger.reserve(account(project), Estimate(1, 1, 0.1), Budgets())
    assert isinstance(held, Reservation)
    row = replied(held, INFO, "answer", Reply(usage=Usage(input_tokens=1)))
    ledger.settle(held, row)
    ledger.settle(held, row)
    closed()
    assert len(written(project)) == 1


def test_many_who_write_at_once_leave_whole_lines(project: Path) -> None:
    path = usage_path(project)

    def work(worker: int) -> None:
        for number in range(50):
            append(path, replace(ROW, id=f"{worker}:{number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    rows = [found.row for found in lines_of(path)]
    assert None not in rows
    assert len({row.id for row in rows if row}) == 200


def test_a_line_that_broke_off_is_ended_before_the_next(project: Path) -> None:
    append(usage_path(project), ROW)
    with usage_path(project).open("ab") as file:
        file.write(line_of(ROW)[:100])
    ledger = file_ledger(settings(project, project_tokens=1000))
    row = call(ledger, account(project))
    assert closed() == ("line 2 of .vancetope/usage.jsonl is no row of ours and is not counted",)
    found = list(lines_of(usage_path(project)))
    assert [each.row and each.row.id for each in found] == [ROW.id, None, row.id]


# Reading.


def test_a_run_begins_with_what_earlier_runs_spent(project: Path) -> None:
    before = file_ledger(settings(project, project_tokens=100))
    call(before, account(project), 80)
    closed()
    ledger = file_ledger(settings(project, project_tokens=100))
    assert ledger is not before
    budgets = Budgets(project=Limit(tokens=100))
    refused = ledger.reserve(account(project, "r"), Estimate(21, 0, None), budgets)
    assert refused == Refusal("project", "tokens", 80, 0, 21, 100)
    assert isinstance(ledger.reserve(account(project, "r"), Estimate(20, 0, None), budgets), Reservation)


def test_a_project_that_was_moved_keeps_what_it_spent(project: Path) -> None:
    append(usage_path(project), ROW)
    ledger = file_ledger(settings(project, project_tokens=1000))
    assert ledger.spent("project", account(project)).tokens == 120
    assert ledger.spent("tenant", account(project)).tokens == 120


def test_without_a_budget_that_outlives_a_run_the_file_is_passed_by(project: Path) -> None:
    append(usage_path(project), ROW)
    with usage_path(project).open("ab") as file:
        file.write(b"foreign\n")
    ledger = file_ledger(settings(project, turn_tokens=5, tree_dollars=1))
    assert ledger.rows() == ()
    with usage_path(project).open("ab") as file:
        file.write(b"foreign too\n")
    call(ledger, account(project))
    assert closed() == ("line 3 of .vancetope/usage.jsonl is no row of ours and is not counted",)


def test_for_a_budget_of_the_day_earlier_days_are_passed_by(project: Path) -> None:
    today = datetime.now(UTC).replace(hour=0)
    append(usage_path(project), replace(ROW, id="old", at=today - timedelta(hours=1)))
    append(usage_path(project), replace(ROW, id="new", at=today))
    append(usage_path(project), replace(ROW, id="ahead", at=today + timedelta(days=1)))
    with usage_path(project).open("ab") as file:
        file.write(b"foreign\n")
    ledger = file_ledger(settings(project, day_tokens=1000))
    assert [each.id for each in ledger.rows()] == ["new", "ahead"]
    assert ledger.spent("day", account(project), today).tokens == 120
    assert closed() == ("line 4 of .vancetope/usage.jsonl is no row of ours and is not counted",)


def test_rows_of_another_run_count_once_ours_is_written(project: Path) -> None:
    ours = file_ledger(settings(project, project_tokens=1000))
    assert isinstance(ours, FileLedger)
    append(usage_path(project), replace(ROW, id="theirs"))
    call(ours, account(project), 10)
    assert ours.notices() == ()
    spent = ours.spent("project", account(project))
    assert (spent.calls, spent.tokens) == (2, 130)


def test_a_row_that_stands_twice_in_the_file_counts_once(project: Path) -> None:
    append(usage_path(project), ROW)
    append(usage_path(project), ROW)
    ledger = file_ledger(settings(project, project_tokens=1000))
    assert ledger.spent("project", account(project)).calls == 1


def test_a_last_line_without_its_newline_counts_if_it_is_whole(project: Path) -> None:
    append(usage_path(project), ROW)
    usage_path(project).write_bytes(usage_path(project).read_bytes().rstrip(b"\n"))
    ledger = file_ledger(settings(project, project_tokens=1000))
    assert ledger.spent("project", account(project)).calls == 1
    call(ledger, account(project))
    assert closed() == ()
    assert len(written(project)) == 2


def test_a_file_that_was_emptied_in_between_is_read_from_its_start(project: Path) -> None:
    for number in range(3):
        append(usage_path(project), replace(ROW, id=str(number)))
    ledger = file_ledger(settings(project, project_tokens=1000))
    usage_path(project).unlink()
    call(ledger, account(project))
    call(ledger, account(project))
    assert closed() == ()
    assert ledger.spent("project", account(project)).calls == 5
    assert len(written(project)) == 2


def test_foreign_lines_are_counted_in_one_sentence(project: Path) -> None:
    append(usage_path(project), ROW)
    with usage_path(project).open("ab") as file:
        file.write(b"\n{}\n\xff\xfe\n\n")
    ledger = file_ledger(settings(project, day_dollars=1))
    assert isinstance(ledger, FileLedger)
    said = "2 lines of .vancetope/usage.jsonl, the first is line 3, are no rows of ours and are not counted"
    assert ledger.notices() == (said,)
    assert ledger.notices() == ()


def test_where_the_lines_end_is_found_without_reading_them(project: Path) -> None:
    assert end_of(usage_path(project)) == (0, 0)
    append(usage_path(project), ROW)
    size = usage_path(project).stat().st_size
    assert end_of(usage_path(project)) == (size, 1)
    with usage_path(project).open("ab") as file:
        file.write(b"torn")
    assert end_of(usage_path(project)) == (size, 1)


# What is wrong with the file never breaks a turn.


def a_folder(path: Path) -> None:
    path.mkdir(parents=True)


def a_pipe(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)


def a_file_for_the_folder(path: Path) -> None:
    path.parent.touch()


def a_loop_of_links(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path)


@pytest.mark.parametrize("stands", [a_folder, a_pipe, a_file_for_the_folder, a_loop_of_links])
@pytest.mark.parametrize("limits", [{}, {"day_tokens": 100}])
def test_a_file_that_cannot_be_used_is_a_notice(
    project: Path, stands: Callable[[Path], None], limits: dict[str, Any]
) -> None:
    stands(usage_path(project))
    ledger = file_ledger(settings(project, **limits))
    for _ in range(3):
        call(ledger, account(project))
    said = closed()
    assert len([each for each in said if "cannot be written (" in each]) == 1
    assert all(each.startswith(".vancetope/usage.jsonl cannot be ") for each in said)
    assert len(said) <= 3
    assert ledger.spent("day", account(project)).calls == 3
