"""`vancetope chat`: a conversation, in a terminal or line by line."""

from __future__ import annotations

import asyncio
import os
import sys

from vancetope.cli.trouble import Refused
from vancetope.cli.wishes import Wishes


def chat(wishes: Wishes) -> int:
    """Talk until somebody leaves; the exit code."""
    if sys.stdout is None:
        raise Refused("standard output is closed: there is nowhere to put the answers")
    if _is_screen(wishes):
        from vancetope.cli.talk import talk

        return asyncio.run(talk(wishes))
    from vancetope.cli.line_chat import line_chat

    return asyncio.run(line_chat(wishes))


def _is_screen(wishes: Wishes) -> bool:
    terminals = all(each is not None and each.isatty() for each in (sys.stdin, sys.stdout))
    return terminals and not wishes.as_json and os.environ.get("TERM", "dumb") != "dumb"
