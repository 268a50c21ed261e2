"""A contestant's process: it runs turns when its parent says so, and waits without using a core in between.

`python -m bench.worker KIND NAME URL`. A line on stdin holds a number of turns; the line that answers it on stdout
holds their wall and CPU seconds, and how many sockets are open at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from bench import contestants, structured, wires
from bench.contestants import Turn
from bench.server import ANSWER

WARM_UP = 30  # turns


def made(kind: str, name: str, url: str) -> tuple[Turn | structured.Ask, Callable[[Any], bool]]:
    """The contestant, and whether what it gives is the answer."""
    kind, _, inquiry = kind.partition("/")
    if inquiry:
        known = structured.WHOLE if kind == "query" else structured.STREAMED
        return known[name](url, inquiry), partial(structured.is_answer, name=inquiry)
    if kind.startswith("providers:"):
        _, wire, size, way = kind.split(":")
        return wires.contestants(wire)[name](url, history(int(size)), way == "streamed"), ANSWER.__eq__
    return _turn(kind, name, url), ANSWER.__eq__


def _turn(kind: str, name: str, url: str) -> Turn:
    if kind == "turn":
        return contestants.TURN[name](url)
    if kind == "streamed":
        return contestants.STREAMED[name](url)
    past = history(int(kind.removeprefix("history:")))
    make = contestants.raw_with_history if name == "raw httpx" else contestants.vancetope_with_history
    return make(url, past)


def history(messages: int) -> list[dict[str, str]]:
    """A conversation of short messages, user and assistant taking turns."""
    return [
        {
            "role": ("user", "assistant")[number % 2],
            "content": f"Message {number}: a sentence of ordinary length.",
        }
        for number in range(messages)
    ]


async def main(kind: str, name: str, url: str) -> None:
    turn, is_answer = made(kind, name, url)
    for _ in range(WARM_UP):
        assert is_answer(await turn())
    print(json.dumps({"ready": True}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(int(line)):
            answer = await turn()
            assert is_answer(answer), answer
        spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps({**spent, "sockets": _sockets()}), flush=True)
    os._exit(0)


def _sockets() -> int:
    open_files = Path("/proc/self/fd")
    if not open_files.is_dir():
        return 0
    count = 0
    for each in open_files.iterdir():
        with suppress(OSError):  # the one through which we look is gone already
            count += str(each.readlink()).startswith("socket:")
    return count


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
