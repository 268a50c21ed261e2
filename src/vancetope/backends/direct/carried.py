"""What a provider wants back with its reply, as text that only its own backend reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vancetope.messages import Assistant

VERSION = 1

What: TypeAlias = Literal["text", "call", "thinking", "redacted"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a reply in its order: a text or thinking by its text, a call by its number; `signature` is the
    provider's, empty where it signed nothing."""

    what: What
    text: str = ""
    number: int = 0
    signature: str = ""


def written(provider: str, model: str, pieces: Sequence[Piece]) -> str:
    """The text to carry, for this model only; empty where the provider signed nothing. The reply's own text is not said
    again in it, only how long its parts are."""
    kept = [each for each in pieces if each.what in ("text", "call") or each.signature]
    if not any(each.signature for each in kept):
        return ""
    return json.dumps(
        {"version": VERSION, "provider": provider, "model": model, "parts": [_stored(each) for each in kept]},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def pieces_of(message: Assistant, provider: str, model: str) -> list[Piece]:
    """The message part by part, in the order and with the signatures that were carried, if this model carried any.
    Where the message is no longer the reply it came as, the thinking comes first and calls keep their signatures."""
    carried = _read(message.carried, provider, model)
    plain = [Piece("text", message.text)] if message.text.strip() else []
    calls = [Piece("call", number=number) for number in range(len(message.calls))]
    if not carried:
        return plain + calls
    lengths = [each["length"] for each in carried if each["what"] == "text"]
    numbers = [each["number"] for each in carried if each["what"] == "call"]
    if sum(lengths) == len(message.text) and numbers == list(range(len(calls))):
        return _in_order(carried, message.text)
    signed = {each["number"]: each["signature"] for each in carried if each["what"] == "call"}
    thinking = [_piece(each) for each in carried if each["what"] in ("thinking", "redacted")]
    return [*thinking, *plain, *(Piece("call", "", each.number, signed.get(each.number, "")) for each in calls)]


def _in_order(carried: list[dict[str, Any]], text: str) -> list[Piece]:
    found, start = [], 0
    for each in carried:
        if each["what"] == "text":
            found.append(Piece("text", text[start : start + each["length"]], 0, each["signature"]))
            start += each["length"]
        else:
            found.append(_piece(each))
    return [each for each in found if each.what != "text" or each.text.strip() or each.signature]


def _piece(stored: dict[str, Any]) -> Piece:
    return Piece(stored["what"], stored.get("text", ""), stored.get("number", 0), stored["signature"])


def _stored(piece: Piece) -> dict[str, Any]:
    match piece.what:
        case "text":
            return {"what": "text", "length": len(piece.text), "signature": piece.signature}
        case "call":
            return {"what": "call", "number": piece.number, "signature": piece.signature}
    return {"what": piece.what, "text": piece.text, "signature": piece.signature}


def _read(text: str, provider: str, model: str) -> list[dict[str, Any]]:
    """The carried parts; none where the text is of another model, of another version, or no text of ours."""
    try:
        data = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return []
    head = {"version": VERSION, "provider": provider, "model": model}
    if not isinstance(data, dict) or any(data.get(name) != value for name, value in head.items()):
        return []
    parts = data.get("parts")
    return parts if isinstance(parts, list) and all(map(_whole, parts)) else []


def _whole(part: object) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("signature"), str):
        return False
    match part.get("what"):
        case "text":
            return isinstance(part.get("length"), int)
        case "call":
            return isinstance(part.get("number"), int)
        case "thinking" | "redacted":
            return isinstance(part.get("text"), str)
    return False
