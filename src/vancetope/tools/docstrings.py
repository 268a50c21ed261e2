"""What a docstring tells: its first paragraph, and a line per parameter in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc


@dataclass(frozen=True, slots=True)
class Described:
    """The first paragraph of a docstring on one line, and what it says of each parameter."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read(doc: str | None) -> Described:
    """What this docstring tells. Never raises; a style it does not know gives no parameters."""
    lines = cleandoc(doc or "").splitlines()
    found: dict[str, str] = {}
    for name, text in (*_google(lines), *_numpy(lines), *_sphinx(lines)):
        if text:
            found.setdefault(name.lstrip("*"), text)
    return Described(_summary(lines), found)


_GOOGLE_HEAD = re.compile(r"(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):\s*")
_SECTION_HEAD = re.compile(r"[A-Z][A-Za-z ]*:\s*")
_GOOGLE_ENTRY = re.compile(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")
_SPHINX_ENTRY = re.compile(r":(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(\*{0,2}\w+)\s*:\s*(.*)")
_UNDERLINE = re.compile(r"-{3,}\s*")


def _summary(lines: Sequence[str]) -> str:
    taken: list[str] = []
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        starts_section = _GOOGLE_HEAD.fullmatch(line) or line.startswith(":param") or _UNDERLINE.fullmatch(below)
        if not line.strip() or starts_section:
            break
        taken.append(line.strip())
    return " ".join(taken)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(first: str, lines: Sequence[str], start: int, deeper_than: int) -> str:
    """An entry's text with the lines below it that are indented deeper than its name."""
    words = [first.strip()] if first.strip() else []
    for line in lines[start:]:
        if not line.strip() or _indent(line) <= deeper_than:
            break
        words.append(line.strip())
    return " ".join(words)


def _google(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    inside, margin = False, -1
    for number, line in enumerate(lines):
        if _indent(line) == 0 and line.strip():
            inside, margin = bool(_GOOGLE_HEAD.fullmatch(line)), -1
        elif inside and line.strip():
            margin = _indent(line) if margin < 0 else margin
            entry = _GOOGLE_ENTRY.fullmatch(line.strip())
            if _indent(line) == margin and entry:
                yield entry[1], _joined(entry[2], lines, number + 1, margin)


def _numpy(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    inside = False
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if _UNDERLINE.fullmatch(below):
            inside = line.strip() in ("Parameters", "Other Parameters")
        elif inside and (entry := _NUMPY_ENTRY.fullmatch(line)):
            for name in entry[1].split(","):
                yield name.strip(), _joined("", lines, number + 1, 0)


def _sphinx(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        if entry := _SPHINX_ENTRY.fullmatch(line.strip()):
            yield entry[1], _joined(entry[2], lines, number + 1, _indent(line))
