"""How often the local model's turns end by contract, and how often the answer carries what the tool said."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any
from zoneinfo import ZoneInfo

import vancetope
from bench.measure import Spread, table
from bench.tasks import CANDIDATES, QUESTIONS, Candidate, Lookup, Task, tasks
from vancetope.messages import ToolSpec

MODEL = "local:smollm2-135m"
REPETITIONS = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """One task's turn: whether the contract held, the tool ran, and the delivered message carries the tool's value."""

    task: Task
    turn: vancetope.Turn
    seconds: float
    ran: bool

    @property
    def held(self) -> bool:
        return self.turn.outcome == "respond"

    @property
    def carries(self) -> bool:
        return self.held and self.task.value in plain(self.turn.unwrap())


def report() -> str:
    return asyncio.run(_report())


async def _report() -> str:
    await vancetope.ask("Hello.", model=MODEL)  # starts the model's process
    candidates = await _candidates()
    constrained: list[Seen] = []
    native: list[Seen] = []
    for task in tasks():
        constrained.append(await attempt(task, "constrained"))
        native.append(await attempt(task, "native"))
        _progress(f"{task.lang} {task.tool.name}: {constrained[-1].turn!r} {native[-1].turn!r}")
    both = {"constrained (default)": constrained, "native": native}
    return "\n\n".join(
        [
            f"{len(constrained)} tasks in {len(QUESTIONS)} languages, one tool each:",
            _totals(both),
            "By language, contract held / tool ran / value in the message:",
            _by_language(both),
            "How the turns ended:",
            _outcomes(both),
            f"Candidates for the first screen, recipe ford, {REPETITIONS} times each:",
            candidates,
        ]
    )


async def attempt(task: Task, enforcement: Any) -> Seen:
    ran = False

    async def run(arguments: Mapping[str, Any], context: Any) -> str:  # noqa: ARG001
        nonlocal ran
        ran = True
        return task.tool.says.format(task.value)

    tool = vancetope.Tool(spec_of(task.tool), run)
    started = time.perf_counter()
    turn = await vancetope.ask(task.question, tools=[tool], model=MODEL, enforcement=enforcement)
    return Seen(task, turn, time.perf_counter() - started, ran)


def spec_of(lookup: Lookup) -> ToolSpec:
    properties = {lookup.parameter: {"type": "string", "description": f"the {lookup.parameter}"}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [lookup.parameter],
        "additionalProperties": False,
    }
    return ToolSpec(lookup.name, lookup.description, schema)


def plain(text: str) -> str:
    """The text with every script's digits as ASCII and without separators between them."""
    digits = (str(unicodedata.digit(each)) if unicodedata.digit(each, -1) >= 0 else each for each in text)
    return "".join(digits).replace(",", "").replace("\u066c", "")


def _totals(both: Mapping[str, Sequence[Seen]]) -> str:
    rows = [
        [
            name,
            _share([each.held for each in seen]),
            _share([each.ran for each in seen]),
            _share([each.carries for each in seen]),
            f"{mean(each.turn.rounds for each in seen):.2f}",
            f"{mean(each.turn.corrections for each in seen):.2f}",
            str(Spread.of([each.seconds for each in seen])),
            f"{mean(each.turn.usage.input_tokens for each in seen):.0f}",
            f"{mean(each.turn.usage.output_tokens for each in seen):.0f}",
        ]
        for name, seen in both.items()
    ]
    head = ["", "held", "tool ran", "value told", "rounds", "corrections", "seconds a turn", "tokens in", "tokens out"]
    return table(head, rows)


def _by_language(both: Mapping[str, Sequence[Seen]]) -> str:
    rows = []
    for name, seen in both.items():
        cells = []
        for lang in QUESTIONS:
            own = [each for each in seen if each.task.lang == lang]
            counts = (sum(each.held for each in own), sum(each.ran for each in own), sum(each.carries for each in own))
            cells.append(" / ".join(map(str, counts)))
        rows.append([name, *cells])
    return table(["of 10", *QUESTIONS], rows)


def _outcomes(both: Mapping[str, Sequence[Seen]]) -> str:
    kinds = sorted({each.turn.outcome.value for seen in both.values() for each in seen})
    rows = [
        [name, *(str(sum(each.turn.outcome.value == kind for each in seen)) for kind in kinds)]
        for name, seen in both.items()
    ]
    return table(["", *kinds], rows)


async def _candidates() -> str:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "notes.txt").write_text("Buy tea.\n")
        settings = {"files": {"root": folder}}
        for each in CANDIDATES:
            said = []
            right = 0
            for _ in range(REPETITIONS):
                before = datetime.now().astimezone()
                turn = await vancetope.ask(each.question, recipe="ford", model=MODEL, settings=settings)
                said.append(turn.message or f"({turn.outcome.value})")
                right += turn.message is not None and is_right(each, turn.message, before)
            first = " ".join(said[0].split()).replace("|", "/")
            rows.append([each.question, f"{right} of {REPETITIONS}", first[:100]])
            _progress(" | ".join(rows[-1]))
    return table(["question", "right", "first answer"], rows)


def is_right(candidate: Candidate, message: str, before: datetime) -> bool:
    """Whether the answer holds what it must; a minute may have passed since `before`."""
    if candidate.holds not in ("time", "weekday", "date"):
        return candidate.holds in message
    zone = None if candidate.zone == "here" else ZoneInfo(candidate.zone)
    moments = [(before + timedelta(minutes=minute)).astimezone(zone) for minute in (0, 1)]
    pattern = {"time": "%H:%M", "weekday": "%A", "date": "%Y-%m-%d"}[candidate.holds]
    return any(moment.strftime(pattern) in message for moment in moments)


def _progress(line: str) -> None:
    """It takes many minutes: say where it is, beside the report."""
    print(line, file=sys.stderr, flush=True)


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values)} of {len(values)}"


if __name__ == "__main__":
    print(report())
