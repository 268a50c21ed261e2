"""The process that serves one local model over HTTP on loopback; `launcher` starts it by its path.

The protocol, in lines. On stdin the parent writes the API key, then, once the child serves, `hold` and `linger SECONDS`
in any order. On stdout the child writes {"port", "pid"} when it serves, or {"error"} (the file) or {"unusable"} (the
library) and ends; then {"held"} for every `hold`. It ends when stdin ends, which is when its parent ends, however it
died, and when a linger runs out.

This file imports nothing of vancetope: it runs alone, and starts fast.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import resource
import select
import signal
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

# PR_SET_PDEATHSIG is refused: it follows the thread that started us, and that one may end long before its process.
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_PROMPT_CACHE_MIB = 256


def main() -> None:
    options = _options()
    reports = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)  # from here on llama.cpp writes both to the log, which the parent gave us as stderr
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _be_first_to_go_without_memory()
    key = _first_line()
    with suppress(BrokenPipeError):
        _end_at_once_with_parent(True)
        try:
            server, port = _serve(options, key)
        except ImportError as error:
            _report(reports, {"unusable": str(error)})
            os._exit(1)
        except Exception as error:
            _report(reports, {"error": _reason(options.log) or str(error)})
            os._exit(1)
        _end_at_once_with_parent(False)
        _report(reports, {"port": port, "pid": os.getpid()})
        _obey(reports)
        del server
    with suppress(OSError):
        options.log.unlink()
    # Not sys.exit: the destructors of llama.cpp may wait for a request that nobody reads any more.
    os._exit(0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vancetope-local")
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--ctx", type=int, required=True)
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    return parser.parse_args()


def _serve(options: argparse.Namespace, key: str) -> tuple[object, int]:
    """Load the model and listen. The server lives as long as the first value."""
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_parallel = options.parallel
    params.n_ctx = options.ctx * options.parallel  # llama.cpp divides it among the slots
    params.cpuparams.n_threads = options.threads
    params.cache_ram_mib = _PROMPT_CACHE_MIB  # its default may grow to 8 GiB
    params.prefill_assistant = False
    params.use_jinja = True
    params.offline = True
    params.ui = False
    params.verbosity = 1
    server = xllamacpp.Server(params)
    port = urlsplit(str(server.listening_address)).port
    if port is None:
        raise RuntimeError(f"the server listens on {server.listening_address!r}, which has no port")
    return server, port


def _end_at_once_with_parent(is_loading: bool) -> None:
    # Loading holds the interpreter's lock, for minutes with a big file, so no thread of ours could watch stdin. Linux
    # can: it signals when a pipe in this mode is closed at its other end, and SIGIO's default there is to end the
    # process. Elsewhere the default is to ignore it, and the child ends when it has loaded.
    signal.signal(signal.SIGIO, signal.SIG_DFL if is_loading else signal.SIG_IGN)
    fcntl.fcntl(_STDIN, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(_STDIN, fcntl.F_GETFL)
    fcntl.fcntl(_STDIN, fcntl.F_SETFL, flags | os.O_ASYNC if is_loading else flags & ~os.O_ASYNC)
    if is_loading and select.select([_STDIN], [], [], 0)[0]:
        os._exit(0)  # it was closed before the kernel began to watch


def _obey(reports: int) -> None:
    """Return when the parent is gone or a linger has run out."""
    ends: float | None = None
    unread = b""
    while True:
        wait = None if ends is None else max(0.0, ends - time.monotonic())
        if not select.select([_STDIN], [], [], wait)[0]:
            return
        piece = os.read(_STDIN, 4096)
        if not piece:
            return
        *lines, unread = (unread + piece).split(b"\n")
        for line in lines:
            word, _, seconds = line.decode().partition(" ")
            if word == "hold":
                ends = None
                _report(reports, {"held": True})
            elif word == "linger":
                ends = time.monotonic() + float(seconds)


def _first_line() -> str:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(_STDIN, 1)
        if not byte:
            os._exit(0)
        line += byte
    return line.decode().strip()


def _report(reports: int, message: dict[str, object]) -> None:
    os.write(reports, json.dumps(message).encode() + b"\n")


def _reason(log: Path) -> str | None:
    """Why llama.cpp refused the file, in its own words; its exception does not say."""
    mark = "error loading model: "
    with suppress(OSError):
        for line in log.read_text(errors="replace").splitlines():
            if mark in line:
                return line.partition(mark)[2]
    return None


def _be_first_to_go_without_memory() -> None:
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


if __name__ == "__main__":
    main()
