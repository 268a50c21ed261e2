"""The environment comes before the project, the project before the tenant, the tenant before what is bundled."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.settings.layers import LAYERS, SAMPLES, Layer, Place, nested
from vancetope.outcome import EnforcementName, TurnEnd
from vancetope.recipes.recipe import Params
from vancetope.settings import KEYS, Settings, Value, load, settings_from, tenant_folder

SUBSETS = [each for count in range(len(LAYERS) + 1) for each in combinations(LAYERS, count)]
CAPPED = [f"budgets.{scope}.{unit}" for scope in ("tenant", "day") for unit in ("tokens", "dollars")]
DEFAULTS = {
    "maxIterations": 100,
    "maxValidationCorrections": 2,
    "maxAttempts": 3,
    "validation": True,
    "session.defaultRecipe": "ford",
    "budgets.warnAt": 0.8,
}


def held(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def test_every_key_has_samples_and_every_sample_a_key() -> None:
    assert SAMPLES.keys() == KEYS.keys()
    assert len({key.variable for key in KEYS.values()}) == len(KEYS)


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("turnEnd", "VANCETOPE_TURN_END"),
        ("budgets.day.dollars", "VANCETOPE_BUDGETS_DAY_DOLLARS"),
        ("session.defaultRecipe", "VANCETOPE_SESSION_DEFAULT_RECIPE"),
        ("maxValidationCorrections", "VANCETOPE_MAX_VALIDATION_CORRECTIONS"),
    ],
)
def test_a_variable_is_named_after_its_key(key: str, variable: str) -> None:
    assert KEYS[key].variable == variable


@pytest.mark.parametrize(
    ("key", "layers", "in_code"),
    [each for each in product(KEYS, SUBSETS, (False, True)) if not each[2] or "project" in each[1]],
)
def test_the_highest_layer_wins_and_is_named(key: str, layers: tuple[Layer, ...], in_code: bool, place: Place) -> None:
    samples = dict(zip(LAYERS, SAMPLES[key], strict=True))
    where = {layer: place.say(layer, key, samples[layer]) for layer in layers if not (in_code and layer == "project")}
    mapping = nested(key, samples["project"]) if in_code else None
    settings = place.settings(mapping)
    if layers:
        highest = layers[0]
        wanted = Value(held(samples[highest]), highest, where.get(highest, "settings"))
        assert settings.values[key] == wanted
        assert settings.get(key) == wanted.value
    elif key == "files.root":
        assert settings.values[key] == Value(str(place.project), "bundled")
    else:
        assert settings.get(key) == DEFAULTS.get(key)
        assert (key in settings.values) is (key in DEFAULTS)
    said = {name for name, value in settings.values.items() if value.source != "bundled"}
    assert said == ({key} if layers else set())
    assert settings.notices == ()


@pytest.mark.parametrize("in_code", [False, True])
@pytest.mark.parametrize("key", CAPPED)
def test_a_project_cannot_raise_a_budget_of_its_tenant(key: str, in_code: bool, place: Place) -> None:
    place.say("tenant", key, 10)
    place.say("project", key, 11)
    mapping = nested(key, 11) if in_code else None
    settings = place.settings(mapping)
    assert settings.values[key] == Value(10, "tenant", str(place.file("tenant")))
    assert len(settings.notices) == 1
    assert key in settings.notices[0]
    assert "cannot raise" in settings.notices[0]
    place.say("environment", key, 12)
    settings = place.settings(mapping)
    assert (settings.get(key), settings.values[key].source, settings.notices) == (12, "environment", ())


@pytest.mark.parametrize("key", [each for each in KEYS if each.startswith("budgets.") and each not in CAPPED])
def test_a_project_sets_its_own_budgets_as_it_likes(key: str, place: Place) -> None:
    place.say("tenant", key, 0.5 if key.endswith(("dollars", "warnAt")) else 10)
    place.say("project", key, 1 if key.endswith(("dollars", "warnAt")) else 11)
    assert place.settings().values[key].source == "project"


def test_a_value_of_the_settings_is_one_that_a_recipe_may_have() -> None:
    same = [key for key in KEYS if key in Params.model_fields]
    assert {"model", "turnEnd", "enforcement", "maxIterations", "validation", "thinking"} <= set(same)
    for key in same:
        for value in SAMPLES[key]:
            assert getattr(Params.model_validate({key: value}), key) == value
    assert KEYS["turnEnd"].kind.told == " or ".join(get_args(TurnEnd))
    assert all(KEYS["enforcement"].kind.of(each) == each for each in get_args(EnforcementName))


def test_null_in_a_file_says_nothing(place: Place) -> None:
    place.say("tenant", "model", "scripted:t")
    place.file("project").write_text("model: ~\nbudgets:\nsearch: {url: null}\nservers:\n")
    assert place.settings().values["model"].source == "tenant"


def test_an_empty_variable_says_nothing(place: Place) -> None:
    place.say("project", "model", "scripted:p")
    place.monkeypatch.setenv("VANCETOPE_MODEL", " ")
    assert place.settings().values["model"].source == "project"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        *(("validation", text, True) for text in ("true", "True", "yes", "ON", " 1 ")),
        *(("validation", text, False) for text in ("false", "no", "off", "0")),
        ("thinking", "HIGH", "high"),
        ("temperature", "0.70", 0.7),
        ("temperature", ".5", 0.5),
        ("maxTokens", " 500 ", 500),
        ("model", " scripted:hello ", "scripted:hello"),
        ("web.allow", "A.example:8080,, [::1] ", ("a.example:8080", "[::1]")),
    ],
)
def test_the_environment_is_read_as_people_write_it(key: str, text: str, value: Any, place: Place) -> None:
    place.monkeypatch.setenv(KEYS[key].variable, text)
    assert place.settings().get(key) == value


def test_off_in_a_file_is_no_thinking(place: Place) -> None:
    place.file("project").write_text("thinking: off\n")
    assert place.settings().get("thinking") == "off"


def test_a_relative_root_counts_from_where_it_is_said(place: Place, tmp_path: Path) -> None:
    (tmp_path / "project" / "below").mkdir()
    place.say("tenant", "files.root", "data")
    assert place.settings().root == tmp_path / "tenant" / "data"
    place.say("project", "files.root", "../data")
    assert load(tmp_path / "project" / "below").root == tmp_path / "data"
    place.monkeypatch.chdir("below")
    place.say("environment", "files.root", "data")
    assert place.settings().root == tmp_path / "project" / "below" / "data"
    assert settings_from({"files": {"root": Path("other")}}).root == tmp_path / "project" / "below" / "data"
    place.monkeypatch.delenv("VANCETOPE_FILES_ROOT")
    assert settings_from({"files": {"root": Path("other")}}).root == tmp_path / "project" / "below" / "other"
    place.say("project", "files.root", "~/notes")
    assert place.settings().root == Path.home().resolve() / "notes"


def test_servers_of_the_project_come_first_and_take_the_place_of_the_tenant_s(place: Place) -> None:
    place.file("tenant").write_text("servers: {lab: {kind: vllm, model: old}, attic: {kind: ollama, model: a}}")
    place.file("project").write_text("servers: {desk: {kind: lmstudio}, lab: {kind: openrouter}}")
    settings = place.settings()
    assert list(settings.servers) == ["desk", "lab", "attic"]
    assert (settings.servers["lab"].kind, settings.servers["lab"].model) == ("openrouter", None)
    assert {key: each.source for key, each in settings.values.items() if key.startswith("servers.")} == {
        "servers.desk.kind": "project",
        "servers.lab.kind": "project",
        "servers.attic.kind": "tenant",
        "servers.attic.model": "tenant",
    }
    assert settings.get("servers.attic.model") == "a"
    assert settings.get("servers.attic.url") is None


def test_the_folders_are_the_project_s_and_the_tenant_s(place: Place, tmp_path: Path) -> None:
    assert place.settings().folders == (place.project / ".vancetope", place.tenant)
    (tmp_path / "elsewhere").mkdir()
    assert load(tmp_path / "elsewhere").folders == (place.tenant,)
    assert settings_from({}).folders == (place.tenant,)


def test_the_folder_of_the_tenant_is_no_project(place: Place) -> None:
    place.say("tenant", "model", "scripted:t")
    (place.tenant / "below").mkdir()
    settings = load(place.tenant / "below")
    assert settings.project is None
    assert settings.values["model"].source == "tenant"
    assert settings.root == place.tenant / "below"


def test_a_link_to_the_tenant_s_folder_makes_it_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real" / "vancetope").mkdir(parents=True)
    (tmp_path / "real" / "vancetope" / "vancetope.yaml").write_text("model: scripted:t")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr("platformdirs.user_config_dir", lambda name: str(tmp_path / "link" / name))
    settings = load(tmp_path / "link" / "vancetope")
    assert (settings.project, settings.values["model"].source) == (None, "tenant")


def test_without_a_word_the_tenant_is_the_person_s_own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "vancetope-home-" in str(tenant_folder())
    assert not tenant_folder().exists() or not list(tenant_folder().glob("*.yaml"))
    assert Settings().tenant == tenant_folder()


def test_settings_in_code_are_taken_as_they_are(place: Place) -> None:
    made = Settings()
    place.say("environment", "model", "scripted:e")
    place.say("tenant", "maxTokens", 5)
    assert made.model is None
    assert made.get("maxTokens") is None
    assert (made.default_recipe, made.get("maxIterations"), made.root) == ("ford", 100, place.project)


def test_a_key_that_there_is_not_is_a_bug_of_the_caller() -> None:
    with pytest.raises(KeyError):
        Settings().get("turnend")
