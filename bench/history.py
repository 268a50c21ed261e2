"""What a long conversation adds: the same turn after 10 and after 1,000 messages."""

from __future__ import annotations

from bench.measure import Spread, ratios, rounds, server, table

ROUNDS = 9
TURNS = 20
SHORT, LONG = 10, 1000
NAMES = ("raw httpx", "vancetope.ask")


def report() -> str:
    kinds = [(f"history:{size}", name) for name in NAMES for size in (SHORT, LONG)]
    with server() as url:
        found = rounds(kinds, url, number=ROUNDS, turns=TURNS)
    rows = []
    for position, name in enumerate(NAMES):
        short, long = found[2 * position], found[2 * position + 1]
        rows.append(
            [
                name,
                str(ratios([each.wall for each in long], [each.wall for each in short])),
                str(ratios([each.cpu for each in long], [each.cpu for each in short])),
                str(ratios([each.wall for each in long], [each.wall for each in found[1]])),
                str(Spread.of([each.cpu for each in short]).times(1000)),
                str(Spread.of([each.cpu for each in long]).times(1000)),
            ]
        )
    head = ["", f"time {LONG} / {SHORT}", f"CPU {LONG} / {SHORT}", f"time at {LONG} / raw"]
    return table([*head, f"CPU ms at {SHORT}", f"CPU ms at {LONG}"], rows)


if __name__ == "__main__":
    print(report())
