"""Actions for a model that sees no tool API: a line for each tool, and examples made from the tools' own schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any

from vancetope.contract import sentences
from vancetope.contract.rules import ANSWER, RESPOND
from vancetope.messages import ToolSpec

_WORDS = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}


def described(actions: Sequence[ToolSpec]) -> str:
    """The form of an action and a line for each tool: name, parameters, what it is for."""
    lines = [f"- {each.name}({', '.join(_parameters(each))}): {_first_line(each.description)}" for each in actions]
    return "\n".join([sentences.ACTION_FORM, *lines])


def worked(actions: Sequence[ToolSpec]) -> str:
    """One example action for each tool, with its required arguments; the schema's own examples come first."""
    lines = [dumps({"tool": each.name, "arguments": example(each)}, ensure_ascii=False) for each in actions]
    return "\n".join([sentences.ACTION_EXAMPLES, *lines])


def example(spec: ToolSpec) -> dict[str, Any]:
    """Arguments that fit the tool's schema where that is simple to do, the required ones only."""
    if spec.name in (RESPOND, ANSWER):
        arguments: dict[str, Any] = {"message": sentences.EXAMPLE_MESSAGE}
        waits = spec.parameters.get("properties", {}).get("awaiting_user_input")
        return arguments if waits is None else {**arguments, "awaiting_user_input": waits.get("default", True)}
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    return {name: _value(properties.get(name, {}), spec.parameters) for name in spec.parameters.get("required", ())}


def _value(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Any:
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if "$ref" in schema and depth < 4:
        target = root.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        return _value(target, root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _value(schema[key][0], root, depth + 1)
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" and depth < 4:
        inner: Mapping[str, Any] = schema.get("properties", {})
        return {name: _value(inner.get(name, {}), root, depth + 1) for name in schema.get("required", ())}
    if kind in ("integer", "number"):
        return schema.get("minimum", _WORDS[kind])
    return _WORDS.get(kind, "text")


def _parameters(spec: ToolSpec) -> list[str]:
    required = spec.parameters.get("required", ())
    return [name if name in required else f"{name}?" for name in spec.parameters.get("properties", {})]


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]
