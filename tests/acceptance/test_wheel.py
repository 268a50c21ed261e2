"""The built wheel in an empty environment, offline: what a person gets who installs vancetope."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = pytest.mark.timeout(180)


def run(*command: str | Path, cwd: Path = ROOT, **env: str) -> str:
    # Without the guard's PYTHONPATH and any VIRTUAL_ENV: the environment under test is an empty one.
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment = {**inherited, **env}
    done = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150
    )
    said = f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, said
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds the wheel and its locked dependencies, all from uv's cache."""
    environment = tmp_path_factory.mktemp("empty") / "venv"
    run(UV, "venv", "--quiet", "--offline", "--python", sys.executable, environment)
    python = environment / "bin" / "python"
    # If this fails because a wheel is not in the cache (somebody cleaned it), `make clean test` fills it again.
    run(UV, "pip", "sync", "--offline", "--require-hashes", "--python", python, "requirements/runtime.txt")
    run(UV, "pip", "install", "--offline", "--no-deps", "--python", python, wheel)
    return environment / "bin"


def test_the_wheel_carries_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    listed = run("git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "src/vancetope").split("\0")
    tracked = {path.removeprefix("src/") for path in listed if path and (ROOT / path).is_file()}
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        metadata = archive.read("vancetope-0.1.0.dist-info/METADATA").decode()
    assert not tracked - packed
    assert "vancetope/py.typed" in packed
    assert all(path.startswith(("vancetope/", "vancetope-0.1.0.dist-info/")) for path in packed)
    assert "Provides-Extra: local" in metadata


def test_the_installed_dependencies_satisfy_the_wheel(installed: Path) -> None:
    run(UV, "pip", "check", "--python", installed / "python")


def test_the_installed_command_starts(installed: Path, tmp_path: Path) -> None:
    assert "0.1.0" in run(installed / "vancetope", "--version", cwd=tmp_path)
    assert "chat" in run(installed / "vancetope", "--help", cwd=tmp_path)
    assert "0.1.0" in run(installed / "python", "-m", "vancetope", "--version", cwd=tmp_path)
