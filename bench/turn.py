"""What a turn of two requests and one tool costs beside the same turn through httpx alone."""

from __future__ import annotations

from bench.contestants import STREAMED, TURN
from bench.measure import Round, Spread, ratios, rounds, server, table

ROUNDS = 30
TURNS = 25


def report() -> str:
    with server() as url:
        plain = rounds([("turn", name) for name in TURN], url, number=ROUNDS, turns=TURNS)
        streamed = rounds([("streamed", name) for name in STREAMED], url, number=ROUNDS, turns=TURNS)
    return "\n\n".join(
        [
            "Whole replies:",
            _table(list(TURN), plain),
            "Streamed replies:",
            _table(list(STREAMED), streamed),
        ]
    )


def _table(names: list[str], found: list[list[Round]]) -> str:
    base = found[0]
    rows = [
        [
            name,
            str(ratios([each.wall for each in seen], [each.wall for each in base])),
            str(ratios([each.cpu for each in seen], [each.cpu for each in base])),
            str(Spread.of([each.wall for each in seen]).times(1000)),
            str(Spread.of([each.cpu for each in seen]).times(1000)),
            str(seen[-1].sockets),
        ]
        for name, seen in zip(names, found, strict=True)
    ]
    return table(["", "time / raw", "CPU / raw", "ms a turn", "CPU ms a turn", "sockets at the end"], rows)


if __name__ == "__main__":
    print(report())
