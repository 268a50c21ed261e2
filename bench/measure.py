"""Rounds of contestants, one at a time, and what they come to as ratios within the same round."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median, quantiles

TIME_ENOUGH = 300  # seconds for a contestant to load, or to end


@dataclass(frozen=True, slots=True)
class Round:
    """One contestant's share of one round: seconds a turn, on the clock and of CPU."""

    wall: float
    cpu: float
    sockets: int


@dataclass(frozen=True, slots=True)
class Spread:
    """A median between its quartiles."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, _, high = quantiles(values, n=4, method="inclusive")
        return cls(low, median(values), high)

    def times(self, factor: float) -> Spread:
        return Spread(self.low * factor, self.middle * factor, self.high * factor)

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


class Worker:
    """A contestant in a process of its own."""

    def __init__(self, kind: str, name: str, url: str, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.worker", kind, name, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1", **(environment or {})},
        )
        self._answer()

    def run(self, turns: int) -> Round:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{turns}\n")
        self._process.stdin.flush()
        spent = self._answer()
        return Round(spent["wall"] / turns, spent["cpu"] / turns, int(spent["sockets"]))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(TIME_ENOUGH)

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: its process ended with code {self._process.wait()}")
        answer: dict[str, float] = json.loads(line)
        return answer


@contextmanager
def server() -> Iterator[str]:
    """The base URL of a zero-latency server in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.stdin.close()
        process.wait(TIME_ENOUGH)


def rounds(kinds: Sequence[tuple[str, str]], url: str, *, number: int, turns: int) -> list[list[Round]]:
    """For each (kind, name) its rounds: A B C A B C, one contestant running at a time."""
    with ExitStack() as stack:
        workers = [Worker(kind, name, url) for kind, name in kinds]
        for worker in workers:
            stack.callback(worker.close)
        found: list[list[Round]] = [[] for _ in workers]
        for _ in range(number):
            for worker, seen in zip(workers, found, strict=True):
                seen.append(worker.run(turns))
    return found


def ratios(of: Sequence[float], to: Sequence[float]) -> Spread:
    """How many times as much, round by round."""
    return Spread.of([one / base for one, base in zip(of, to, strict=True)])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that can also be read as it is."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]

    def drawn(line: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([drawn(lines[0]), rule, *map(drawn, lines[1:])])
