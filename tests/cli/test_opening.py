"""Which model is used, whether it may be, and what happens where it is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import KEY, Ran, Stream, cli, openai_at, script, serving
from vancetope.backends.direct import extras
from vancetope.backends.faults import FaultServer
from vancetope.backends.local.weights import WeightsMissing
from vancetope.backends.scripted import respond
from vancetope.errors import MissingExtra

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


ANTHROPIC = "ANTHROPIC_API_KEY"
LISTS = """
aliases:
  two: [openai:gpt-5-mini, anthropic:claude-haiku-5-5, scripted:hello]
"""


@pytest.fixture
def anthropic(folder: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second key, of a provider whose library is installed; its server is the same."""
    monkeypatch.setenv(ANTHROPIC, KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url.removesuffix("/v1"))


def kept(folder: Path) -> dict[str, bool]:
    file = folder.parent / "config/vancetope/answers.json"
    return dict(json.loads(file.read_text())[str(folder)]) if file.exists() else {}


@pytest.mark.parametrize(
    ("variable", "model"),
    [
        ("OPENAI_API_KEY", "openai:gpt-5-mini"),
        (ANTHROPIC, "anthropic:claude-haiku-5-5"),
        ("GEMINI_API_KEY", "gemini:gemini-3.8-flash"),
        ("GOOGLE_API_KEY", "gemini:gemini-3.8-flash"),
    ],
)
def test_each_found_key_is_announced_as_paid_and_asked_about_by_its_own_name(
    variable: str, model: str, folder: Path, monkeypatch: pytest.MonkeyPatch, no_local_model: list[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv(variable, KEY)
    ran = at_terminal("ask", "Hi", typed=b"n\nn\n")
    announced = f"{model} (because {variable} is set; its use is paid, --model local: stays on this machine)"
    assert ran.err.index(announced) < ran.err.index("Use it? [Y/n]")
    assert kept(folder) == {f"usesFoundKey.{variable}": False}
    later = cli("ask", "Hi")
    assert f"{variable} is set, but you said no to it here; --model {model.partition(':')[0]}: uses it" in later.err
    assert KEY not in ran.err + later.err


def test_a_yes_to_one_key_is_no_yes_to_another(folder: Path, anthropic: None, monkeypatch: pytest.MonkeyPatch) -> None:
    at_terminal("ask", "Hi", typed=b"y\n")
    assert kept(folder) == {"usesFoundKey.OPENAI_API_KEY": True}
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "Use it? [Y/n]" in at_terminal("ask", "Hi", typed=b"n\nn\n").err
    assert kept(folder) == {"usesFoundKey.OPENAI_API_KEY": True, f"usesFoundKey.{ANTHROPIC}": False}


def test_after_a_no_to_one_key_another_that_was_agreed_to_is_used(
    folder: Path, anthropic: None, server: FaultServer
) -> None:
    answers = {str(folder): {"usesFoundKey.OPENAI_API_KEY": False, f"usesFoundKey.{ANTHROPIC}": True}}
    file = folder.parent / "config/vancetope/answers.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(answers))
    ran = at_terminal("ask", "Hi")
    assert (ran.code, ran.out) == (0, "Fine.\n")
    assert f"anthropic:claude-haiku-5-5 (because {ANTHROPIC} is set" in ran.err
    assert "[Y/n]" not in ran.err
    assert server.requests[-1].body["model"] == "claude-haiku-5-5"


def test_an_older_answer_about_openais_key_still_counts(folder: Path, no_local_model: list[str]) -> None:
    file = folder.parent / "config/vancetope/answers.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({str(folder): {"usesFoundKey": False}}))
    assert "you said no to it here" in cli("ask", "Hi").err


def test_a_key_that_would_pay_for_a_stand_in_is_asked_about_too(folder: Path, anthropic: None) -> None:
    first = at_terminal("ask", "Hi", "--model", "default:fast", typed=b"y\nn\n")
    assert first.code == 0
    assert "openai:gpt-5-mini (for default:fast, as you asked, because OPENAI_API_KEY is set" in first.err
    assert "if that fails: anthropic:claude-haiku-5-5 (for default:fast" in first.err
    assert "Use it then? [Y/n]" in first.err
    assert kept(folder) == {"usesFoundKey.OPENAI_API_KEY": True, f"usesFoundKey.{ANTHROPIC}": False}
    again = at_terminal("ask", "Hi", "--model", "default:fast")
    assert "[Y/n]" not in again.err
    assert "if that fails" not in again.err


def test_an_alias_of_the_project_is_asked_about_by_nobody(folder: Path, anthropic: None) -> None:
    (folder / "vancetope.yaml").write_text("model: two\n")
    (folder / ".vancetope").mkdir()
    (folder / ".vancetope/ai-models.yaml").write_text(LISTS)
    ran = at_terminal("ask", "Hi")
    assert (ran.code, ran.out) == (0, "Fine.\n")
    assert "(for two, named in the settings)" in ran.err
    assert "[Y/n]" not in ran.err


def test_a_key_without_its_library_is_a_hint_beside_the_model_that_is_used(
    folder: Path, anthropic: None, no_local_model: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr(extras, "missing_extra", lambda kind: MissingExtra("anthropic", "Anthropic"))
    shown = cli("models", "--no-probe")
    hint = f"{ANTHROPIC} is set, but Anthropic needs the extra 'anthropic': pip install 'vancetope[anthropic]'"
    assert f"· {hint}" in shown.out
    assert "- anthropic     " in shown.out
