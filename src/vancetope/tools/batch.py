"""Running the calls of one reply: side by side, bounded, and with exactly one result each."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from vancetope import sentences
from vancetope.events import Event, ToolEnded, ToolProgress, ToolStarted
from vancetope.messages import Call, Result
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.blobs import Blobs
from vancetope.tools.failure import failure_text
from vancetope.tools.outputs import bounded
from vancetope.tools.threads import Threads, using
from vancetope.tools.values import printable, text_of

__all__ = ["GRACE", "Around", "Blobs", "Limits", "Planned", "Threads", "Workshop", "run_calls"]

GRACE = 5.0
"""Seconds that a cancelled call may take to end before it is left alone."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout` in seconds for tools that name none; `output_cap` in bytes of UTF-8 for each result."""

    timeout: float = 60.0
    output_cap: int = 32 * 1024


@dataclass(frozen=True, slots=True)
class Planned:
    """A call that may run: its tool, and its arguments decoded and checked against the tool's schema."""

    call: Call
    tool: Tool
    arguments: Mapping[str, Any]


Around: TypeAlias = Callable[[Call, Callable[[], Awaitable[Result]]], Coroutine[Any, Any, Result]]


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the batches of a turn share. `interrupt`, once set, stops what runs; `publish` never raises. `around` is
    given each call and what runs it: it may have the result already and not run it."""

    publish: Callable[[Event], None]
    blobs: Blobs
    threads: Threads
    limits: Limits = field(default_factory=Limits)
    deps: Any = None
    session: str = ""
    interrupt: asyncio.Event | None = None
    around: Around | None = None


async def run_calls(planned: Sequence[Planned], shop: Workshop) -> tuple[Result, ...]:
    """Run the calls; one result each, in the given order. What a tool does never makes this raise.

    Calls run concurrently; one whose tool is `alone` starts when those before it have ended, and those after it start
    when it has. A call that fails, cancels itself or exceeds its time gets an error result and its siblings go on.
    When the interrupt is set, running calls are cancelled and awaited for at most `GRACE` seconds, calls not started
    never run, and both get the result `interrupted`; finished results stay. When the awaiting task is cancelled the
    same is done and `CancelledError` raised. Every `ToolStarted` is followed by its `ToolEnded`.
    """
    results: list[Result] = []
    with using(shop.threads):
        for group in _groups(planned):
            if shop.interrupt is not None and shop.interrupt.is_set():
                results.extend(map(_never_ran, group))
            else:
                results.extend(await _run_group(group, shop))
    return tuple(results)


def _groups(planned: Sequence[Planned]) -> Iterator[list[Planned]]:
    """The calls in the sets that may run side by side, in order."""
    group: list[Planned] = []
    for each in planned:
        if group and (each.tool.alone or group[-1].tool.alone):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _never_ran(planned: Planned) -> Result:
    text = sentences.INTERRUPTED
    return Result(planned.call.id, planned.call.name, text, ok=False, size=len(text))


async def _run_group(group: Sequence[Planned], shop: Workshop) -> list[Result]:
    left_before = set(shop.threads.left)
    tasks = [asyncio.create_task(_kept(each, shop)) for each in group]
    try:
        interrupted = await _all_done(tasks, shop.interrupt)
    except asyncio.CancelledError:
        await _stop_all(tasks, shop, left_before)
        raise
    if interrupted:
        await _stop_all(tasks, shop, left_before)
    return [_never_ran(each) if task.cancelled() else task.result() for each, task in zip(group, tasks, strict=True)]


async def _all_done(tasks: Sequence[asyncio.Task[Result]], interrupt: asyncio.Event | None) -> bool:
    """Wait for all tasks, or for the interrupt: true where that came first."""
    if interrupt is None:
        await asyncio.wait(tasks)
        return False
    bell = asyncio.create_task(interrupt.wait())
    everything = asyncio.ensure_future(asyncio.wait(tasks))
    try:
        await asyncio.wait((bell, everything), return_when=asyncio.FIRST_COMPLETED)
        return not everything.done()
    finally:
        bell.cancel()
        everything.cancel()
        await asyncio.gather(bell, everything, return_exceptions=True)


async def _stop_all(tasks: Sequence[asyncio.Task[Result]], shop: Workshop, left_before: set[Any]) -> None:
    """Cancel what runs and wait for it, threads that cannot be stopped included, but not for ever."""
    until = time.monotonic() + GRACE
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    if threads_left := shop.threads.left - left_before:
        await asyncio.wait(threads_left, timeout=max(0.0, until - time.monotonic()))


async def _kept(planned: Planned, shop: Workshop) -> Result:
    if shop.around is None:
        return await _run_one(planned, shop)
    return await shop.around(planned.call, partial(_run_one, planned, shop))


async def _run_one(planned: Planned, shop: Workshop) -> Result:
    """Run a call to its result. It swallows being cancelled: that is its result then."""
    call, name = planned.call, planned.call.name
    progress = _Progress(call.id, name, shop.publish, asyncio.get_running_loop())
    context = ToolContext(shop.deps, shop.session, call.id, progress)
    shop.publish(ToolStarted(call.id, name, dict(planned.arguments)))
    started = time.monotonic()
    try:
        text, ok = await _outcome(planned, context, shop.limits)
        text = await _made_printable(text)
    except asyncio.CancelledError:
        text, ok = sentences.INTERRUPTED, False
    progress.is_open = False
    shown, handle = bounded(text, call.id, shop.limits.output_cap, shop.blobs)
    shop.publish(ToolEnded(call.id, name, ok, shown, time.monotonic() - started))
    return Result(call.id, name, shown, ok=ok, size=len(text), handle=handle)


async def _outcome(planned: Planned, context: ToolContext, limits: Limits) -> tuple[str, bool]:
    """The text and success of a call that was not interrupted. The tool runs in a task of its own, so that one that
    cancels itself, or ignores being cancelled, does so there."""
    seconds = limits.timeout if planned.tool.timeout is None else planned.tool.timeout
    task = asyncio.create_task(_text(planned, context))
    try:
        await asyncio.wait((task,), timeout=seconds)
        if not task.done():
            return sentences.TIMED_OUT.format(seconds=seconds), False
    finally:
        if not task.done():
            task.add_done_callback(_noted)
            task.cancel()
            await asyncio.wait((task,), timeout=GRACE)
    if task.cancelled():
        return sentences.CANCELLED_ITSELF, False
    error = task.exception()
    return (task.result() or sentences.NO_OUTPUT, True) if error is None else (failure_text(error), False)


async def _text(planned: Planned, context: ToolContext) -> str:
    return text_of(await planned.tool.run(planned.arguments, context))


def _noted(task: asyncio.Task[str]) -> None:
    """Take the exception of a task that nobody awaits, or asyncio complains of it."""
    if not task.cancelled():
        task.exception()


_LONG = 1_000_000


async def _made_printable(text: str) -> str:
    """`printable`, in a thread where the text is so long that the loop would be held up."""
    return printable(text) if len(text) < _LONG else await Threads(1).run(partial(printable, text))


@dataclass(slots=True)
class _Progress:
    """A call's `emit`: publishes from any thread, in order, and no more once the call has ended."""

    call_id: str
    name: str
    publish: Callable[[Event], None]
    loop: asyncio.AbstractEventLoop
    thread: int = field(default_factory=threading.get_ident)
    is_open: bool = True

    def __call__(self, data: Any) -> None:
        if threading.get_ident() == self.thread:
            self._publish(data)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self.loop.call_soon_threadsafe(self._publish, data)

    def _publish(self, data: Any) -> None:
        if self.is_open:
            self.publish(ToolProgress(self.call_id, self.name, data))
