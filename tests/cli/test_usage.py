"""`vancetope usage`: the table, the budgets, and that a budget holds from run to run."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Stream, cli, script
from tests.cli.terminal import terminal
from vancetope.cli.lines import Line
from vancetope.cli.trouble import Refused
from vancetope.cli.usage import budget_lines, grouped, limited, moment, table
from vancetope.cli.usage_file import append, usage_path
from vancetope.messages import Usage
from vancetope.models.base import Price
from vancetope.models.budgets import Account, Budgets, Limit
from vancetope.models.ledger import MemoryLedger, Row
from vancetope.settings import load

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ROW = Row(
    id="1",
    at=NOON,
    account=Account("p:1", "p" * 32, "/project", "/tenant"),
    provider="openai",
    asked="openai:gpt-5-mini",
    used="gpt-5-mini",
    purpose="answer",
    usage=Usage(input_tokens=12_345, output_tokens=678, cached_tokens=9_000, thinking_tokens=512),
    price=Price(input=0.25, output=2),
    cost=0.0123,
    requests=1,
    outcome="replied",
)
DEAR = replace(ROW, id="2", provider="anthropic", used="claude-opus-4-5", cost=1.5, purpose="correction")
UNPRICED = replace(ROW, id="3", provider="lab", used="qwen3", cost=None, price=None)
FREE = replace(
    ROW, id="4", provider="local", used="smollm2-135m", cost=0.0, usage=Usage(input_tokens=5, estimated=True)
)
FAILED = replace(ROW, id="5", usage=Usage(), cost=0.0, outcome="failed")
BROKEN = replace(ROW, id="6", usage=Usage(input_tokens=100, output_tokens=50, estimated=True), outcome="cut short")
ROWS = (ROW, DEAR, UNPRICED, FREE, FAILED, BROKEN)


def texts(lines: list[Line]) -> list[str]:
    return [each.text for each in lines]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "vancetope.yaml").write_text("{}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project: Path, *rows: Row) -> None:
    for row in rows:
        append(usage_path(project), row)


# The table.


def test_the_dearest_model_stands_first_and_costs_are_honest() -> None:
    assert texts(table(grouped(ROWS, "model"), "model", 80)) == [
        "model                     calls    input  cached  output  thinking          cost",
        "anthropic:claude-opus-4-5",
        "                              1   12,345   9,000     678       512         $1.50",
        "openai:gpt-5-mini             3  ~12,445   9,000    ~728       512      ~$0.0246",
        "lab:qwen3                     1   12,345   9,000     678       512       unknown",
        "local:smollm2-135m            1       ~5       0      ~0         0            $0",
        "total                         6  ~37,140  27,000  ~2,084     1,536  ~$1.5246 + ?",
        "~ estimated: the provider did not say, or the reply broke off",
        "1 call of unknown price: tokens are counted, the cost is not",
        "1 call failed and costs nothing",
        "1 call broke off and counts as estimated",
    ]


def test_one_group_needs_no_total() -> None:
    assert texts(table(grouped([ROW], "purpose"), "purpose", 80)) == [
        "purpose  calls   input  cached  output  thinking     cost",
        "answer       1  12,345   9,000     678       512  $0.0123",
    ]


def test_nothing_is_said_in_one_sentence() -> None:
    assert texts(table([], "model", 80)) == ["no model was called"]


@pytest.mark.parametrize("room", [80, 60, 20])
def test_a_long_name_gets_a_line_of_its_own_and_loses_nothing(room: int) -> None:
    name = "anthropic/claude-opus-4-5-with-a-very-long-name-20251101"
    lines = texts(table(grouped([replace(ROW, provider="openrouter", used=name), DEAR], "model"), "model", room))
    assert f"openrouter:{name}" in lines
    assert max(len(each) for each in lines if "openrouter" not in each) <= max(room, 63)
    assert texts(table(grouped([replace(ROW, used=name)], "model"), "model", 1000))[1].startswith(f"openai:{name}  ")


def test_large_numbers_stay_within_eighty_columns() -> None:
    usage = Usage(12_345_678_901, 9_876_543_210, 9_999_999, estimated=True)
    lines = texts(table(grouped([replace(ROW, usage=usage, cost=123_456.789)], "model"), "model", 80))
    assert "~12.3G  9,999,999  ~9,876.5M" in lines[1]
    assert lines[1].endswith("~$123,456.79")
    assert max(map(len, lines)) <= 80


def test_days_purposes_and_processes_have_their_own_order() -> None:
    rows = [
        replace(ROW, id="a", at=NOON + timedelta(days=1), purpose="repair"),
        replace(ROW, id="b", purpose="correction", account=replace(ROW.account, tree="z" * 32)),
        replace(ROW, id="c", at=NOON + timedelta(minutes=1)),
    ]
    assert [each.name for each in grouped(rows, "day")] == ["2026-11-30", "2026-12-01"]
    assert [each.name for each in grouped(rows, "purpose")] == ["answer", "correction", "repair"]
    processes = texts(table(grouped(rows, "process"), "process", 80))
    assert processes[1].startswith("2026-11-30 12:00 zzzzzzzz      1  ")
    assert processes[2].startswith("2026-11-30 12:01 pppppppp      2  ")


def test_names_cannot_reach_the_terminal_behind_the_text() -> None:
    lines = texts(table(grouped([replace(ROW, used="m\x1b[2J\nx")], "model"), "model", 80))
    assert lines[1].startswith("openai:m[2J x  ")


def test_each_budget_has_a_bar_and_what_every_turn_has_anew_has_none() -> None:
    ledger = MemoryLedger(lambda: NOON)
    ledger.count([ROW, DEAR, UNPRICED])
    budgets = Budgets(
        turn=Limit(tokens=5000),
        tree=Limit(dollars=1),
        project=Limit(tokens=1_000_000, dollars=1000),
        tenant=Limit(dollars=1.5),
        day=Limit(dollars=2),
    )
    nobody = replace(ROW.account, turn="", tree="")
    assert texts(budget_lines(limited(budgets, ledger, nobody))) == [
        "",
        "budget",
        "each turn     at most 5,000 tokens",
        "conversation  at most $1.00",
        "project       ░░░░░░░░░░░░░░░░░░░░   3%  39,069 of 1,000,000 tokens",
        "project       ░░░░░░░░░░░░░░░░░░░░  <1%  $1.5123 of $1,000.00, and 1 call of unknown price",
        "tenant        ████████████████████ 100%  $1.5123 of $1.50, and 1 call of unknown price",
        "today (UTC)   ███████████████░░░░░  75%  $1.5123 of $2.00, and 1 call of unknown price",
    ]
    of_tree = texts(budget_lines(limited(budgets, ledger, ROW.account)))
    assert of_tree[3] == "conversation  ████████████████████ 151%  $1.5123 of $1.00, and 1 call of unknown price"
    assert budget_lines(limited(Budgets(), ledger, ROW.account)) == []


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("2026-11-30", NOON.replace(hour=0)),
        ("2026-11-30T12:00", NOON),
        ("2026-11-30T14:00+02:00", NOON),
        (" 20261130 ", NOON.replace(hour=0)),
    ],
)
def test_a_date_is_the_start_of_a_day_in_utc(said: str, at: datetime) -> None:
    assert moment(said) == at


# The command.


def test_outside_of_a_project_one_sentence_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli("usage")
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == (
        "vancetope: usage is kept for projects, and there is none here: a project is a folder with vancetope.yaml"
    )


@pytest.mark.parametrize("said", ["yesterday", "2026-13-01", "", "0000-00-00"])
def test_a_date_that_is_none_is_refused(project: Path, said: str) -> None:
    ran = cli("usage", "--since", said)
    assert ran.code == 2
    assert ran.complaint.endswith("expected a date such as 2026-11-30")


def test_nothing_was_used_yet(project: Path) -> None:
    ran = cli("usage")
    assert (ran.code, ran.out, ran.err) == (0, "no model was called\n", "")
    assert not usage_path(project).exists()


def test_calls_before_the_date_are_left_out_of_the_table_and_not_of_the_budgets(project: Path) -> None:
    (project / "vancetope.yaml").write_text("budgets: {project: {dollars: 2}}\n")
    write(project, ROW, replace(DEAR, at=NOON - timedelta(days=1)))
    shown = cli("usage", "--since", "2026-11-30").out
    assert "claude" not in shown
    assert "project  ███████████████░░░░░  75%  $1.5123 of $2.00\n" in shown
    assert "claude" in cli("usage").out


def test_a_program_gets_numbers(project: Path) -> None:
    (project / "vancetope.yaml").write_text("budgets: {tree: {tokens: 5}, project: {dollars: 2}}\n")
    write(project, *ROWS, ROW)
    with usage_path(project).open("ab") as file:
        file.write(b"?\n")
    ran = cli("usage", "--json", "--by", "purpose", "--since", "2026-11-30T13:00+01:00")
    data: dict[str, Any] = json.loads(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert data["total"] | {"cost": round(data["total"]["cost"], 9)} == {
        "calls": 6,
        "failed": 1,
        "cut_short": 1,
        "input_tokens": 37_140,
        "cached_tokens": 27_000,
        "cache_write_tokens": 0,
        "output_tokens": 2_084,
        "thinking_tokens": 1_536,
        "estimated": True,
        "cost": 1.5246,
        "unpriced": 1,
    }
    assert [(each["name"], each["calls"]) for each in data["groups"]] == [("answer", 5), ("correction", 1)]
    assert data["budgets"] == [
        {"scope": "tree", "unit": "tokens", "spent": None, "limit": 5},
        {"scope": "project", "unit": "dollars", "spent": 1.5246, "limit": 2},
    ]
    assert (data["project"], data["by"], data["unreadable_lines"]) == (str(project), "purpose", 1)
    assert data["since"] == "2026-11-30T12:00:00+00:00"


def test_a_program_gets_nothing_as_null(project: Path) -> None:
    data = json.loads(cli("usage", "--json").out)
    assert (data["total"], data["groups"], data["budgets"]) == (None, [], [])
    write(project, UNPRICED)
    assert json.loads(cli("usage", "--json").out)["total"]["cost"] is None


def test_foreign_lines_are_said_beside_the_table(project: Path) -> None:
    write(project, ROW)
    with usage_path(project).open("ab") as file:
        file.write(b"{}\n")
    ran = cli("usage")
    assert ran.err == "· line 2 of .vancetope/usage.jsonl is no row of ours and is not counted\n"
    assert "openai:gpt-5-mini" in ran.out


def test_a_file_that_cannot_be_read_is_one_sentence(project: Path) -> None:
    usage_path(project).mkdir(parents=True)
    ran = cli("usage")
    assert ran.code == 2
    assert ran.complaint.startswith(f"vancetope: {usage_path(project)} cannot be read: ")


# From run to run.


def test_what_a_command_used_is_there_when_it_ends(project: Path) -> None:
    assert cli("ask", "Hi", "--model", "scripted:hello").code == 0
    model = script(project / "s.json", "text", {"respond": "Done"})
    assert cli("ask", "Hi", "--model", model).code == 0
    data = json.loads(cli("usage", "--json", "--by", "purpose").out)
    assert [(each["name"], each["calls"]) for each in data["groups"]] == [("answer", 2), ("correction", 1)]
    assert len(json.loads(cli("usage", "--json", "--by", "process").out)["groups"]) == 2


def test_a_budget_of_the_day_holds_from_run_to_run(project: Path) -> None:
    (project / "vancetope.yaml").write_text("budgets: {day: {tokens: 2500}}\n")
    assert cli("ask", "Hi", "--model", "scripted:hello").code == 0
    ran = cli("ask", "Hi", "--model", "scripted:hello")
    assert (ran.code, ran.out) == (6, "")
    assert "✗ budget_exceeded: today's budget is not enough: " in ran.err
    assert "raise budgets.day.tokens in the settings, or wait for midnight UTC" in ran.err
    assert json.loads(cli("usage", "--json").out)["total"]["calls"] == 1


def test_a_budget_that_is_nearly_spent_is_said_once(project: Path) -> None:
    (project / "vancetope.yaml").write_text("budgets: {project: {tokens: 100000}, warnAt: 0.01}\n")
    assert "· the project's budget is " not in cli("ask", "Hi", "--model", "scripted:hello").err
    assert "· the project's budget is 1% spent: 1," in cli("ask", "Hi", "--model", "scripted:hello").err
    assert "· the project's budget is " not in cli("ask", "Hi", "--model", "scripted:hello").err


def test_a_turn_goes_on_where_its_usage_cannot_be_written(project: Path) -> None:
    usage_path(project).mkdir(parents=True)
    ran = cli("ask", "Hi", "--model", "scripted:hello", err=Stream())
    assert ran.code == 0
    assert ran.out.startswith("Hello!")
    assert ran.err.count("· .vancetope/usage.jsonl cannot be written (") == 1
    (project / "vancetope.yaml").write_text("budgets: {day: {tokens: 2500}}\n")
    ran = cli("ask", "Hi", "--model", "scripted:hello")
    assert ran.code == 0
    assert ran.err.count("· .vancetope/usage.jsonl cannot be ") == 2
    assert ran.err.startswith("· .vancetope/usage.jsonl cannot be read (it is no ordinary file): ")


@pytest.mark.timeout(60)
def test_the_chat_shows_what_its_conversation_has_used(project: Path) -> None:
    (project / "vancetope.yaml").write_text("budgets: {tree: {tokens: 100000}}\n")
    write(project, DEAR)
    with terminal("chat", "--model", "scripted:hello", env={}) as chat:
        chat.until("Ask me anything.")
        chat.type("/usage\r")
        chat.until("no model was called")
        chat.type("Hi\r")
        chat.until("1 round · 1 call")
        chat.type("/model scripted:hello\r")
        chat.until("as you asked")
        chat.type("Hi\r")
        chat.until("1 round · 1 call")
        chat.type("/usage\r")
        shown = chat.until("of100,000tokens")
        assert "scripted:hello2~" in shown
        chat.type("\x04")
        assert chat.end() == 0
    assert "claude" not in chat.raw
    assert load(project).project == project


@pytest.mark.parametrize("said", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "10000-01-01", "today"])
def test_a_date_that_no_calendar_has_is_refused(said: str) -> None:
    with pytest.raises(Refused, match="expected a date such as"):
        moment(said)
