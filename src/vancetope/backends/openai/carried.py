"""What a server wants back with a reply of its own: its thinking, as it sent it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vancetope.backends.openai.profiles import Profile

# The first that holds any: who sends details may send their text once more.
FIELDS = ("reasoning_details", "reasoning_content", "reasoning")

_TEXTS = ("text", "summary")  # of a detail, in a stream piece by piece


def carried_in(message: Mapping[str, Any], profile: Profile, model: str) -> str:
    """JSON text of what goes back with this message, with the server and model that can read it; empty if nothing
    does."""
    for field in FIELDS:
        value = message.get(field)
        if value and isinstance(value, str | list):
            return json.dumps({"by": _by(profile, model), field: value}, ensure_ascii=False, separators=(",", ":"))
    return ""


def carried_back(text: str, profile: Profile, model: str, said: Callable[[str], str]) -> dict[str, Any]:
    """The fields of a message that carries this: none where it came from elsewhere. `said` is applied to plain
    thinking; details may be signed and stay as they are."""
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or found.get("by") != _by(profile, model):
        return {}
    fields = {field: found[field] for field in FIELDS if field in found}
    return {field: said(value) if isinstance(value, str) else value for field, value in fields.items()}


def joined(pieces: Sequence[Any]) -> list[Any]:
    """The details of a streamed reply, each put together from its pieces, which follow each other."""
    whole: list[Any] = []
    texts: list[dict[str, list[str]]] = []
    for piece in pieces:
        if not isinstance(piece, dict):
            continue
        if not (whole and _goes_on(whole[-1], piece)):
            whole.append({})
            texts.append({})
        for name, value in piece.items():
            if name in _TEXTS and isinstance(value, str):
                texts[-1].setdefault(name, []).append(value)
            elif value is not None or name not in whole[-1]:
                whole[-1][name] = value
    for detail, parts in zip(whole, texts, strict=True):
        detail.update({name: "".join(values) for name, values in parts.items()})
    return whole


def _goes_on(last: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Whether a piece goes on with the last detail. One that is encrypted comes whole."""
    if piece.get("type") == "reasoning.encrypted" or "data" in piece:
        return False
    return all(piece.get(name) in (None, last.get(name)) for name in ("type", "index", "id"))


def _by(profile: Profile, model: str) -> str:
    return f"{profile.name}:{model}"
