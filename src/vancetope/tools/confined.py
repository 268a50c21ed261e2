"""Opening files below a root folder, and never anything else.

A path is walked component by component from a descriptor of the root, each opened relative to its parent's descriptor
and without following links; links are resolved here, and `..` goes back to a descriptor that is already held. So what
was checked is what is open, even where somebody swaps a folder for a link meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vancetope import sentences
from vancetope.tools.failure import ToolFailed

OURS = ".vancetope"
MAX_LINKS = 20
MAX_LEVELS = 60

# A FIFO opened for reading would wait for its writer: O_NONBLOCK, should one come between look and open.
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class Found:
    """An open file or folder: its descriptor, its path relative to the root ("" for the root), and what it is."""

    fd: int
    relative: str
    is_folder: bool
    size: int


@contextmanager
def opened(root: Path, path: str) -> Iterator[Found]:
    """The file or folder that `path` names below `root`, open for reading until the block ends.

    `root` is absolute and resolved. Raises `ToolFailed` in one sentence for a path that leaves the root, `..` and links
    included, for what is missing, neither file nor folder, unreadable, or the runtime's own.
    """
    shown = path if len(path) <= 200 else f"{path[:199]}…"
    walk = _Walk(shown)
    try:
        walk.start(root)
        todo = _steps(root, path)
        while todo:
            todo = walk.step(root, todo.pop(), todo)
        yield walk.found()
    except (FileNotFoundError, NotADirectoryError):
        raise ToolFailed(sentences.PATH_MISSING.format(path=shown)) from None
    except (OSError, ValueError) as error:
        why = (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
        raise ToolFailed(sentences.PATH_FORBIDDEN.format(path=shown, why=why.lower())) from None
    finally:
        walk.close()


def _steps(root: Path, path: str) -> list[str]:
    """The components of a path, the first last; an absolute path must begin with the root and is taken from there."""
    if path.startswith("/"):
        inside = path == str(root) or path.startswith(f"{str(root).rstrip('/')}/")
        if not inside:
            raise ToolFailed(sentences.PATH_OUTSIDE.format(path=path[:200]))
        path = path[len(str(root)) :]
    return [step for step in reversed(path.split("/")) if step not in ("", ".")]


class _Walk:
    """The descriptors from the root down to where the walk is, and the names that led there."""

    def __init__(self, shown: str) -> None:
        self._path = shown
        self._fds: list[int] = []
        self._names: list[str] = []
        self._links = 0

    def start(self, root: Path) -> None:
        self._fds.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def found(self) -> Found:
        info = os.fstat(self._fds[-1])
        return Found(self._fds[-1], "/".join(self._names), stat.S_ISDIR(info.st_mode), info.st_size)

    def step(self, root: Path, name: str, todo: list[str]) -> list[str]:
        """Go one component on; what is to be walked after it, the first last."""
        if name == "..":
            if not self._names:
                raise self._failed(sentences.PATH_OUTSIDE)
            self._up()
            return todo
        if not self._names and name.casefold() == OURS:
            raise self._failed(sentences.PATH_OURS)
        if len(self._fds) > MAX_LEVELS:
            raise self._failed(sentences.PATH_MISSING)
        info = os.stat(name, dir_fd=self._fds[-1], follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            return todo + self._link(root, name)
        if not _is_plain(info):
            raise self._failed(sentences.PATH_ODD)
        fd = os.open(name, FLAGS, dir_fd=self._fds[-1])
        self._fds.append(fd)
        self._names.append(name)
        if not _is_plain(os.fstat(fd)):
            raise self._failed(sentences.PATH_ODD)
        return todo

    def _link(self, root: Path, name: str) -> list[str]:
        self._links += 1
        if self._links > MAX_LINKS:
            raise self._failed(sentences.PATH_LINKS)
        target = os.readlink(name, dir_fd=self._fds[-1])
        try:
            steps = _steps(root, target)
        except ToolFailed:
            raise self._failed(sentences.PATH_OUTSIDE) from None
        if target.startswith("/"):
            while self._names:
                self._up()
        return steps

    def _up(self) -> None:
        os.close(self._fds.pop())
        self._names.pop()

    def _failed(self, sentence: str) -> ToolFailed:
        return ToolFailed(sentence.format(path=self._path))


def _is_plain(info: os.stat_result) -> bool:
    return stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)


_VERSION_CONTROL = frozenset({"CVS", "_darcs"})
_MAX_NAMES = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder: its path relative to where the listing began, its name, and its folder's descriptor."""

    relative: str
    name: str
    folder: int
    info: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.info.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.info.st_mode)


def entries(found: Found) -> Iterator[Entry]:
    """What lies in this folder, by name."""
    return _entries(found.fd, "", hide_ours=not found.relative)


def tree(found: Found) -> Iterator[Entry]:
    """What lies below this folder, by path; hidden entries and version control left out, links not followed."""
    return _tree(found.fd, "", 0)


def _entries(fd: int, prefix: str, hide_ours: bool) -> Iterator[Entry]:
    with os.scandir(fd) as scan:
        names = sorted(each.name for each, _ in zip(scan, range(_MAX_NAMES), strict=False))
    for name in names:
        if hide_ours and name.casefold() == OURS:
            continue
        try:
            info = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:  # it has just gone
            continue
        yield Entry(prefix + name, name, fd, info)


def _tree(fd: int, prefix: str, level: int) -> Iterator[Entry]:
    for entry in _entries(fd, prefix, hide_ours=False):
        if entry.name.startswith(".") or entry.name in _VERSION_CONTROL:
            continue
        yield entry
        if not entry.is_folder or level >= MAX_LEVELS:
            continue
        try:
            below = os.open(entry.name, FLAGS | os.O_DIRECTORY, dir_fd=fd)
        except OSError:
            continue
        try:
            yield from _tree(below, f"{entry.relative}/", level + 1)
        finally:
            os.close(below)
