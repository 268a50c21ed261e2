"""Google's Gemini API behind the library."""

from __future__ import annotations

import base64
import binascii
import json
import logging
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import get_ident
from typing import Any

from vancetope.backends.base import Request
from vancetope.backends.direct.carried import Piece
from vancetope.backends.direct.dialect import Event, Failure, NoReply, Notes, record, text
from vancetope.backends.direct.extras import Kind, Layer, thinking_facts
from vancetope.backends.direct.seat import PLACE, client
from vancetope.backends.direct.spent import counted, estimated
from vancetope.backends.openai.profiles import Profile
from vancetope.errors import ConfigError
from vancetope.messages import Call, Finish, Usage
from vancetope.models.base import Thinking

UNNAMED = "_unnamed_"
"""Stands for a name that a model left out: the library takes no call without one."""

ROOM = 1024  # tokens that a budget for thinking leaves for the answer
LEAST = 128  # the smallest budget that every model takes which thinks

_FINISH = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "CONTINUATION": Finish.LENGTH,
    "SAFETY": Finish.CONTENT_FILTER,
    "RECITATION": Finish.CONTENT_FILTER,
    "LANGUAGE": Finish.CONTENT_FILTER,
    "BLOCKLIST": Finish.CONTENT_FILTER,
    "PROHIBITED_CONTENT": Finish.CONTENT_FILTER,
    "SPII": Finish.CONTENT_FILTER,
    "IMAGE_SAFETY": Finish.CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": Finish.CONTENT_FILTER,
    "IMAGE_RECITATION": Finish.CONTENT_FILTER,
    "MALFORMED_FUNCTION_CALL": Finish.MALFORMED_CALL,
    "UNEXPECTED_TOOL_CALL": Finish.MALFORMED_CALL,
    "TOO_MANY_TOOL_CALLS": Finish.MALFORMED_CALL,
}

PROFILE = Profile(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com",
    key_variable="GEMINI_API_KEY",
    needs_key=True,
    home="googleapis.com",
)


@dataclass(frozen=True, slots=True)
class Gemini:
    """See `Dialect`. Gemini keeps a cache of its own and takes no marks."""

    kind: Kind = "gemini"
    system: str = "google"
    conversation: str = "contents"
    model_role: str = "model"
    versions: str = "/v1(?:beta)?"
    profile: Profile = PROFILE
    ours: frozenset[str] = frozenset()

    def load(self) -> Layer:
        from google.genai.client import Client
        from google.genai.types import HttpOptions
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        with _unsaid():
            provider = GoogleProvider(client=Client(vertexai=False, api_key="none", http_options=_options(HttpOptions)))
        return Layer(provider, partial(_made, GoogleModel), {})

    def headers(self, key: str, made: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        return [(b"x-goog-api-key", key.encode())] if key else []

    def settings(self, request: Request, model: Any) -> dict[str, Any]:
        asked = request.settings
        given = {"temperature": asked.temperature, "max_tokens": asked.max_tokens, "seed": asked.seed}
        return {name: value for name, value in given.items() if value is not None}

    def patched(self, body: dict[str, Any], messages: list[bytes], request: Request, model: Any) -> dict[str, Any]:
        if request.choice != "auto" and request.tools:
            config = {"mode": "ANY", "allowedFunctionNames": [request.choice]}
            body["toolConfig"] = {**record(body.get("toolConfig")), "functionCallingConfig": config}
        if request.response_schema is not None:
            # Told of the schema, the vendor's client would read the answer by it and warn of what it finds.
            shape = {"responseMimeType": "application/json", "responseJsonSchema": request.response_schema}
            body["generationConfig"] = {**record(body.get("generationConfig")), **shape}
        # The vendor's client leaves some names in its own spelling, which not everybody who speaks for the API knows.
        for tool in body.get("tools", ()):
            tool["functionDeclarations"] = [_spelt(each) for each in tool.get("functionDeclarations", ())]
        if thinking := record(body.get("generationConfig")).get("thinkingConfig"):
            body["generationConfig"]["thinkingConfig"] = _fitting(_spelt(thinking), request.settings.max_tokens)
        return body

    def messages(self, made: Sequence[Any]) -> Sequence[Any]:
        for part in (part for message in made for part in message["parts"]):
            for name in ("fileData", "inlineData"):
                if name in part:
                    part[name] = _spelt(part[name])
        return made

    def fitted(self, messages: list[bytes], body: Mapping[str, Any], request: Request, model: Any) -> list[bytes]:
        return messages

    def limit(self, body: Mapping[str, Any]) -> int | None:
        limit = record(body.get("generationConfig")).get("maxOutputTokens")
        return limit if isinstance(limit, int) else None

    def answer(self, data: Any, notes: Notes) -> Mapping[str, Any]:
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        if not isinstance(data, dict):
            raise NoReply("it is no object")
        if "error" in data and "candidates" not in data:
            raise Failure(data["error"])
        if not data.keys() & {"candidates", "promptFeedback", "usageMetadata"}:
            raise NoReply("it holds no candidates")
        chunk = _chunk(data, notes)
        notes.complete = notes.done = True
        return chunk

    def events(self, data: Any, notes: Notes) -> Sequence[Event]:
        return (("", self.answer(data, notes)),)

    def event(self, name: str, data: Any, notes: Notes) -> Sequence[Event]:
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        fields = record(data)
        if name == "error" or "error" in fields:
            raise Failure(fields.get("error", data))
        chunk = _chunk(fields, notes)
        notes.complete = bool(notes.finish or notes.blocked)
        return (("", chunk),)

    def told(self, pieces: Sequence[Piece], calls: Sequence[Call], notes: Notes) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        for each in pieces:
            if each.what == "call":
                call = calls[each.number]
                parts.append({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}})
            else:
                parts.append({"text": each.text, "thought": True} if each.what == "thinking" else {"text": each.text})
            if each.signature:
                parts[-1]["thoughtSignature"] = each.signature
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": notes.finish or None}
        return {"candidates": [candidate], "modelVersion": notes.model, "usageMetadata": notes.usage}

    def finish(self, notes: Notes, calls: bool) -> tuple[Finish, bool | None]:
        if notes.blocked:
            return Finish.CONTENT_FILTER, None
        found = _FINISH.get(notes.finish, Finish.UNKNOWN)
        return Finish.TOOL_CALLS if calls and found is Finish.STOP else found, None

    def usage(self, counts: Mapping[str, Any], asked: int, written: int) -> Usage:
        thought = counted(counts, "thoughtsTokenCount")
        return estimated(
            Usage(
                input_tokens=counted(counts, "promptTokenCount", "toolUsePromptTokenCount"),
                output_tokens=counted(counts, "candidatesTokenCount") + thought,
                cached_tokens=counted(counts, "cachedContentTokenCount"),
                thinking_tokens=thought,
            ),
            asked,
            written,
        )


def _made(make: Any, name: str, thinking: Thinking | None, provider: Any) -> Any:
    if any(each in name for each in "?#"):  # it stands in the path of the request
        raise ConfigError(f"{name!r} is no name of a model of gemini: no ? and no # can be in one")
    facts: dict[str, Any] = {
        "json_schema_transformer": None,
        "supports_tools": True,
        # It would ask for the mode that holds schemas strictly, which refuses those that the API does not know whole.
        "google_supports_strict_tool_definition": False,
    }
    facts |= thinking_facts(thinking)
    model = make(name, provider=provider, profile=facts)
    assert model.profile  # read now, in the thread: the library looks it up in tables
    return model


def _options(make: Any) -> Any:
    """The vendor's options, with all that it would otherwise make by the machine's certificates and proxies."""
    from httpx2 import Client

    none = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return make(
        base_url=PLACE,
        httpx_client=Client(verify=none, trust_env=False),
        httpx_async_client=client(),
        client_args={"verify": none},
        async_client_args={"verify": none, "ssl": none},
    )


@contextmanager
def _unsaid() -> Iterator[None]:
    """Within, the vendor's client says nothing in this thread: it warns of which key of the environment it takes, and
    takes none."""
    here, log = get_ident(), logging.getLogger("google_genai._api_client")

    def is_anothers(record: logging.LogRecord) -> bool:
        return record.thread != here

    log.addFilter(is_anothers)
    try:
        yield
    finally:
        log.removeFilter(is_anothers)


def _spelt(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the names of its own members as the API spells them."""
    return {re.sub(r"_([a-z])", lambda found: found[1].upper(), name): value for name, value in fields.items()}


def _fitting(thinking: dict[str, Any], limit: int | None) -> dict[str, Any]:
    """Thinking whose budget leaves room for the answer: the limit bounds both."""
    budget = thinking.get("thinkingBudget")
    if limit is None or not isinstance(budget, int):
        return thinking
    return {**thinking, "thinkingBudget": min(budget, max(limit - ROOM, LEAST))}


def _chunk(data: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """An answer, or a piece of one, without what the library would stumble over: it checks every member."""
    notes.model = text(data.get("modelVersion")) or notes.model
    notes.blocked = text(record(data.get("promptFeedback")).get("blockReason")) or notes.blocked
    notes.count(data.get("usageMetadata"))
    candidates = data.get("candidates")
    first = record(candidates[0]) if isinstance(candidates, list) and candidates else {}
    notes.finish = text(first.get("finishReason")) or notes.finish
    parts = record(first.get("content")).get("parts")
    found = [made for each in parts if (made := _part(each, notes))] if isinstance(parts, list) else []
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": found}}
    if first.get("finishReason"):
        # Left to itself the vendor's client would ask for the rest, unbounded and unseen.
        known = notes.finish in _FINISH and notes.finish != "CONTINUATION"
        candidate["finishReason"] = notes.finish if known else "OTHER"
    return {"candidates": [candidate], "modelVersion": notes.model or None}


def _part(part: object, notes: Notes) -> dict[str, Any]:
    fields = record(part)
    made: dict[str, Any] = {}
    if isinstance(call := fields.get("functionCall"), dict):
        made["functionCall"] = _call(call, notes)
    elif isinstance(said := fields.get("text"), str):
        notes.characters += len(said)
        made = {"text": said, "thought": True} if fields.get("thought") is True else {"text": said}
    signature = _signature(fields.get("thoughtSignature"))
    if signature and not made:
        made["text"] = ""
    if signature:
        made["thoughtSignature"] = signature
    return made


def _call(call: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    given = call.get("args")
    if call.get("willContinue") or call.get("partialArgs"):
        # In pieces, which come only where a caller asked for them: no whole arguments, not to be run.
        notes.odd[notes.calls] = json.dumps(call.get("partialArgs"), ensure_ascii=False)
    elif not isinstance(given, dict | None):
        notes.odd[notes.calls] = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    else:
        notes.parsed.add(notes.calls)
    notes.calls += 1
    made: dict[str, Any] = {"name": text(call.get("name")) or UNNAMED, "args": record(given)}
    if named := text(call.get("id")):
        made["id"] = named
    return made


def _signature(value: object) -> str:
    """A signature as the library takes it, empty if it is none."""
    try:
        found = base64.b64decode(value.replace("-", "+").replace("_", "/")) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return ""
    return base64.b64encode(found).decode()
