"""The calls of one reply: side by side, bounded in time and size, one result each whatever a tool does."""

from __future__ import annotations

import asyncio
import gc
import resource
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.running import planned, workshop
from vancetope.events import Event, ToolEnded, ToolProgress, ToolStarted
from vancetope.messages import Call, Result, ToolSpec
from vancetope.tools import batch
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.batch import Limits, Planned, Workshop, run_calls
from vancetope.tools.failure import ToolFailed
from vancetope.tools.functions import tool
from vancetope.tools.result_read import result_read


def made(name: str, fn: Callable[[], Any], alone: bool = False, timeout: float | None = None) -> Tool:
    """A tool without arguments from an async function."""

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:
        text: str = await fn()
        return text

    return Tool(ToolSpec(name, "", {}), run, alone, timeout=timeout)


async def one(given_tool: Tool, shop: Workshop | None = None, **arguments: Any) -> Result:
    (result,) = await run_calls([planned(given_tool, **arguments)], shop or workshop())
    return result


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "GRACE", 0.2)


async def test_results_come_in_the_models_order_not_in_that_of_their_end() -> None:
    """C67."""

    @tool
    async def wait(steps: int) -> str:
        for _ in range(steps):
            await asyncio.sleep(0)
        return str(steps)

    results = await run_calls([planned(wait, n, steps=n) for n in (9, 1, 5, 0)], workshop())
    assert [(each.call_id, each.text) for each in results] == [("c9", "9"), ("c1", "1"), ("c5", "5"), ("c0", "0")]


async def test_calls_run_side_by_side() -> None:
    meeting = asyncio.Barrier(3)

    async def meet() -> str:
        await meeting.wait()
        return "met"

    meet_tool = made("meet", meet)
    results = await asyncio.wait_for(run_calls([planned(meet_tool, n) for n in range(3)], workshop()), 2)
    assert [each.text for each in results] == ["met"] * 3


async def test_blocking_functions_run_side_by_side_too() -> None:
    meeting = threading.Barrier(3)

    @tool
    def meet() -> str:
        meeting.wait(2)
        return "met"

    results = await run_calls([planned(meet, n) for n in range(3)], workshop())
    assert [each.text for each in results] == ["met"] * 3


class Silent(Exception):
    def __str__(self) -> str:
        return ""


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class NotText(Exception):
    def __str__(self) -> str:
        return 3  # type: ignore[return-value]


FAILURES: list[tuple[BaseException, str]] = [
    (ValueError("no such city"), "ValueError: no such city"),
    (ToolFailed("no such city"), "no such city"),
    (KeyError(), "KeyError: (no message)"),
    (Silent(), "Silent: (no message)"),
    (Broken(), "Broken: (no message)"),
    (NotText(), "NotText: (no message)"),
    (ToolFailed(" "), "ToolFailed: (no message)"),
    (TimeoutError("remote"), "TimeoutError: remote"),
    (asyncio.CancelledError("x"), "CancelledError: the tool cancelled itself"),
    (GeneratorExit(), "GeneratorExit: (no message)"),
    (StopAsyncIteration("x"), "StopAsyncIteration: x"),
    (
        BaseExceptionGroup("two", [asyncio.CancelledError(), ValueError("x")]),
        "BaseExceptionGroup: two (2 sub-exceptions)\n- CancelledError: (no message)\n- ValueError: x",
    ),
]


@pytest.mark.parametrize(("error", "text"), FAILURES, ids=lambda each: type(each).__name__)
async def test_what_a_tool_raises_is_an_error_result_that_is_never_blank(error: BaseException, text: str) -> None:
    """C67."""

    async def fail() -> str:
        raise error

    assert await one(made("fail", fail)) == Result("c1", "fail", text, ok=False, size=len(text))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        *[each for each in FAILURES if not isinstance(each[0], asyncio.CancelledError | BaseExceptionGroup)],
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt: (no message)"),
        (asyncio.CancelledError(), "CancelledError: (no message)"),
    ],
    ids=lambda each: type(each).__name__,
)
async def test_what_a_function_in_a_thread_raises_is_an_error_result(error: BaseException, text: str) -> None:
    @tool
    def fail() -> str:
        raise error

    assert await one(fail) == Result("c1", "fail", text, ok=False, size=len(text))


async def test_one_failing_call_never_loses_its_siblings() -> None:
    """C66."""

    async def fine() -> str:
        await asyncio.sleep(0.01)
        return "fine"

    async def cancel() -> str:
        raise asyncio.CancelledError

    def refuse(arguments: Mapping[str, Any], context: ToolContext) -> Awaitable[str]:
        raise OSError("not even started")

    good = made("good", fine)
    calls = [good, made("cancel", cancel), good, Tool(ToolSpec("refuse", "", {}), refuse), good]
    results = await run_calls([planned(each, n) for n, each in enumerate(calls)], workshop())
    assert [each.ok for each in results] == [True, False, True, False, True]
    assert results[3].text == "OSError: not even started"


def test_what_may_be_a_persons_ctrl_c_is_not_swallowed() -> None:
    async def fail() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(one(made("fail", fail)))


def test_where_no_signal_arrives_it_is_an_error_like_any_other() -> None:
    async def fail() -> str:
        raise KeyboardInterrupt

    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(one(made("fail", fail)))))
    thread.start()
    thread.join()
    assert [(each.ok, each.text) for each in results] == [(False, "KeyboardInterrupt: (no message)")]


async def test_a_call_that_takes_too_long_is_told_its_seconds_and_ended() -> None:
    ended = asyncio.Event()

    async def hang() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return ""

    result = await one(made("hang", hang), workshop(limits=Limits(timeout=0.02)))
    assert (result.ok, result.text) == (False, "timed out after 0.02 s")
    assert ended.is_set()
    result = await one(made("hang", hang, timeout=0.03))
    assert result.text == "timed out after 0.03 s"


async def test_a_function_that_takes_too_long_is_left_at_once_and_its_result_dropped() -> None:
    release = threading.Event()
    shop = workshop(limits=Limits(timeout=0.02))

    @tool
    def hang() -> str:
        release.wait(5)
        return "late"

    started = time.monotonic()
    result = await one(hang, shop)
    assert time.monotonic() - started < 0.15
    assert result.text == "timed out after 0.02 s and is still running: its outcome is unknown"
    assert len(shop.threads.left) == 1
    release.set()
    while shop.threads.left:
        await asyncio.sleep(0.001)


async def test_a_tool_that_ignores_being_cancelled_is_left_after_the_grace() -> None:
    done = asyncio.Event()

    async def stubborn() -> str:
        while not done.is_set():
            try:
                await done.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("nobody hears this")

    started = time.monotonic()
    result = await one(made("stubborn", stubborn, timeout=0.02))
    assert result.text == "timed out after 0.02 s and is still running: its outcome is unknown"
    assert 0.2 <= time.monotonic() - started < 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done.set()
        await asyncio.sleep(0.01)
        gc.collect()


# Alone


@given(st.lists(st.booleans(), max_size=8))
async def test_an_alone_call_runs_after_those_before_it_and_before_those_after_it(alone: list[bool]) -> None:
    running: set[int] = set()
    ended: list[int] = []

    def number(n: int) -> Tool:
        async def run() -> str:
            assert not any(alone[each] for each in running), "something runs beside an alone call"
            assert not (alone[n] and running)
            running.add(n)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            running.discard(n)
            ended.append(n)
            return str(n)

        return made(f"t{n}", run, alone=alone[n])

    results = await run_calls([planned(number(n), n) for n in range(len(alone))], workshop())
    assert [each.text for each in results] == [str(n) for n in range(len(alone))]
    for n, is_alone in enumerate(alone):
        if is_alone:
            assert ended.index(n) == n


# Size


async def test_a_long_output_is_cut_to_the_cap_and_can_be_read_on() -> None:
    """C86."""
    shop = workshop()
    text = "".join(f"line {n}\n" for n in range(20_000))

    @tool
    def long() -> str:
        return text

    result = await one(long, shop)
    assert len(result.text.encode()) <= 32 * 1024
    head, marker, tail = result.text.partition("[...")[0], *result.text.partition("[...")[2].partition("...]")[::2]
    assert text.startswith(head.removesuffix("\n"))
    assert text.endswith(tail.removeprefix("\n"))
    assert len(head) > 23_000
    assert len(tail) > 7_900
    assert result.size == len(text)
    assert f'handle="{result.handle}"' in marker
    assert f"offset={len(head) - 1}" in marker
    assert result.handle
    assert shop.blobs.get(result.handle) == text


@pytest.mark.parametrize("letter", ["a", "é", "語", "\U0001f600"])
@pytest.mark.parametrize("length", [0, 1, 900, 1_000, 1_001, 5_000])
async def test_the_cap_is_in_bytes_and_cuts_between_characters(letter: str, length: int) -> None:
    async def say() -> str:
        return letter * length

    result = await one(made("say", say), workshop(limits=Limits(output_cap=1_000)))
    assert len(result.text.encode()) <= 1_000
    assert (result.handle is None) == (len((letter * length).encode()) <= 1_000)
    assert "\N{REPLACEMENT CHARACTER}" not in result.text
    if result.handle:
        assert result.text.startswith(letter)
        assert result.text.endswith(letter)
    elif length:
        assert result.text == letter * length


async def test_a_very_long_error_is_cut_as_well() -> None:
    async def fail() -> str:
        raise ValueError("x" * 100_000)

    result = await one(made("fail", fail))
    assert not result.ok
    assert result.handle
    assert len(result.text) <= 32 * 1024


async def test_what_no_store_can_hold_is_replaced_and_nothing_is_said_so() -> None:
    async def odd() -> str:
        return "a\0b\ud800c"

    async def nothing() -> str:
        return ""

    async def number() -> Any:
        return {"n": 1}

    assert (await one(made("odd", odd))).text == "a\N{SYMBOL FOR NULL}b\N{REPLACEMENT CHARACTER}c"
    assert (await one(made("nothing", nothing))).text == "(no output)"
    assert (await one(made("number", number))).text == '{"n":1}'


def test_an_output_of_200_mb_takes_about_its_own_memory() -> None:
    """C86."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def main() -> None:
        shop = workshop()

        @tool
        def big() -> str:
            return "a" * 200_000_000

        result = await one(big, shop)
        assert result.size == 200_000_000
        assert len(result.text.encode()) <= 32 * 1024
        piece = await one(result_read(shop.blobs), shop, handle=result.handle, offset=150_000_000)
        assert piece.ok
        assert len(piece.text.encode()) <= 32 * 1024
        assert piece.handle is None

    asyncio.run(main())
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 260_000_000


# Interrupting


async def interrupted(shop: Workshop, calls: Sequence[Planned], started: asyncio.Event) -> tuple[Result, ...]:
    assert shop.interrupt
    running = asyncio.create_task(run_calls(calls, shop))
    await started.wait()
    shop.interrupt.set()
    return await running


async def test_an_interrupt_ends_what_runs_and_nothing_else_starts() -> None:
    """C72."""
    events: list[Event] = []
    started = asyncio.Event()
    ran: list[str] = []

    async def quick() -> str:
        return "done before"

    async def hang() -> str:
        started.set()
        await asyncio.sleep(60)
        return ""

    async def never() -> str:
        ran.append("never")
        return ""

    calls = [made("quick", quick), made("hang", hang), made("never", never, alone=True), made("never", never)]
    shop = workshop(events, interrupt=asyncio.Event())
    results = await interrupted(shop, [planned(each, n) for n, each in enumerate(calls)], started)
    assert [(each.ok, each.text) for each in results] == [(True, "done before"), *[(False, "interrupted")] * 3]
    assert ran == []
    assert sum(isinstance(each, ToolStarted) for each in events) == 2
    assert sum(isinstance(each, ToolEnded) for each in events) == 2
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_after_an_interrupt_no_call_runs_at_all() -> None:
    shop = workshop(interrupt=asyncio.Event())
    assert shop.interrupt
    shop.interrupt.set()

    async def never() -> str:
        raise AssertionError

    results = await run_calls([planned(made("never", never), n) for n in range(3)], shop)
    assert [each.text for each in results] == ["interrupted"] * 3


async def test_a_function_in_a_thread_gets_the_grace_to_end_and_is_left_then() -> None:
    started, release = threading.Event(), threading.Event()
    ended: list[str] = []

    def function(seconds: float) -> Tool:
        @tool(name=f"f{seconds:g}".replace(".", "_"))
        def run() -> str:
            started.set()
            release.wait(seconds)
            ended.append("ended")
            return "late"

        return run

    for seconds, has_ended in ((0.05, True), (5.0, False)):
        started.clear()
        ended.clear()
        shop = workshop(interrupt=asyncio.Event())
        assert shop.interrupt
        running = asyncio.create_task(run_calls([planned(function(seconds))], shop))
        while not started.is_set():
            await asyncio.sleep(0.001)
        shop.interrupt.set()
        (result,) = await running
        told = (True, "late") if has_ended else (False, "interrupted, but still running: its outcome is unknown")
        assert (result.ok, result.text) == told
        assert bool(ended) == has_ended
        assert bool(shop.threads.left) != has_ended
    release.set()


async def test_cancelling_the_awaiting_task_ends_the_calls_and_leaves_no_task() -> None:
    events: list[Event] = []
    started = asyncio.Event()
    cleaned: list[str] = []

    async def hang() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append("cleaned")
        return ""

    running = asyncio.create_task(run_calls([planned(made("hang", hang), n) for n in range(3)], workshop(events)))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned == ["cleaned"] * 3
    assert [each.text for each in events if isinstance(each, ToolEnded)] == ["interrupted"] * 3
    assert asyncio.all_tasks() == {asyncio.current_task()}


@given(st.integers(1, 25))
async def test_cancelling_at_any_moment_leaves_no_task_and_no_half_told_call(moment: int) -> None:
    events: list[Event] = []

    async def work() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "worked"

    calls = [planned(made("work", work, alone=n == 2), n) for n in range(5)]
    running = asyncio.create_task(run_calls(calls, workshop(events, interrupt=asyncio.Event())))
    for _ in range(moment):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert running.cancelled() or len(running.result()) == 5
    started = [each.call_id for each in events if isinstance(each, ToolStarted)]
    ended = [each.call_id for each in events if isinstance(each, ToolEnded)]
    assert sorted(started) == sorted(ended)


@given(st.integers(0, 25))
async def test_an_interrupt_at_any_moment_gives_one_result_a_call_and_pairs_of_events(moment: int) -> None:
    """C59."""
    events: list[Event] = []
    shop = workshop(events, interrupt=asyncio.Event())
    assert shop.interrupt

    async def work() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "worked"

    calls = [planned(made("work", work, alone=n == 2), n) for n in range(5)]
    running = asyncio.create_task(run_calls(calls, shop))
    for _ in range(moment):
        await asyncio.sleep(0)
    shop.interrupt.set()
    results = await running
    assert [each.call_id for each in results] == [f"c{n}" for n in range(5)]
    assert all(each.text == ("worked" if each.ok else "interrupted") for each in results)
    for result in results:
        kinds = [type(each) for each in events if getattr(each, "call_id", None) == result.call_id]
        assert kinds in ([], [ToolStarted, ToolEnded])
        assert kinds or not result.ok


def test_a_hanging_function_cannot_keep_the_process() -> None:
    code = """
import asyncio, time
from vancetope.tools import batch
from vancetope.tools.batch import *
from vancetope.tools.functions import tool
from vancetope.messages import Call

@tool(timeout=0.05)
def hang() -> str:
    time.sleep(60)

async def main():
    shop = Workshop(lambda event: None, Blobs(), Threads())
    (result,) = await run_calls([Planned(Call("c1", "hang", "{}"), hang, {})], shop)
    print(result.text)

asyncio.run(main())
"""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=15)
    assert done.stdout == "timed out after 0.05 s and is still running: its outcome is unknown\n"
    assert (done.stderr, done.returncode) == ("", 0)
    assert time.monotonic() - started < 10


async def test_no_thread_is_left_behind() -> None:
    @tool
    def run() -> str:
        return ""

    before = threading.active_count()
    await run_calls([planned(run, n) for n in range(20)], workshop())
    for _ in range(100):
        if threading.active_count() == before:
            break
        await asyncio.sleep(0.01)
    assert threading.active_count() == before


# Events and what a tool sees


async def test_events_tell_what_runs_and_what_came_of_it() -> None:
    events: list[Event] = []

    @tool
    def work(n: int, context: ToolContext) -> str:
        context.emit({"step": 1})
        context.emit({"step": 2})
        return f"{context.deps} {context.session} {context.call_id} {n}"

    result = await one(work, workshop(events, deps="deps", session="s1"), n=3)
    assert result.text == "deps s1 c1 3"
    started, *progress, ended = events
    assert started == ToolStarted("c1", "work", {"n": 3})
    assert progress == [ToolProgress("c1", "work", {"step": 1}), ToolProgress("c1", "work", {"step": 2})]
    assert isinstance(ended, ToolEnded)
    assert (ended.call_id, ended.name, ended.ok, ended.text) == ("c1", "work", True, result.text)
    assert 0 <= ended.seconds < 5


async def test_a_call_that_has_ended_says_nothing_more() -> None:
    events: list[Event] = []
    release, emitted = threading.Event(), threading.Event()

    @tool(timeout=0.02)
    def late(context: ToolContext) -> str:
        release.wait(5)
        context.emit("too late")
        emitted.set()
        return ""

    await one(late, workshop(events))
    release.set()
    while not emitted.is_set():
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    assert [type(each) for each in events] == [ToolStarted, ToolEnded]


async def test_what_is_put_around_a_call_may_have_its_result_already() -> None:
    ran: list[str] = []

    async def work() -> str:
        ran.append("ran")
        return "fresh"

    async def around(call: Call, run: Callable[[], Awaitable[Result]]) -> Result:
        return Result(call.id, call.name, "stored") if call.id == "c0" else await run()

    results = await run_calls([planned(made("work", work), n) for n in range(2)], workshop(around=around))
    assert [each.text for each in results] == ["stored", "fresh"]
    assert ran == ["ran"]


async def test_no_calls_are_no_results() -> None:
    assert await run_calls([], workshop()) == ()
