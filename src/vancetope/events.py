"""What happens while a turn runs, as one closed union. The wire name of an event is its `type`.

`MessageDelta` and `TextDelta` are provisional: a `MessageRetracted` takes back everything sent under its id, and
`MessageCommitted` carries the same id and the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vancetope.messages import Usage
from vancetope.outcome import TurnReport


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A user's message was taken into the turn (or into the inbox of a process)."""

    text: str
    mode: Literal["follow_up", "steer"] = "follow_up"
    type: Literal["message_received"] = "message_received"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    turn: int
    model: str
    type: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """`round` counts from 0."""

    round: int
    type: Literal["round_started"] = "round_started"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Narration: text beside calls, or text that the contract does not take for an answer. `offset` in characters."""

    id: str
    offset: int
    text: str
    type: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True)
class MessageDelta:
    """A piece of the message while the model writes it. `offset` in characters."""

    id: str
    offset: int
    text: str
    type: Literal["message_delta"] = "message_delta"


@dataclass(frozen=True, slots=True)
class MessageRetracted:
    """Everything shown under this id did not count."""

    id: str
    type: Literal["message_retracted"] = "message_retracted"


@dataclass(frozen=True, slots=True)
class MessageCommitted:
    id: str
    text: str
    type: Literal["message_committed"] = "message_committed"


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """`arguments` are the decoded arguments, or the raw text where they are no JSON object."""

    call_id: str
    name: str
    arguments: dict[str, Any] | str
    type: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """What a running tool told through `ToolContext.emit`."""

    call_id: str
    name: str
    data: Any
    type: Literal["tool_progress"] = "tool_progress"


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """`text` is the result as the model sees it, `seconds` how long it ran."""

    call_id: str
    name: str
    ok: bool
    text: str
    seconds: float
    type: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True)
class CorrectionSent:
    """The reply broke the contract and `text` tells the model how. `row` is the row of the truth table."""

    row: str
    text: str
    type: Literal["correction_sent"] = "correction_sent"


@dataclass(frozen=True, slots=True)
class RepairSent:
    """A prompted model's reply held no envelope; `text` is the one request to send it again."""

    text: str
    type: Literal["repair_sent"] = "repair_sent"


@dataclass(frozen=True, slots=True)
class RawDelta:
    """A piece of an attempt at a structured answer, as the model writes it: for people who watch, never the answer.
    `offset` in characters."""

    id: str
    offset: int
    text: str
    type: Literal["raw_delta"] = "raw_delta"


@dataclass(frozen=True, slots=True)
class TurnNarrowed:
    """One last round follows, in which only the end of the turn is allowed."""

    reason: str
    type: Literal["turn_narrowed"] = "turn_narrowed"


@dataclass(frozen=True, slots=True)
class UsageRecorded:
    """What one model call used: the model that answered, and US dollars (null if the price is unknown)."""

    model: str
    usage: Usage
    cost: float | None = None
    purpose: Literal["answer", "correction", "repair"] = "answer"
    type: Literal["usage_recorded"] = "usage_recorded"


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for people."""

    text: str
    type: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True)
class StatusChanged:
    status: str
    type: Literal["status_changed"] = "status_changed"


@dataclass(frozen=True, slots=True)
class TurnEnded:
    data: TurnReport
    type: Literal["turn_ended"] = "turn_ended"


Event: TypeAlias = (
    MessageReceived
    | TurnStarted
    | RoundStarted
    | TextDelta
    | MessageDelta
    | MessageRetracted
    | MessageCommitted
    | ToolStarted
    | ToolProgress
    | ToolEnded
    | RawDelta
    | CorrectionSent
    | RepairSent
    | TurnNarrowed
    | UsageRecorded
    | Notice
    | StatusChanged
    | TurnEnded
)
