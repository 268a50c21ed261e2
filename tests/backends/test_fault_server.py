"""The fault server itself: scripts, what it keeps, strict checks, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest

from tests.backends.listening import (
    ACTIONS,
    BOTH,
    CONSTRAINED,
    asking,
    called,
    client,
    hear,
    heard,
    result,
    until,
)
from vancetope import ask
from vancetope.backends.faults import (
    KINDS,
    SCENARIOS,
    Asked,
    FaultServer,
    Given,
    Repeat,
    first,
    halved,
    reset,
    scenario,
    silence,
    slow,
    status,
    steps,
)
from vancetope.backends.faults.__main__ import main
from vancetope.backends.faults.fault import DONE
from vancetope.backends.faults.wire import Close, Data, Head
from vancetope.backends.scripted import call, respond, restarted, say
from vancetope.errors import ConfigError
from vancetope.outcome import EnforcementName

FINAL = json.dumps({"message": DONE, "awaiting_user_input": True}, ensure_ascii=False)
PARIS = '{"city": "Paris"}'


# Scripts.


async def test_a_function_answers_from_what_was_asked() -> None:
    async def script(asked: Asked) -> Given:
        await asyncio.sleep(0)
        return say(f"{asked.number} {asked.model} {asked.stream} {sorted(asked.tools)} {asked.result} {asked.said}")

    async with FaultServer(script) as server:
        one = await hear(server.base_url, asking())
        two = await hear(server.base_url, asking(called("a" * 9), result("a" * 9)))
    assert one.text == "1 m False ['get_time', 'respond'] None What time is it in Paris?"
    assert two.text == "2 m False ['get_time', 'respond'] 15:42 What time is it in Paris?"


async def test_a_script_that_raises_fails_the_block() -> None:
    def script(asked: Asked) -> Given:
        raise LookupError("no idea")

    server = FaultServer(script)
    await server.__aenter__()
    assert (await hear(server.base_url, asking())).status == 500
    assert len(server.failures) == 1
    with pytest.raises(LookupError, match="no idea"):
        await server.__aexit__(None, None, None)


async def test_an_exhausted_script_is_a_400_and_a_violation() -> None:
    async with FaultServer(["one"]) as server:
        assert server.left == 1
        await hear(server.base_url, asking())
        told = await hear(server.base_url, asking())
        assert (told.status, server.left) == (400, 0)
        assert [(each.number, each.rule) for each in server.violations] == [(2, "script")]
        assert "used all its 1 answers" in server.violations[0].sentence


async def test_a_restart_cannot_be_scripted_on_a_server() -> None:
    server = FaultServer([restarted("x", after=1)])
    await server.__aenter__()
    assert (await hear(server.base_url, asking())).broke is not None
    with pytest.raises(ConfigError, match="use a fault kind"):
        await server.__aexit__(None, None, None)


async def test_makers_of_faults_take_parameters() -> None:
    assert (await heard(status(418, {"a": 1}, ("x-tea", "pot")))).headers["x-tea"] == "pot"
    assert (await heard(status(200, "page"))).headers["content-type"] == "text/html"
    assert (await heard(steps(Head(), Data(b"{}")))).raw == b"{}"
    assert (await heard(steps(Head(), Data(b"{}"), Close()))).broke is not None
    assert (await heard(silence(), timeout=0.05)).broke is not None
    assert (await heard(reset(head=True))).status == 200
    assert (await heard(halved(lambda asked: say(asked.model * 500), octets=400))).raw[-2:] == b"mm"


@BOTH
@pytest.mark.parametrize("constrained", [False, True])
async def test_the_clock_calls_its_tool_and_answers_from_the_result(stream: bool, constrained: bool) -> None:
    form = {"tools": None, "response_format": CONSTRAINED} if constrained else {}
    async with FaultServer(SCENARIOS["clock"]) as server:
        one = await hear(server.base_url, asking(stream=stream, **form))
        two = await hear(server.base_url, asking(called("a" * 9), result("a" * 9), stream=stream, **form))
    if constrained:
        assert json.loads(one.text) == {"tool": "get_time", "arguments": {"city": "Paris"}}
        assert json.loads(two.text)["arguments"]["message"] == "It is 15:42 in Paris."
    else:
        assert (one.names, one.arguments) == (["get_time"], [PARIS])
        assert json.loads(two.arguments[0]) == {"message": "It is 15:42 in Paris.", "awaiting_user_input": True}


async def test_the_clock_answers_any_agent_in_the_form_it_can_read() -> None:
    only_clock = asking()["tools"][:1]
    answer = {"type": "object", "properties": {"tool": {"enum": ["answer"]}, "arguments": {}}}
    country = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
    async with FaultServer(SCENARIOS["clock"]) as server:

        async def text(*more: dict[str, Any], **changes: Any) -> str:
            return (await hear(server.base_url, asking(*more, **changes))).text

        async def schema(schema: dict[str, Any]) -> Any:
            form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
            return json.loads(await text(tools=None, response_format=form))

        assert await text(called("a" * 9), result("a" * 9), tools=only_clock) == "It is 15:42 in Paris."
        assert await text(tools=None) == DONE
        assert await schema(answer) == {"tool": "answer", "arguments": {"message": DONE}}
        assert await schema(country) == {"capital": "Paris"}


async def test_echo_gives_back_what_was_said() -> None:
    async with FaultServer(SCENARIOS["echo"]) as server:
        told = await hear(server.base_url, asking(tools=None))
    assert told.text == "What time is it in Paris?"


async def test_a_fault_by_name_comes_once_or_always() -> None:
    async with FaultServer(scenario("status_500")) as server:
        assert [(await hear(server.base_url, asking())).status for _ in range(3)] == [500, 200, 200]
    async with FaultServer(scenario("status_500", always=True)) as server:
        assert [(await hear(server.base_url, asking())).status for _ in range(3)] == [500, 500, 500]
    async with FaultServer(first(status(502), "mine", then=SCENARIOS["echo"])) as server:
        assert [(await hear(server.base_url, asking())).text[:4] for _ in range(2)] == ["", "mine"]
    with pytest.raises(ConfigError, match="no scenario and no fault 'nope'"):
        scenario("nope")


# What the server keeps.


async def test_requests_are_kept_without_their_secrets() -> None:
    async with FaultServer(["a", "b", "c"], key="s3cret") as server:
        told = [
            await hear(
                server.base_url,
                asking(),
                headers={"Authorization": f"Bearer {key}", "X-Api-Key": key, "X-Own": "kept"},
            )
            for key in ("s3cret", "wrong")
        ]
        assert [each.status for each in told] == [200, 401]
        assert [each.authorized for each in server.requests] == [True, False]
        assert [each.answer for each in server.requests] == ["reply", "status_401"]
        assert "s3cret" not in repr(server.requests)
        assert server.requests[0].headers["x-own"] == "kept"
        assert server.requests[0].body == asking()
        assert server.requests[0].arrived <= server.requests[1].arrived
        assert server.left == 2
        assert server.violations == []
    async with FaultServer(["a"]) as server:
        await hear(server.base_url, asking(), headers={"Authorization": "Bearer anything"})
        assert server.requests[0].authorized is None


async def test_one_client_keeps_one_connection() -> None:
    async with FaultServer(["x"] * 6) as server, client() as http:
        for stream in (False, True) * 3:
            await http.post(f"{server.base_url}/chat/completions", json=asking(stream=stream))
        assert (server.connections, server.open_connections) == (1, 1)


async def test_a_client_that_leaves_early_is_seen() -> None:
    async with FaultServer([slow("x" * 400, delay=0.02), "x"]) as server:
        task = asyncio.create_task(hear(server.base_url, asking(stream=True)))
        await until(lambda: bool(server.requests))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: server.requests[0].disconnected)
        await hear(server.base_url, asking())
        assert server.requests[1].disconnected is False


async def test_a_repeated_request_is_recorded_with_what_came_before() -> None:
    async with FaultServer([status(500), "x", "y", "z"]) as server:
        for body in (asking(), asking(), asking(), asking(seed=1)):
            await hear(server.base_url, body)
        assert server.repeats == [Repeat(2, "status_500"), Repeat(3, "reply")]


async def test_models_are_listed_and_other_paths_are_not_found() -> None:
    async with FaultServer(models=("one", "two")) as server, client() as http:
        listed = (await http.get(f"{server.base_url}/models")).json()
        assert [each["id"] for each in listed["data"]] == ["one", "two"]
        assert (await http.get(f"{server.base_url}/nothing")).status_code == 404
        assert (await http.get(f"{server.base_url}/chat/completions")).status_code == 404
        assert server.requests == []


async def test_an_expecting_client_is_told_to_continue() -> None:
    async with FaultServer(["x"]) as server, client() as http:
        answer = await http.post(
            f"{server.base_url}/chat/completions", json=asking(), headers={"expect": "100-continue"}
        )
        assert answer.status_code == 200


# Strict checks.

ID, OTHER = "a" * 9, "b" * 9
TOOL: dict[str, Any] = asking()["tools"][0]
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def schema_format(name: str = "x", schema: Any = ACTIONS) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def says(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


BROKEN: list[tuple[str, Any, str]] = [
    ("shape", [], "not a JSON object"),
    ("shape", asking(model=""), "model"),
    ("shape", {"model": "m"}, "messages is not"),
    ("shape", asking(says("robot", "x")), "message 2 has no known role"),
    ("shape", asking(says("user", 7)), "content of a user message"),
    ("shape", asking(says("user", None)), "content of a user message"),
    ("shape", asking(says("user", [{"type": "image_url"}])), "'image_url' is unknown or lacks"),
    ("shape", asking(says("user", [{"type": "smell"}])), "'smell' is unknown or lacks"),
    ("shape", asking(says("assistant", [IMAGE])), "assistant message cannot hold"),
    ("shape", asking(says("assistant", "x", tool_calls=[])), "non-empty array"),
    ("shape", asking(says("assistant", None, tool_calls=[{"id": ID, "type": "x"}])), "not of type function"),
    ("shape", asking(called(ID, arguments={}), result(ID)), "must both be strings"),  # type: ignore[arg-type]
    ("shape", asking(called(None), result(ID)), "has no id"),  # type: ignore[arg-type]
    ("shape", asking(tools=[]), "no non-empty array"),
    ("shape", asking(tools=[{"type": "web"}]), "tool 0 is not of type function"),
    ("known_keys", asking(says("user", "x", mood="good")), "message 2 has the extra key 'mood'"),
    ("system_first", {"model": "m", "messages": [says("user", "x")]}, "of role 'user', not system"),
    ("system_first", asking(says("system", "x"), says("user", "x")), "message 2 is a system message"),
    ("last_message", asking(says("assistant", "x")), "nothing to answer"),
    ("not_empty", asking(says("assistant", ""), says("user", "x")), "neither text nor calls"),
    ("not_empty", asking(says("user", " ")), "user message without content"),
    ("results", asking(called(ID, OTHER), result(ID)), f"end before the results for '{OTHER}'"),
    ("results", asking(called(ID), says("user", "x")), f"message 3 comes before the results for '{ID}'"),
    ("results", asking(result(ID)), "which no call right before it has"),
    ("results", asking(called(ID), result(ID), result(ID)), "message 4 is a result for"),
    ("results", asking(called(ID, OTHER), result(OTHER), result(ID)), f"but '{ID}' comes first"),
    ("results", asking(called(ID), says("tool", "x")), "a result for None"),
    ("ids_unique", asking(called(ID), result(ID), called(ID), result(ID)), "was there before"),
    ("ids_short", asking(called("call_1"), result("call_1")), "not of 9 letters and digits"),
    ("ids_short", asking(called(""), result("")), "not of 9 letters and digits"),
    ("call_names", asking(called(ID, name="get time"), result(ID)), "cannot be a tool's name"),
    ("call_arguments", asking(called(ID, arguments="{"), result(ID)), "not the text of a JSON object"),
    ("call_arguments", asking(called(ID, arguments="[]"), result(ID)), "not the text of a JSON object"),
    ("call_arguments", asking(called(ID, arguments='{"a":NaN}'), result(ID)), "not the text of a JSON object"),
    ("tools", asking(tools=[TOOL, TOOL]), "two tools named 'get_time'"),
    ("tools", asking(tools=[named("a b")]), "tool 0: 'a b' cannot be"),
    ("tools", asking(tools=[{"type": "function", "function": {"name": "a", "parameters": {}}}]), "not of type object"),
    ("tools", asking(tools=[{"type": "function", "function": {"name": "a", "description": 1}}]), "not a string"),
    ("tool_choice", asking(tool_choice=named("nope")), "names no offered tool"),
    ("tool_choice", asking(tool_choice="get_time"), "is none of auto"),
    ("tool_choice", asking(tools=None, tool_choice="auto"), "no tools are"),
    ("response_format", asking(response_format=schema_format()), "stands beside tools"),
    ("response_format", asking(tools=None, response_format={"type": "xml"}), "none of text"),
    ("response_format", asking(tools=None, response_format=schema_format(schema=None)), "no JSON schema"),
    ("response_format", asking(tools=None, response_format=schema_format("a b")), "'a b' cannot be"),
    ("settings", asking(stream_options={"include_usage": True}), "not streamed"),
    ("settings", asking(max_tokens=0), "max_tokens is not"),
    ("settings", asking(seed=1.5), "seed is not"),
    ("settings", asking(temperature=3), "temperature is not"),
    ("settings", asking(parallel_tool_calls="yes"), "parallel_tool_calls is not"),
]


@pytest.mark.parametrize(("rule", "body", "sentence"), BROKEN)
async def test_a_request_that_strict_providers_refuse_is_refused(rule: str, body: Any, sentence: str) -> None:
    async with FaultServer(["x"]) as server:
        told = await hear(server.base_url, body)
        assert (told.status, server.left) == (400, 1)
        assert {(each.number, each.rule) for each in server.violations} == {(1, rule)}
        assert sentence in server.violations[0].sentence
        assert json.loads(told.raw)["error"]["message"] == server.violations[0].sentence


@pytest.mark.parametrize(
    "body",
    [
        asking(),
        asking(tools=None),
        asking(called(ID, OTHER), result(ID, ""), result(OTHER)),
        asking(called(ID), result(ID), says("assistant", "x"), says("user", "y"), called(OTHER), result(OTHER)),
        asking(says("assistant", "x"), says("user", [{"type": "text", "text": "see"}, IMAGE])),
        asking(says("user", [IMAGE])),
        asking(tool_choice="auto", parallel_tool_calls=False),
        asking(tool_choice=named("respond"), temperature=0, seed=7, max_tokens=5, max_completion_tokens=5),
        asking(stream=True, stream_options={"include_usage": True}),
        asking(tools=None, response_format=CONSTRAINED),
    ],
)
async def test_a_request_that_everybody_takes_is_taken(body: Any) -> None:
    async with FaultServer(["x"]) as server:
        assert (await hear(server.base_url, body)).status == 200
        assert server.violations == []


async def test_checks_can_be_noted_only_or_left_out() -> None:
    body = asking(called("call_1"), result("call_1"))
    async with FaultServer(["x"], strict=False) as server:
        assert (await hear(server.base_url, body)).status == 200
        assert [each.rule for each in server.violations] == ["ids_short"]
    async with FaultServer(["x"], unchecked={"ids_short"}) as server:
        assert (await hear(server.base_url, body)).status == 200
        assert server.violations == []


async def test_a_body_that_is_no_json_is_refused() -> None:
    async with FaultServer(["x"]) as server, client() as http:
        for content in (b"{", b"\xff", b"[" * 200_000):
            answer = await http.post(f"{server.base_url}/chat/completions", content=content)
            assert answer.status_code == 400
        assert [each.rule for each in server.violations] == ["shape"] * 3


# What is left of a server: nothing.


async def test_it_listens_on_loopback_only() -> None:
    async with FaultServer() as server:
        assert server._server is not None
        assert {each.getsockname()[0] for each in server._server.sockets} == {"127.0.0.1"}
        assert server.base_url.startswith("http://127.0.0.1:")


async def test_after_the_block_no_task_is_left_and_nobody_listens() -> None:
    before = asyncio.all_tasks()
    async with FaultServer([silence(), slow("x" * 400), KINDS["silence_in_stream"]]) as server:
        url = server.base_url
        waiting = [asyncio.create_task(hear(url, asking(stream=True))) for _ in range(3)]
        await until(lambda: len(server.requests) == 3)
    for told in await asyncio.gather(*waiting):
        assert told.broke is not None
    assert asyncio.all_tasks() == before
    assert server.open_connections == 0
    with pytest.raises(ConfigError, match="not running"):
        _ = server.base_url
    async with client() as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(f"{url}/models")


async def test_it_cannot_be_entered_twice_at_once() -> None:
    async with FaultServer() as server:
        with pytest.raises(ConfigError, match="running already"):
            await server.__aenter__()


def test_one_server_serves_two_event_loops_one_after_the_other() -> None:
    server = FaultServer([call("get_time", city="Paris"), respond("done")])

    async def turn() -> list[Any]:
        async with server:
            told = [await hear(server.base_url, asking()) for _ in range(2)]
            assert (server.left, server.connections, len(server.requests)) == (0, 2, 2)
            return [each.names for each in told]

    assert asyncio.run(turn()) == asyncio.run(turn()) == [["get_time"], ["respond"]]


async def test_a_client_that_speaks_no_http_is_let_go() -> None:
    async with FaultServer() as server:
        for said in (b"\x16\x03\x01 hello\r\n\r\n", b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 9\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(server.base_url).port)
            writer.write(said)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        await until(lambda: server.open_connections == 0)


# The command.


def test_the_command_lists_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert [name for name in (*KINDS, *SCENARIOS) if f"{name} " not in listed] == []
    assert "C46" in listed


def test_the_command_refuses_an_unknown_scenario_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "nope"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_serves_until_interrupted() -> None:
    command = [sys.executable, "-m", "vancetope.backends.faults", "--scenario", "clock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            root = url.removesuffix("/v1")
            assert process.stdout.readline() == f"Anthropic: {root} Gemini: {root}\n"
            told = httpx.post(f"{url}/chat/completions", json=asking()).json()
            assert told["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_time"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=10)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("enforcement", ["native", "constrained"])
async def test_the_clock_scenario_plays_a_tool_turn_under_both_enforcements(enforcement: EnforcementName) -> None:
    def get_time(city: str) -> str:
        """Tell the time."""
        return f"15:42 in {city}"

    async with FaultServer(SCENARIOS["clock"]) as server:
        settings = {"servers": {"lab": {"kind": "vllm", "url": server.base_url, "model": "m"}}}
        turn = await ask("Time?", model="lab:m", settings=settings, tools=[get_time], enforcement=enforcement)
    assert turn.message == "It is 15:42 in Paris in Paris."
    assert (turn.rounds, server.violations) == (2, [])
