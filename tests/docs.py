"""Writes the generated parts of the documentation; `--check` only says whether they are up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from vancetope.contract.call_rows import CALL_TABLE
from vancetope.contract.rows import TABLE
from vancetope.outcome import Outcome, Role
from vancetope.process import MOVES, Status, rest

CONTRACT = Path(__file__).parent.parent / "docs" / "contract.md"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def truth_table() -> str:
    return table(("row", "reply", "what follows", "budget"), ((r.name, r.reply, r.then, r.budget) for r in TABLE))


def call_table() -> str:
    return table(
        ("row", "call", "its error result", "budget"), ((r.name, r.reply, r.then, r.budget) for r in CALL_TABLE)
    )


def status_table() -> str:
    def cell(outcome: Outcome, role: Role) -> str:
        ends = {awaiting: rest(outcome, role, awaiting=awaiting) for awaiting in (True, False)}
        words = {key: status.value + (f" ({reason.value})" if reason else "") for key, (status, reason) in ends.items()}
        return words[True] if words[True] == words[False] else f"{words[True]}; not waiting: {words[False]}"

    outcomes = [outcome for outcome in Outcome if outcome not in (Outcome.CLIENT_CALLS, Outcome.NO_INPUT)]
    return table(
        ("outcome", "primary", "worker"),
        ((f"`{outcome.value}`", cell(outcome, "primary"), cell(outcome, "worker")) for outcome in outcomes),
    )


def moves_table() -> str:
    return table(
        ("from", "to"), ((now.value, ", ".join(sorted(each.value for each in MOVES[now])) or "-") for now in Status)
    )


PARTS = {
    "truth table": truth_table,
    "calls": call_table,
    "outcomes": status_table,
    "moves": moves_table,
}


def generated(text: str) -> str:
    """The text with each part between its markers written anew."""
    for name, part in PARTS.items():
        start, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        before, _, rest_of = text.partition(start)
        _, _, after = rest_of.partition(end)
        text = f"{before}{start}{part()}\n{end}{after}"
    return text


def main() -> int:
    text = CONTRACT.read_text("utf-8")
    fresh = generated(text)
    if "--check" in sys.argv:
        if fresh != text:
            sys.stderr.write("docs/contract.md is not what the code says; run: make docs\n")
        return int(fresh != text)
    CONTRACT.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
