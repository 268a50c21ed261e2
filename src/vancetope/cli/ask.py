"""`vancetope ask`: one question, one turn."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from vancetope.cli.inputs import SaveFile, history_from, prompt_from
from vancetope.cli.lines import Line, exit_code
from vancetope.cli.opening import opened
from vancetope.cli.page import Page, Streams, Terminal
from vancetope.cli.person import AtTerminal
from vancetope.cli.retries import tell_retries
from vancetope.cli.trouble import Refused
from vancetope.cli.watch import Program, Reader, Watcher
from vancetope.cli.watched import Watched
from vancetope.cli.wire import on_stderr
from vancetope.cli.wishes import Files, Wishes
from vancetope.events import Event, MessageReceived, StatusChanged, TurnEnded
from vancetope.messages import History
from vancetope.outcome import Turn
from vancetope.settings import load

EXAMPLE = 'vancetope ask "What time is it in Paris?"'


def ask(prompt: str | None, wishes: Wishes, files: Files) -> int:
    """Ask once; the exit code. Whatever can be refused is refused before the turn is paid."""
    if sys.stdout is None:
        raise Refused("standard output is closed: there is nowhere to put the answer")
    question = prompt_from(prompt, EXAMPLE)
    history = history_from(files.history)
    save = SaveFile(files.save) if files.save else None
    turn = asyncio.run(_asked(question, wishes, history))
    if save:
        save.write(turn.messages)
    return exit_code(turn.outcome)


async def _asked(question: str, wishes: Wishes, history: History) -> Turn:
    settings = load()
    person = AtTerminal(quiet=wishes.quiet, may_ask=not wishes.as_json)
    asked = wishes.asked("ford", on_stderr if wishes.wire else None)
    prepared = await opened(asked, settings, person, agrees=wishes.agrees)
    watcher = OneTurn(watcher_for(wishes))
    tell_retries(watcher.tell)
    try:
        return await Watched(prepared, watcher, history).turn(question)
    finally:
        with suppress(OSError):
            watcher.close()
        await prepared.aclose()


def watcher_for(wishes: Wishes) -> Watcher:
    """Who watches: a program, a person at a terminal, or a pipe."""
    if wishes.as_json:
        return Program()
    page: Page = Terminal(quiet=wishes.quiet) if sys.stdout.isatty() else Streams(quiet=wishes.quiet)
    return Reader(page)


class OneTurn:
    """A watcher that sees what `stream` gives, from the turn's start to its end, and nothing of the process around."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._is_over = False

    def take(self, event: Event) -> None:
        if self._is_over or isinstance(event, MessageReceived | StatusChanged):
            return
        self._is_over = isinstance(event, TurnEnded)
        self._watcher.take(event)

    def tick(self) -> None:
        if not self._is_over:
            self._watcher.tick()

    def tell(self, line: Line) -> None:
        self._watcher.tell(line)

    def close(self) -> None:
        self._watcher.close()
