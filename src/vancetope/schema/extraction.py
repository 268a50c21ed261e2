"""One schema-valid JSON value out of a model's text: strict first, and doubt means no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vancetope.schema import transport, validate
from vancetope.schema.problems import Problem
from vancetope.schema.strict import NotJson, parse
from vancetope.schema.validate import Validator

Rule: TypeAlias = Literal["strict", "fence", "span", "tidied", "closed"]
Reason: TypeAlias = Literal["truncated", "none", "ambiguous", "invalid", "too_deep", "too_large"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """The value, which fits the schema, and the rule that found it: how far the text was from plain JSON."""

    value: Any
    rule: Rule


@dataclass(frozen=True, slots=True)
class NoJson:
    """No value, and why. With `invalid`, `value` is the one that was found and `problems` what is wrong with it."""

    reason: Reason
    sentence: str = ""
    value: Any = None
    problems: tuple[Problem, ...] = ()


def extract(text: str, schema: Mapping[str, Any], finish: str = "stop") -> Extraction | NoJson:
    """The one value in this text that fits the schema. Raises `InvalidSchema` for what is no schema, nothing else."""
    return find(text, validate.compile(schema), finish)


def find(text: str, validator: Validator, finish: str = "stop") -> Extraction | NoJson:
    """As `extract`, with a schema that is compiled already."""
    if finish == "length":
        return NoJson("truncated", "the reply was cut off at the output limit")
    if finish in ("refusal", "content_filter"):
        return NoJson("none", "the model refused to answer")
    try:
        value = parse(transport.undone(text))
    except NotJson as error:
        return NoJson(error.reason if error.reason != "invalid" else "none", str(error))
    problems = validator.problems(value)
    if problems:
        return NoJson("invalid", "the JSON does not fit the schema", value, problems)
    return Extraction(value, "strict")
