"""A lane on the command line: somebody watches it, Ctrl-C interrupts it, and without a reader it does not go on."""

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

FRAME = 0.1  # seconds between two pictures of what is on its way


class Watched:
    """A lane whose events go to a watcher. `lost` is the error that told us that nobody reads any more."""

    def __init__(self, prepared: Prepared, watcher: Watcher, history: History | None = None) -> None:
        self.lane = Lane(prepared, self._publish, history=history)
        self.lost: OSError | None = None
        self._watcher = watcher

    async def turn(self, message: str) -> Turn:
        """One turn, to its end. Raises `OSError` if its reader is gone, KeyboardInterrupt if Ctrl-C came twice."""
        async with self._ticking():
            with interrupting(self.lane):
                self.lane.post(message)
                turn = await self.lane.settled()
        self.check()
        return turn

    def check(self) -> None:
        """Raises `OSError` once nobody reads any more."""
        if self.lost is not None:
            raise self.lost

    def _publish(self, event: Event) -> None:
        self._show(lambda: self._watcher.take(event))

    def _show(self, show: Callable[[], None]) -> None:
        if self.lost is not None:
            return
        try:
            show()
        except OSError as error:
            self.lost = error
            self.lane.interrupt(drop_queue=True)

    @asynccontextmanager
    async def _ticking(self) -> AsyncIterator[None]:
        ticker = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticker.cancel()
            with suppress(asyncio.CancelledError):
                await ticker

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(FRAME)
            self._show(self._watcher.tick)


@contextmanager
def interrupting(lane: Lane) -> Iterator[None]:
    """Ctrl-C interrupts the lane's turn; a second one ends the block with KeyboardInterrupt."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    pressed = 0

    def press(*_: Any) -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            lane.interrupt(drop_queue=True)
        elif task is not None:
            task.cancel()

    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, press)
    try:
        yield
    except asyncio.CancelledError:
        if pressed > 1:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
