"""What happens when something cannot go on: one sentence, an exit code, and a file for bugs of ours."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from vancetope.cli.clean import one_line
from vancetope.cli.page import toned
from vancetope.errors import VancetopeError

USAGE = 2
BUG = 1
BROKEN_PIPE = 141
INTERRUPTED = 130
SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")


class Refused(VancetopeError):
    """The command cannot do this."""

    exit_code = USAGE


def failed(error: BaseException, *, as_json: bool) -> int:
    """Tell a person (and with `as_json` a program) that the command ends here; the exit code."""
    if os.environ.get("VANCETOPE_DEBUG") == "1":
        traceback.print_exception(error)
    code = error.exit_code if isinstance(error, VancetopeError) else BUG
    message = bug_sentence(error) if code == BUG else one_line(without_secrets(str(error)), 1000)
    if as_json:
        print_json({"type": "error", "code": code, "message": message})
    complain(message)
    return code


def complain(message: str) -> None:
    """One sentence on stderr; nobody can be told if that is gone."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(toned(f"vancetope: {message}", "bad", sys.stderr) + "\n")
        sys.stderr.flush()


def bug_sentence(error: BaseException) -> str:
    """The sentence for a bug of ours, once its traceback is written to a file."""
    what = f"this is a bug in vancetope ({type(error).__name__})"
    try:
        path = _written(without_secrets("".join(traceback.format_exception(error))))
    except OSError:
        return f"{what}; set VANCETOPE_DEBUG=1 to see the traceback, and please report it"
    return f"{what}; the traceback is in {path}, please report it"


def print_json(value: Any, *, indented: bool = False) -> None:
    """One JSON value on stdout, in one line or for people."""
    text = json.dumps(value, ensure_ascii=False, indent=2) if indented else as_line(value)
    sys.stdout.write(_escaped(text) + "\n")
    sys.stdout.flush()


def as_line(value: Any) -> str:
    """The value as one line of JSON that is safe to show in a terminal."""
    return _escaped(json.dumps(value, ensure_ascii=False, default=str))


def without_secrets(text: str) -> str:
    """The text without the values of environment variables that look like secrets."""
    for name, value in os.environ.items():
        if len(value) >= 8 and name.upper().endswith(SECRET_NAMES):
            text = text.replace(value, "***")
    return text


def _written(text: str) -> Path:
    from vancetope.cli.places import private_file, state_dir

    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    path = private_file(state_dir() / "bugs" / name)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def _escaped(line: str) -> str:
    """JSON with everything escaped that a terminal or a strict reader would trip over; all of it is in strings."""
    if line.isascii() and "\x7f" not in line:
        return line
    return "".join(
        f"\\u{ord(each):04x}"
        if "\x7f" <= each <= "\x9f" or "\ud800" <= each <= "\udfff" or each in "\u2028\u2029"
        else each
        for each in line
    )
