"""A server's JSON answer as a `Reply`, nothing in it lost, however odd it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vancetope.backends.openai.carried import carried_in
from vancetope.backends.openai.profiles import Profile
from vancetope.messages import Call, Finish, Reply, Usage

# Characters of a token, where the server does not count.
TOKEN = 4

# Nobody has written so many tokens; infinity, and what no float can hold, are no count at all.
MOST_TOKENS = 10**12
MOST_DOLLARS = 10**6

_CACHED = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
_CACHE_WRITE = ("cache_write_tokens", "cache_creation_tokens")

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


def reply_in(
    data: Any,
    profile: Profile,
    asked: str,
    *,
    characters: int,
    limit: int | None,
    requests: int = 1,
) -> Reply:
    """The reply of a server of this kind in an answer that did not stream, to a request for the model `asked`. Raises
    `NoReply` where there is no list of choices.

    `characters` is the length of the request, for the estimate where the server does not count tokens.
    """
    if not isinstance(data, dict) or not isinstance(choices := data.get("choices"), list):
        raise NoReply("it holds no choices")
    choice = choices[0] if choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {}
    text = text_in(message.get("content"))
    thinking, _ = thinking_in(message)
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
        cost=cost_in(data.get("usage")) if profile.states_cost else None,
        carried=carried_in(message, profile, asked),
    )


def filtered(characters: int, limit: int | None, requests: int) -> Reply:
    """The reply of a server that let nothing of the request pass its filter; what it read is counted."""
    usage = usage_in(None, characters, 0)
    return Reply(finish=Finish.CONTENT_FILTER, usage=usage, requests=requests, limit=limit)


def failure_in(data: Any) -> Any:
    """The failure in an answer, or a chunk of one, that has the form of a good one; null if there is none.

    A reply is one all the same where an error stands beside it, but not where its choice says that it ended by one.
    """
    if not isinstance(data, Mapping):
        return None
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    if choice.get("error") or choice.get("finish_reason") == "error":
        return choice.get("error") or data.get("error") or {"message": "it stopped with an error", "code": 502}
    return None if choices else data.get("error")


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
        text = next((content[name] for name in ("text", "content", "summary") if name in content), None)
        return text_in(text, depth - 1) if _is_text(content) else ""
    if isinstance(content, list):
        return "".join([text_in(part, depth - 1) for part in content])
    return ""


def thinking_in(message: Mapping[str, Any]) -> tuple[str, str]:
    """What the model thought, under the first of the names that servers use which holds any, and that name."""
    for field in ("reasoning_content", "reasoning", "thinking"):
        if (value := message.get(field)) and (found := text_in(value)):
            return found, field
    if details := message.get("reasoning_details"):
        return text_in(details), "reasoning_details"
    if not isinstance(content := message.get("content"), list):
        return "", ""
    thoughts = [part for part in content if isinstance(part, dict) and part.get("type") == "thinking"]
    return "".join(text_in(part.get("thinking")) for part in thoughts), "content"


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
    read = _details(counts, "prompt_tokens_details", "input_tokens_details")
    wrote = _details(counts, "completion_tokens_details", "output_tokens_details")
    return Usage(
        input_tokens=given or max(1, asked // TOKEN),
        output_tokens=made or -(-written // TOKEN),
        cached_tokens=_count(read, "cached_tokens") or _count(counts, *_CACHED),
        cache_write_tokens=_count(read, *_CACHE_WRITE) or _count(counts, "cache_creation_input_tokens"),
        thinking_tokens=_count(wrote, "reasoning_tokens") or _count(counts, "reasoning_tokens"),
        estimated=guessed,
    )


def cost_in(usage: object) -> float | None:
    """What the server says that the reply cost, in US dollars. Where the caller's own account at a provider pays for
    the model, both parts of the price."""
    if not isinstance(usage, dict):
        return None
    cost = _dollars(usage.get("cost"))
    details = usage.get("cost_details")
    if cost is not None and usage.get("is_byok") is True and isinstance(details, dict):
        cost += _dollars(details.get("upstream_inference_cost")) or 0.0
    return cost


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


def _details(counts: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((found for name in names if isinstance(found := counts.get(name), dict)), {})


def _dollars(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_DOLLARS:
        return float(value)
    return None


def _count(counts: Mapping[str, Any], *fields: str) -> int:
    for field in fields:
        value = counts.get(field)
        if isinstance(value, int | float) and 0 < value <= MOST_TOKENS:
            return int(value)
    return 0
