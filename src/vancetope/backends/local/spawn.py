"""Starting one child that serves a model, and what its parent knows of it. Nothing here waits."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, Final

from vancetope.backends.local.weights import WeightsMissing, cache_dir
from vancetope.errors import MissingExtra, VancetopeError

_PROGRAM: Final = Path(__file__).with_name("child.py")
_KEPT_LOGS: Final = 20
_MOST_THREADS: Final = 8
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Serving:
    """How a model is served.

    `context` is what one request may hold, in tokens; `parallel` requests run side by side, more wait their turn.
    `threads` is the machine's cores, eight at most, unless given. The model stays loaded for `linger` seconds after its
    last user, and has `patience` seconds to load.
    """

    context: int = 8192
    parallel: int = 2
    threads: int | None = None
    linger: float = 30.0
    patience: float = 120.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an OpenAI-compatible client finds the model. `base_url` ends with /v1; `api_key` is the bearer token."""

    base_url: str
    api_key: str = field(repr=False)


@dataclass(eq=False, slots=True)
class Child:
    """A started child. Its methods never block; the launcher calls them under the lock of the child's slot."""

    process: subprocess.Popen[bytes]
    api_key: str
    log: Path
    started: float = field(default_factory=time.monotonic)
    endpoint: Endpoint | None = None
    error: str | None = None
    unusable: str | None = None
    failure: VancetopeError | None = None
    is_lingering: bool = False
    _holds_unheard: int = 0
    _unread: bytes = b""

    @property
    def ready(self) -> Endpoint | None:
        """Its endpoint while it serves and has heard every hold; until then its linger may still end it."""
        return self.endpoint if not self._holds_unheard else None

    def hold(self) -> None:
        self.is_lingering = False
        self._holds_unheard += 1
        self._say("hold")

    def linger(self, seconds: float) -> None:
        self.is_lingering = True
        self._say(f"linger {seconds}")

    def end(self) -> None:
        """Kill it: it has nothing to save, and a load or a request in progress would not let it end by itself."""
        self.process.kill()

    def take_reports(self) -> None:
        """Read what it has said since the last time."""
        out = _pipe(self.process.stdout)
        if out.closed:
            return
        while piece := out.read(65536):  # None while there is nothing, empty at the end
            self._unread += piece
        *lines, self._unread = self._unread.split(b"\n")
        for report in map(json.loads, lines):
            if "held" in report:
                self._holds_unheard -= 1
            elif "error" in report:
                self.error = report["error"]
            elif "unusable" in report:
                self.unusable = report["unusable"]
            else:
                self.endpoint = Endpoint(f"http://127.0.0.1:{report['port']}/v1", self.api_key)

    def close(self) -> None:
        for pipe in (_pipe(self.process.stdin), _pipe(self.process.stdout)):
            with suppress(OSError):
                pipe.close()

    def _say(self, line: str) -> None:
        # A child that is gone is noticed by whoever looks at it next.
        with suppress(OSError):
            os.write(_pipe(self.process.stdin).fileno(), line.encode() + b"\n")


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def start(model: Path, serving: Serving) -> Child:
    """Start a child; it loads on its own. Blocks for some milliseconds. Raises MissingExtra or WeightsMissing."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("local", "a local model")
    if not model.is_file():
        raise WeightsMissing(f"there is no file {model}: check the path, or run `vancetope models pull`")
    key = secrets.token_urlsafe(32)
    log, stderr = _new_log(model)
    with stderr:
        process = subprocess.Popen(
            _command(model, log, serving),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            env=_environment(),
            start_new_session=True,  # Ctrl-C in the terminal is for the chat, not for the model
        )
    child = Child(process, key, log)
    # Not as an argument or in the environment, where others might read it. The pipe is empty: this cannot block.
    child._say(key)
    for pipe in (_pipe(process.stdin), _pipe(process.stdout)):
        os.set_blocking(pipe.fileno(), False)
    return child


def _command(model: Path, log: Path, serving: Serving) -> list[str]:
    options = {
        "model": model,
        "alias": model.stem,
        "log": log,
        "ctx": serving.context,
        "parallel": serving.parallel,
        "threads": serving.threads or min(cores(), _MOST_THREADS),
    }
    # By its path: -m would import our packages first. -P keeps the folder of the file out of the import path.
    return [sys.executable, "-P", str(_PROGRAM), *(part for k, v in options.items() for part in (f"--{k}", str(v)))]


def _environment() -> dict[str, str]:
    """Ours without what looks like a secret: the child parses files from anywhere.

    Threads that wait for each other sleep instead of spinning. On a machine that does other work at the same time,
    spinning makes llama.cpp ten times slower: a thread spins through the time that the one it waits for would need.
    """
    plain = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
    return {"OMP_WAIT_POLICY": "PASSIVE", **plain}


def cores() -> int:
    """The cores this process may use. More threads than that make llama.cpp several times slower, not a little."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            found = min(found, round(int(quota) / int(period)))
    return max(found, 1)


def _new_log(model: Path) -> tuple[Path, IO[bytes]]:
    """A new file for what llama.cpp says. The null device where none can be written: a log is no reason to fail."""
    folder = cache_dir() / "logs"
    path = folder / f"local-{model.stem}-{os.getpid()}-{next(_numbers)}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        old = sorted(folder.glob("local-*.log"), key=lambda log: log.stat().st_mtime)
        for log in old[: -_KEPT_LOGS + 1]:
            log.unlink(missing_ok=True)
        return path, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600), "wb")
    except OSError:
        return Path(os.devnull), Path(os.devnull).open("wb")
