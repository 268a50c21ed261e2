"""The library's response and what we noted of the answer, as a `Reply`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vancetope.backends.base import CallPiece, TextPiece, ThinkingPiece
from vancetope.backends.base import Piece as Shown
from vancetope.backends.direct.carried import Piece, written
from vancetope.backends.direct.dialect import Dialect, Notes
from vancetope.backends.direct.gemini import UNNAMED
from vancetope.messages import Call, Finish, Reply

SIGNATURE = "thought_signature"


def parts_in(response: Any) -> tuple[list[Piece], list[Any]]:
    """The parts of a response in their order, and those that are calls."""
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    pieces: list[Piece] = []
    calls: list[Any] = []
    for part in response.parts:
        signed = (part.provider_details or {}).get(SIGNATURE, "") if hasattr(part, "provider_details") else ""
        if isinstance(part, ThinkingPart):
            redacted = part.id == "redacted_thinking"
            signature = part.signature or signed
            pieces.append(Piece("redacted" if redacted else "thinking", part.content, 0, signature))
        elif isinstance(part, TextPart):
            pieces.append(Piece("text", part.content or "", 0, signed))
        elif isinstance(part, ToolCallPart):
            pieces.append(Piece("call", "", len(calls), signed))
            calls.append(part)
    return pieces, calls


def calls_in(pieces: list[Piece], parts: list[Any], dialect: Dialect, notes: Notes) -> tuple[Call, ...]:
    """The calls as the model wrote them; ids and names that it left out are empty. One that the limit cut has arguments
    that are no whole JSON."""
    calls = [_call(part, notes.odd.get(number)) for number, part in enumerate(parts)]
    spoken = [each for each in pieces if each.what == "call" or each.text]
    if calls and spoken[-1].what == "call" and dialect.finish(notes, True)[0] is Finish.LENGTH:
        calls[-1] = replace(calls[-1], arguments=_cut(calls[-1].arguments, len(calls) - 1 in notes.parsed))
    return tuple(calls)


def reply_of(
    pieces: list[Piece],
    calls: tuple[Call, ...],
    dialect: Dialect,
    notes: Notes,
    *,
    model: str,
    characters: int,
    limit: int | None,
    requests: int,
) -> Reply:
    """The reply of this model. `characters` is the length of the request, for the guess where the server does not
    count."""
    text = "".join(each.text for each in pieces if each.what == "text")
    thinking = "".join(each.text for each in pieces if each.what == "thinking")
    finish, end_turn = dialect.finish(notes, bool(calls))
    if finish is Finish.REFUSAL and not text.strip():
        text = notes.refusal
    made = len(text) + len(thinking) + sum(len(call.name) + len(call.arguments) for call in calls)
    return Reply(
        text=text,
        calls=calls,
        thinking=thinking,
        finish=finish,
        usage=dialect.usage(notes.usage, characters, made),
        end_turn=end_turn,
        requests=requests,
        limit=limit,
        model=notes.model,
        carried=written(dialect.kind, model, pieces),
    )


class Preview:
    """The library's events as the pieces that are shown."""

    def __init__(self) -> None:
        self._calls: dict[int, int] = {}

    def of(self, event: Any) -> Iterator[Shown]:
        from pydantic_ai.messages import PartDeltaEvent, PartStartEvent

        if isinstance(event, PartStartEvent):
            yield from self._start(event.index, event.part)
        elif isinstance(event, PartDeltaEvent):
            yield from self._delta(event.index, event.delta)

    def _start(self, index: int, part: Any) -> Iterator[Shown]:
        match part.part_kind:
            case "text" if part.content:
                yield TextPiece(part.content)
            case "thinking" if part.content:
                yield ThinkingPiece(part.content)
            case "tool-call":
                number = self._calls.setdefault(index, len(self._calls))
                yield CallPiece(number, _name(part.tool_name), _arguments(part.args) if part.args else "")

    def _delta(self, index: int, delta: Any) -> Iterator[Shown]:
        match delta.part_delta_kind:
            case "text" if delta.content_delta:
                yield TextPiece(delta.content_delta)
            case "thinking" if delta.content_delta:
                yield ThinkingPiece(delta.content_delta)
            case "tool_call" if delta.args_delta and index in self._calls:
                yield CallPiece(self._calls[index], "", _arguments(delta.args_delta))


def _call(part: Any, odd: str | None) -> Call:
    arguments = _arguments(part.args) if odd is None else odd
    return Call(part.tool_call_id or "", _name(part.tool_name), arguments)


def _cut(arguments: str, parsed: bool) -> str:
    """The arguments of a call in which the limit came. A server that gives an object has closed what the model had
    begun: nothing tells the half of a text from the whole."""
    if arguments == "{}":
        return ""
    return arguments[:-1] if parsed else arguments


def _name(name: str | None) -> str:
    return "" if name in (None, UNNAMED) else str(name)


def _arguments(value: Any) -> str:
    """Arguments as their JSON text; these APIs write an object without members where there is nothing to say."""
    if isinstance(value, str) and value:
        return value
    return json.dumps(value, ensure_ascii=False) if value else "{}"
