"""The screen of a chat: what was said scrolls up, what is on its way and the prompt stay at the bottom."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.vt100 import Vt100_Output

from vancetope.cli.lines import Line, Part
from vancetope.cli.page import toned
from vancetope.cli.person import YES
from vancetope.cli.places import private_file, state_dir

if TYPE_CHECKING:
    from rich.console import Console

FRAME = 0.08  # seconds between two pictures, more where painting one takes long
PROMPT = "> "


class Screen:
    """A terminal in which a person types while the model writes. It is a `Page` and a `Person`.

    `on_line` is told each line that was entered, `on_interrupt` each Ctrl-C, `before_frame` runs before each picture.
    """

    is_repainted = True

    def __init__(
        self, on_line: Callable[[str], None], on_interrupt: Callable[[], None], before_frame: Callable[[], None]
    ) -> None:
        self._on_line = on_line
        self._on_interrupt = on_interrupt
        self._before_frame = before_frame
        self._settled: list[Part] = []
        self._live: Sequence[Part] = ()
        self._above: Part | None = None
        self._status = ""
        self._failure: BaseException | None = None
        self._question: tuple[str, asyncio.Future[str]] | None = None
        self._console: Console | None = None
        self._picture: list[str] = []
        self._pictured_of: object = None
        self._session: PromptSession[int] = PromptSession(
            self._message,
            multiline=True,
            history=_history(),
            key_bindings=self._keys(),
            prompt_continuation="  ",
            reserve_space_for_menu=0,
            enable_suspend=True,
            erase_when_done=True,
            output=_output(),
        )

    async def run(self, on_open: Callable[[], None]) -> int:
        """Show the prompt until somebody leaves; the exit code. `on_open` runs once the prompt is visible. Raises what
        `fail` was told, and what went wrong in any callback."""
        opened: list[bool] = []

        def rendered(_: Any) -> None:
            if not opened:
                opened.append(True)
                on_open()

        self._session.app.after_render += rendered
        loop = asyncio.get_running_loop()
        # The terminal itself sends these only while something is printed; others may always.
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        loop.add_signal_handler(signal.SIGTERM, self.leave, 128 + signal.SIGTERM)
        loop.set_exception_handler(lambda _, context: self.fail(context.get("exception")))
        painter = asyncio.create_task(self._paint())
        painter.add_done_callback(lambda task: None if task.cancelled() else self.fail(task.exception()))
        try:
            code = await self._session.prompt_async(handle_sigint=False, set_exception_handler=False)
        except EOFError:
            code = 0
        finally:
            painter.cancel()
            with suppress(asyncio.CancelledError):
                await painter
        if self._failure is not None:
            raise self._failure
        self.flush()
        return code

    def leave(self, code: int) -> None:
        """End `run` with this exit code."""
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(result=code)

    def fail(self, error: BaseException | None) -> None:
        """End `run` with this error; the first one counts."""
        if error is not None and self._failure is None:
            self._failure = error
            self.leave(1)

    def settle(self, parts: Sequence[Part]) -> None:
        self._settled += parts

    def live(self, parts: Sequence[Part]) -> None:
        self._live = parts

    def close(self) -> None:
        self._live = ()

    def status(self, text: str) -> None:
        """The dim line above the prompt; empty for none."""
        self._status = text

    def tell(self, *lines: Line) -> None:
        self.settle(lines)

    async def confirm(self, question: str) -> bool | None:
        """Ask above the prompt; the next line that is entered answers."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._question = (question, answer)
        self._session.app.invalidate()
        try:
            said = await answer
        finally:
            self._question = None
        self.settle([Line(f"{question} [Y/n] {said}", "you")])
        return said.strip().lower() in YES

    async def fetch(self, name: str) -> Path:
        from vancetope.backends.local.pull import pull

        def progress(done: int, total: int | None) -> None:
            share = min(done / total, 1.0) if total else 0.0
            bar = f"{'━' * round(20 * share):─<20}"
            self.status(f"fetching {name} {bar} {done / 1e6:.0f} of {(total or 0) / 1e6:.0f} MB")

        try:
            return await pull(name, progress)
        finally:
            self.status("")

    @property
    def typed(self) -> str:
        return self._session.default_buffer.text

    def retype(self, text: str) -> None:
        """Replace what stands in the prompt."""
        self._session.default_buffer.reset()
        self._session.default_buffer.insert_text(text)

    @property
    def is_asking(self) -> bool:
        return self._question is not None

    def flush(self) -> None:
        """Print what was settled, for good. The terminal stays raw: what is typed meanwhile is not echoed."""
        parts, self._settled = self._settled, []
        if not parts:
            return
        from vancetope.cli.paint import console_for, together

        if self._console is None:
            self._console = console_for(sys.stdout)
        app = self._session.app
        if app.is_running:
            app.renderer.erase()
        self._console.print(together(parts, self._above))
        self._above = parts[-1]
        app.invalidate()

    async def _paint(self) -> None:
        took = 0.0
        while True:
            await asyncio.sleep(max(FRAME, 4 * took))
            self._before_frame()
            began = time.monotonic()
            before = self._picture
            self._picture = self._pictured()
            took = time.monotonic() - began
            if self._settled:
                self.flush()
            elif self._picture != before:
                self._session.app.invalidate()

    def _pictured(self) -> list[str]:
        size = self._session.output.get_size()
        room = max(size.rows - self.typed.count("\n") - 4, 1)
        seen = (tuple(self._live), self._status, size, room)
        if seen == self._pictured_of:
            return self._picture
        self._pictured_of = seen
        lines: list[str] = []
        if self._live:
            from vancetope.cli.paint import as_ansi, tail

            lines = tail(as_ansi(self._live, size.columns, self._above), room)
        return [*lines, toned(self._status, "dim", sys.stdout)] if self._status else lines

    def _message(self) -> ANSI:
        if self._question:
            return ANSI(toned(f"{self._question[0]} [Y/n] ", "you", sys.stdout))
        lines = [*self._picture, toned(PROMPT, "you", sys.stdout)]
        if self._above is not None and not self._picture:
            lines.insert(0, "")
        return ANSI("\n".join(lines))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            text = buffer.text
            if self._question:
                buffer.reset()
                self._question[1].set_result(text)
                return
            if text.strip():
                buffer.append_to_history()
                buffer.reset()
                self._on_line(text)

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _(_: KeyPressEvent) -> None:
            self._on_interrupt()

        @keys.add("c-d")
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.delete()
            else:
                self.leave(0)

        return keys


def _output() -> Vt100_Output:
    """The terminal. Nothing we show needs the cursor's place, and one that does not tell it would hold us up."""
    output = Vt100_Output.from_pty(sys.stdout, term=os.environ.get("TERM"))
    output.enable_cpr = False
    return output


def _history() -> History:
    """What was typed in earlier chats, in a file that only its owner can read."""
    try:
        return FileHistory(str(private_file(state_dir() / "chat_history")))
    except OSError:
        return InMemoryHistory()
