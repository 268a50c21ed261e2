"""One child process per model file and OS process, shared by everybody who holds a lease, ended with the last.

Nothing here belongs to an event loop: a child is a plain Popen whose pipes are read without blocking, so a lease works
in any loop, in any thread, and in one loop after another. Waiting is polling, some milliseconds at a time. A child that
lingers watches its own clock, because nobody of ours may be left to do it; the next acquire or the exit reaps it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from vancetope.backends.local.spawn import Child, Endpoint, Serving, start
from vancetope.backends.local.weights import WeightsRefused
from vancetope.errors import ConfigError, ModelError

_POLL: Final = 0.01
_CRASHES: Final = 3
_CRASH_WINDOW: Final = 60.0
_DEFAULT: Final = Serving()


class LocalModelDied(ModelError):
    """The process that serves the local model ended; its log says why."""


@dataclass(eq=False, slots=True)
class _Slot:
    """The place of one served model. `lock` guards all but `starting` and is never held across a call that may wait."""

    model: Path
    serving: Serving
    users: set[Lease] = field(default_factory=set)
    child: Child | None = None
    crashes: deque[float] = field(default_factory=lambda: deque(maxlen=_CRASHES))
    last_log: Path | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    starting: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, eq=False, slots=True)
class Lease:
    """The right to use a served model, until it is released."""

    slot: _Slot
    linger: float


_slots: dict[tuple[Path, int, int, int | None], _Slot] = {}
_ended: list[Child] = []  # killed, not yet reaped
_inherited: list[Child] = []


async def acquire(model: Path, serving: Serving = _DEFAULT) -> Lease:
    """A lease on this model file, once it is served. Ends what it started when cancelled.

    Raises MissingExtra, WeightsMissing, WeightsRefused (the file cannot be loaded) or LocalModelDied.
    """
    _watch_exit_and_fork()
    await _sweep()
    model = await asyncio.to_thread(model.absolute)
    key = (model, serving.context, serving.parallel, serving.threads)
    slot = _slots.setdefault(key, _Slot(model, serving))
    lease = Lease(slot, serving.linger)
    with slot.lock:
        slot.users.add(lease)
        if slot.child and slot.child.is_lingering:
            slot.child.hold()
    try:
        await ensure_alive(lease)
    except BaseException:
        await release(lease, at_once=True)
        raise
    return lease


async def ensure_alive(lease: Lease, lost: Endpoint | None = None) -> Endpoint:
    """Where the model answers now. Starts it again after a crash; then both port and key are new.

    `lost` is an endpoint that has just failed to answer: a dying process closes its port before anybody can see that it
    is dead. Costs microseconds while the model is alive. Raises as `acquire` does, and LocalModelDied after three
    crashes within a minute.
    """
    slot = lease.slot
    if lease not in slot.users:
        raise LocalModelDied(f"the local model {slot.model.stem} was already released by this user of it")
    while True:
        child = slot.child
        if child is None:
            child = await asyncio.to_thread(_start, slot)
        if lost is not None and child.endpoint == lost:
            await _see_it_die(slot, child, lost)
        while (endpoint := _look(slot, child)) is None and slot.child is child:  # noqa: ASYNC110 (see _reap)
            await asyncio.sleep(_POLL)
        if endpoint is not None:
            return endpoint
        # It served and died, or its linger ran out before it heard us: start another.


async def _see_it_die(slot: _Slot, child: Child, lost: Endpoint) -> None:
    """Return when the child is seen to be dead, or says that it is well: then the failure was not its own."""
    while _look(slot, child) is not None and not await _is_well(lost):  # noqa: ASYNC110 (see _reap)
        await asyncio.sleep(_POLL)


async def _is_well(endpoint: Endpoint) -> bool:
    # A connection alone proves nothing: the port of a killed process takes them until its memory is freed.
    with suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(endpoint.base_url).port)
        try:
            writer.write(b"GET /health HTTP/1.0\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()
    return False


async def release(lease: Lease, *, at_once: bool = False) -> None:
    """Give a lease back; a second time does nothing. The last one ends the child, after its linger unless `at_once`."""
    if (child := _let_go(lease, 0.0 if at_once else lease.linger)) is not None:
        await _reap(child)


@asynccontextmanager
async def serving(model: Path, how: Serving = _DEFAULT) -> AsyncIterator[Lease]:
    """A lease for the time of a block. A cancelled block does not linger."""
    lease = await acquire(model, how)
    at_once = False
    try:
        yield lease
    except asyncio.CancelledError:
        at_once = True
        raise
    finally:
        await release(lease, at_once=at_once)


def _start(slot: _Slot) -> Child:
    """Runs in a thread, which may outlive the cancelled caller: without users left it ends what it has started."""
    with slot.starting:
        if child := slot.child:
            return child
        _refuse_crash_loop(slot)
        child = start(slot.model, slot.serving)
        with slot.lock:
            slot.child = child
            if not slot.users:
                _end(slot, child)
        return child


def _refuse_crash_loop(slot: _Slot) -> None:
    full = len(slot.crashes) == _CRASHES
    if full and time.monotonic() - slot.crashes[0] < _CRASH_WINDOW:
        raise LocalModelDied(
            f"the local model {slot.model.stem} crashed {_CRASHES} times within a minute; its log is {slot.last_log}"
        )


def _look(slot: _Slot, child: Child) -> Endpoint | None:
    """The endpoint once it is ready, None while it is not or no longer. Raises what went wrong before it served."""
    with slot.lock:
        code = child.process.poll()  # before reading: what a dead child has said is then complete
        child.take_reports()
        if slot.child is child:
            if code is not None:
                slot.child = None
                _note_death(slot, child, code)
            elif child.endpoint is None and time.monotonic() - child.started > slot.serving.patience:
                _end(slot, child)
                child.failure = LocalModelDied(
                    f"the local model {slot.model.stem} was not ready after {slot.serving.patience:g} s;"
                    f" its log is {child.log}"
                )
        if child.failure is not None:
            raise type(child.failure)(str(child.failure))  # each of those who wait gets its own
        return child.ready if code is None else None


def _note_death(slot: _Slot, child: Child, code: int) -> None:
    child.close()
    if code == 0:
        return  # its linger ran out
    slot.last_log = child.log
    if child.error is not None:
        child.failure = WeightsRefused(
            f"the model file {slot.model} cannot be loaded: {child.error}; pull it again or name another file"
        )
        return
    if child.unusable is not None:
        child.failure = ConfigError(
            f"the package xllamacpp does not work here: {child.unusable}"
            " (on Debian, a missing libgomp.so.1 is in the package libgomp1)"
        )
        return
    slot.crashes.append(time.monotonic())
    if child.endpoint is None:
        child.failure = LocalModelDied(
            f"the local model {slot.model.stem} ended while it was loading ({_cause(code)}); its log is {child.log}"
        )


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _let_go(lease: Lease, linger: float) -> Child | None:
    """Take a user away; the child that this has ended, if any. Never waits, so a cancelled caller loses nothing."""
    slot = lease.slot
    with slot.lock:
        if lease not in slot.users:
            return None
        slot.users.discard(lease)
        child = slot.child
        if slot.users or child is None:
            return None
        if linger > 0 and child.endpoint is not None:
            child.linger(linger)
            return None
        _end(slot, child)
        return child


def _end(slot: _Slot, child: Child) -> None:
    slot.child = None
    _ended.append(child)
    child.end()


async def _reap(child: Child) -> None:
    while child.process.poll() is None:  # noqa: ASYNC110 (no loop of ours is told when a plain Popen ends)
        await asyncio.sleep(_POLL)
    await asyncio.to_thread(_tidy, child)


async def _sweep() -> None:
    """Reap what a cancelled caller has left, and children whose linger ran out."""
    for child in _ended:
        await _reap(child)
    for slot in list(_slots.values()):
        if (idle := slot.child) is not None and idle.is_lingering:
            _look(slot, idle)


def _tidy(child: Child) -> None:
    child.close()
    if str(child.log) != os.devnull and child.failure is None:
        child.log.unlink(missing_ok=True)
    with suppress(ValueError):
        _ended.remove(child)


@cache
def _watch_exit_and_fork() -> None:
    atexit.register(_end_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def _end_all() -> None:
    for slot in list(_slots.values()):
        if (child := slot.child) is not None:
            _end(slot, child)
    for child in _ended:
        child.process.wait()
        _tidy(child)


def _forget() -> None:
    """In a forked process: the children are the parent's. Our copies of their pipes would keep them alive after it."""
    for child in [*(slot.child for slot in _slots.values() if slot.child), *_ended]:
        child.close()
        child.process.returncode = 0  # or Popen warns, in the wrong process, that it still runs
        _inherited.append(child)
    _slots.clear()
    _ended.clear()
