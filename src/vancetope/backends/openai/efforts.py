"""How models are told how hard to think, as data: what goes into a request for each of our words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from vancetope.backends.base import Thinking
from vancetope.errors import ConfigError

Fields: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """The models that these globs match (in lower case), and the fields that each word puts into a request: none where
    the model can do nothing else. A model that cannot be kept from thinking does for "off" as little as it can.

    `beside_tools` are the fields for a request with tools, of a model that its server only lets call them if it is told
    not to think; null where it may do both.
    """

    models: tuple[str, ...]
    fields: Mapping[Thinking, Fields]
    beside_tools: Fields | None = None


Efforts: TypeAlias = tuple[Effort, ...]
"""The first that matches a model's name counts."""


def effort_of(efforts: Efforts, model: str, thinking: Thinking | None, *, tools: bool) -> Fields:
    """The fields of a request to this model. Raises `ConfigError` where it cannot both think and be offered tools."""
    name = model.lower().removeprefix("ft:")
    effort = next((each for each in efforts if any(fnmatchcase(name, glob) for glob in each.models)), None)
    if effort is None:
        return {}
    if tools and effort.beside_tools is not None:
        if thinking in (None, "off"):
            return effort.beside_tools
        raise ConfigError(
            f"{model} cannot think while it is offered tools here: leave thinking off, or set enforcement to "
            "constrained"
        )
    return effort.fields.get(thinking, {}) if thinking else {}


def _words(off: str, low: str = "low", medium: str = "medium", high: str = "high") -> dict[Thinking, str]:
    return {"off": off, "low": low, "medium": medium, "high": high}


def _effort(*models: str, off: str, low: str = "low", tools: str | None = None) -> Effort:
    words = _words(off, low)
    beside = None if tools is None else {"reasoning_effort": tools}
    return Effort(models, {level: {"reasoning_effort": word} for level, word in words.items()}, beside)


def _routed(*models: str, off: str) -> Effort:
    return Effort(models, {level: {"reasoning": {"effort": word}} for level, word in _words(off).items()})


def _template(*models: str, off: Fields, effort_in_template: bool) -> Effort:
    """For servers that hand arguments of a request to the model's chat template."""
    fields: dict[Thinking, Fields] = {"off": off}
    for level in ("low", "medium", "high"):
        thinks = {"enable_thinking": True, "thinking": True}
        if effort_in_template:
            fields[level] = {"chat_template_kwargs": {**thinks, "reasoning_effort": level}}
        else:
            fields[level] = {"reasoning_effort": level, "chat_template_kwargs": thinks}
    return Effort(models, fields)


def _deployed(effort: Effort) -> Effort:
    """For deployments, which people name as they like: the model's name may stand anywhere in theirs."""
    anywhere = (f"*{glob}" if glob.startswith("gpt-") else f"*-{glob}" for glob in effort.models)
    return replace(effort, models=(*effort.models, *anywhere))


_OFF = {"enable_thinking": False, "thinking": False}

ANY: Efforts = (_effort("*", off="none"),)
OPENAI: Efforts = (
    Effort(("gpt-3*", "gpt-4*", "chatgpt-*", "gpt-5-chat*", "gpt-5.*-chat*", "gpt-5-pro*"), {}),
    _effort("gpt-5.*-pro*", off="medium", low="medium"),
    _effort("gpt-5-codex*", "gpt-5.1-codex*", "o[134]*", "gpt-6-astra*", "gpt-6.1-sol*", off="low"),
    _effort("gpt-5.4*", "gpt-5.5*", "gpt-5.6*", "gpt-6*", off="none", tools="none"),
    _effort("gpt-5.*", off="none"),
    _effort("gpt-5*", off="minimal"),
    *ANY,
)
AZURE: Efforts = tuple(map(_deployed, OPENAI))
OPENROUTER: Efforts = (
    _routed("openai/gpt-5.*", off="none"),
    _routed("openai/gpt-5*", "openai/o[134]*", "*gpt-oss*", off="minimal"),
    _routed("google/gemini-2.5-pro*", "google/gemini-3*", "deepseek/deepseek-r1*", "x-ai/grok-4*", off="minimal"),
    _routed("*", off="none"),
)
VLLM: Efforts = (
    _effort("*gpt-oss*", off="low"),
    Effort(("*mistral*", "*ministral*", "*magistral*", "*devstral*"), {}),
    _template("*", off={"chat_template_kwargs": _OFF}, effort_in_template=False),
)
LLAMACPP: Efforts = (
    _template("*gpt-oss*", off={"chat_template_kwargs": {"reasoning_effort": "low"}}, effort_in_template=True),
    _template("*", off={"reasoning_effort": "none", "chat_template_kwargs": _OFF}, effort_in_template=True),
)
"""Where the facts come from:

- `OPENAI`: its guide "Reasoning models" and the pages of the models. Some take one effort only, so they are told none.
  Models from gpt-5.4 on refuse tools in a chat completion unless the effort is "none" (their own words for it: use
  another API); those among them that cannot be kept from thinking have no such way out.
- `AZURE`: the same models; one page says of gpt-5 and later what OpenAI's says.
- `OPENROUTER`: "minimal" for models that answer "Reasoning is mandatory for this endpoint" to "none".
- `VLLM`: the page "Reasoning outputs"; each family's template has a name of its own for the switch, and passes over
  the others. Mistral's tokenizers refuse arguments for a template. The effort "none" is a 400 in older versions.
- `LLAMACPP`: its server's page: "none" turns thinking off, other words are for the template.
- `ANY`: Ollama and LM Studio both take "none" to "high".
"""
