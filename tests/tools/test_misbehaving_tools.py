"""What a tool does, or a model asks of one, never ends the program, stops the loop, or hides what was done."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

import vancetope as vt
from vancetope.asked import Asked
from vancetope.backends.scripted import ScriptedBackend, action, call, calls, respond
from vancetope.events import Event, ToolStarted
from vancetope.journal import RecordingJournal
from vancetope.lane import Lane
from vancetope.messages import Result
from vancetope.prepare import prepare
from vancetope.tools import batch, reading, threads

LEFT = "interrupted, but still running: its outcome is unknown"


def results(turn: vt.Turn) -> list[Result]:
    return [each for each in turn.messages if isinstance(each, Result)]


def deep_group() -> Exception:
    error: Exception = ValueError("inside")
    for _ in range(3000):
        error = ExceptionGroup("group", [error])
    return error


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


RAISED: dict[str, Callable[[], BaseException]] = {
    "a program's exit": lambda: SystemExit(7),
    "a deep group": deep_group,
    "an error that exits when it is read": Mute,
}


def program(made: str) -> str:
    """A program of its own: what is tested here ends the interpreter."""
    return f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import vancetope as vt
from vancetope.backends.scripted import ScriptedBackend, call, calls, respond
from tests.tools.test_misbehaving_tools import RAISED, results

async def bad() -> str:
    "Fail."
    raise RAISED[{made!r}]()

def bad_too() -> str:
    "Fail in a thread."
    raise RAISED[{made!r}]()

async def good() -> str:
    "Work."
    await asyncio.sleep(0.01)
    return "worked"

async def main() -> None:
    script = [calls(call("bad"), call("bad_too"), call("good")), respond("Done.")]
    turn = await vt.ask("Go", model=ScriptedBackend(script), tools=[bad, bad_too, good])
    print([each.ok for each in results(turn)], turn.message)

asyncio.run(main())
"""


@pytest.mark.parametrize("made", RAISED)
async def test_whatever_a_tool_raises_becomes_an_error_result_and_its_siblings_go_on(made: str) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program(made), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, told = await child.communicate()
    assert out.decode().strip() == "[False, False, True] Done.", told.decode()[-300:]


async def interrupted_while(pay: vt.Tool | Callable[..., Any]) -> tuple[Result, ...]:
    def publish(event: Event) -> None:
        if isinstance(event, ToolStarted):
            asyncio.get_running_loop().call_later(0.05, lane.interrupt)

    lane = Lane(prepare(Asked(model=ScriptedBackend([call("pay"), respond("x")]), tools=[pay])), publish)
    lane.post("Pay the bill")
    return tuple(results(await lane.settled()))


async def test_a_call_that_finishes_in_its_grace_keeps_its_result() -> None:
    """The turn waited for it, and it is done: told `interrupted`, the model pays the bill again."""

    async def pay() -> str:
        """Pay."""
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            return "paid, receipt 77"
        return "paid"

    assert [each.text for each in await interrupted_while(pay)] == ["paid, receipt 77"]


async def test_a_thread_that_finishes_in_its_grace_keeps_its_result() -> None:
    def pay() -> str:
        """Pay."""
        time.sleep(0.2)
        return "paid, receipt 77"

    assert [each.text for each in await interrupted_while(pay)] == ["paid, receipt 77"]


async def test_a_call_that_is_left_running_says_so() -> None:
    ended = threading.Event()

    @vt.tool(timeout=0.05)
    def pay() -> str:
        """Pay."""
        time.sleep(0.3)
        ended.set()
        return "paid"

    turn = await vt.ask("Pay", model=ScriptedBackend([call("pay"), respond("x")]), tools=[pay])
    assert not ended.is_set()
    text = results(turn)[0].text
    await asyncio.to_thread(ended.wait)
    assert "may" in text or "still" in text, f"nothing in {text!r} says that the bill may be paid all the same"


async def journal_of_a_cancelled_ask(pay: Callable[..., Any], started: asyncio.Event) -> RecordingJournal:
    journal = RecordingJournal()
    script = [call("pay"), respond("x")]
    asking = asyncio.ensure_future(
        vt.ask("Go", model=ScriptedBackend(script), tools=[vt.tool(pay, name="pay")], journal=journal)
    )
    await started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    return journal


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_call_that_was_cancelled_is_no_step_of_the_journal(
    is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """journal.py: a step whose `fn` raised or was cancelled is not stored; stored, it never runs again."""
    monkeypatch.setattr(batch, "GRACE", 0.1)
    started, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def pay() -> str:
        """Pay."""
        started.set()
        await asyncio.sleep(5)
        return "paid"

    def pay_blocking() -> str:
        """Pay."""
        loop.call_soon_threadsafe(started.set)
        release.wait(5)
        return "paid"

    journal = await journal_of_a_cancelled_ask(pay if is_async else pay_blocking, started)
    release.set()
    assert [key for key in journal.stored if key.startswith("call")] == []


async def test_a_call_that_could_not_be_cancelled_and_finished_is_a_step_of_the_journal() -> None:
    """It is paid: not stored, the bill would be paid again by whoever goes on behind this journal."""
    started, loop = asyncio.Event(), asyncio.get_running_loop()

    def pay() -> str:
        """Pay."""
        loop.call_soon_threadsafe(started.set)
        time.sleep(0.1)
        return "paid"

    journal = await journal_of_a_cancelled_ask(pay, started)
    assert journal.stored["call:0:0"]["text"] == "paid"
    assert "calls:0" not in journal.stored


async def test_a_wrapped_coroutine_function_is_interrupted_like_the_one_it_wraps() -> None:
    """Its call goes through a thread, and the waiting happens in the loop."""

    async def wait() -> str:
        await asyncio.sleep(60)
        return "late"

    def pay() -> Any:
        """Pay."""
        return wait()

    started = time.monotonic()
    assert [each.text for each in await interrupted_while(pay)] == ["interrupted"]
    assert time.monotonic() - started < 2


async def test_an_error_in_the_grace_is_told_and_a_late_thread_says_that_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, "GRACE", 0.1)
    release = threading.Event()

    async def fail() -> str:
        """Fail."""
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("half of it is paid")

    def hang() -> str:
        """Hang."""
        release.wait(5)
        return ""

    async def hang_inside() -> str:
        """Hang in a thread of a task of its own."""
        return await asyncio.wait_for(asyncio.ensure_future(threads.current().run(hang)), 60)

    for each, said in ((fail, "ValueError: half of it is paid"), (hang, LEFT), (hang_inside, LEFT)):
        assert [result.text for result in await interrupted_while(vt.tool(each, name="pay"))] == [said]
    release.set()


async def test_searches_side_by_side_leave_the_loop_its_turns(tmp_path: Path) -> None:
    chance = random.Random(1)
    (tmp_path / "app.min.js").write_text("".join(chance.choice("ab") for _ in range(30_000)))
    pattern = "|".join(f"[ab]*a[ab]{{{number}}}c" for number in range(60, 100))
    searching = [
        asyncio.create_task(asyncio.to_thread(reading.searched, tmp_path, pattern, ".", None)) for _ in range(4)
    ]
    longest, last = 0.0, time.process_time()
    while not all(each.done() for each in searching):
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.process_time() - last), time.process_time()
    await asyncio.gather(*searching)
    assert longest < 0.5, f"the loop stood still for {longest:.1f} s"


async def test_a_long_line_is_searched_to_its_end_and_that_it_was_cut_is_told(tmp_path: Path) -> None:
    for place in (0, 1_499, 1_500, 1_990, 1_999, 2_000, 3_499, 20_000 - 6):
        line = "x" * place + "needle" + "x" * (20_000 - 6 - place)
        (tmp_path / "long").write_text(line)
        said = await asyncio.to_thread(reading.searched, tmp_path, "needle", ".", None)
        assert said.startswith("long:1: ")
        assert "searched in pieces" in said


PATTERNS = ["[ab]*a[ab]{900}c", "[ab]*a([ab]{900}){4}c", "([ab]*a[ab]{300}){3}c"]


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_no_pattern_of_a_model_stops_the_event_loop(pattern: str, tmp_path: Path) -> None:
    """One long line, as in a minified script; the limit for a file is 30 times as much.

    Time is that of the processor: other programs may hold up this one.
    """
    chance = random.Random(1)
    (tmp_path / "app.min.js").write_text("".join(chance.choice("ab") for _ in range(300_000)))
    searching = asyncio.create_task(asyncio.to_thread(reading.searched, tmp_path, pattern, ".", None))
    longest, last = 0.0, time.process_time()
    while not searching.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.process_time() - last), time.process_time()
    await searching
    assert longest < 0.5, f"the loop stood still for {longest:.1f} s"


async def test_a_tool_that_wants_many_or_long_values_can_still_be_called_under_a_grammar() -> None:
    def send(
        numbers: Annotated[list[int], Field(min_length=40)],
        text: Annotated[str, Field(min_length=5000)],
        row: tuple[int, int, int] | None = None,
    ) -> str:
        """Send."""
        return "sent"

    model = ScriptedBackend([action("respond", message="x")])
    await vt.ask("Go", model=model, tools=[send], enforcement="constrained")
    schema = model.requests[0].response_schema
    assert schema is not None
    properties = schema["anyOf"][0]["properties"]["arguments"]["properties"]
    assert properties["numbers"]["minItems"] <= properties["numbers"]["maxItems"]
    assert properties["text"]["minLength"] <= properties["text"]["maxLength"]


async def test_a_callable_that_gives_a_generator_is_refused_or_read_and_never_shown_as_an_address() -> None:
    class Numbers:
        """Count."""

        def __call__(self, top: int = 3) -> Any:
            yield from range(top)

    script = [call("numbers"), respond("x")]
    try:
        turn = await vt.ask("Go", model=ScriptedBackend(script), tools=[vt.tool(Numbers(), name="numbers")])
    except vt.ConfigError:
        return
    assert "object" not in results(turn)[0].text


async def test_an_iterator_that_a_function_gives_is_an_error_and_no_address() -> None:
    def numbers() -> Any:
        """Count."""
        return map(str, range(3))

    turn = await vt.ask("Go", model=ScriptedBackend([call("numbers"), respond("x")]), tools=[numbers])
    assert not results(turn)[0].ok
    assert "return a list" in results(turn)[0].text


async def test_an_error_result_is_no_longer_than_a_result_may_be() -> None:
    model = ScriptedBackend([calls(call("q" * 1_000_000)), respond("x")])
    turn = await vt.ask("Go", model=model)
    assert len(results(turn)[0].text) <= 32 * 1024
