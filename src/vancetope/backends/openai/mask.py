"""Secrets leave through no error and no wire log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"
CUT = "..."
DEEPEST = 100  # levels of a JSON value that are shown

# A shorter key ("x", "key") is a placeholder for a server that asks for none; masking it would only garble the text.
SHORTEST_SECRET = 4

_KEY = re.compile(r"\bsk-[\w*.-]{8,}")
_BEARER = re.compile(r"\b(bearer\s+)[\w*.~+/=-]{8,}", re.IGNORECASE)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without the given secrets and without anything that looks like a key of OpenAI's or a bearer token."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET and secret in text:
            text = text.replace(secret, MASK)
    return _BEARER.sub(rf"\1{MASK}", _KEY.sub(MASK, text))


def masked(value: Any, secrets: Iterable[str] = (), *, depth: int = 0) -> Any:
    """A copy of a JSON value with every string in it masked, the names of its members too."""
    if isinstance(value, str):
        return mask(value, secrets)
    if depth == DEEPEST and isinstance(value, Mapping | list | tuple):
        return CUT
    if isinstance(value, Mapping):
        return {mask(str(name), secrets): masked(inner, secrets, depth=depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked(inner, secrets, depth=depth + 1) for inner in value]
    return value
