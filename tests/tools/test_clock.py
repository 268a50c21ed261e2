"""The clock tells the time here or elsewhere, and never guesses what place was meant."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.running import answer
from vancetope.schema.validate import compile
from vancetope.tools.clock import SPEC, clock
from vancetope.tools.failure import ToolFailed

WINTER = datetime(2025, 1, 15, 23, 4, 5, tzinfo=UTC)
SUMMER = datetime(2025, 7, 15, 23, 4, 5, tzinfo=UTC)


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("asked", "moment", "told"),
    [
        ("Europe/Paris", WINTER, "2025-01-16, Thursday, 00:04:05, Europe/Paris (CET, UTC+01:00)"),
        ("Europe/Paris", SUMMER, "2025-07-16, Wednesday, 01:04:05, Europe/Paris (CEST, UTC+02:00)"),
        ("Paris", SUMMER, "2025-07-16, Wednesday, 01:04:05, Europe/Paris (CEST, UTC+02:00)"),
        ("New York", SUMMER, "2025-07-15, Tuesday, 19:04:05, America/New_York (EDT, UTC-04:00)"),
        ("new_york", WINTER, "2025-01-15, Wednesday, 18:04:05, America/New_York (EST, UTC-05:00)"),
        ("  TOKYO ", WINTER, "2025-01-16, Thursday, 08:04:05, Asia/Tokyo (JST, UTC+09:00)"),
        ("Asia/Kathmandu", WINTER, "2025-01-16, Thursday, 04:49:05, Asia/Kathmandu (UTC+05:45)"),
        ("America/St_Johns", WINTER, "2025-01-15, Wednesday, 19:34:05, America/St_Johns (NST, UTC-03:30)"),
        ("utc", WINTER, "2025-01-15, Wednesday, 23:04:05, UTC (UTC+00:00)"),
        ("Z", WINTER, "2025-01-15, Wednesday, 23:04:05, UTC (UTC+00:00)"),
    ],
)
async def test_the_time_in_a_zone_or_in_its_city(asked: str, moment: datetime, told: str) -> None:
    assert await answer(clock(lambda: moment), timezone=asked) == told


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize("arguments", [{}, {"timezone": None}, {"timezone": " "}])
async def test_without_a_zone_it_is_this_machines_time(arguments: dict[str, str | None]) -> None:
    said = await answer(clock(lambda: WINTER), **arguments)
    assert said == "2025-01-16, Thursday, 08:04:05, JST (UTC+09:00)"


async def test_several_names_of_one_zone_are_no_question() -> None:
    assert "Buenos_Aires (UTC-03:00)" in await answer(clock(lambda: WINTER), timezone="Buenos Aires")


async def test_a_name_for_different_zones_is_a_question() -> None:
    with pytest.raises(ToolFailed, match="Australia/West, Brazil/West"):
        await answer(clock(), timezone="West")


@pytest.mark.parametrize(("asked", "near"), [("Tokio", "Asia/Tokyo"), ("Europe/Pariss", "Europe/Paris")])
async def test_an_unknown_zone_is_told_its_neighbours(asked: str, near: str) -> None:
    with pytest.raises(ToolFailed, match=near):
        await answer(clock(), timezone=asked)


@pytest.mark.parametrize("asked", ["東京", "Atlantis", "../../etc/passwd", "/etc/localtime", "\0", "a" * 10_000])
async def test_what_is_no_zone_is_refused_in_a_short_sentence(asked: str) -> None:
    with pytest.raises(ToolFailed, match="there is no time zone") as raised:
        await answer(clock(), timezone=asked)
    assert len(str(raised.value)) < 250


@given(st.text(max_size=20))
async def test_any_name_is_answered_or_refused(asked: str) -> None:
    try:
        said = await answer(clock(lambda: WINTER), timezone=asked)
    except ToolFailed as failed:
        said = str(failed)
    assert said


async def test_the_default_clock_runs() -> None:
    before = datetime.now(UTC).strftime("%Y-%m-%d")
    said = await answer(clock(), timezone="UTC")
    assert before <= said[:10] <= datetime.now(UTC).strftime("%Y-%m-%d")


def test_the_spec_is_a_schema_that_takes_null() -> None:
    assert compile(SPEC.parameters).fits({})
    assert compile(SPEC.parameters).fits({"timezone": None})
    assert not compile(SPEC.parameters).fits({"timezone": 3})


@pytest.mark.parametrize(
    ("asked", "zone"),
    [
        ("Bogotá", "America/Bogota"),
        ("NewYork", "America/New_York"),
        ("port au prince", "America/Port-au-Prince"),
        ("Etc/GMT-5", "Etc/GMT-5"),
        ("etc/gmt+5", "Etc/GMT+5"),
    ],
)
async def test_accents_case_spaces_and_hyphens_do_not_matter(asked: str, zone: str) -> None:
    assert zone in await answer(clock(), timezone=asked)
