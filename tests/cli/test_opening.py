"""Which model is used, whether it may be, and what happens where it is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import KEY, Ran, Stream, cli, openai_at, script, serving
from vancetope.backends.faults import FaultServer
from vancetope.backends.local.weights import WeightsMissing
from vancetope.backends.scripted import respond

PAID = "because OPENAI_API_KEY is set; its use is paid, --model local: stays on this machine"


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving(lambda asked: respond("Fine.")) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FaultServer) -> Path:
    """A folder to work in, a config folder beside it, and a key that was found in the environment."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name, value in openai_at(server).items():
        monkeypatch.setenv(name, value)
    return work


def at_terminal(*arguments: str, typed: bytes = b"") -> Ran:
    """Run a command whose questions somebody answers."""
    return cli(*arguments, stdin=Stream(typed, is_terminal=True), err=Stream(is_terminal=True))


@pytest.fixture
def no_local_model(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine without the small model; what is pulled is noted, and fails."""
    pulled: list[str] = []

    async def find(_: str) -> Path:
        raise WeightsMissing

    async def fetched(name: str | None, **_: object) -> Path:
        pulled.append(str(name))
        raise WeightsMissing("the network is down")

    monkeypatch.setattr("vancetope.backends.local.weights.find", find)
    monkeypatch.setattr("vancetope.cli.person.fetched", fetched)
    return pulled


def test_a_found_key_is_announced_as_paid_and_used_where_nobody_can_be_asked(folder: Path) -> None:
    ran = cli("ask", "Hi")
    assert ran.code == 0
    assert ran.err.splitlines()[0] == f"openai:gpt-5-mini ({PAID})"
    assert not (folder / ".vancetope").exists()
    assert not (folder.parent / "config").exists()


@pytest.mark.parametrize("typed", [b"\n", b"y\n", b"YES\n"])
def test_a_yes_is_asked_for_once_and_kept_for_the_folder(folder: Path, typed: bytes) -> None:
    first = at_terminal("ask", "Hi", typed=typed)
    assert first.code == 0
    assert first.err.index(PAID) < first.err.index("Use it? [Y/n]")
    assert json.loads((folder.parent / "config/vancetope/answers.json").read_text()) == {
        str(folder): {"usesFoundKey.OPENAI_API_KEY": True}
    }
    again = at_terminal("ask", "Hi")
    assert again.code == 0
    assert "Use it?" not in again.err
    assert PAID in again.err


def test_the_answer_of_a_project_lies_in_its_folder(folder: Path) -> None:
    (folder / "vancetope.yaml").write_text("session:\n  defaultRecipe: ford\n")
    at_terminal("ask", "Hi", typed=b"y\n")
    kept = folder / ".vancetope/answers.json"
    assert json.loads(kept.read_text()) == {"usesFoundKey.OPENAI_API_KEY": True}
    assert kept.stat().st_mode & 0o777 == 0o600
    assert not (folder.parent / "config").exists()


def test_a_no_stays_on_this_machine_now_and_later(folder: Path, server: FaultServer, no_local_model: list[str]) -> None:
    asked = len(server.requests)
    first = at_terminal("ask", "Hi", typed=b"n\nn\n")
    assert first.code == 2
    assert "The local model smollm2-135m is not on this machine. Fetch it now (98 MB, Apache-2.0)? [Y/n]" in first.err
    later = cli("ask", "Hi")
    assert later.code == 2
    assert "you said no to it here; --model openai: uses it" in later.err
    assert "vancetope models pull" in later.err
    assert len(server.requests) == asked
    assert no_local_model == []
    named = cli("ask", "Hi", "--model", "openai:gpt-5-mini")
    assert named.code == 0


def test_no_answer_at_all_is_remembered_as_none(folder: Path) -> None:
    assert at_terminal("ask", "Hi", typed=b"").code == 0
    assert not (folder.parent / "config").exists()


def test_yes_on_the_command_line_answers_every_question(folder: Path, no_local_model: list[str]) -> None:
    ran = at_terminal("ask", "Hi", "--yes")
    assert ran.code == 0
    assert "[Y/n]" not in ran.err
    ran = at_terminal("ask", "Hi", "--yes", "--local")
    assert no_local_model == ["smollm2-135m"]
    assert "[Y/n]" not in ran.err


def test_a_missing_model_is_fetched_once_somebody_says_yes(folder: Path, no_local_model: list[str]) -> None:
    ran = at_terminal("ask", "Hi", "--local", typed=b"y\n")
    assert (ran.code, no_local_model) == (2, ["smollm2-135m"])
    assert "the network is down" in ran.err


def test_a_missing_model_is_one_sentence_where_nobody_can_be_asked(no_local_model: list[str]) -> None:
    for command in (("ask", "Hi"), ("chat",)):
        ran = cli(*command, "--local")
        assert (ran.code, ran.out) == (2, "")
        assert ran.complaint == ("vancetope: There is no file for this local model; run `vancetope models pull`.")


def test_a_missing_runtime_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for ran in (cli("ask", "Hi", "--local"), at_terminal("ask", "Hi", "--local", typed=b"y\n")):
        assert ran.code == 2
        assert "the local model needs the extra 'local': pip install 'vancetope[local]'" in ran.err
        assert "[Y/n]" not in ran.err


def test_broken_settings_are_one_sentence(folder: Path) -> None:
    (folder / "vancetope.yaml").write_text("modle: x\n")
    for command in (("ask", "Hi"), ("chat",), ("models",)):
        ran = cli(*command)
        assert (ran.code, ran.out) == (2, "")
        assert ran.complaint.endswith("modle: unknown key; did you mean model?")


def test_the_settings_of_the_project_choose_model_and_recipe(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", {"respond": "From the settings."})
    (folder / "vancetope.yaml").write_text(f"model: '{model}'\n")
    ran = cli("ask", "Hi")
    assert ran.out == "From the settings.\n"
    assert ran.err.startswith(f"{model} (named in the settings)")


def test_unreadable_answers_count_as_none(folder: Path) -> None:
    kept = folder.parent / "config/vancetope/answers.json"
    kept.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"x": 1}', f'{{"{folder}": {{"usesFoundKey": "perhaps"}}}}'):
        kept.write_text(text)
        assert "Use it?" in at_terminal("ask", "Hi", typed=b"y\n").err
    assert KEY not in kept.read_text()
