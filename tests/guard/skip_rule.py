"""A pytest plugin: a skip or an expected failure that skips.toml does not list, with a reason, is a failure."""

from __future__ import annotations

import tomllib
from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

_ALLOWED = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("skips_file", "the TOML file that lists the allowed skips", default="tests/skips.toml")


def pytest_configure(config: pytest.Config) -> None:
    path = config.rootpath / str(config.getini("skips_file"))
    config.stash[_ALLOWED] = read_allowed(path)


def read_allowed(path: Path) -> list[str]:
    """The test patterns of a skips file; a broken entry stops the run."""
    if not path.exists():
        raise pytest.UsageError(f"the list of allowed skips is missing: {path}")
    allowed = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("skip", []):
        if set(entry) != {"test", "reason"} or not all(isinstance(v, str) and v.strip() for v in entry.values()):
            raise pytest.UsageError(
                f"{path.name}: each [[skip]] has a test (node id or glob) and a reason, got {entry}"
            )
        allowed.append(entry["test"])
    return allowed


def is_allowed(node_id: str, allowed: list[str]) -> bool:
    # "test_x[a]" is a node id before it is a glob with a character class.
    return any(node_id == pattern or fnmatchcase(node_id, pattern) for pattern in allowed)


def _judge(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    if report.outcome != "skipped" or is_allowed(report.nodeid, config.stash[_ALLOWED]):
        return
    if hasattr(report, "wasxfail"):
        why = f"xfail: {report.wasxfail}"
        del report.wasxfail
    else:
        why = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} did not run to its end and tests/skips.toml does not list it ({why})"


# tryfirst makes these the outermost wrappers, so that pytest's own have already turned an xfail into a skip.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _judge(report, item.config)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _judge(report, collector.config)
    return report
