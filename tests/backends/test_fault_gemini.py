"""The fault server as Gemini's API: what it refuses, and what the real clients hear."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.backends.hearing import SCHEMAS, asking, hear
from tests.backends.listening import BOTH, client
from vancetope.backends.faults import KINDS, FaultServer, Given, status
from vancetope.backends.faults.asked import signature
from vancetope.backends.scripted import call, calls, refuse, say, think
from vancetope.messages import Finish, Reply, Usage

DECLARED = asking("gemini")["tools"][0]["functionDeclarations"][0]
SIGNED = signature("hmm")
STRICT = "gemini-3-scripted"


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": each} if isinstance(each, str) else each for each in parts]}


def model(*parts: Any) -> dict[str, Any]:
    return {**user(*parts), "role": "model"}


def made(name: str = "get_time", signed: str | None = None, **more: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": {"city": "Paris"}, **more}}
    return part if signed is None else {**part, "thoughtSignature": signed}


def response(name: str = "get_time", value: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "15:42"} if value is None else value, **more}}


def ask(*more: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return asking("gemini", *more, **changes)


def declaring(*functions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return ask(tools=[{"functionDeclarations": [*functions]}], **changes)


def calling(**config: Any) -> dict[str, Any]:
    return {"functionCallingConfig": config}


def config(**given: Any) -> dict[str, Any]:
    return ask(tools=None, generationConfig=given)


JSON = "application/json"
OBJECT = {"type": "object", "properties": {}}

BROKEN: list[tuple[str, Any, str]] = [
    ("shape", [], "not a JSON object"),
    ("shape", ask(contents=[]), "contents is not"),
    ("shape", ask({"role": "user"}), "contents[1].parts is not"),
    ("shape", ask({"role": "system", "parts": []}), "use a valid role"),
    ("shape", ask({"parts": [{"text": "x"}]}), "use a valid role"),
    ("shape", ask(user({"text": 7})), "is not a string"),
    ("shape", ask(model({"functionCall": {}}), user("x")), "a functionCall has no name"),
    ("shape", ask(tools=["x"]), "tools is not"),
    ("shape", ask(generationConfig=[]), "generationConfig is not"),
    ("known_keys", ask(max_tokens=7), "unknown name 'maxTokens'"),
    ("known_keys", ask(generationConfig={"n": 1}), "unknown name 'n' in generationConfig"),
    ("parts", ask(user()), "contents[1].parts must not be empty"),
    ("parts", ask(user({"thought": True})), "must have one initialized field"),
    ("parts", ask(user({"text": "x", "inlineData": {}})), "more than one of text, inlineData"),
    ("parts", ask(user("")), "the text parameter must not be empty"),
    ("parts", ask(systemInstruction={"parts": [{"text": ""}]}), "systemInstruction holds no text"),
    ("first_user", ask(contents=[model("x"), user("y")]), "begin with a user turn"),
    ("last_message", ask(model("x")), "end with a user turn"),
    ("call_place", ask(model("x"), model(made()), user(response())), "right after a user turn"),
    ("call_place", ask(user(made()), user(response())), "does not come from the model"),
    ("responses", ask(model(made()), user("x")), "0 function responses for 1 function calls"),
    ("responses", ask(model(made(), made()), user(response())), "1 function responses for 2"),
    ("responses", ask(user(response())), "1 function responses for 0"),
    ("responses", ask(model(made()), user(response("respond"))), "the names of function responses"),
    ("responses", ask(model(made(id="a")), user(response(id="b"))), "the ids of function responses"),
    ("responses", ask(model(made()), user(response(value="x"))), "the response of 'get_time' is not an object"),
    ("calls", ask(model(made("a b")), user(response("a b"))), "'a b' cannot be a function's name"),
    ("calls", ask(model(made("7up")), user(response("7up"))), "'7up' cannot be a function's name"),
    ("calls", ask(model(made(args="x")), user(response())), "the args of 'get_time' are not an object"),
    ("tools", declaring({**DECLARED, "name": "a b"}), "'a b' cannot be"),
    ("tools", declaring(DECLARED, DECLARED), "two functions named 'get_time'"),
    ("tools", declaring({**DECLARED, "parameters": {"type": "OBJECT"}}), "exclude each other"),
    ("tools", declaring({**DECLARED, "parametersJsonSchema": {}}), "not of type object"),
    (
        "tools",
        declaring({"name": "a", "parameters": {"type": "OBJECT", "additionalProperties": False}}),
        "unknown name 'additionalProperties' in a schema",
    ),
    (
        "tools",
        declaring({"name": "a", "parameters": {"type": "OBJECT", "properties": {"b": {"const": 1}}}}),
        "unknown name 'const' in a schema",
    ),
    ("tool_config", ask(toolConfig=calling(mode="SOME")), "none of AUTO"),
    ("tool_config", ask(tools=None, toolConfig=calling(mode="ANY")), "needs function declarations"),
    ("tool_config", ask(toolConfig=calling(mode="AUTO", allowedFunctionNames=["respond"])), "only be set with"),
    ("tool_config", ask(toolConfig=calling(mode="ANY", allowedFunctionNames=["x"])), "'x', which is not declared"),
    ("output", config(responseMimeType=JSON, responseSchema={}, responseJsonSchema={}), "exclude each other"),
    ("output", config(responseJsonSchema=OBJECT), "needs the response mime type"),
    ("output", config(responseMimeType="text/html"), "'text/html' is not supported"),
    ("output", ask(generationConfig={"responseMimeType": JSON}), "function calling with the response mime type"),
    ("output", config(responseMimeType=JSON, responseSchema={"$ref": "#"}), "unknown name '$ref'"),
    ("settings", config(maxOutputTokens=0), "maxOutputTokens is not"),
    ("settings", config(temperature=3), "temperature is not"),
    ("settings", config(seed=2**31), "seed is not"),
    ("thinking", config(thinkingConfig={"thinkingBudget": 1, "thinkingLevel": "LOW"}), "exclude each other"),
    ("thinking", config(thinkingConfig={"thinkingLevel": "SOME"}), "thinking level SOME is not"),
    ("signatures", ask(model(made(signed="bad!")), user(response())), "corrupted thought signature"),
    ("signatures", ask(model(made(signed="YWJj")), user(response())), "corrupted thought signature"),
]


@pytest.mark.parametrize(("rule", "body", "sentence"), BROKEN)
async def test_a_request_that_gemini_refuses_is_refused(rule: str, body: Any, sentence: str) -> None:
    async with FaultServer(["x"]) as server:
        told = await hear(server, "gemini", body)
        assert (told.status, server.left) == (400, 1)
        assert {(each.number, each.rule) for each in server.violations} == {(1, rule)}
        assert sentence in server.violations[0].sentence
        assert told.error["error"]["message"] == server.violations[0].sentence
        assert told.error["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    "body",
    [
        ask(),
        ask(tools=None, systemInstruction=None),
        ask(user("more")),
        ask(model("a", made(), made("respond")), user(response("respond"), response(), "and then?")),
        ask(model({"text": "hmm", "thought": True}, made(signed=SIGNED)), user(response())),
        ask(model({"text": "", "thoughtSignature": SIGNED}), user("x")),
        ask(model(made(signed="skip_thought_signature_validator")), user(response())),
        ask(model(made(signed=base64.b64encode(b"skip_thought_signature_validator").decode())), user(response())),
        ask(user({"inlineData": {"mimeType": "image/png", "data": ""}})),
        declaring({"name": "a.b:c-d", "parameters": {"type": "OBJECT", "properties": {"x": {"any_of": []}}}}),
        declaring({"name": "no_parameters"}),
        ask(tools=[{"googleSearch": {}}]),
        ask(toolConfig=calling(mode="ANY", allowedFunctionNames=["respond"])),
        config(responseMimeType=JSON, responseJsonSchema=OBJECT, temperature=0, seed=-1, maxOutputTokens=1),
        config(thinkingConfig={"thinkingBudget": 0}),
    ],
)
async def test_a_request_that_gemini_takes_is_taken(body: Any) -> None:
    async with FaultServer(["x"]) as server:
        assert (await hear(server, "gemini", body)).status == 200
        assert server.violations == []


async def test_newer_models_want_the_signature_of_every_steps_first_call_in_this_turn() -> None:
    bare, signed = model(made()), model(made(signed=SIGNED), made())
    old = [bare, user(response()), model("15:42"), user("And now?")]
    async with FaultServer(["x"] * 3, strict=False) as server:
        for more in (
            [bare, user(response())],
            [*old, signed, user(response(), response())],
            [*old, bare, user(response())],
        ):
            await hear(server, "gemini", ask(*more), model=STRICT)
        assert [(each.number, each.rule) for each in server.violations] == [(1, "signatures"), (3, "signatures")]
        assert "lacks a thought_signature" in server.violations[0].sentence


@pytest.mark.parametrize(
    ("name", "thinking", "sentence"),
    [
        ("gemini-2.5-flash", {"thinkingLevel": "LOW"}, "thinking level is not supported"),
        ("gemini-2.5-pro", {"thinkingBudget": 0}, "only works in thinking mode"),
        ("gemini-3.8-flash", {"thinkingLevel": "MINIMAL"}, "thinking level MINIMAL is not supported"),
        ("gemini-3-pro-preview", {"thinkingLevel": "medium"}, "thinking level MEDIUM is not supported"),
        ("gemini-4-argon", {"thinkingLevel": "MINIMAL"}, "thinking level MINIMAL is not supported"),
        ("gemini-3-flash-preview", {"thinkingLevel": "MINIMAL"}, ""),
        ("gemini-2.5-flash", {"thinkingBudget": 0}, ""),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "HIGH"}, ""),
    ],
)
async def test_each_model_has_its_own_ways_to_think(name: str, thinking: dict[str, Any], sentence: str) -> None:
    async with FaultServer(["x"]) as server:
        await hear(server, "gemini", config(thinkingConfig=thinking), model=name)
        assert [each.rule for each in server.violations] == ["thinking"] * bool(sentence)
        assert sentence in "".join(each.sentence for each in server.violations)


@BOTH
async def test_newer_models_sign_every_reply_with_calls_once(stream: bool) -> None:
    reply = calls(call("get_time", city="a"), call("get_time", city="b"))
    async with FaultServer([reply, reply, "x"]) as server:
        told = [await hear(server, "gemini", stream=stream, model=name) for name in (STRICT, "gemini-2.5-x", STRICT)]
    assert [len(each.signatures) for each in told] == [1, 0, 0]


async def test_a_stream_without_alt_sse_is_not_spoken() -> None:
    async with FaultServer(["x"]) as server, client() as http:
        url = f"{server.gemini_url}/v1beta/models/m:streamGenerateContent"
        told = await http.post(url, json=ask())
        assert (told.status_code, server.left) == (400, 1)
        assert "alt=sse" in told.json()["error"]["message"]


# The real client.


@asynccontextmanager
async def talking(*script: Given, **options: Any) -> AsyncIterator[tuple[FaultServer, Any]]:
    """A server, and Google's own client that talks to it."""
    from google import genai

    async with FaultServer(script, **options) as server:
        talker = genai.Client(api_key="s3cret", http_options={"base_url": server.gemini_url, "timeout": 5000})
        try:
            yield server, talker.aio.models
        finally:
            await talker.aio.aclose()
            talker.close()


async def generate(models: Any, stream: bool, *more: Any, name: str = STRICT, **changes: Any) -> list[Any]:
    """The responses: one, or the chunks of a stream."""
    from google.genai import types

    declared = [{"name": each, "parameters_json_schema": schema} for each, schema in SCHEMAS.items()]
    settings = {"tools": [{"function_declarations": declared}], "system_instruction": "Be brief.", **changes}
    asked = [types.Content(role="user", parts=[types.Part(text="What time is it?")]), *more]
    if not stream:
        return [await models.generate_content(model=name, contents=asked, config=settings)]
    return [each async for each in await models.generate_content_stream(model=name, contents=asked, config=settings)]


def parts(told: list[Any]) -> list[Any]:
    contents = [candidate.content for each in told for candidate in each.candidates or ()]
    return [part for content in contents if content is not None for part in content.parts or ()]


USAGE = Usage(100, 50, cached_tokens=20, thinking_tokens=10)


@BOTH
async def test_the_real_client_hears_a_reply_and_sends_it_back(stream: bool) -> None:
    from google.genai import types

    both = call("get_time", city="Zürich"), call("get_time")
    async with talking(calls(*both, text="I look.", thinking="Which city?"), "done", key="s3cret") as (server, models):
        told = await generate(models, stream)
        thoughts = "".join(each.text for each in parts(told) if each.text and each.thought)
        text = "".join(each.text for each in parts(told) if each.text and not each.thought)
        assert (thoughts, text) == ("Which city?", "I look.")
        found = [each.function_call for each in parts(told) if each.function_call]
        assert [(each.name, each.args) for each in found] == [("get_time", {"city": "Zürich"}), ("get_time", {})]
        assert told[-1].candidates[0].finish_reason == types.FinishReason.STOP
        back = [
            types.Part(function_response=types.FunctionResponse(id=each.id, name=each.name, response={"output": "x"}))
            for each in found
        ]
        said = types.Content(role="model", parts=[each for each in parts(told) if each.text != ""])
        last = await generate(models, stream, said, types.Content(role="user", parts=back))
        assert "".join(each.text for each in parts(last)) == "done"
        assert (server.violations, server.left, server.requests[0].authorized) == ([], 0, True)
        assert server.requests[1].turns[1:] == [("assistant", "I look."), ("tool", "x"), ("tool", "x")]


@BOTH
async def test_the_real_client_hears_usage_finishes_and_blocks(stream: bool) -> None:
    script = (Reply(text="x", usage=USAGE), refuse(), Reply(finish=Finish.MALFORMED_CALL), KINDS["recitation"])
    async with talking(*script) as (_, models):
        usage = (await generate(models, stream))[-1].usage_metadata
        assert (usage.prompt_token_count, usage.cached_content_token_count) == (100, 20)
        assert (usage.candidates_token_count, usage.thoughts_token_count, usage.total_token_count) == (40, 10, 150)
        blocked = await generate(models, stream)
        assert blocked[0].prompt_feedback.block_reason == "PROHIBITED_CONTENT"
        assert parts(blocked) == []
        for reason in ("MALFORMED_FUNCTION_CALL", "RECITATION"):
            assert (await generate(models, stream))[-1].candidates[0].finish_reason == reason


@BOTH
@pytest.mark.parametrize(("code", "kind"), [(401, "ClientError"), (429, "ClientError"), (503, "ServerError")])
async def test_the_real_client_raises_its_own_errors(code: int, kind: str, stream: bool) -> None:
    from google.genai import errors

    async with talking(status(code, message="so it is", retry_after=7)) as (_, models):
        with pytest.raises(errors.APIError, match="so it is") as raised:
            await generate(models, stream)
    assert (type(raised.value).__name__, raised.value.code) == (kind, code)
    assert "'retryDelay': '7s'" in str(raised.value)


@pytest.mark.parametrize(
    "name", ["error_in_stream", "overloaded_in_stream", "half_stream", "reset_in_stream", "half_event", "no_end"]
)
async def test_a_broken_stream_never_looks_like_a_reply_to_the_real_client(name: str) -> None:
    """An error in a stream, and one that ends in good order without its finish, may raise nothing: then nothing has a
    finish reason."""
    import httpx
    from google.genai import errors

    async with talking(KINDS[name]) as (_, models):
        try:
            told = await generate(models, True)
        except (errors.APIError, errors.UnknownApiResponseError, httpx.HTTPError):
            return
        assert name in ("no_end", "error_in_stream", "overloaded_in_stream")
        assert [candidate.finish_reason for each in told for candidate in each.candidates or ()] in ([], [None])


@BOTH
async def test_pydantic_ai_hears_a_reply_and_sends_it_back(stream: bool) -> None:
    from google import genai
    from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.tools import ToolDefinition

    async with FaultServer([think("hmm", call("get_time", city="Paris")), think("so", say("15:42"))]) as server:
        talker = genai.Client(api_key="s3cret", http_options={"base_url": server.gemini_url})
        used = GoogleModel("gemini-3-pro-preview", provider=GoogleProvider(client=talker))
        offered = [ToolDefinition(name="get_time", description="d", parameters_json_schema=SCHEMAS["get_time"])]
        parameters = ModelRequestParameters(function_tools=offered)
        first = ModelRequest(parts=[UserPromptPart("What time is it?")])
        told = await _requested(used, [first], parameters, stream)
        (wanted,) = told.tool_calls
        assert (wanted.tool_name, wanted.args_as_dict()) == ("get_time", {"city": "Paris"})
        back = ModelRequest(parts=[ToolReturnPart("get_time", "15:42", tool_call_id=wanted.tool_call_id)])
        last = await _requested(used, [first, told, back], parameters, stream)
        assert last.text == "15:42"
        assert server.violations == []
        assert server.requests[1].turns[1:] == [("assistant", ""), ("tool", "15:42")]
        await talker.aio.aclose()
        talker.close()


async def _requested(used: Any, messages: Any, parameters: Any, stream: bool) -> Any:
    from pydantic_ai.direct import model_request, model_request_stream

    if not stream:
        return await model_request(used, messages, model_request_parameters=parameters)
    async with model_request_stream(used, messages, model_request_parameters=parameters) as told:
        async for _ in told:
            pass
        return told.get()
