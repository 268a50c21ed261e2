"""Our request as OpenAI's chat completions want it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from vancetope.backends.base import Request
from vancetope.backends.openai.carried import carried_back
from vancetope.backends.openai.efforts import effort_of
from vancetope.backends.openai.profiles import Profile
from vancetope.errors import ConfigError
from vancetope.messages import Call, File, Image, Part, Result, ToolSpec, User
from vancetope.schema.strict import NotJson, parse

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MARKER = re.compile(r"<\|(?=[^|<>\n]{1,40}\|>)")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


def body_of(request: Request, profile: Profile, *, stream: bool) -> dict[str, Any]:
    """The JSON body. `settings.extra` is merged last, so it can change anything but whether the reply streams.

    Raises `ConfigError` for a model that cannot think as it is told to beside tools.
    """
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    messages += _messages(request, profile)
    body: dict[str, Any] = {"model": request.model, "messages": messages}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        named = {"type": "function", "function": {"name": request.choice}}
        body["tool_choice"] = "auto" if request.choice == "auto" else named
    if request.response_schema is not None:
        shape = {"name": "reply", "schema": request.response_schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    settings = request.settings
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        body[profile.max_tokens_field] = settings.max_tokens
    if settings.seed is not None:
        body["seed"] = settings.seed
    body.update(effort_of(profile.efforts, request.model, settings.thinking, tools=bool(request.tools)))
    if stream and profile.stream_usage:
        body["stream_options"] = {"include_usage": True}
    body.update(settings.extra)
    body["stream"] = stream
    return body


def encoded(body: Mapping[str, Any]) -> tuple[bytes, int]:
    """The body as bytes, and its length in characters. Raises `ConfigError` for what JSON cannot hold."""
    try:
        text = _encoder.encode(body)
    except RecursionError:
        raise ConfigError("the request cannot be written as JSON: it nests too deep") from None
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the request cannot be written as JSON: {error}") from None
    try:
        return text.encode(), len(text)
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8.
        return text.encode("utf-8", "replace"), len(text)


def limit_of(body: Mapping[str, Any]) -> int | None:
    """The output limit that the body carries, in tokens."""
    for field in ("max_completion_tokens", "max_tokens"):
        if isinstance(limit := body.get(field), int):
            return limit
    return None


def _messages(request: Request, profile: Profile) -> list[dict[str, Any]]:
    said = _unmarked if profile.reads_markers else str
    written: list[dict[str, Any]] = []
    for message in request.messages:
        if isinstance(message, User):
            content = message.content
            parts = said(content) if isinstance(content, str) else [_part(part, said) for part in content]
            written.append({"role": "user", "content": parts})
        elif isinstance(message, Result):
            written.append({"role": "tool", "tool_call_id": message.call_id, "content": said(message.text)})
        else:
            reply: dict[str, Any] = {"role": "assistant", "content": said(message.text)}
            if message.calls:
                reply["content"] = reply["content"] or None
                reply["tool_calls"] = [_call(call, profile.raw_arguments) for call in message.calls]
            if message.carried:
                reply.update(carried_back(message.carried, profile, request.model, said))
            written.append(reply)
    return written


def _unmarked(text: str) -> str:
    """The text with the marks of chat templates broken by a character that nobody sees: a server that reads them
    everywhere would let a tool's result speak as the system."""
    return _MARKER.sub("<\u200b|", text) if "<|" in text else text


def _part(part: Part, said: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": part.url}}
    if isinstance(part, File):
        data = f"data:{part.media_type};base64,{part.data}"
        return {"type": "file", "file": {"filename": part.name, "file_data": data}}
    return {"type": "text", "text": said(part.text)}


def _call(call: Call, raw: bool) -> dict[str, Any]:
    name = call.name
    if not _NAME.fullmatch(name):
        # A name that a model made up is refused by every server when it comes back in the history.
        name = _NOT_IN_NAME.sub("_", name)[:64] or "unnamed"
    arguments = call.arguments if raw or _is_object(call.arguments) else _encoder.encode({"unreadable": call.arguments})
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


@lru_cache(maxsize=1024)
def _is_object(text: str) -> bool:
    try:
        return isinstance(parse(text), dict)
    except NotJson:
        return False


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
