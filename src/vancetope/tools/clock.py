"""`clock`: what day and time it is, here or in another time zone."""

from __future__ import annotations

import difflib
import json
import unicodedata
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache, partial
from typing import Any

from vancetope import sentences
from vancetope.messages import ToolSpec
from vancetope.tools import threads
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.failure import ToolFailed

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

SPEC = ToolSpec(
    "clock",
    sentences.CLOCK,
    {
        "type": "object",
        "properties": {"timezone": {"type": ["string", "null"], "description": sentences.CLOCK_TIMEZONE}},
        "required": [],
        "additionalProperties": False,
    },
)


def _utc_now() -> datetime:
    return datetime.now(UTC)


def clock(now: Callable[[], datetime] = _utc_now) -> Tool:
    """The tool `clock(timezone)`. `now` gives the moment, with a time zone of its own."""

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:  # noqa: ARG001
        asked = (arguments.get("timezone") or "").strip()
        if not asked:
            return told(now().astimezone(), None)
        return await threads.current().run(partial(_elsewhere, asked, now()))

    return Tool(SPEC, run)


def told(moment: datetime, zone: str | None) -> str:
    """One line: date, weekday, time, and zone name with UTC offset, in English whatever the locale."""
    offset = moment.utcoffset() or timedelta()
    minutes = round(abs(offset).total_seconds() / 60)
    utc = f"UTC{'-' if offset < timedelta() else '+'}{minutes // 60:02}:{minutes % 60:02}"
    short = moment.tzname() or ""
    named = f"{zone} ({short}, {utc})" if zone and short.isalpha() and short != zone else f"{zone or short} ({utc})"
    return f"{moment:%Y-%m-%d}, {WEEKDAYS[moment.weekday()]}, {moment:%H:%M:%S}, {named}"


def _elsewhere(asked: str, moment: datetime) -> str:
    name, zone = _found(asked, moment)
    return told(moment.astimezone(zone), name)


def _found(asked: str, moment: datetime) -> tuple[str, tzinfo]:
    """The zone whose whole name, or whose city, is what was asked for."""
    if asked.upper() in ("UTC", "GMT", "Z"):
        return "UTC", UTC
    key = _key(asked)
    names = _whole_names().get(key) or _cities().get(key, ())
    zones = [(name, zoneinfo.ZoneInfo(name)) for name in names]
    if not zones:
        raise ToolFailed(sentences.CLOCK_UNKNOWN.format(asked=_quoted(asked), near=_near(key)))
    if len({_year(zone, moment) for _, zone in zones}) > 1:
        raise ToolFailed(sentences.CLOCK_AMBIGUOUS.format(asked=_quoted(asked), zones=", ".join(names)))
    return zones[0]


def _key(name: str) -> str:
    """A name without case, accents, spaces and hyphens: Bogotá, NewYork and port au prince are found."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(each for each in letters if each.isalnum() or each in "/+")


def _year(zone: tzinfo, moment: datetime) -> tuple[timedelta | None, ...]:
    """The zone's offsets over a year: two names of one zone have the same."""
    months = (moment + timedelta(days=30 * month) for month in range(12))
    return tuple(each.astimezone(zone).utcoffset() for each in months)


@lru_cache(maxsize=1)
def _whole_names() -> dict[str, tuple[str, ...]]:
    return {_key(name): (name,) for name in sorted(zoneinfo.available_timezones())}


@lru_cache(maxsize=1)
def _cities() -> dict[str, tuple[str, ...]]:
    cities: dict[str, tuple[str, ...]] = {}
    for (name,) in _whole_names().values():
        region, _, city = name.rpartition("/")
        if region and region != "Etc":
            cities[_key(city)] = (*cities.get(_key(city), ()), name)
    return cities


def _near(key: str) -> str:
    close = difflib.get_close_matches(key, _cities(), n=3, cutoff=0.7)
    names = [name for city in close for name in _cities()[city]] or [
        _whole_names()[each][0] for each in difflib.get_close_matches(key, _whole_names(), n=3, cutoff=0.7)
    ]
    return f"; near: {', '.join(names[:3])}" if names else ""


def _quoted(text: str) -> str:
    return json.dumps(text[:60], ensure_ascii=False)
