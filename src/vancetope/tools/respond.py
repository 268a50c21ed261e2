"""The actions that end a turn, as a model is told of them."""

from __future__ import annotations

from typing import Any

from vancetope import sentences
from vancetope.messages import ToolSpec
from vancetope.outcome import Role

RESPOND = "respond"
ANSWER = "answer"


def respond_spec(role: Role) -> ToolSpec:
    """`respond(message, awaiting_user_input)`: left out, the flag is true for a primary and false for a worker."""
    primary = role == "primary"
    reader = "user" if primary else "process that gave you the task"
    awaiting = sentences.RESPOND_AWAITING_PRIMARY if primary else sentences.RESPOND_AWAITING_WORKER
    properties = {
        "message": _message(sentences.RESPOND_MESSAGE.format(reader=reader)),
        "awaiting_user_input": {"type": "boolean", "default": primary, "description": awaiting},
    }
    return ToolSpec(RESPOND, sentences.RESPOND.format(reader=reader), _object(properties))


def answer_spec() -> ToolSpec:
    """`answer(message)`: how text alone is said where every reply must be an action."""
    return ToolSpec(ANSWER, sentences.ANSWER, _object({"message": _message(sentences.ANSWER_MESSAGE)}))


def _message(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": description}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": ["message"], "additionalProperties": False}
