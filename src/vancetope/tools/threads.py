"""Blocking tools: a bounded number of daemon threads, each for one call."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from vancetope.tools.failure import Exited

T = TypeVar("T")


class Threads:
    """Runs blocking functions, at most `limit` at a time, for one event loop.

    A thread lives for one call, so none is idle and there is nothing to close. It is a daemon: one that never returns
    cannot keep the process. A thread whose caller gave up holds its place until it ends, and what it gives is dropped.
    """

    def __init__(self, limit: int = 8) -> None:
        self._places = asyncio.Semaphore(limit)
        self.left: set[asyncio.Future[Any]] = set()
        """One future for each thread that still runs although its caller gave up."""
        self.waits: dict[asyncio.Task[Any] | None, asyncio.Future[None]] = {}
        """For each task that waits for a thread, a future that is done when it goes on."""

    async def run(self, work: Callable[[], T]) -> T:
        """What `work()` returns or raises, from a thread that sees the caller's context variables.

        What is no `Exception` is raised as `Exited`: it ends a thread, and nothing else.
        """
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
        value, error = await self._end_of(ended)
        if isinstance(error, Exception):
            raise error
        if error is not None:
            raise Exited(error)
        return value  # type: ignore[return-value]  # T itself may be None

    async def _end_of(self, ended: asyncio.Future[T]) -> T:
        task, over = asyncio.current_task(), asyncio.get_running_loop().create_future()
        self.waits[task] = over
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            if not ended.done():
                self.left.add(ended)
                ended.add_done_callback(self.left.discard)
                _left_by.get(set()).add(ended)
            raise
        finally:
            del self.waits[task]
            over.set_result(None)


_left_by: ContextVar[set[asyncio.Future[Any]]] = ContextVar("vancetope_left_by")


def note_left(left: set[asyncio.Future[Any]]) -> None:
    """Have the threads that this task and those it starts give up put into `left` as well."""
    _left_by.set(left)


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
