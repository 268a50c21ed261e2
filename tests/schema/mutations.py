"""The mutation test of the extractor: values written oddly must come back, damaged ones must not turn into others.

A case is made from an instance (a schema and a value that fits it), the name of a mutation and a seed, and always comes
out the same from the same three. Instances are ours (`mutation_corpus`) and, where the file is at hand, those of a
sample of published schemas, which is third-party: of its cases only the three names are ever stored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, TypeAlias

from tests.schema.mutation_around import LEXICAL
from tests.schema.mutation_garbling import DAMAGE
from tests.schema.mutation_lexical import combined
from tests.schema.mutation_text import Instance, draft_of, exact, written
from vancetope.schema import Extraction, NoJson, extract

ROOT = Path(__file__).parents[2]
FAILURES = Path(__file__).with_name("mutation_failures.jsonl")
SAMPLE = Path(os.environ.get("VANCETOPE_SCHEMA_SAMPLE") or ROOT.parent / "shared/data/jsonschemabench_sample.jsonl")
NO_SAMPLE = f"the sample of published schemas is not here ({SAMPLE.name}; VANCETOPE_SCHEMA_SAMPLE names the file)"

COMBINATIONS = {"two_at_once": 2, "three_at_once": 3}
LEXICAL_NAMES = (*LEXICAL, *COMBINATIONS, "two_at_once_again", "three_at_once_again")
NAMES = (*LEXICAL_NAMES, *DAMAGE)

NOTHING: Final = object()
Verdict: TypeAlias = Literal["recovered", "missed", "refused", "wrong"]


@dataclass(frozen=True, slots=True)
class Case:
    """One reply. `damaged`: no value but the original may come back, and that only if `whole`. Otherwise the original
    must come back where `counts`; where not, a refusal is right too: a permissive schema, or a doubt in the text."""

    instance: Instance
    name: str
    seed: int
    text: str = field(repr=False)
    finish: str = "stop"
    damaged: bool = False
    whole: bool = True
    counts: bool = True
    recipe: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.instance.id}/{self.name}/{self.seed}"

    def verdict(self, value: Any) -> Verdict:
        """What a returned value is worth; `NOTHING` for a refusal. A value that misses the schema is wrong."""
        if value is NOTHING:
            return "missed" if self.counts and not self.damaged else "refused"
        if not exact(value, self.instance.value) or not self.whole or not self.instance.fits(value):
            return "wrong"
        return "recovered"


@dataclass(slots=True)
class Tally:
    """How a run went: counts, and the cases that were missed or wrong with what came back."""

    recovered: int = 0
    refused: int = 0
    lexical: int = 0
    damaged: int = 0
    missed: list[tuple[Case, Any]] = field(default_factory=list)
    wrong: list[tuple[Case, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, made: Iterable[Case]) -> Tally:
        """Each of these cases through the extractor."""
        tally = cls()
        for case in made:
            tally.add(case, extract(case.text, case.instance.schema, case.finish))
        return tally

    def add(self, case: Case, found: Extraction | NoJson) -> None:
        verdict = case.verdict(found.value if isinstance(found, Extraction) else NOTHING)
        self.damaged += case.damaged
        self.lexical += not case.damaged and case.counts
        if verdict == "recovered":
            self.recovered += not case.damaged and case.counts
        elif verdict == "refused":
            self.refused += 1
        else:
            (self.missed if verdict == "missed" else self.wrong).append((case, found))

    @property
    def recovery(self) -> float:
        """The share of lexical cases that came back, of those that had to."""
        return self.recovered / self.lexical if self.lexical else 1.0

    def told(self) -> str:
        """The figures, and the first failures in full."""
        failed = [f"wrong: {_shown(*each)}" for each in self.wrong[:10]]
        failed += [f"missed: {_shown(*each)}" for each in self.missed[:10]]
        figures = f"recovered {self.recovery:.2%} of {self.lexical}, wrong {len(self.wrong)}, damaged {self.damaged}"
        return "\n".join([figures, *failed])


def _shown(case: Case, found: object) -> str:
    if not case.instance.own:
        return f"{case.id} {case.recipe}"
    end = f"{case.finish}, whole: {case.whole}, came back: {str(found)[:300]}"
    return f"{case.id} {case.recipe}\n  {case.text[:600]!r}\n  {end}"


def make(instance: Instance, name: str, seed: int) -> Case | None:
    """The case of these three; none where the mutation does not apply to the value."""
    random = Random(f"{seed}/{instance.id}/{name}")
    draft = draft_of(instance, random)
    if name in DAMAGE:
        reply = DAMAGE[name](draft, random)
        if reply is None:
            return None
        return Case(instance, name, seed, reply.text, reply.finish, damaged=True, whole=reply.whole)
    if name in LEXICAL:
        changed = LEXICAL[name][1](draft, random)
    else:
        count = COMBINATIONS[name.removesuffix("_again")]
        tries = (combined(draft, random, count) for _ in range(8))
        changed = next((each for each in tries if each is not None), None)
    if changed is None:
        return None
    counts = not changed.doubtful and (not instance.permissive or (changed.strict and changed.bare))
    return Case(instance, name, seed, written(changed), counts=counts, recipe=changed.recipe or (name,))


def cases(
    instances: Iterable[Instance], seed: int, names: Iterable[str] = NAMES, *, share: float = 1
) -> Iterator[Case]:
    """Every mutation of every instance that applies; with a `share`, that part of them, chosen by the seed."""
    for instance in instances:
        for name in names:
            if share < 1 and Random(f"{seed}:{instance.id}:{name}").random() >= share:
                continue
            if case := make(instance, name, seed):
                yield case


def sample() -> list[Instance]:
    """The valid objects and lists of the published schemas; empty where the file is missing."""
    if not SAMPLE.is_file():
        return []
    valid = [
        Instance(f"{row['id']}#{index}", row["schema"], test["data"], own=False)
        for row in map(json.loads, SAMPLE.read_text("utf-8").splitlines())
        for index, test in enumerate(row["tests"])
        if test["valid"] and isinstance(test["data"], dict | list)
    ]
    return [each for each in valid if each.fits(each.value)]


def stored(case: Case) -> dict[str, Any]:
    """A failed case as a line of `mutation_failures.jsonl`; one of the sample without its content."""
    names = {"instance": case.instance.id, "mutation": case.name, "seed": case.seed}
    if not case.instance.own:
        return names
    whole = {"schema": case.instance.schema, "value": case.instance.value}
    return {**names, **whole, **{part: getattr(case, part) for part in _PARTS}}


_PARTS = ("text", "finish", "damaged", "whole", "counts")


def restored(line: Mapping[str, Any], of_sample: Mapping[str, Instance]) -> Case | None:
    """The case of such a line; none if its instance is not at hand or the mutator no longer makes it."""
    if "text" in line:
        instance = Instance(line["instance"], line["schema"], line["value"])
        return Case(instance, line["mutation"], line["seed"], **{part: line[part] for part in _PARTS})
    published = of_sample.get(line["instance"])
    return make(published, line["mutation"], line["seed"]) if published else None


def failures() -> list[dict[str, Any]]:
    """The stored lines."""
    text = FAILURES.read_text("utf-8") if FAILURES.is_file() else ""
    return [json.loads(line) for line in text.splitlines() if line]


def store(failed: Iterable[Case]) -> None:
    """Append what is not stored yet."""
    known = [(each["instance"], each["mutation"], each["seed"]) for each in failures()]
    fresh = [each for each in failed if (each.instance.id, each.name, each.seed) not in known]
    if fresh:
        with FAILURES.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(stored(each), ensure_ascii=False) + "\n" for each in fresh)
