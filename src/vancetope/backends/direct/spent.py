"""Counted tokens, and a guess where a server does not count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vancetope.backends.openai.reading import MOST_TOKENS, TOKEN
from vancetope.messages import Usage


def counted(counts: Mapping[str, Any], *fields: str) -> int:
    """The sum of these counts; what is no count of tokens is none."""
    found = [counts.get(field) for field in fields]
    return sum(int(each) for each in found if isinstance(each, int | float) and 0 < each <= MOST_TOKENS)


def estimated(usage: Usage, asked: int, written: int) -> Usage:
    """The usage with what the server left out guessed from the characters asked and written."""
    guessed = usage.input_tokens == 0 or (usage.output_tokens == 0 and written > 0)
    return replace(
        usage,
        input_tokens=usage.input_tokens or max(1, asked // TOKEN),
        output_tokens=usage.output_tokens or -(-written // TOKEN),
        estimated=guessed,
    )
