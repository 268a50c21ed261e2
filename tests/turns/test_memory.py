"""What a conversation said is gone with it: nothing of it stays in the process."""

from __future__ import annotations

import gc
import tracemalloc

import vancetope as vt
from vancetope.backends.scripted import ScriptedBackend, call, respond

SIZE = 50_000


def note(text: str) -> str:
    """Take a note."""
    return "noted"


async def one(number: int) -> None:
    long = f"{number} " + "x" * SIZE
    first = await vt.ask("Go", model=ScriptedBackend([call("note", text=long), respond(long)], 1000), tools=[note])
    await vt.ask("On", model=ScriptedBackend([respond("x")]), tools=[note], history=first.messages)


async def test_nothing_of_finished_conversations_stays_in_memory() -> None:
    await one(0)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(1, 61):
        await one(number)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20 * SIZE, f"{(after - before) / SIZE:.0f} of 60 messages are still there"
