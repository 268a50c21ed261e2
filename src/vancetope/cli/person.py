"""A person at an ordinary terminal: told on stderr, asked there too."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vancetope.cli.lines import Line
from vancetope.cli.page import aside, toned

if TYPE_CHECKING:
    from vancetope.cli.opening import Progress

YES = {"", "y", "yes"}


class AtTerminal:
    """Whoever started a command that is no chat. `may_ask`: questions make sense, nobody expects data only."""

    def __init__(self, *, quiet: bool = False, may_ask: bool = True) -> None:
        self._quiet = quiet
        self._can_ask = may_ask and all(each is not None and each.isatty() for each in (sys.stdin, sys.stderr))

    def tell(self, *lines: Line) -> None:
        for line in lines:
            aside(line, quiet=self._quiet)

    async def confirm(self, question: str) -> bool | None:
        if not self._can_ask:
            return None
        with _interruptible():
            sys.stderr.write(toned(f"{question} [Y/n] ", "you", sys.stderr))
            sys.stderr.flush()
            answer = sys.stdin.readline()
        return None if not answer else answer.strip().lower() in YES

    async def fetch(self, name: str) -> Path:
        return await fetched(name, quiet=self._quiet)


async def fetched(spec: str | None, *, quiet: bool = False) -> Path:
    """Pull a model, with a progress bar where stderr is a terminal."""
    from vancetope.backends.local.pull import pull

    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return await pull(spec)
    with _bar(spec or "the local model") as on_progress:
        return await pull(spec, on_progress)


@contextmanager
def _bar(name: str) -> Iterator[Progress]:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from vancetope.cli.paint import console_for

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console_for(sys.stderr), transient=True) as progress:
        task = progress.add_task(name.rpartition("/")[2], total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end a blocking read: the event loop's own handler would only take note of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        asyncio.get_running_loop()
