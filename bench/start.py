"""What starting costs: CPU seconds of an import, and of the command line's help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.measure import Spread, table

ROUNDS = 9
COMMANDS: dict[str, list[str]] = {
    "python alone": [sys.executable, "-c", "pass"],
    "import httpx": [sys.executable, "-c", "import httpx"],
    "import vancetope": [sys.executable, "-c", "import vancetope"],
    "from vancetope import ask": [sys.executable, "-c", "from vancetope import ask"],
    "vancetope --help": [str(Path(sys.executable).parent / "vancetope"), "--help"],
    "from pydantic_ai import Agent": [sys.executable, "-c", "from pydantic_ai import Agent"],
    "from agents import Agent": [sys.executable, "-c", "from agents import Agent"],
    "from langchain.agents import create_agent": [sys.executable, "-c", "from langchain.agents import create_agent"],
}


def report() -> str:
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    failed: set[str] = set()
    for number in range(ROUNDS + 1):
        for name, command in COMMANDS.items():
            spent, code = _cpu(command)
            if code:
                failed.add(name)
            if number:  # the first run fills the caches of the file system
                found[name].append(spent)
    base = found["import httpx"]
    rows = []
    for name, seconds in found.items():
        if name in failed:
            rows.append([name, "failed", ""])
            continue
        ratio = Spread.of([one / other for one, other in zip(seconds, base, strict=True)])
        rows.append([name, str(ratio), str(Spread.of(seconds))])
    return table(["", "CPU / import httpx", "CPU seconds"], rows)


def _cpu(command: list[str]) -> tuple[float, int]:
    """User and system seconds of a process and its children, and its exit code."""
    before = os.times()
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, ended.returncode


if __name__ == "__main__":
    print(report())
