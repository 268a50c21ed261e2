"""Gemini's generateContent: a request read as a chat, a reply as a response or as the chunks of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vancetope.backends.base import CallPiece, TextPiece, ThinkingPiece
from vancetope.backends.faults.asked import Asked, DialectName, dumped, objects, parsed, signature
from vancetope.backends.faults.wire import Told, Wire, event, provider_id, usage_of
from vancetope.backends.scripted import pieces_of
from vancetope.messages import Finish, Reply

NAME: Final[DialectName] = "gemini"
WHOLE, STREAMED = ":generateContent", ":streamGenerateContent"
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
OPAQUE = frozenset(
    [
        "args",
        "response",
        "parameters",
        "parametersJsonSchema",
        "responseSchema",
        "responseJsonSchema",
        "labels",
        "partMetadata",
    ]
)
FINISHES = {
    Finish.STOP: "STOP",
    Finish.TOOL_CALLS: "STOP",
    Finish.LENGTH: "MAX_TOKENS",
    Finish.CONTENT_FILTER: "SAFETY",
    Finish.REFUSAL: "PROHIBITED_CONTENT",
    Finish.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
}


def reads(path: str) -> bool:
    """Whether a request to this path is in this dialect."""
    return path.endswith((WHOLE, STREAMED))


def always_signs(model: str) -> bool:
    """Whether this model signs every call, and wants the signatures back: those from Gemini 3 on do."""
    version = re.match(r"gemini-(\d+)", model)
    return version is not None and int(version[1]) >= 3


# Requests.


def camel(value: Any) -> Any:
    """The same with the names of its fields as the reference writes them: both spellings are taken, and Google's own
    client mixes them. What users name (arguments, results, schemas) stays as it is."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, each in value.items():
        first, *more = str(key).split("_")
        name = first + "".join(word.capitalize() for word in more)
        made[name] = each if name in OPAQUE else camel(each)
    return made


def form(body: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The request in OpenAI's chat format."""
    body = camel(body)
    system = _text(body.get("systemInstruction"))
    messages = [{"role": "system", "content": system}] if system else []
    owed: list[str] = []
    for at, content in enumerate(objects(body.get("contents"))):
        messages += _messages(content, at, owed)
    name = path.rpartition("/models/")[2].rpartition(":")[0]
    made: dict[str, Any] = {"model": name, "messages": messages, "stream": path.endswith(STREAMED)}
    tools = [
        {"name": each.get("name"), "description": each.get("description"), "parameters": parameters(each)}
        for each in declarations(body)
    ]
    if tools:
        made["tools"] = [{"type": "function", "function": each} for each in tools]
    calling = _inside(body, "toolConfig", "functionCallingConfig")
    if mode := calling.get("mode"):
        allowed = calling.get("allowedFunctionNames")
        one = isinstance(allowed, list) and len(allowed) == 1
        forced = {"type": "function", "function": {"name": allowed[0]}} if one and allowed else "required"
        made["tool_choice"] = {"ANY": forced, "NONE": "none"}.get(str(mode).upper(), "auto")
    if (schema := response_schema(body)) is not None:
        made["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    thinking = _inside(body, "generationConfig", "thinkingConfig")
    if thinking.get("thinkingBudget") or str(thinking.get("thinkingLevel", "minimal")).lower() != "minimal":
        made["reasoning_effort"] = "medium"
    return made


def declarations(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The declared functions of all tools."""
    return [each for tool in objects(body.get("tools")) for each in objects(tool.get("functionDeclarations"))]


def parameters(declaration: Mapping[str, Any]) -> Any:
    """The JSON Schema of a function's arguments."""
    if "parametersJsonSchema" in declaration:
        return declaration["parametersJsonSchema"]
    return _json_schema(declaration.get("parameters")) or {"type": "object", "properties": {}}


def response_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON Schema that the text must fit, where one is asked for."""
    config = _inside(body, "generationConfig")
    schema = config.get("responseJsonSchema") or _json_schema(config.get("responseSchema"))
    return schema if isinstance(schema, dict) else None


def _json_schema(schema: Any) -> Any:
    """Gemini's own schemas name types in capitals."""
    if isinstance(schema, list):
        return [_json_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _json_schema(value) for key, value in schema.items()}
    return {**made, "type": made["type"].lower()} if isinstance(made.get("type"), str) else made


def _inside(body: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The object under these keys, or an empty one."""
    value: Any = body
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _text(content: object) -> str:
    parts = objects(content.get("parts")) if isinstance(content, dict) else []
    return "".join(str(each.get("text", "")) for each in parts if not each.get("thought"))


def _messages(content: Mapping[str, Any], at: int, owed: list[str]) -> Iterator[dict[str, Any]]:
    """The one or more chat messages that a content is. `owed` are the ids of the calls before it that have no result;
    calls without an id get one, and results without an id answer them in order."""
    parts = objects(content.get("parts"))
    if content.get("role") == "model":
        owed.clear()
        yield _assistant(content, parts, at, owed)
        return
    said: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(response := part.get("functionResponse"), dict):
            id = str(response.get("id") or (owed[0] if owed else ""))
            if id in owed:
                owed.remove(id)
            yield {"role": "tool", "tool_call_id": id, "content": _result(response.get("response"))}
        elif "text" in part:
            said.append({"type": "text", "text": str(part["text"])})
        else:
            said.append({"type": "file", "file": part})
    role = str(content.get("role") or "user")
    if len(said) == 1 and said[0]["type"] == "text":
        yield {"role": role, "content": said[0]["text"]}
    elif said:
        yield {"role": role, "content": said}


def _assistant(content: Mapping[str, Any], parts: list[Mapping[str, Any]], at: int, owed: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": _text(content) or None}
    if thought := "".join(str(each.get("text", "")) for each in parts if each.get("thought")):
        made["reasoning_content"] = thought
    calls = []
    for index, part in enumerate(parts):
        if isinstance(called := part.get("functionCall"), dict):
            id = str(called.get("id") or f"call_{at}_{index}")
            owed.append(id)
            function = {"name": called.get("name"), "arguments": dumped(called.get("args") or {})}
            calls.append({"id": id, "type": "function", "function": function})
    return {**made, "tool_calls": calls} if calls else made


def _result(response: object) -> str:
    """The text of a result: clients wrap it in an object of one key."""
    if isinstance(response, dict) and len(response) == 1 and isinstance(only := next(iter(response.values())), str):
        return only
    return dumped(response)


# Answers.


def whole(reply: Reply, asked: Asked, wire: Wire) -> dict[str, Any]:
    """The reply as one response."""
    if blocked(reply):
        return _blocked(reply, asked, wire)
    parts: list[dict[str, Any]] = []
    if reply.thinking:
        parts.append({"text": reply.thinking, "thought": True})
    if reply.text:
        parts.append({"text": reply.text, **_signed(reply, asked, not reply.calls)})
    parts += _calls(reply, asked)
    if not parts and wire.empty_block:
        parts.append({"text": ""})
    return {**_candidate(parts, reply), **_usage(reply, asked, wire), **_frame(asked)}


def stream(reply: Reply, asked: Asked, wire: Wire) -> Iterator[Told]:
    """The reply as the chunks of a stream: texts in pieces, each call whole, and the finish in a chunk of its own."""
    if blocked(reply):
        yield Told(_blocked(reply, asked, wire))
        return
    unfinished = _usage(reply, asked, wire, done=False)
    frame = _frame(asked)
    calls: dict[int, int] = {}
    for piece in pieces_of(reply, wire.chunking):
        match piece:
            case ThinkingPiece(text=text):
                part = {"text": text, "thought": True}
            case TextPiece(text=text):
                part = {"text": text}
            case CallPiece(index=index):
                calls[index] = calls.get(index, 0) + 1
                continue
            case _:
                continue
        yield Told({**_candidate([part]), **unfinished, **frame}, 1)
    for pieces, part in zip(calls.values(), _calls(reply, asked), strict=False):
        yield Told({**_candidate([part]), **unfinished, **frame}, pieces)
    last = [{"text": "", **_signed(reply, asked, not reply.calls)}] if calls or reply.text or wire.empty_block else []
    yield Told({**_candidate(last, reply), **_usage(reply, asked, wire), **frame})


def blocked(reply: Reply) -> bool:
    """Whether the prompt itself is refused: then there is no candidate."""
    return reply.finish is Finish.REFUSAL and not (reply.text or reply.calls or reply.thinking)


def _blocked(reply: Reply, asked: Asked, wire: Wire) -> dict[str, Any]:
    feedback = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    return {**feedback, **_usage(reply, asked, wire), **_frame(asked)}


def _candidate(parts: list[dict[str, Any]], reply: Reply | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"content": {"role": "model"}, "index": 0}
    if parts:
        made["content"]["parts"] = parts
    if reply is not None and (reason := FINISHES.get(reply.finish)):
        made["finishReason"] = reason
    return {"candidates": [made]}


def _calls(reply: Reply, asked: Asked) -> list[dict[str, Any]]:
    """Every call as a part; a call that the limit cut is left out, and only the first one of a reply is signed."""
    parts: list[dict[str, Any]] = []
    for index, each in enumerate(reply.calls):
        value = parsed(each.arguments)
        if isinstance(value, str) and reply.finish is Finish.LENGTH:
            continue
        called = {"id": provider_id(each.id, asked, index), "name": each.name, "args": value}
        parts.append({"functionCall": called, **_signed(reply, asked, not parts)})
    return parts


def _signed(reply: Reply, asked: Asked, here: bool) -> dict[str, str]:
    if not here or not (reply.thinking or (reply.calls and always_signs(asked.model))):
        return {}
    return {"thoughtSignature": signature(reply.thinking)}


def _frame(asked: Asked) -> dict[str, Any]:
    return {"modelVersion": asked.model, "responseId": f"response-{asked.number}"}


def _usage(reply: Reply, asked: Asked, wire: Wire, *, done: bool = True) -> dict[str, Any]:
    if not wire.usage:
        return {}
    usage = usage_of(reply, asked)
    made = {"promptTokenCount": usage.input_tokens, "totalTokenCount": usage.input_tokens}
    if usage.cached_tokens:
        made["cachedContentTokenCount"] = usage.cached_tokens
    if done:
        made["candidatesTokenCount"] = usage.output_tokens - usage.thinking_tokens
        made["totalTokenCount"] += usage.output_tokens
        if usage.thinking_tokens:
            made["thoughtsTokenCount"] = usage.thinking_tokens
    return {"usageMetadata": made}


def framed(made: Mapping[str, Any], wire: Wire) -> bytes:
    """One object of a stream as its event."""
    return event(dumped(made), wire)


def end(_wire: Wire) -> bytes:
    """What ends a stream: nothing behind its last chunk."""
    return b""


def late(wire: Wire) -> bytes:
    """A chunk that comes behind the end: one without a candidate."""
    return framed({"responseId": "late"}, wire)


def error(code: int, message: str, retry_after: float | None = None) -> dict[str, Any]:
    """An error with the status that goes with this code; when to come back stands in its details."""
    made: dict[str, Any] = {"code": code, "message": message, "status": STATUSES.get(code, "UNKNOWN")}
    if retry_after is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        made["details"] = [{"@type": kind, "retryDelay": f"{retry_after:g}s"}]
    return {"error": made}


def models(names: tuple[str, ...]) -> dict[str, Any]:
    """The list of models."""
    methods = ["generateContent", "countTokens"]
    return {
        "models": [
            {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods} for name in names
        ]
    }
