"""What the model is shown: the turns that fit its window, the running turn, and what it may do now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from json import dumps
from typing import Any, TypeVar, cast

from vancetope.contract.rules import Rules
from vancetope.messages import (
    Accepted,
    Assistant,
    History,
    Message,
    Note,
    Reply,
    Result,
    System,
    ToolSpec,
    User,
    text_of,
)
from vancetope.tools.respond import RESPOND

T = TypeVar("T")

PART_TOKENS = 1000
MESSAGE_TOKENS = 4


@dataclass(frozen=True, slots=True)
class View:
    """One request before a compiler has put it into a model's form. `tools` are the work tools allowed now, `memo` is
    where a compiler may keep what it made of the past, for the next request of the same turn."""

    system: str
    messages: tuple[Message, ...]
    rules: Rules
    tools: tuple[ToolSpec, ...]
    narrowed: bool = False
    memo: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, position: int, message: Message, make: Callable[[], T]) -> T:
        """What `make` makes of the message at this position; made once a turn, because every round shows the whole
        past."""
        kept, made = self.memo.get(position, (None, None))
        if kept is not message:
            made = make()
            self.memo[position] = (message, made)
        return cast(T, made)


def estimate(text: str) -> int:
    """A cautious guess at the tokens of a text: a third of its UTF-8 bytes."""
    return (len(text) if text.isascii() else len(text.encode(errors="replace"))) // 3 + 1


def estimate_message(message: Message) -> int:
    match message:
        case User(content=str() as content):
            return MESSAGE_TOKENS + estimate(content)
        case User(content=content):
            return MESSAGE_TOKENS + estimate(text_of(content)) + PART_TOKENS * len(content)
        case Assistant(text=text, calls=calls):
            return MESSAGE_TOKENS + estimate(text) + sum(estimate(each.name + each.arguments) for each in calls)
        case Accepted(text=text) | Note(text=text) | Result(text=text):
            return MESSAGE_TOKENS + estimate(text)
        case System():
            return 0


def estimate_tools(tools: Iterable[ToolSpec]) -> int:
    return sum(estimate(each.name + each.description + dumps(dict(each.parameters))) for each in tools)


def whole_turns(history: History) -> list[tuple[Message, ...]]:
    """The history cut where a user begins to speak. What stands before the first user is a turn of its own."""
    turns: list[list[Message]] = []
    for position, message in enumerate(history):
        starts = isinstance(message, User) and not (position and isinstance(history[position - 1], User))
        if starts or not turns:
            turns.append([])
        turns[-1].append(message)
    return [tuple(each) for each in turns]


def fitting(history: History, room: int) -> tuple[tuple[Message, ...], int]:
    """The newest whole turns that fit into `room` tokens, oldest first, and how many turns are left out."""
    turns = whole_turns(history)
    kept = len(turns)
    while kept > 0:
        room -= sum(map(estimate_message, turns[kept - 1]))
        if room < 0:
            break
        kept -= 1
    return tuple(message for turn in turns[kept:] for message in turn), kept


def spoken(reply: Reply) -> list[Message]:
    """A reply as the model sees it again while its turn runs: nothing if it said nothing."""
    if not reply.text.strip() and not reply.calls:
        return []
    return [Assistant(reply.text if reply.text.strip() else "", reply.calls, reply.carried)]


def remembered(running: Sequence[Message]) -> list[Message]:
    """What later turns see of a turn: its user messages and its work calls with their results. Notes, narration and
    rejected answers stay in the turn's log."""
    kept: list[Message] = []
    dropped: set[str] = set()
    for message in running:
        match message:
            case User():
                kept.append(message)
            case Assistant(calls=calls):
                dropped |= {each.id for each in calls if each.name == RESPOND}
                work = tuple(each for each in calls if each.name != RESPOND)
                kept += [Assistant("", work)] if work else []
            case Result(call_id=call_id) if call_id not in dropped:
                kept.append(message)
            case _:
                pass
    return kept
