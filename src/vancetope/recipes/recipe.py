"""A recipe: which engine, which prompt, which tools, which parameters, as one checked value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from vancetope.backends.base import Thinking
from vancetope.errors import ConfigError
from vancetope.outcome import EnforcementName, Role, TurnEnd
from vancetope.recipes.mistakes import first_problem, no_mapping, odd_key

LATER = ("triggers", "locked", "profiles")
# Parameters that only one engine reads.
OF_ONE_ENGINE = {
    "ford": ("turnEnd", "role", "maxValidationCorrections", "dataRelayCorrection", "greeting"),
    "jeltz": ("maxAttempts",),
}
OTHER = {"ford": "jeltz", "jeltz": "ford"}
BOTH_PARAMETERS = ("message", "awaiting_user_input")
OF_THE_RUNTIME = {
    "respond": "it is how a turn ends",
    "answer": "it is how a turn ends",
    "result_read": "it comes with every result that was cut",
    "tool_describe": "it comes with deferred tools",
}
MOST = 1_000_000_000  # of anything that is counted; more is a slip of the keyboard


def _off(value: Any) -> Any:
    """YAML reads a bare `off` as false."""
    return "off" if value is False else value


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("is blank; write something, or remove the key")
    return value


EngineName: TypeAlias = Literal["ford", "jeltz"]
Names: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]  # a list of YAML is no tuple
Count: TypeAlias = Annotated[int, Field(ge=1, le=MOST)]


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class BudgetParam(Strict):
    """What a turn may use at most: tokens in and out together, US dollars. Null is no limit."""

    tokens: Count | None = None
    dollars: Annotated[float, Field(gt=0, le=MOST)] | None = None


class Params(Strict):
    """The parameters of a recipe or of a process. Null leaves the word to whoever comes next in the order of
    precedence: a process parameter before a recipe's, both before the settings."""

    model: Annotated[str, BeforeValidator(_not_blank)] | None = None
    turnEnd: TurnEnd | None = None
    enforcement: EnforcementName | None = None
    role: Role | None = None
    maxIterations: Count | None = None
    maxValidationCorrections: Annotated[int, Field(ge=0, le=MOST)] | None = None
    validation: bool | None = None
    dataRelayCorrection: Annotated[str | bool, BeforeValidator(_not_blank)] | None = None
    greeting: str | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    maxTokens: Count | None = None
    maxAttempts: Annotated[int, Field(ge=1, le=10)] | None = None
    thinking: Annotated[Thinking, BeforeValidator(_off)] | None = None
    budget: BudgetParam | None = None


class ToolPool(Strict):
    """What a recipe says of the tools: those it adds to the caller's, those it removes, whoever brings them, and those
    that are deferred: they can be used too, but a model is told only their names until it asks for more."""

    add: Names = ()
    remove: Names = ()
    defer: Names = ()

    @model_validator(mode="after")
    def _says_each_tool_once(self) -> ToolPool:
        seen: dict[str, str] = {}
        for key in ("add", "remove", "defer"):
            for name in getattr(self, key):
                if name in OF_THE_RUNTIME:
                    raise ValueError(
                        f"{key}: `{name}` cannot be {_done(key)}, {OF_THE_RUNTIME[name]}; take it out of the list"
                    )
                if name in seen:
                    twice = "twice" if seen[name] == key else f"and in tools.{seen[name]}"
                    raise ValueError(f"{key}: {name!r} stands here {twice}; keep one of the two")
                seen[name] = key
        return self


class Recipe(Strict):
    """One recipe. `promptPrefix` and `respondPrompt` are Jinja templates; the latter replaces the shared block that
    explains how a turn ends, and must mention both parameters of `respond`. `source` says where the recipe came from:
    "bundled", the path of its file, or "" for one that was made in Python."""

    name: str = "recipe"
    description: str = ""
    engine: EngineName = "ford"
    params: Params = Params()
    promptPrefix: str = ""
    respondPrompt: str | None = None
    tools: ToolPool = ToolPool()
    tags: Names = ()
    source: str = ""

    @property
    def where(self) -> str:
        """The recipe as a message names it: by its file where it has one."""
        return self.source if self.source not in ("", "bundled") else f"recipe {self.name}"

    @model_validator(mode="after")
    def _explains_respond(self) -> Recipe:
        if self.respondPrompt is not None and self.engine != "jeltz":
            missing = [each for each in BOTH_PARAMETERS if each not in self.respondPrompt]
            if missing:
                raise ValueError(
                    f"respondPrompt: does not mention {' and '.join(missing)}; tell the model of both parameters of "
                    "`respond`, or remove the key"
                )
        return self

    @model_validator(mode="after")
    def _says_what_its_engine_reads(self) -> Recipe:
        if foreign := foreign_to(self.engine, self.params):
            raise ValueError(f"params.{foreign}: means nothing to the engine {self.engine}; remove it")
        if self.engine == "jeltz" and self.respondPrompt is not None:
            raise ValueError("respondPrompt: means nothing to the engine jeltz, which has no `respond`; remove it")
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _in_one_sentence(cls, fields: Any, handler: ModelWrapValidatorHandler[Recipe], info: ValidationInfo) -> Recipe:
        try:
            return handler(fields)
        except ValidationError as error:
            where = (info.context or {}).get("where", "the recipe")
            raise ConfigError(f"{where}: {first_problem(error, cls)}") from None


def foreign_to(engine: str, params: Params) -> str | None:
    """A parameter that says something and that only another engine reads."""
    said = (name for name in sorted(params.model_fields_set) if getattr(params, name) is not None)
    return next((name for name in said if name in OF_ONE_ENGINE[OTHER[engine]]), None)


def recipe_from(fields: Any, where: str, name: str = "recipe", source: str = "") -> Recipe:
    """The recipe in these fields. Raises `ConfigError` naming `where`, the field, and the key probably meant."""
    if not isinstance(fields, dict):
        raise ConfigError(f"{where}: {no_mapping('a recipe', fields)}")
    for key in LATER:
        if key in fields:
            raise ConfigError(f"{where}: {key}: is not supported by this release; remove it")
    for key in ("name", "source"):
        if key in fields:
            raise ConfigError(f"{where}: {key}: unknown key; a recipe has the name of its file, remove the key")
    if problem := odd_key(fields):
        raise ConfigError(f"{where}: {problem}")
    return Recipe.model_validate({**fields, "name": name, "source": source}, context={"where": where})


def params_from(fields: Any, where: str) -> Params:
    """The parameters of a process out of a mapping. Raises `ConfigError` naming `where` and the field."""
    if isinstance(fields, Params):
        return fields
    if not isinstance(fields, Mapping):
        raise ConfigError(f"{where}: {no_mapping('what a process gets as parameters', fields)}")
    if problem := odd_key(fields):
        raise ConfigError(f"{where}: {problem}")
    try:
        return Params.model_validate(dict(fields))
    except ValidationError as error:
        raise ConfigError(f"{where}: {first_problem(error, Params)}") from None


def _done(key: str) -> str:
    return {"add": "added", "remove": "removed", "defer": "deferred"}[key]
