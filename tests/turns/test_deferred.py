"""Deferred tools: told by name until the model asks, then shown whole, for the rest of the conversation."""

from __future__ import annotations

from json import dumps
from typing import Any

import pytest

import vancetope as vt
from tests.harness import TOOLS, Played, get_time, get_weather, play
from vancetope.backends.base import Request
from vancetope.backends.scripted import Script, ScriptedBackend, call, calls, raw_call, respond
from vancetope.errors import ConfigError
from vancetope.messages import History, Result
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName
from vancetope.recipes.recipe import Params, Recipe, ToolPool

DEFERS = Recipe(name="defers", tools=ToolPool(defer=("get_weather", "get_time")))
TALKS_LITTLE = Params(dataRelayCorrection=False)
ENFORCEMENTS: tuple[EnforcementName, ...] = ("native", "constrained", "prompted")


def tells_whole(request: Request, name: str) -> bool:
    """Whether the model is shown this tool with its parameters, in whichever form it is shown tools."""
    if request.tools:
        return name in {each.name for each in request.tools}
    return f"\n- {name}: " in request.system


async def deferring(script: Script, enforcement: EnforcementName = "native", **options: Any) -> Played:
    return await play(script, enforcement, **{"recipe": DEFERS, **options})


def results(played: Played, name: str) -> list[Result]:
    return [each for each in played.turn.messages if isinstance(each, Result) and each.name == name]


@pytest.mark.parametrize("enforcement", ENFORCEMENTS)
async def test_a_deferred_tool_is_shown_whole_once_it_was_described(enforcement: EnforcementName) -> None:
    played = await deferring(
        [call("tool_describe", names=["get_weather"]), call("get_weather", city="Paris"), respond("Rain.")],
        enforcement,
    )
    assert played.turn.message == "Rain."
    assert [tells_whole(each, "get_weather") for each in played.requests] == [False, True, True]
    assert [tells_whole(each, "get_time") for each in played.requests] == [False] * 3
    assert all(tells_whole(each, "tool_describe") for each in played.requests)
    assert [each.text for each in results(played, "get_weather")] == ["Rain in Paris."]
    assert '"city"' in results(played, "tool_describe")[0].text


async def test_both_are_named_in_one_line_from_the_start() -> None:
    played = await deferring([respond("Hi.")])
    told = next(each.description for each in played.requests[0].tools if each.name == "tool_describe")
    assert "- get_weather: Tell the weather in a city." in told
    assert "- get_time: Tell the time in a city." in told
    offered = {each.name for each in played.requests[0].tools}
    assert offered == {"fail", "read_book", "tool_describe", "respond"}


@pytest.mark.parametrize("enforcement", ["native", "prompted"])
async def test_a_call_that_did_not_ask_first_runs_if_its_arguments_fit(enforcement: EnforcementName) -> None:
    played = await deferring([call("get_weather", city="Paris"), respond("Rain.")], enforcement)
    assert [(each.ok, each.text) for each in results(played, "get_weather")] == [(True, "Rain in Paris.")]
    played = await deferring([call("get_weather", town="Paris"), respond("Rain.")], enforcement)
    assert [each.ok for each in results(played, "get_weather")] == [False]


async def test_a_description_that_failed_shows_nothing() -> None:
    played = await deferring([call("tool_describe", names=["get_wether"]), respond("Rain.")])
    (said,) = results(played, "tool_describe")
    assert not said.ok
    assert said.text.startswith("There is no tool 'get_wether' in this list. Did you mean get_weather")
    assert not tells_whole(played.requests[1], "get_weather")


async def test_arguments_that_do_not_fit_show_nothing() -> None:
    played = await deferring([raw_call("tool_describe", '{"names": 5}'), respond("Rain.")])
    assert [each.ok for each in results(played, "tool_describe")] == [False]
    assert not tells_whole(played.requests[1], "get_weather")


async def test_several_are_described_at_once_and_beside_other_calls() -> None:
    both = calls(call("tool_describe", names=["get_time", "get_weather"]), call("fail"))
    played = await deferring([both, respond("Done.")], recipe=DEFERS.model_copy(update={"params": TALKS_LITTLE}))
    assert tells_whole(played.requests[1], "get_time")
    assert tells_whole(played.requests[1], "get_weather")


async def test_what_was_described_stays_shown_in_later_turns() -> None:
    first = await deferring([call("tool_describe", names=["get_weather"]), respond("It tells the weather.")])
    history = History.from_json(first.turn.messages.to_json())
    again = await deferring([call("get_weather", city="Paris"), respond("Rain.")], history=history)
    assert tells_whole(again.requests[0], "get_weather")
    assert not tells_whole(again.requests[0], "get_time")


async def test_without_deferred_tools_nothing_is_to_be_described() -> None:
    played = await play([respond("Hi.")], recipe=Recipe())
    assert "tool_describe" not in {each.name for each in played.requests[0].tools}


async def test_bundled_tools_may_be_deferred_too() -> None:
    recipe = Recipe(params=TALKS_LITTLE, tools=ToolPool(add=("clock",), defer=("file_read",)))
    played = await play([call("tool_describe", names=["file_read"]), respond("Hi.")], recipe=recipe, tools=())
    assert {each.name for each in played.requests[0].tools} == {"clock", "tool_describe", "respond"}
    assert {each.name for each in played.requests[1].tools} == {"clock", "file_read", "tool_describe", "respond"}


async def test_a_tool_that_a_recipe_removes_is_not_there_whoever_brings_it() -> None:
    recipe = Recipe(tools=ToolPool(remove=("fail", "clock")))
    played = await play([call("fail"), respond("Hi.")], recipe=recipe)
    assert {each.name for each in played.requests[0].tools} == {"get_time", "get_weather", "read_book", "respond"}
    assert [each.ok for each in results(played, "fail")] == [False]


@pytest.mark.parametrize("key", ["add", "remove", "defer"])
async def test_a_tool_that_nobody_has_is_a_config_error(key: str) -> None:
    recipe = Recipe(name="mine", tools=ToolPool(**{key: ("get_wether",)}))
    with pytest.raises(ConfigError) as refused:
        await play([respond("Hi.")], recipe=recipe)
    assert str(refused.value) == "recipe mine: there is no tool 'get_wether'; did you mean get_weather?"


def test_the_tools_of_the_harness_are_those_that_the_recipe_defers() -> None:
    assert {each.__name__ for each in TOOLS} >= set(DEFERS.tools.defer)


async def test_a_description_is_no_data_that_has_to_be_passed_on() -> None:
    recipe = Recipe(tools=ToolPool(defer=("file_read", "file_grep", "file_list", "clock")))
    names = list(recipe.tools.defer)
    played = await play([call("tool_describe", names=names), respond("Hi.")], recipe=recipe, tools=())
    assert (played.turn.message, played.turn.corrections) == ("Hi.", 0)
    assert results(played, "tool_describe")[0].size > 1500


class Tiny(ScriptedBackend):
    info = ModelInfo(provider="custom", name="small", enforcements=("constrained",), tier="tiny")


async def test_a_tiny_model_is_shown_the_tools_of_its_caller_whole() -> None:
    model = Tiny([respond("Rain.")])
    turn = await vt.ask("Rain?", model=model, recipe=DEFERS, tools=[get_time, get_weather])
    assert turn.outcome == "respond"
    assert '"get_weather"' in dumps(model.requests[0].response_schema)
    assert "tool_describe" not in dumps(model.requests[0].response_schema)
