"""Text of others, made safe to show: a model must not reach the terminal behind the text."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without control characters, newline and tab excepted; half a surrogate pair becomes a question mark in
    a diamond."""
    return _CONTROL.sub(_instead, text)


def one_line(text: str, most: int = 100) -> str:
    """The text in one line of at most so many characters."""
    flat = " ".join(clean(text[: 4 * most]).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _instead(match: re.Match[str]) -> str:
    found = match[0]
    if found == "\r\n":
        return "\n"
    return "\ufffd" if found >= "\ud800" else ""
