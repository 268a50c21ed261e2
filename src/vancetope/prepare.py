"""From what a caller asked for to everything a turn needs, or one clear sentence before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast
from uuid import uuid4

from vancetope import sentences
from vancetope.asked import Asked, Said
from vancetope.backends.base import Backend
from vancetope.backends.choose import Choice, choose, connect
from vancetope.backends.text import TextBackend, TextFunction
from vancetope.context import Budget, Context, Halt, Patience, Route, Way
from vancetope.contract.compilers import Compiler, compiler
from vancetope.contract.form import mode_of, profile
from vancetope.contract.rules import Offer, Rules
from vancetope.engines import Engine, engine
from vancetope.errors import ConfigError
from vancetope.events import Event
from vancetope.journal import Journal, NullJournal
from vancetope.messages import History, User
from vancetope.models.base import ModelInfo
from vancetope.models.budgets import Account, Budgets, Limit, budgets_from, money_problem
from vancetope.models.ledger import Ledger, MemoryLedger
from vancetope.options import ASKED, BUDGET, PATIENCE, RECIPE_PARAMS, check
from vancetope.outcome import EnforcementName
from vancetope.pool import Pool, pool
from vancetope.recipes.loading import load
from vancetope.recipes.recipe import Params, Recipe, foreign_to, params_from
from vancetope.recipes.rendering import system_prompt
from vancetope.sampling import left_out, sampling
from vancetope.settings import Settings, settings_from
from vancetope.settings import load as load_settings
from vancetope.tools.base import Tool
from vancetope.tools.batch import Limits
from vancetope.tools.blobs import Blobs
from vancetope.tools.respond import respond_spec
from vancetope.tools.result_read import SPEC as RESULT_READ
from vancetope.tools.result_read import result_read
from vancetope.tools.threads import Threads

SMALLEST_CAP = 512
TOOL_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A process's parts that stay the same from turn to turn."""

    recipe: Recipe
    said: Said
    info: ModelInfo
    ways: tuple[Way, ...]
    choice: Choice | None
    rules: Rules
    enforcement: EnforcementName
    compiler: Compiler
    system: str
    tools: Mapping[str, Tool]
    limits: Limits
    budget: Budget
    budgets: Budgets
    ledger: Ledger
    account: Account
    patience: Patience
    greeting: str = ""
    max_attempts: int = 3
    notices: tuple[str, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""
    deps: Any = None
    blobs: Blobs = field(default_factory=Blobs)

    @property
    def engine(self) -> Engine:
        """The chat engine of the recipe. Raises `ConfigError` where it has none."""
        return engine(self.recipe.engine)

    async def aclose(self) -> None:
        """Close what its models were reached by."""
        for way in self.ways:
            await way.backend.aclose()

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
        notices: tuple[str, ...] = (),
    ) -> Context:
        """A fresh context for one turn; it begins to count its time here."""
        account = replace(self.account, turn=f"{self.account.tree}:{turn}")
        return Context(
            turn=turn,
            session=session,
            rules=self.rules,
            enforcement=self.enforcement,
            compiler=self.compiler,
            system=self.system,
            route=Route(*self.ways),
            drain=drain,
            publish=publish,
            deadline=asyncio.get_running_loop().time() + self.patience.turn,
            history=history,
            tools=self.tools,
            account=account,
            ledger=self.ledger,
            budget=self.budget,
            budgets=self.budgets,
            patience=self.patience,
            limits=self.limits,
            blobs=self.blobs,
            threads=Threads(),
            journal=journal or NullJournal(),
            halt=halt or Halt(),
            idle=idle,
            deps=self.deps,
            streamed=streamed,
            notices=notices,
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
    wanted = profile(prepared.said.of("enforcement", asked.enforcement), prepared.info)
    return replace(prepared, enforcement=mode_of(wanted) if wanted else "prompted")


def _prepared(asked: Asked) -> Prepared:
    check(asked, ASKED)
    settings = _settings(asked.settings)
    recipe = load(asked.recipe, settings.folders)
    check(recipe.params, RECIPE_PARAMS, f"{recipe.where}: params.")
    said = Said(_params(asked.params, recipe), recipe, settings)
    budget, budgets = _budget(asked, said), budgets_from(settings.get)
    first, choice = _model(asked, said)
    info = first.model
    enforcement, how = compiler(said.of("enforcement", asked.enforcement), info)
    kept = replace(budgets, turn=Limit(budget.tokens, budget.dollars))
    if problem := money_problem(kept, info):
        raise ConfigError(problem)
    limits = Limits(output_cap=_output_cap(info))
    blobs = Blobs()
    having = pool(recipe, settings, info, asked.tools)
    tools = {each.name: each for each in (*having.tools, result_read(blobs, limits.output_cap))}
    rules = _rules(asked, said, info, tools, having)
    return Prepared(
        recipe=recipe,
        said=said,
        info=info,
        ways=_ways(asked, said, first, choice, enforcement, kept),
        choice=choice,
        rules=rules,
        enforcement=enforcement,
        compiler=how,
        system="",
        tools=tools,
        limits=limits,
        budget=budget,
        budgets=replace(budgets, turn=Limit()),  # the turn itself is held to it, and a replay with it
        ledger=asked.ledger or _of_this_python(),
        account=_account(settings),
        patience=_patience(asked),
        greeting=said.params.greeting or recipe.params.greeting or "",
        max_attempts=said.of("maxAttempts"),
        notices=(
            *settings.notices,
            *(choice.notices if choice else ()),
            *having.notices,
            *left_out(asked, said, info),
        ),
        variables=_variables(said, info, rules, enforcement, asked.lang),
        instructions=asked.instructions,
        deps=asked.deps,
        blobs=blobs,
    )


def _params(given: Params | Mapping[str, Any], recipe: Recipe) -> Params:
    params = given if isinstance(given, Params) else params_from(given, "params")
    if foreign := foreign_to(recipe.engine, params):
        raise ConfigError(f"params: {foreign} means nothing to the engine {recipe.engine}; leave it out")
    check(params, RECIPE_PARAMS, "params.")
    return params


def _rules(asked: Asked, said: Said, info: ModelInfo, tools: Mapping[str, Tool], having: Pool) -> Rules:
    if said.recipe.engine == "jeltz":
        return _tool_rounds(asked, said, tools, having)
    turn_end = said.of("turnEnd", asked.turn_end) or info.turn_end or "respond"
    role = asked.role or said.params.role or said.recipe.params.role or "primary"
    relay = said.params.dataRelayCorrection
    return Rules(
        turn_end=turn_end,
        role=role,
        corrections=said.of("maxValidationCorrections", asked.max_validation_corrections),
        iterations=said.of("maxIterations", asked.max_iterations),
        validation=said.of("validation", asked.validation),
        relay=_relay(said.recipe.params.dataRelayCorrection if relay is None else relay),
        raises_output=info.output_ceiling is not None,
        offer=_offer(tools, having),
        respond=respond_spec(role) if turn_end == "respond" else None,
    )


def _tool_rounds(asked: Asked, said: Said, tools: Mapping[str, Tool], having: Pool) -> Rules:
    """The contract of the rounds before a structured answer: they are over with the first reply without a call."""
    return Rules(
        turn_end="natural",
        role="worker",
        corrections=0,
        iterations=said.of("maxIterations", asked.max_iterations, bundled=False) or TOOL_ROUNDS,
        validation=False,
        offer=_offer(tools, having),
    )


def _offer(tools: Mapping[str, Tool], having: Pool) -> Offer:
    return Offer(
        {name: each.spec for name, each in tools.items()},
        poll=frozenset(each.name for each in tools.values() if each.poll),
        deferred=having.deferred,
        unnamed=frozenset({RESULT_READ.name}),
    )


def _variables(said: Said, info: ModelInfo, rules: Rules, enforcement: EnforcementName, lang: str) -> dict[str, Any]:
    """What a recipe's templates may use."""
    recipe = said.recipe
    budget = said.of("budget")
    in_force = {key: said.of(key) for key in Params.model_fields}
    in_force |= {
        "turnEnd": rules.turn_end,
        "role": rules.role,
        "maxIterations": rules.iterations,
        "maxValidationCorrections": rules.corrections,
        "validation": rules.validation,
        "budget": budget.model_dump() if budget else None,
    }
    return {
        "tier": info.tier,
        "model": info.name,
        "provider": info.provider,
        "mode": enforcement,
        "recipe": recipe.name,
        "engine": recipe.engine,
        "lang": lang,
        "params": in_force,
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


def _model(asked: Asked, said: Said) -> tuple[Way, Choice | None]:
    if asked.model is not None and not isinstance(asked.model, str):
        backend = _backend(asked.model)
        info = getattr(backend, "info", None)
        if not isinstance(info, ModelInfo):
            name = type(backend).__name__
            info = ModelInfo(provider="custom", name=name, enforcements=("native", "constrained"), known=False)
        return Way(info, backend, sampling(asked, said, info)), None
    choice = choose(asked.model or said.params.model, said.recipe.params.model, said.settings, agreed=asked.agreed)
    return Way(choice.info, connect(choice, asked.wire), sampling(asked, said, choice.info)), choice


def _ways(
    asked: Asked, said: Said, first: Way, choice: Choice | None, enforcement: EnforcementName, budgets: Budgets
) -> tuple[Way, ...]:
    """The chosen model, and those behind it in its list that can be asked in the same way and for the same budgets."""
    ways = [first]
    for each in choice.fallbacks if choice else ():
        able = enforcement == "prompted" or enforcement in each.info.enforcements
        if able and money_problem(budgets, each.info) is None:
            ways.append(Way(each.info, connect(each, asked.wire), sampling(asked, said, each.info)))
    return tuple(ways)


def _account(settings: Settings) -> Account:
    tree = uuid4().hex
    return Account(tree, tree, "" if settings.project is None else str(settings.project), str(settings.tenant))


@cache
def _of_this_python() -> Ledger:
    return MemoryLedger()


def _relay(said: str | bool | None) -> str | None:
    if isinstance(said, str):
        return said
    return None if said is False else sentences.DATA_RELAY


def _output_cap(info: ModelInfo) -> int:
    """Bytes of a tool result the model is shown: a quarter of its window, where that is less than the usual cap."""
    usual = Limits().output_cap
    return usual if info.context_window is None else max(min(usual, info.context_window * 3 // 4), SMALLEST_CAP)


def _budget(asked: Asked, said: Said) -> Budget:
    """What the turn may use: the caller's word, else the process's, the recipe's, or that of the settings."""
    given = asked.budget
    if given is not None:
        budget = Budget(tokens=given) if isinstance(given, int) else given
        check(budget, BUDGET, "budget.")
        return budget
    own = said.params.budget or said.recipe.params.budget
    if own is not None:
        return Budget(own.tokens, own.dollars)
    return Budget(said.settings.get("budgets.turn.tokens"), said.settings.get("budgets.turn.dollars"))


def _patience(asked: Asked) -> Patience:
    patience = asked.patience or Patience()
    check(patience, PATIENCE, "patience.")
    return patience if asked.deadline is None else replace(patience, turn=asked.deadline)
