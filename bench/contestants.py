"""The same turn, two requests and one tool, through every contestant with its shipped defaults.

Each function below gets the server's base URL and gives a coroutine function that runs one turn and returns its answer.
Imports are inside: a contestant's process loads nothing but its own library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

Turn: TypeAlias = Callable[[], Awaitable[str]]
Contestant: TypeAlias = Callable[[str], Turn]

QUESTION = "What time is it in Paris?"
MODEL = "bench"


def get_time(city: str) -> str:
    """Get the current time in a city.

    Args:
        city: the name of the city
    """
    assert city == "Paris"
    return "15:42"


SCHEMA = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "Get the current time in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "the name of the city"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def raw(url: str) -> Turn:
    """httpx and json, nothing else: what nobody can do without."""
    return _raw(url, [])


def raw_streamed(url: str) -> Turn:
    return _raw_streamed(url)


def raw_with_history(url: str, past: Sequence[dict[str, Any]]) -> Turn:
    return _raw(url, past)


def vancetope_asked(url: str) -> Turn:
    import vancetope

    _environment(url)

    async def turn() -> str:
        ended = await vancetope.ask(QUESTION, tools=[get_time], model=f"openai:{MODEL}")
        assert (ended.outcome, ended.model_calls) == ("respond", 2), ended
        return ended.unwrap()

    return turn


def vancetope_streamed(url: str) -> Turn:
    import vancetope

    _environment(url)

    async def turn() -> str:
        shown, said = "", ""
        async for event in vancetope.stream(QUESTION, tools=[get_time], model=f"openai:{MODEL}"):
            if event.type == "message_delta":
                shown += event.text
            elif event.type == "message_committed":
                said = event.text
        assert shown == said
        return said

    return turn


def vancetope_with_history(url: str, past: Sequence[dict[str, Any]]) -> Turn:
    import vancetope
    from vancetope.messages import Accepted

    _environment(url)
    history = vancetope.History(
        tuple(
            vancetope.User(each["content"]) if each["role"] == "user" else Accepted(each["content"], True)
            for each in past
        )
    )

    async def turn() -> str:
        ended = await vancetope.ask(QUESTION, tools=[get_time], model=f"openai:{MODEL}", history=history)
        assert (ended.outcome, len(ended.messages)) == ("respond", len(past) + 4), ended
        return ended.unwrap()

    return turn


def pydantic_ai(url: str) -> Turn:
    agent = _pydantic_agent(url)

    async def turn() -> str:
        return str((await agent.run(QUESTION)).output)

    return turn


def pydantic_ai_streamed(url: str) -> Turn:
    agent = _pydantic_agent(url)

    async def turn() -> str:
        deltas = 0

        async def watch(_: Any, events: Any) -> None:
            nonlocal deltas
            async for _event in events:
                deltas += 1

        result = await agent.run(QUESTION, event_stream_handler=watch)
        assert deltas > 10
        return str(result.output)

    return turn


def openai_agents(url: str) -> Turn:
    from agents import Runner

    agent = _openai_agent(url)

    async def turn() -> str:
        return str((await Runner.run(agent, QUESTION)).final_output)

    return turn


def openai_agents_streamed(url: str) -> Turn:
    from agents import Runner

    agent = _openai_agent(url)

    async def turn() -> str:
        result = Runner.run_streamed(agent, QUESTION)
        deltas = 0
        async for _event in result.stream_events():
            deltas += 1
        assert deltas > 10
        return str(result.final_output)

    return turn


def langchain(url: str) -> Turn:
    agent = _langchain_agent(url)

    async def turn() -> str:
        state = await agent.ainvoke({"messages": [{"role": "user", "content": QUESTION}]})
        return str(state["messages"][-1].content)

    return turn


def langchain_streamed(url: str) -> Turn:
    agent = _langchain_agent(url)

    async def turn() -> str:
        said = ""
        asked = {"messages": [{"role": "user", "content": QUESTION}]}
        async for chunk, _ in agent.astream(asked, stream_mode="messages"):
            if chunk.type == "AIMessageChunk":
                said += str(chunk.content)
        return said

    return turn


def _raw(url: str, past: Sequence[dict[str, Any]]) -> Turn:
    import httpx

    client = httpx.AsyncClient(timeout=60)

    async def turn() -> str:
        messages = [*past, {"role": "user", "content": QUESTION}]
        while True:
            body = {"model": MODEL, "messages": messages, "tools": [SCHEMA]}
            response = await client.post(f"{url}/chat/completions", json=body)
            response.raise_for_status()
            message = json.loads(response.content)["choices"][0]["message"]
            if not message.get("tool_calls"):
                return str(message["content"])
            messages += [message, *_results(message)]

    return turn


def _raw_streamed(url: str) -> Turn:
    import httpx

    client = httpx.AsyncClient(timeout=60)

    async def reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        body = {"model": MODEL, "messages": messages, "tools": [SCHEMA], **options}
        text, calls = "", dict[int, dict[str, Any]]()
        async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    text += choice["delta"].get("content") or ""
                    for part in choice["delta"].get("tool_calls") or ():
                        if part["index"] in calls:
                            calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
                        else:
                            calls[part["index"]] = part
        return {"role": "assistant", "content": text or None, "tool_calls": list(calls.values())}

    async def turn() -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
        while True:
            message = await reply(messages)
            if not message["tool_calls"]:
                return str(message["content"])
            messages += [message, *_results(message)]

    return turn


def _results(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": get_time(**json.loads(call["function"]["arguments"])),
        }
        for call in message["tool_calls"]
    ]


def _environment(url: str) -> None:
    os.environ.update(OPENAI_API_KEY="bench", OPENAI_BASE_URL=url, OPENAI_AGENTS_DISABLE_TRACING="1")


def _pydantic_agent(url: str) -> Any:
    _environment(url)
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel

    return Agent(OpenAIChatModel(MODEL), tools=[get_time])


def _openai_agent(url: str) -> Any:
    _environment(url)
    from agents import Agent, OpenAIChatCompletionsModel, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    return Agent(name="bench", model=OpenAIChatCompletionsModel(MODEL, AsyncOpenAI()), tools=[function_tool(get_time)])


def _langchain_agent(url: str) -> Any:
    _environment(url)
    os.environ["LANGSMITH_TRACING"] = "false"
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    return create_agent(ChatOpenAI(model=MODEL), tools=[get_time])


TURN: dict[str, Contestant] = {
    "raw httpx": raw,
    "vancetope.ask": vancetope_asked,
    "pydantic-ai": pydantic_ai,
    "OpenAI Agents SDK": openai_agents,
    "LangChain create_agent": langchain,
}
STREAMED: dict[str, Contestant] = {
    "raw httpx": raw_streamed,
    "vancetope.stream": vancetope_streamed,
    "pydantic-ai": pydantic_ai_streamed,
    "OpenAI Agents SDK": openai_agents_streamed,
    "LangChain create_agent": langchain_streamed,
}
