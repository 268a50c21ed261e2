"""The harness itself: nothing leaves this machine, no key gets in, no skip goes unseen, no call blocks the loop."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import CodeType
from typing import Any

import network_guard
import pytest
import skip_rule
from blockbuster import BlockingError
from hypothesis import given
from hypothesis import strategies as st
from network_guard import OutsideNetworkRefused

import vancetope

OUTSIDE = "192.0.2.1"  # TEST-NET-1: nobody's address
GUARD = str(Path(__file__).parent / "guard")
PACKAGE = Path(vancetope.__file__).parent


def child(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=15
    )


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_a_connection_to_another_machine_is_refused_and_the_address_named(method: str) -> None:
    with socket.socket() as sock, pytest.raises(OutsideNetworkRefused, match=OUTSIDE):
        getattr(sock, method)((OUTSIDE, 80))


def test_a_datagram_to_another_machine_is_refused() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        with pytest.raises(OutsideNetworkRefused):
            sock.sendto(b"x", (OUTSIDE, 53))
        with pytest.raises(OutsideNetworkRefused):
            sock.sendto(b"x", 0, (OUTSIDE, 53))
        with pytest.raises(OutsideNetworkRefused):
            sock.sendmsg([b"x"], [], 0, (OUTSIDE, 53))


@pytest.mark.parametrize(
    "lookup", [lambda: socket.getaddrinfo("example.com", 443), lambda: socket.gethostbyname("a.b")]
)
def test_a_public_name_is_not_looked_up(lookup: Any) -> None:
    with pytest.raises(OutsideNetworkRefused):
        lookup()


async def test_asyncio_cannot_leave_either() -> None:
    with pytest.raises(OutsideNetworkRefused):
        await asyncio.open_connection("example.com", 443)
    with pytest.raises(OutsideNetworkRefused):
        await asyncio.open_connection(OUTSIDE, 443)


async def test_loopback_works_in_every_spelling() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            reader, writer = await asyncio.open_connection(host, port)
            assert await reader.read() == b"hello"
            writer.close()
            await writer.wait_closed()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.8.8", "::1", "::1%lo", "LOCALHOST", b"localhost", "::ffff:127.0.0.1"]
)
def test_loopback_is_recognised(host: object) -> None:
    assert network_guard.is_loopback(host)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "0.0.0.0", "::", "fe80::1", "localhost.example", "127.0.0.1.example", "", None, 7]
)
def test_nothing_else_is_taken_for_loopback(host: object) -> None:
    assert not network_guard.is_loopback(host)


def test_a_local_socket_file_is_reachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket file has about 100 bytes at most
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind("s")
        listener.listen()
        client.connect("s")


def test_a_child_process_cannot_leave_either() -> None:
    done = child(f"import socket; socket.create_connection(({OUTSIDE!r}, 80), 1)")
    assert done.returncode != 0
    assert "OutsideNetworkRefused" in done.stderr
    assert OUTSIDE in done.stderr


def test_a_child_process_with_an_environment_of_its_own_is_guarded_through_the_path_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import socket; socket.getaddrinfo('example.com', 1)"],
        env={"PYTHONPATH": GUARD},
        capture_output=True,
        text=True,
        timeout=15,
    )
    assert "OutsideNetworkRefused" in done.stderr


SECRETS = {
    "OPENAI_API_KEY": "real",
    "OPENAI_BASE_URL": "https://example.com",
    "OPENAI_ORG_ID": "real",
    "ANTHROPIC_AUTH_TOKEN": "real",
    "GEMINI_MODEL": "real",
    "GOOGLE_APPLICATION_CREDENTIALS": "real",
    "SOME_API_KEY": "real",
    "TAVILY_API_KEY_FILE": "real",
    "AZURE_OPENAI_ENDPOINT": "https://example.com",
    "VANCETOPE_MODEL": "openai:paid",
    "VANCETOPE_TENANT": "real",
    "VANCETOPE_BUDGETS_DAY_DOLLARS": "1",
    "http_proxy": "real",
    "HTTPS_PROXY": "real",
    "all_proxy": "real",
}


def test_keys_are_gone_from_the_first_guarded_process_and_its_children() -> None:
    show = "import json, os, network_guard; print(json.dumps([n for n in os.environ if network_guard.is_secret(n)]))"
    nested = f"import subprocess, sys; {show}; sys.stdout.flush(); subprocess.run([sys.executable, '-c', {show!r}])"
    env = {**os.environ, **SECRETS}
    del env[network_guard.CLEANED]
    done = subprocess.run([sys.executable, "-c", nested], env=env, capture_output=True, text=True, timeout=15)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[], []], done.stderr


def test_no_key_is_left_in_this_process() -> None:
    assert [name for name in os.environ if network_guard.is_secret(name)] == []


def test_a_key_that_a_test_hands_to_a_child_gets_there() -> None:
    done = child("import os; print(os.environ['OPENAI_API_KEY'])", OPENAI_API_KEY="for-the-fake-server")
    assert done.stdout.strip() == "for-the-fake-server"


def test_home_is_private() -> None:
    assert "vancetope-home-" in str(Path.home())
    assert all("vancetope-home-" in os.environ[f"XDG_{name}_HOME"] for name in ("CACHE", "CONFIG", "DATA"))


def test_a_hidden_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('the other one')")
    done = child("", PYTHONPATH=os.pathsep.join([GUARD, str(tmp_path)]))
    assert done.stdout.strip() == "the other one"


UNRULY = """
import pytest

def test_passes(): pass

@pytest.mark.skip(reason="lazy")
def test_marked(): pass

def test_called(): pytest.skip("halfway")

@pytest.mark.xfail(reason="broken")
def test_expected_to_fail(): assert False

@pytest.mark.parametrize("x", [1])
@pytest.mark.skip(reason="needs a moon")
def test_listed(x): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.syspath_prepend(GUARD)
    pytester.makeini("[pytest]\nskips_file = skips.toml\nasyncio_default_fixture_loop_scope = function")
    return pytester


def test_a_skip_or_expected_failure_nobody_listed_is_a_failure(suite: pytest.Pytester) -> None:
    suite.makefile(".toml", skips='[[skip]]\ntest = "*::test_listed[[]1]"\nreason = "no moon"')
    suite.makepyfile(UNRULY)
    result = suite.runpytest("-p", "skip_rule")
    result.assert_outcomes(passed=1, skipped=1, failed=2, errors=1)
    result.stdout.fnmatch_lines(["*test_marked did not run to its end*lazy*"])


def test_a_module_that_skips_itself_is_an_error(suite: pytest.Pytester) -> None:
    suite.makefile(".toml", skips="")
    suite.makepyfile("import pytest; pytest.importorskip('no_such_module')")
    suite.runpytest("-p", "skip_rule").assert_outcomes(errors=1)


def test_a_skip_without_a_reason_stops_the_run(suite: pytest.Pytester) -> None:
    suite.makefile(".toml", skips='[[skip]]\ntest = "*"')
    suite.makepyfile("def test_x(): pass")
    result = suite.runpytest("-p", "skip_rule")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*a test (node id or glob) and a reason*"])


def test_a_node_id_with_brackets_matches_itself() -> None:
    assert skip_rule.is_allowed("t.py::test_x[a-b]", ["t.py::test_x[a-b]"])
    assert not skip_rule.is_allowed("t.py::test_x[a-b]", ["t.py::test_y*"])


# Only its file name makes this code ours.
SLEEP = compile("import time\ntime.sleep(0)", str(PACKAGE / "made_up.py"), "exec")


async def test_a_blocking_call_of_ours_on_the_loop_is_caught() -> None:
    with pytest.raises(BlockingError, match="sleep"):
        exec(SLEEP, {})  # noqa: S102
    await asyncio.to_thread(exec, SLEEP, {})


async def test_a_blocking_call_of_others_is_not_our_business() -> None:
    time.sleep(0)


@given(st.just(SLEEP))
async def test_a_property_test_is_watched_too(sleep: CodeType) -> None:
    with pytest.raises(BlockingError, match="sleep"):
        exec(sleep, {})  # noqa: S102


def test_a_plain_test_is_not_watched() -> None:
    async def main() -> None:
        exec(SLEEP, {})  # noqa: S102

    asyncio.run(main())
