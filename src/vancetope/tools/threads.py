"""Blocking tools: a bounded number of daemon threads, each for one call."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class ThreadLeft(Exception):
    """What ran in the thread raised something that only ends a program (`sys.exit()`); a thread it just ends.

    `cause` is what it raised.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class Threads:
    """Runs blocking functions, at most `limit` at a time, for one event loop.

    A thread lives for one call, so none is idle and there is nothing to close. It is a daemon: one that never returns
    cannot keep the process. A thread whose caller gave up holds its place until it ends, and what it gives is dropped.
    """

    def __init__(self, limit: int = 8) -> None:
        self._places = asyncio.Semaphore(limit)
        self.left: set[asyncio.Future[Any]] = set()
        """One future for each thread that still runs although its caller gave up."""

    async def run(self, work: Callable[[], T]) -> T:
        """What `work()` returns or raises, from a thread that sees the caller's context variables."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
        context = copy_context()

        def end(value: T | None, error: BaseException | None) -> None:
            self._places.release()
            if not ended.done():
                ended.set_result((value, error))

        def body() -> None:
            value: T | None = None
            raised: BaseException | None = None
            try:
                value = context.run(work)
            except BaseException as error:
                raised = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(end, value, raised)

        try:
            threading.Thread(target=body, name="vancetope-tool", daemon=True).start()
        except BaseException:  # the machine has no thread left
            end(None, None)
            raise
        try:
            value, error = await asyncio.shield(ended)
        except asyncio.CancelledError:
            if not ended.done():
                self.left.add(ended)
                ended.add_done_callback(self.left.discard)
            raise
        if isinstance(error, Exception):
            raise error
        if error is not None:
            raise ThreadLeft(error)
        return value  # type: ignore[return-value]  # T itself may be None


_current: ContextVar[Threads | None] = ContextVar("vancetope_threads", default=None)


def current() -> Threads:
    """The threads of the batch that runs this task, or new ones outside a batch."""
    return _current.get() or Threads()


@contextlib.contextmanager
def using(threads: Threads) -> Iterator[None]:
    """Make these the current threads, for this task and those it starts."""
    token = _current.set(threads)
    try:
        yield
    finally:
        _current.reset(token)
