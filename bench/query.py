"""What one structured answer costs beside the same request through httpx alone."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping, Sequence

from bench.measure import Round, Spread, Worker, ratios, rounds, server, table
from bench.structured import INQUIRIES, STREAMED, WHOLE

ROUNDS = 30
ASKS = 40
TITLES = {"query": "whole", "query streamed": "streamed"}


def report() -> str:
    parts = []
    with server() as url:
        for inquiry, asked in INQUIRIES.items():
            size = len(str(asked.schema))
            for kind, names in (("query", WHOLE), ("query streamed", STREAMED)):
                kinds = [(f"{kind}/{inquiry}", name) for name in names]
                sent = [_sent(each, url) for each in kinds]
                found = rounds(kinds, url, number=ROUNDS, turns=ASKS)
                parts += [
                    f"A {inquiry} schema ({size:,} characters), {TITLES[kind]} replies:",
                    _table(names, found, sent),
                ]
    return "\n\n".join(parts)


def _sent(kind: tuple[str, str], url: str) -> int:
    """Bytes of this contestant's request."""
    worker = Worker(*kind, url)
    worker.run(1)
    worker.close()
    with urllib.request.urlopen(f"{url}/sent") as answer:
        return int(answer.read())


def _table(names: Mapping[str, object] | Sequence[str], found: list[list[Round]], sent: list[int]) -> str:
    base = found[0]
    rows = [
        [
            name,
            str(ratios([each.wall for each in seen], [each.wall for each in base])),
            str(ratios([each.cpu for each in seen], [each.cpu for each in base])),
            str(Spread.of([each.wall for each in seen]).times(1000)),
            str(Spread.of([each.cpu for each in seen]).times(1000)),
            f"{size:,}",
        ]
        for name, seen, size in zip(names, found, sent, strict=True)
    ]
    return table(["", "time / raw", "CPU / raw", "ms a question", "CPU ms a question", "bytes sent"], rows)


if __name__ == "__main__":
    print(report())
