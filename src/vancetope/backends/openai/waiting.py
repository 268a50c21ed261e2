"""How long a server asks us to wait, in all the ways that servers say so."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# When a limit is full again is no more than an upper bound of when the next request may pass: a longer time than this
# tells nothing, and one's own pauses serve better.
LONGEST_RESET = 60.0  # seconds
LATER = 10**9  # more seconds than that are no time to wait but a time since 1970; more than 1,000 times that in ms

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_RESET = re.compile(r"(?:x-)?(?:[a-z]+-)?ratelimit-(?:reset(?:-(?P<after>[a-z_-]+))?|(?P<before>[a-z-]+)-reset)")
_POLICY = re.compile(r"r=(\d+)\s*;\s*t=(\d+)")


def retry_after(headers: Mapping[str, str], *, limited: bool = False) -> float | None:
    """The seconds that a server asks us to wait: `Retry-After` (seconds or a date) or its twin in milliseconds; where
    it refused a request because of a limit, also when the limit that is used up begins anew, if that is soon.

    The limits' headers: `x-ratelimit-reset-requests: 6m0s` and the like, `anthropic-ratelimit-tokens-reset` with a
    date, `ratelimit-reset`, and `ratelimit: "default";r=0;t=30`. Names of headers are in lower case.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (seconds := _seconds(headers.get(name, ""), unit)) is not None:
            return seconds
    resets = [seconds for seconds in _resets(headers) if 0 < seconds <= LONGEST_RESET] if limited else []
    return max(resets, default=None)


def _resets(headers: Mapping[str, str]) -> Iterator[float]:
    """The seconds until each limit that is used up begins anew; of one that does not say whether it is, too."""
    for name in headers:
        if name == "ratelimit":
            yield from (float(after) for left, after in _POLICY.findall(headers[name]) if left == "0")
            continue
        found = _RESET.fullmatch(name)
        if found is None or _is_left(headers.get(_remaining(name, found), "")):
            continue
        if (seconds := _seconds(headers[name], 1.0)) is not None:
            yield seconds


def _remaining(name: str, found: re.Match[str]) -> str:
    """The header that says how much is left of the limit that this header is about."""
    return name.replace("-reset", "-remaining", 1) if not found["before"] else f"{name.removesuffix('reset')}remaining"


def _is_left(value: str) -> bool:
    try:
        return float(value) > 0
    except ValueError:
        return False


def _seconds(value: str, unit: float) -> float | None:
    value = value.strip()
    if not value:
        return None
    if _SPAN.fullmatch(value):
        span: float = sum(float(number) * _UNITS[name] for number, name in _PART.findall(value))
        return span if math.isfinite(span) else None
    now = datetime.now(UTC).timestamp()
    try:
        seconds = float(value) * unit
    except ValueError:
        date = _date(value)
        seconds = math.nan if date is None else date - now
    else:
        if seconds > LATER:
            seconds = (seconds / 1000 if seconds > LATER * 1000 else seconds) - now
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(value: str) -> float | None:
    """A date as HTTP or RFC 3339 writes it, in seconds since 1970."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(value)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, TypeError):
            continue
    return None
