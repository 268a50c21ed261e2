"""What every test gets: a guarded network, a private home, no unlisted skip, and a watch on blocking calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path

import hypothesis
import pytest
from blockbuster import BlockBuster

GUARD = Path(__file__).parent / "guard"
sys.path.insert(0, str(GUARD))

import network_guard  # noqa: E402  (the folder has just been put on the path)

pytest_plugins = ["skip_rule"]

# Where a function of ours may block the event loop, as (file ending, functions), with the reason.
MAY_BLOCK: list[tuple[str, set[str]]] = [
    # Once, before the first request: a project's settings and the bundled recipe are small files on this machine.
    ("vancetope/prepare.py", {"prepare", "prepare_question"}),
]

_HOME = pytest.StashKey[tempfile.TemporaryDirectory[str]]()

# The default run is the same everywhere and every time; chance belongs to make chaos.
hypothesis.settings.register_profile("default", derandomize=True, max_examples=100, deadline=None)
hypothesis.settings.register_profile(
    "chaos",
    derandomize=False,
    max_examples=5_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "default")


def take_out_row(name: str) -> None:
    """For `make chaos`: the truth table without this row."""
    from vancetope.contract import call_rows, rows

    rows.TABLE = tuple(row for row in rows.TABLE if row.name != name)
    call_rows.CALL_TABLE = tuple(row for row in call_rows.CALL_TABLE if row.name != name)


def pytest_configure(config: pytest.Config) -> None:
    keep_uv_cache()
    if row := os.environ.get("VANCETOPE_WITHOUT_ROW"):
        take_out_row(row)
    home = tempfile.TemporaryDirectory(prefix="vancetope-home-")
    config.stash[_HOME] = home
    os.environ["HOME"] = home.name
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        os.environ[f"XDG_{name}_HOME"] = str(Path(home.name) / name.lower())
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(GUARD), *(p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and Path(p) != GUARD)]
    )
    network_guard.install()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HOME in config.stash:
        config.stash[_HOME].cleanup()


def keep_uv_cache() -> None:
    """The wheel test installs from uv's cache, which would move with HOME."""
    if uv := shutil.which("uv", path=str(Path(sys.executable).parent)):
        found = subprocess.run([uv, "cache", "dir"], capture_output=True, text=True, check=True)
        os.environ["UV_CACHE_DIR"] = found.stdout.strip()


@pytest.fixture(autouse=True)
def no_settings_are_left_behind() -> Iterator[None]:
    """The tenant's folder of the private home is everybody's: a test that wants settings there names a folder of its
    own in VANCETOPE_TENANT."""
    yield
    left = Path(os.environ["XDG_CONFIG_HOME"], "vancetope", "vancetope.yaml")
    if left.exists():
        left.unlink()
        pytest.fail(f"the test left {left.name} in the folder of the tenant")


@pytest.fixture(autouse=True)
def no_blocking_calls(request: pytest.FixtureRequest) -> Iterator[None]:
    """In an async test, a blocking call from our code on the event loop raises BlockingError."""
    test = getattr(request.node, "obj", None)
    property_test = getattr(test, "hypothesis", None)
    if not iscoroutinefunction(property_test.inner_test if property_test else test):
        yield
        return
    import_module("vancetope.api")  # what is loaded on first use is loaded now: reading modules blocks, once
    detector = BlockBuster(scanned_modules=["vancetope"])
    for file, functions in MAY_BLOCK:
        for function in detector.functions.values():
            function.can_block_in(file, functions)
    detector.activate()
    yield
    detector.deactivate()
