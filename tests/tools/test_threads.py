"""Blocking functions run in a bounded number of threads that end with them."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from vancetope.tools.failure import Exited
from vancetope.tools.threads import Threads, current, using


async def test_what_a_function_returns_or_raises_is_the_callers() -> None:
    threads = Threads()
    assert await threads.run(lambda: 1 + 1) == 2
    assert await threads.run(lambda: dict[str, str]().get("nothing")) is None
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)


async def test_leaving_a_thread_ends_only_the_thread() -> None:
    def leave() -> None:
        raise SystemExit(2)

    with pytest.raises(Exited) as raised:
        await Threads().run(leave)
    assert isinstance(raised.value.cause, SystemExit)


async def test_no_more_than_the_limit_run_at_a_time() -> None:
    threads, lock, release = Threads(3), threading.Lock(), threading.Event()
    running, most = 0, 0

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        release.wait(0.02)
        with lock:
            running -= 1

    await asyncio.gather(*(threads.run(work) for _ in range(12)))
    assert most == 3


async def test_a_function_sees_the_callers_context_variables() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("mine")
    assert await Threads().run(variable.get) == "mine"


async def test_a_thread_that_was_given_up_keeps_its_place_until_it_ends() -> None:
    threads, release = Threads(1), threading.Event()
    first = asyncio.create_task(threads.run(lambda: release.wait(5)))
    await asyncio.sleep(0.01)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(threads.run(lambda: "second"))
    await asyncio.sleep(0.02)
    assert not second.done()
    assert len(threads.left) == 1
    release.set()
    assert await second == "second"
    assert not threads.left


async def test_waiting_for_a_place_can_be_cancelled() -> None:
    threads, release = Threads(1), threading.Event()
    first = asyncio.create_task(threads.run(lambda: release.wait(5)))
    waiting = asyncio.create_task(threads.run(lambda: "never"))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    assert await first is True
    assert await threads.run(lambda: "third") == "third"


async def test_the_current_threads_are_those_of_the_task() -> None:
    threads = Threads()
    with using(threads):
        assert current() is threads
        assert await asyncio.create_task(ask()) is threads
    assert current() is not threads


async def ask() -> Threads:
    return current()
