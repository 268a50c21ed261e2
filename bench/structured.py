"""One question, one answer by schema, through every contestant with its shipped defaults.

Each function below gets the server's base URL and the name of an inquiry, and gives a coroutine function that asks once
and returns the answer as plain JSON. Imports are inside: a contestant's process loads nothing but its own library.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.order import ANSWERED, ORDER, ORDERED

Ask: TypeAlias = Callable[[], Awaitable[Any]]
Contestant: TypeAlias = Callable[[str, str], Ask]

MODEL = "gpt-4.1"  # one whose structured output everybody knows


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question, its schema, and the object that the server answers it with."""

    question: str
    schema: dict[str, Any]
    answer: dict[str, Any]


LAMP: dict[str, Any] = {
    "title": "Lamp",
    "type": "object",
    "properties": {
        "product": {"type": "string"},
        "price": {"type": "number"},
        "currency": {"enum": ["EUR", "USD"]},
    },
    "required": ["product", "price", "currency"],
    "additionalProperties": False,
}
INQUIRIES = {
    "small": Inquiry("A blue lamp costs 24.5 euros.", LAMP, {"product": "blue lamp", "price": 24.5, "currency": "EUR"}),
    "medium": Inquiry(ORDERED, ORDER, ANSWERED),
}


def raw(url: str, name: str) -> Ask:
    """httpx and json, nothing else: what nobody can do without."""
    import httpx

    client, body = httpx.AsyncClient(timeout=60), _body(INQUIRIES[name])

    async def ask() -> Any:
        response = await client.post(f"{url}/chat/completions", json=body)
        response.raise_for_status()
        return json.loads(json.loads(response.content)["choices"][0]["message"]["content"])

    return ask


def raw_streamed(url: str, name: str) -> Ask:
    import httpx

    options = {"stream": True, "stream_options": {"include_usage": True}}
    client, body = httpx.AsyncClient(timeout=60), {**_body(INQUIRIES[name]), **options}

    async def ask() -> Any:
        text = ""
        async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    text += choice["delta"].get("content") or ""
        return json.loads(text)

    return ask


def _body(inquiry: Inquiry) -> dict[str, Any]:
    """A request of about the size of ours: it holds the schema twice, for the model to read and for the server."""
    shown = json.dumps(inquiry.schema, ensure_ascii=False, indent=2)
    shape = {"name": "reply", "schema": inquiry.schema, "strict": True}
    return {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": f"{RULES}\n\n{shown}\n\n{RULES}"},
            {"role": "user", "content": inquiry.question},
        ],
        "response_format": {"type": "json_schema", "json_schema": shape},
    }


RULES = (
    "You answer one question with one JSON object that fits the JSON Schema below, and with nothing else: no word "
    "before it, no word behind it, no Markdown. Keep every bound, every pattern and every list of choices, and every "
    "name as it is written there."
)


def vancetope_asked(url: str, name: str) -> Ask:
    return _vancetope(url, INQUIRIES[name].question, INQUIRIES[name].schema)


def vancetope_typed(url: str, name: str) -> Ask:
    from bench.models import MODELS

    return _vancetope(url, INQUIRIES[name].question, MODELS[name])


def vancetope_streamed(url: str, name: str) -> Ask:
    seen: list[Any] = []
    ask = _vancetope(url, INQUIRIES[name].question, INQUIRIES[name].schema, on_event=seen.append)

    async def streamed() -> Any:
        seen.clear()
        answer = await ask()
        assert sum(each.type == "raw_delta" for each in seen) > 5
        return answer

    return streamed


def instructor(url: str, name: str) -> Ask:
    client, model = _instructor(url), _model(name)
    messages = _messages(name)

    async def ask() -> Any:
        return await client.create(model=MODEL, messages=messages, response_model=model)

    return ask


def instructor_streamed(url: str, name: str) -> Ask:
    client, model = _instructor(url), _model(name)
    messages = _messages(name)

    async def ask() -> Any:
        last = None
        async for part in client.create_partial(model=MODEL, messages=messages, response_model=model):
            last = part
        return model.model_validate(last.model_dump()) if last is not None else None

    return ask


def pydantic_ai(url: str, name: str) -> Ask:
    agent = _pydantic_agent(url, name)

    async def ask() -> Any:
        return (await agent.run(INQUIRIES[name].question)).output

    return ask


def pydantic_ai_streamed(url: str, name: str) -> Ask:
    agent = _pydantic_agent(url, name)

    async def ask() -> Any:
        async with agent.run_stream(INQUIRIES[name].question) as result:
            return await result.get_output()

    return ask


def langchain(url: str, name: str) -> Ask:
    chat = _langchain(url, name)

    async def ask() -> Any:
        return await chat.ainvoke(INQUIRIES[name].question)

    return ask


def langchain_streamed(url: str, name: str) -> Ask:
    chat = _langchain(url, name)

    async def ask() -> Any:
        last = None
        async for part in chat.astream(INQUIRIES[name].question):
            last = part
        return last

    return ask


def _vancetope(url: str, question: str, schema: Any, **options: Any) -> Ask:
    import vancetope

    _environment(url)

    async def ask() -> Any:
        answer = await vancetope.query(question, schema, model=f"openai:{MODEL}", **options)
        assert (answer.attempts, answer.rule, answer.enforcement.honoured) == (1, "strict", "native"), answer
        return answer.unwrap()

    return ask


def _instructor(url: str) -> Any:
    _environment(url)
    from instructor import from_openai
    from openai import AsyncOpenAI

    return from_openai(AsyncOpenAI())


def _pydantic_agent(url: str, name: str) -> Any:
    _environment(url)
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel

    return Agent(OpenAIChatModel(MODEL), output_type=_model(name))


def _langchain(url: str, name: str) -> Any:
    _environment(url)
    os.environ["LANGSMITH_TRACING"] = "false"
    warnings.filterwarnings("ignore", module="pydantic")  # it tells of a field that LangChain fills in its own way
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL).with_structured_output(_model(name))


def _messages(name: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": INQUIRIES[name].question}]


def _model(name: str) -> Any:
    from bench.models import MODELS

    return MODELS[name]


def _environment(url: str) -> None:
    os.environ.update(OPENAI_API_KEY="bench", OPENAI_BASE_URL=url)


WHOLE: dict[str, Contestant] = {
    "raw httpx": raw,
    "vancetope.query, a schema": vancetope_asked,
    "vancetope.query, a pydantic model": vancetope_typed,
    "instructor": instructor,
    "pydantic-ai": pydantic_ai,
    "LangChain": langchain,
}
STREAMED: dict[str, Contestant] = {
    "raw httpx": raw_streamed,
    "vancetope.query, a schema": vancetope_streamed,
    "instructor": instructor_streamed,
    "pydantic-ai": pydantic_ai_streamed,
    "LangChain": langchain_streamed,
}


def is_answer(found: Any, name: str) -> bool:
    """Whether a contestant gave what the server said; a null may be left out or not."""
    plain = found.model_dump(mode="json") if hasattr(found, "model_dump") else found
    return bool(_told(plain) == _told(INQUIRIES[name].answer))


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _told(each) for key, each in value.items() if each is not None}
    return [_told(each) for each in value] if isinstance(value, list) else value
