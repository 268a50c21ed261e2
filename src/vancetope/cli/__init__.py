"""The command line. It holds no logic of its own: what it does, the public functions can do."""

import os
import signal
import sys


def main() -> None:
    """Run the command and leave with its exit code."""
    try:
        from vancetope.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    _leave(code)


def _leave(code: int) -> None:
    """End the process. Nothing that still happens may print a traceback: neither Ctrl-C nor a reader that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            # What is left in the buffer would be written, and fail, once more at the end of the interpreter.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            if stream is sys.stdout:  # that nobody can be told anything on stderr is no reason to fail
                code = code or 141
    sys.exit(code)
