"""Work on the command line: somebody watches it, Ctrl-C and the wish to end interrupt it, and without a reader it does
not go on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from vancetope.cli.watch import Watcher
from vancetope.events import Event
from vancetope.lane import Lane
from vancetope.messages import History
from vancetope.outcome import Turn
from vancetope.prepare import Prepared

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # a paid call under way is still counted then
FRAME = 0.1  # seconds between two pictures of what is on its way


class Watched:
    """A lane whose events go to a watcher."""

    def __init__(self, prepared: Prepared, watcher: Watcher, history: History | None = None) -> None:
        self._watching = Watching(watcher, self._interrupt)
        self.lane = Lane(prepared, self._watching.publish, history=history)

    async def turn(self, message: str) -> Turn:
        """One turn, to its end. Raises `OSError` if its reader is gone, KeyboardInterrupt if Ctrl-C came twice."""
        async with self._watching.work():
            self.lane.post(message)
            return await self.lane.settled()

    def _interrupt(self) -> None:
        self.lane.interrupt(drop_queue=True)


class Watching:
    """Events on their way to a watcher. `interrupt` is called for Ctrl-C, and once nobody reads any more."""

    def __init__(self, watcher: Watcher, interrupt: Callable[[], None]) -> None:
        self._watcher = watcher
        self._interrupt = interrupt
        self._lost: OSError | None = None

    def publish(self, event: Event) -> None:
        self._show(lambda: self._watcher.take(event))

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """A block of work that is watched. It ends with `OSError` if the reader is gone, and with KeyboardInterrupt if
        Ctrl-C came twice."""
        ticker = asyncio.create_task(self._tick())
        try:
            with interrupting(self._interrupt):
                yield
        finally:
            ticker.cancel()
            with suppress(asyncio.CancelledError):
                await ticker
        if self._lost is not None:
            raise self._lost

    def _show(self, show: Callable[[], None]) -> None:
        if self._lost is not None:
            return
        try:
            show()
        except OSError as error:
            self._lost = error
            self._interrupt()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(FRAME)
            self._show(self._watcher.tick)


@contextmanager
def interrupting(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls this, and so do the other wishes that we end; a second one ends the block with KeyboardInterrupt.
    One that is ignored (nohup) stays ignored."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    pressed = 0

    def press(*_: Any) -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            interrupt()
        elif task is not None:
            task.cancel()

    handled = {each: before for each in ENDINGS if (before := signal.getsignal(each)) is not signal.SIG_IGN}
    for each in handled:
        loop.add_signal_handler(each, press)
    try:
        yield
    except asyncio.CancelledError:
        if pressed > 1:
            raise KeyboardInterrupt from None
        raise
    finally:
        for each, before in handled.items():
            loop.remove_signal_handler(each)
            signal.signal(each, before)
