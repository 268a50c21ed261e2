"""Actions for a model that sees no tool API: what each tool is for, and examples made from the tools' own schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from json import dumps
from typing import Any

from vancetope import sentences
from vancetope.messages import Assistant, ToolSpec, User
from vancetope.tools.respond import ANSWER, RESPOND

MOST_TURNS = 4
_LANGUAGES = ((0,), (0, 2), (0, 1, 2))  # of one turn, two and three turns with the same tool
_LONGEST_TOPIC = 60
_DEEPEST = 4
_WORDS: Mapping[str, tuple[Any, ...]] = {
    "string": sentences.EXAMPLE_WORDS,
    "integer": (7, 12, 3, 58),
    "number": (1.5, 20.5),
    "boolean": (True, False),
    "null": (None,),
}
_NOUN = re.compile(r"^(get|fetch|find|look ?up|read|search|show|tell) (?=.)")


def action(name: str, arguments: Mapping[str, Any]) -> str:
    """An action as its JSON, without a space that says nothing: to a small model every token is time."""
    return dumps({"tool": name, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))


def call(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as it stands in an envelope."""
    return dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def described(actions: Sequence[ToolSpec], write: Callable[[str, Mapping[str, Any]], str] = action) -> str:
    """Of each tool what it is for, its parameters and an example, written as an action or as a `call`."""
    return "\n".join(line for each in actions for line in _described(each, write))


def conversation(tools: Sequence[ToolSpec], end: str) -> tuple[User | Assistant, ...]:
    """A short conversation in which each tool is used and what it said is passed on, small talk between the turns.

    A tiny model follows what it has seen done, hardly what it is told: one example in its system prompt, or an example
    per tool without its turn, were measured and do not carry. Three languages, or it takes every other one for
    small talk; a tool turn comes last, or it talks only.
    """
    most = min(max(MOST_TURNS // max(len(tools), 1), 1), len(_LANGUAGES))
    shown = [
        (tool, language) for at, tool in enumerate(tools) for language in _LANGUAGES[max(most, 1 if at else 2) - 1]
    ]
    turns: list[User | Assistant] = []
    for number, (tool, language) in enumerate(shown):
        turns += [*_talk(end, number), *_tool_turn(tool, end, number, language)]
    return tuple(turns or _talk(end, 0))


def _talk(end: str, number: int) -> list[User | Assistant]:
    hello, answer = sentences.EXAMPLE_TALK[number % len(sentences.EXAMPLE_TALK)]
    return [User(hello), Assistant(action(end, {"message": answer}))]


def example(spec: ToolSpec, number: int = 0) -> dict[str, Any]:
    """Arguments that fit the tool's schema where that is simple to do, others for each `number`: the required ones, or
    the first one where none is required."""
    if spec.name in (RESPOND, ANSWER):
        return {"message": sentences.EXAMPLE_MESSAGE}
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    shown = spec.parameters.get("required") or list(properties)[:1]
    return {name: _value(properties.get(name, {}), spec.parameters, number) for name in shown}


def _tool_turn(tool: ToolSpec, end: str, number: int, language: int) -> list[User | Assistant]:
    arguments = example(tool, number)
    given = ", ".join(each if isinstance(each, str) else dumps(each) for each in arguments.values())
    question = sentences.example_question(_topic(tool), _noun(tool), given, language)
    result = sentences.example_result(given or _noun(tool), number)
    return [
        User(question),
        Assistant(action(tool.name, arguments)),
        User(sentences.action_result(tool.name, result)),
        Assistant(action(end, {"message": result})),
    ]


def _topic(tool: ToolSpec) -> str:
    """What a tool is for, in few words: the start of its description."""
    words = re.split(r"[.;:\n]", tool.description.strip(), maxsplit=1)[0]
    while len(words) > _LONGEST_TOPIC and "," in words:
        words = words.rpartition(",")[0]
    return words[:_LONGEST_TOPIC].strip() or _noun(tool)


def _noun(tool: ToolSpec) -> str:
    return _NOUN.sub("", re.sub(r"[^a-z0-9]+", " ", tool.name.lower()).strip()) or tool.name


def _described(spec: ToolSpec, write: Callable[[str, Mapping[str, Any]], str]) -> list[str]:
    required = spec.parameters.get("required", ())
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    lines = [f"- {spec.name}: {' '.join(spec.description.split())}"]
    for name, schema in properties.items():
        kind = _kind(schema) + ("" if name in required else sentences.ACTION_OPTIONAL)
        about = " ".join(str(schema.get("description", "")).split()) if isinstance(schema, Mapping) else ""
        lines.append(f"  - {name} ({kind}){f': {about}' if about else ''}")
    return [*lines, f"  {sentences.ACTION_EXAMPLE} {write(spec.name, example(spec))}"]


def _kind(schema: Any, hops: int = 3) -> str:
    """What a parameter takes, in a word or few."""
    if not isinstance(schema, Mapping) or not hops:
        return "value"
    if schema.get("enum"):
        return " | ".join(dumps(each, ensure_ascii=False) for each in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if schema.get(union):
            return " or ".join(dict.fromkeys(_kind(each, hops - 1) for each in schema[union]))
    kind = schema.get("type", "object" if "properties" in schema else "value")
    if kind == "array" and schema.get("items"):
        return f"list of {_kind(schema['items'], hops - 1)}"
    return kind if isinstance(kind, str) else " or ".join(kind)


def _value(schema: Any, root: Mapping[str, Any], number: int, depth: int = 0) -> Any:
    if not isinstance(schema, Mapping):
        return _scalar("string", {}, number)
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][number % len(schema[key])]
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    if "$ref" in schema and depth < _DEEPEST:
        target = root.get("$defs", root.get("definitions", {})).get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        return _value(target, root, number, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _value(schema[key][0], root, number, depth + 1)
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        few = schema.get("minItems", 1) if depth < _DEEPEST else 0
        return [_value(schema.get("items", {}), root, number + each, depth + 1) for each in range(min(few, 2))]
    if kind == "object":
        inner: Mapping[str, Any] = schema.get("properties", {}) if depth < _DEEPEST else {}
        return {name: _value(inner.get(name, {}), root, number, depth + 1) for name in schema.get("required", ())}
    return _scalar(kind, schema, number)


def _scalar(kind: str, schema: Mapping[str, Any], number: int) -> Any:
    words = _WORDS.get(kind, sentences.EXAMPLE_WORDS)
    value = words[number % len(words)]
    if kind in ("integer", "number"):
        return min(max(value, schema.get("minimum", value)), schema.get("maximum", value))
    return value[: schema.get("maxLength", len(value))] if isinstance(value, str) else value
