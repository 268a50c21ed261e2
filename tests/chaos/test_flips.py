"""Each row of the truth table is taken out in turn: the tests that play whole turns must notice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vancetope.contract.call_rows import CALL_TABLE
from vancetope.contract.rows import TABLE

ROOT = Path(__file__).parents[2]
ROWS = [row.name for row in TABLE] + [row.name for row in CALL_TABLE]


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", ROWS)
def test_a_turn_test_goes_red_without(row: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/turns", "tests/cases"]
    environment = {**os.environ, "VANCETOPE_WITHOUT_ROW": row}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, f"no turn test needs the row {row}:\n{done.stdout[-2000:]}"
    assert "failed" in done.stdout
