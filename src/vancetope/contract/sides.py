"""A plain chat whose two sides take turns, as many chat templates want it."""

from __future__ import annotations

from vancetope import sentences
from vancetope.messages import Assistant, Text, User


def add(chat: list[User | Assistant], side: User | Assistant) -> None:
    """Put a side's words at the end of the chat: joined to its last ones where nobody spoke in between. A chat begins
    with the user."""
    before = chat[-1] if chat else None
    if isinstance(side, User) and isinstance(before, User):
        chat[-1] = joined(before, side)
    elif isinstance(side, Assistant) and isinstance(before, Assistant):
        chat[-1] = Assistant(f"{before.text}\n{side.text}")
    elif isinstance(side, User) or before is not None:
        chat.append(side)


def joined(before: User, after: User) -> User:
    """Two messages of the user's side as one."""
    if isinstance(before.content, str) and isinstance(after.content, str):
        return User(f"{before.content}\n\n{after.content}")
    parts = [(Text(each.content),) if isinstance(each.content, str) else each.content for each in (before, after)]
    return User((*parts[0], *parts[1]))


def note(text: str) -> User:
    """What the runtime says, on the user's side and marked as the runtime's."""
    return User(sentences.NOTE_PREFIX + text)
