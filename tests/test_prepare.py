"""What cannot work raises `ConfigError`, one sentence, before anything is sent: never TypeError from deep inside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import vancetope as vt
from tests.harness import get_time
from vancetope.asked import Asked
from vancetope.backends.scripted import ScriptedBackend, respond
from vancetope.context import Patience
from vancetope.errors import ConfigError
from vancetope.messages import Assistant, Call, Text
from vancetope.models.base import ModelInfo
from vancetope.prepare import prepare, prepare_question
from vancetope.recipes.recipe import Params

ODD: dict[str, dict[str, Any]] = {
    "a tool without a list around it": {"tools": get_time},
    "tools null": {"tools": None},
    "history null": {"history": None},
    "history as another library writes it": {"history": [{"role": "user", "content": "Hi"}]},
    "history as its own JSON": {"history": '{"version":1,"messages":[]}'},
    "budget in dollars, unnamed": {"budget": 0.05},
    "budget true": {"budget": True},
    "budget as text": {"budget": "100"},
    "deadline as text": {"deadline": "5"},
    "deadline that is no number": {"deadline": float("nan")},
    "limit as text": {"max_iterations": "5"},
    "patience as a number": {"patience": 5},
    "model settings as a list": {"model_settings": ["temperature"]},
    "output limit of nothing": {"model_settings": {"max_tokens": 0}},
    "output limit below nothing": {"model_settings": {"max_tokens": -1}},
    "temperature that is no number": {"model_settings": {"temperature": float("nan")}},
    "instructions as a number": {"instructions": 5},
    "recipe as a number": {"recipe": 5},
    "recipe with NUL in its name": {"recipe": "a\0.yaml"},
    "instructions with half a surrogate pair": {"instructions": "\ud800"},
    "a budget of nothing": {"budget": 0},
    "a budget of text": {"budget": vt.Budget(tokens="5")},  # type: ignore[arg-type]
    "patience as text": {"patience": Patience(turn="5")},  # type: ignore[arg-type]
    "endless patience": {"deadline": float("inf")},
    "thinking of no known strength": {"model_settings": {"thinking": "hard"}},
    "a seed between numbers": {"model_settings": {"seed": 1.5}},
    "extra null": {"model_settings": vt.ModelSettings(extra=None)},  # type: ignore[arg-type]
    "a class as model": {"model": ScriptedBackend},
    "no name as model": {"model": ""},
    "validation as text": {"validation": "no"},
    "lang null": {"lang": None},
    "journal as a number": {"journal": 5},
    "a listener that cannot be called": {"on_event": 5},
    "enforcement in capitals": {"enforcement": "Native"},
    "a greeting of half a surrogate pair": {"recipe": vt.Recipe(params=Params(greeting="\ud800"))},
    "history of a message of numbers": {"history": [vt.User(5)]},  # type: ignore[arg-type]
    "history with arguments that are no text": {"history": [Assistant("", (Call("c1", "f", {}),))]},  # type: ignore[arg-type]
    "history of nothing known": {"history": [None]},
}


@pytest.mark.parametrize("what", ODD)
async def test_an_argument_that_cannot_work_is_a_config_error(what: str) -> None:
    model = ScriptedBackend([respond("x")])
    with pytest.raises(ConfigError) as refused:
        await vt.ask("Hi", **{"model": model, **ODD[what]})
    assert "\n" not in str(refused.value)
    assert model.requests == []


PROMPTS: dict[str, Any] = {
    "null": None,
    "a number": 5,
    "bytes": b"Hi",
    "a mapping": {"role": "user"},
    "a list of numbers": [5],
    "a list of blank texts": ["  ", ""],
    "a user message of a number": vt.User(5),  # type: ignore[arg-type]
    "a part that holds a number": [Text(5)],  # type: ignore[arg-type]
    "a user message of blank parts": vt.User((Text(" "), Text(""))),
}


@pytest.mark.parametrize("what", PROMPTS)
async def test_a_prompt_that_says_nothing_is_a_config_error(what: str) -> None:
    model = ScriptedBackend([respond("x")])
    with pytest.raises(ConfigError):
        await vt.ask(PROMPTS[what], model=model)
    assert model.requests == []


@pytest.mark.parametrize("turn_end", ["Natural", "natrual", "text", ""])
async def test_a_contract_that_does_not_exist_is_a_config_error(turn_end: Any) -> None:
    with pytest.raises(ConfigError):
        await vt.ask("Go", model=ScriptedBackend([respond("x")]), turn_end=turn_end)


@pytest.mark.parametrize("role", ["boss", "Primary", ""])
async def test_a_role_that_does_not_exist_is_a_config_error(role: Any) -> None:
    with pytest.raises(ConfigError):
        await vt.ask("Go", model=ScriptedBackend([respond("x")]), role=role)


@pytest.mark.parametrize("part", [vt.Image("data:image/png;base64,AAAA"), vt.File("a.pdf", "application/pdf", "AAAA")])
async def test_a_part_that_the_model_cannot_see_is_refused_before_any_request(part: vt.Image | vt.File) -> None:
    model = ScriptedBackend([respond("x")])
    with pytest.raises(ConfigError, match="cannot see images and files"):
        await vt.ask(["Look.", part], model=model)
    assert model.requests == []


KNOWN = ModelInfo(provider="custom", name="known")


class Known(ScriptedBackend):
    """A model of which this is known."""

    def __init__(self, info: ModelInfo) -> None:
        super().__init__([respond("x")])
        self.info = info


def thinking_of(info: ModelInfo, **asked: Any) -> Any:
    return prepare(Asked(model=Known(info), **asked)).ways[0].settings.thinking


def test_a_model_that_cannot_think_is_only_told_to_where_its_caller_insists() -> None:
    recipe = vt.Recipe(params=Params(thinking="high"))
    assert thinking_of(KNOWN, recipe=recipe) is None
    assert thinking_of(replace(KNOWN, thinking="yes"), recipe=recipe) == "high"
    assert thinking_of(replace(KNOWN, known=False), recipe=recipe) == "high"
    assert thinking_of(KNOWN, model_settings={"thinking": "off"}) is None
    with pytest.raises(ConfigError, match=r"custom:known cannot think; leave model_settings\.thinking out"):
        thinking_of(KNOWN, model_settings={"thinking": "low"})


def test_what_a_model_does_not_take_is_left_out_and_said() -> None:
    model = Known(replace(KNOWN, quirks=("no_temperature", "no_seed")))
    prepared = prepare(Asked(model=model, model_settings={"temperature": 0.5, "seed": 1, "max_tokens": 9}))
    settings = prepared.ways[0].settings
    assert (settings.temperature, settings.seed, settings.max_tokens) == (None, None, 9)
    assert prepared.notices == (
        "custom:known takes no temperature; it is left out",
        "custom:known takes no seed; it is left out",
    )
    assert prepare(Asked(model=model)).notices == ()


@pytest.mark.parametrize("name", ["model", "messages", "contents", "system", "systemInstruction", "tools", "stream"])
async def test_no_extra_field_replaces_what_a_turn_itself_sends(name: str) -> None:
    model = ScriptedBackend([respond("x")])
    with pytest.raises(ConfigError, match=rf"model_settings\.{name}: the request's {name} cannot be replaced; "):
        await vt.ask("Hi", model=model, model_settings={name: "x"})
    assert model.requests == []


@pytest.mark.parametrize(("engine", "params"), [("ford", {"maxAttempts": 2}), ("jeltz", {"turnEnd": "natural"})])
def test_a_parameter_that_the_engine_does_not_read_is_refused_from_a_process_too(
    engine: str, params: dict[str, Any]
) -> None:
    recipe = vt.Recipe.model_validate({"engine": engine})
    with pytest.raises(ConfigError, match=rf"params: {min(params)} means nothing to the engine {engine}; leave it out"):
        (prepare_question if engine == "jeltz" else prepare)(Asked(model=Known(KNOWN), recipe=recipe, params=params))
