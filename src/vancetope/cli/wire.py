"""The wire: every request and reply, for a person who wants to see them."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

from vancetope.cli.clean import clean
from vancetope.cli.page import toned
from vancetope.cli.trouble import as_line

ARROWS = {"request": "-->", "reply": "<--"}


def on_stderr(kind: str, value: Any) -> None:
    """Print one on stderr: indented in a terminal, else one line, an arrow and JSON."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(toned(wire_text(kind, value, indented=sys.stderr.isatty()), "dim", sys.stderr) + "\n")
        sys.stderr.flush()


def wire_text(kind: str, value: Any, *, indented: bool) -> str:
    arrow = ARROWS.get(kind, kind)
    if indented:
        return f"{arrow} {clean(json.dumps(value, ensure_ascii=False, indent=2, default=str))}"
    return f"{arrow} {as_line(value)}"
