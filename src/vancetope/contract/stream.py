"""What people see while a reply is being written: narration, or the message itself, always provisional."""

from __future__ import annotations

from collections.abc import Callable

from vancetope.backends.base import CallPiece, Piece, Restarted, TextPiece, ThinkingPiece
from vancetope.contract.partial import PartialReader
from vancetope.events import Event, MessageCommitted, MessageDelta, MessageRetracted, TextDelta
from vancetope.messages import whole_characters
from vancetope.outcome import EnforcementName, TurnEnd
from vancetope.tools.respond import ANSWER, RESPOND


class Shown:
    """Everything shown under one id."""

    def __init__(self, id: str, kind: type[TextDelta] | type[MessageDelta], publish: Callable[[Event], None]) -> None:
        self.id = id
        self.taken_back = False
        self._parts: list[str] = []
        self._length = 0
        self._kind = kind
        self._publish = publish

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, text: str) -> None:
        text = whole_characters(text)
        if text:
            self._publish(self._kind(self.id, self._length, text))
            self._parts.append(text)
            self._length += len(text)

    def retract(self) -> None:
        if self._parts:
            self._publish(MessageRetracted(self.id))
            self._parts, self._length, self.taken_back = [], 0, True


class Streamer:
    """Turns the pieces of one round's replies into events.

    `key` makes its ids unique in the process. After the verdict exactly one of `commit` and `reject` is called; each
    message shown before is committed under its id with the same text, or retracted.
    """

    def __init__(
        self, key: str, turn_end: TurnEnd, enforcement: EnforcementName, publish: Callable[[Event], None]
    ) -> None:
        self._key = key
        self._natural = turn_end == "natural"
        self._as_action = enforcement == "constrained"
        self._publish = publish
        self._attempt = 0
        self._fresh()

    def _fresh(self) -> None:
        name = f"{self._key}.{self._attempt}"
        self.narration = Shown(f"n{name}", TextDelta, self._publish)
        self.message = Shown(f"m{name}", MessageDelta, self._publish)
        self._calls: set[int] = set()
        self._name = ""
        end = ANSWER if self._natural else RESPOND
        path = ("arguments", "message") if self._as_action else ("message",)
        self._reader = PartialReader(path, (("tool",), (end,)) if self._as_action else None)

    def piece(self, piece: Piece) -> None:
        """Take a piece of the reply."""
        match piece:
            case TextPiece(text=text) if self._as_action:
                self.message.add(self._reader.feed(text))
            case TextPiece(text=text):
                self._text(text)
            case CallPiece():
                self._call(piece)
            case Restarted():
                self.restart()
            case ThinkingPiece():
                pass

    def _text(self, text: str) -> None:
        if self._natural and not self._calls:
            self.message.add(text)
        else:
            self.narration.add(text)

    def _call(self, piece: CallPiece) -> None:
        self._calls.add(piece.index)
        if self._natural:
            self.message.retract()
            return
        if len(self._calls) > 1:
            self.message.retract()
            return
        self._name += piece.name
        if self._name == RESPOND:
            self.message.add(self._reader.feed(piece.arguments))

    def restart(self) -> None:
        """Nothing of this reply counts as a message; narration of a reply that is repeated does not count either."""
        self.narration.retract()
        self.message.retract()
        self._attempt += 1
        self._fresh()

    def rejected(self) -> None:
        """The verdict did not deliver this reply: its message is taken back, its narration stays."""
        self.message.retract()

    def partial(self) -> str | None:
        """What has been shown of this reply so far, the message before narration."""
        return self.message.text or self.narration.text or None

    def commit(self, text: str) -> None:
        """The verdict delivers `text`: what was shown of it is completed, what was shown of anything else retracted."""
        if self.narration.text and self.narration.text == text:
            self.narration.retract()
        if not text.startswith(self.message.text):
            self.message.retract()
        if self.message.taken_back:
            self._attempt += 1
            self._fresh()
        self.message.add(text[len(self.message.text) :])
        self._publish(MessageCommitted(self.message.id, text))
