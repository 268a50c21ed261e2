"""The envelope of prompted backends: its schema, where its parts are, and when a reply has to be one."""

from __future__ import annotations

from typing import Any

from vancetope.contract.partial import Path
from vancetope.contract.rules import Rules

CONTENT: Path = ("content",)
MESSAGE: Path = ("tool_calls", None, "arguments", "message")
NAME: Path = ("tool_calls", None, "name")

ENVELOPE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["content", "tool_calls"],
    "additionalProperties": False,
}


def in_force(rules: Rules) -> bool:
    """Whether replies have to be envelopes: where there is anything to call in this turn."""
    return rules.turn_end == "respond" or bool(rules.offer.named)
