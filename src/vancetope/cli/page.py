"""Where a conversation is shown: a terminal that is repainted, or streams that are only written to."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import wrap
from typing import Any, Protocol, TextIO

from vancetope.cli.lines import Aside, Line, Part, Said, Tone

SGR: dict[Tone, str] = {"plain": "", "dim": "2", "good": "2;32", "bad": "31", "note": "2", "you": "1;36"}


class Page(Protocol):
    """Where parts are shown.

    Contract: `settle` shows parts for good, in order; `live` replaces what was shown as provisional; `close` leaves
    only what was settled. A stream whose reader is gone raises `OSError`. `is_repainted` is false where `live` does
    nothing.
    """

    is_repainted: bool

    def settle(self, parts: Sequence[Part]) -> None: ...

    def live(self, parts: Sequence[Part]) -> None: ...

    def close(self) -> None: ...


class Streams:
    """The message on stdout, everything else on stderr."""

    is_repainted = False

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def settle(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Said):
                out = sys.stdout
                out.write(part.text if part.text.endswith("\n") else f"{part.text}\n")
                out.flush()
            else:
                aside(part, quiet=self._quiet)

    def live(self, parts: Sequence[Part]) -> None:
        """Streams cannot take back what they have shown."""

    def close(self) -> None:
        """Nothing is held."""


class Terminal:
    """One terminal for everything, with what is provisional repainted at its end. `file` is where that terminal is, if
    not at stdout."""

    is_repainted = True

    def __init__(self, *, quiet: bool = False, file: TextIO | None = None) -> None:
        from rich.live import Live

        from vancetope.cli.paint import console_for

        self._quiet = quiet
        self._console = console_for(file or sys.stdout)
        self._live: Live | None = None
        self._above: Part | None = None

    def settle(self, parts: Sequence[Part]) -> None:
        from vancetope.cli.paint import together

        self.close()
        shown = [each for each in parts if isinstance(each, Said) or (sys.stderr.isatty() and _loud(each, self._quiet))]
        if shown:
            self._console.print(together(shown, self._above))
            self._above = shown[-1]
        if not sys.stderr.isatty():
            for part in parts:
                if not isinstance(part, Said):
                    aside(part, quiet=self._quiet)

    def live(self, parts: Sequence[Part]) -> None:
        from rich.live import Live
        from rich.text import Text

        from vancetope.cli.paint import as_ansi, tail

        lines = as_ansi(
            [each for each in parts if not self._quiet or isinstance(each, Said)], self._console.width, self._above
        )
        if not lines:
            self.close()
            return
        shown = Text.from_ansi("\n".join(tail(lines, max(self._console.height - 1, 1))))
        if self._live is None:
            self._live = Live(
                console=self._console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(shown, refresh=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def aside(part: Line | Aside, *, quiet: bool = False) -> None:
    """A line on stderr; with colour where that is a terminal. That nobody reads it is no reason to end."""
    if not _loud(part, quiet):
        return
    tone: Tone = part.tone if isinstance(part, Line) else "dim"
    with suppress(OSError, ValueError):
        sys.stderr.write(toned(part.text.rstrip("\n"), tone, sys.stderr) + "\n")
        sys.stderr.flush()


def toned(text: str, tone: Tone, stream: TextIO) -> str:
    """The text in the colour of its tone, where the stream is a terminal that wants colours."""
    if not SGR[tone] or not has_colour(stream):
        return text
    return f"\x1b[{SGR[tone]}m{text}\x1b[0m"


def wrapped(text: str, lead: str) -> list[str]:
    """The text in lines that fit the terminal, the first behind `lead` and the others below it; one line where nobody
    sees it in a terminal."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    return wrap(
        text,
        max(columns - 1, len(lead) + 20),
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
    )


def shown_path(path: Path) -> str:
    """A path as a person writes it."""
    home = os.path.expanduser("~")  # noqa: PTH111 (it never fails, Path.home does)
    return f"~{str(path)[len(home) :]}" if str(path).startswith(f"{home}{os.sep}") else str(path)


def has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _loud(part: Any, quiet: bool) -> bool:
    """Whether a part is said although the person wants quiet: only errors are."""
    return not quiet or (isinstance(part, Line) and part.tone == "bad")
