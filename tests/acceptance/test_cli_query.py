"""`vancetope query` as a child process: pipes, signals, a terminal, and a class from the folder it runs in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, KEY, Ran, child, openai_at, script, serving, side_by_side
from tests.cli.terminal import terminal
from vancetope.backends.faults import FaultServer, Given, silence, slow, status
from vancetope.backends.scripted import say

pytestmark = pytest.mark.timeout(60)

COUNTRY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "capital": {"type": "string"}},
    "required": ["name", "capital"],
}
FRANCE = {"name": "Frankreich", "capital": "Paris 漢 🎉"}
SAID = json.dumps(FRANCE, ensure_ascii=False)


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    answers: dict[str, Given] = {
        "slow": slow(say(SAID), delay=0.2),
        "silent": silence(),
        "denied": status(401),
        "fine": say(SAID),
    }
    with serving(lambda asked: answers[asked.model]) as running:
        yield running


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "country.json"
    path.write_text(json.dumps(COUNTRY))
    return str(path)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model that misses once and then answers."""
    return script(tmp_path / "model.json", "Let me see.", SAID)


def shell(command: str, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Run a line of bash, in which `vancetope` is ours; its exit code is that of the first command of a pipe."""
    line = f'vancetope() {{ "{COMMAND}" "$@"; }}; {command}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=30,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def interrupted(server: FaultServer, *arguments: str, model: str, times: int = 1) -> Ran:
    """Send Ctrl-C's signal once the request has reached the server."""
    before = len(server.requests)
    process = subprocess.Popen(
        [COMMAND, "query", "Describe France.", *arguments, "--model", f"openai:{model}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **openai_at(server)},
    )
    give_up = time.monotonic() + 20
    while len(server.requests) == before and time.monotonic() < give_up:
        time.sleep(0.02)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    out, err = process.communicate(timeout=20)
    return Ran(process.returncode, out, err)


def test_the_exit_code_says_whether_there_is_an_answer(
    server: FaultServer, schema: str, model: str, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"type": "nonsense"}')
    ask = partial(child, "query", "Describe France.", "--json", "--schema")
    answered, never, denied, invalid, unknown, missing = side_by_side(
        partial(ask, schema, "--model", model),
        partial(ask, schema, "--model", model, "--max-attempts", "1"),
        partial(ask, schema, "--model", "openai:denied", env=openai_at(server)),
        partial(ask, str(wrong), "--model", model),
        partial(ask, schema, "--model", "nonsense"),
        partial(ask, "nowhere.json", "--model", model),
    )
    assert [ran.code for ran in (answered, never, denied, invalid, unknown, missing)] == [0, 5, 5, 5, 2, 2]
    assert answered.events == [{"success": True, "attempts": 2, "data": FRANCE}]
    for ran, error in ((never, "max_attempts_exceeded"), (denied, "llm_error"), (invalid, "invalid_schema")):
        (told,) = ran.events
        assert (told["success"], told["error"]) == (False, error)
    for ran in (unknown, missing):
        assert [each["type"] for each in ran.events] == ["error"]
    assert KEY not in denied.out + denied.err


def test_the_data_goes_through_a_pipe_whatever_the_locale(schema: str, model: str, tmp_path: Path) -> None:
    read = f"{sys.executable} -c 'import json, sys; print(ascii(json.load(sys.stdin.buffer)))'"
    posix = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = shell(f"vancetope query -s {schema} --model {model} 'Frankreich 漢?' | {read}", tmp_path, posix)
    assert (ran.code, ran.out) == (0, ascii(FRANCE) + "\n"), ran.err


def test_schema_and_question_come_through_pipes(schema: str, model: str, tmp_path: Path) -> None:
    piped, named, from_stdin, both = side_by_side(
        partial(child, "query", "-q", "-s", schema, "--model", model, stdin="Beschreibe 漢".encode()),
        partial(shell, f"vancetope query Hi -q -s <(cat {schema}) --model {model}", tmp_path),
        partial(shell, f"vancetope query Hi -q -s - --model {model} < {schema}", tmp_path),
        partial(shell, f"vancetope query -q -s - --model {model} < {schema}", tmp_path),
    )
    for ran in (piped, named, from_stdin):
        assert (ran.code, ran.err) == (0, "")
        assert json.loads(ran.out) == FRANCE
    assert (both.code, both.out) == (2, "")
    assert "give the question as an argument" in both.complaint


def test_bytes_that_are_no_text_are_one_sentence(schema: str, tmp_path: Path) -> None:
    hello = ("--model", "scripted:hello")
    for ran in side_by_side(
        partial(child, "query", b"caf\xe9", "-s", schema, *hello),
        partial(child, "query", "-s", schema, *hello, stdin=b"caf\xe9"),
        partial(child, "query", "Hi", "-s", "-", *hello, stdin=b'{"title": "caf\xe9"}'),
        partial(child, "query", "Hi", "-s", b"caf\xe9.json", *hello),
    ):
        assert (ran.code, ran.out) == (2, "")
        assert ran.complaint.startswith("vancetope: ")


def test_a_reader_that_leaves_and_streams_that_are_closed_or_full(
    server: FaultServer, schema: str, model: str, tmp_path: Path
) -> None:
    asked = len(server.requests)
    query = f"vancetope query Hi -s {schema}"
    gone, wrapped, closed, full, no_err, no_in = side_by_side(
        partial(shell, f"{query} --model {model} | true", tmp_path),
        partial(shell, f"{query} --model {model} --json | true", tmp_path),
        partial(shell, f"{query} --model openai:fine >&-", tmp_path, openai_at(server)),
        partial(shell, f"{query} --model {model} >/dev/full", tmp_path),
        partial(shell, f"{query} --model {model} 2>&-", tmp_path),
        partial(shell, f"vancetope query -s {schema} --model {model} <&-", tmp_path),
    )
    for ran in (gone, wrapped):
        assert ran.code == 141
        assert "Traceback" not in ran.err
        assert "Broken" not in ran.err
    assert closed.code == 2
    assert closed.complaint == "vancetope: standard output is closed: there is nowhere to put the answer"
    assert len(server.requests) == asked
    assert full.code == 2
    assert full.err.splitlines()[-1] == "vancetope: the output cannot be written: No space left on device"
    assert (no_err.code, json.loads(no_err.out)) == (0, FRANCE)
    assert (no_in.code, no_in.complaint) == (2, "vancetope: the prompt is empty; say what you want to know")


def test_ctrl_c_ends_a_silent_model_with_a_wrapper(server: FaultServer, schema: str) -> None:
    plain = interrupted(server, "-s", schema, model="silent")
    assert (plain.code, plain.out) == (130, "")
    assert "■ stopped" in plain.err.splitlines()[1:3]
    as_json = interrupted(server, "-s", schema, "--json", model="silent")
    assert as_json.code == 130
    (told,) = as_json.events
    assert told == {
        "success": False,
        "attempts": 0,
        "error": "stopped",
        "message": "the turn was interrupted",
        "lastInvalid": None,
    }


def test_ctrl_c_twice_leaves_at_once_and_a_wrapper_stays_one(server: FaultServer, schema: str) -> None:
    ran = interrupted(server, "-s", schema, "--json", model="slow", times=3)
    assert ran.code == 130
    assert [each["error"] for each in ran.events] == ["stopped"]
    assert "Traceback" not in ran.err


def test_ctrl_c_ends_the_command_whenever_it_comes(server: FaultServer, schema: str) -> None:
    """At any moment from the first line of ours: while modules load, before the request, while the model is silent."""
    arguments = ["vancetope", "query", "Hi", "--json", "--schema", schema, "--model", "openai:silent"]
    code = f"import sys; sys.argv = {arguments}; from vancetope.cli import main; print('.', flush=True); main()"

    def at(seconds: float) -> Ran:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **openai_at(server)},
            text=True,
        )
        assert process.stdout is not None
        process.stdout.read(2)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        return Ran(process.returncode, out, err)

    for ran in side_by_side(*(partial(at, step / 8) for step in range(1, 11))):
        assert ran.code == 130
        assert [each["error"] for each in ran.events] in ([], ["stopped"])
        assert "Traceback" not in ran.err
        assert "Error" not in ran.err


def test_a_class_of_the_current_folder_is_found_and_its_noise_stays_off_stdout(model: str, tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(
        "import pydantic\nprint('noise')\nclass Country(pydantic.BaseModel):\n    name: str\n    capital: str\n"
    )
    ask = f"vancetope query Hi --json --model {model} -s"
    found, safe = side_by_side(
        partial(shell, f"{ask} shapes:Country", tmp_path),
        partial(shell, f"{ask} shapes:Country", tmp_path, {"PYTHONSAFEPATH": "1"}),
    )
    assert (found.code, found.events) == (0, [{"success": True, "attempts": 2, "data": FRANCE}])
    assert "noise" in found.err
    assert (safe.code, safe.complaint) == (
        2,
        "vancetope: --schema: there is no module shapes, and no file of that name",
    )


def test_ctrl_c_ends_a_class_that_takes_long_to_load(model: str, tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text("import time\nprint('loading', flush=True)\ntime.sleep(30)\n")
    with subprocess.Popen(
        [COMMAND, "query", "Hi", "--json", "--model", model, "-s", "shapes:Country"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "")
    assert json.loads(out)["error"] == "stopped"


def test_in_a_terminal_an_attempt_is_seen_while_it_is_written(server: FaultServer, schema: str) -> None:
    arguments = ("query", "Describe France.", "-s", schema, "--model", "openai:slow")
    with terminal(*arguments, env=openai_at(server)) as person:
        person.until("openai:slow")
        person.until('{"name":')
        person.until("1 attempt · 1 call")
        assert person.end() == 0
        shown = person.seen[person.seen.rindex("{\n") :]
        data, _, numbers = shown.rpartition("}\n")
        assert json.loads(data + "}") == FRANCE
        assert numbers.startswith("1 attempt")


def test_in_a_terminal_ctrl_c_ends_a_silent_model(server: FaultServer, schema: str) -> None:
    arguments = ("query", "Describe France.", "-s", schema, "--model", "openai:silent")
    with terminal(*arguments, env=openai_at(server)) as person:
        person.until("thinking")
        person.type("\x03")
        person.until("■ stopped")
        assert person.end() == 130
        assert "Traceback" not in person.seen


def test_help_loads_nothing_that_only_a_question_needs() -> None:
    code = (
        "import sys; from vancetope.cli.app import run; run(['query', '--help']);"
        "print(*[each for each in ('httpx', 'jinja2', 'jsonschema_rs', 'rich', 'yaml')"
        " if each in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""
    assert "--schema" in done.stdout
    assert "Exit codes: 0 answered" in done.stdout
