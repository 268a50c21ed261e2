"""`vancetope models`: what can be used here, and why not."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from textwrap import wrap

from vancetope.backends.choose import Choice, choose
from vancetope.cli.answers import USES_FOUND_KEY, remembered
from vancetope.cli.found import Found, Offer, found
from vancetope.cli.lines import Line, Tone
from vancetope.cli.page import toned
from vancetope.cli.person import fetched
from vancetope.cli.trouble import print_json
from vancetope.cli.watch import plain
from vancetope.errors import ConfigError
from vancetope.settings import Settings, load

MOST_NAMES = 6


def models(*, probe: bool, as_json: bool) -> int:
    """Show the default choice and every way to a model; the exit code."""
    settings = load()
    choice, problem = _default(settings)
    ways = asyncio.run(found(settings, probe=probe))
    if as_json:
        print_json(
            {
                "default": None if choice is None else {"model": choice.info.id, "why": str(choice)},
                "problem": problem,
                "ways": [plain(each) for each in ways],
            }
        )
        return 0
    for each in _wrapped(str(choice) if choice else f"none; {problem}", "default: "):
        _print(Line(each, "plain" if choice else "bad"))
    _print(Line(""))
    width = max(len(each.name) for each in ways)
    chosen = choice.info.provider if choice else ""
    for way in ways:
        for line in _lines(way, width, is_default=way.name == chosen):
            _print(line)
    return 0


def pull(spec: str | None) -> int:
    """Fetch a local model and say where it lies; the exit code."""
    path = asyncio.run(fetched(spec))
    size = path.stat().st_size
    print(f"{path} ({size / 1e6:.0f} MB)")
    return 0


def _default(settings: Settings) -> tuple[Choice | None, str | None]:
    try:
        choice = choose(None, None, settings)
        if choice.paid_by_surprise and remembered(settings, USES_FOUND_KEY) is False:
            choice = choose("local:", None, settings)
    except ConfigError as error:
        return None, str(error)
    return choice, None


def _lines(way: Found, width: int, *, is_default: bool) -> list[Line]:
    """A way to a model as lines of the terminal, what is long wrapped below its column."""
    tone: Tone = "plain" if way.is_usable else "dim"
    lead = f"{'→' if is_default else ' '} {'✓' if way.is_usable else '-'} {way.name:<{width}}  "
    names = [_named(each) for each in way.models[:MOST_NAMES]]
    if len(way.models) > MOST_NAMES:
        names.append(f"and {len(way.models) - MOST_NAMES} more")
    first = [Line(each, tone) for each in _wrapped(way.state, lead)]
    return first + [Line(each, "dim") for name in names for each in _wrapped(name, " " * len(lead))]


def _wrapped(text: str, lead: str) -> list[str]:
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    return wrap(
        text,
        max(columns - 1, len(lead) + 20),
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
    )


def _named(offer: Offer) -> str:
    if offer.path is None or offer.size is None:
        return offer.name
    return f"{offer.name}, {offer.size / 1e6:.0f} MB in {shown_path(Path(offer.path).parent)}"


def _print(line: Line) -> None:
    print(toned(line.text, line.tone, sys.stdout))


def shown_path(path: Path) -> str:
    """A path as a person writes it."""
    home = os.path.expanduser("~")  # noqa: PTH111 (it never fails, Path.home does)
    return f"~{str(path)[len(home) :]}" if str(path).startswith(f"{home}{os.sep}") else str(path)
