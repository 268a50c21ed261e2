"""The values a conversation is made of: frozen, pure, without I/O.

A `History` is a sequence of messages in which every call has exactly one result. What a provider makes of them is the
backend's business; what a model may see of them is the contract's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal, TypeAlias, overload
from unicodedata import category

from vancetope.errors import HistoryError

HISTORY_VERSION = 1

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_OURS = re.compile(r"c[0-9a-z]{8}")


class Finish(StrEnum):
    """Why the provider stopped writing. A value we do not know is `UNKNOWN`, never `STOP`."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    MALFORMED_CALL = "malformed_call"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls: all of the input, of which some were read from a cache and some written to
    one, and all of the output, thinking included. `estimated` is true where the provider did not say."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thinking_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.thinking_tokens + other.thinking_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text beside images and files in a user's message."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Image:
    """An image: an http(s) or data URL."""

    url: str
    kind: Literal["image"] = "image"


@dataclass(frozen=True, slots=True)
class File:
    """A file as base64 text, with its name and media type."""

    name: str
    media_type: str
    data: str
    kind: Literal["file"] = "file"


Part: TypeAlias = Text | Image | File


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model wrote it. `arguments` is its raw JSON text, `id` is ours, never the provider's.

    `bounded` is true where a string in it stopped at a bound that only our grammar had set.
    """

    id: str
    name: str
    arguments: str
    bounded: bool = False


@dataclass(frozen=True, slots=True)
class User:
    """What a person (or the caller) said."""

    content: str | tuple[Part, ...]
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class Note:
    """What the runtime tells the model where no call can carry it: a correction, or why the turn narrows."""

    text: str
    kind: Literal["note"] = "note"


@dataclass(frozen=True, slots=True)
class Assistant:
    """A reply with work calls; its text is narration. Also plain text of a model where a wire format needs it.
    `carried` is what the provider wants back with it, as in `Reply`."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    carried: str = ""
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class Result:
    """The one answer to the call with this id. `size` is its full length in characters before any cut; `handle` names
    the whole text for `result_read` where it was cut."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    size: int = 0
    handle: str | None = None
    kind: Literal["result"] = "result"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message that a turn delivered."""

    text: str
    awaiting_user_input: bool = True
    kind: Literal["accepted"] = "accepted"


@dataclass(frozen=True, slots=True)
class System:
    """A line for people ("the model could not be reached"). It is never sent to a model."""

    text: str
    kind: Literal["system"] = "system"


Message: TypeAlias = User | Note | Assistant | Result | Accepted | System


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's answer, normalised. `end_turn` is what the provider says of the turn, if it says anything.

    `requests` counts the HTTP requests it took (a retried one counts), `limit` is the output limit in tokens that the
    request carried, `model` the model that the server says it used, `cost` what the provider itself says the reply
    cost, in US dollars. `carried` is what the provider wants back with this reply (thinking that it has signed): JSON
    text that only its own backend reads. `bounded` is true where the text stopped at a bound
    that only our grammar had set, `unforced` where a constrained server wrote what its grammar forbids. `missed` is
    true where a prompted model's text holds no envelope though it was asked for one, `repairs` is 1 where it has been
    asked for once more.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)
    end_turn: bool | None = None
    requests: int = 1
    limit: int | None = None
    model: str = ""
    cost: float | None = None
    carried: str = ""
    bounded: bool = False
    unforced: bool = False
    missed: bool = False
    repairs: int = 0


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool: its name, one paragraph, and a JSON Schema (an object) of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class History(Sequence[Message]):
    """The conversation so far, oldest first; what `Turn.messages` is and `ask(history=...)` takes."""

    messages: tuple[Message, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> Message | History:
        if isinstance(index, slice):
            return History(self.messages[index])
        return self.messages[index]

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def to_json(self) -> str:
        """The history as JSON text with a version; `from_json` gives the same value back."""
        text: bytes = _history_adapter().dump_json(_Stored(HISTORY_VERSION, self.messages))
        return text.decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> History:
        """Read what `to_json` wrote. Raises `HistoryError` for anything else, in one sentence."""
        from pydantic import ValidationError

        try:
            stored = _history_adapter().validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "/".join(str(step) for step in first["loc"]) or "the top"
            raise HistoryError(f"history JSON is not one of ours: {first['msg']} at {where}") from None
        if stored.version != HISTORY_VERSION:
            raise HistoryError(f"history JSON has version {stored.version}, this vancetope reads {HISTORY_VERSION}")
        return checked(cls(stored.messages))


def whole_characters(text: str) -> str:
    """The text with halves of surrogate pairs joined, or replaced where the other is missing: a half has no bytes."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def says_something(text: str) -> bool:
    """Whether a person would see anything of this text: blank text is no text, also where it is zero-width."""
    return any(not each.isspace() and category(each) not in ("Cf", "Cc") for each in text)


def call_id(turn: int, number: int) -> str:
    """The id of a turn's call with this number: nine letters and digits, which every provider takes."""
    return f"c{_base36(turn, 3)}{_base36(number, 5)}"


def next_turn(history: History) -> int:
    """The number for the next turn: above every turn in the history, so that no id of a call or message comes twice."""
    calls = (call for message in history if isinstance(message, Assistant) for call in message.calls)
    users = sum(isinstance(each, User) and not isinstance(before, User) for before, each in pairwise((None, *history)))
    turns = [int(call.id[1:4], 36) for call in calls if _OURS.fullmatch(call.id)]
    return max([users, *turns]) + 1


def checked(history: History) -> History:
    """The history, if every call in it has exactly one result, right behind it and in order, under an id of its own.

    Ids that are not of our form are replaced. Raises `HistoryError` naming the first message that breaks this.
    """
    seen: set[str] = set()
    owed: list[Call] = []
    for position, message in enumerate(history):
        if isinstance(message, Result):
            if not owed or owed[0].id != message.call_id:
                raise HistoryError(f"history message {position}: no call before it awaits a result {message.call_id!r}")
            owed.pop(0)
            continue
        if owed:
            raise HistoryError(f"history message {position}: the call {owed[0].id!r} before it has no result")
        for call in message.calls if isinstance(message, Assistant) else ():
            if call.id in seen:
                raise HistoryError(f"history message {position}: the call id {call.id!r} appears twice")
            seen.add(call.id)
            owed.append(call)
    if owed:
        raise HistoryError(f"history ends while the call {owed[0].id!r} has no result")
    foreign = sorted(each for each in seen if not _OURS.fullmatch(each))
    return _renamed(history, {old: f"h{number:08d}" for number, old in enumerate(foreign)}) if foreign else history


def _renamed(history: History, names: Mapping[str, str]) -> History:
    messages: list[Message] = []
    for message in history:
        if isinstance(message, Assistant):
            calls = tuple(replace(each, id=names.get(each.id, each.id)) for each in message.calls)
            message = replace(message, calls=calls)
        elif isinstance(message, Result):
            message = replace(message, call_id=names.get(message.call_id, message.call_id))
        messages.append(message)
    return History(tuple(messages))


def _base36(number: int, width: int) -> str:
    digits = ""
    while number:
        number, last = divmod(number, 36)
        digits = _DIGITS[last] + digits
    return digits.rjust(width, "0")


def text_of(content: str | tuple[Part, ...]) -> str:
    """The text of a user's content, parts that are no text left out."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class _Stored:
    version: int
    messages: tuple[Message, ...]


_adapter: Any = None


def _history_adapter() -> Any:
    global _adapter
    if _adapter is None:
        from pydantic import TypeAdapter

        _adapter = TypeAdapter(_Stored)
    return _adapter
