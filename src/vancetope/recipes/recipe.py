"""A recipe: which engine, which prompt, which tools, which parameters, as one checked value."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from vancetope.errors import ConfigError
from vancetope.outcome import EnforcementName, TurnEnd

LATER = ("triggers", "locked", "profiles")
# Parameters that only one engine reads.
OF_ONE_ENGINE = {
    "ford": ("turnEnd", "role", "maxValidationCorrections", "dataRelayCorrection", "greeting"),
    "jeltz": ("maxAttempts",),
}
OTHER = {"ford": "jeltz", "jeltz": "ford"}
BOTH_PARAMETERS = ("message", "awaiting_user_input")

EngineName: TypeAlias = Literal["ford", "jeltz"]
Names: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]  # a list of YAML is no tuple


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Params(Strict):
    """The parameters of a recipe. Null leaves the word to whoever comes next in the order of precedence."""

    model: str | None = None
    turnEnd: TurnEnd | None = None
    enforcement: EnforcementName | None = None
    role: Literal["primary", "worker"] = "primary"
    maxIterations: int = Field(default=100, ge=1)
    maxValidationCorrections: int = Field(default=2, ge=0)
    validation: bool = True
    dataRelayCorrection: str | bool = True
    greeting: str = ""
    temperature: float | None = Field(default=None, ge=0)
    maxTokens: int | None = Field(default=None, ge=1)
    maxAttempts: int = Field(default=3, ge=1, le=10)


class ToolPool(Strict):
    """Which bundled tools a recipe brings: those added, without those removed; deferred ones are told by name only."""

    add: Names = ()
    remove: Names = ()
    defer: Names = ()

    @field_validator("remove", "defer")
    @classmethod
    def _keeps_respond(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if "respond" in names:
            raise ValueError("`respond` cannot be removed or deferred, it is how a turn ends")
        return names


class Recipe(Strict):
    """One recipe. `promptPrefix` and `respondPrompt` are Jinja templates; the latter replaces the shared block that
    explains how a turn ends, and must mention both parameters of `respond`."""

    name: str = "recipe"
    description: str = ""
    engine: EngineName = "ford"
    params: Params = Params()
    promptPrefix: str = ""
    respondPrompt: str | None = None
    tools: ToolPool = ToolPool()
    tags: Names = ()

    @model_validator(mode="after")
    def _explains_respond(self) -> Recipe:
        if self.respondPrompt is not None:
            missing = [each for each in BOTH_PARAMETERS if each not in self.respondPrompt]
            if missing:
                raise ValueError(f"respondPrompt does not mention {' and '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _says_what_its_engine_reads(self) -> Recipe:
        foreign = [name for name in self.params.model_fields_set if name in OF_ONE_ENGINE.get(OTHER[self.engine], ())]
        if foreign:
            raise ValueError(f"params.{foreign[0]} means nothing to the engine {self.engine}; remove it")
        if self.engine == "jeltz" and self.respondPrompt is not None:
            raise ValueError("respondPrompt means nothing to the engine jeltz, which has no `respond`; remove it")
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _in_one_sentence(cls, fields: Any, handler: ModelWrapValidatorHandler[Recipe], info: ValidationInfo) -> Recipe:
        try:
            return handler(fields)
        except ValidationError as error:
            where = (info.context or {}).get("where", "the recipe")
            raise ConfigError(f"{where}: {first_problem(error, cls)}") from None


def recipe_from(fields: Any, where: str) -> Recipe:
    """The recipe in these fields. Raises `ConfigError` naming `where`, the field, and the key probably meant."""
    if not isinstance(fields, dict):
        raise ConfigError(f"{where}: a recipe is a mapping of keys, this is {_kind(fields)}")
    for key in LATER:
        if key in fields:
            raise ConfigError(f"{where}: {key} is not supported by this release; remove it")
    return Recipe.model_validate(fields, context={"where": where})


def first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """The first problem in one sentence, with the key that was probably meant where one is unknown."""
    first = error.errors(include_url=False)[0]
    path = [str(step) for step in first["loc"]]
    if first["type"] != "extra_forbidden":
        text = first["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
        return f"{'.'.join(path)}: {text}" if path else text
    known = sorted(_keys(model, path[:-1]))
    near = get_close_matches(path[-1], known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
    return f"{'.'.join(path)}: unknown key; {hint}"


def _keys(model: type[BaseModel], path: list[str]) -> set[str]:
    """The keys that a model knows at this path."""
    here: Any = model
    for step in path:
        field = here.model_fields.get(step) if isinstance(here, type) and issubclass(here, BaseModel) else None
        here = field.annotation if field else None
    if isinstance(here, type) and issubclass(here, BaseModel):
        return {field.alias or name for name, field in here.model_fields.items()}
    return set()


def _kind(value: Any) -> str:
    return {"NoneType": "empty", "list": "a list", "str": "a text"}.get(type(value).__name__, type(value).__name__)
