"""A server's JSON answer as a `Reply`, nothing in it lost, however odd it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vancetope.messages import Call, Finish, Reply, Usage

# Characters of a token, where the server does not count.
TOKEN = 4

# Nobody has written so many tokens; infinity, and what no float can hold, are no count at all.
MOST_TOKENS = 10**12

_FINISH = {
    "stop": Finish.STOP,
    "end_turn": Finish.STOP,
    "eos_token": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_calls": Finish.TOOL_CALLS,
    "tool_use": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "safety": Finish.CONTENT_FILTER,
    "recitation": Finish.CONTENT_FILTER,
    "blocklist": Finish.CONTENT_FILTER,
    "prohibited_content": Finish.CONTENT_FILTER,
    "spii": Finish.CONTENT_FILTER,
    "refusal": Finish.REFUSAL,
    "malformed_function_call": Finish.MALFORMED_CALL,
    "malformed_tool_call": Finish.MALFORMED_CALL,
    "unexpected_tool_call": Finish.MALFORMED_CALL,
    "too_many_tool_calls": Finish.MALFORMED_CALL,
}


class NoReply(ValueError):
    """The JSON is no answer to a chat completion."""


def reply_in(data: Any, *, characters: int, limit: int | None, requests: int = 1) -> Reply:
    """The reply in an answer that did not stream. Raises `NoReply` where there is no list of choices.

    `characters` is the length of the request, for the estimate where the server does not count tokens.
    """
    if not isinstance(data, dict) or not isinstance(choices := data.get("choices"), list):
        raise NoReply("it holds no choices")
    choice = choices[0] if choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {}
    text = text_in(message.get("content"))
    thinking = thinking_in(message)
    finish = finish_in(choice.get("finish_reason"))
    if (refusal := refusal_in(message)).strip():
        text += refusal
        finish = Finish.REFUSAL
    calls = calls_in(message)
    written = len(text) + len(thinking) + sum(len(call.name) + len(call.arguments) for call in calls)
    model = data.get("model")
    return Reply(
        text=text,
        calls=calls,
        thinking=thinking,
        finish=finish,
        usage=usage_in(data.get("usage"), characters, written),
        end_turn=end_turn_in(message, choice, data),
        requests=requests,
        limit=limit,
        model=model if isinstance(model, str) else "",
    )


def finish_in(value: object) -> Finish:
    """The finish for a provider's word; one we do not know, or none, is `UNKNOWN`."""
    return _FINISH.get(value.lower(), Finish.UNKNOWN) if isinstance(value, str) else Finish.UNKNOWN


def text_in(content: object, depth: int = 4) -> str:
    """The text of a message's content: a string, a list of parts, or nothing. Parts hold parts only so deep."""
    if isinstance(content, str):
        return content
    if depth == 0:
        return ""
    if isinstance(content, dict):
        return text_in(content.get("text", content.get("content")), depth - 1) if _is_text(content) else ""
    if isinstance(content, list):
        return "".join([text_in(part, depth - 1) for part in content])
    return ""


def thinking_in(message: Mapping[str, Any]) -> str:
    """What the model thought, under the first of the names that servers use which holds any."""
    for field in ("reasoning_content", "reasoning", "thinking"):
        if (value := message.get(field)) and (found := text_in(value)):
            return found
    if not isinstance(content := message.get("content"), list):
        return ""
    thoughts = [part for part in content if isinstance(part, dict) and part.get("type") == "thinking"]
    return "".join(text_in(part.get("thinking")) for part in thoughts)


def refusal_in(message: Mapping[str, Any]) -> str:
    """The text with which the model refused, empty if it did not."""
    refusal = text_in(message.get("refusal"))
    if not refusal and isinstance(content := message.get("content"), list):
        refusal = "".join(text_in(part.get("refusal")) for part in content if isinstance(part, dict))
    return refusal


def calls_in(message: Mapping[str, Any]) -> tuple[Call, ...]:
    """The calls as the model wrote them: without an id, a name or arguments those are empty."""
    listed = message.get("tool_calls")
    found = [_call(item) for item in listed if item is not None] if isinstance(listed, list) else []
    if not found and isinstance(legacy := message.get("function_call"), dict):
        found = [_call({"function": legacy})]
    return tuple(found)


def arguments_in(value: object) -> str:
    """Raw arguments as text: a string as it is, nothing as the empty string, anything else as its JSON text."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deep)"


def end_turn_in(*levels: Mapping[str, Any]) -> bool | None:
    """What the provider says of the turn, at the innermost level that says anything."""
    return next((level["end_turn"] for level in levels if isinstance(level.get("end_turn"), bool)), None)


def usage_in(usage: object, asked: int, written: int) -> Usage:
    """The counted tokens; where the server counted none, an estimate from the characters asked and written."""
    counts = usage if isinstance(usage, dict) else {}
    given = _count(counts, "prompt_tokens", "input_tokens")
    made = _count(counts, "completion_tokens", "output_tokens")
    # A prompt of zero tokens does not exist: such a server fills the fields without counting.
    guessed = given == 0 or (made == 0 and written > 0)
    inner = [
        details if isinstance(details := counts.get(name), dict) else {}
        for name in ("prompt_tokens_details", "completion_tokens_details")
    ]
    return Usage(
        input_tokens=given or max(1, asked // TOKEN),
        output_tokens=made or -(-written // TOKEN),
        cached_tokens=_count(inner[0], "cached_tokens") or _count(counts, "prompt_cache_hit_tokens"),
        thinking_tokens=_count(inner[1], "reasoning_tokens"),
        estimated=guessed,
    )


def _is_text(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return kind is None or (isinstance(kind, str) and ("text" in kind or "summary" in kind))


def _call(item: object) -> Call:
    if not isinstance(item, dict):
        return Call("", "", arguments_in(item))
    function = item.get("function")
    if not isinstance(function, dict):
        function = item
    call_id, name = item.get("id"), function.get("name")
    return Call(
        call_id if isinstance(call_id, str) else "",
        name if isinstance(name, str) else "",
        arguments_in(function.get("arguments")),
    )


def _count(counts: Mapping[str, Any], *fields: str) -> int:
    for field in fields:
        value = counts.get(field)
        if isinstance(value, int | float) and 0 < value <= MOST_TOKENS:
            return int(value)
    return 0
