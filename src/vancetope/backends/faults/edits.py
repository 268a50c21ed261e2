"""Edits of an answer's JSON objects, whole or streamed: they know each dialect's objects by their shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vancetope.backends.faults.wire import Edit

# Finish reasons in the words of OpenAI, Anthropic and Gemini, by the name of their field.
STOP = {"finish_reason": "stop", "stop_reason": "end_turn", "finishReason": "STOP"}
RECITATION = {"finish_reason": "content_filter", "stop_reason": "refusal", "finishReason": "RECITATION"}
WINDOW_FULL = {"finish_reason": "length", "stop_reason": "model_context_window_exceeded", "finishReason": "MAX_TOKENS"}


def choices(edit: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of every choice of a completion or chunk; Gemini's candidates are its choices."""

    def whole(given: dict[str, Any]) -> dict[str, Any]:
        for choice in given.get("choices") or given.get("candidates") or ():
            edit(choice)
        return given

    return whole


def messages(edit: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of every message or delta of OpenAI's."""
    return choices(lambda choice: [edit(choice[key]) for key in ("message", "delta") if key in choice])


def made_calls(edit: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of every call, or every piece of one: of the object that has its id."""

    def whole(given: dict[str, Any]) -> dict[str, Any]:
        for made in calls_in(given):
            edit(made)
        return given

    return whole


def calls_in(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The calls, or pieces of calls, in one object of an answer."""
    for choice in given.get("choices") or ():
        yield from (choice.get("message") or choice.get("delta") or {}).get("tool_calls", ())
    for candidate in given.get("candidates") or ():
        for part in (candidate.get("content") or {}).get("parts") or ():
            if "functionCall" in part:
                yield part["functionCall"]
    blocks = [*(given.get("content") or ()), given.get("content_block") or {}]
    yield from (block for block in blocks if block.get("type") == "tool_use")


def finish(value: str | Mapping[str, str] | None) -> Edit:
    """Every finish reason becomes this one, or each dialect's own word for it, by the name of its field."""

    def edit(given: dict[str, Any]) -> dict[str, Any]:
        holders = [*(given.get("choices") or ()), *(given.get("candidates") or ())]
        if given.get("type") in ("message", "message_delta"):
            holders.append(given.get("delta", given))
        for holder in holders:
            for key in STOP.keys() & holder.keys():
                holder[key] = holder[key] and (value[key] if isinstance(value, Mapping) else value)
        return given

    return edit


def id(value: str | None) -> Edit:
    """Every call's id becomes this one; with None the key is left out."""

    def edit(made: dict[str, Any]) -> None:
        if made.pop("id", None) is not None and value is not None:
            made["id"] = value

    return made_calls(edit)


def nameless(made: dict[str, Any]) -> None:
    """The call loses its name."""
    made.get("function", made).pop("name", None)


def object_arguments(change: Callable[[str], object]) -> Edit:
    """The arguments become what `change` makes of their text, where a dialect has a text there. Needs a whole call in
    one piece."""

    def edit(made: dict[str, Any]) -> None:
        if "function" in made:
            made["function"]["arguments"] = change(made["function"]["arguments"])

    return made_calls(edit)


def null_arguments(made: dict[str, Any]) -> None:
    """The arguments become null."""
    inner = made.get("function", made)
    for key in {"arguments", "args", "input"} & inner.keys():
        inner[key] = None


def without(*keys: str) -> Edit:
    """These keys are left out of every object, and of the message that opens a stream."""

    def edit(given: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in given.items() if name not in keys}
        if kept.get("type") == "message_start" and isinstance(kept.get("message"), dict):
            kept["message"] = {name: value for name, value in kept["message"].items() if name not in keys}
        return kept

    return edit


def null_usage(given: dict[str, Any]) -> dict[str, Any]:
    """Usage is null wherever it stands, and wherever OpenAI could have it."""
    if "choices" in given:
        return {**given, "usage": None}
    for holder in (given, given.get("message")):
        if isinstance(holder, dict):
            holder.update({key: None for key in ("usage", "usageMetadata") if key in holder})
    return given


def null_message(given: dict[str, Any]) -> dict[str, Any]:
    """What should hold the answer is null."""
    for choice in given.get("choices") or given.get("candidates") or ():
        choice.update({key: None for key in ("message", "delta", "content") if key in choice})
    return {**given, "content": None} if given.get("type") == "message" else given


def no_candidates(given: dict[str, Any]) -> dict[str, Any]:
    """The list of choices or candidates, or the content, is empty."""
    emptied: dict[str, Any] = {key: [] for key in ("choices", "candidates") if key in given}
    if given.get("type") == "message":
        emptied["content"] = []
    return {**given, **emptied}


def reasoning(message: dict[str, Any]) -> None:
    """Thinking moves to the field `reasoning`."""
    if "reasoning_content" in message:
        message["reasoning"] = message.pop("reasoning_content")


def old_style(message: dict[str, Any]) -> None:
    """The call moves to the deprecated field, as some gateways still write it."""
    for made in message.pop("tool_calls", ()):
        message["function_call"] = made["function"]
