"""Thirty structured questions to the local model: by a grammar, and in words."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import jsonschema_rs

import vancetope
from bench.measure import Spread, table
from bench.schemas import CASES, LEVELS, Case

MODEL = "local:smollm2-135m"
FORMS = ("constrained", "prompted")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question's answer: how many of the facts it was told stand at their place in it, and how long it took."""

    case: Case
    answer: vancetope.Answer[dict[str, Any]]
    told: int
    seconds: float

    @property
    def tokens(self) -> int:
        return self.answer.usage.input_tokens + self.answer.usage.output_tokens


def report() -> str:
    return asyncio.run(_report())


async def _report() -> str:
    await vancetope.ask("Hello.", model=MODEL)  # starts the model's process
    forms: dict[str, list[Asked]] = {form: [] for form in FORMS}
    for case in CASES:
        for form, asked in forms.items():
            asked.append(await ask(case, form))
            print(f"{case.level}, {form}: {asked[-1].answer!r}", file=sys.stderr, flush=True)
    return "\n\n".join(
        [
            f"{len(CASES)} schemas, shipped defaults (at most three attempts):",
            _totals(forms),
            "By level, answered / facts at their place:",
            _by_level(forms),
            "How the others ended:",
            _failures(forms),
        ]
    )


async def ask(case: Case, form: Any) -> Asked:
    started = time.perf_counter()
    answer = await vancetope.query(case.prompt, case.schema, model=MODEL, enforcement=form)
    seconds = time.perf_counter() - started
    if answer.success:
        assert jsonschema_rs.validator_for(case.schema, offline=True).is_valid(answer.data), "data does not fit"
    facts = case.told.items() if answer.success else ()
    return Asked(case, answer, sum(holds(answer.data, pointer, value) for pointer, value in facts), seconds)


def holds(data: Any, pointer: str, value: Any) -> bool:
    """Whether the value stands at its place; of a text it is enough that it stands in the text there."""
    for step in pointer.split("/")[1:]:
        try:
            data = data[int(step)] if isinstance(data, list) else data[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return False
    if isinstance(value, str):
        return isinstance(data, str) and value.casefold() in data.casefold()
    return type(data) is type(value) and data == value if isinstance(value, bool) or value is None else data == value


def _totals(forms: dict[str, list[Asked]]) -> str:
    head = ["", "answered", "attempts", "facts told", "tokens a success", "seconds a question"]
    rows = []
    for form, asked in forms.items():
        right = [each for each in asked if each.answer.success]
        facts = sum(len(each.case.told) for each in asked)
        spent = sum(each.tokens for each in asked)
        rows.append(
            [
                form,
                f"{len(right)} of {len(asked)}",
                f"{mean(each.answer.attempts for each in asked):.2f}",
                f"{sum(each.told for each in asked)} of {facts}",
                f"{spent / len(right):.0f}" if right else "-",
                str(Spread.of([each.seconds for each in asked])),
            ]
        )
    return table(head, rows)


def _by_level(forms: dict[str, list[Asked]]) -> str:
    def cell(asked: Sequence[Asked]) -> str:
        right, facts = sum(each.answer.success for each in asked), sum(len(each.case.told) for each in asked)
        return f"{right} of {len(asked)} / {sum(each.told for each in asked)} of {facts}"

    return _each(forms, list(LEVELS), lambda each, level: each.case.level == level, cell)


def _failures(forms: dict[str, list[Asked]]) -> str:
    kinds = sorted({str(each.answer.error) for asked in forms.values() for each in asked if not each.answer.success})
    return _each(forms, kinds, lambda each, kind: each.answer.error == kind, lambda asked: str(len(asked)))


def _each(
    forms: dict[str, list[Asked]],
    columns: list[str],
    belongs: Callable[[Asked, str], bool],
    cell: Callable[[Sequence[Asked]], str],
) -> str:
    rows = [
        [form, *(cell([each for each in asked if belongs(each, column)]) for column in columns)]
        for form, asked in forms.items()
    ]
    return table(["", *columns], rows)


if __name__ == "__main__":
    print(report())
