"""The real model in its real child process: started, shared, restarted, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from vancetope.backends.local import (
    Endpoint,
    Lease,
    LocalModelDied,
    Serving,
    WeightsMissing,
    WeightsRefused,
    acquire,
    ensure_alive,
    find,
    launcher,
    release,
    serving,
)
from vancetope.backends.local.spawn import cores
from vancetope.errors import ConfigError, MissingExtra

pytestmark = pytest.mark.timeout(120)

AT_ONCE = Serving(context=1024, linger=0)
ACTIONS = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "tool": {"const": tool},
                "arguments": {
                    "type": "object",
                    "properties": {argument: {"type": "string", "maxLength": 12}},
                    "required": [argument],
                    "additionalProperties": False,
                },
            },
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool, argument in (("get_time", "city"), ("respond", "message"))
    ]
}


@pytest.fixture(scope="module")
def model() -> Path:
    return asyncio.run(find())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, and the promise that no test leaves a process behind."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("VANCETOPE_CACHE_DIR", str(folder))
    yield folder
    left = children_of(os.getpid())
    launcher._end_all()
    launcher._slots.clear()
    assert left == []


def children_of(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
        if "child.py" in Path(f"/proc/{child}/cmdline").read_text()
    ]


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int, seconds: float) -> float:
    begun = time.monotonic()
    while is_running(pid):
        assert time.monotonic() - begun < seconds, f"process {pid} still runs after {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - begun


def pid_of(lease: Lease) -> int:
    assert lease.slot.child is not None
    return lease.slot.child.process.pid


async def post(endpoint: Endpoint, body: dict[str, Any], key: str | None = None) -> httpx.Response:
    headers = {"authorization": f"Bearer {key or endpoint.api_key}"}
    async with httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as client:
        return await client.post(f"{endpoint.base_url}/chat/completions", json=body)


HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}


def constrained(question: str) -> dict[str, Any]:
    shape = {"name": "action", "schema": ACTIONS, "strict": True}
    return {
        "messages": [{"role": "user", "content": question}],
        "max_tokens": 80,
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": shape},
    }


async def test_it_answers_a_constrained_request_with_a_legal_action(model: Path) -> None:
    async with serving(model, AT_ONCE) as lease:
        answer = await post(await ensure_alive(lease), constrained("What time is it in Paris?"))
    assert answer.status_code == 200
    choice = answer.json()["choices"][0]
    action = json.loads(choice["message"]["content"])
    assert choice["finish_reason"] == "stop"
    assert list(action) == ["tool", "arguments"]
    assert action["tool"] in {"get_time", "respond"}
    assert all(len(value) <= 12 for value in action["arguments"].values())


async def test_nobody_gets_an_answer_without_its_key(model: Path) -> None:
    async with serving(model, AT_ONCE) as lease:
        endpoint = await ensure_alive(lease)
        assert (await post(endpoint, HELLO, key="guess")).status_code == 401
        command = Path(f"/proc/{pid_of(lease)}/cmdline").read_text()
        environment = Path(f"/proc/{pid_of(lease)}/environ").read_text()
    assert endpoint.api_key not in command + environment + repr(endpoint)


async def test_the_child_does_not_inherit_the_keys_of_the_user(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", "sk-secret")
    async with serving(model, AT_ONCE) as lease:
        assert "sk-secret" not in Path(f"/proc/{pid_of(lease)}/environ").read_text()


async def test_everybody_in_a_process_shares_one_child_until_the_last_one_goes(model: Path) -> None:
    leases = await asyncio.gather(*(acquire(model, AT_ONCE) for _ in range(8)))
    assert len({await ensure_alive(lease) for lease in leases}) == 1
    pid = pid_of(leases[0])
    assert children_of(os.getpid()) == [pid]
    for lease in leases[1:]:
        await release(lease)
    assert (await post(await ensure_alive(leases[0]), HELLO)).status_code == 200
    await release(leases[0])
    await release(leases[0])
    assert not is_running(pid)
    with pytest.raises(LocalModelDied, match="already released"):
        await ensure_alive(leases[0])


async def test_a_killed_child_is_started_again(model: Path, cache: Path) -> None:
    async with serving(model, AT_ONCE) as lease:
        before = await ensure_alive(lease)
        os.kill(pid_of(lease), signal.SIGKILL)
        after = await ensure_alive(lease, lost=before)
        assert after != before
        assert (await post(after, HELLO)).status_code == 200
    assert len(list((cache / "logs").iterdir())) == 1, "the log of the crash stays, that of the orderly end does not"


async def test_an_endpoint_that_was_lost_for_no_fault_of_the_child_stays(model: Path) -> None:
    async with serving(model, AT_ONCE) as lease:
        endpoint = await ensure_alive(lease)
        assert await ensure_alive(lease, lost=endpoint) == endpoint


async def test_three_crashes_within_a_minute_are_one_sentence_that_names_the_log(model: Path) -> None:
    async with serving(model, AT_ONCE) as lease:
        for _ in range(3):
            await ensure_alive(lease)
            assert lease.slot.child is not None
            lease.slot.child.process.send_signal(signal.SIGABRT)
            # A signal is not instant: until its last thread has ended, the child may still say that it is well.
            await asyncio.to_thread(lease.slot.child.process.wait, 10)
        with pytest.raises(LocalModelDied, match=r"crashed 3 times within a minute; its log is (\S+\.log)$") as error:
            await ensure_alive(lease)
        assert Path(str(error.value).rpartition(" ")[2]).exists()
        lease.slot.crashes[0] -= 61  # a minute later
        await ensure_alive(lease)


async def test_a_child_lingers_for_the_next_user(model: Path) -> None:
    how = Serving(context=1024, linger=30)
    async with serving(model, how) as lease:
        pid = pid_of(lease)
    assert is_running(pid)
    async with serving(model, how) as lease:
        assert pid_of(lease) == pid
        assert (await post(await ensure_alive(lease), HELLO)).status_code == 200
        await release(lease, at_once=True)
    assert not is_running(pid)


async def test_a_child_ends_by_itself_after_its_linger(model: Path, cache: Path) -> None:
    how = Serving(context=1024, linger=0.3)
    async with serving(model, how) as lease:
        pid = pid_of(lease)
    assert is_running(pid)
    assert await asyncio.to_thread(wait_until_gone, pid, 3) < 2
    assert list((cache / "logs").iterdir()) == []
    async with serving(model, how) as lease:
        assert pid_of(lease) != pid
        assert not lease.slot.crashes
        await release(lease, at_once=True)


async def test_a_user_who_comes_while_it_lingers_holds_it(model: Path) -> None:
    how = Serving(context=1024, linger=0.3)
    async with serving(model, how):
        pass
    async with serving(model, how) as lease:
        pid = pid_of(lease)
        await asyncio.sleep(0.8)
        assert is_running(pid)
        await release(lease, at_once=True)


@pytest.mark.parametrize("after", [0.0, 0.05, 0.3, 0.55])
async def test_a_cancelled_acquire_leaves_no_process(model: Path, after: float) -> None:
    begun = asyncio.ensure_future(acquire(model, AT_ONCE))
    await asyncio.sleep(after)
    if begun.done():
        return await release(begun.result())
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
    while launcher._ended or children_of(os.getpid()):
        await asyncio.sleep(0.01)
    assert [slot.child for slot in launcher._slots.values() if slot.child] == []
    return None


async def test_cancelling_one_of_two_who_wait_does_not_disturb_the_other(model: Path) -> None:
    first, second = (asyncio.ensure_future(acquire(model, AT_ONCE)) for _ in range(2))
    await asyncio.sleep(0.1)
    first.cancel()
    lease = await second
    assert (await post(await ensure_alive(lease), HELLO)).status_code == 200
    await release(lease)


async def test_a_cancelled_block_does_not_linger(model: Path) -> None:
    inside = asyncio.Event()

    async def work() -> None:
        async with serving(model, Serving(context=1024, linger=60)):
            inside.set()
            await asyncio.sleep(60)

    task = asyncio.ensure_future(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children_of(os.getpid()) == []


def test_a_lease_outlives_its_event_loop_and_serves_threads_with_loops_of_their_own(model: Path) -> None:
    lease = asyncio.run(acquire(model, AT_ONCE))
    assert asyncio.run(post(asyncio.run(ensure_alive(lease)), HELLO)).status_code == 200
    answered: list[int] = []

    async def use() -> None:
        async with serving(model, AT_ONCE) as mine:
            answered.append((await post(await ensure_alive(mine), HELLO)).status_code)

    threads = [threading.Thread(target=asyncio.run, args=(use(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answered == [200, 200, 200]
    asyncio.run(release(lease))


async def test_a_file_that_is_no_model_is_one_sentence(tmp_path: Path, model: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with model.open("rb") as whole:
        cut.write_bytes(whole.read(3_000_000))
    with pytest.raises(WeightsRefused) as error:
        await acquire(cut, AT_ONCE)
    assert str(error.value).startswith(f"the model file {cut} cannot be loaded: tensor 'token_embd.weight'")
    assert len(str(error.value).splitlines()) == 1
    with pytest.raises(WeightsMissing, match=r"there is no file .*gone\.gguf: .*vancetope models pull"):
        await acquire(tmp_path / "gone.gguf", AT_ONCE)


async def test_a_missing_package_is_one_sentence(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(
        MissingExtra, match=r"^a local model needs the extra 'local': pip install 'vancetope\[local\]'$"
    ):
        await acquire(model, AT_ONCE)


def stand_in(folder: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in for the C++ library before the real one, to fail as the real one can but will not on demand."""
    (folder / "xllamacpp.py").write_text(
        textwrap.dedent(
            f"""
            import ctypes, os, types
            def CommonParams():
                return types.SimpleNamespace(model=types.SimpleNamespace(), cpuparams=types.SimpleNamespace())
            def Server(params):
                {server}
            """
        )
    )
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


async def test_an_abort_while_loading_is_one_sentence(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, "os.write(2, b'GGML_ASSERT failed'); os.abort()", monkeypatch)
    with pytest.raises(LocalModelDied, match=r"ended while it was loading \(SIGABRT\); its log is (\S+)$") as error:
        await acquire(model, AT_ONCE)
    assert "GGML_ASSERT failed" in Path(str(error.value).rpartition(" ")[2]).read_text()


async def test_a_library_that_cannot_be_loaded_is_one_sentence(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ConfigError, match=r"xllamacpp does not work here: libgomp\.so\.1: cannot open"):
        await acquire(model, AT_ONCE)


async def test_a_model_that_never_gets_ready_is_one_sentence(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, "ctypes.PyDLL(None).sleep(60)", monkeypatch)
    with pytest.raises(LocalModelDied, match=r"was not ready after 0\.5 s; its log is"):
        await acquire(model, Serving(context=1024, linger=0, patience=0.5))
    while launcher._ended:
        await launcher._sweep()


PARENT = """
import asyncio, os, sys, time
from pathlib import Path
from vancetope.backends.local import Serving, acquire, launcher

async def main():
    task = asyncio.ensure_future(acquire(Path(sys.argv[1]), Serving(context=1024, linger=60)))
    while not (slots := list(launcher._slots.values())) or slots[0].child is None:
        await asyncio.sleep(0.01)
    if sys.argv[2] != "loading":
        await task
    child = slots[0].child.process.pid
    fork = 0
    if sys.argv[2] == "forked" and (fork := os.fork()) == 0:
        time.sleep(60)
    print(child, fork, flush=True)
    if sys.argv[2] != "leaves":
        await asyncio.sleep(60)

asyncio.run(main())
"""


def start_parent(model: Path, way: str) -> tuple[subprocess.Popen[str], int, int]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(model), way], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child, fork = map(int, parent.stdout.readline().split())
    return parent, child, fork


@pytest.mark.parametrize("way", ["serving", "loading", "forked"])
def test_a_child_ends_when_its_parent_is_killed(
    model: Path, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "loading":
        # Holds the interpreter's lock, as loading a big file does.
        stand_in(tmp_path, "ctypes.PyDLL(None).sleep(60)", monkeypatch)
    parent, child, fork = start_parent(model, way)
    if way == "loading":
        time.sleep(0.5)
    assert is_running(child)
    with parent:
        parent.kill()
        if fork:
            assert is_running(fork), "the test is about a forked process that lives on"
        try:
            wait_until_gone(child, 3)
        finally:
            if fork:
                os.kill(fork, signal.SIGKILL)


def test_a_child_ends_with_a_parent_that_forgot_it(model: Path, cache: Path) -> None:
    parent, child, _ = start_parent(model, "leaves")
    _, said = parent.communicate(timeout=10)
    assert (parent.returncode, said) == (0, "")
    assert not is_running(child)
    assert list((cache / "logs").iterdir()) == []


def test_it_uses_no_more_threads_than_it_may() -> None:
    assert 1 <= cores() <= len(os.sched_getaffinity(0))
