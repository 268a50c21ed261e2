"""From the events of turns to what stands on the screen: what is final, and what may still change."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from vancetope.cli.clean import clean
from vancetope.cli.lines import (
    Aside,
    Line,
    Part,
    Said,
    call_text,
    correction_line,
    narrowed_line,
    notice_line,
    repair_line,
    report_parts,
    tool_line,
    user_line,
    waiting_line,
)
from vancetope.events import (
    CorrectionSent,
    Event,
    MessageCommitted,
    MessageDelta,
    MessageReceived,
    MessageRetracted,
    Notice,
    RawDelta,
    RepairSent,
    RoundStarted,
    TextDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnNarrowed,
    TurnStarted,
)
from vancetope.outcome import Outcome, TurnReport

SEEN = 8_000  # characters of a growing text that may be on the screen


@dataclass(slots=True)
class _Growing:
    """A text while the model writes it: the message, an attempt at a structured answer (which is never kept), or
    narration."""

    kind: Literal["message", "raw", "narration"]
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, offset: int, text: str) -> None:
        if offset < self.size:
            self.pieces = ["".join(self.pieces)[:offset]]
        self.pieces.append(text)
        self.size = offset + len(text)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def recent(self) -> str:
        """The end of the text, from the start of a line: no more of it is seen while it grows."""
        if self.size <= 2 * SEEN:
            return self.text
        last: list[str] = []
        while sum(map(len, last)) < SEEN:
            last.append(self.pieces[-1 - len(last)])
        cut = "".join(reversed(last))[-SEEN:]
        return cut.partition("\n")[2] or cut


@dataclass(slots=True)
class _Running:
    call: str
    began: float
    progress: str = ""


class Transcript:
    """What a person sees of a conversation. `take` gives what is final by an event, in order; `live` what is not yet.

    `echo` says whether the person's own messages are shown: a chat prints them when they join a turn.
    """

    def __init__(self, *, echo: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.waiting: list[MessageReceived] = []
        self.is_running = False
        self._echo = echo
        self._clock = clock
        self._growing: dict[str, _Growing] = {}
        self._running: dict[str, _Running] = {}
        self._began = clock()
        self._shown = ""
        self._is_opened = False

    def take(self, event: Event) -> list[Part]:
        """What stands on the screen for good because of this event."""
        match event:
            case TurnStarted():
                self.is_running = True
                self._began = self._clock()
                self._shown = ""
                self._is_opened = False
                self._growing.clear()
            case MessageReceived():
                self.waiting.append(event)
            case RoundStarted():
                self._is_opened = True
                return [*self._narrated(), *self._joined(event.round)]
            case MessageDelta():
                self._growing.setdefault(event.id, _Growing("message")).add(event.offset, event.text)
            case TextDelta():
                self._growing.setdefault(event.id, _Growing("narration")).add(event.offset, event.text)
            case RawDelta():
                self._growing.setdefault(event.id, _Growing("raw")).add(event.offset, event.text)
            case MessageRetracted():
                self._growing.pop(event.id, None)
            case MessageCommitted():
                self._growing.pop(event.id, None)
                return [*self._narrated(), Said(clean(event.text))]
            case ToolStarted():
                self._running[event.call_id] = _Running(call_text(event.name, event.arguments), self._clock())
                return self._narrated()
            case ToolProgress():
                if event.call_id in self._running:
                    self._running[event.call_id].progress = str(event.data)
            case ToolEnded():
                running = self._running.pop(event.call_id, None)
                return [tool_line(running.call if running else call_text(event.name, ""), event)]
            case CorrectionSent():
                return [*self._narrated(), correction_line(event)]
            case RepairSent():
                return [*self._narrated(), repair_line(event)]
            case TurnNarrowed():
                return [*self._narrated(), narrowed_line(event)]
            case Notice():
                return [notice_line(event)]
            case TurnEnded():
                return self._ended(event.data)
            case _:
                pass
        return []

    def live(self) -> list[Part]:
        """What is on its way: text that grows, tools that run, messages that wait."""
        parts: list[Part] = []
        for growing in self._growing.values():
            text = clean(growing.recent)
            if text.strip():
                parts.append(Said(text) if growing.kind == "message" else Aside(text))
        for running in self._running.values():
            seconds = self._clock() - running.began
            parts.append(Line(f"… {running.call} {seconds:.0f} s {clean(running.progress)}".rstrip(), "dim", fits=True))
        if self.is_running and not parts:
            parts.append(Line(f"… thinking {self._clock() - self._began:.0f} s", "dim"))
        if self._echo and self.is_running:
            parts += [waiting_line(each.text, each.mode) for each in self.waiting]
        return parts

    def _joined(self, round: int) -> list[Part]:
        """The person's messages that this round has taken: all for the first one, later those that steer."""
        taken = [each for each in self.waiting if round == 0 or each.mode == "steer"]
        self.waiting = [each for each in self.waiting if each not in taken]
        return [user_line(each.text) for each in taken] if self._echo else []

    def _narrated(self) -> list[Part]:
        told = [clean(each.text) for each in self._growing.values() if each.kind == "narration"]
        self._growing = {id: each for id, each in self._growing.items() if each.kind == "message"}
        parts: list[Part] = [Aside(text) for text in told if text.strip()]
        self._shown = "".join(told) or self._shown
        return parts

    def _ended(self, report: TurnReport) -> list[Part]:
        parts = self._narrated()
        if self.is_running and not self._is_opened:  # it ended at its door, with the messages it had taken
            parts = [*self._joined(0), *parts]
        self._growing.clear()
        parts += [Line(f"✗ {each.call} did not end", "bad") for each in self._running.values()]
        self._running.clear()
        self.is_running = False
        if report.outcome is not Outcome.STARTED:
            parts += report_parts(report, self._clock() - self._began, shown=self._shown)
        return parts
