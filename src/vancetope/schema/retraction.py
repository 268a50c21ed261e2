"""Whether the text behind a value takes it back: by the numbers that it names, since words cannot be listed."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

_Number: TypeAlias = int | float

_GROUPING = ",.'\u2019\u00a0\u202f\uff0c\u066c\u066b"
# Letters up to here stick to a number (`v2`, `3px`); scripts without blanks between their words come later.
_STICKY = r"A-Za-z_\u00aa-\u0dff"
_FIGURE = re.compile(
    r"^[ \t]*+\d{1,3}[.)](?=\s)"  # the number of an entry
    rf"|(?<![{_STICKY}.\d])(?<![\w]-)(?<!\d[:/])"
    rf"(?P<figure>\d{{1,40}}+(?:[{_GROUPING}]\d{{1,40}}+){{0,8}}+)"
    rf"(?![{_STICKY}\d]|[:/-]\d|\s?[%\uff05\u066a])",
    re.MULTILINE,
)
_SEPARATOR = re.compile(f"[{_GROUPING}]")


def takes_back(value: Any, behind: Iterable[str]) -> bool:
    """Whether these pieces of text name a number that may be meant in place of one in the value.

    It is whole, or broken, as that one is, differs from all in the value, and is of that one's order of magnitude:
    neither is ten times the other. So `it should be 53` takes an age of 52 back, while what programs print behind their
    answer (`1,204 tokens`, `$0.0031`) mostly does not. Digits in groups are one number. Percentages, times, dates,
    fractions, the numbers of entries and what sticks to letters or hyphens are not compared.
    """
    held = {abs(each) for each in _numbers(value)}
    if not held:
        return False
    whole = sorted(each for each in held if _is_whole(each))
    broken = sorted(each for each in held if not _is_whole(each))
    for each in _figures(behind):
        meant = _readings(each)
        if held.isdisjoint(meant) and any(_near(one, whole if _is_whole(one) else broken) for one in meant):
            return True
    return False


def _figures(behind: Iterable[str]) -> Iterator[str]:
    for piece in behind:
        for match in _FIGURE.finditer(piece):
            if figure := match.group("figure"):
                yield figure


def _readings(figure: str) -> list[_Number]:
    """The numbers that this figure may mean: `1.204` is 1204 or 1.204, `1,204` is 1204, `3,5` is 3.5, or 3 and 5."""
    first, *groups = _SEPARATOR.split(figure)
    if not groups:
        return [int(first)]
    marks = _SEPARATOR.findall(figure)
    grouped = len(first) <= 3 and all(len(each) == 3 for each in groups)
    meant: list[_Number] = [int(first + "".join(groups))] if grouped else []
    *before, last = groups
    if marks[-1] not in marks[:-1] and all(len(each) == 3 for each in before) and not (grouped and marks[-1] != "."):
        meant.append(float(f"{first}{''.join(before)}.{last}"))
    if not grouped and all(each == "," for each in marks):
        meant += map(int, (first, *groups))
    return meant


def _near(number: _Number, held: list[_Number]) -> bool:
    """Whether one of these numbers, which are in order, is of the same order of magnitude."""
    at = bisect(held, number)
    return any(_same_magnitude(number, each) for each in held[max(0, at - 1) : at + 1])


def _same_magnitude(one: _Number, other: _Number) -> bool:
    low, high = sorted((one, other))
    return high < 10 * (max(low, 1) if _is_whole(low) else low)


def _is_whole(number: _Number) -> bool:
    return isinstance(number, int) or number.is_integer()


def _numbers(value: Any) -> Iterator[_Number]:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield each
