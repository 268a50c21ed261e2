"""What people see while a reply is being written: narration, or the message itself, always provisional."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from vancetope.backends.base import CallPiece, Piece, Restarted, TextPiece, ThinkingPiece
from vancetope.contract.envelope import MESSAGE, NAME
from vancetope.contract.partial import PartialReader
from vancetope.events import Event, MessageCommitted, MessageDelta, MessageRetracted, RawDelta, TextDelta
from vancetope.messages import whole_characters
from vancetope.outcome import EnforcementName, TurnEnd
from vancetope.tools.respond import ANSWER, RESPOND

Delta: TypeAlias = TextDelta | MessageDelta | RawDelta


class Shown:
    """Everything shown under one id."""

    def __init__(self, id: str, kind: type[Delta], publish: Callable[[Event], None]) -> None:
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
        self._enforcement = enforcement
        self._publish = publish
        self._attempt = 0
        self._fresh()

    def _fresh(self) -> None:
        name = f"{self._key}.{self._attempt}"
        self.narration = Shown(f"n{name}", TextDelta, self._publish)
        self.message = Shown(f"m{name}", MessageDelta, self._publish)
        self._calls: set[int] = set()
        self._name = ""
        self._reader = self._message_reader()
        self._content = PartialReader(("content",))
        self._opened = False

    def _message_reader(self) -> PartialReader:
        if self._enforcement == "constrained":
            return PartialReader(("arguments", "message"), (("tool",), (ANSWER if self._natural else RESPOND,)))
        if self._enforcement == "prompted":
            return PartialReader(MESSAGE, (NAME, (RESPOND,)))
        return PartialReader(("message",))

    def piece(self, piece: Piece) -> None:
        """Take a piece of the reply."""
        match piece:
            case TextPiece(text=text) if self._enforcement == "constrained":
                self.message.add(self._reader.feed(text))
            case TextPiece(text=text) if self._enforcement == "prompted":
                self._envelope(text)
            case TextPiece(text=text):
                self._text(text)
            case CallPiece():
                self._call(piece)
            case Restarted():
                self.restart()
            case ThinkingPiece():
                pass

    def _envelope(self, text: str) -> None:
        """An envelope may stand in a fence: what comes before its first brace is not read."""
        if not self._opened:
            _, brace, rest = text.partition("{")
            self._opened, text = bool(brace), brace + rest
        if self._opened:
            self._text(self._content.feed(text))
            self.message.add("" if self._natural else self._reader.feed(text))

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


class RawStreamer(Streamer):
    """Shows the text of a structured question's replies as it is, for people who watch."""

    def __init__(self, key: str, publish: Callable[[Event], None]) -> None:
        super().__init__(key, "natural", "native", publish)

    def _fresh(self) -> None:
        super()._fresh()
        self.narration = Shown(f"r{self._key}.{self._attempt}", RawDelta, self._publish)

    def piece(self, piece: Piece) -> None:
        match piece:
            case TextPiece(text=text):
                self.narration.add(text)
            case Restarted():
                self.restart()
            case _:
                pass
