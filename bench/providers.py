"""What each way to a provider costs beside the same request through httpx alone, with a short and a long past."""

from __future__ import annotations

from collections.abc import Sequence

from bench.history import LONG, SHORT
from bench.measure import Round, Spread, ratios, rounds, server, table
from bench.wires import WIRES, contestants

ROUNDS = 15
ASKS = {SHORT: 30, LONG: 10}
TITLES = {"openai": "OpenAI's chat completions", "anthropic": "Anthropic's messages", "gemini": "Gemini's content"}


def report() -> str:
    parts = []
    with server() as url:
        root = url.removesuffix("/v1")
        for wire in WIRES:
            for way in ("whole", "streamed"):
                short, long = (_measured(wire, size, way, root) for size in (SHORT, LONG))
                parts += [f"{TITLES[wire]}, {way} replies:", _table(list(contestants(wire)), short, long)]
    return "\n\n".join(parts)


def _measured(wire: str, size: int, way: str, root: str) -> list[list[Round]]:
    kinds = [(f"providers:{wire}:{size}:{way}", name) for name in contestants(wire)]
    return rounds(kinds, root, number=ROUNDS, turns=ASKS[size])


def _table(names: Sequence[str], short: list[list[Round]], long: list[list[Round]]) -> str:
    rows = []
    for name, few, many in zip(names, short, long, strict=True):
        row = [name]
        for seen, base in ((few, short[0]), (many, long[0])):
            row += [
                str(ratios([each.wall for each in seen], [each.wall for each in base])),
                str(ratios([each.cpu for each in seen], [each.cpu for each in base])),
                str(Spread.of([each.cpu for each in seen]).times(1000)),
            ]
        rows.append(row)
    head = [f"{what} at {size:,}" for size in (SHORT, LONG) for what in ("time / raw", "CPU / raw", "CPU ms")]
    return table(["", *head], rows)


if __name__ == "__main__":
    print(report())
