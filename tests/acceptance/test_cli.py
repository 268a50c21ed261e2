"""The command as a child process: exit codes, broken pipes, closed streams, signals, and what its start costs."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, KEY, Ran, child, openai_at, script, serving, side_by_side
from vancetope.backends.faults import FaultServer, Given, silence, slow, status
from vancetope.backends.scripted import respond

pytestmark = pytest.mark.timeout(60)

LONG = "word " * 5_000
SLOWLY = slow(respond("one two three four five six seven eight nine ten"), delay=0.2)


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    answers: dict[str, Given] = {"slow": SLOWLY, "silent": silence(), "denied": status(401), "fine": respond("Fine.")}
    with serving(lambda asked: answers[asked.model]) as running:
        yield running


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that says much."""
    return script(tmp_path_factory.mktemp("long") / "long.json", {"respond": LONG})


def shell(command: str, env: Mapping[str, str] | None = None) -> Ran:
    """Run a line of bash, in which `vancetope` is ours; its exit code is that of the first command of a pipe."""
    line = f'vancetope() {{ "{COMMAND}" "$@"; }}; {command}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=30, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def interrupted(
    *arguments: str,
    times: int = 1,
    after: str = "turn_started",
    by: signal.Signals = signal.SIGINT,
    cwd: Path | None = None,
    env: Mapping[str, str],
) -> Ran:
    """Send this signal (Ctrl-C's) once a line with this text has come."""
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, **env},
    )
    assert process.stdout is not None
    seen = ""
    while after not in seen and (line := process.stdout.readline()):
        seen += line
    for _ in range(times):
        process.send_signal(by)
        time.sleep(0.05)
    out, err = process.communicate(timeout=20)
    return Ran(process.returncode, seen + out, err)


def test_the_exit_code_says_how_the_turn_ended(server: FaultServer, tmp_path: Path) -> None:
    refusing = script(tmp_path / "refusing.json", {"text": "no", "finish": "refusal"})
    env = openai_at(server)
    starts: dict[Callable[[], Ran], int] = {
        partial(child, "ask", "Hi", "--model", "scripted:hello"): 0,
        partial(child, "ask", "Hi", "--model", "nonsense"): 2,
        partial(child, "ask", "Hi", "--model", "openai:denied", env=env): 3,
        partial(child, "ask", "Hi", "--model", refusing): 4,
        partial(child, "ask", "Hi", "--model", "scripted:hello", "--budget", "1"): 6,
        partial(child, "--version"): 0,
        partial(child, "nonsense"): 2,
    }
    codes = [ran.code for ran in side_by_side(*starts)]
    assert codes == list(starts.values())


def test_bytes_that_are_no_text_are_one_sentence() -> None:
    hello = ("--model", "scripted:hello")
    for ran in side_by_side(
        partial(child, "ask", b"caf\xe9", *hello),
        partial(child, "ask", *hello, stdin=b"caf\xe9"),
        partial(child, "ask", "Hi", "--model", b"scripted:caf\xe9"),
    ):
        assert (ran.code, ran.out) == (2, "")
        assert ran.complaint.startswith("vancetope: ")


def test_the_locale_of_the_terminal_breaks_nothing(tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", {"respond": "Grüße 漢字 🎉"})
    posix = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for ran in side_by_side(
        partial(child, "ask", "Hi", "--model", model, env=posix),
        partial(child, "ask", "Hi", "--model", model, "--json", env=posix),
        partial(child, "ask", "Grüße 漢字 🎉", "--model", "scripted:echo", env=posix),
    ):
        assert ran.code == 0, ran.err
        assert "Grüße 漢字 🎉" in ran.out


def test_a_reader_that_leaves_ends_the_command_quietly(long: str, server: FaultServer) -> None:
    env = openai_at(server)
    gone, events, paid = side_by_side(
        partial(shell, "vancetope ask Hi --model scripted:hello | true"),
        partial(shell, f"vancetope ask Hi --model {long} --json | head -1"),
        partial(shell, "vancetope ask Hi --model openai:slow --json | head -1", env=env),
    )
    for ran in (gone, events, paid):
        assert ran.code == 141
        assert "Traceback" not in ran.err
        assert "Broken" not in ran.err
    assert json.loads(events.out)["type"] == "turn_started"
    # Nobody reads any more, so the answer that is still being written is not waited for.
    give_up = time.monotonic() + 5
    while (
        not (ended := all(each.disconnected for each in server.requests if each.model == "slow"))
        and time.monotonic() < give_up
    ):
        time.sleep(0.05)
    assert ended


def test_closed_and_full_streams_are_one_sentence(server: FaultServer) -> None:
    asked = len(server.requests)
    env = openai_at(server)
    closed, full, no_err, no_in = side_by_side(
        partial(shell, "vancetope ask Hi --model openai:fine >&-", env=env),
        partial(shell, "vancetope ask Hi --model scripted:hello >/dev/full"),
        partial(shell, "vancetope ask Hi --model scripted:hello 2>&-"),
        partial(shell, "vancetope ask --model scripted:hello <&-"),
    )
    assert closed.code == 2
    assert closed.complaint == "vancetope: standard output is closed: there is nowhere to put the answer"
    assert len(server.requests) == asked
    assert full.code == 2
    assert full.err.splitlines()[-1] == "vancetope: the output cannot be written: No space left on device"
    assert no_err.code == 0
    assert no_err.out.startswith("Hello!")
    assert (no_in.code, no_in.complaint) == (2, "vancetope: the prompt is empty; say what you want to know")


def test_ctrl_c_interrupts_the_turn_and_keeps_what_came(server: FaultServer) -> None:
    env = openai_at(server)
    ran = interrupted("ask", "Hi", "--json", "--model", "openai:slow", after='"text": "', env=env)
    assert ran.code == 130
    assert ran.ended["outcome"] == "interrupted"
    assert ran.ended["best_text"]
    assert "Traceback" not in ran.err


def test_ctrl_c_ends_the_command_whenever_it_comes(server: FaultServer) -> None:
    """At any moment from the first line of ours: while modules load, before the request, while the model is silent."""
    env = openai_at(server)

    arguments = ["vancetope", "ask", "Hi", "--model", "openai:silent"]
    code = f"import sys; sys.argv = {arguments}; from vancetope.cli import main; print('.', flush=True); main()"

    def at(seconds: float) -> Ran:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
            text=True,
        )
        assert process.stdout is not None
        process.stdout.read(2)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        return Ran(process.returncode, out, err)

    for ran in side_by_side(*(partial(at, step / 8) for step in range(1, 11))):
        assert (ran.code, ran.out) == (130, "")
        assert "Traceback" not in ran.err
        assert "Error" not in ran.err


def test_ctrl_c_twice_leaves_at_once(server: FaultServer) -> None:
    ran = interrupted(
        "ask", "Hi", "--json", "--model", "openai:silent", times=3, after="round_started", env=openai_at(server)
    )
    assert ran.code == 130
    assert "Traceback" not in ran.err


def test_whoever_ends_the_command_the_call_under_way_is_counted(server: FaultServer, tmp_path: Path) -> None:
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    projects = [tmp_path / each.name for each in ends]
    for project in projects:
        project.mkdir()
        (project / "vancetope.yaml").write_text("")
    asked = ("ask", "Hi", "--json", "--model", "openai:slow")
    runs = side_by_side(
        *(
            partial(interrupted, *asked, by=end, after="message_delta", cwd=project, env=openai_at(server))
            for end, project in zip(ends, projects, strict=True)
        )
    )
    for ran, project in zip(runs, projects, strict=True):
        assert ran.code == 130
        assert ran.ended["outcome"] == "interrupted"
        (row,) = map(json.loads, (project / ".vancetope" / "usage.jsonl").read_text().splitlines())
        assert (row["outcome"], row["estimated"]) == ("cut short", True)


def test_an_answer_that_was_read_is_a_success_though_nobody_can_be_told_more() -> None:
    for nowhere in ("2>&-", "2>/dev/full"):
        ran = shell(f"vancetope ask Hi --model scripted:hello {nowhere} | cat")
        assert (ran.code, ran.out) == (0, "Hello! I am a script, not a model: I say this to everything.\n")


@pytest.mark.parametrize("command", ["settings", "models --no-probe", "recipes"])
def test_a_disk_that_is_full_is_no_reader_that_is_gone(command: str) -> None:
    ran = shell(f"vancetope {command} > /dev/full")
    assert (ran.code, ran.err) == (2, "vancetope: the output cannot be written: No space left on device\n")


def test_a_bug_of_ours_says_so_and_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import vancetope.cli.ask as ask\ndef broken(*_): raise KeyError('x')\nask.prompt_from = broken\n"
    )
    env = {"PYTHONPATH": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    quiet, shown = side_by_side(
        partial(child, "ask", "Hi", env=env), partial(child, "ask", "Hi", env={**env, "VANCETOPE_DEBUG": "1"})
    )
    assert quiet.code == shown.code == 1
    assert quiet.complaint.startswith("vancetope: this is a bug in vancetope (KeyError); the traceback is in ")
    assert "Traceback" in shown.err


def test_a_chat_without_a_terminal_answers_each_line(server: FaultServer) -> None:
    env = openai_at(server)
    plain, as_json, mixed, nothing = side_by_side(
        partial(child, "chat", "--model", "scripted:echo", stdin="eins\nzwei 漢\n".encode()),
        partial(child, "chat", "--model", "scripted:echo", "--json", stdin=b"eins\n\nzwei\n"),
        partial(child, "chat", "--model", "openai:denied", stdin=b"eins\nzwei\n", env=env),
        partial(child, "chat", "--model", "scripted:echo", stdin=b"ok\ncaf\xe9\nlast"),
    )
    assert (plain.code, plain.out) == (0, "eins\nzwei 漢\n")
    assert "Ford" not in plain.out
    ends = [each["data"]["message"] for each in as_json.events if each["type"] == "turn_ended"]
    assert ends == ["eins", "zwei"]
    assert (mixed.code, mixed.out) == (3, "")
    assert mixed.err.count("✗ model_error") == 2
    assert (nothing.code, nothing.out) == (2, "ok\nlast\n")
    assert "is not UTF-8 text" in nothing.err


def test_ctrl_c_ends_a_chat_that_waits_for_a_line() -> None:
    with subprocess.Popen(
        [COMMAND, "chat", "--model", "scripted:echo"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("eins\n")
        process.stdin.flush()
        said = process.stderr.readline() + process.stderr.readline()
        assert "1 round" in said
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        said += process.stderr.read()
    assert "Traceback" not in said
    assert "Fatal" not in said


def test_ctrl_c_in_a_pull_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = subprocess.Popen(
            [COMMAND, "models", "pull", f"http://127.0.0.1:{server.getsockname()[1]}/big.gguf"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "VANCETOPE_CACHE_DIR": str(tmp_path)},
        )
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n" + b"GGUF".ljust(9_000_000, b"x"))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_no_disk_for_the_model_is_one_sentence(tmp_path: Path) -> None:
    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    source = tmp_path / "served"
    source.mkdir()
    (source / "big.gguf").write_bytes(b"GGUF".ljust(500_000, b"\0"))
    serve = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(source)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as files:
        assert files.stdout is not None
        url = files.stdout.readline().partition("(")[2].partition(")")[0]
        done = subprocess.run(
            [COMMAND, "models", "pull", f"{url}big.gguf"],
            capture_output=True,
            text=True,
            preexec_fn=small_files,
            # Python takes a half-written .pyc for a whole one, and would leave them in our own sources.
            env={**os.environ, "VANCETOPE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"},
            timeout=30,
            check=False,
        )
        files.terminate()
    ran = Ran(done.returncode, done.stdout, done.stderr)
    assert (ran.code, ran.out) == (2, "")
    assert "is full: free some space" in ran.complaint
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def cpu_of(*command: str | Path) -> float:
    """Seconds of CPU that a command takes, the better of two runs."""
    seconds = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def test_help_and_import_cost_little() -> None:
    assert cpu_of(COMMAND, "--help") <= 0.4
    assert cpu_of(sys.executable, "-c", "import vancetope") <= 0.4


def test_help_loads_nothing_that_only_a_turn_needs() -> None:
    code = (
        "import sys; from vancetope.cli.app import run; run(['ask', '--help']);"
        "print(*[each for each in ('httpx', 'jinja2', 'jsonschema_rs', 'rich', 'prompt_toolkit', 'yaml')"
        " if each in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""
    assert "--model" in done.stdout


def test_no_key_reaches_any_output_of_a_child(server: FaultServer) -> None:
    env = openai_at(server)
    for ran in side_by_side(
        partial(child, "ask", "Hi", "--model", "openai:denied", "--wire", env=env),
        partial(child, "chat", "--model", "openai:denied", "--wire", stdin=b"Hi\n", env=env),
    ):
        assert KEY not in ran.out + ran.err
