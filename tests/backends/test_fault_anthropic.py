"""The fault server as Anthropic's API: what it refuses, and what the real clients hear."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.backends.hearing import SCHEMAS, asking, hear
from tests.backends.listening import BOTH
from vancetope.backends.faults import KINDS, FaultServer, Given, status
from vancetope.backends.faults.asked import signature
from vancetope.backends.scripted import call, calls, refuse, say, think
from vancetope.messages import Reply, Usage

ID, OTHER = "toolu_a", "toolu_b"
TOOL = asking("anthropic")["tools"][0]
THINKING = {"type": "enabled", "budget_tokens": 1024}
ADAPTIVE = {"type": "adaptive"}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(each) if isinstance(each, str) else each for each in blocks]}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {**user(*blocks), "role": "assistant"}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(id: str = ID, name: str = "get_time", given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {"city": "Paris"} if given is None else given}


def result(id: str = ID, said: str = "15:42") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": said}


def thought(said: str = "hmm", signed: str | None = None) -> dict[str, Any]:
    return {"type": "thinking", "thinking": said, "signature": signature(said) if signed is None else signed}


def ask(*more: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return asking("anthropic", *more, **changes)


def formed(schema: Any, kind: str = "json_schema") -> dict[str, Any]:
    return ask(tools=None, output_config={"format": {"type": kind, "schema": schema}})


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


BROKEN: list[tuple[str, Any, str]] = [
    ("shape", [], "not a JSON object"),
    ("shape", ask(model=""), "model"),
    ("shape", ask(messages=[]), "messages is not"),
    ("shape", ask({"role": "tool", "content": "x"}), "messages.1 has no known role"),
    ("shape", ask({"role": "user", "content": 7}), "neither a string nor an array"),
    ("shape", ask(user(use())), "cannot hold a block of type 'tool_use'"),
    ("shape", ask(assistant({"type": "image"})), "cannot hold a block of type 'image'"),
    ("shape", ask(user({"type": "text"})), "a text block has no text"),
    ("shape", ask(assistant({"type": "tool_use", "name": "x"})), "lacks its id or name"),
    ("shape", ask(user({"type": "tool_result"})), "no tool_use_id"),
    ("shape", ask(assistant({"type": "thinking"})), "no thinking"),
    ("shape", ask(tools=["x"]), "tools is not"),
    ("known_keys", ask(seed=7), "seed: extra inputs"),
    ("known_keys", ask({"role": "user", "content": "x", "name": "me"}), "messages.1.name: extra inputs"),
    ("max_tokens", ask(max_tokens=None), "max_tokens: field required"),
    ("max_tokens", ask(max_tokens=0), "max_tokens is not"),
    ("first_user", ask(messages=[assistant("x"), user("y")]), "of role 'assistant', not user"),
    ("last_message", ask(assistant("The answer is")), "takes no beginning"),
    ("system_place", ask({"role": "system", "content": "x"}, user("y")), "messages.1 is a system message"),
    ("not_empty", ask(assistant(), user("x")), "messages.1: all messages must have content"),
    ("not_empty", ask({"role": "user", "content": ""}), "messages.1: text content blocks must not be empty"),
    ("not_empty", ask(assistant(""), user("x")), "must not be empty"),
    ("not_empty", ask(user(" \n")), "more than white space"),
    ("not_empty", ask(system=""), "system: text content blocks"),
    ("not_empty", ask(system=[text("")]), "system: text content blocks"),
    ("results", ask(assistant(use()), user("x")), "messages.1: no tool_result follows at once for 'toolu_a'"),
    ("results", ask(assistant(use(), use(OTHER)), user(result())), "for 'toolu_b'"),
    ("results", ask(assistant("x"), user(result())), "has no tool_use in the message before"),
    ("results", ask(assistant(use()), user("x", result())), "something stands before the tool_result"),
    ("results", ask(assistant(use()), user(result(), result())), "more than one tool_result"),
    ("ids", ask(assistant(use("a.b")), user(result("a.b"))), "does not match"),
    ("ids", ask(assistant(use()), user(result()), assistant(use()), user(result())), "is not unique"),
    ("calls", ask(assistant(use(name="a b")), user(result())), "cannot be a tool's name"),
    ("calls", ask(assistant(use(given="x")), user(result())), "is not an object"),
    ("tools", ask(tools=[TOOL, TOOL]), "must be unique"),
    ("tools", ask(tools=[{**TOOL, "name": "a b"}]), "tools.0: 'a b' cannot be"),
    ("tools", ask(tools=[{**TOOL, "input_schema": {}}]), "not of type object"),
    ("tools", ask(tools=[{**TOOL, "description": 1}]), "not a string"),
    ("tool_choice", ask(tool_choice="auto"), "tool_choice is none of auto"),
    ("tool_choice", ask(tools=None, tool_choice={"type": "auto"}), "only be given with tools"),
    ("tool_choice", ask(tool_choice={"type": "tool", "name": "x"}), "no offered tool"),
    ("tool_choice", ask(tool_choice={"type": "any"}, thinking=THINKING), "may not be enabled when tool_choice"),
    ("tool_choice", ask(tool_choice={"type": "any"}, model="claude-opus-5-5"), "this model does not support"),
    ("thinking", ask(thinking={"type": "on"}), "none of enabled"),
    ("thinking", ask(thinking={"type": "enabled", "budget_tokens": 100}), "at least 1024"),
    ("thinking", ask(thinking=THINKING, max_tokens=1024), "max_tokens must be greater"),
    ("thinking", ask(thinking=THINKING, model="claude-opus-5"), "thinking.type.enabled is not supported"),
    ("thinking", ask(thinking={"type": "disabled"}, model="claude-opus-5-5"), "thinking.type.disabled is not"),
    ("thinking", ask(thinking={"type": "disabled"}, model="claude-sonnet-5-5"), "thinking.type.disabled is not"),
    ("thinking", ask(thinking={"type": "between_tools"}, model="claude-fable-5-1"), "thinking.type.between_tools"),
    ("thinking", ask(thinking=THINKING, temperature=0.5), "may only be 1"),
    ("thinking", ask(thinking=ADAPTIVE, top_k=5), "top_k may not"),
    ("thought_before_call", ask(assistant(use()), user(result()), thinking=THINKING), "start with a thinking block"),
    ("signatures", ask(assistant(thought(signed="bad"), use()), user(result())), "invalid signature"),
    ("signatures", ask(assistant({**thought("a"), "thinking": "b"}, use()), user(result())), "invalid signature"),
    ("output", formed(obj(), "json"), "not of type json_schema"),
    ("output", formed({"type": "object", "properties": {}}), "additionalProperties must be false"),
    ("output", formed(obj(a={"type": "object"})), "'a': for objects"),
    ("output", formed(obj(a={"type": "integer", "minimum": 1})), "'a': the property 'minimum' is not supported"),
    ("output", formed(obj(a={"anyOf": [{"type": "string", "maxLength": 2}]})), "'maxLength' is not supported"),
    ("output", formed({**obj(), "$defs": {"b": {"type": "object"}}}), "'b': for objects"),
    ("settings", ask(stream="yes"), "stream is not"),
    ("settings", ask(temperature=1, model="claude-haiku-5-5"), "temperature is not supported"),
    ("settings", ask(temperature=1.5), "temperature is not"),
]


@pytest.mark.parametrize(("rule", "body", "sentence"), BROKEN)
async def test_a_request_that_anthropic_refuses_is_refused(rule: str, body: Any, sentence: str) -> None:
    async with FaultServer(["x"]) as server:
        told = await hear(server, "anthropic", body)
        assert (told.status, server.left) == (400, 1)
        assert {(each.number, each.rule) for each in server.violations} == {(1, rule)}
        assert sentence in server.violations[0].sentence
        assert told.error["error"] == {"type": "invalid_request_error", "message": server.violations[0].sentence}


@pytest.mark.parametrize(
    "body",
    [
        ask(),
        ask(tools=None, system=None),
        ask(user("more")),
        ask(assistant("a", use(), use(OTHER)), user(result(OTHER), result(), "and then?")),
        ask(assistant(thought(), use()), user(result()), thinking=THINKING, temperature=1),
        ask(assistant({"type": "redacted_thinking", "data": "x"}, use()), user(result()), thinking=THINKING),
        ask(assistant(use()), user(result()), thinking=ADAPTIVE),
        ask(tool_choice={"type": "any"}, thinking=ADAPTIVE),
        ask(thinking={"type": "disabled"}, model="claude-opus-5"),
        ask(thinking={"type": "between_tools"}, model="claude-sonnet-5-5"),
        ask(assistant(use()), user(result()), assistant("done"), user("more"), thinking=THINKING),
        ask(assistant(use()), user({"type": "tool_result", "tool_use_id": ID})),
        ask(tool_choice={"type": "tool", "name": "get_time", "disable_parallel_tool_use": True}, temperature=0),
        ask(user({"type": "image", "source": {"type": "url", "url": "http://x"}})),
        ask(system=[{**text("s"), "cache_control": {"type": "ephemeral"}}]),
        ask(tools=[TOOL, {"type": "web_search_20250305", "name": "web_search"}]),
        formed(obj(a={"type": "array", "items": obj(), "minItems": 1}, b={"anyOf": [{"type": "null"}, obj()]})),
    ],
)
async def test_a_request_that_anthropic_takes_is_taken(body: Any) -> None:
    async with FaultServer(["x"]) as server:
        assert (await hear(server, "anthropic", body)).status == 200
        assert server.violations == []


BINDS = "claude-haiku-5-5"
BETA = {"anthropic-beta": "other, thinking-binding-controls-2026-08-01"}
DROPPED = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@BOTH
async def test_newer_models_bind_their_thinking_to_what_was_said_before_it(stream: bool) -> None:
    async with FaultServer([think("hmm", call("get_time")), *["x"] * 4], strict=False) as server:
        told = await hear(server, "anthropic", ask(model=BINDS), stream=stream)
        said = [assistant(thought(signed=told.signatures[0]), use()), user(result())]
        marked = ask(*said, model=BINDS, system=[{**text("Be brief."), "cache_control": {"type": "ephemeral"}}])
        await hear(server, "anthropic", marked)
        assert server.violations == [], "marks of a cache are no change"
        for changes in ({"system": "Be long."}, {"tools": [TOOL]}):
            await hear(server, "anthropic", ask(*said, model=BINDS, **changes))
        assert [(each.number, each.rule) for each in server.violations] == [(3, "binding"), (4, "binding")]
        assert "bound to a different conversation" in server.violations[0].sentence
        await hear(server, "anthropic", ask(*said, model=BINDS, tools=[TOOL], thinking=DROPPED), headers=BETA)
        assert len(server.violations) == 2, "it may be dropped"


async def test_what_a_beta_allows_needs_its_header() -> None:
    async with FaultServer(["x"] * 2, strict=False) as server:
        await hear(server, "anthropic", ask(model=BINDS, thinking=DROPPED))
        await hear(server, "anthropic", ask(model=BINDS, thinking=DROPPED), headers=BETA)
        assert [(each.number, each.rule) for each in server.violations] == [(1, "binding")]


# The real client.


@asynccontextmanager
async def talking(*script: Given, **options: Any) -> AsyncIterator[tuple[FaultServer, Any]]:
    """A server, and Anthropic's own client that talks to it."""
    import anthropic

    async with FaultServer(script, **options) as server:
        url = server.anthropic_url
        async with anthropic.AsyncAnthropic(api_key="s3cret", base_url=url, max_retries=0, timeout=5.0) as client:
            yield server, client


async def create(client: Any, stream: bool, *more: dict[str, Any], **changes: Any) -> Any:
    body = ask(*more, **changes)
    if not stream:
        return await client.messages.create(**body)
    async with client.messages.stream(**body) as told:
        return await told.get_final_message()


USAGE = Usage(100, 50, cached_tokens=20, cache_write_tokens=30, thinking_tokens=10)


@BOTH
async def test_the_real_client_hears_a_reply_and_sends_it_back(stream: bool) -> None:
    both = call("get_time", city="Zürich"), call("get_time")
    scripted = calls(*both, text="I look.", thinking="Which city?")
    async with talking(scripted, "done", key="s3cret") as (server, client):
        told = await create(client, stream, thinking=THINKING)
        kinds = [each.type for each in told.content]
        assert kinds == ["thinking", "text", "tool_use", "tool_use"]
        assert (told.content[0].thinking, told.content[1].text) == ("Which city?", "I look.")
        assert [each.input for each in told.content[2:]] == [{"city": "Zürich"}, {}]
        assert told.stop_reason == "tool_use"
        said = {"role": "assistant", "content": [_param(each) for each in told.content]}
        results = user(*(result(each.id) for each in told.content[2:]))
        last = await create(client, stream, said, results, thinking=THINKING)
        assert (last.content[0].text, last.stop_reason) == ("done", "end_turn")
        assert (server.violations, server.left, server.requests[0].authorized) == ([], 0, True)


def _param(block: Any) -> dict[str, Any]:
    """A block as it goes back; the client's helpers leave a field of theirs in it."""
    return {key: value for key, value in block.to_dict().items() if key not in ("parsed_output", "citations")}


@BOTH
async def test_the_real_client_hears_usage_and_refusals(stream: bool) -> None:
    async with talking(Reply(text="x", usage=USAGE), refuse()) as (_, client):
        usage = (await create(client, stream)).usage
        assert (usage.input_tokens, usage.output_tokens) == (50, 50)
        assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (20, 30)
        assert usage.output_tokens_details.thinking_tokens == 10
        told = await create(client, stream)
        assert (told.stop_reason, told.content, told.stop_details.type) == ("refusal", [], "refusal")


@BOTH
@pytest.mark.parametrize(("code", "name"), [(401, "AuthenticationError"), (429, "RateLimitError"), (529, "Overloaded")])
async def test_the_real_client_raises_its_own_errors(code: int, name: str, stream: bool) -> None:
    import anthropic

    async with talking(status(code, None, ("retry-after", "7"), message="so it is")) as (_, client):
        with pytest.raises(anthropic.APIStatusError, match="so it is") as raised:
            await create(client, stream)
    assert raised.value.status_code == code
    assert name in type(raised.value).__name__
    assert raised.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    "name", ["error_in_stream", "overloaded_in_stream", "half_stream", "reset_in_stream", "half_event", "no_end"]
)
async def test_a_broken_stream_never_looks_like_a_reply_to_the_real_client(name: str) -> None:
    """A stream that ends in good order without its finish raises nothing: then nothing has a stop reason."""
    import anthropic
    import httpx2

    async with talking(KINDS[name]) as (_, client):
        try:
            told = await create(client, True)
        except (anthropic.APIError, httpx2.HTTPError):
            return
        assert (name, told.stop_reason) == ("no_end", None)


@BOTH
async def test_pydantic_ai_hears_a_reply_and_sends_it_back(stream: bool) -> None:
    from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.tools import ToolDefinition

    async with talking(think("hmm", call("get_time", city="Paris")), think("so", say("15:42"))) as (server, client):
        model = AnthropicModel("claude-scripted", provider=AnthropicProvider(anthropic_client=client))
        offered = [ToolDefinition(name="get_time", description="d", parameters_json_schema=SCHEMAS["get_time"])]
        parameters = ModelRequestParameters(function_tools=offered)
        first = ModelRequest(parts=[UserPromptPart("What time is it?")])
        told = await _requested(model, [first], parameters, stream)
        made = told.tool_calls[0]
        assert (made.tool_name, made.args_as_dict()) == ("get_time", {"city": "Paris"})
        back = ModelRequest(parts=[ToolReturnPart("get_time", "15:42", tool_call_id=made.tool_call_id)])
        last = await _requested(model, [first, told, back], parameters, stream)
        assert last.text == "15:42"
        assert server.violations == []
        assert server.requests[1].turns[1:] == [("assistant", ""), ("tool", "15:42")]
        assert server.requests[1].messages[1]["reasoning_content"] == "hmm"


async def _requested(model: Any, messages: Any, parameters: Any, stream: bool) -> Any:
    from pydantic_ai.direct import model_request, model_request_stream

    if not stream:
        return await model_request(model, messages, model_request_parameters=parameters)
    async with model_request_stream(model, messages, model_request_parameters=parameters) as told:
        async for _ in told:
            pass
        return told.get()
