"""What strict providers refuse in a request in OpenAI's chat format: each rule is a generator of sentences.

No real server has all these rules; every rule is one that some server has. A client that keeps them all is welcome
everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from vancetope.backends.faults.asked import text_of

Body: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Body], Iterator[str]]

ROLES = ("system", "developer", "user", "assistant", "tool")
MESSAGE_KEYS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
THOUGHT_KEYS = frozenset({"reasoning", "reasoning_content", "reasoning_details"})  # who sends them takes them back
PARTS = {"text": "text", "image_url": "image_url", "file": "file", "input_audio": "input_audio"}
CALL_ID = re.compile(r"[a-zA-Z0-9]{9}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


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
            yield f"message {at} has no known role"
        else:
            yield from (f"message {at}: {sentence}" for sentence in _content(message))
    for at, tool in enumerate(_array(body.get("tools", []))):
        if not isinstance(tool, dict) or tool.get("type") != "function" or not isinstance(tool.get("function"), dict):
            yield f"tool {at} is not of type function with an object of that name"
    if not isinstance(body.get("tools", []), list) or body.get("tools") == []:
        yield "tools is there but no non-empty array"


def _content(message: Mapping[str, Any]) -> Iterator[str]:
    role, content = message["role"], message.get("content")
    if isinstance(content, list):
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind not in PARTS or PARTS[kind] not in part:
                yield f"a content part of type {kind!r} is unknown or lacks its value"
            elif kind != "text" and role != "user":
                yield f"a {role} message cannot hold a part of type {kind!r}"
    elif not isinstance(content, str) and not (role == "assistant" and content is None):
        yield f"content of a {role} message is neither a string nor an array"
    calls = message.get("tool_calls")
    if calls is None:
        return
    if role != "assistant" or not isinstance(calls, list) or not calls:
        yield "tool_calls must be a non-empty array of an assistant message"
        return
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or call.get("type") != "function":
            yield "a tool call is not of type function"
        elif not isinstance(function.get("name"), str) or not isinstance(function.get("arguments"), str):
            yield "a tool call's name and arguments must both be strings"
        elif not isinstance(call.get("id"), str):
            yield "a tool call has no id"


def _known_keys(body: Body) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        thought = THOUGHT_KEYS if message.get("role") == "assistant" else frozenset[str]()
        for key in sorted(message.keys() - MESSAGE_KEYS - thought):
            yield f"message {at} has the extra key {key!r}"


def _system_first(body: Body) -> Iterator[str]:
    roles = [message["role"] for message in body["messages"]]
    if roles[0] not in ("system", "developer"):
        yield f"the first message is of role {roles[0]!r}, not system"
    for at, role in enumerate(roles[1:], 1):
        if role in ("system", "developer"):
            yield f"message {at} is a system message, but not the first"


def _last_message(body: Body) -> Iterator[str]:
    if (role := body["messages"][-1]["role"]) not in ("user", "tool"):
        yield f"the last message is of role {role!r}, so there is nothing to answer"


def _not_empty(body: Body) -> Iterator[str]:
    for at, message in enumerate(body["messages"]):
        content = message.get("content")
        has_file = isinstance(content, list) and any(part["type"] != "text" for part in content)
        blank = not text_of(content).strip() and not has_file
        if message["role"] == "assistant" and blank and not message.get("tool_calls"):
            yield f"message {at} is an assistant message with neither text nor calls"
        elif message["role"] == "user" and blank:
            yield f"message {at} is a user message without content"


def _results(body: Body) -> Iterator[str]:
    owed: list[str] = []
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            answered = message.get("tool_call_id")
            if answered not in owed:
                yield f"message {at} is a result for {answered!r}, which no call right before it has"
            elif owed[0] != answered:
                yield f"message {at} is a result for {answered!r}, but {owed[0]!r} comes first"
                owed.remove(answered)
            else:
                owed.pop(0)
            continue
        if owed:
            yield f"message {at} comes before the results for {', '.join(map(repr, owed))}"
        owed = [call["id"] for call in message.get("tool_calls") or ()]
    if owed:
        yield f"the messages end before the results for {', '.join(map(repr, owed))}"


def _calls(body: Body) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for at, message in enumerate(body["messages"]):
        yield from ((at, call) for call in message.get("tool_calls") or ())


def _ids_unique(body: Body) -> Iterator[str]:
    seen: set[str] = set()
    for at, call in _calls(body):
        if call["id"] in seen:
            yield f"message {at}: the call id {call['id']!r} was there before"
        seen.add(call["id"])


def _ids_short(body: Body) -> Iterator[str]:
    for at, call in _calls(body):
        if not CALL_ID.fullmatch(call["id"]):
            yield f"message {at}: the call id {call['id']!r} is not of 9 letters and digits"


def _call_names(body: Body) -> Iterator[str]:
    for at, call in _calls(body):
        if not TOOL_NAME.fullmatch(call["function"]["name"]):
            yield f"message {at}: {call['function']['name']!r} cannot be a tool's name"


def _call_arguments(body: Body) -> Iterator[str]:
    for at, call in _calls(body):
        try:
            fits = isinstance(json.loads(call["function"]["arguments"], parse_constant=_no_constant), dict)
        except (ValueError, RecursionError):
            fits = False
        if not fits:
            yield f"message {at}: the arguments of {call['function']['name']!r} are not the text of a JSON object"


def _tools(body: Body) -> Iterator[str]:
    names: set[str] = set()
    for at, tool in enumerate(body.get("tools", ())):
        function = tool["function"]
        name, parameters = function.get("name"), function.get("parameters", {"type": "object"})
        if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            yield f"tool {at}: {name!r} cannot be a tool's name"
        elif name in names:
            yield f"tool {at}: there are two tools named {name!r}"
        else:
            names.add(name)
        if not isinstance(parameters, dict) or parameters.get("type") != "object":
            yield f"tool {at}: the schema of its parameters is not of type object"
        if not isinstance(function.get("description", ""), str):
            yield f"tool {at}: its description is not a string"


def _tool_choice(body: Body) -> Iterator[str]:
    if "tool_choice" not in body:
        return
    choice, names = body["tool_choice"], [tool["function"].get("name") for tool in body.get("tools", ())]
    if not names:
        yield "tool_choice is there, but no tools are"
    elif choice in ("auto", "none", "required"):
        return
    elif not isinstance(choice, dict) or choice.get("type") != "function":
        yield f"tool_choice {choice!r} is none of auto, none, required and a function"
    elif not isinstance(choice.get("function"), dict) or choice["function"].get("name") not in names:
        yield f"tool_choice {choice.get('function')!r} names no offered tool"


def _response_format(body: Body) -> Iterator[str]:
    wanted = body.get("response_format")
    if wanted is None:
        return
    if not isinstance(wanted, dict) or wanted.get("type") not in ("text", "json_object", "json_schema"):
        yield "response_format is none of text, json_object and json_schema"
    elif wanted["type"] == "json_schema":
        inner = wanted.get("json_schema")
        if not isinstance(inner, dict) or not isinstance(inner.get("schema"), dict):
            yield "response_format holds no JSON schema"
        elif not isinstance(inner.get("name"), str) or not TOOL_NAME.fullmatch(inner["name"]):
            yield f"response_format: {inner.get('name')!r} cannot be a schema's name"
        if body.get("tools"):
            yield "a JSON schema for the text stands beside tools, which stops some servers from calling any"


def _settings(body: Body) -> Iterator[str]:
    for key in ("stream", "parallel_tool_calls"):
        if not isinstance(body.get(key, False), bool):
            yield f"{key} is not true or false"
    if "stream_options" in body and body.get("stream") is not True:
        yield "stream_options is there, but the answer is not streamed"
    for key in ("max_tokens", "max_completion_tokens"):
        if key in body and (type(body[key]) is not int or body[key] < 1):
            yield f"{key} is not a whole number of at least 1"
    if "seed" in body and type(body["seed"]) is not int:
        yield "seed is not a whole number"
    heat = body.get("temperature", 1)
    if type(heat) not in (int, float) or not 0 <= heat <= 2:
        yield "temperature is not a number from 0 to 2"


def _array(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON value")


RULES: Mapping[str, Rule] = {
    "known_keys": _known_keys,
    "system_first": _system_first,
    "last_message": _last_message,
    "not_empty": _not_empty,
    "results": _results,
    "ids_unique": _ids_unique,
    "ids_short": _ids_short,
    "call_names": _call_names,
    "call_arguments": _call_arguments,
    "tools": _tools,
    "tool_choice": _tool_choice,
    "response_format": _response_format,
    "settings": _settings,
}
