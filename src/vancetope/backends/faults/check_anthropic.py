"""What Anthropic's API refuses in a request: each rule is a generator of sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from vancetope.backends.faults.anthropic import blocks, of_kind, output_schema, thinks
from vancetope.backends.faults.asked import objects
from vancetope.backends.faults.check_thinking import ADAPTIVE, NEVER_FORCED, THINKING

Body: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Body], Iterator[str]]

ROLES = ("user", "assistant", "system")
KEYS = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "system",
        "tools",
        "tool_choice",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "stream",
        "thinking",
        "metadata",
        "service_tier",
        "output_config",
        "output_format",
        "container",
        "context_management",
        "mcp_servers",
        "betas",
        "cache_control",
        "speed",
        "inference_geo",
        "diagnostics",
        "fallbacks",
    ]
)
MESSAGE_KEYS = frozenset({"role", "content", "output_config"})
BLOCKS = {
    "user": frozenset({"text", "image", "document", "tool_result", "search_result"}),
    "assistant": frozenset({"text", "tool_use", "thinking", "redacted_thinking"}),
    "system": frozenset({"text"}),
}
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
CHOICES = ("auto", "any", "tool", "none")
# Keywords of JSON Schema that an output format cannot have.
NOT_IN_OUTPUT = frozenset(
    [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "maxItems",
        "uniqueItems",
    ]
)


def shape(body: Body) -> Iterator[str]:
    """What is wrong with the shape, so that no other rule can read the request."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model is not a non-empty string"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages is not a non-empty array"
        return
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            yield f"messages.{at} has no known role"
        else:
            yield from (f"messages.{at}: {sentence}" for sentence in _content(message))
    tools = body.get("tools", [])
    if not isinstance(tools, list) or len(objects(tools)) < len(tools):
        yield "tools is not an array of objects"


def _content(message: Mapping[str, Any]) -> Iterator[str]:
    role, content = message["role"], message.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield f"content of a {role} message is neither a string nor an array"
        return
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in BLOCKS[role]:
            yield f"a {role} message cannot hold a block of type {kind!r}"
        elif kind == "text" and not isinstance(block.get("text"), str):
            yield "a text block has no text"
        elif kind == "tool_use" and not (isinstance(block.get("id"), str) and isinstance(block.get("name"), str)):
            yield "a tool_use block lacks its id or name"
        elif kind == "tool_result" and not isinstance(block.get("tool_use_id"), str):
            yield "a tool_result block has no tool_use_id"
        elif kind == "thinking" and not isinstance(block.get("thinking"), str):
            yield "a thinking block has no thinking"


def _known_keys(body: Body) -> Iterator[str]:
    yield from (f"{key}: extra inputs are not permitted" for key in sorted(body.keys() - KEYS))
    for at, message in enumerate(body["messages"]):
        for key in sorted(message.keys() - MESSAGE_KEYS):
            yield f"messages.{at}.{key}: extra inputs are not permitted"


def _max_tokens(body: Body) -> Iterator[str]:
    if "max_tokens" not in body:
        yield "max_tokens: field required"
    elif type(body["max_tokens"]) is not int or body["max_tokens"] < 1:
        yield "max_tokens is not a whole number of at least 1"


def _first_user(body: Body) -> Iterator[str]:
    if (role := body["messages"][0]["role"]) != "user":
        yield f"the first message is of role {role!r}, not user"


def _last_user(body: Body) -> Iterator[str]:
    if (role := body["messages"][-1]["role"]) == "assistant":
        yield f"the last message is of role {role!r}: this model takes no beginning of its answer"


def _system_place(body: Body) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        if message["role"] == "system":
            yield f"messages.{at} is a system message; the system prompt is a parameter of its own"


def _not_empty(body: Body) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        last = at == len(body["messages"]) - 1
        if not blocks(message) and not (last and message["role"] == "assistant"):
            yield f"messages.{at}: all messages must have content"
    for at, block in of_kind(body, "text"):
        if not block["text"]:
            yield f"messages.{at}: text content blocks must not be empty"
        elif not block["text"].strip():
            yield f"messages.{at}: text content blocks must hold more than white space"
    system = body.get("system")
    texts = [each.get("text") for each in objects(system)] if isinstance(system, list) else [system]
    if system is not None and not all(isinstance(text, str) and text for text in texts):
        yield "system: text content blocks must not be empty"


def _results(body: Body) -> Iterator[str]:
    owed: list[str] = []
    for at, message in enumerate(body["messages"]):
        if message["role"] == "system":
            continue
        given = blocks(message)
        results = [block["tool_use_id"] for block in given if block["type"] == "tool_result"]
        for id in results:
            if id not in owed:
                yield f"messages.{at}: the tool_result for {id!r} has no tool_use in the message before it"
        if missing := [id for id in owed if id not in results]:
            yield f"messages.{at - 1}: no tool_result follows at once for {', '.join(map(repr, missing))}"
        if len(set(results)) < len(results):
            yield f"messages.{at}: a tool_use has more than one tool_result"
        kinds = [block["type"] == "tool_result" for block in given]
        if owed and kinds != sorted(kinds, reverse=True):
            yield f"messages.{at}: something stands before the tool_result blocks"
        owed = [block["id"] for block in given if block["type"] == "tool_use"]
    if owed:
        yield f"the messages end before the tool_result for {', '.join(map(repr, owed))}"


def _ids(body: Body) -> Iterator[str]:
    seen: set[str] = set()
    for at, block in of_kind(body, "tool_use"):
        if not CALL_ID.fullmatch(block["id"]):
            yield f"messages.{at}: the tool_use id {block['id']!r} does not match ^[a-zA-Z0-9_-]+$"
        elif block["id"] in seen:
            yield f"messages.{at}: the tool_use id {block['id']!r} is not unique"
        seen.add(block["id"])


def _calls(body: Body) -> Iterator[str]:
    for at, block in of_kind(body, "tool_use"):
        if not TOOL_NAME.fullmatch(block["name"]):
            yield f"messages.{at}: {block['name']!r} cannot be a tool's name"
        if not isinstance(block.get("input"), dict):
            yield f"messages.{at}: the input of {block['name']!r} is not an object"


def _tools(body: Body) -> Iterator[str]:
    names: set[str] = set()
    for at, tool in enumerate(body.get("tools", ())):
        name, schema = tool.get("name"), tool.get("input_schema")
        if tool.get("type") not in (None, "custom"):
            continue
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            yield f"tools.{at}: {name!r} cannot be a tool's name"
        elif name in names:
            yield f"tools.{at}: tool names must be unique, {name!r} is not"
        else:
            names.add(name)
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"tools.{at}: its input_schema is not of type object"
        if not isinstance(tool.get("description", ""), str):
            yield f"tools.{at}: its description is not a string"
        if not body.get("tools"):
            yield "tools is there but empty"


def _tool_choice(body: Body) -> Iterator[str]:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    names = [tool.get("name") for tool in body.get("tools", ())]
    if kind not in CHOICES:
        yield f"tool_choice is none of {', '.join(CHOICES)}"
    elif not names:
        yield "tool_choice may only be given with tools"
    elif kind == "tool" and choice.get("name") not in names:
        yield f"tool_choice names {choice.get('name')!r}, which is no offered tool"
    elif kind in ("any", "tool") and body["model"].startswith(NEVER_FORCED):
        yield "tool_choice forces a tool, which this model does not support"
    elif kind in ("any", "tool") and thinks(body) and body["thinking"]["type"] == "enabled":
        yield "thinking may not be enabled when tool_choice forces a tool"


def _output(body: Body) -> Iterator[str]:
    schema = output_schema(body)
    config = body.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else body.get("output_format")
    if wanted is not None and schema is None:
        yield "the output format is not of type json_schema"
    if schema is not None:
        yield from _output_schema(schema, "the output format's schema")


def _output_schema(schema: object, where: str) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _output_schema(each, where)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        yield f"{where}: for objects, additionalProperties must be false"
    yield from (f"{where}: the property {key!r} is not supported" for key in sorted(NOT_IN_OUTPUT & schema.keys()))
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            for name, each in value.items():
                yield from _output_schema(each, f"{where}, {name!r}")
        elif key in ("items", "anyOf", "allOf", "additionalProperties"):
            yield from _output_schema(value, where)


def _settings(body: Body) -> Iterator[str]:
    if not isinstance(body.get("stream", False), bool):
        yield "stream is not true or false"
    for key in ("temperature", "top_p", "top_k"):
        if key in body and body["model"].startswith(ADAPTIVE):
            yield f"{key} is not supported for this model"
    heat = body.get("temperature", 1)
    if type(heat) not in (int, float) or not 0 <= heat <= 1:
        yield "temperature is not a number from 0 to 1"


RULES: Mapping[str, Rule] = {
    "known_keys": _known_keys,
    "max_tokens": _max_tokens,
    "first_user": _first_user,
    "last_message": _last_user,
    "system_place": _system_place,
    "not_empty": _not_empty,
    "results": _results,
    "ids": _ids,
    "calls": _calls,
    "tools": _tools,
    "tool_choice": _tool_choice,
    **THINKING,
    "output": _output,
    "settings": _settings,
}
