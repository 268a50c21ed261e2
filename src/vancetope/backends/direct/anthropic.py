"""Anthropic's Messages API behind the library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from vancetope.backends.base import Request
from vancetope.backends.direct.carried import Piece
from vancetope.backends.direct.dialect import Event, Failure, NoReply, Notes, record, text
from vancetope.backends.direct.extras import Kind, Layer, thinking_facts
from vancetope.backends.direct.seat import PLACE, client
from vancetope.backends.direct.spent import counted, estimated
from vancetope.backends.direct.thoughts import DEFAULT_MAX_TOKENS, THINKING, binds, fit, may_think, unthinking, written
from vancetope.backends.openai.profiles import Profile
from vancetope.messages import Call, Finish, Usage
from vancetope.models.base import Thinking

CACHE = "cache_control"
BINDING = "thinking-binding-controls-2026-08-01"  # the beta that lets a request say so
MARK = {"type": "ephemeral"}
BLOCKS = frozenset({"text", *THINKING, "tool_use"})

_FINISH = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSAL,
    "pause_turn": Finish.STOP,
}
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}

PROFILE = Profile(
    name="anthropic",
    base_url="https://api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    needs_key=True,
    home="anthropic.com",
)


@dataclass(frozen=True, slots=True)
class Anthropic:
    """See `Dialect`.

    Prompt caching is on: marks stand behind the tools, the system prompt, the last message and the end of the request
    before. `extra={"cache_control": None}` switches it off, another value of it is used for all marks. The API takes no
    seed, and no temperature from a model that thinks: neither is sent then.
    """

    kind: Kind = "anthropic"
    system: str = "anthropic"
    conversation: str = "messages"
    model_role: str = "assistant"
    versions: str = "/v1"
    profile: Profile = PROFILE
    ours: frozenset[str] = frozenset({CACHE})

    def load(self) -> Layer:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return Layer(
            AnthropicProvider(api_key="none", base_url=PLACE, http_client=client()),
            partial(_made, AnthropicModel),
            {},
        )

    def headers(self, key: str, made: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        found = [(b"x-api-key", key.encode())] if key else []
        named = ("anthropic-version", "anthropic-beta")
        return found + [(name.encode(), made[name].encode()) for name in named if made.get(name)]

    def settings(self, request: Request, model: Any) -> dict[str, Any]:
        limit = {"max_tokens": request.settings.max_tokens or DEFAULT_MAX_TOKENS}
        return {**limit, "anthropic_betas": [BINDING]} if binds(request, model) else limit

    def patched(self, body: dict[str, Any], messages: list[bytes], request: Request, model: Any) -> dict[str, Any]:
        body["model"] = request.model
        forced = request.choice != "auto" and bool(request.tools)
        if forced:
            body["tool_choice"] = {"type": "tool", "name": request.choice}
        if (schema := request.response_schema) is not None:
            shape = {"format": {"type": "json_schema", "schema": schema}}
            body["output_config"] = {**record(body.get("output_config")), **shape}
        if binds(request, model):
            body["thinking"] = {"type": "adaptive", **record(body.get("thinking"))}
            if body["thinking"]["type"] != "disabled":
                body["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        fit(body, request.settings.max_tokens, forced, messages)
        temperature = request.settings.temperature
        thinks = record(body.get("thinking")).get("type") in ("enabled", "adaptive")
        if temperature is not None and not thinks and not model.profile.get("anthropic_disallows_sampling_settings"):
            body["temperature"] = temperature
        if mark := _mark(request):
            if isinstance(system := body.get("system"), str) and system:
                body["system"] = [{"type": "text", "text": system}]
            for each in ("system", "tools"):
                if isinstance(parts := body.get(each), list) and parts:
                    parts[-1][CACHE] = mark
        return body

    def messages(self, made: Sequence[Any]) -> Sequence[Any]:
        return made

    def fitted(self, messages: list[bytes], body: Mapping[str, Any], request: Request, model: Any) -> list[bytes]:
        if not may_think(body, model):
            messages = unthinking(messages)
        if not (mark := _mark(request)):
            return messages
        marked = list(messages)
        # The end of the request before carries a mark too: whatever came since, the server finds what it has kept.
        for position in (len(marked) - 1, len(marked) - 3):
            if position >= 0:
                marked[position] = _with_mark(marked[position], mark)
        return marked

    def limit(self, body: Mapping[str, Any]) -> int | None:
        return limit if isinstance(limit := body.get("max_tokens"), int) else None

    def answer(self, data: Any, notes: Notes) -> Mapping[str, Any]:
        if not isinstance(data, dict):
            raise NoReply("it is no object")
        if data.get("type") == "error" or ("error" in data and "content" not in data):
            raise Failure(data.get("error"))
        content = data.get("content")
        if "content" not in data and not data.get("stop_reason"):
            raise NoReply("it holds no content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        blocks = (
            [_block(each, notes, whole=True) for each in content if _readable(each)]
            if isinstance(content, list)
            else []
        )
        _note(data, notes)
        notes.complete = notes.done = True
        return _message(notes.model, blocks, notes.finish or None)

    def events(self, data: Any, notes: Notes) -> Sequence[Event]:
        whole = self.answer(data, notes)
        found: list[Event] = [_event("message_start", message=_message(notes.model, [], None))]
        for index, block in enumerate(whole["content"]):
            begun, deltas = _taken_apart(block)
            found.append(_event("content_block_start", index=index, content_block=begun))
            found += [_event("content_block_delta", index=index, delta=each) for each in deltas]
            found.append(_event("content_block_stop", index=index))
        return (*found, *_ended(notes))

    def event(self, name: str, data: Any, notes: Notes) -> Sequence[Event]:
        found = self._event(name, data, notes)
        if not found or notes.begun:
            return found
        notes.begun = True
        start = _event("message_start", message=_message(notes.model, [], None))
        return found if found[0][0] == "message_start" else (start, *found)

    def _event(self, name: str, data: Any, notes: Notes) -> Sequence[Event]:
        fields = record(data)
        match kind := text(fields.get("type")) or name:
            case "error":
                raise Failure(fields.get("error", data))
            case "message_start":
                message = record(fields.get("message"))
                # What is written by then is no count of the reply.
                counts = {k: value for k, value in record(message.get("usage")).items() if k != "output_tokens"}
                _note(message | {"usage": counts}, notes)
                return (_event(kind, message=_message(notes.model, [], None)),)
            case "content_block_start" if _readable(fields.get("content_block")):
                return _begun(fields, notes)
            case "content_block_delta":
                return _delta(fields, notes)
            case "content_block_stop":
                place = notes.places.pop(_index(fields), None)
                return () if place is None else _closed(place, notes)
            case "message_delta":
                _note(record(fields.get("delta")) | {"usage": fields.get("usage")}, notes)
                notes.complete = notes.complete or bool(notes.finish)
                return _all_closed(notes) if notes.complete else ()
            case "message_stop":
                notes.complete = notes.done = True
                return (*_all_closed(notes), *_ended(notes))
        return ()

    def told(self, pieces: Sequence[Piece], calls: Sequence[Call], notes: Notes) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = []
        for each in pieces:
            match each.what:
                case "text":
                    blocks.append({"type": "text", "text": each.text})
                case "thinking":
                    blocks.append({"type": "thinking", "thinking": each.text, "signature": each.signature})
                case "redacted":
                    blocks.append({"type": "redacted_thinking", "data": each.signature})
                case "call":
                    call = calls[each.number]
                    blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        return _message(notes.model, blocks, notes.finish or None) | {"usage": notes.usage}

    def finish(self, notes: Notes, calls: bool) -> tuple[Finish, bool | None]:
        ends = False if notes.finish in ("pause_turn", "compaction") else None
        return _FINISH.get(notes.finish, Finish.UNKNOWN), ends

    def usage(self, counts: Mapping[str, Any], asked: int, written: int) -> Usage:
        read = counted(counts, "cache_read_input_tokens")
        kept = counted(counts, "cache_creation_input_tokens")
        return estimated(
            Usage(
                input_tokens=counted(counts, "input_tokens") + read + kept,
                output_tokens=counted(counts, "output_tokens"),
                cached_tokens=read,
                cache_write_tokens=kept,
                thinking_tokens=counted(record(counts.get("output_tokens_details")), "thinking_tokens"),
            ),
            asked,
            written,
        )


def _made(make: Any, name: str, thinking: Thinking | None, provider: Any) -> Any:
    """The library's model. It is not told the name, only what it knows of it: the vendor's client below warns of names
    as their end draws near. The name is put into the request itself."""
    facts: dict[str, Any] = {
        "json_schema_transformer": None,
        "anthropic_max_output_tokens": None,
    }
    facts |= thinking_facts(thinking)
    known = provider.model_profile(name) or {}
    model = make("model", provider=provider, profile=lambda default: {**default, **known, **facts})
    assert model.profile  # read now, in the thread: the library looks it up in tables
    return model


def _mark(request: Request) -> Mapping[str, Any] | None:
    mark = request.settings.extra.get(CACHE, MARK)
    return mark if isinstance(mark, Mapping) else None


def _with_mark(messages: bytes, mark: Mapping[str, Any]) -> bytes:
    spoken = json.loads(b"[" + messages + b"]")
    content = spoken[-1]["content"]
    last = next((each for each in reversed(content) if "thinking" not in each["type"]), None)
    if last is None:
        return messages
    last[CACHE] = dict(mark)
    return written(spoken)


def _event(kind: str, **fields: Any) -> Event:
    return kind, {"type": kind, **fields}


def _message(model: str, blocks: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
    return {
        "id": "",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": finish,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _ended(notes: Notes) -> tuple[Event, Event]:
    delta = {"stop_reason": notes.finish or None, "stop_sequence": None}
    return _event("message_delta", delta=delta, usage={"output_tokens": 0}), _event("message_stop")


def _note(fields: Mapping[str, Any], notes: Notes) -> None:
    notes.model = text(fields.get("model")) or notes.model
    notes.finish = text(fields.get("stop_reason")) or notes.finish
    notes.refusal = text(record(fields.get("stop_details")).get("explanation")) or notes.refusal
    notes.count(fields.get("usage"))


def _readable(block: object) -> bool:
    return text(record(block).get("type")) in BLOCKS


def _index(fields: Mapping[str, Any]) -> int:
    """The place of a block; what is no number is the first."""
    return index if isinstance(index := fields.get("index"), int) else 0


def _block(block: Mapping[str, Any], notes: Notes, *, whole: bool) -> dict[str, Any]:
    """A block that the library can read. The arguments of a call are all there in a `whole` answer only."""
    match block["type"]:
        case "text":
            said = {"text": text(block.get("text"))}
        case "thinking":
            said = {"thinking": text(block.get("thinking")), "signature": text(block.get("signature"))}
        case "redacted_thinking":
            said = {"data": text(block.get("data"))}
        case _:
            if not isinstance(given := block.get("input"), dict | None):
                notes.odd[notes.calls] = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            elif whole:
                notes.parsed.add(notes.calls)
            notes.calls += 1
            return {
                "type": "tool_use",
                "id": text(block.get("id")),
                "name": text(block.get("name")),
                "input": record(given),
            }
    notes.characters += sum(map(len, said.values()))
    return {"type": block["type"], **said}


def _taken_apart(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as its stream begins, and what follows. A call with its arguments in its beginning is taken apart, since
    deltas may still follow."""
    match block["type"]:
        case "text" if block["text"]:
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking" if block["thinking"] or block["signature"]:
            deltas = [{"type": f"{name}_delta", name: block[name]} for name in ("thinking", "signature") if block[name]]
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" if block["input"]:
            written = json.dumps(block["input"], ensure_ascii=False)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": written}]
    return block, []


def _begun(fields: Mapping[str, Any], notes: Notes) -> Sequence[Event]:
    before = notes.places.get(_index(fields))
    closed = () if before is None else _closed(before, notes)
    # Numbered anew: there are servers for which every block is the first.
    place = notes.places[_index(fields)] = notes.parts
    notes.parts += 1
    begun, deltas = _taken_apart(_block(fields["content_block"], notes, whole=False))
    start = _event("content_block_start", index=place, content_block=begun)
    if begun["type"] == "tool_use":
        # Arguments that stand in the beginning count where none follow: some servers send them twice.
        notes.open[place] = notes.calls - 1, deltas
        return (*closed, start)
    return (*closed, start, *(_event("content_block_delta", index=place, delta=each) for each in deltas))


def _closed(place: int, notes: Notes) -> Sequence[Event]:
    """The end of a block, with what stood in its beginning if nothing followed."""
    number, held = notes.open.pop(place, (0, []))
    if held:
        notes.parsed.add(number)
    return (
        *(_event("content_block_delta", index=place, delta=each) for each in held),
        _event("content_block_stop", index=place),
    )


def _all_closed(notes: Notes) -> Sequence[Event]:
    places = list(notes.places.values())
    notes.places.clear()
    return [event for place in places for event in _closed(place, notes)]


def _delta(fields: Mapping[str, Any], notes: Notes) -> Sequence[Event]:
    delta = record(fields.get("delta"))
    kind = text(delta.get("type"))
    if not (member := _DELTAS.get(kind)) or not (said := text(delta.get(member))):
        return ()
    if member == "partial_json":
        place = notes.places.get(_index(fields), -1)
        if place not in notes.open:
            return ()
        number = notes.open[place][0]
        notes.odd.pop(number, None)
        notes.open[place] = number, []
    elif (index := _index(fields)) in notes.places:
        place = notes.places[index]
    else:
        place = notes.places[index] = notes.parts
        notes.parts += 1
    notes.characters += len(said)
    return (_event("content_block_delta", index=place, delta={"type": kind, member: said}),)
