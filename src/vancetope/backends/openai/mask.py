"""Secrets leave through no error and no wire log."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

MASK = "***"
CUT = "..."
DEEPEST = 100  # levels of a JSON value that are shown

# A shorter key ("x", "key") is a placeholder for a server that asks for none; masking it would only garble the text.
SHORTEST_SECRET = 4

_KEY = re.compile(r"\bsk-[\w*.-]{8,}")
_BEARER = re.compile(r"\b(bearer\s+)[\w*.~+/=-]{8,}", re.IGNORECASE)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without the given secrets and without anything that looks like a key of OpenAI's or a bearer token.

    A secret is found however its special characters were escaped (for URLs, JSON or HTML), and in capitals or not.
    """
    if (secret := _any_of(tuple(secrets))) is not None:
        text = secret.sub(MASK, text)
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


@lru_cache(maxsize=64)
def _any_of(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """What finds any of the secrets, the longest first: one may be the beginning of another."""
    found = sorted({each for each in secrets if len(each) >= SHORTEST_SECRET}, key=len, reverse=True)
    return re.compile("|".join("".join(map(_spelt, each)) for each in found), re.IGNORECASE) if found else None


def _spelt(char: str) -> str:
    """A pattern for one character in all the ways that a server may write it when it quotes."""
    if char.isascii() and char.isalnum():
        return char
    octets = char.encode("utf-8", "replace")
    ways = {
        char,
        f"\\{char}",
        html.escape(char),
        f"&#{ord(char)};",
        f"&#x{ord(char):x};",
        f"\\u{ord(char):04x}",
        json.dumps(char)[1:-1],
        "".join(f"%{octet:02x}" for octet in octets),
        "+" if char == " " else char,
    }
    return f"(?:{'|'.join(map(re.escape, sorted(ways, key=len, reverse=True)))})"
