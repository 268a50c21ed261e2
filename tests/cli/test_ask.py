"""`vancetope ask`, in this process: what goes where, exit codes, and every way in which it can be asked wrongly."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina

from tests.cli.running import KEY, Stream, cli, openai_at, script, serving
from vancetope.backends.faults import KINDS, FaultServer
from vancetope.backends.local.weights import WeightsMissing
from vancetope.messages import Accepted, History, User

HELLO = "Hello! I am a script, not a model: I say this to everything."


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving() as running:
        yield running


@pytest.fixture
def openai(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """OpenAI's variables name the fault server; a model's name is the fault it shows. Retries do not wait."""
    for name, value in openai_at(server).items():
        monkeypatch.setenv(name, value)
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


# What goes where.


def test_on_pipes_the_message_is_all_of_stdout() -> None:
    ran = cli("ask", "Hi", "--model", "scripted:hello")
    assert (ran.code, ran.out) == (0, f"{HELLO}\n")
    choice, numbers = ran.err.splitlines()
    assert choice == "scripted:hello (as you asked)"
    assert numbers.startswith("1 round · 1 call · ~")


def test_tool_lines_and_corrections_are_on_stderr(tmp_path: Path) -> None:
    model = script(
        tmp_path / "s.json", {"calls": [{"name": "file_list", "arguments": {"path": "."}}]}, "text", {"respond": "Done"}
    )
    ran = cli("ask", "Hi", "--model", model)
    assert ran.out == "Done\n"
    assert '✓ file_list(path=".")' in ran.err
    assert "↻ correction: " in ran.err
    assert "  text" not in ran.out


def test_quiet_says_nothing_but_the_message_and_errors(tmp_path: Path) -> None:
    assert cli("ask", "Hi", "-q", "--model", "scripted:hello").err == ""
    refused = cli("ask", "Hi", "-q", "--model", script(tmp_path / "s.json", {"text": "no", "finish": "refusal"}))
    assert (refused.code, refused.out) == (4, "")
    assert refused.complaint == "✗ refused: the model declined to answer"


def test_json_is_the_events_of_the_turn_and_its_end_comes_last() -> None:
    ran = cli("ask", "Hi", "--json", "--model", "scripted:hello")
    assert ran.events[0]["type"] == "turn_started"
    assert ran.ended["outcome"] == "respond"
    assert ran.ended["message"] == HELLO
    assert set(ran.ended) == {
        *("outcome", "message", "awaiting_user_input", "best_text", "reason", "rounds", "model_calls", "corrections"),
        *("repairs", "narrowed", "bounded", "usage", "cost", "enforcement", "wakes_on"),
    }
    assert "".join(each["text"] for each in ran.events if each["type"] == "message_delta") == HELLO
    assert not [each for each in ran.events if each["type"] in ("status_changed", "message_received")]


def test_json_is_safe_in_a_terminal(tmp_path: Path) -> None:
    said = "\x1b[31m\x9b31m\u2028漢"
    ran = cli("ask", "Hi", "--json", "--model", script(tmp_path / "s.json", {"respond": said}))
    assert ran.ended["message"] == said
    assert not any("\x7f" <= each <= "\x9f" or each == "\x1b" for each in ran.out)
    assert "漢" in ran.out


def test_nothing_of_a_model_controls_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;t\x07\x9b31m"
    calls = [{"name": f"x{evil}", "arguments": {"a": evil}}, {"name": "file_read", "arguments": {"path": evil}}]
    model = script(tmp_path / "s.json", {"text": evil, "calls": calls}, {"text": evil}, {"respond": f"{evil}ok"})
    for out, err in ((Stream(), Stream()), (Stream(is_terminal=True), Stream(is_terminal=True))):
        ran = cli("ask", "Hi", "--model", model, out=out, err=err)
        assert ran.code == 0
        for forbidden in ("\x1b[2J", "\x1b]", "\x07", "\x9b"):
            assert forbidden not in ran.out + ran.err


def test_in_a_terminal_the_message_is_painted_once_at_the_end(tmp_path: Path) -> None:
    model = script(tmp_path / "s.json", {"respond": "A **bold** answer."})
    ran = cli("ask", "Hi", "--model", model, out=Stream(is_terminal=True), err=Stream(is_terminal=True))
    assert "**" not in ran.out.rpartition("\x1b[")[0]
    assert "answer." in ran.out


# What goes in.


def test_piped_text_is_the_question_or_stands_below_it() -> None:
    echo = ("--model", "scripted:echo", "-q")
    assert cli("ask", *echo, stdin=b"from the pipe").out == "from the pipe\n"
    assert cli("ask", "-", *echo, stdin=b"from the pipe").out == "from the pipe\n"
    assert cli("ask", "Sum up:", *echo, stdin=b"a\nb\n").out == "Sum up:\n\na\nb\n"
    assert cli("ask", "Sum up:", *echo, stdin=b"\xef\xbb\xbf").out == "Sum up:\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (("",), b"", "the prompt is empty"),
        (("   ",), b"", "the prompt is empty"),
        ((), b"", "the prompt is empty"),
        (("-",), b" \n", "the prompt is empty"),
        (("caf\udce9",), b"", "the prompt is not UTF-8 text: byte 3 cannot be read"),
        ((), b"caf\xe9", "standard input is not UTF-8 text: byte 3 cannot be read"),
        (("Hi",), b"\xff\xfe", "standard input is not UTF-8 text: byte 0 cannot be read"),
        ((), b"a\0b", "standard input is not text: it holds a NUL byte at 1"),
        (("Hi", "--model", "nonsense"), b"", "write provider:name"),
        (("Hi", "--model", "foo:bar"), b"", "there is no provider 'foo'"),
        (("Hi", "--model", "claude-cli:x"), b"", "it comes with a later release"),
        (("Hi", "--model", "openai:gpt-5-mini"), b"", "needs a key: set OPENAI_API_KEY"),
        (("Hi", "--model", "scripted:none"), b"", "there is no script 'none'"),
        (("Hi", "--model", "local:none"), b"", "there is no local model 'none'"),
        (("Hi", "--model", "local:/no/such/file.gguf"), b"", "there is no file /no/such/file.gguf"),
        (("Hi", "--recipe", "nope"), b"", "there is no recipe 'nope'"),
        (("Hi", "--recipe", "/no/such.yaml"), b"", "the recipe /no/such.yaml cannot be read"),
        (("Hi", "--max-iterations", "0"), b"", "max_iterations is 0"),
        (("Hi", "--max-corrections", "-1"), b"", "at least 0"),
        (("Hi", "--deadline", "0"), b"", "deadline is 0.0"),
        (("Hi", "--local", "--model", "scripted:hello"), b"", "say --local or --model, not both"),
        (("Hi", "--history", "/no/such/file"), b"", "--history: /no/such/file cannot be read"),
        (("Hi", "--save", "/no/such/folder/file"), b"", "--save: /no/such/folder/file cannot be written"),
        (("Hi", "--save", "/"), b"", "--save: / cannot be written: it is a folder"),
    ],
)
def test_what_cannot_work_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], stdin: bytes, sentence: str
) -> None:
    given = arguments if {"--model", "--local"} & set(arguments) else (*arguments, "--model", "scripted:hello")
    ran = cli("ask", *given, stdin=stdin)
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith("vancetope: ")
    assert sentence in ran.complaint

    as_json = cli("ask", "--json", *given, stdin=stdin)
    (event,) = as_json.events
    assert event == {"type": "error", "code": 2, "message": ran.complaint.removeprefix("vancetope: ")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--nonsense",), "No such option: --nonsense"),
        (("--enforcement", "nope"), "'nope' is not one of"),
        (("--budget", "many"), "Invalid value for '--budget'"),
        (("--budget", "0"), "Invalid value for '--budget'"),
        (("--temperature", "-1"), "Invalid value for '--temperature'"),
        (("--model",), "requires an argument"),
        (("two", "three"), "unexpected extra argument"),
    ],
)
def test_what_is_typed_wrongly_is_a_usage_error(arguments: tuple[str, ...], sentence: str) -> None:
    ran = cli("ask", "Hi", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence.lower() in ran.err.lower()
    assert "Traceback" not in ran.err
    (event,) = cli("ask", "Hi", "--json", *arguments).events
    assert (event["type"], event["code"]) == ("error", 2)
    assert sentence.lower() in event["message"].lower()


def test_more_than_fits_is_refused_without_reading_it_all() -> None:
    ran = cli("ask", "--model", "scripted:echo", stdin=b"x" * (33 * 1024 * 1024))
    assert ran.code == 2
    assert ran.complaint == "vancetope: standard input holds more than 32 MiB; that is no prompt"


def test_ten_megabytes_are_taken_or_refused_fast(openai: None) -> None:
    big = b"word " * (2 * 1024 * 1024)
    began = time.monotonic()
    assert cli("ask", "-q", "--model", "openai:well", stdin=big).code == 0
    refused = cli("ask", "-q", "--model", "openai:gpt-5-mini", stdin=big)
    assert time.monotonic() - began < 10
    assert refused.code == 4
    assert refused.complaint.startswith("✗ context_overflow: this turn alone needs about ")


# Conversations.


def test_a_conversation_is_saved_and_gone_on_with(tmp_path: Path) -> None:
    kept = tmp_path / "talk.json"
    assert cli("ask", "One", "-q", "--model", "scripted:echo", "--save", str(kept)).code == 0
    assert cli("ask", "Two", "-q", "--model", "scripted:hello", "--history", str(kept), "--save", str(kept)).code == 0
    history = History.from_json(kept.read_text())
    assert [each for each in history if isinstance(each, User)] == [User("One"), User("Two")]
    assert [each.text for each in history if isinstance(each, Accepted)] == ["One", HELLO]
    assert list(tmp_path.iterdir()) == [kept]


def test_a_failed_turn_is_saved_too(tmp_path: Path) -> None:
    kept = tmp_path / "talk.json"
    model = script(tmp_path / "s.json", {"error": "out of order", "status": 500})
    assert cli("ask", "One", "-q", "--model", model, "--save", str(kept)).code == 3
    assert History.from_json(kept.read_text())[0] == User("One")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 99, "messages": []}', '{"version": 1, "messages": [{"kind": "alien"}]}', "\0\xff"],
)
def test_a_broken_history_is_one_sentence(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "talk.json"
    kept.write_text(text, encoding="latin-1")
    ran = cli("ask", "Hi", "--model", "scripted:hello", "--history", str(kept))
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith(f"vancetope: --history: {kept}: ")


def test_a_save_file_that_cannot_be_written_is_refused_before_the_turn_is_paid(
    server: FaultServer, openai: None, tmp_path: Path
) -> None:
    asked = len(server.requests)
    assert cli("ask", "Hi", "--model", "openai:well", "--save", str(tmp_path / "no" / "file")).code == 2
    assert len(server.requests) == asked


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "talk.json"
    kept.write_text("precious")

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    ran = cli("ask", "Hi", "-q", "--model", "scripted:hello", "--save", str(kept))
    assert ran.code == 2
    assert ran.out == f"{HELLO}\n"
    assert ran.complaint == f"vancetope: --save: {kept} cannot be written: No space left on device"
    assert kept.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [kept]


# How a turn ends.


@pytest.mark.parametrize(
    ("model", "code", "sentence"),
    [
        ("status_401", 3, "refuses the key (401)"),
        ("status_429_hours", 3, "asks for fewer requests (429)"),
        ("status_500", 3, "failed (500)"),
        ("html_page", 3, "answers with a web page"),
        ("half_stream", 3, "broke off in the middle of its reply"),
        ("empty_body", 3, "answers with an empty page"),
        ("closed_at_once", 3, "closed the connection without an answer"),
        ("context_openai", 4, "context_overflow"),
        ("empty_text", 4, "empty_reply"),
        ("malformed_call", 4, "malformed_call"),
        ("cut_text", 4, "output_truncated"),
        ("refusal_field", 4, "refused"),
        ("content_filter", 4, "filtered"),
        ("invalid_respond", 4, "incomplete"),
    ],
)
def test_every_failure_is_one_red_line_and_its_exit_code(openai: None, model: str, code: int, sentence: str) -> None:
    ran = cli("ask", "Hi", "--model", f"openai:{model}", "-q")
    assert (ran.code, ran.out) == (code, "")
    assert ran.complaint.startswith("✗ ")
    assert sentence in ran.complaint


def test_requests_that_are_repeated_are_told(openai: None) -> None:
    ran = cli("ask", "Hi", "--model", "openai:status_503")
    assert ran.err.count("↻ again in 0.0 s: ") == 2
    assert cli("ask", "Hi", "--json", "--model", "openai:status_503").err.count("again") == 0


def test_an_unreachable_server_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
    with stamina.set_testing(True, attempts=1, cap=True):
        ran = cli("ask", "Hi", "-q", "--model", "ollama:qwen3:4b")
    assert (ran.code, ran.out) == (3, "")
    assert "127.0.0.1:9" in ran.complaint


def test_over_budget_is_six_before_anything_is_sent(server: FaultServer, openai: None) -> None:
    asked = len(server.requests)
    ran = cli("ask", "Hi", "-q", "--model", "openai:well", "--budget", "10")
    assert ran.code == 6
    assert "budget_exceeded" in ran.complaint
    assert len(server.requests) == asked


def test_the_turn_ends_naturally_where_that_is_asked_for() -> None:
    ran = cli("ask", "Hi", "--json", "--turn-end", "natural", "--model", "scripted:hello")
    assert (ran.code, ran.ended["outcome"]) == (0, "natural")


def test_instructions_seed_and_temperature_reach_the_model(server: FaultServer, openai: None) -> None:
    cli("ask", "Hi", "--model", "openai:well", "--seed", "7", "--temperature", "0.5", "--instructions", "Speak Danish.")
    body = server.requests[-1].body
    assert (body["seed"], body["temperature"]) == (7, 0.5)
    assert "Speak Danish." in body["messages"][0]["content"]


def test_the_wire_is_shown_on_stderr_as_lines_of_json(openai: None) -> None:
    ran = cli("ask", "Hi", "--wire", "-q", "--model", "openai:well")
    request, reply = ran.err.splitlines()
    assert json.loads(request.removeprefix("--> "))["messages"][-1]["content"] == "Hi"
    assert json.loads(reply.removeprefix("<-- "))["choices"]


def test_no_key_is_ever_shown(openai: None) -> None:
    for kind in KINDS:
        if kind.startswith(("silence", "huge", "slow")):
            continue
        ran = cli("ask", "Hi", "--wire", "--json", "--model", f"openai:{kind}", "--max-iterations", "3")
        assert KEY not in ran.out + ran.err, kind
        assert KEY[8:24] not in ran.out + ran.err, kind
        assert "this is a bug" not in ran.err, (kind, ran.err)


def test_a_password_in_a_base_url_is_never_shown(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2-in-the-url"
    url = server.base_url.replace("http://", f"http://user:{secret}@")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}?token={secret}")
    for arguments in (("ask", "Hi", "--wire", "--model", "openai:well"), ("models",), ("models", "--json")):
        ran = cli(*arguments)
        assert secret not in ran.out + ran.err, arguments


# Our own bugs.


def test_a_bug_is_one_line_and_its_traceback_a_private_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, openai: None
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"with {KEY} in it")

    monkeypatch.setattr("vancetope.cli.ask.opened", broken)
    ran = cli("ask", "Hi", "--model", "scripted:hello")
    assert (ran.code, ran.out) == (1, "")
    assert ran.complaint.startswith("vancetope: this is a bug in vancetope (ZeroDivisionError); the traceback is in ")
    (report,) = tmp_path.rglob("*.txt")
    assert str(report) in ran.complaint
    assert report.stat().st_mode & 0o777 == 0o600
    assert "ZeroDivisionError" in report.read_text()
    assert KEY not in report.read_text()


def test_weights_that_vanish_during_the_turn_are_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_: object) -> Path:
        raise WeightsMissing("the file is gone")

    monkeypatch.setattr("vancetope.backends.local.backend.find", gone)
    ran = cli("ask", "Hi", "-q", "--model", "local:")
    assert (ran.code, ran.complaint) == (2, "vancetope: the file is gone")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("temperature", "--param temperature: write NAME=VALUE"),
        ("=1", "--param =1: write NAME=VALUE"),
        ("temperatur=1", "--param: temperatur: unknown key; did you mean temperature?"),
        ("maxIterations=0", "--param: maxIterations: is 0; give at least 1"),
        ("model=[", "--param model: cannot be read (line 1)"),
    ],
)
def test_a_parameter_that_cannot_be_is_one_sentence(said: str, problem: str) -> None:
    done = cli("ask", "Hi", "--model", "scripted:hello", "--param", said)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err


def test_a_parameter_goes_before_the_recipes_own(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("params: {model: 'scripted:echo', turnEnd: respond}")
    done = cli("ask", "Hi", "-r", str(recipe), "-p", "model=scripted:hello", "-p", "turnEnd=natural", "--json")
    assert done.code == 0
    assert '"outcome":"natural"' in done.out.replace(" ", "")
    assert "I am a script" in done.out
