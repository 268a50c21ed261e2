"""`vancetope recipes`: which recipes there are, where each comes from, and one of them as it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Stream, child, cli
from vancetope.recipes.loading import BUNDLED, load

MINE = "description: Writes poems.\nparams: {temperature: 1}\npromptPrefix: |\n  You are a poet.\ntags: [fun]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a recipe of its own and one that hides two others, and a tenant."""
    folder = tmp_path / "project"
    (folder / ".vancetope" / "recipes").mkdir(parents=True)
    (tmp_path / "tenant" / "recipes").mkdir(parents=True)
    (folder / "vancetope.yaml").write_text("session: {defaultRecipe: poet}\n")
    (folder / ".vancetope" / "recipes" / "poet.yaml").write_text(MINE)
    (folder / ".vancetope" / "recipes" / "ford.yaml").write_text("description: Our Ford.\n")
    (tmp_path / "tenant" / "recipes" / "ford.yaml").write_text("description: The tenant's Ford.\n")
    (tmp_path / "tenant" / "recipes" / "clerk.yaml").write_text("engine: jeltz\ndescription: Fills in forms.\n")
    monkeypatch.setenv("VANCETOPE_TENANT", str(tmp_path / "tenant"))
    monkeypatch.chdir(folder)
    return folder


def found(out: str) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(out)["recipes"]}


def test_the_list_says_where_each_comes_from_and_what_it_hides(project: Path) -> None:
    ran = cli("recipes")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "→ poet          project  Writes poems." in lines
    assert "  clerk         tenant   Fills in forms." in lines
    assert "  ford          project  Our Ford." in lines
    hidden = f"hides tenant, {project.parent / 'tenant' / 'recipes' / 'ford.yaml'} and the bundled one"
    assert lines[lines.index("  ford          project  Our Ford.") + 1].strip() == hidden
    assert [each.split()[0] for each in lines if " bundled  " in each] == sorted({*BUNDLED} - {"ford"})
    assert lines[-1].endswith(f"put your own into {project / '.vancetope' / 'recipes' / 'NAME.yaml'}")


def test_outside_a_project_ones_own_recipes_are_the_tenants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tenant").mkdir()
    monkeypatch.setenv("VANCETOPE_TENANT", str(tmp_path / "tenant"))
    monkeypatch.chdir(tmp_path)
    ran = cli("recipes")
    assert "→ ford          bundled  " in ran.out
    assert f"{tmp_path / 'tenant' / 'recipes' / 'NAME.yaml'}" in ran.out


def test_json_is_one_value(project: Path) -> None:
    ran = cli("recipes", "--json")
    assert (ran.code, ran.err, ran.out.count("\n")) == (0, "", 1)
    assert json.loads(ran.out)["default"] == "poet"
    assert sorted(found(ran.out)) == sorted([*BUNDLED, "clerk", "poet"])
    assert found(ran.out)["ford"] == {
        "name": "ford",
        "source": "project",
        "path": str(project / ".vancetope" / "recipes" / "ford.yaml"),
        "description": "Our Ford.",
        "engine": "ford",
        "tags": [],
        "shadows": [
            {"source": "tenant", "path": str(project.parent / "tenant" / "recipes" / "ford.yaml")},
            {"source": "bundled", "path": None},
        ],
        "problem": None,
    }
    assert found(ran.out)["jeltz"]["path"] is None


@pytest.mark.usefixtures("project")
def test_one_recipe_is_shown_as_it_stands() -> None:
    ran = cli("recipes", "poet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("# poet: project, ")
    assert ran.out.partition("\n")[2] == MINE
    assert cli("recipes", "clerk").out.startswith("# clerk: tenant, ")
    first = cli("recipes", "ford").out.splitlines()[0]
    assert first.startswith("# ford: project, ")
    assert first.endswith("recipes/ford.yaml and the bundled one")


@pytest.mark.parametrize("name", BUNDLED)
def test_what_is_shown_of_a_bundled_recipe_is_a_recipe(name: str, tmp_path: Path) -> None:
    ran = cli("recipes", name)
    assert ran.out.startswith(f"# {name}: bundled\n")
    path = tmp_path / f"{name}.yaml"
    path.write_text(ran.out)
    assert load(path).model_copy(update={"source": "bundled"}) == load(name)


@pytest.mark.usefixtures("project")
def test_one_recipe_as_json_has_all_its_fields() -> None:
    shown = json.loads(cli("recipes", "poet", "--json").out)
    assert (shown["name"], shown["source"], shown["shadows"]) == ("poet", "project", [])
    assert shown["recipe"]["params"]["temperature"] == 1
    assert shown["recipe"]["params"]["maxTokens"] is None
    assert shown["recipe"]["promptPrefix"] == "You are a poet.\n"
    assert not {"name", "source"} & set(shown["recipe"])


def test_a_file_is_checked_and_shown_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    assert cli("recipes", str(path)).out == f"# mine: {path}\n{MINE}"
    assert json.loads(cli("recipes", str(path), "--json").out)["path"] == str(path)
    path.write_text("descripton: x\n")
    ran = cli("recipes", str(path))
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == f"vancetope: {path}: descripton: unknown key; did you mean description?"


def test_a_broken_recipe_is_listed_with_its_problem_and_shown_as_a_failure(project: Path) -> None:
    (project / ".vancetope" / "recipes" / "poet.yaml").write_text("promptPrefix: '{{ langg }}'\n")
    ran = cli("recipes")
    assert ran.code == 0
    assert "poet.yaml: promptPrefix: there is no variable 'langg'; did you mean lang?" in ran.out
    assert "Writes poems" not in ran.out
    assert "did you mean lang?" in found(cli("recipes", "--json").out)["poet"]["problem"]
    ran = cli("recipes", "poet", "--json")
    assert ran.code == 2
    assert json.loads(ran.out)["message"].endswith("did you mean lang?")


def test_an_unknown_recipe_is_one_sentence(project: Path) -> None:
    ran = cli("recipes", "poets")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no recipe 'poets'; did you mean poet? There are ford, poet (project); clerk (tenant); " in ran.err
    assert str(project) not in ran.complaint


def test_on_a_narrow_terminal_long_lines_are_wrapped_below_their_column(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    (project / ".vancetope" / "recipes" / "poet.yaml").write_text(f"description: {'rhyme ' * 30}\n")
    lines = cli("recipes", out=Stream(is_terminal=True)).out.splitlines()
    assert all(len(each) < 60 for each in lines[:-3])
    at = next(number for number, each in enumerate(lines) if "→ poet" in each)
    assert lines[at + 1].startswith(" " * 25 + "rhyme")


def test_control_characters_of_a_recipe_do_not_reach_the_terminal(project: Path) -> None:
    path = project / ".vancetope" / "recipes" / "poet.yaml"
    path.write_text('description: "\\e[31mred"\n')
    assert "\x1b" not in cli("recipes").out
    assert "\x1b" not in cli("recipes", "poet").out


@pytest.mark.usefixtures("project")
def test_the_command_runs_as_a_program() -> None:
    ran = child("recipes", "ford")
    assert (ran.code, ran.err) == (0, "")
    assert "Our Ford." in ran.out
