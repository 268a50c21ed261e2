"""The local model through the backend seam."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from vancetope.backends.base import ModelSettings, Piece, Request, Restarted, TextPiece
from vancetope.backends.local import WeightsMissing, launcher
from vancetope.backends.local.backend import LocalBackend
from vancetope.messages import User

pytestmark = pytest.mark.timeout(120)

STORY = Request(
    model="smollm2-135m",
    system="You tell stories.",
    messages=(User("Tell a very long story."),),
    settings=ModelSettings(temperature=0, max_tokens=60, extra={"ignore_eos": True}),
    timeout=90,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("VANCETOPE_CACHE_DIR", str(tmp_path / "cache"))
    yield
    launcher._end_all()
    launcher._slots.clear()


def pids() -> list[int]:
    return [slot.child.process.pid for slot in launcher._slots.values() if slot.child]


async def test_it_gives_the_reply_and_its_usage_and_shows_it_on_the_way() -> None:
    backend = LocalBackend("smollm2-135m")
    pieces: list[Piece] = []
    reply = await backend.complete(STORY, pieces.append)
    assert reply.text == "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    assert reply.finish == "length"
    assert (reply.usage.output_tokens, reply.requests) == (60, 1)
    await backend.aclose()


async def test_a_schema_holds() -> None:
    backend = LocalBackend("smollm2-135m")
    schema = {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Oslo"]}, "why": {"type": "string", "maxLength": 10}},
        "required": ["city", "why"],
        "additionalProperties": False,
    }
    request = Request(
        model="smollm2-135m",
        system="",
        messages=(User("Where is the Eiffel tower?"),),
        response_schema=schema,
        settings=ModelSettings(temperature=0, max_tokens=60),
        timeout=90,
    )
    value = json.loads((await backend.complete(request)).text)
    assert list(value) == ["city", "why"]
    assert value["city"] in {"Paris", "Oslo"}
    assert len(value["why"]) <= 10
    await backend.aclose()


async def test_requests_one_after_another_and_side_by_side_need_no_second_try() -> None:
    backend = LocalBackend("smollm2-135m")
    short = Request(
        model="smollm2-135m", system="", messages=(User("Hi"),), settings=ModelSettings(max_tokens=2), timeout=90
    )
    replies = [await backend.complete(short) for _ in range(6)]
    replies += await asyncio.gather(*(backend.complete(short) for _ in range(4)))
    assert [reply.requests for reply in replies] == [1] * 10
    assert len(pids()) == 1
    await backend.aclose()


async def test_a_reply_during_which_the_model_died_is_told_anew() -> None:
    backend = LocalBackend("smollm2-135m")
    pieces: list[Piece] = []

    def watch(piece: Piece) -> None:
        pieces.append(piece)
        if len(pieces) == 5:
            os.kill(pids()[0], signal.SIGKILL)

    reply = await backend.complete(STORY, watch)
    again = pieces.index(Restarted())
    assert reply.text == "".join(piece.text for piece in pieces[again:] if isinstance(piece, TextPiece))
    assert reply.requests > 1
    await backend.aclose()


async def test_a_cancelled_request_leaves_no_process() -> None:
    backend = LocalBackend("smollm2-135m")
    begun = asyncio.Event()
    task = asyncio.ensure_future(backend.complete(STORY, lambda piece: begun.set()))
    await begun.wait()
    pid = pids()[0]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert pids() == []
    assert not Path(f"/proc/{pid}").exists()
    await backend.aclose()


async def test_a_missing_file_is_told_by_the_first_request(tmp_path: Path) -> None:
    backend = LocalBackend(str(tmp_path / "gone.gguf"))
    with pytest.raises(WeightsMissing, match=r"gone\.gguf"):
        await backend.complete(STORY)
