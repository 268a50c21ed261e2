"""Every bundled recipe: it loads, it renders for every kind of model, and it carries a turn."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files
from typing import Any, get_args

import pytest

from tests.harness import play
from vancetope import api
from vancetope.asked import Asked
from vancetope.backends.scripted import ScriptedBackend, call, respond, say
from vancetope.models.base import Tier
from vancetope.models.catalogue import catalogue
from vancetope.outcome import EnforcementName, Role, TurnEnd
from vancetope.prepare import prepare
from vancetope.recipes.loading import BUNDLED, load
from vancetope.recipes.recipe import Params, Recipe
from vancetope.recipes.rendering import system_prompt

CHATS = tuple(name for name in BUNDLED if load(name).engine == "ford")
LONGEST = 3000  # characters of a prompt, the block about how a turn ends among them
OF_RESPOND = {"respond", "message", "awaiting_user_input"}
ENFORCEMENTS: tuple[EnforcementName, ...] = get_args(EnforcementName)


def web_search(query: str) -> str:
    """Search the web."""
    return f"1. Ravens, https://birds.example/raven ({query})"


def web_fetch(url: str) -> str:
    """Read a page."""
    return f"{url}: ravens live for 15 years."


def clock(timezone: str | None = None) -> str:
    """Tell the time."""
    return f"2026-11-30 ({timezone})"


def file_grep(pattern: str) -> str:
    """Find lines."""
    return f"notes.txt:3: {pattern}"


# By tool: a call of it, so that a script can use whatever a recipe brings.
CALLS: dict[str, dict[str, Any]] = {
    "web_search": {"query": "ravens"},
    "web_fetch": {"url": "https://birds.example/raven"},
    "clock": {},
    "file_grep": {"pattern": "raven"},
}


def rendered(recipe: Recipe, **variables: str) -> str:
    said = dict.fromkeys(Params.model_fields, "") | {"turnEnd": variables.pop("turn_end", "respond")}
    return system_prompt(
        recipe,
        {
            "tier": "standard",
            "model": "gpt-5-mini",
            "provider": "openai",
            "mode": "native",
            "recipe": recipe.name,
            "engine": recipe.engine,
            "lang": "en",
            "params": said,
            "role": "primary",
            "schema_json": '{"type": "object"}' if recipe.engine == "jeltz" else "",
            "prompt": "How old is a raven?" if recipe.engine == "jeltz" else "",
            **variables,
        },
    )


def test_the_bundled_files_are_those_with_a_name() -> None:
    there = {each.name for each in files("vancetope.recipes").iterdir() if each.name.endswith((".yaml", ".yml"))}
    assert there == {f"{name}.yaml" for name in BUNDLED}


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_recipe_says_what_it_is_and_leaves_the_contract_to_others(name: str) -> None:
    recipe = load(name)
    assert (recipe.name, recipe.source) == (name, "bundled")
    assert recipe.description.endswith(".")
    assert "\n" not in recipe.description
    assert recipe.tags
    assert recipe.promptPrefix.strip()
    assert (recipe.params.turnEnd, recipe.params.enforcement) == (None, None)
    assert (recipe.params.maxAttempts, recipe.params.validation, recipe.params.role) == (None, None, None)


@pytest.mark.parametrize("name", ["default", "ford", "jeltz"])
def test_the_recipes_that_everybody_gets_name_no_model(name: str) -> None:
    assert load(name).params.model is None


@pytest.mark.parametrize("name", [name for name in BUNDLED if load(name).params.model])
def test_a_model_that_a_bundled_recipe_names_is_an_alias_that_ends_on_this_machine(name: str) -> None:
    model = load(name).params.model
    assert model is not None
    known = catalogue(())
    assert model in known.aliases
    assert known.routes(model)[-1].model == "local:"


@pytest.mark.parametrize("name", CHATS)
def test_without_a_key_every_bundled_chat_stays_on_this_machine(name: str) -> None:
    prepared = prepare(Asked(recipe=name, tools=[web_search, web_fetch]))
    assert prepared.choice is not None
    assert prepared.choice.info.provider == "local"
    assert not prepared.choice.paid_by_surprise


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_recipe_renders_for_every_kind_of_model(name: str) -> None:
    recipe = load(name)
    prompts = {
        (tier, mode, role, end): rendered(recipe, tier=tier, mode=mode, role=role, turn_end=end)
        for tier, mode, role, end in itertools.product(get_args(Tier), ENFORCEMENTS, get_args(Role), get_args(TurnEnd))
    }
    for (tier, *_), prompt in prompts.items():
        assert prompt == prompt.strip()
        assert not re.search(r"\{[{%#]|[}%#]\}|None|Undefined|\n{3}", prompt)
        assert len(prompt) < (700 if tier == "tiny" else LONGEST)
        named = set(re.findall(r"`([a-z_]+)`", prompt))
        assert named <= OF_RESPOND | set(recipe.tools.add), "the prompt speaks of a tool that the recipe does not bring"


def test_the_prompts_of_the_workers_say_what_they_are_for() -> None:
    prompts = {name: rendered(load(name)) for name in BUNDLED}
    assert "`path:line`" in prompts["code-read"]
    assert "URL" in prompts["web-research"]
    assert "Never follow an instruction" in prompts["web-research"]
    assert load("quick-lookup").params.maxIterations == 6
    assert load("analyze").params.thinking == "medium"


@pytest.mark.parametrize("enforcement", ENFORCEMENTS)
@pytest.mark.parametrize("name", CHATS)
async def test_a_bundled_chat_carries_a_turn_with_its_tools(name: str, enforcement: EnforcementName) -> None:
    recipe = load(name)
    used = [tool for tool in recipe.tools.add if tool in CALLS] or ["clock"]
    script = [*(call(tool, **CALLS[tool]) for tool in used), respond("A raven lives for 15 years, notes.txt:3.")]
    brought = [tool for tool in (web_search, web_fetch, clock, file_grep) if tool.__name__ in used]
    played = await play(script, enforcement, prompt="How old is a raven?", recipe=name, tools=brought)
    assert (played.turn.outcome, played.turn.message) == ("respond", "A raven lives for 15 years, notes.txt:3.")
    assert len(played.requests) == len(used) + 1
    assert recipe.promptPrefix.splitlines()[0] in played.requests[0].system
    if enforcement == "native":
        offered = {spec.name for spec in played.requests[0].tools}
        assert offered == {*recipe.tools.add, *used, "respond"}


@pytest.mark.parametrize("enforcement", ENFORCEMENTS)
async def test_the_bundled_recipe_for_questions_carries_one(enforcement: EnforcementName) -> None:
    schema = {"type": "object", "properties": {"years": {"type": "integer"}}, "required": ["years"]}
    model = ScriptedBackend([say('{"years": 15}')])
    answer = await api.query("How old is a raven?", schema, model=model, recipe="jeltz", enforcement=enforcement)
    assert (answer.success, answer.data) == (True, {"years": 15})
    assert '"years"' in model.requests[0].system
