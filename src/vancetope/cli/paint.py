"""The parts of a conversation as rich renders them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import IO, ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, Group, OverflowMethod, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from vancetope.cli.lines import Aside, Line, Part, Said, Tone

# Beyond this a message is shown as it is: reading it as Markdown would take longer than anybody waits.
LONGEST_MARKDOWN = 100_000

STYLES: dict[Tone, str] = {
    "plain": "",
    "dim": "dim",
    "good": "dim green",
    "bad": "red",
    "note": "dim",
    "you": "bold cyan",
}


class LeftHeading(Heading):
    """A heading that stays at the left edge, with its marks, as in the source."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(f"{'#' * int(self.tag[1:])} ", style="dim") + self.text


class PlainCode(CodeBlock):
    """Code in the terminal's own colours, on its own background, indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Padding(
            Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True), (0, 0, 0, 2)
        )


class Prose(Markdown):
    """A message as Markdown that loses nothing: HTML is text, line breaks are kept, a link shows where it leads."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "fence": PlainCode,
        "code_block": PlainCode,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = list(_with_breaks(_parser().parse(text)))


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


def _with_breaks(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.children:
            token.children = list(_with_breaks(token.children))
        yield token


def rendered(part: Part) -> RenderableType:
    """How one part looks."""
    match part:
        case Line():
            how: OverflowMethod | None = "ellipsis" if part.fits else None
            return Text(part.text, style=STYLES[part.tone], overflow=how, no_wrap=part.fits)
        case Aside():
            return Padding(Text(part.text.strip(), style="dim italic"), (0, 0, 0, 2))
        case Said() if len(part.text) > LONGEST_MARKDOWN:
            return Text(part.text)
        case Said():
            return Prose(part.text)


def together(parts: Iterable[Part], after: Part | None = None) -> Group:
    """The parts one below the other, with an empty line around a message and above what the person said. `after` is
    what stands above them."""
    return Group(*_spaced(parts, after))


def _spaced(parts: Iterable[Part], after: Part | None) -> Iterator[RenderableType]:
    for part in parts:
        if _stands_alone(part, after):
            yield Text()
        yield rendered(part)
        after = part


def _stands_alone(part: Part, after: Part | None) -> bool:
    return (
        isinstance(part, Said)
        or isinstance(after, Said)
        or (isinstance(part, Line) and part.tone == "you" and after is not None)
    )


def console_for(file: IO[str], *, is_terminal: bool = True, width: int | None = None) -> Console:
    """A console that writes there; NO_COLOR is honoured, and nothing of the text is taken for markup."""
    return Console(
        file=file,
        force_terminal=is_terminal,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        no_color=bool(os.environ.get("NO_COLOR")) or None,
    )


def as_ansi(parts: Iterable[Part], width: int, after: Part | None = None) -> list[str]:
    """The parts as lines of terminal text, no longer than the width. `after` is what stands above them."""
    buffer = StringIO()
    console_for(buffer, width=width).print(together(parts, after))
    return buffer.getvalue().rstrip("\n").split("\n") if buffer.getvalue().strip() else []


def tail(lines: list[str], most: int) -> list[str]:
    """The last lines, with a mark where some are left out."""
    if len(lines) <= most:
        return lines
    hidden = len(lines) - most + 1
    return [f"\x1b[2m⋮ {hidden} lines above\x1b[0m", *lines[hidden:]][-most:]
