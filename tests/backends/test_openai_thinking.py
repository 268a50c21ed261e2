"""How hard a model is told to think, and its thinking on the way back to the server that it came from."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vancetope as vt
from tests.backends.openai_raw import DONE, answer, event, said, serving, stream
from vancetope.backends.base import ModelSettings, Request, Thinking
from vancetope.backends.openai import PROFILES, OpenAICompatible, Profile
from vancetope.backends.openai.carried import joined
from vancetope.backends.openai.profiles import at_host
from vancetope.backends.openai.wire import body_of
from vancetope.errors import ConfigError
from vancetope.messages import Assistant, Call, Reply, Result, ToolSpec, User

LEVELS: tuple[Thinking, ...] = get_args(Thinking)
CLOCK = ToolSpec("clock", "tells the time", {"type": "object", "properties": {}})
PLAIN = {"model", "messages", "stream"}
OPENROUTER, VLLM = PROFILES["openrouter"], PROFILES["vllm"]


def told(profile: Profile, model: str, thinking: Thinking | None, **fields: Any) -> dict[str, Any]:
    """What a request holds beside the conversation."""
    request = Request(model, "", (User("hello"),), settings=ModelSettings(thinking=thinking), **fields)
    body = body_of(request, profile, stream=False)
    return {name: value for name, value in body.items() if name not in PLAIN | {"tools", "tool_choice"}}


def efforts(profile: str, model: str) -> list[Any]:
    return [told(PROFILES[profile], model, level).get("reasoning_effort") for level in LEVELS]


# How hard to think.


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("model", ["gpt-5-mini", "gpt-4o", "qwen3:4b", "anthropic/claude-sonnet-4.5"])
def test_without_a_word_about_it_a_model_thinks_as_it_likes(profile: str, model: str) -> None:
    assert told(PROFILES[profile], model, None) == {}


@pytest.mark.parametrize("profile", ["openai", "azure"])
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-5-mini", ["minimal", "low", "medium", "high"]),
        ("gpt-5-2025-08-07", ["minimal", "low", "medium", "high"]),
        ("GPT-5-Nano", ["minimal", "low", "medium", "high"]),
        ("gpt-5.1", ["none", "low", "medium", "high"]),
        ("gpt-5.3-codex", ["none", "low", "medium", "high"]),
        ("gpt-5.6-terra", ["none", "low", "medium", "high"]),
        ("gpt-6.1-terra", ["none", "low", "medium", "high"]),
        ("gpt-5-codex", ["low", "low", "medium", "high"]),
        ("gpt-5.1-codex-max", ["low", "low", "medium", "high"]),
        ("gpt-6-astra", ["low", "low", "medium", "high"]),
        ("gpt-6.1-sol", ["low", "low", "medium", "high"]),
        ("o3-mini", ["low", "low", "medium", "high"]),
        ("gpt-5.4-pro", ["medium", "medium", "medium", "high"]),
        ("gpt-5-pro", [None] * 4),
        ("gpt-5-chat-latest", [None] * 4),
        ("gpt-5.2-chat-latest", [None] * 4),
        ("gpt-4o", [None] * 4),
        ("gpt-4.1-mini", [None] * 4),
        ("ft:gpt-4o-mini:us::1", [None] * 4),
        ("something-new", ["none", "low", "medium", "high"]),
    ],
)
def test_openais_models_are_told_in_the_words_that_they_take(profile: str, model: str, words: list[str | None]) -> None:
    assert efforts(profile, model) == words


def test_a_deployments_name_may_say_more_than_its_models() -> None:
    assert efforts("azure", "prod-gpt-5-mini-eu") == ["minimal", "low", "medium", "high"]
    assert efforts("azure", "team-a-gpt-4o") == [None] * 4
    assert efforts("azure", "team-a-o3-mini") == ["low", "low", "medium", "high"]
    assert efforts("openai", "prod-gpt-4o") == ["none", "low", "medium", "high"]


@pytest.mark.parametrize("profile", ["openai", "azure"])
@pytest.mark.parametrize("model", ["gpt-5.4", "gpt-5.5", "gpt-5.6-sol", "gpt-6-luna", "gpt-6.1-terra"])
def test_a_model_that_calls_tools_only_without_thinking_is_told_not_to(profile: str, model: str) -> None:
    for thinking in (None, "off"):
        assert told(PROFILES[profile], model, thinking, tools=(CLOCK,)) == {"reasoning_effort": "none"}
    with pytest.raises(
        ConfigError, match=f"^{model} cannot think while it is offered tools here: leave thinking off, or"
    ):
        told(PROFILES[profile], model, "high", tools=(CLOCK,))
    assert told(PROFILES[profile], model, "high", response_schema={"type": "object"})["reasoning_effort"] == "high"


def test_other_models_think_beside_tools() -> None:
    assert told(PROFILES["openai"], "gpt-5-mini", "high", tools=(CLOCK,)) == {"reasoning_effort": "high"}
    assert told(PROFILES["openai"], "gpt-5-mini", None, tools=(CLOCK,)) == {}
    elsewhere = at_host(PROFILES["openai"], "gateway.example")
    assert told(elsewhere, "gpt-5.6-sol", "high", tools=(CLOCK,)) == {"reasoning_effort": "high"}


@pytest.mark.parametrize("profile", ["ollama", "lmstudio"])
def test_servers_of_this_machine_take_openais_word_for_it(profile: str) -> None:
    assert efforts(profile, "qwen3:4b") == ["none", "low", "medium", "high"]


@pytest.mark.parametrize(
    ("model", "off"),
    [
        ("anthropic/claude-sonnet-4.5", "none"),
        ("openai/gpt-5.1", "none"),
        ("openai/gpt-5-mini", "minimal"),
        ("openai/o3", "minimal"),
        ("deepseek/deepseek-r1:free", "minimal"),
        ("google/gemini-2.5-pro", "minimal"),
    ],
)
def test_openrouter_has_an_object_for_it(model: str, off: str) -> None:
    sent = [told(OPENROUTER, model, level) for level in LEVELS]
    assert sent == [{"reasoning": {"effort": word}} for word in (off, "low", "medium", "high")]


def test_vllm_hands_it_to_the_models_template() -> None:
    assert told(VLLM, "Qwen/Qwen3-8B", "off") == {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
    assert told(VLLM, "Qwen/Qwen3-8B", "low") == {
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": True, "thinking": True},
    }
    assert efforts("vllm", "openai/gpt-oss-20b") == ["low", "low", "medium", "high"]
    assert [told(VLLM, "mistralai/Magistral-Small", level) for level in LEVELS] == [{}] * 4


def test_llamacpp_hands_it_to_the_models_template() -> None:
    llamacpp = PROFILES["llamacpp"]
    off = told(llamacpp, "qwen3", "off")
    assert off["reasoning_effort"] == "none"
    assert off["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    high = told(llamacpp, "gpt-oss-20b", "high")["chat_template_kwargs"]
    assert (high["enable_thinking"], high["reasoning_effort"]) == (True, "high")


def test_the_local_model_does_not_think() -> None:
    assert [told(PROFILES["local"], "smollm2-135m", level) for level in LEVELS] == [{}] * 4


def test_what_is_said_beside_our_word_comes_last() -> None:
    settings = ModelSettings(thinking="low", extra={"reasoning": {"max_tokens": 99}})
    body = body_of(Request("a/b", "", (User("x"),), settings=settings), OPENROUTER, stream=False)
    assert body["reasoning"] == {"max_tokens": 99}


# What goes back.

DETAILS = [
    {"type": "reasoning.text", "text": "First, then", "signature": "s1", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "AAAA", "id": "e1", "index": 1},
    {"type": "reasoning.summary", "summary": "In short", "index": 2},
]
PIECES: list[list[dict[str, Any]]] = [
    [{"type": "reasoning.text", "text": "First", "format": "anthropic-claude-v1", "index": 0}],
    [{"type": "reasoning.text", "text": ", then", "index": 0}],
    [{"type": "reasoning.text", "signature": "s1", "text": None, "index": 0}],
    [{"type": "reasoning.encrypted", "data": "AAAA", "id": "e1", "index": 1}],
    [{"type": "reasoning.summary", "summary": "In ", "index": 2}, {"type": "reasoning.summary", "summary": "short"}],
]
CALLS = [{"index": 0, "id": "p1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]


async def heard(profile: Profile, *answers: Any, streamed: bool = False, model: str = "a/b") -> Reply:
    async with serving(*answers) as server:
        backend = OpenAICompatible(server.url, "key-0123", profile=profile, attempts=1)
        try:
            return await backend.complete(
                Request(model, "", (User("time?"),)), (lambda piece: None) if streamed else None
            )
        finally:
            await backend.aclose()


def sent_back(reply: Reply, profile: Profile, model: str = "a/b") -> dict[str, Any]:
    """The reply's message in the next request."""
    call = Call("c1", "clock", "{}")
    messages = (User("time?"), Assistant("", (call,), reply.carried), Result("c1", "clock", "15:42"))
    message: dict[str, Any] = body_of(Request(model, "", messages), profile, stream=False)["messages"][1]
    return {name: value for name, value in message.items() if name not in ("role", "content", "tool_calls")}


def chunk(**delta: Any) -> str:
    finish = "tool_calls" if "tool_calls" in delta else None
    return event({"model": "a/b", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


@pytest.mark.parametrize("streamed", [False, True])
async def test_signed_thinking_goes_back_as_it_came(streamed: bool) -> None:
    text = "First, then In short"
    whole = said("", reasoning=text, reasoning_details=DETAILS, tool_calls=CALLS)
    parts = [chunk(reasoning_details=details) for details in PIECES]
    reply = await heard(
        OPENROUTER, stream(*parts, chunk(tool_calls=CALLS), DONE) if streamed else whole, streamed=streamed
    )
    assert sent_back(reply, OPENROUTER) == {"reasoning_details": DETAILS}
    assert reply.thinking == (text.replace(" In", "In") if streamed else text)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_plain_thinking_goes_back_under_the_name_it_came_by(field: str, streamed: bool) -> None:
    whole = said("", tool_calls=CALLS, **{field: "hm, so"})
    parts = stream(chunk(**{field: "hm, "}), chunk(**{field: "so"}), chunk(tool_calls=CALLS), DONE)
    reply = await heard(VLLM, parts if streamed else whole, streamed=streamed)
    assert sent_back(reply, VLLM) == {field: "hm, so"}
    assert json.loads(reply.carried) == {"by": "vllm:a/b", field: "hm, so"}


async def test_thinking_goes_to_no_other_server_or_model() -> None:
    reply = await heard(VLLM, said("", reasoning="hm", tool_calls=CALLS))
    assert sent_back(reply, OPENROUTER) == {}
    assert sent_back(reply, VLLM, "a/c") == {}


@pytest.mark.parametrize("carried", ["no json", "[]", "7", '{"by":7}', "[" * 100_000, '{"reasoning":"x"}'])
def test_what_other_backends_carry_is_passed_over(carried: str) -> None:
    assert sent_back(Reply(carried=carried), VLLM) == {}


async def test_thinking_in_the_text_itself_goes_nowhere() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]
    for streamed in (False, True):
        one = stream(chunk(content=parts[:1]), chunk(content=parts[1:], tool_calls=CALLS), DONE)
        data = {"choices": [{"message": {"content": parts, "tool_calls": CALLS}, "finish_reason": "tool_calls"}]}
        reply = await heard(VLLM, one if streamed else answer(data), streamed=streamed)
        assert (reply.text, reply.thinking, reply.carried) == ("Hi", "hm", "")


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_gives_thinking_back_with_the_results_and_the_next_turn_does_not(streamed: bool) -> None:
    def calling(name: str, **arguments: Any) -> list[dict[str, Any]]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return [{"index": 0, "id": "p1", "type": "function", "function": function}]

    def clock() -> str:
        """Tell the time."""
        return "15:42"

    replies = [calling("clock"), calling("respond", message="It is 15:42.", awaiting_user_input=True)]
    if streamed:
        given = [stream(chunk(reasoning="hm"), chunk(tool_calls=calls), DONE) for calls in replies]
    else:
        given = [said("", reasoning="hm", tool_calls=calls) for calls in replies]
    async with serving(*given) as server:
        backend = OpenAICompatible(server.url, profile=VLLM)
        turn = await vt.ask("time?", model=backend, tools=[clock], on_event=(lambda event: None) if streamed else None)
        await vt.ask("and now?", model=backend, history=turn.messages)
        await backend.aclose()
    assert turn.outcome == "respond"
    thoughts = [[message.get("reasoning") for message in each.body["messages"]] for each in server.asked]
    assert thoughts[1].count("hm") == 1
    assert not any(thoughts[0])
    assert not any(thoughts[2])


def test_marks_of_a_template_are_broken_in_plain_thinking_only() -> None:
    quoted = "the page says <|im_start|>system"
    plain = Reply(carried=json.dumps({"by": "vllm:a/b", "reasoning": quoted}))
    assert "<|im_start|>" not in sent_back(plain, VLLM)["reasoning"]
    signed = [{"type": "reasoning.text", "text": quoted, "signature": "s"}]
    kept = Reply(carried=json.dumps({"by": "openrouter:a/b", "reasoning_details": signed}))
    assert sent_back(kept, OPENROUTER) == {"reasoning_details": signed}


def test_pieces_of_details_are_put_together_by_kind_and_place() -> None:
    assert joined([piece for pieces in PIECES for piece in pieces]) == DETAILS
    assert joined([]) == []
    assert joined(["odd", None, 7]) == []
    two = [{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "b", "index": 1}]
    assert joined(two) == two
    encrypted = [{"type": "reasoning.encrypted", "data": "A"}, {"type": "reasoning.encrypted", "data": "B"}]
    assert joined(encrypted) == encrypted


@given(st.lists(st.tuples(st.sampled_from(["text", "summary"]), st.lists(st.text(max_size=9), max_size=5)), max_size=5))
def test_details_in_any_pieces_are_the_details_in_one(details: list[tuple[str, list[str]]]) -> None:
    def piece(kind: str, number: int, text: str) -> dict[str, Any]:
        return {"type": f"reasoning.{kind}", kind: text, "index": number}

    whole = [piece(kind, number, "".join(parts)) for number, (kind, parts) in enumerate(details)]
    pieces = [piece(kind, number, part) for number, (kind, parts) in enumerate(details) for part in (parts or [""])]
    assert joined(pieces) == whole
