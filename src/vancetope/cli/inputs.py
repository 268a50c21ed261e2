"""What goes into a turn and what it leaves: the prompt, a conversation from a file, a conversation to a file."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from vancetope.cli.page import toned
from vancetope.cli.trouble import Refused

if TYPE_CHECKING:
    from vancetope.messages import History

MOST_BYTES = 32 * 1024 * 1024
PATIENCE = 2.0  # seconds until a person is told that we wait for the end of stdin


def prompt_from(argument: str | None, example: str, *, reads_stdin: bool = True) -> str:
    """The question: the argument, what is piped in, or both, the piped text below the question. `example` is a command
    that would ask; without `reads_stdin` there is only the argument.

    Raises `Refused` for bytes that are no text, and where there is nothing to ask.
    """
    asked = argument if argument not in (None, "-") else None
    piped = _piped(argument, example) if reads_stdin and (asked is None or not _is_person(sys.stdin)) else ""
    question = "" if asked is None else _checked(os.fsencode(asked), "the prompt")
    parts = [each for each in (question, piped) if each.strip()]
    if not parts:
        raise Refused("the prompt is empty; say what you want to know")
    return "\n\n".join(parts)


def _piped(argument: str | None, example: str) -> str:
    if _is_person(sys.stdin) and argument is None:
        raise Refused(f"there is no question: {example}")
    return read_stdin()


def read_stdin() -> str:
    """All of standard input as text, nothing where it is closed. Raises `Refused` for bytes that are no text, and for
    more than fits a prompt."""
    if sys.stdin is None:
        return ""
    waiting = Timer(PATIENCE, _say_that_we_wait)
    waiting.daemon = True
    waiting.start()
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    except OSError as error:
        raise Refused(f"standard input cannot be read: {error.strerror}") from None
    finally:
        waiting.cancel()
    if len(data) > MOST_BYTES:
        raise Refused(f"standard input holds more than {MOST_BYTES // 2**20} MiB; that is no prompt")
    return _checked(data, "standard input")


def text_line(data: bytes) -> str:
    """One line of stdin as text. Raises `Refused` for bytes that are none."""
    return _checked(data.rstrip(b"\r\n"), "standard input")


def _checked(data: bytes, what: str) -> str:
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{what} is not UTF-8 text: byte {error.start} cannot be read") from None
    if "\0" in text:
        raise Refused(f"{what} is not text: it holds a NUL byte at {text.index(chr(0))}")
    return text


def _is_person(stream: object) -> bool:
    return stream is not None and getattr(stream, "isatty", lambda: False)()


def _say_that_we_wait() -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(toned("reading standard input until it ends", "dim", sys.stderr) + "\n")
        sys.stderr.flush()


def history_from(path: Path | None) -> History:
    """The conversation in a file that `--save` has written. Raises a `ConfigError` for any other file."""
    from vancetope.errors import HistoryError
    from vancetope.messages import History

    if path is None:
        return History()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(f"--history: {path} cannot be read: {error.strerror}") from None
    try:
        return History.from_json(data)
    except HistoryError as error:
        raise Refused(f"--history: {path}: {error}") from None


class SaveFile:
    """The file that a conversation is saved to. It is tried when this is made, so before a turn is paid; it is written
    whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._beside = self.path.parent / f".{self.path.name}.{os.getpid()}.part"
        try:
            self._is_special = self.path.exists() and not stat.S_ISREG(self.path.stat().st_mode)
            if self.path.is_dir():
                raise IsADirectoryError(21, "it is a folder")
            if self.path.exists() and not os.access(self.path, os.W_OK):
                raise PermissionError(13, "it is read-only")
            if not self._is_special:
                self._beside.write_text("")
                self._beside.unlink()
        except OSError as error:
            raise Refused(f"--save: {path} cannot be written: {error.strerror}") from None

    def write(self, history: History) -> None:
        """Save the conversation. Raises `Refused` where the disk does not take it."""
        text = history.to_json() + "\n"
        try:
            if self._is_special:
                self.path.write_text(text, encoding="utf-8")
                return
            self._beside.write_text(text, encoding="utf-8")
            if self.path.exists():
                self._beside.chmod(stat.S_IMODE(self.path.stat().st_mode))
            self._beside.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                self._beside.unlink()
            raise Refused(f"--save: {self.path} cannot be written: {error.strerror}") from None
