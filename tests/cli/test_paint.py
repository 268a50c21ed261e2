"""How the parts of a conversation look."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from vancetope.cli.lines import Aside, Line, Part, Said
from vancetope.cli.paint import LONGEST_MARKDOWN, as_ansi, tail, together

SGR = re.compile(r"\x1b\[[0-9;]*m")


def looks(*parts: Part, width: int = 60, after: Part | None = None) -> str:
    console = Console(width=width, record=True, force_terminal=True, file=StringIO())
    console.print(together(parts, after))
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def test_a_message_is_markdown() -> None:
    shown = looks(Said("# Title\n\nA **bold** word.\n\n- one\n- two\n\n```python\nx = 1\n```\n"))
    assert shown == "\n# Title\n\nA bold word.\n\n • one\n • two\n\n  x = 1"


def test_nothing_that_the_model_wrote_is_lost() -> None:
    shown = looks(Said("Use List<String>.\n<b>Not</b> html.\n<div>\nblock\n</div>\n\n[link](https://example.org/x)"))
    for text in ("List<String>", "<b>Not</b>", "<div>", "block", "</div>", "link (https://example.org/x)"):
        assert text in shown
    assert "Use List<String>.\n<b>Not" in shown


def test_markup_of_the_library_is_only_text() -> None:
    assert looks(Line("[red]no[/red] :smile:")) == "[red]no[/red] :smile:"
    assert looks(Said("[red]no[/red]")).strip() == "[red]no[/red]"


@pytest.mark.parametrize("width", [10, 20, 33, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = (
        "# 漢字 heading\n\nWide 漢字かな交じり文 and longwordwithoutanyspaces"
        + "x" * 90
        + "\n\n| a | b |\n|-|-|\n| 1 | 2 |"
    )
    for line in as_ansi([Said(text), Aside(text), Line(text, fits=True), Line("y" * 99)], width):
        assert cell_len(SGR.sub("", line)) <= width


def test_an_empty_line_stands_around_a_message_and_above_what_a_person_says() -> None:
    you, numbers, message = Line("> hi", "you"), Line("1 round", "dim"), Said("Hello.")
    assert looks(you, message, numbers, you) == "> hi\n\nHello.\n\n1 round\n\n> hi"
    assert looks(numbers, after=message) == "\n1 round"
    assert looks(message, message) == "\nHello.\n\nHello."


def test_a_line_that_fits_is_cut_and_any_other_is_wrapped() -> None:
    assert looks(Line("word " * 30, fits=True), width=20) == "word word word word…"
    assert len(looks(Line("word " * 30), width=20).splitlines()) > 5


def test_the_only_codes_in_it_are_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: Sequence[Part] = [Said("**b** [l](https://example.org) `c`"), Line("bad", "bad"), Aside("aside")]
    assert "\x1b" not in SGR.sub("", "".join(as_ansi(parts, 40)))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", "".join(as_ansi(parts, 40)))


def test_a_huge_message_is_shown_as_it_is() -> None:
    huge = "* word *\n" * (LONGEST_MARKDOWN // 8)
    assert looks(Said(huge)).splitlines()[1] == "* word *"


def test_of_too_many_lines_the_last_are_shown() -> None:
    assert tail(["a", "b", "c"], 3) == ["a", "b", "c"]
    shown = tail(["a", "b", "c", "d"], 3)
    assert SGR.sub("", shown[0]) == "⋮ 2 lines above"
    assert shown[1:] == ["c", "d"]
    assert len(tail(["a", "b"], 1)) == 1
