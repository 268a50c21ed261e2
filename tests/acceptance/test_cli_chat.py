"""The chat in a real terminal: Ctrl-C once and twice, messages that wait, and what a person sees."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import KEY, openai_at, serving
from tests.cli.terminal import terminal
from vancetope.backends.faults import Asked, FaultServer, Given, silence, slow
from vancetope.backends.scripted import call, respond, say

pytestmark = pytest.mark.timeout(60)

EVIL = "\x1b]0;owned\x07\x1b[2Jplain"


def answer(asked: Asked) -> Given:
    """What the last message of the user wants."""
    said = asked.said
    if asked.result is not None:
        return respond("Read it.")
    if "silence" in said:
        return silence()
    if "slowly" in said:
        return slow(respond("one two three four five six seven eight nine ten eleven twelve"), delay=0.25)
    if "nothing.txt" in said:
        return call("file_read", path="nothing.txt")
    if "talk" in said:
        return say("Only talking.")
    if "evil" in said:
        return respond(EVIL)
    return respond(f"You said **{said[:40]}**.")


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving(answer) as running:
        yield running


@pytest.fixture
def env(server: FaultServer, tmp_path: Path) -> dict[str, str]:
    return {**openai_at(server), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_a_conversation_in_a_terminal(env: dict[str, str], tmp_path: Path) -> None:
    with terminal("chat", "--model", "openai:demo", env=env) as chat:
        chat.type("typed early\r")
        shown = chat.until("Ford here. Ask me anything.")
        assert "openai:demoathttp://127.0.0.1:" in shown
        chat.until("You said typed early.")
        chat.type("read nothing.txt\r")
        chat.until('✗ file_read(path="nothing.txt") failed')
        chat.until("Read it.")
        chat.until("2 rounds · 2 calls")
        chat.type("just talk\r")
        chat.until("↻ correction: ")
        chat.until("1 correction")
        chat.type("one\x1b\rtwo\r")
        chat.until("> one")
        chat.until("You said one")
        chat.type("evil\r")
        chat.until("plain")
        chat.type("/nonsense\r")
        chat.until("there is no /nonsense")
        chat.type("/model\r")
        chat.until("openai:demo at")
        chat.type("/history\r")
        chat.until('· file_read(path="nothing.txt")')
        chat.type("\x04")
        assert chat.end() == 0
    assert "owned" not in chat.raw.replace("]0;owned", "")
    assert "\x1b]0;owned" not in chat.raw
    assert "\x1b[2J" not in chat.raw.replace("\x1b[2J\x1b[H", "")
    assert KEY not in chat.raw
    assert "Traceback" not in chat.raw
    history = tmp_path / "state/vancetope/chat_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "+read nothing.txt" in history.read_text()


def test_ctrl_c_interrupts_the_turn_and_a_second_one_leaves(env: dict[str, str]) -> None:
    with terminal("chat", "--model", "openai:demo", env=env) as chat:
        chat.until("Ask me anything.")
        chat.type("count slowly\r")
        chat.until("three")
        chat.type("\x03")
        chat.until("■ interrupted")
        chat.type("again\r")
        chat.until("You said again.")
        chat.type("half a line")
        chat.until("half a line")
        chat.type("\x03\x03")
        assert chat.end() == 130
        assert chat.echoes
    assert "twelve" not in chat.raw
    assert "Traceback" not in chat.raw


def test_a_message_that_is_typed_while_a_turn_runs_waits_or_steers(env: dict[str, str]) -> None:
    with terminal("chat", "--model", "openai:demo", env=env) as chat:
        chat.until("Ask me anything.")
        chat.type("count slowly\r")
        chat.until("two")
        chat.type("later\r")
        chat.until("⧗ queued: later")
        chat.until("1 round · 1 call")
        chat.until("> later")
        chat.until("You said later.")
        chat.type("silence\r")
        chat.until("thinking")
        chat.type("/steer hurry\r")
        chat.until("⧗ steers the next round: hurry")
        chat.type("/stop\r")
        chat.until("■ interrupted")
        chat.until("> hurry")  # what was queued is back in the prompt
        chat.type("\x03")
        chat.type("/quit\r")
        assert chat.end() == 0


def test_the_key_that_was_found_is_asked_about_inside_the_chat(env: dict[str, str], tmp_path: Path) -> None:
    with terminal("chat", env=env, cwd=tmp_path) as chat:
        chat.until("its use is paid")
        chat.until("Use it? [Y/n]")
        chat.type("y\r")
        chat.until("Ask me anything.")
        chat.type("/model scripted:hello\r")
        chat.until("scripted:hello (as you asked)")
        chat.type("hi\r")
        chat.until("I say this to everything.")
        chat.type("\x04")
        assert chat.end() == 0
    with terminal("chat", env={**env, "NO_COLOR": "1"}, cwd=tmp_path, size=(10, 34)) as chat:
        chat.until("Ask me anything.")
        assert "Use it?" not in chat.seen
        chat.type("\x04")
        assert chat.end() == 0
    assert not any(f"\x1b[{code}m" in chat.raw for code in ("31", "36", "1;36"))


def test_what_cannot_work_leaves_the_terminal_as_it_was(env: dict[str, str]) -> None:
    with terminal("chat", "--model", "nonsense", env=env) as chat:
        assert chat.end() == 2
        assert chat.echoes
    assert "vancetope: model 'nonsense': write provider:name" in chat.seen
    assert "Traceback" not in chat.raw


@pytest.mark.parametrize(
    "broken", ["talk.Talk.post", "screen.Screen._pictured", "talk.Talk._lane", "transcript.Transcript.take"]
)
def test_a_bug_of_ours_ends_the_chat_in_one_line(env: dict[str, str], tmp_path: Path, broken: str) -> None:
    module, name = broken.split(".", 1)
    (tmp_path / "sitecustomize.py").write_text(
        f"import vancetope.cli.{module} as module\ndef broken(*_, **__): raise KeyError('x')\nmodule.{name} = broken\n"
    )
    with terminal("chat", "--model", "openai:demo", env={**env, "PYTHONPATH": str(tmp_path)}) as chat:
        chat.type("hello\r")
        assert chat.end() == 1
        assert chat.echoes
    assert "this is a bug in vancetope (KeyError); the traceback is in" in chat.seen
    assert "Traceback" not in chat.raw


def test_ask_in_a_terminal_paints_markdown_and_asks_nothing_twice(env: dict[str, str]) -> None:
    with terminal("ask", "hello", "--model", "openai:demo", env=env) as ask:
        assert ask.end() == 0
    assert ask.seen.count("You said hello.") >= 1
    assert "**" not in ask.seen
    with terminal("ask", "silence", "--model", "openai:demo", env=env) as ask:
        ask.until("thinking")
        ask.type("\x03")
        assert ask.end() == 130
    assert "■ interrupted" in ask.seen
    with terminal("ask", env=env) as ask:
        assert ask.end() == 2
    assert 'there is no question: vancetope ask "What time is it in Paris?"' in ask.seen


def test_a_dumb_terminal_gets_lines(env: dict[str, str]) -> None:
    with terminal("chat", "--model", "openai:demo", env={**env, "TERM": "dumb"}) as chat:
        chat.until("openai:demo at")
        chat.type("hello\n")
        chat.until("1 round")
        os.write(chat._end, b"\x04")
        assert chat.end() == 0
    assert "\x1b" not in chat.raw
