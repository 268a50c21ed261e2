"""Whose word counts: argument, process, recipe, environment, project, tenant, ourselves, the catalogue; in this order.

The table is generated: each parameter that more than one of them may say, and each set of those that say something.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from vancetope.asked import Asked
from vancetope.backends.base import ModelSettings
from vancetope.backends.scripted import ScriptedBackend
from vancetope.context import Budget
from vancetope.models.base import ModelInfo
from vancetope.prepare import Prepared, prepare, prepare_question
from vancetope.recipes.recipe import Recipe
from vancetope.settings import KEYS, load

LAYERS = ("argument", "process", "recipe", "environment", "project", "tenant")
PLAIN = ModelInfo(provider="case", name="plain", enforcements=("native", "constrained"), thinking="yes")


@dataclass(frozen=True)
class Param:
    """A parameter: a value for each layer, what holds where none says anything, how a caller says it and how one sees
    what holds."""

    name: str
    values: tuple[Any, ...]
    default: Any
    argument: Callable[[Any], Mapping[str, Any]]
    seen: Callable[[Prepared], Any]
    engine: str = "ford"
    info: ModelInfo = PLAIN


def sampling(name: str) -> Callable[[Any], Mapping[str, Any]]:
    return lambda value: {"model_settings": ModelSettings(**{name: value})}


def counts(first: int) -> tuple[int, ...]:
    return tuple(range(first, first + len(LAYERS)))


TURN_ENDS = ("natural", "respond", "natural", "respond", "natural", "respond")
ENFORCED = ("native", "constrained", "prompted", "native", "constrained", "prompted")
HEATS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
PARAMS = (
    Param("turnEnd", TURN_ENDS, "respond", lambda v: {"turn_end": v}, lambda p: p.rules.turn_end),
    Param(
        "turnEnd",
        TURN_ENDS,
        "natural",
        lambda v: {"turn_end": v},
        lambda p: p.rules.turn_end,
        info=replace(PLAIN, turn_end="natural"),
    ),
    Param("enforcement", ENFORCED, "native", lambda v: {"enforcement": v}, lambda p: p.enforcement),
    Param(
        "enforcement",
        ENFORCED,
        "constrained",
        lambda v: {"enforcement": v},
        lambda p: p.enforcement,
        info=replace(PLAIN, enforcements=("constrained", "native")),
    ),
    Param("maxIterations", counts(5), 100, lambda v: {"max_iterations": v}, lambda p: p.rules.iterations),
    Param(
        "maxIterations", counts(5), 20, lambda v: {"max_iterations": v}, lambda p: p.rules.iterations, engine="jeltz"
    ),
    Param(
        "maxValidationCorrections",
        counts(0),
        2,
        lambda v: {"max_validation_corrections": v},
        lambda p: p.rules.corrections,
    ),
    Param(
        "validation",
        (False, True, False, True, False, True),
        True,
        lambda v: {"validation": v},
        lambda p: p.rules.validation,
    ),
    Param("temperature", HEATS, None, sampling("temperature"), lambda p: sampled(p).temperature),
    Param(
        "temperature",
        HEATS,
        0.9,
        sampling("temperature"),
        lambda p: sampled(p).temperature,
        info=replace(PLAIN, temperature=0.9),
    ),
    Param("maxTokens", counts(10), None, sampling("max_tokens"), lambda p: sampled(p).max_tokens),
    Param(
        "thinking",
        ("low", "high", "off", "medium", "low", "high"),
        None,
        sampling("thinking"),
        lambda p: sampled(p).thinking,
    ),
)


class Known(ScriptedBackend):
    """A model of which these things are known."""

    def __init__(self, info: ModelInfo) -> None:
        super().__init__([])
        self.info = info


def sampled(prepared: Prepared) -> ModelSettings:
    return prepared.ways[0].settings


def subsets() -> Iterator[tuple[str, ...]]:
    for size in range(len(LAYERS) + 1):
        yield from combinations(LAYERS, size)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("project", "tenant"):
        (tmp_path / name).mkdir()
    (tmp_path / "project" / "vancetope.yaml").write_text("{}")
    monkeypatch.setenv("VANCETOPE_TENANT", str(tmp_path / "tenant"))
    return tmp_path


def variable(key: str) -> str:
    return next(each.variable for each in KEYS.values() if each.name == key)


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("param", PARAMS, ids=lambda each: f"{each.name}-{each.default}")
def test_the_first_that_says_something_is_heard(param: Param, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = dict(zip(LAYERS, param.values, strict=True))
    for said in subsets():
        for layer in ("project", "tenant"):
            fields = {param.name: values[layer]} if layer in said else {}
            (place / layer / "vancetope.yaml").write_text(json.dumps(fields))
        if "environment" in said:
            monkeypatch.setenv(variable(param.name), written(values["environment"]))
        else:
            monkeypatch.delenv(variable(param.name), raising=False)
        recipe = {param.name: values["recipe"]} if "recipe" in said else {}
        asked = Asked(
            model=Known(param.info),
            recipe=Recipe.model_validate({"engine": param.engine, "params": recipe}),
            params={param.name: values["process"]} if "process" in said else {},
            settings=load(place / "project"),
            **(param.argument(values["argument"]) if "argument" in said else {}),
        )
        prepared = (prepare_question if param.engine == "jeltz" else prepare)(asked)
        expected = values[said[0]] if said else param.default
        assert param.seen(prepared) == expected, said


def test_the_attempts_of_a_question_follow_the_same_order(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ScriptedBackend([])
    assert prepare_question(Asked(model=backend, recipe="jeltz", settings=load(place / "project"))).max_attempts == 3
    (place / "tenant" / "vancetope.yaml").write_text("maxAttempts: 4")
    assert prepare_question(Asked(model=backend, recipe="jeltz", settings=load(place / "project"))).max_attempts == 4
    (place / "project" / "vancetope.yaml").write_text("maxAttempts: 5")
    assert prepare_question(Asked(model=backend, recipe="jeltz", settings=load(place / "project"))).max_attempts == 5
    monkeypatch.setenv("VANCETOPE_MAX_ATTEMPTS", "6")
    settings = load(place / "project")
    assert prepare_question(Asked(model=backend, recipe="jeltz", settings=settings)).max_attempts == 6
    own = Recipe.model_validate({"engine": "jeltz", "params": {"maxAttempts": 7}})
    assert prepare_question(Asked(model=backend, recipe=own, settings=settings)).max_attempts == 7
    asked = Asked(model=backend, recipe=own, settings=settings, params={"maxAttempts": 8})
    assert prepare_question(asked).max_attempts == 8


def test_a_model_is_named_in_the_same_order(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {layer: f"scripted:{name}" for layer, name in zip(LAYERS, ("hello", "echo") * 3, strict=True)}
    for said in subsets():
        if not said:
            continue
        for layer in ("project", "tenant"):
            fields = {"model": values[layer]} if layer in said else {}
            (place / layer / "vancetope.yaml").write_text(json.dumps(fields))
        if "environment" in said:
            monkeypatch.setenv("VANCETOPE_MODEL", values["environment"])
        else:
            monkeypatch.delenv("VANCETOPE_MODEL", raising=False)
        prepared = prepare(
            Asked(
                model=values["argument"] if "argument" in said else None,
                params={"model": values["process"]} if "process" in said else {},
                recipe=Recipe.model_validate({"params": {"model": values["recipe"]} if "recipe" in said else {}}),
                settings=load(place / "project"),
            )
        )
        assert prepared.info.id == values[said[0]], said


def test_the_budget_of_a_turn_is_that_of_the_first_that_gives_one(place: Path) -> None:
    backend = ScriptedBackend([])
    (place / "project" / "vancetope.yaml").write_text("budgets: {turn: {tokens: 1}}")
    asked = Asked(model=backend, recipe="default", settings=load(place / "project"))
    assert prepare(asked).budget == Budget(tokens=1)
    recipe = Recipe.model_validate({"params": {"budget": {"tokens": 2}}})
    assert prepare(replace(asked, recipe=recipe)).budget == Budget(tokens=2)
    assert prepare(replace(asked, recipe=recipe, params={"budget": {"tokens": 3}})).budget == Budget(tokens=3)
    assert prepare(replace(asked, recipe=recipe, params={"budget": {"tokens": 3}}, budget=4)).budget == Budget(tokens=4)


def test_a_prompt_is_rendered_with_what_holds_and_not_with_what_a_recipe_left_unsaid(place: Path) -> None:
    recipe = Recipe.model_validate(
        {
            "params": {"maxTokens": 7},
            "promptPrefix": "{{ params.turnEnd }} {{ params.maxIterations }} {{ params.maxTokens }}",
        }
    )
    asked = Asked(model=ScriptedBackend([]), recipe=recipe, settings=load(place / "project"), params={"maxTokens": 8})
    assert prepare(asked).system.startswith("respond 100 8")
