"""What the file tools do: blocking functions over a root folder that return text for a model or raise `ToolFailed`."""

from __future__ import annotations

import codecs
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from vancetope import sentences
from vancetope.schema.validate import InvalidPattern, matcher
from vancetope.tools.confined import FLAGS, Entry, Found, entries, opened, tree
from vancetope.tools.failure import ToolFailed

WINDOW = 256 * 1024
PAGE = 30_000
MAX_ENTRIES = 1_000
MAX_HITS = 200
MAX_LINE = 500
MAX_FILE = 10_000_000
MAX_PATTERN = 1_000
SEARCH_SECONDS = 20.0
PIECE = 2_000
OVERLAP = 500
BREATH = 0.005
_PROBE = 8192
_ONE_AT_A_TIME = threading.Lock()  # the event loop would wait for each search in turn, and they for each other


def read(root: Path, path: str, offset: int, limit: int) -> str:
    """Lines `offset + 1` to `offset + limit` of a text file, numbered.

    As many as fit `PAGE` bytes; a single line may be longer, up to `WINDOW`.
    """
    with opened(root, path) as found:
        if found.is_folder:
            raise ToolFailed(sentences.PATH_NOT_FILE.format(path=path))
        with open(found.fd, "rb", closefd=False) as file:
            if _is_binary(file.read(_PROBE)):
                raise ToolFailed(sentences.PATH_BINARY.format(path=path))
            file.seek(0)
            skipped = _skip(file, offset)
            data = file.read(WINDOW + 1)
    if not data:
        if offset:
            raise ToolFailed(sentences.FILE_SHORT.format(path=path, lines=skipped))
        return sentences.FILE_EMPTY
    return _numbered(data, offset, limit)


def listed(root: Path, path: str, recursive: bool) -> str:
    """A line for each entry of a folder, at most `MAX_ENTRIES`."""
    lines: list[str] = []
    with opened(root, path) as found:
        if not found.is_folder:
            raise ToolFailed(sentences.PATH_NOT_FOLDER.format(path=path))
        for entry in tree(found) if recursive else entries(found):
            if len(lines) == MAX_ENTRIES:
                lines.append(sentences.FOLDER_MORE.format(count=MAX_ENTRIES))
                break
            lines.append(_line(entry))
    return "\n".join(lines) or sentences.FOLDER_EMPTY


def searched(root: Path, pattern: str, path: str, glob: str | None) -> str:
    """`path:number: line` for each line that matches, at most `MAX_HITS`, and what was left out.

    The pattern comes from a model, so it is matched by an engine that is linear in the text; the interpreter's own can
    be made to run for years while it holds every other thread. The linear one holds them too, seconds for a large
    pattern and a long line, so it gets long lines in pieces.
    """
    if len(pattern) > MAX_PATTERN:
        raise ToolFailed(f"the pattern is longer than {MAX_PATTERN:,} characters")
    try:
        matches = matcher(pattern)
    except InvalidPattern as error:
        raise ToolFailed(str(error)) from None
    search = _Search(matches)
    with opened(root, path) as found:
        if found.is_folder:
            for entry in tree(found):
                if search.is_over():
                    break
                if entry.is_file and (not glob or _fits(entry, glob)):
                    search.entry(found, entry)
        else:
            search.file(found.fd, found.relative, found.size)
    return search.told()


class _Search:
    """The hits so far, and why there may be more."""

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self._matches = matches
        self._hits: list[str] = []
        self._more = False
        self._late = False
        self._large = 0
        self._in_pieces = False
        self._until = time.monotonic() + SEARCH_SECONDS

    def is_over(self) -> bool:
        self._late = self._late or time.monotonic() > self._until
        return self._more or self._late

    def entry(self, found: Found, entry: Entry) -> None:
        """Search a file that a walk came by; one that cannot be opened is passed over."""
        try:
            fd = os.open(entry.name, FLAGS, dir_fd=entry.folder)
        except OSError:
            return
        try:
            self.file(fd, "/".join(filter(None, (found.relative, entry.relative))), entry.info.st_size)
        finally:
            os.close(fd)

    def file(self, fd: int, name: str, size: int) -> None:
        if size > MAX_FILE:
            self._large += 1
            return
        with open(fd, "rb", closefd=False) as file:
            data = file.read(MAX_FILE)
        if _is_binary(data[:_PROBE]):
            return
        for number, line in enumerate(_lines(data), 1):
            if self.is_over():
                return
            if self._is_in(line):
                if len(self._hits) == MAX_HITS:
                    self._more = True
                    return
                self._hits.append(f"{name}:{number}: {line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + '…'}")

    def _is_in(self, line: str) -> bool:
        if len(line) <= PIECE:
            return self._matched(line)
        self._in_pieces = True
        starts = range(0, len(line) - OVERLAP, PIECE - OVERLAP)
        return any(not self.is_over() and self._matched(line[start : start + PIECE]) for start in starts)

    def _matched(self, piece: str) -> bool:
        with _ONE_AT_A_TIME:
            started = time.monotonic()
            found = self._matches(piece)
            if time.monotonic() - started > BREATH:  # nothing else ran meanwhile
                time.sleep(BREATH)
            return found

    def told(self) -> str:
        notes = list(self._hits) or [sentences.GREP_NOTHING]
        if self._in_pieces:
            notes.append(sentences.GREP_PIECES.format(size=PIECE, overlap=OVERLAP))
        if self._more:
            notes.append(sentences.GREP_MORE.format(count=MAX_HITS))
        if self._large:
            notes.append(sentences.GREP_LARGE.format(count=self._large, size=MAX_FILE))
        if self._late:
            notes.append(sentences.GREP_LATE.format(seconds=SEARCH_SECONDS))
        return "\n".join(notes)


def _is_binary(head: bytes) -> bool:
    return b"\0" in head


def _skip(file: BinaryIO, count: int) -> int:
    """Pass over this many lines; how many there were."""
    skipped, inside = 0, False
    while skipped < count and (piece := file.readline(65_536)):
        inside = not piece.endswith(b"\n")
        skipped += not inside
    return skipped + inside


def _numbered(data: bytes, offset: int, limit: int) -> str:
    is_cut = len(data) > WINDOW
    data = data[:WINDOW]
    end = data.rfind(b"\n") + 1
    if is_cut and end:
        data = data[:end]
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not is_cut)
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if offset == 0:
        lines[0] = lines[0].removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    shown = _page(lines[:limit])
    told = [f"{number}\t{line}" for number, line in enumerate(shown, offset + 1)]
    if is_cut and not end:
        told.append(sentences.FILE_LINE_CUT.format(number=offset + 1, size=WINDOW))
    if "\N{REPLACEMENT CHARACTER}" in text and not _is_utf8(data, final=not is_cut):
        told.append(sentences.FILE_NOT_UTF8)
    if is_cut or len(lines) > len(shown):
        told.append(sentences.FILE_MORE.format(first=offset + 1, last=offset + len(shown)))
    return "\n".join(told)


def _page(lines: Sequence[str]) -> Sequence[str]:
    """The first lines that fit a page together, at least one."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.encode()) + 10
        if size > PAGE and number:
            return lines[:number]
    return lines


def _is_utf8(data: bytes, final: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(data, final=final)
    except UnicodeDecodeError:
        return False
    return True


def _lines(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        yield line.removesuffix(b"\r").decode(errors="replace")


def _line(entry: Entry) -> str:
    if entry.is_folder:
        return f"{entry.relative}/"
    return f"{entry.relative}  {entry.info.st_size}" if entry.is_file else f"{entry.relative}  (link or device)"


def _fits(entry: Entry, glob: str) -> bool:
    if "/" in glob:
        return fnmatchcase(entry.relative, glob.removeprefix("./").replace("**/", "*"))
    return fnmatchcase(entry.name, glob)
