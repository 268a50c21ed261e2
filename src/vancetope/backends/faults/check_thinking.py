"""What Anthropic's API refuses of thinking: how it is asked for, and what comes back of it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from vancetope.backends.faults.anthropic import BINDING, blocks, of_kind, prefix, thinks
from vancetope.backends.faults.asked import signature

Body: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Body], Iterator[str]]

LEAST_BUDGET = 1024
# Models by the beginning of their names: those that never take a forced choice, those that cannot be kept from
# thinking, and those that think without a budget and sample as they like.
NEVER_FORCED = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
)
ALWAYS_THINK = ("claude-fable-5", "claude-mythos-5", "claude-opus-5-5")
BETWEEN_TOOLS = ("claude-sonnet-5-5",)  # these think between tools at least
ADAPTIVE = (
    "claude-fable-5",
    "claude-mythos-5",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-haiku-5-5",
)
KINDS = ("enabled", "disabled", "adaptive", "between_tools")
BINDING_BETA = "thinking-binding-controls-2026-08-01"


def _thinking(body: Body) -> Iterator[str]:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in KINDS:
        yield f"thinking is none of {', '.join(KINDS)}"
    kept = body["model"].startswith(ALWAYS_THINK) or (kind == "disabled" and body["model"].startswith(BETWEEN_TOOLS))
    if kind in ("disabled", "between_tools") and kept:
        yield f"thinking.type.{kind} is not supported for this model"
    if not thinks(body):
        return
    if kind == "enabled" and body["model"].startswith(ADAPTIVE):
        yield "thinking.type.enabled is not supported for this model, thinking.type.adaptive is"
    elif kind == "enabled":
        budget, limit = thinking.get("budget_tokens"), body.get("max_tokens")
        if type(budget) is not int or budget < LEAST_BUDGET:
            yield f"thinking.budget_tokens is not a whole number of at least {LEAST_BUDGET}"
        elif isinstance(limit, int) and budget >= limit:
            yield "max_tokens must be greater than thinking.budget_tokens"
    if body.get("temperature", 1) != 1:
        yield "temperature may only be 1 when thinking is enabled"
    if "top_k" in body:
        yield "top_k may not be set when thinking is enabled"


def _thought_before_call(body: Body) -> Iterator[str]:
    """Only for a fixed budget: with adaptive thinking an earlier reply may begin with anything."""
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    said = [(at, blocks(each)) for at, each in enumerate(body["messages"]) if each["role"] == "assistant"]
    if not said:
        return
    at, last = said[-1]
    if any(block["type"] == "tool_use" for block in last) and last[0]["type"] not in ("thinking", "redacted_thinking"):
        yield f"messages.{at}: with thinking, the last assistant message with calls must start with a thinking block"


def _signatures(body: Body) -> Iterator[str]:
    for at, block in of_kind(body, "thinking"):
        given = str(block.get("signature"))
        if given != signature(block["thinking"]) and not _is_bound(block):
            yield f"messages.{at}: invalid signature in a thinking block"


def _binding(body: Body) -> Iterator[str]:
    """Thinking that is bound comes back behind the very same prefix, or the request says that it may be dropped."""
    thinking = body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    if binding is not None and BINDING_BETA not in body.get("betas", ()):
        yield f"thinking.block_binding: extra inputs are not permitted without the beta {BINDING_BETA}"
    if not body["model"].startswith(BINDING) or binding == {"prefix_mismatch_behavior": "drop_block"}:
        return
    for at, block in of_kind(body, "thinking"):
        if _is_bound(block) and block["signature"] != _bound(body, at, block):
            yield f"messages.{at}: invalid signature in a thinking block, it is bound to a different conversation"


def _bound(body: Body, at: int, block: Mapping[str, Any]) -> str:
    return signature(block["thinking"], prefix(body, at))


def _is_bound(block: Mapping[str, Any]) -> bool:
    """Whether a signature of ours is of this thought, and bound to some conversation."""
    try:
        given = b64decode(str(block.get("signature")), validate=True)
    except ValueError:
        return False
    own = b64decode(signature(block["thinking"]))
    return len(given) == 2 * len(own) and given.startswith(own)


THINKING: Mapping[str, Rule] = {
    "thinking": _thinking,
    "thought_before_call": _thought_before_call,
    "signatures": _signatures,
    "binding": _binding,
}
