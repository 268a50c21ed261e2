"""`vancetope settings`: what holds here, who said it, and which secrets are there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Stream, cli
from vancetope.settings import KEYS

PROJECT = """
model: lab:qwen3-8b
servers:
  lab: {kind: vllm, url: "http://me:pw@127.0.0.1:8000/v1", model: qwen3-8b, keyVariable: LAB_KEY}
budgets: {day: {dollars: 50}}
validation: false
web: {allow: [wiki.example, "127.0.0.1:8080"]}
"""
TENANT = "budgets: {day: {dollars: 5}, warnAt: 0.5}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a tenant; the current folder is in it."""
    for name, text in (("project", PROJECT), ("tenant", TENANT)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vancetope.yaml").write_text(text)
    (tmp_path / "project" / "below").mkdir()
    monkeypatch.chdir(tmp_path / "project" / "below")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VANCETOPE_TENANT", str(tmp_path / "tenant"))
    return tmp_path / "project"


def rows(text: str) -> dict[str, list[str]]:
    """The lines by their first word."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def listed(out: str) -> dict[str, dict[str, Any]]:
    return {each["key"]: each for each in json.loads(out)["values"]}


def test_each_value_is_listed_with_who_said_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VANCETOPE_MAX_VALIDATION_CORRECTIONS", "3")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    monkeypatch.setenv("BRAVE_API_KEY_FILE", "/nowhere/key")
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://me:pw@ollama.example/v1")
    ran = cli("settings")
    shown = rows(ran.out)
    assert ran.code == 0
    assert (shown["project"], shown["tenant"]) == (["~/project"], ["~/tenant"])
    assert shown["model"] == ["lab:qwen3-8b", "project"]
    assert shown["maxIterations"] == ["100", "bundled"]
    assert shown["maxValidationCorrections"] == ["3", "environment"]
    assert shown["validation"] == ["false", "project"]
    assert shown["budgets.day.dollars"] == ["5", "tenant"]
    assert shown["web.allow"] == ["wiki.example,", "127.0.0.1:8080", "project"]
    assert shown["servers.lab.url"] == ["http://127.0.0.1:8000/v1", "project"]
    assert shown["files.root"] == ["~/project", "bundled"]
    assert shown["OPENAI_API_KEY"] == ["set"]
    assert "BRAVE_API_KEY   the file that BRAVE_API_KEY_FILE names cannot be read\n" in ran.out
    assert shown["OLLAMA_BASE_URL"] == ["http://ollama.example/v1"]
    assert "not set (a settings file or VANCETOPE_TURN_END and its kin say it): turnEnd, enforcement, " in ran.out
    assert "no secret in: ANTHROPIC_API_KEY, " in ran.out
    assert "LAB_KEY" in ran.out
    assert "pw" not in ran.out + ran.err
    assert "seen" not in ran.out + ran.err


def test_notices_are_told_beside_the_listing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VANCETOPE_TURNEND", "natural")
    ran = cli("settings")
    first, second = ran.err.splitlines()
    assert first == "note: VANCETOPE_TURNEND is set and nothing reads it; did you mean VANCETOPE_TURN_END?"
    assert "budgets.day.dollars: a project cannot raise what " in second
    assert [f"note: {each}" for each in json.loads(cli("settings", "--json").out)["notices"]] == [first, second]


def test_json_has_every_key_its_variable_and_the_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VANCETOPE_TURN_END", "natural")
    ran = cli("settings", "--json")
    told, values = json.loads(ran.out), listed(ran.out)
    assert (ran.code, ran.err) == (0, "")
    assert (told["project"], told["tenant"]) == (str(project), str(project.parent / "tenant"))
    assert KEYS.keys() <= values.keys()
    assert values["turnEnd"] == {
        "key": "turnEnd",
        "value": "natural",
        "source": "environment",
        "where": "VANCETOPE_TURN_END",
        "variable": "VANCETOPE_TURN_END",
        "about": "how a turn may end",
    }
    assert values["temperature"]["value"] is values["temperature"]["source"] is None
    assert values["web.allow"]["value"] == ["wiki.example", "127.0.0.1:8080"]
    assert values["model"]["where"] == str(project / "vancetope.yaml")
    assert values["maxAttempts"]["source"] == "bundled"
    assert values["servers.lab.url"]["value"] == "http://127.0.0.1:8000/v1"
    assert {"variable": "LAB_KEY", "about": "the server lab", "state": "not set"} in told["secrets"]


@pytest.mark.parametrize(
    ("name", "out"),
    [
        ("model", "lab:qwen3-8b\n"),
        ("VANCETOPE_MODEL", "lab:qwen3-8b\n"),
        ("validation", "false\n"),
        ("budgets.warnAt", "0.5\n"),
        ("web.allow", "wiki.example, 127.0.0.1:8080\n"),
        ("servers.lab.kind", "vllm\n"),
        ("servers.lab.url", "http://127.0.0.1:8000/v1\n"),
    ],
)
def test_one_value_stands_alone_so_that_a_script_can_take_it(name: str, out: str, project: Path) -> None:
    ran = cli("settings", name)
    assert (ran.code, ran.out) == (0, out)


def test_one_value_that_nobody_says_is_nothing_and_a_note_how_to_say_it(project: Path) -> None:
    ran = cli("settings", "turnEnd")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("turnEnd is not set; a settings file or VANCETOPE_TURN_END says it\n")
    assert json.loads(cli("settings", "turnEnd", "--json").out)["value"] is None


def test_a_group_is_shown_with_what_is_not_set(project: Path) -> None:
    ran = cli("settings", "budgets.day")
    assert rows(ran.out) == {
        "budgets.day.tokens": ["not", "set", "VANCETOPE_BUDGETS_DAY_TOKENS"],
        "budgets.day.dollars": ["5", "tenant"],
    }
    assert [each["key"] for each in json.loads(cli("settings", "budgets.day", "--json").out)] == list(rows(ran.out))
    assert list(rows(cli("settings", "servers").out)) == [
        f"servers.lab.{each}" for each in ("kind", "url", "model", "keyVariable")
    ]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("turnend", "did you mean turnEnd?"),
        ("defaultRecipe", "did you mean session.defaultRecipe?"),
        ("budget.day.dollars", "did you mean budgets.day.dollars?"),
        ("servers.lob", "did you mean servers.lab."),
        ("zzz", "`vancetope settings` lists those there are"),
        ("", "lists those there are"),
    ],
)
def test_a_key_that_there_is_not_is_one_sentence(name: str, near: str, project: Path) -> None:
    ran = cli("settings", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith(f"vancetope: there is no setting {name!r}; ")
    assert near in ran.complaint


def test_without_project_and_tenant_the_listing_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = cli("settings").out
    assert "project  no vancetope.yaml here or above\n" in out
    assert "(no vancetope.yaml there)\n" in out
    assert "no secret in: OPENAI_API_KEY, ANTHROPIC_API_KEY, " in out
    assert cli("settings", "servers").out == ""


@pytest.mark.parametrize("command", [("settings",), ("settings", "model"), ("settings", "--json")])
@pytest.mark.parametrize("where", ["project", "tenant"])
def test_a_broken_file_is_one_sentence_and_exit_code_2(command: tuple[str, ...], where: str, project: Path) -> None:
    path = project.parent / where / "vancetope.yaml"
    path.write_text("moddel: x\n")
    ran = cli(*command)
    assert ran.code == 2
    assert ran.complaint == f"vancetope: {path}: moddel: unknown key; did you mean model?"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_in_a_terminal_no_line_is_longer_than_it_is_wide(
    columns: int, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("VANCETOPE_MODEL", "openrouter:" + "a-very-long-vendor/" * 8 + "its-model")
    monkeypatch.setenv("VANCETOPE_WEB_ALLOW", ",".join(f"host-{each}.example" for each in range(20)))
    monkeypatch.setenv("BRAVE_API_KEY_FILE", "/nowhere")
    ran = cli("settings", out=Stream(is_terminal=True))
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) < columns
    assert "its-model" in "".join(ran.out.split())
    assert all(f"host-{each}.example" in "".join(ran.out.split()) for each in range(20))


def test_help_and_import_read_no_settings(project: Path) -> None:
    (project / "vancetope.yaml").write_text("moddel: x\n")
    assert cli("--help").code == 0
    seen = "import vancetope, vancetope.cli.app, sys; print([m for m in sys.modules if 'vancetope.settings' in m])"
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
