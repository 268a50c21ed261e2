"""How long a server asks us to wait, in every form that servers have for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.backends.openai import waiting
from vancetope.backends.openai.waiting import LONGEST_RESET, retry_after

NOW = datetime(2026, 5, 4, 12, 30, 15, 250_000, UTC)
SOON = NOW + timedelta(seconds=30)


class Stopped(datetime):
    """A clock that stands still: these tests run long after they were collected."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Stopped:
        return cls.fromtimestamp(NOW.timestamp(), tz)


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "datetime", Stopped)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "20s"}, 20.0),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": format_datetime(NOW - timedelta(hours=1), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_a_server_says_for_how_long_it_wants_to_be_left_alone(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
    assert retry_after(headers, limited=True) == seconds


@pytest.mark.parametrize(
    "value",
    [
        format_datetime(SOON, usegmt=True),
        SOON.isoformat(),
        SOON.isoformat().replace("+00:00", "Z"),
        SOON.replace(tzinfo=None).isoformat(),
        str(SOON.timestamp()),
        str(int(SOON.timestamp() * 1000)),
    ],
)
def test_or_until_when(value: str) -> None:
    found = retry_after({"retry-after": value})
    assert found is not None
    assert 0 < found <= 31


LIMITS: list[tuple[str, dict[str, str], float | None]] = [
    ("openai, both used up", {
        "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "12ms",
        "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6s",
    }, 6.0),
    ("openai, one used up", {
        "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "159976", "x-ratelimit-reset-tokens": "9s",
    }, 1.0),
    ("longer than a reset tells anything", {
        "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s",
    }, None),
    ("one too long, one not", {"x-ratelimit-reset-requests": "24h", "x-ratelimit-reset-tokens": "2.5s"}, 2.5),
    ("azure without figures", {"x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"}, None),
    ("anthropic, nothing used up", {
        "anthropic-ratelimit-requests-remaining": "5", "anthropic-ratelimit-requests-reset": SOON.isoformat(),
    }, None),
    ("the draft's three", {"ratelimit-limit": "10", "ratelimit-remaining": "0", "ratelimit-reset": "50"}, 50.0),
    ("the draft's one", {"ratelimit": '"default";r=0;t=30', "ratelimit-policy": '"default";q=100;w=60'}, 30.0),
    ("the draft's one, some left", {"ratelimit": '"default";r=9;t=30'}, None),
    ("the draft's one, of two", {"ratelimit": '"day";r=9;t=40, "burst"; r=0; t=3'}, 3.0),
    ("no figure", {"x-ratelimit-reset": "soon"}, None),
    ("a wait that is said counts", {"retry-after": "2", "x-ratelimit-reset-requests": "30s"}, 2.0),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "seconds"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_where_it_only_says_when_its_limits_begin_anew_that_is_the_wait(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, limited=True) == seconds
    assert retry_after(headers) == (seconds if "retry-after" in headers else None), "only for what a limit refused"


@pytest.mark.parametrize(
    "headers",
    [
        {"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": SOON.isoformat()},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(SOON.timestamp()))},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(SOON.timestamp() * 1000))},
    ],
)
def test_limits_may_begin_anew_at_a_time_of_day(headers: dict[str, str]) -> None:
    found = retry_after(headers, limited=True)
    assert found is not None
    assert 0 < found <= 31


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "ratelimit", "x-ratelimit-reset-tokens", "ratelimit-reset"]),
        st.one_of(st.text(max_size=30), st.floats().map(str), st.integers().map(str), st.datetimes().map(str)),
    )
)
def test_whatever_the_headers_say_the_wait_is_a_time_or_none(headers: dict[str, str]) -> None:
    found = retry_after(headers, limited=True)
    assert found is None or 0 <= found < float("inf")
    if found is not None and not any(name.startswith("retry-after") for name in headers):
        assert found <= LONGEST_RESET


@pytest.mark.parametrize(
    "value",
    [
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2030 00:00:00 +999999999999999999999999999999",
        "0001-01-01T00:00:00+14:00",
        "9" * 5000,
        "9" * 5000 + "s",
        "1e999",
        "-1e999",
        "٣",
    ],
)
def test_a_time_that_no_clock_can_show_is_no_time_to_wait_and_no_crash(value: str) -> None:
    found = retry_after({"retry-after": value})
    assert found is None or 0 <= found < 10**10
