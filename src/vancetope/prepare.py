"""From what a caller asked for to everything a turn needs, or one clear sentence before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from vancetope import sentences
from vancetope.backends.base import Backend, ModelSettings
from vancetope.backends.choose import Choice, choose, connect
from vancetope.backends.text import TextBackend, TextFunction
from vancetope.context import Budget, Context, Halt, Patience
from vancetope.contract.compilers import Compiler, compiler
from vancetope.contract.form import mode_of, profile
from vancetope.contract.rules import Offer, Rules
from vancetope.engines import Engine, engine
from vancetope.errors import ConfigError
from vancetope.events import Event
from vancetope.journal import Journal, NullJournal
from vancetope.messages import History, User
from vancetope.models.base import ModelInfo
from vancetope.options import (
    ASKED,
    BUDGET,
    MODEL_SETTINGS,
    PATIENCE,
    RECIPE_PARAMS,
    check,
)
from vancetope.outcome import EnforcementName, Role, TurnEnd
from vancetope.recipes.loading import load
from vancetope.recipes.recipe import Recipe
from vancetope.recipes.rendering import system_prompt
from vancetope.settings import Settings, settings_from
from vancetope.settings import load as load_settings
from vancetope.tools.base import Tool
from vancetope.tools.batch import Limits
from vancetope.tools.blobs import Blobs
from vancetope.tools.clock import clock
from vancetope.tools.files import file_tools
from vancetope.tools.functions import as_tools
from vancetope.tools.respond import respond_spec
from vancetope.tools.result_read import SPEC as RESULT_READ
from vancetope.tools.result_read import result_read
from vancetope.tools.threads import Threads

SMALLEST_CAP = 512
TOOL_ROUNDS = 20
TINY_TOOLS = frozenset({"clock"})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a caller may say about a turn; null leaves the word to recipe, environment, settings and catalogue."""

    model: str | Backend | TextFunction | None = None
    recipe: str | Path | Recipe = "default"
    settings: Settings | Mapping[str, Any] | None = None
    tools: Iterable[Tool | Callable[..., Any]] = ()
    instructions: str = ""
    turn_end: TurnEnd | None = None
    role: Role | None = None
    enforcement: EnforcementName | None = None
    max_iterations: int | None = None
    max_validation_corrections: int | None = None
    validation: bool | None = None
    budget: Budget | int | None = None
    model_settings: ModelSettings | Mapping[str, Any] | None = None
    deadline: float | None = None
    patience: Patience | None = None
    deps: Any = None
    lang: str = ""
    wire: Callable[[str, Any], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A process's parts that stay the same from turn to turn."""

    recipe: Recipe
    info: ModelInfo
    backend: Backend
    choice: Choice | None
    rules: Rules
    enforcement: EnforcementName
    compiler: Compiler
    system: str
    tools: Mapping[str, Tool]
    model_settings: ModelSettings
    limits: Limits
    budget: Budget
    patience: Patience
    variables: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""
    deps: Any = None
    blobs: Blobs = field(default_factory=Blobs)

    @property
    def engine(self) -> Engine:
        """The chat engine of the recipe. Raises `ConfigError` where it has none."""
        return engine(self.recipe.engine)

    def render(self, variables: Mapping[str, Any]) -> str:
        """The recipe's system prompt, with these variables beside those that are the same for every turn."""
        return system_prompt(self.recipe, {**self.variables, **variables}, self.instructions)

    def context(
        self,
        *,
        drain: Callable[[int], tuple[User, ...]],
        publish: Callable[[Event], None],
        history: History,
        turn: int,
        session: str = "",
        halt: Halt | None = None,
        idle: Callable[[], bool] = lambda: True,
        journal: Journal | None = None,
        streamed: bool = True,
    ) -> Context:
        """A fresh context for one turn; it begins to count its time here."""
        return Context(
            turn=turn,
            session=session,
            rules=self.rules,
            enforcement=self.enforcement,
            compiler=self.compiler,
            system=self.system,
            model=self.info,
            backend=self.backend,
            drain=drain,
            publish=publish,
            deadline=asyncio.get_running_loop().time() + self.patience.turn,
            history=history,
            tools=self.tools,
            settings=self.model_settings,
            budget=self.budget,
            patience=self.patience,
            limits=self.limits,
            blobs=self.blobs,
            threads=Threads(),
            journal=journal or NullJournal(),
            halt=halt or Halt(),
            idle=idle,
            deps=self.deps,
            streamed=streamed,
            raw=self.recipe.engine == "jeltz",
            render=self.render,
        )


def prepare(asked: Asked) -> Prepared:
    """Resolve what was asked of a chat. Raises `ConfigError` in one sentence; nothing has been sent or started by
    then."""
    prepared = _prepared(asked)
    engine(prepared.recipe.engine)
    return replace(prepared, system=prepared.render({}))


def prepare_question(asked: Asked) -> Prepared:
    """Resolve what was asked beside a structured question. Raises `ConfigError` as `prepare` does; whatever is wrong
    with question and schema themselves is the answer's to say."""
    prepared = _prepared(asked)
    name = prepared.recipe.engine
    if name != "jeltz":
        raise ConfigError(f"recipe {prepared.recipe.name}: the engine {name} is for chats, a question needs jeltz")
    wanted = profile(asked.enforcement or prepared.recipe.params.enforcement, prepared.info)
    return replace(prepared, enforcement=mode_of(wanted) if wanted else "prompted")


def _prepared(asked: Asked) -> Prepared:
    check(asked, ASKED)
    settings = _settings(asked.settings)
    recipe = load(asked.recipe)
    check(recipe.params, RECIPE_PARAMS, f"recipe {recipe.name}: params.")
    info, backend, choice = _model(asked, recipe, settings)
    enforcement, how = compiler(asked.enforcement or recipe.params.enforcement, info)
    limits = Limits(output_cap=_output_cap(info))
    blobs = Blobs()
    pool = _pool(recipe, settings, info, asked.tools)
    tools = {each.name: each for each in (*pool, result_read(blobs, limits.output_cap))}
    rules = _rules(asked, recipe, info, tools)
    return Prepared(
        recipe=recipe,
        info=info,
        backend=backend,
        choice=choice,
        rules=rules,
        enforcement=enforcement,
        compiler=how,
        system="",
        tools=tools,
        model_settings=_model_settings(asked.model_settings, recipe, info),
        limits=limits,
        budget=_budget(asked.budget, info),
        patience=_patience(asked),
        variables=_variables(recipe, info, rules, enforcement, asked.lang),
        instructions=asked.instructions,
        deps=asked.deps,
        blobs=blobs,
    )


def _rules(asked: Asked, recipe: Recipe, info: ModelInfo, tools: Mapping[str, Tool]) -> Rules:
    params = recipe.params
    if recipe.engine == "jeltz":
        return _tool_rounds(asked, recipe, tools)
    turn_end = asked.turn_end or params.turnEnd or info.turn_end or "respond"
    role = asked.role or params.role or "primary"
    return Rules(
        turn_end=turn_end,
        role=role,
        corrections=_first(asked.max_validation_corrections, params.maxValidationCorrections, 2),
        iterations=_first(asked.max_iterations, params.maxIterations, 100),
        validation=bool(_first(asked.validation, params.validation, True)),
        relay=_relay(params.dataRelayCorrection),
        raises_output=info.output_ceiling is not None,
        offer=_offer(tools),
        respond=respond_spec(role) if turn_end == "respond" else None,
    )


def _tool_rounds(asked: Asked, recipe: Recipe, tools: Mapping[str, Tool]) -> Rules:
    """The contract of the rounds before a structured answer: they are over with the first reply without a call."""
    return Rules(
        turn_end="natural",
        role="worker",
        corrections=0,
        iterations=_first(asked.max_iterations, recipe.params.maxIterations, TOOL_ROUNDS),
        validation=False,
        offer=_offer(tools),
    )


def _offer(tools: Mapping[str, Tool]) -> Offer:
    return Offer(
        {name: each.spec for name, each in tools.items()},
        poll=frozenset(each.name for each in tools.values() if each.poll),
        unnamed=frozenset({RESULT_READ.name}),
    )


def _variables(
    recipe: Recipe, info: ModelInfo, rules: Rules, enforcement: EnforcementName, lang: str
) -> dict[str, Any]:
    """What a recipe's templates may use."""
    return {
        "tier": info.tier,
        "model": info.name,
        "provider": info.provider,
        "mode": enforcement,
        "recipe": recipe.name,
        "engine": recipe.engine,
        "lang": lang,
        "params": {**recipe.params.model_dump(), "turnEnd": rules.turn_end},
        "role": rules.role,
        "schema_json": "",
        "prompt": "",
    }


def _settings(given: Settings | Mapping[str, Any] | None) -> Settings:
    if isinstance(given, Settings):
        return given
    return load_settings() if given is None else settings_from(given)


def _backend(model: Backend | TextFunction) -> Backend:
    return cast(Backend, model) if hasattr(model, "complete") else TextBackend(model)


def _model(asked: Asked, recipe: Recipe, settings: Settings) -> tuple[ModelInfo, Backend, Choice | None]:
    if asked.model is not None and not isinstance(asked.model, str):
        backend = _backend(asked.model)
        info = getattr(backend, "info", None)
        if not isinstance(info, ModelInfo):
            name = type(backend).__name__
            info = ModelInfo(provider="custom", name=name, enforcements=("native", "constrained"))
        return info, backend, None
    choice = choose(asked.model, recipe.params.model, settings)
    return choice.info, connect(choice, asked.wire), choice


def _pool(
    recipe: Recipe, settings: Settings, info: ModelInfo, given: Iterable[Tool | Callable[..., Any]]
) -> tuple[Tool, ...]:
    """The recipe's bundled tools and the caller's; the caller's take the place of bundled ones of the same name. A tiny
    model gets of the bundled ones only those that it can use; beside file tools it answers no question any more."""
    bundled = _bundled(settings.root)
    for name in (*recipe.tools.add, *recipe.tools.remove, *recipe.tools.defer):
        if name not in bundled:
            raise ConfigError(f"recipe {recipe.name}: there is no tool {name!r}; there are {', '.join(bundled)}")
    if recipe.tools.defer:
        raise ConfigError(f"recipe {recipe.name}: tools.defer is not supported by this release; add them instead")
    own = as_tools(given)
    taken = {each.name for each in own} | set(recipe.tools.remove)
    added = [name for name in recipe.tools.add if name not in taken and (info.tier != "tiny" or name in TINY_TOOLS)]
    return (*(bundled[name] for name in added), *own)


@lru_cache(maxsize=16)
def _bundled(root: Path) -> Mapping[str, Tool]:
    return {each.name: each for each in (clock(), *file_tools(root))}


def _relay(said: str | bool | None) -> str | None:
    if isinstance(said, str):
        return said
    return None if said is False else sentences.DATA_RELAY


def _output_cap(info: ModelInfo) -> int:
    """Bytes of a tool result the model is shown: a quarter of its window, where that is less than the usual cap."""
    usual = Limits().output_cap
    return usual if info.context_window is None else max(min(usual, info.context_window * 3 // 4), SMALLEST_CAP)


def _first(asked: int | None, recipe: int | None, default: int) -> int:
    return next(each for each in (asked, recipe, default) if each is not None)


def _model_settings(given: ModelSettings | Mapping[str, Any] | None, recipe: Recipe, info: ModelInfo) -> ModelSettings:
    if given is None or isinstance(given, ModelSettings):
        own = given or ModelSettings()
    else:
        known = {name: given[name] for name in ("temperature", "max_tokens", "seed") if name in given}
        own = ModelSettings(**known, extra={key: value for key, value in given.items() if key not in known})
    check(own, MODEL_SETTINGS, "model_settings.")
    temperature = next(
        (each for each in (own.temperature, recipe.params.temperature, info.temperature) if each is not None), None
    )
    return replace(own, temperature=temperature, max_tokens=own.max_tokens or recipe.params.maxTokens)


def _budget(given: Budget | int | None, info: ModelInfo) -> Budget:
    budget = Budget(tokens=given) if isinstance(given, int) else given or Budget()
    check(budget, BUDGET, "budget.")
    if budget.dollars is not None and info.price is None:
        raise ConfigError(
            f"the price of {info.id} is not known, so a budget in dollars cannot be kept; give one in tokens"
        )
    return budget


def _patience(asked: Asked) -> Patience:
    patience = asked.patience or Patience()
    check(patience, PATIENCE, "patience.")
    return patience if asked.deadline is None else replace(patience, turn=asked.deadline)
