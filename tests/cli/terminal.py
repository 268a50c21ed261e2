"""The command in a terminal of its own, typed into and read like a person does."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

from tests.cli.running import COMMAND

_CODE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>78]|\x1b\][^\x07]*\x07")
PATIENCE = 20.0  # seconds


class Terminal:
    """One end of a terminal; the command sits at the other. `seen` is all that it wrote, without codes."""

    def __init__(self, process: subprocess.Popen[bytes], end: int) -> None:
        self.process = process
        self.raw = ""
        self._end = end
        self._read = 0

    @property
    def seen(self) -> str:
        return _CODE.sub("", self.raw).replace("\r", "")

    @property
    def _dense(self) -> str:
        """The same without white space: a repaint moves about with it."""
        return "".join(self.seen.split())

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def until(self, text: str) -> str:
        """Read until this text, white space apart, has come since the last call; what came, without white space."""
        give_up = time.monotonic() + PATIENCE
        dense = "".join(text.split())
        while dense not in self._dense[self._read :]:
            if not self._more(give_up):
                raise AssertionError(f"{text!r} did not come, but:\n{self._dense[self._read :]}")
        start, self._read = self._read, self._dense.index(dense, self._read) + len(dense)
        return self._dense[start : self._read]

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed, as it does outside of a chat."""
        return bool(termios.tcgetattr(self._end)[3] & termios.ECHO)

    def end(self) -> int:
        """Read to the end; the exit code."""
        give_up = time.monotonic() + PATIENCE
        while self._more(give_up):
            pass
        return self.process.wait(5)

    def _more(self, give_up: float) -> bool:
        ready, _, _ = select.select([self._end], [], [], max(give_up - time.monotonic(), 0))
        try:
            data = os.read(self._end, 65536) if ready else b""
        except OSError:  # the other end is closed
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)


@contextmanager
def terminal(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, size: tuple[int, int] = (30, 80)
) -> Iterator[Terminal]:
    """Start a command in a new terminal of this many rows and columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm-256color", **(env or {})},
        start_new_session=True,
        preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
