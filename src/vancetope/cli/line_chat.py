"""A chat without a screen: each line of stdin is a message, each answer goes to stdout."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TextIO

from vancetope.cli.ask import watcher_for
from vancetope.cli.inputs import text_line
from vancetope.cli.lines import exit_code
from vancetope.cli.opening import opened
from vancetope.cli.person import AtTerminal
from vancetope.cli.retries import tell_retries
from vancetope.cli.trouble import Refused, failed
from vancetope.cli.watched import Watched
from vancetope.cli.wire import on_stderr
from vancetope.cli.wishes import Wishes
from vancetope.errors import ConfigError
from vancetope.settings import load

BLOCK = 65536


async def line_chat(wishes: Wishes) -> int:
    """One turn for each line, until stdin ends; the exit code of the last turn that failed, else 0."""
    settings = load()
    person = AtTerminal(may_ask=not wishes.as_json)
    asked = wishes.asked(settings.default_recipe, on_stderr if wishes.wire else None)
    prepared = await opened(asked, settings, person, agrees=wishes.agrees)
    watcher = watcher_for(wishes)
    watched = Watched(prepared, watcher)
    tell_retries(watcher.tell)
    lines = _stdin()
    code = 0
    try:
        while (data := await lines.get()) is not None:
            code = await _answered(watched, data, as_json=wishes.as_json) or code
    finally:
        with suppress(OSError):
            watcher.close()
        await prepared.aclose()
    return code


async def _answered(watched: Watched, data: bytes, *, as_json: bool) -> int:
    """The exit code that this line means."""
    try:
        text = text_line(data)
        return exit_code((await watched.turn(text)).outcome) if text.strip() else 0
    except (Refused, ConfigError) as error:
        return failed(error, as_json=as_json)


def _stdin() -> asyncio.Queue[bytes | None]:
    """The lines of stdin, null at its end. The thread that reads them is left behind when we leave before that."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            with suppress(OSError, ValueError):
                for line in _lines_of(sys.stdin):
                    loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return lines


def _lines_of(stdin: TextIO | None) -> Iterator[bytes]:
    """The lines of a stream, the last one whole or not. Its own buffer is passed by: a thread that waits inside that
    would hold its lock when the interpreter ends."""
    buffer = getattr(stdin, "buffer", None)
    source = getattr(buffer, "raw", buffer)
    begun: list[bytes] = []
    while source is not None and (block := source.read(BLOCK)):
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield b"".join([*begun, line])
            begun = []
        begun.append(rest)
    if any(begun):
        yield b"".join(begun)
