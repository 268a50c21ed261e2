"""`vancetope chat`: a conversation, in a terminal or line by line."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

from vancetope.cli.page import toned
from vancetope.cli.trouble import Refused
from vancetope.cli.wishes import Wishes

PROMPT = "> "


def chat(wishes: Wishes) -> int:
    """Talk until somebody leaves; the exit code."""
    if sys.stdout is None:
        raise Refused("standard output is closed: there is nowhere to put the answers")
    if not _is_screen(wishes):
        from vancetope.cli.line_chat import line_chat

        return asyncio.run(line_chat(wishes))
    with _early_prompt():
        from vancetope.cli.talk import talk

        return asyncio.run(talk(wishes))


def _is_screen(wishes: Wishes) -> bool:
    terminals = all(each is not None and each.isatty() for each in (sys.stdin, sys.stdout))
    return terminals and not wishes.as_json and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def _early_prompt() -> Iterator[None]:
    """Show a prompt at once. What is typed before the real one takes over is kept by the terminal, not echoed."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    silent = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(file, termios.TCSANOW, silent)
    sys.stdout.write(f"{toned(PROMPT, 'you', sys.stdout)}\r")
    sys.stdout.flush()
    try:
        yield
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)
