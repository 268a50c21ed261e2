"""Requests that are sent again, told to the person who waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vancetope.cli.clean import one_line
from vancetope.cli.lines import Line

if TYPE_CHECKING:
    from stamina.instrumentation import RetryDetails


def tell_retries(tell: Callable[[Line], None] | None) -> None:
    """From now on say each repeated request in one line, or with null say nothing."""
    from stamina.instrumentation import set_on_retry_hooks

    def hook(details: RetryDetails) -> None:
        if tell is not None:
            why = one_line(str(details.caused_by), 200)
            tell(Line(f"↻ again in {details.wait_for:.1f} s: {why}", "dim", fits=True))

    set_on_retry_hooks([hook])
