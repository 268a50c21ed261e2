"""From a function's signature to a JSON Schema, and from arguments that fit it to the function's own types."""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from vancetope.errors import ConfigError
from vancetope.tools.base import ToolContext
from vancetope.tools.failure import ToolFailed


class WrongArguments(ToolFailed):
    """The arguments fit the schema, but the tool's own types refuse them."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a function takes: the schema a model sees, and the names that the runtime fills with its context."""

    schema: dict[str, Any]
    _model: Any
    _contexts: tuple[str, ...]

    def values(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Keyword arguments for the function, converted to its types. Raises `WrongArguments`, a line per problem."""
        from pydantic import ValidationError

        try:
            model = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            lines = (f"/{'/'.join(str(step) for step in each['loc'])}: {each['msg']}" for each in problems[:8])
            raise WrongArguments("\n".join(lines)) from None
        values = {field.alias: getattr(model, key) for key, field in self._model.model_fields.items()}
        return values | dict.fromkeys(self._contexts, context)


def parameters_of(fn: Callable[..., Any], plain: Callable[..., Any], tool: str, told: Mapping[str, str]) -> Parameters:
    """What `fn` takes; `plain` is the function under its partials, `told` what the docstring says of a parameter.

    Raises `ConfigError` that names the tool and the parameter.
    """
    hints = _hints(plain, tool)
    fixed = fn.keywords if isinstance(fn, functools.partial) else {}
    fields: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    contexts: list[str] = []
    for name, parameter in _signature(fn, tool).parameters.items():
        if name in fixed:
            continue
        annotation = hints.get(name, parameter.annotation)
        _refuse_odd(parameter, annotation, tool)
        if _is_context(annotation):
            contexts.append(name)
            continue
        fields[name] = annotation
        if parameter.default is not parameter.empty:
            defaults[name] = parameter.default
    model, schema = _compiled(fields, defaults, tool)
    for name, each in schema["properties"].items():
        if name in told and "description" not in each:
            each["description"] = told[name]
    return Parameters(schema, model, tuple(contexts))


def _signature(fn: Callable[..., Any], tool: str) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        raise ConfigError(f"tool {tool!r}: its signature cannot be read, wrap it in a function of yours") from None


def _refuse_odd(parameter: inspect.Parameter, annotation: Any, tool: str) -> None:
    what = f"tool {tool!r}: the parameter {parameter.name!r}"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise ConfigError(f"{what} is {star}{parameter.name}, which a JSON Schema cannot say; name each parameter")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ConfigError(f"{what} is positional-only, but a model gives arguments by name")
    if annotation is parameter.empty:
        raise ConfigError(f"{what} has no type; annotate it, as in {parameter.name}: str")


def _hints(plain: Callable[..., Any], tool: str) -> dict[str, Any]:
    """The annotations with strings resolved; names that only a caller's function knows are looked up there."""
    source = plain if inspect.isroutine(plain) else type(plain).__call__
    known: dict[str, Any] = {}
    while True:
        try:
            return typing.get_type_hints(source, localns=known or None, include_extras=True)
        except NameError as error:
            name = error.name or ""
            found = _local(name) if name not in known else None
            if found is None:
                raise ConfigError(f"tool {tool!r}: the type {name!r} in its signature is not defined") from None
            known[name] = found
        except Exception as error:
            raise ConfigError(f"tool {tool!r}: its annotations cannot be read: {error}") from None


def _local(name: str) -> Any:
    """A local variable of this name in the nearest calling function that is not ours."""
    frame = inspect.currentframe()
    while frame := frame.f_back if frame else None:
        if name in frame.f_locals and not frame.f_globals.get("__name__", "").startswith("vancetope."):
            return frame.f_locals[name]
    return None


def _is_context(annotation: Any) -> bool:
    return annotation is ToolContext or any(map(_is_context, typing.get_args(annotation)))


def _compiled(fields: Mapping[str, Any], defaults: Mapping[str, Any], tool: str) -> tuple[Any, dict[str, Any]]:
    """A pydantic model of these parameters, and its JSON Schema."""
    from pydantic import ConfigDict, create_model
    from pydantic.errors import PydanticUserError

    # A parameter may have a name that a model's field may not, so the fields are numbered and the names are aliases.
    numbered: dict[str, Any] = {
        f"p{number}": _field(name, annotation, defaults) for number, (name, annotation) in enumerate(fields.items())
    }
    try:
        model = create_model("arguments", __config__=ConfigDict(extra="forbid"), **numbered)
        schema = model.model_json_schema()
    except (PydanticUserError, TypeError) as error:
        if len(fields) > 1:  # which one is it?
            for name in fields:
                _compiled({name: fields[name]}, {name: defaults[name]} if name in defaults else {}, tool)
        first = str(error).splitlines()[0].partition(". ")[0]
        raise ConfigError(f"tool {tool!r}: the parameter {next(iter(fields))!r} has no JSON Schema: {first}") from None
    for name, each in schema.setdefault("properties", {}).items():
        if name in defaults and "default" not in each:
            _note_default(each, defaults[name])
    return model, _without_titles(schema)


def _field(name: str, annotation: Any, defaults: Mapping[str, Any]) -> tuple[Any, Any]:
    from pydantic import Field
    from pydantic.fields import FieldInfo

    if name not in defaults:
        return annotation, Field(alias=name)
    default = defaults[name]
    if isinstance(default, FieldInfo):  # x: int = Field(3, ge=1)
        return Annotated[annotation, default], Field(alias=name)
    # A factory, so that the default is neither copied nor checked.
    return annotation, Field(default_factory=lambda: default, alias=name)


def _note_default(schema: dict[str, Any], default: Any) -> None:
    """Show the default, where JSON can show it."""
    from pydantic import TypeAdapter
    from pydantic.fields import FieldInfo

    if not isinstance(default, FieldInfo):
        with contextlib.suppress(ValueError):
            schema["default"] = TypeAdapter(Any).dump_python(default, mode="json")


_NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "dependentSchemas")


def _without_titles(schema: Any) -> Any:
    """The schema without the titles that pydantic makes from names: they tell nothing and cost tokens."""
    if isinstance(schema, list):
        return [_without_titles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED_SCHEMAS and isinstance(value, dict):
            kept[key] = {name: _without_titles(each) for name, each in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            kept[key] = value
        elif key != "title":
            kept[key] = _without_titles(value)
    return kept
