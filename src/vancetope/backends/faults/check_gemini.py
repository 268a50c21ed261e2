"""What Gemini's API refuses in a request: each rule is a generator of sentences."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from vancetope.backends.faults.asked import objects
from vancetope.backends.faults.gemini import always_signs, camel, declarations

Body: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Body], Iterator[str]]

KEYS = frozenset(
    [
        "model",
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "safetySettings",
        "cachedContent",
        "serviceTier",
        "store",
        "labels",
    ]
)
CONFIG_KEYS = frozenset(
    [
        "temperature",
        "topP",
        "topK",
        "candidateCount",
        "maxOutputTokens",
        "stopSequences",
        "seed",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "thinkingConfig",
        "presencePenalty",
        "frequencyPenalty",
        "responseLogprobs",
        "logprobs",
        "responseModalities",
        "mediaResolution",
        "speechConfig",
        "imageConfig",
        "enableEnhancedCivicAnswers",
        "routingConfig",
    ]
)
# What Gemini's own schemas can say, which are a part of OpenAPI 3.0; everything else is JSON Schema.
SCHEMA_KEYS = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
        "items",
        "minimum",
        "maximum",
    ]
)
VALUES = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult")
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
ALL_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
# Models that do not take every level, by the beginning of their names.
LEVELS = {
    "gemini-3-pro": ("LOW", "HIGH"),
    "gemini-3.1-pro": ALL_LEVELS[1:],
    "gemini-3.7-flash": ALL_LEVELS[1:],
    "gemini-3.8-flash": ALL_LEVELS[1:],
    "gemini-4": ALL_LEVELS[1:],
}
MODES = ("AUTO", "ANY", "NONE", "VALIDATED")
SEED = 2**31
# Documented stand-ins for the signature of a call that another model has made.
STAND_INS = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
DIGEST = 32  # bytes of a signature of this server's


def shape(body: Body) -> Iterator[str]:
    """What is wrong with the shape, so that no other rule can read the request."""
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield "contents is not a non-empty array"
        return
    for at, content in enumerate(contents):
        parts = content.get("parts") if isinstance(content, dict) else None
        if not isinstance(parts, list) or len(objects(parts)) < len(parts):
            yield f"contents[{at}].parts is not an array of objects"
        elif content.get("role") not in ("user", "model"):
            yield f"contents[{at}]: please use a valid role: user, model"
        else:
            yield from (f"contents[{at}]: {sentence}" for sentence in _values(parts))
    tools = body.get("tools", [])
    if not isinstance(tools, list) or len(objects(tools)) < len(tools):
        yield "tools is not an array of objects"
    for key in ("systemInstruction", "toolConfig", "generationConfig"):
        if not isinstance(body.get(key, {}), dict):
            yield f"{key} is not an object"


def _values(parts: list[Mapping[str, Any]]) -> Iterator[str]:
    for part in parts:
        if "text" in part and not isinstance(part["text"], str):
            yield "the text of a part is not a string"
        for key in ("functionCall", "functionResponse"):
            value = part.get(key, {"name": ""})
            if not isinstance(value, dict) or not isinstance(value.get("name"), str):
                yield f"a {key} has no name"


def _known_keys(body: Body) -> Iterator[str]:
    for key in sorted(body.keys() - KEYS):
        yield f"invalid JSON payload: unknown name {key!r}"
    for key in sorted(body.get("generationConfig", {}).keys() - CONFIG_KEYS):
        yield f"invalid JSON payload: unknown name {key!r} in generationConfig"


def _parts(body: Body) -> Iterator[str]:
    for at, content in enumerate(body["contents"]):
        if not content["parts"]:
            yield f"contents[{at}].parts must not be empty"
        for part in content["parts"]:
            values = [key for key in VALUES if key in part]
            if not values and "thoughtSignature" not in part:
                yield f"contents[{at}]: a part must have one initialized field"
            elif len(values) > 1:
                yield f"contents[{at}]: a part has more than one of {', '.join(values)}"
            elif part.get("text") == "" and not ("thoughtSignature" in part or len(content["parts"]) > 1):
                yield f"contents[{at}]: the text parameter must not be empty"
    system = body.get("systemInstruction")
    if system is not None and not any(part.get("text") for part in objects(system.get("parts"))):
        yield "systemInstruction holds no text"


def _first_user(body: Body) -> Iterator[str]:
    if body["contents"][0]["role"] != "user":
        yield "contents must begin with a user turn"


def _last_user(body: Body) -> Iterator[str]:
    if body["contents"][-1]["role"] != "user":
        yield "a request must end with a user turn or a function response"


def _named(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [part[key] for part in content["parts"] if key in part]


def _call_place(body: Body) -> Iterator[str]:
    before: Mapping[str, Any] | None = None
    for at, content in enumerate(body["contents"]):
        if _named(content, "functionCall"):
            if content["role"] != "model":
                yield f"contents[{at}]: a function call does not come from the model"
            elif before is None or before["role"] != "user":
                yield f"contents[{at}]: a function call must come right after a user turn or a function response"
        before = content


def _sorted(given: list[Mapping[str, Any]], key: str) -> list[str]:
    return sorted(str(each[key]) for each in given)


def _responses(body: Body) -> Iterator[str]:
    """Responses fill one content, right behind the calls, as many as they are, with the same names and ids."""
    owed: list[Mapping[str, Any]] = []
    for at, content in enumerate(body["contents"]):
        given = _named(content, "functionResponse")
        if given and content["role"] != "user":
            yield f"contents[{at}]: a function response comes from the model"
        if len(given) != len(owed):
            yield f"contents[{at}]: {len(given)} function responses for {len(owed)} function calls right before"
        elif _sorted(given, "name") != _sorted(owed, "name"):
            yield f"contents[{at}]: the names of function responses and function calls differ"
        elif all("id" in each for each in (*given, *owed)) and _sorted(given, "id") != _sorted(owed, "id"):
            yield f"contents[{at}]: the ids of function responses and function calls differ"
        for each in given:
            if not isinstance(each.get("response"), dict):
                yield f"contents[{at}]: the response of {each['name']!r} is not an object"
        owed = _named(content, "functionCall")
    if owed:
        yield f"contents end before the {len(owed)} function responses that are owed"


def _calls(body: Body) -> Iterator[str]:
    for at, content in enumerate(body["contents"]):
        for each in (*_named(content, "functionCall"), *_named(content, "functionResponse")):
            if not NAME.fullmatch(each["name"]):
                yield f"contents[{at}]: {each['name']!r} cannot be a function's name"
        for each in _named(content, "functionCall"):
            if not isinstance(each.get("args", {}), dict):
                yield f"contents[{at}]: the args of {each['name']!r} are not an object"


def _tools(body: Body) -> Iterator[str]:
    names: set[str] = set()
    for each in declarations(body):
        name = each.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            yield f"function_declarations: {name!r} cannot be a function's name"
        elif name in names:
            yield f"function_declarations: there are two functions named {name!r}"
        else:
            names.add(name)
        if "parameters" in each and "parametersJsonSchema" in each:
            yield f"{name!r}: parameters and parametersJsonSchema exclude each other"
        yield from (f"{name!r}: {sentence}" for sentence in _schema(each.get("parameters")))
        schema = each.get("parametersJsonSchema", {"type": "object"})
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"{name!r}: its parametersJsonSchema is not of type object"


def _schema(schema: object) -> Iterator[str]:
    """What Gemini's own schemas do not know."""
    if not isinstance(schema, dict):
        return
    yield from (
        f"unknown name {key!r} in a schema" for key in sorted(camel(dict.fromkeys(schema, 0)).keys() - SCHEMA_KEYS)
    )
    properties = schema.get("properties")
    inner = list(properties.values()) if isinstance(properties, dict) else []
    for each in (*inner, schema.get("items"), *objects(schema.get("anyOf"))):
        yield from _schema(each)


def _tool_config(body: Body) -> Iterator[str]:
    calling = body.get("toolConfig", {}).get("functionCallingConfig")
    if calling is None:
        return
    mode, allowed = str(calling.get("mode", "AUTO")).upper(), calling.get("allowedFunctionNames")
    names = [each.get("name") for each in declarations(body)]
    if mode not in MODES:
        yield f"the function calling mode {mode!r} is none of {', '.join(MODES)}"
    elif mode == "ANY" and not names:
        yield "the function calling mode ANY needs function declarations"
    if allowed and mode not in ("ANY", "VALIDATED"):
        yield "allowedFunctionNames may only be set with the mode ANY or VALIDATED"
    for each in allowed or ():
        if each not in names:
            yield f"allowedFunctionNames names {each!r}, which is not declared"


def _output(body: Body) -> Iterator[str]:
    config = body.get("generationConfig", {})
    kinds = [key for key in ("responseSchema", "responseJsonSchema") if key in config]
    kind = config.get("responseMimeType", "text/plain")
    if len(kinds) > 1:
        yield "responseSchema and responseJsonSchema exclude each other"
    if kinds and kind != "application/json":
        yield "a response schema needs the response mime type application/json"
    if kind not in ("text/plain", "application/json", "text/x.enum"):
        yield f"the response mime type {kind!r} is not supported"
    if kind == "application/json" and declarations(body) and not always_signs(str(body.get("model", ""))):
        yield "function calling with the response mime type application/json is unsupported"
    yield from _schema(config.get("responseSchema"))


def _settings(body: Body) -> Iterator[str]:
    config = body.get("generationConfig", {})
    limit, heat, seed = config.get("maxOutputTokens", 1), config.get("temperature", 1), config.get("seed", 0)
    if type(limit) is not int or limit < 1:
        yield "maxOutputTokens is not a whole number of at least 1"
    if type(heat) not in (int, float) or not 0 <= heat <= 2:
        yield "temperature is not a number from 0 to 2"
    if type(seed) is not int or not -SEED <= seed < SEED:
        yield "seed is not a whole number of 32 bits"


def _thinking(body: Body) -> Iterator[str]:
    thinking, model = body.get("generationConfig", {}).get("thinkingConfig", {}), str(body.get("model", ""))
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None and budget is not None:
        yield "thinkingBudget and thinkingLevel exclude each other"
    elif level is not None and model.startswith("gemini-2"):
        yield "thinking level is not supported for this model"
    elif level is not None and str(level).upper() not in next(
        (levels for begin, levels in LEVELS.items() if model.startswith(begin)), ALL_LEVELS
    ):
        yield f"thinking level {str(level).upper()} is not supported for this model"
    elif budget == 0 and model.startswith("gemini-2.5-pro"):
        yield "budget 0 is invalid: this model only works in thinking mode"


def _signatures(body: Body) -> Iterator[str]:
    """Models that always sign want the signature of the first call of every step of this turn; any signature that comes
    back must be one that was given, or a documented stand-in."""
    contents = body["contents"]
    users = [at for at, each in enumerate(contents) if each["role"] == "user" and not _named(each, "functionResponse")]
    for at, content in enumerate(contents):
        for part in content["parts"]:
            if "thoughtSignature" in part and not _is_signature(part["thoughtSignature"]):
                yield f"contents[{at}]: corrupted thought signature"
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        if first is None or at < max(users, default=-1) or not always_signs(str(body.get("model", ""))):
            continue
        if "thoughtSignature" not in first:
            yield f"contents[{at}]: the function call {first['functionCall']['name']!r} lacks a thought_signature"


def _is_signature(value: object) -> bool:
    if not isinstance(value, str):
        return False
    if value.encode() in STAND_INS:
        return True
    try:
        data = base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except (ValueError, binascii.Error):
        return False
    return len(data) == DIGEST or data in STAND_INS


RULES: Mapping[str, Rule] = {
    "known_keys": _known_keys,
    "parts": _parts,
    "first_user": _first_user,
    "last_message": _last_user,
    "call_place": _call_place,
    "responses": _responses,
    "calls": _calls,
    "tools": _tools,
    "tool_config": _tool_config,
    "output": _output,
    "settings": _settings,
    "thinking": _thinking,
    "signatures": _signatures,
}
