"""What is known of models, from the bundled list."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from vancetope.errors import ConfigError
from vancetope.models.base import ModelInfo, Price
from vancetope.strict_yaml import parsed


def lookup(provider: str, name: str) -> ModelInfo:
    """The catalogue's word on a model; safe defaults for one that it does not know."""
    full = f"{provider}:{name}"
    entry = next((each for each in _entries() if fnmatchcase(full, each["match"])), {"match": full})
    return _info(provider, name, entry)


def _info(provider: str, model: str, entry: dict[str, Any]) -> ModelInfo:
    fields = {_snake(key): value for key, value in entry.items() if key != "match"}
    for name in ("enforcements", "structured_output"):
        if name in fields:
            fields[name] = tuple(fields[name])
    if "price" in fields:
        fields["price"] = Price(**{_snake(key): value for key, value in fields["price"].items()})
    try:
        return ModelInfo(provider=provider, name=model, **fields)
    except TypeError as error:
        raise ConfigError(f"ai-models.yaml: {entry['match']}: {error}") from None


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower()


@cache
def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = parsed(
        files("vancetope.models").joinpath("ai-models.yaml").read_text("utf-8"), "ai-models.yaml"
    )
    return entries
