"""The file tools read below their root and nowhere else, and never more than they say."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.running import answer, planned, workshop
from vancetope.errors import ConfigError
from vancetope.schema.validate import compile
from vancetope.tools import reading
from vancetope.tools.base import Tool
from vancetope.tools.batch import run_calls
from vancetope.tools.confined import opened
from vancetope.tools.failure import ToolFailed
from vancetope.tools.files import file_tools

SECRET = "the secret outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "root-sibling").mkdir()
    (tmp_path / "root-sibling" / "secret.txt").write_text(SECRET)
    root = tmp_path / "root"
    (root / "docs" / "deep").mkdir(parents=True)
    (root / "notes.txt").write_text("one\ntwo\nthree\n")
    (root / "docs" / "a.md").write_text("alpha\nbeta")
    (root / "docs" / "deep" / "b.py").write_text("def beta(): ...\n")
    (root / ".hidden").write_text("beta\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("beta\n")
    (root / ".vancetope").mkdir()
    (root / ".vancetope" / "store.db").write_text("beta\n")
    return root


async def tools(root: Path) -> tuple[Tool, ...]:
    return await asyncio.to_thread(file_tools, root)


async def read(root: Path, path: str, **more: Any) -> str:
    return await answer((await tools(root))[0], path=path, **more)


async def listed(root: Path, **arguments: Any) -> str:
    return await answer((await tools(root))[1], **arguments)


async def grep(root: Path, pattern: str, **more: Any) -> str:
    return await answer((await tools(root))[2], pattern=pattern, **more)


# Confinement


ESCAPES = [
    "..",
    "../secret.txt",
    "docs/../../secret.txt",
    "docs/deep/../../../secret.txt",
    "./../root/../secret.txt",
    "/etc/passwd",
    "/",
    "//etc/passwd",
    "/../secret.txt",
]


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_path_leads_out(root: Path, path: str) -> None:
    for each in (read(root, path), listed(root, path=path), grep(root, "secret", path=path)):
        with pytest.raises(ToolFailed, match="outside the root"):
            await each


async def test_an_absolute_path_inside_the_root_is_fine_and_a_sibling_with_its_prefix_is_not(root: Path) -> None:
    assert await read(root, str(root / "notes.txt")) == await read(root, "notes.txt")
    with pytest.raises(ToolFailed, match="outside"):
        await read(root, f"{root}-sibling/secret.txt")
    with pytest.raises(ToolFailed, match="outside"):
        await read(root, f"{root}/../secret.txt")


@pytest.mark.parametrize(
    "target",
    ["../secret.txt", "/etc/passwd", "docs/../../secret.txt", "{root}/../secret.txt", "link2", "../root-sibling"],
)
async def test_no_link_leads_out(root: Path, target: str) -> None:
    (root / "link").symlink_to(target.format(root=root))
    (root / "link2").symlink_to("../secret.txt")
    for path in ("link", "docs/../link", "link/secret.txt"):
        with pytest.raises(ToolFailed):
            await read(root, path)
    assert "link" not in await grep(root, "secret")


async def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "docs" / "up").symlink_to("../notes.txt")
    (root / "absolute").symlink_to(root / "docs")
    (root / "folder").symlink_to("docs/deep")
    assert "two" in await read(root, "docs/up")
    assert "alpha" in await read(root, "absolute/a.md")
    assert "alpha" in await read(root, "folder/../a.md")
    assert await listed(root, path="folder") == "b.py  16"


async def test_links_in_a_circle_end(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "self").symlink_to("self/self")
    for path in ("a", "b", "self"):
        with pytest.raises(ToolFailed, match="too many links"):
            await read(root, path)


async def test_a_root_that_is_reached_by_a_link_is_the_folder_behind_it(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert "two" in await read(tmp_path / "alias", "notes.txt")


STEPS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "docs",
        "deep",
        "a.md",
        "notes.txt",
        "out",
        "far",
        "loop",
        "inside",
        "secret.txt",
        "root",
        "/",
        "nope",
        "\0",
    ]
) | st.text(max_size=3)


@given(st.lists(STEPS, max_size=10), st.booleans())
def test_random_paths_never_escape(steps: list[str], absolute: bool) -> None:
    with TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        root = base / "root"
        (root / "docs" / "deep").mkdir(parents=True)
        (base / "secret.txt").write_text(SECRET)
        (root / "notes.txt").write_text("inside")
        (root / "docs" / "out").symlink_to("../../secret.txt")
        (root / "docs" / "far").symlink_to("/")
        (root / "docs" / "loop").symlink_to("../docs")
        (root / "inside").symlink_to(root / "docs" / "deep")
        (root / "out").symlink_to("..")
        path = ("/" if absolute else "") + "/".join(steps)
        try:
            with opened(root, path) as found:
                where = Path(f"/proc/self/fd/{found.fd}").readlink()
        except ToolFailed:
            return
        assert where == root or root in where.parents
        assert where == root / found.relative


def test_a_folder_swapped_for_a_link_while_it_is_read_leads_nowhere(root: Path) -> None:
    (root / "swap").mkdir()
    (root / "swap" / "secret.txt").write_text("harmless")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "swap").rename(root / "away")
            (root / "swap").symlink_to("../root-sibling")
            (root / "swap").unlink()
            (root / "away").rename(root / "swap")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[str] = set()
    try:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            with contextlib.suppress(ToolFailed):
                seen.add(reading.read(root, "swap/secret.txt", 0, 10))
            with contextlib.suppress(ToolFailed):
                seen.add(reading.searched(root, "secret|harmless", ".", None))
    finally:
        stop.set()
        swapping.join()
    assert seen
    assert not any(SECRET in each for each in seen)


async def test_the_runtimes_own_folder_is_closed_and_unlisted(root: Path) -> None:
    for path in (".vancetope", ".vancetope/store.db", "docs/../.vancetope/store.db", ".Vancetope/store.db"):
        with pytest.raises(ToolFailed, match="belongs to the runtime"):
            await read(root, path)
    (root / "link").symlink_to(".vancetope")
    with pytest.raises(ToolFailed, match="belongs to the runtime"):
        await listed(root, path="link")
    assert ".vancetope" not in await listed(root)


@pytest.fixture
def odd_files(root: Path) -> Iterator[Path]:
    os.mkfifo(root / "fifo")
    (root / "device").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(root)  # the path of a socket is short
        server.bind("socket")
        os.chdir(before)
        yield root


async def test_what_is_neither_file_nor_folder_is_refused_and_never_waits(odd_files: Path) -> None:
    started = time.monotonic()
    for path in ("fifo", "socket"):
        with pytest.raises(ToolFailed, match="neither a file nor a folder"):
            await read(odd_files, path)
    with pytest.raises(ToolFailed, match="outside"):
        await read(odd_files, "device")
    assert await grep(odd_files, "zzz") == "nothing matches"
    assert "fifo  (link or device)" in await listed(odd_files)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "path", ["nope", "docs/nope", "notes.txt/x", "nope/../notes.txt", "a\0b", "x" * 5_000, "\ud800", "~"]
)
async def test_what_does_not_exist_is_told_in_a_short_sentence(root: Path, path: str) -> None:
    with pytest.raises(ToolFailed) as raised:
        await read(root, path)
    assert len(str(raised.value)) < 300


async def test_no_descriptor_is_left_open(root: Path) -> None:
    (root / "link").symlink_to("docs/deep/b.py")
    await read(root, "notes.txt")
    before = descriptors()
    for path in [*ESCAPES, "link/x", "nope", "notes.txt/x", "docs"]:
        with pytest.raises(ToolFailed):
            await read(root, path)
    await grep(root, "beta")
    await listed(root, recursive=True)
    await read(root, "link")
    assert descriptors() <= before


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("path", ["nope", "notes.txt"])
def test_a_root_that_is_no_folder_is_a_configuration_error(root: Path, path: str) -> None:
    with pytest.raises(ConfigError, match="not a folder"):
        file_tools(root / path)


# file_read


async def test_lines_come_numbered_and_in_parts(root: Path) -> None:
    assert await read(root, "notes.txt") == "1\tone\n2\ttwo\n3\tthree"
    assert await read(root, "notes.txt", offset=1, limit=1) == (
        "2\ttwo\n[lines 2 to 2; the file goes on, read it with offset=2]"
    )
    assert await read(root, "notes.txt", offset=2) == "3\tthree"
    assert await read(root, "docs/a.md", offset=1) == "2\tbeta"


async def test_reading_past_the_end_tells_how_long_the_file_is(root: Path) -> None:
    for path, lines in (("notes.txt", 3), ("docs/a.md", 2)):
        with pytest.raises(ToolFailed, match=f"only {lines} lines"):
            await read(root, path, offset=10)


async def test_an_empty_file_says_so(root: Path) -> None:
    (root / "empty").touch()
    assert await read(root, "empty") == "(the file is empty)"


@given(st.text(st.sampled_from("a\n\ré\u2028\x0b"), max_size=40), st.integers(1, 5))
def test_the_parts_of_a_file_are_its_lines(text: str, limit: int) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "file").write_bytes(text.encode())
        lines: list[str] = []
        more = bool(text)
        while more:
            said = reading.read(root, "file", len(lines), limit).split("\n")
            more = said[-1].startswith("[lines")
            lines += [line.partition("\t")[2] for line in (said[:-1] if more else said)]
        wanted = text.removesuffix("\n").split("\n") if text else []
        assert lines == [line.removesuffix("\r") for line in wanted]


async def test_windows_line_ends_and_a_byte_order_mark_are_not_shown(root: Path) -> None:
    (root / "dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert await read(root, "dos.txt") == "1\tone\n2\ttwo"


async def test_bytes_that_are_no_utf8_are_replaced_and_said(root: Path) -> None:
    (root / "latin").write_bytes("café".encode("latin-1"))
    assert (await read(root, "latin")).startswith("1\tcaf\N{REPLACEMENT CHARACTER}\n[some bytes are not UTF-8")
    (root / "honest").write_text("an honest \N{REPLACEMENT CHARACTER}")
    assert "UTF-8" not in await read(root, "honest")


async def test_a_binary_file_is_refused(root: Path) -> None:
    (root / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(ToolFailed, match="not a text file"):
        await read(root, "image.png")


async def test_a_call_reads_no_more_than_its_window(root: Path) -> None:
    (root / "log").write_bytes(b"".join(b"%07d some line\n" % n for n in range(100_000)))
    said = await read(root, "log", limit=100_000)
    assert 20_000 < len(said) < 32 * 1024
    last = said.rpartition("offset=")[2].rstrip("]")
    assert (await read(root, "log", offset=int(last), limit=1)).startswith(f"{int(last) + 1}\t{int(last):07} some line")
    (root / "one").write_text("語" * 200_000)
    said = await read(root, "one")
    assert "[line 1 is longer than" in said
    assert "\N{REPLACEMENT CHARACTER}" not in said


async def test_a_folder_is_not_read(root: Path) -> None:
    for path in ("docs", ".", ""):
        with pytest.raises(ToolFailed, match="file_list"):
            await read(root, path)


# file_list


async def test_a_folder_is_listed_with_hidden_entries_and_recursively_without(root: Path) -> None:
    (root / "CVS").mkdir()
    assert await listed(root) == ".git/\n.hidden  5\nCVS/\ndocs/\nnotes.txt  14"
    assert await listed(root, recursive=True) == "docs/\ndocs/a.md  10\ndocs/deep/\ndocs/deep/b.py  16\nnotes.txt  14"
    assert await listed(root, path="docs", recursive=True) == "a.md  10\ndeep/\ndeep/b.py  16"


async def test_a_listing_is_bounded_and_empty_ones_say_so(root: Path) -> None:
    many = root / "many"
    many.mkdir()
    assert await listed(root, path="many") == "(the folder is empty)"
    for n in range(1_005):
        (many / f"{n:04}").touch()
    said = (await listed(root, path="many")).split("\n")
    assert len(said) == 1_001
    assert said[-1] == "[only the first 1,000 entries are shown]"
    with pytest.raises(ToolFailed, match="not a folder"):
        await listed(root, path="notes.txt")


async def test_a_recursive_listing_does_not_follow_links_round_in_circles(root: Path) -> None:
    (root / "docs" / "loop").symlink_to("..")
    assert "docs/loop  (link or device)" in await listed(root, recursive=True)


async def test_names_that_are_no_text_are_listed(root: Path) -> None:
    os.close(os.open(os.fsencode(root) + b"/caf\xe9", os.O_CREAT))
    (result,) = await run_calls([planned((await tools(root))[1])], workshop())
    assert "caf\N{REPLACEMENT CHARACTER}  0" in result.text


async def test_very_deep_folders_are_listed_down_to_a_bound(root: Path) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert "d/" * 50 in await listed(root, recursive=True)
    with pytest.raises(ToolFailed):
        await listed(root, path="d/" * 100)


# file_grep


async def test_matches_come_with_path_and_line_number(root: Path) -> None:
    assert await grep(root, "beta") == "docs/a.md:2: beta\ndocs/deep/b.py:1: def beta(): ..."
    assert await grep(root, "^beta$", path="docs") == "docs/a.md:2: beta"
    assert await grep(root, "(?i)BETA", path="docs/a.md") == "docs/a.md:2: beta"
    assert await grep(root, "gamma") == "nothing matches"
    assert await grep(root, "beta", path=".git/config") == ".git/config:1: beta"


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.py", ["docs/deep/b.py"]),
        ("*.md", ["docs/a.md"]),
        ("docs/**/*.py", ["docs/deep/b.py"]),
        ("**/*.md", ["docs/a.md"]),
        ("docs/*", ["docs/a.md", "docs/deep/b.py"]),
        ("*.txt", []),
    ],
)
async def test_a_glob_chooses_files_by_name_or_path(root: Path, glob: str, files: list[str]) -> None:
    said = await grep(root, "beta", glob=glob)
    assert [line.partition(":")[0] for line in said.split("\n")] == (files or ["nothing matches"])


async def test_hits_and_lines_are_bounded(root: Path) -> None:
    (root / "long").write_text("\n".join(["x" * 10_000] * 300))
    said = (await grep(root, "x", path="long")).split("\n")
    assert len(said) == 202
    assert said[-2].startswith("[lines longer than 2,000 characters were searched in pieces")
    assert said[-1] == "[only the first 200 matches are shown]"
    assert all(len(line) <= 520 for line in said)


async def test_large_and_binary_files_are_passed_over_and_the_large_ones_counted(root: Path) -> None:
    (root / "large").write_bytes(b"beta\n" * 2_100_000)
    (root / "binary").write_bytes(b"beta\0")
    said = await grep(root, "beta")
    assert "large:" not in said
    assert "binary" not in said
    assert said.endswith("[not searched, because larger than 10,000,000 bytes: 1]")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "a*a*a*a*a*a*a*a*a*b", "(.*a){25}"])
async def test_no_pattern_can_hold_up_the_process(root: Path, pattern: str) -> None:
    (root / "bait").write_text("a" * 5_000 + "!\n")
    started = time.monotonic()
    await grep(root, pattern)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("pattern", ["(", "[", "*", r"(a)\1", "(?=a)", "x" * 2_000])
async def test_a_pattern_that_cannot_be_searched_for_is_told(root: Path, pattern: str) -> None:
    with pytest.raises(ToolFailed):
        await grep(root, pattern)


async def test_a_search_that_takes_too_long_says_what_it_has(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SEARCH_SECONDS", -1.0)
    assert "stopped after" in await grep(root, "beta")


def test_the_specs_are_schemas_with_bounds(root: Path) -> None:
    read_tool, list_tool, grep_tool = file_tools(root)
    assert [each.name for each in (read_tool, list_tool, grep_tool)] == ["file_read", "file_list", "file_grep"]
    assert not compile(read_tool.spec.parameters).fits({"path": "a", "offset": -1})
    assert compile(list_tool.spec.parameters).fits({})
    assert not compile(grep_tool.spec.parameters).fits({"pattern": ""})
