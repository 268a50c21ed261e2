"""Whose object comes out of a model's text: what is recovered, what is wrong, and how long it takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench.extraction_worker import CONTESTANTS
from bench.measure import TIME_ENOUGH, table
from tests.schema.mutation_corpus import CORPUS
from tests.schema.mutation_text import exact
from tests.schema.mutations import Case, cases, sample

BROKEN = Path(__file__).parents[1] / "tests/schema/broken_outputs.jsonl"
SEED = 4
SHARE = 0.25  # of the cases that the mutator makes of the published schemas
CHUNK = 100  # cases that one contestant takes before it is the next one's turn
PATIENCE = 30  # seconds for 1 MB of `{`

Found = list[Any]  # the value that came out, if one did


@dataclass(frozen=True, slots=True)
class Results:
    """What one contestant made of the cases: milliseconds and values, case by case."""

    milliseconds: list[float]
    found: list[Found]
    flood: str


class Contestant:
    """A way to get JSON out of text, in a process of its own."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.extraction_worker", name, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def take(self, first: int, end: int) -> list[tuple[float, Found]]:
        self._say(f"{first} {end}\n")
        return [(spent, found) for spent, found in json.loads(self._answer())]

    def flood(self) -> str:
        """Milliseconds for 1 MB of `{`, as text: it may take longer than anybody waits."""
        watch = threading.Timer(PATIENCE, self._process.kill)
        watch.start()
        self._say("flood\n")
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        in_time = watch.is_alive()
        watch.cancel()
        if line:
            return f"{float(line):,.0f}"
        return "crash" if in_time else f"over {PATIENCE * 1000:,}"

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(TIME_ENOUGH)

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: its process ended with code {self._process.wait()}")
        return line


def report() -> str:
    published = sample()
    mutated = [*cases(CORPUS, SEED), *cases(published, SEED, share=SHARE)]
    broken = [json.loads(line) for line in BROKEN.read_text("utf-8").splitlines()]
    texts = [(row["text"], row["schema"], row["finish"]) for row in map(_as_case, broken)]
    texts += [(each.text, each.instance.schema, each.finish) for each in mutated]
    results = _run(texts)
    rows = [*_broken_rows(broken, results), *_mutation_rows(mutated, results, len(broken)), *_time_rows(results)]
    of = (
        f"{len(mutated):,} mutated replies of {len(CORPUS)} values of our own and {len(published)} of published schemas"
    )
    return f"{len(broken)} broken replies by hand, and {of}:\n\n{table(['', *CONTESTANTS], rows)}"


def _as_case(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": row["raw"], "schema": row["schema"], "finish": row["finish_reason"]}


def _run(texts: Sequence[tuple[str, Mapping[str, Any], str]]) -> list[Results]:
    """Every text through every contestant, who take turns."""
    found: list[list[tuple[float, Found]]] = [[] for _ in CONTESTANTS]
    with _written(texts) as file, ExitStack() as stack:
        contestants = [Contestant(name, file) for name in CONTESTANTS]
        for each in contestants:
            stack.callback(each.close)
        for first in range(0, len(texts), CHUNK):
            for each, seen in zip(contestants, found, strict=True):
                seen += each.take(first, min(first + CHUNK, len(texts)))
        floods = [each.flood() for each in contestants]
    return [
        Results([spent for spent, _ in seen], [value for _, value in seen], flood)
        for seen, flood in zip(found, floods, strict=True)
    ]


@contextmanager
def _written(texts: Sequence[tuple[str, Mapping[str, Any], str]]) -> Iterator[Path]:
    """The cases in the file that the contestants read."""
    numbers: dict[str, int] = {}
    lines = []
    for text, schema, finish in texts:
        number = numbers.setdefault(json.dumps(schema), len(numbers))
        lines.append(json.dumps({"text": text, "schema": number, "finish": finish}) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.jsonl"
        file.write_text("".join(lines), "utf-8")
        Path(f"{file}.schemas").write_text("\n".join(numbers), "utf-8")
        yield file


def _broken_rows(broken: Sequence[Mapping[str, Any]], results: Sequence[Results]) -> list[list[str]]:
    """The replies by hand, each with the value that a careful reader takes from it, or none."""

    def given(verdict: str, certainty: str) -> list[int]:
        return [i for i, row in enumerate(broken) if (row["verdict"], row["certainty"]) == (verdict, certainty)]

    sure, refused = given("accept", "certain"), given("reject", "certain")
    some = sure + given("accept", "policy")

    def right(each: Results, index: int) -> bool:
        return bool(each.found[index]) and exact(each.found[index][0], broken[index]["value"])

    return [
        [
            f"by hand: accepted, of {len(sure)} certain ones",
            *(_percent(sum(right(each, i) for i in sure), len(sure)) for each in results),
        ],
        [
            f"by hand: wrong values, of {len(some)} with one",
            *(str(sum(bool(each.found[i]) and not right(each, i) for i in some)) for each in results),
        ],
        [
            f"by hand: invented, of {len(refused)} without one",
            *(_percent(sum(bool(each.found[i]) for i in refused), len(refused)) for each in results),
        ],
    ]


def _mutation_rows(mutated: Sequence[Case], results: Sequence[Results], start: int) -> list[list[str]]:
    lexical = [i for i, case in enumerate(mutated) if not case.damaged]
    counted = [i for i in lexical if mutated[i].counts]
    damaged = [i for i, case in enumerate(mutated) if case.damaged]
    part = [i for i in damaged if not mutated[i].whole]

    def right(each: Results, index: int) -> bool:
        found = each.found[start + index]
        return bool(found) and exact(found[0], mutated[index].instance.value)

    def wrong(each: Results, index: int) -> bool:
        return bool(each.found[start + index]) and not right(each, index)

    def row(title: str, chosen: list[int], counts: Callable[[Results, int], bool], *, number: bool) -> list[str]:
        shares = [sum(counts(each, i) for i in chosen) for each in results]
        cells = [
            f"{share} ({_percent(share, len(chosen))})" if number else _percent(share, len(chosen)) for share in shares
        ]
        return [f"{title}, of {len(chosen):,}", *cells]

    return [
        row("written oddly: recovered", counted, right, number=False),
        row("the same, and where doubt is right", lexical, right, number=False),
        row("written oddly: wrong objects", lexical, wrong, number=True),
        row("damaged: wrong objects", damaged, wrong, number=True),
        row("damaged: guessed right", part, right, number=True),
    ]


def _time_rows(results: Sequence[Results]) -> list[list[str]]:
    cuts = [quantiles(each.milliseconds, n=100, method="inclusive") for each in results]
    return [
        ["ms a reply, median", *(f"{each[49]:.2f}" for each in cuts)],
        ["ms a reply, 99th percentile", *(f"{each[98]:.2f}" for each in cuts)],
        ["ms for 1 MB of `{`", *(each.flood for each in results)],
    ]


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


if __name__ == "__main__":
    print(report())
