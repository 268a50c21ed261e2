"""How a model is to write: what its caller, its recipe and the settings say of it, as far as its server takes it."""

from __future__ import annotations

from dataclasses import replace

from vancetope.asked import Asked, Said
from vancetope.backends.base import ModelSettings
from vancetope.errors import ConfigError
from vancetope.models.base import ModelInfo
from vancetope.options import MODEL_SETTINGS, check

# What no extra field of a request may replace, and what does it.
OURS = {
    "model": "name the model as `model`",
    "messages": "give the past as `history`",
    "contents": "give the past as `history`",
    "system": "say it as `instructions`",
    "systemInstruction": "say it as `instructions`",
    "tools": "give them as `tools`",
    "stream": "`vt.stream` and `on_event` stream",
}


def sampling(asked: Asked, said: Said, info: ModelInfo) -> ModelSettings:
    """How this model is to write: what its server refuses is left out, and one that cannot think is not asked to unless
    the caller says so. Raises `ConfigError` then."""
    own = _own(asked)
    if own.thinking not in (None, "off") and info.known and info.thinking == "no":
        raise ConfigError(f"{info.id} cannot think; leave model_settings.thinking out, or use a model that can")
    temperature = said.of("temperature", own.temperature)
    return replace(
        own,
        temperature=None
        if "no_temperature" in info.quirks
        else info.temperature
        if temperature is None
        else temperature,
        seed=None if "no_seed" in info.quirks else own.seed,
        max_tokens=said.of("maxTokens", own.max_tokens),
        thinking=None if info.known and info.thinking == "no" else said.of("thinking", own.thinking),
    )


def left_out(asked: Asked, said: Said, info: ModelInfo) -> tuple[str, ...]:
    """What was said about sampling and is not sent, because the model's server would refuse the whole request."""
    own = _own(asked)
    wanted = {"temperature": said.of("temperature", own.temperature), "seed": own.seed}
    return tuple(
        f"{info.id} takes no {name}; it is left out"
        for name, value in wanted.items()
        if value is not None and f"no_{name}" in info.quirks
    )


def _own(asked: Asked) -> ModelSettings:
    """What the caller says about sampling. Raises `ConfigError` for what cannot be."""
    given = asked.model_settings
    if given is None or isinstance(given, ModelSettings):
        own = given or ModelSettings()
    else:
        known = {name: given[name] for name in ("temperature", "max_tokens", "seed", "thinking") if name in given}
        own = ModelSettings(**known, extra={key: value for key, value in given.items() if key not in known})
    check(own, MODEL_SETTINGS, "model_settings.")
    for name in own.extra:
        if name in OURS:
            raise ConfigError(f"model_settings.{name}: the request's {name} cannot be replaced; {OURS[name]}")
    return own
