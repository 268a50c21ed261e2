"""Where a recipe of a name comes from: project, tenant, bundled. The first file wins, as a whole."""

from __future__ import annotations

import errno
import itertools
import os
from pathlib import Path

import pytest

from vancetope.errors import ConfigError
from vancetope.recipes.loading import BUNDLED, Found, Place, listed, load, text_of
from vancetope.recipes.recipe import Recipe
from vancetope.settings import PROJECT_FOLDER, settings_from

PLACES = ("project", "tenant", "bundled")
SUBSETS = [subset for size in range(4) for subset in itertools.combinations(PLACES, size)]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "work" / PROJECT_FOLDER, tmp_path / "tenant"


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / "recipes" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def spread(folders: tuple[Path, Path], subset: tuple[str, ...]) -> tuple[str, dict[str, Path]]:
    """A recipe in each of these places; its name, and the files by their place."""
    name = "ford" if "bundled" in subset else "mine"
    texts = {"project": "description: project\ntags: [p]\n", "tenant": "description: tenant\npromptPrefix: T\n"}
    paths = {
        place: put(folder, name, texts[place])
        for place, folder in zip(PLACES[:2], folders, strict=True)
        if place in subset
    }
    return name, paths


@pytest.mark.parametrize("subset", [each for each in SUBSETS if each], ids="+".join)
def test_the_nearest_place_wins_as_a_whole(subset: tuple[str, ...], folders: tuple[Path, Path]) -> None:
    name, paths = spread(folders, subset)
    recipe = load(name, folders)
    nearest = subset[0]
    assert recipe.name == name
    if nearest == "bundled":
        assert recipe == load("ford")
        assert recipe.source == "bundled"
    else:
        alone = Recipe.model_validate(
            {"name": name, "source": str(paths[nearest]), "description": nearest}
            | ({"tags": ["p"]} if nearest == "project" else {"promptPrefix": "T"})
        )
        assert recipe == alone, "something of a file behind it was merged in"
        assert text_of(recipe) == paths[nearest].read_text()


@pytest.mark.parametrize("subset", SUBSETS, ids=lambda each: "+".join(each) or "nowhere")
def test_the_list_says_which_one_counts_and_which_it_hides(subset: tuple[str, ...], folders: tuple[Path, Path]) -> None:
    name, paths = spread(folders, subset)
    found = {each.name: each for each in listed(folders)}
    assert sorted(found) == sorted({*BUNDLED, *([name] if subset else [])})
    if not subset:
        assert name not in found
        return
    place, *hidden = [Place(each, paths.get(each)) for each in subset]  # type: ignore[arg-type]
    assert found[name].place == place
    assert found[name].shadows == tuple(hidden)
    assert (found[name].source, found[name].path, found[name].engine) == (place.source, place.path, "ford")
    assert found[name].description == load(name, folders).description
    assert {each for each in found.values() if each.name != name} == {each for each in listed() if each.name != name}


def test_only_the_folders_that_are_given_count(folders: tuple[Path, Path]) -> None:
    put(folders[1], "ford", "description: tenant\n")
    assert load("ford", folders[:1]) == load("ford")
    assert load("ford", folders[1:]).description == "tenant"


def test_the_folders_of_the_settings_are_the_places(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VANCETOPE_TENANT", str(folders[1]))
    put(folders[1], "mine", "description: tenant\n")
    assert load("mine", settings_from({}).folders).description == "tenant"
    assert {each.name: each.source for each in listed(settings_from({}).folders)}["mine"] == "tenant"


BROKEN = {
    "empty": "",
    "unknown key": "descripton: x\n",
    "no YAML": "tags: [\n",
    "bad template": "promptPrefix: '{{ langg }}'\n",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_that_wins_is_an_error_and_never_passed_over(what: str, folders: tuple[Path, Path]) -> None:
    put(folders[1], "ford", "description: fine\n")
    path = put(folders[0], "ford", BROKEN[what])
    with pytest.raises(ConfigError, match=str(path)):
        load("ford", folders)
    found = {each.name: each for each in listed(folders)}["ford"]
    assert (found.place, found.description) == (Place("project", path), "")
    assert str(path) in found.problem
    assert [each.source for each in found.shadows] == ["tenant", "bundled"]


def test_a_broken_file_that_does_not_win_harms_nobody(folders: tuple[Path, Path]) -> None:
    put(folders[0], "ford", "description: fine\n")
    put(folders[1], "ford", "tags: [\n")
    assert load("ford", folders).description == "fine"


def test_links_to_nothing_folders_and_pipes_are_errors_too(folders: tuple[Path, Path]) -> None:
    made = put(folders[0], "x", "").parent
    (made / "link.yaml").symlink_to(made / "nothing")
    (made / "folder.yaml").mkdir()
    os.mkfifo(made / "pipe.yaml")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(ConfigError, match=f"{name}.yaml cannot be read"):
            load(name, folders)


def test_a_folder_that_may_not_be_read_is_an_error(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    put(folders[0], "ford", "description: x\n")

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "lstat", refuse)  # the tests may run as root, whom no mode of a folder keeps out
    monkeypatch.setattr(Path, "iterdir", refuse)
    for attempt in (lambda: load("ford", folders), lambda: listed(folders)):
        with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
            attempt()


def test_the_other_ending_of_yaml_is_told_and_not_passed_over(folders: tuple[Path, Path]) -> None:
    path = put(folders[0], "ford", "description: x\n")
    path.rename(path.with_suffix(".yml"))
    with pytest.raises(ConfigError, match=r"ends in \.yaml; rename it"):
        load("ford", folders)
    assert "rename it" in {each.name: each for each in listed(folders)}["ford"].problem


def test_other_files_in_the_folder_are_no_recipes(folders: tuple[Path, Path]) -> None:
    made = put(folders[0], "mine", "description: x\n").parent
    for name in (".hidden.yaml", "mine.yaml~", "notes.md", "mine.yml"):
        (made / name).write_text("x")
    assert [each.name for each in listed(folders) if each.source == "project"] == ["mine"]


def test_a_file_whose_name_no_recipe_can_have_is_listed_with_its_problem(folders: tuple[Path, Path]) -> None:
    put(folders[0], "my recipe", "description: x\n")
    found = [each for each in listed(folders) if each.problem]
    assert [each.name for each in found] == ["my recipe"]
    assert "a name has letters, digits, - and _ only" in found[0].problem


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "/etc/passwd", "..", ".", "", "a b", "-x", "x\0", "x.json", "recipes/ford", "é", "x" * 65]
)
def test_a_name_is_no_path(name: str, folders: tuple[Path, Path]) -> None:
    put(folders[0].parent, "x", "description: outside\n")
    with pytest.raises(ConfigError, match="a name has letters, digits, - and _ only") as refused:
        load(name, folders)
    assert "\n" not in str(refused.value)


def test_an_unknown_name_is_answered_with_the_nearest_and_with_all_there_are(folders: tuple[Path, Path]) -> None:
    put(folders[0], "poet", "description: x\n")
    put(folders[1], "poet", "description: x\n")
    put(folders[1], "clerk", "description: x\n")
    with pytest.raises(ConfigError) as refused:
        load("Poets", folders)
    bundled = "analyze, code-read, default, ford, jeltz, quick-lookup, web-research (bundled)"
    known = f"poet (project); clerk (tenant); {bundled}"
    assert str(refused.value) == f"there is no recipe 'Poets'; did you mean poet? There are {known}"
    with pytest.raises(ConfigError) as refused:
        load("zzzzzz")
    assert str(refused.value) == f"there is no recipe 'zzzzzz'; there are {bundled}"


def test_a_file_and_a_value_need_no_folder(tmp_path: Path) -> None:
    path = put(tmp_path, "mine", "description: x\n")
    for given in (path, str(path)):
        assert (load(given).name, load(given).source) == ("mine", str(path))
    made = Recipe(name="made", promptPrefix="x")
    assert load(made) is made
    assert (made.source, made.where, text_of(made)) == ("", "recipe made", "")


def test_a_recipe_found_is_a_value() -> None:
    assert {type(each) for each in listed()} == {Found}
    assert listed() == listed()
    assert [each.name for each in listed()] == sorted(BUNDLED)
