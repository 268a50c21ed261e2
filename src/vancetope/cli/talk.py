"""A chat on a screen: a person types while the model writes."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vancetope.cli.lines import Line, error_line
from vancetope.cli.opening import is_small, opened, small_model_lines
from vancetope.cli.retries import tell_retries
from vancetope.cli.screen import Screen
from vancetope.cli.slash import command_in
from vancetope.cli.transcript import Transcript
from vancetope.cli.trouble import INTERRUPTED, bug_sentence
from vancetope.cli.wire import on_stderr, wire_text
from vancetope.cli.wishes import Wishes
from vancetope.errors import ConfigError, VancetopeError
from vancetope.events import Event
from vancetope.settings import Settings, load

if TYPE_CHECKING:
    from vancetope.lane import Lane, Mode
    from vancetope.prepare import Prepared

TWICE = 2.0  # seconds within which a second Ctrl-C leaves


async def talk(wishes: Wishes) -> int:
    """Show the screen until somebody leaves; the exit code."""
    return await Talk(wishes, load()).run()


class Talk:
    """The conversation of one screen: its lane, and what was typed before there was one."""

    def __init__(self, wishes: Wishes, settings: Settings) -> None:
        self.screen = Screen(self._line, self._interrupt, self._frame)
        self.lane: Lane | None = None
        self._wishes = wishes
        self._settings = settings
        self._transcript = Transcript(echo=True)
        self._early: list[str] = []
        self._keeper: asyncio.Task[None] | None = None
        self._opener: asyncio.Task[None] | None = None
        self._others: set[asyncio.Task[None]] = set()
        self._pressed = float("-inf")

    async def run(self) -> int:
        try:
            return await self.screen.run(self._open_soon)
        finally:
            if self._opener is not None:
                self._opener.cancel()
                with suppress(asyncio.CancelledError):
                    await self._opener
            if self.lane is not None:
                await self.lane.stop()
                await self.lane.prepared.aclose()

    def _open_soon(self) -> None:
        self.screen.status("loading")
        self._opener = asyncio.create_task(self._open())

    async def _open(self) -> None:
        """Load what a turn needs behind the prompt, choose the model and greet."""
        try:
            await asyncio.to_thread(_load_heavy)
            prepared = await self._prepared(self._wishes)
            self.screen.status("")
            if is_small(prepared.choice):
                self.screen.tell(*small_model_lines())
            self.lane = self._lane(prepared)
            tell_retries(self.screen.tell)
            await self.lane.start()
            early, self._early = self._early, []
            for text in early:
                self._line(text)
        except Exception as error:
            self.screen.fail(error)

    async def _prepared(self, wishes: Wishes) -> Prepared:
        asked = wishes.asked(self._settings.default_recipe, self._wire if wishes.wire else None)
        return await opened(asked, self._settings, self.screen, agrees=wishes.agrees)

    def _lane(self, prepared: Prepared, like: Lane | None = None) -> Lane:
        from vancetope.lane import Lane

        return Lane(prepared, self._publish, history=like.history if like else None)

    def _publish(self, event: Event) -> None:
        parts = self._transcript.take(event)
        if parts:
            self.screen.settle(parts)

    def _frame(self) -> None:
        self.screen.live(self._transcript.live())
        if self._pressed != float("-inf") and time.monotonic() - self._pressed > TWICE:
            self._pressed = float("-inf")
            self.screen.status("")

    def _wire(self, kind: str, value: Any) -> None:
        if sys.stderr.isatty():
            self.screen.settle([Line(wire_text(kind, value, indented=True), "dim")])
        else:
            on_stderr(kind, value)

    def _line(self, text: str) -> None:
        if self.lane is None:
            self._early.append(text)
            return
        command = command_in(text)
        if command is None:
            self.post(text)
        else:
            command.run(self, command.rest)

    def post(self, text: str, mode: Mode = "follow_up") -> None:
        """Send a message; what cannot be sent is said."""
        assert self.lane is not None
        try:
            self.lane.post(text, mode)
        except VancetopeError as error:
            self.screen.settle([error_line(error)])
            return
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep(self.lane))

    async def _keep(self, lane: Lane) -> None:
        """See a lane come to rest. One that broke is replaced by a new one with the same conversation."""
        try:
            await lane.settled()
        except Exception as error:
            line = error_line(error) if isinstance(error, ConfigError) else Line(f"✗ {bug_sentence(error)}", "bad")
            self.screen.settle([line])
            self._transcript = Transcript(echo=True)
            if self.lane is lane:
                self.lane = self._lane(lane.prepared, lane)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something happen beside the screen."""
        task = asyncio.create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)
        task.add_done_callback(lambda task: None if task.cancelled() else self.screen.fail(task.exception()))

    @property
    def is_busy(self) -> bool:
        return self._transcript.is_running

    def interrupt(self) -> None:
        """Interrupt the running turn; what was queued goes back into the prompt."""
        if self.lane is None or not self.is_busy:
            return
        from vancetope.messages import text_of

        taken = [text_of(each.content) for each in self.lane.interrupt(drop_queue=True)]
        self._transcript.waiting.clear()
        if taken:
            self.screen.retype("\n".join([*taken, *filter(None, [self.screen.typed])]))

    def _interrupt(self) -> None:
        now = time.monotonic()
        if now - self._pressed <= TWICE or self.screen.is_asking:
            self.screen.leave(INTERRUPTED)
            return
        self._pressed = now
        self.screen.status("Ctrl-C again leaves")
        if self.is_busy:
            self.interrupt()
        else:
            self.screen.retype("")

    async def change_model(self, name: str) -> None:
        """Go on with another model in the same conversation."""
        assert self.lane is not None
        old = self.lane
        try:
            other = await self._prepared(replace(self._wishes, model=name))
        except VancetopeError as error:
            self.screen.settle([error_line(error)])
            return
        # It is the same conversation: what it has spent counts on.
        self.lane = self._lane(replace(other, account=old.prepared.account), old)
        await old.stop()
        await old.prepared.aclose()


def _load_heavy() -> None:
    for name in ("vancetope.cli.paint", "vancetope.lane", "vancetope.backends.openai"):
        importlib.import_module(name)
