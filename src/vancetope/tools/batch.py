"""Running the calls of one reply: side by side, bounded, and with exactly one result each."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias

from vancetope import sentences
from vancetope.events import Event, ToolEnded, ToolProgress, ToolStarted
from vancetope.messages import Call, Result
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.blobs import Blobs
from vancetope.tools.failure import Exited, failure_text, is_ctrl_c
from vancetope.tools.outputs import bounded
from vancetope.tools.threads import Threads, note_left, using
from vancetope.tools.values import printable, text_of

__all__ = ["GRACE", "OUTPUT_CAP", "Around", "Blobs", "Limits", "Planned", "Threads", "Workshop", "run_calls"]

GRACE = 5.0
"""Seconds that a call may take to end once it was told to, before it is left alone."""
_MOMENT = 0.05
OUTPUT_CAP = 32 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout` in seconds for tools that name none; `output_cap` in bytes of UTF-8 for each result."""

    timeout: float = 60.0
    output_cap: int = OUTPUT_CAP


@dataclass(frozen=True, slots=True)
class Planned:
    """A call that may run: its tool, and its arguments decoded and checked against the tool's schema."""

    call: Call
    tool: Tool
    arguments: Mapping[str, Any]


Stop: TypeAlias = asyncio.Future[Literal["interrupted", "cancelled"]]
"""Done as soon as the calls of a group have to end, and why: the turn was interrupted, or its task is cancelled."""

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
    """Run the calls; one result each, in the given order. What a tool does never makes this raise, but for a
    `KeyboardInterrupt` in the main thread: it may be a person's.

    Calls run concurrently; one whose tool is `alone` starts when those before it have ended, and those after it start
    when it has. A call that fails, exits, cancels itself or exceeds its time gets an error result and its siblings go
    on. When the interrupt is set, running calls are cancelled, threads awaited, for at most `GRACE` seconds. What
    finishes by then keeps its result, the rest is `interrupted`, and a call that still runs says so; calls not started
    never run. When the awaiting task is cancelled the same is done and `CancelledError` raised; for a call that had not
    finished it is raised through `around`, so that no result is stored. Every `ToolStarted` is followed by its
    `ToolEnded`.
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
    stop: Stop = asyncio.get_running_loop().create_future()
    tasks = [asyncio.create_task(_kept(each, shop, stop)) for each in group]
    try:
        if await _all_done(tasks, shop.interrupt):
            stop.set_result("interrupted")
            await _all_ended(tasks)
    except asyncio.CancelledError:
        if not stop.done():
            stop.set_result("cancelled")
        await _all_ended(tasks)
        raise
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


async def _all_ended(tasks: Sequence[asyncio.Task[Result]]) -> None:
    """Wait for calls that were told to stop, which takes them `GRACE`; what is around them may hang for longer."""
    try:
        await asyncio.wait(tasks, timeout=2 * GRACE)
    finally:
        for task in tasks:
            task.add_done_callback(_noted)
            task.cancel()
    await asyncio.wait(tasks)


async def _kept(planned: Planned, shop: Workshop, stop: Stop) -> Result:
    if shop.around is None:
        return await _run_one(planned, shop, stop)
    return await shop.around(planned.call, partial(_run_one, planned, shop, stop))


async def _run_one(planned: Planned, shop: Workshop, stop: Stop) -> Result:
    """Run a call to its result. Raises `CancelledError` where there is none because the turn's task is cancelled."""
    call, name = planned.call, planned.call.name
    if stop.done():
        return _never_ran(planned) if stop.result() == "interrupted" else _cancel()
    progress = _Progress(call.id, name, shop.publish, asyncio.get_running_loop())
    context = ToolContext(shop.deps, shop.session, call.id, progress)
    shop.publish(ToolStarted(call.id, name, dict(planned.arguments)))
    started = time.monotonic()
    shown, ok, size, handle = sentences.INTERRUPTED, False, 0, None
    try:
        text, ok = await _outcome(planned, context, shop, stop)
        text = await _made_printable(text)
        shown, handle = bounded(text, call.id, shop.limits.output_cap, shop.blobs)
        size = len(text)
    finally:
        progress.is_open = False
        shop.publish(ToolEnded(call.id, name, ok, shown, time.monotonic() - started))
    return Result(call.id, name, shown, ok=ok, size=size, handle=handle)


async def _outcome(planned: Planned, context: ToolContext, shop: Workshop, stop: Stop) -> tuple[str, bool]:
    """The text and success of a call. The tool runs in a task of its own, so that one that cancels itself, or ignores
    being cancelled, does so there."""
    seconds = shop.limits.timeout if planned.tool.timeout is None else planned.tool.timeout
    left: set[asyncio.Future[Any]] = set()
    task = asyncio.create_task(_text(planned, context, left))
    task.add_done_callback(_noted)
    try:
        await asyncio.wait((task, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        ended_alone = task.done()
        if not ended_alone and stop.done():
            ended_alone = await _wound_up(task, shop.threads, left)
        elif not ended_alone:
            task.cancel()
            await asyncio.wait((task,), timeout=GRACE)
    finally:
        task.cancel()
    error = task.exception() if task.done() and not task.cancelled() else None
    if task.done() and not task.cancelled() and error is None:
        return task.result() or sentences.NO_OUTPUT, True
    if ended_alone:
        return sentences.CANCELLED_ITSELF if error is None else failure_text(error), False
    still_runs = not task.done() or any(not each.done() for each in left)
    if not stop.done():
        return (sentences.TIMED_OUT_LEFT if still_runs else sentences.TIMED_OUT).format(seconds=seconds), False
    if stop.result() == "cancelled":
        _cancel()
    if error is not None:
        return failure_text(error), False
    return sentences.INTERRUPTED_LEFT if still_runs else sentences.INTERRUPTED, False


async def _wound_up(task: asyncio.Task[str], threads: Threads, left: set[asyncio.Future[Any]]) -> bool:
    """Let a task end in its grace: one in a thread, which cannot be cancelled, by itself; true if it did."""
    until = time.monotonic() + GRACE
    if (in_thread := threads.waits.get(task)) is not None:
        await asyncio.wait((in_thread,), timeout=GRACE)
        if task.done():
            return True
    task.cancel()
    await asyncio.wait((task,), timeout=max(_MOMENT, until - time.monotonic()))
    if left:
        await asyncio.wait(tuple(left), timeout=max(0.0, until - time.monotonic()))
    return False


def _cancel() -> NoReturn:
    raise asyncio.CancelledError


async def _text(planned: Planned, context: ToolContext, left: set[asyncio.Future[Any]]) -> str:
    note_left(left)
    try:
        return text_of(await planned.tool.run(planned.arguments, context))
    except (KeyboardInterrupt, SystemExit) as error:  # out of a task, they end the event loop
        if is_ctrl_c(error):
            raise
        raise Exited(error) from None


def _noted(task: asyncio.Task[Any]) -> None:
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
