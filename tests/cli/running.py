"""Running the command: in this process with streams of its own, or as a real child; and a server for it to ask."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from vancetope.backends.faults import KINDS, SCENARIOS, Asked, FaultServer, Given
from vancetope.cli.app import run

COMMAND = Path(sys.executable).with_name("vancetope")
KEY = "sk-marked-0123456789-SECRET"


@dataclass(frozen=True)
class Ran:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def ended(self) -> dict[str, Any]:
        """The data of the last event, which is the end of the turn."""
        last = self.events[-1]
        assert last["type"] == "turn_ended", last
        return dict(last["data"])

    @property
    def complaint(self) -> str:
        """The one sentence that this failed with."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


class Stream(io.TextIOWrapper):
    """A stream in memory that may claim to be a terminal."""

    def __init__(self, data: bytes = b"", *, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def text(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def cli(*arguments: str, stdin: bytes | Stream = b"", out: Stream | None = None, err: Stream | None = None) -> Ran:
    """Run a command in this process."""
    given = stdin if isinstance(stdin, Stream) else Stream(stdin)
    out, err = out or Stream(), err or Stream()
    with mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err):
        code = run(list(arguments))
    return Ran(code, out.text, err.text)


def child(*arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Ran:
    """Run the command as a child process."""
    done = subprocess.run(
        [COMMAND, *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=30,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def side_by_side(*children: Callable[[], Ran]) -> list[Ran]:
    """Run children beside each other: most of their time is spent starting."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda start: start(), children))


def by_model(asked: Asked) -> Given:
    """The fault or scenario that the model's name says."""
    name = asked.model
    return KINDS[name] if name in KINDS else SCENARIOS[name](asked)


@contextmanager
def serving(
    script: Callable[[Asked], Given] | Sequence[Given] = by_model, *, key: str | None = KEY
) -> Iterator[FaultServer]:
    """A fault server in a thread of its own, so that both children and commands in this process can ask it."""
    server = FaultServer(script, strict=False, key=key)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def openai_at(server: FaultServer, key: str = KEY) -> Mapping[str, str]:
    """The environment in which OpenAI's variables name this server."""
    return {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": key}


def script(path: Path, *replies: Any) -> str:
    """A script file; its name as a model."""
    path.write_text(json.dumps(replies))
    return f"scripted:{path}"
