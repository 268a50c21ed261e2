"""Each kind of server as it is: where its requests go and what is in them, its replies and failures in its own form."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import vancetope as vt
from tests.backends.openai_raw import DONE, Answer, Raw, answer, event, page, said, serving, stream
from vancetope.backends.base import ModelSettings, Piece, Request, TextPiece, Thinking, ThinkingPiece
from vancetope.backends.faults import FaultServer
from vancetope.backends.openai import PROFILES, OpenAICompatible, Profile, QuotaSpent
from vancetope.backends.openai.failures import PromptFiltered
from vancetope.backends.openai.profiles import at_host, base_url_of, chat_path
from vancetope.backends.scripted import call, respond
from vancetope.errors import AuthRefused, ConfigError, ContextTooLong, ModelError, RateLimited, ServerFailed
from vancetope.messages import Finish, Reply, User

AZURE, OPENROUTER, OLLAMA, LMSTUDIO = (PROFILES[name] for name in ("azure", "openrouter", "ollama", "lmstudio"))
KEY = "0123456789abcdef0123456789abcdef"
HELLO = (User("hello"),)
BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


async def asked(
    profile: Profile,
    *answers: Answer,
    path: str = "/v1",
    streamed: bool = False,
    model: str = "m-1",
    on_piece: Callable[[Piece], None] = lambda piece: None,
    **fields: Any,
) -> tuple[Reply, Raw]:
    async with serving(*answers) as server:
        url = f"http://127.0.0.1:{server.port}{path}"
        backend = OpenAICompatible(url, KEY, profile=profile, attempts=1)
        try:
            request = Request(model, "be brief", **{"messages": HELLO, **fields})
            return await backend.complete(request, on_piece if streamed else None), server
        finally:
            await backend.aclose()


async def failure(profile: Profile, *answers: Answer, streamed: bool = False, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await asked(profile, *answers, streamed=streamed, **options)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    return event({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]})


# Every profile.


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "local"])
async def test_a_server_gets_its_key_in_the_header_it_reads(name: str) -> None:
    _, server = await asked(PROFILES[name], said(), path="/openai/v1" if name == "azure" else "/v1")
    headers = server.asked[0].headers
    if name == "azure":
        assert headers["api-key"] == KEY
        assert "authorization" not in headers
    else:
        assert headers["authorization"] == f"Bearer {KEY}"
        assert "api-key" not in headers


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("thinking", [None, "off"])
async def test_a_turn_with_a_tool_is_one_that_a_strict_server_takes(name: str, thinking: Thinking | None) -> None:
    def clock() -> str:
        """Tell the time."""
        return "15:42"

    async with FaultServer([call("clock"), respond("It is 15:42.")], key=KEY) as server:
        backend = OpenAICompatible(server.base_url, KEY, profile=PROFILES[name])
        settings = ModelSettings(max_tokens=99, seed=7, thinking=thinking)
        turn = await vt.ask("time?", model=backend, tools=[clock], model_settings=settings)
        await backend.aclose()
    assert (turn.outcome, turn.unwrap()) == ("respond", "It is 15:42.")
    assert server.violations == []


def test_a_server_that_bills_is_not_asked_without_a_key() -> None:
    for name in ("openai", "azure", "openrouter"):
        url = PROFILES[name].base_url or "https://lab.openai.azure.com"
        with pytest.raises(ConfigError, match=f"{name} needs a key: set {PROFILES[name].key_variable}"):
            OpenAICompatible(url, profile=PROFILES[name])
    for name in ("ollama", "lmstudio", "vllm", "llamacpp"):
        OpenAICompatible(profile=PROFILES[name])


def test_every_server_of_this_machine_says_how_it_is_started() -> None:
    here = [profile for profile in PROFILES.values() if "127.0.0.1" in (profile.base_url or "")]
    assert {profile.name for profile in here} == {"ollama", "lmstudio", "vllm", "llamacpp"}
    assert all(profile.start for profile in here)
    assert len({profile.base_url for profile in here}) == 4
    assert len({profile.url_variable for profile in PROFILES.values() if profile.url_variable}) == len(PROFILES) - 1


def test_a_profile_without_a_home_holds_wherever_its_server_is() -> None:
    for name, profile in PROFILES.items():
        elsewhere = at_host(profile, "127.0.0.1")
        assert (elsewhere == profile) == (name != "openai")


# Azure: addresses.

LAB = "https://lab.openai.azure.com"


@pytest.mark.parametrize(
    ("given", "api_version", "base_url", "path"),
    [
        (LAB, None, f"{LAB}/openai/v1", "/chat/completions"),
        (f"{LAB}/", None, f"{LAB}/openai/v1", "/chat/completions"),
        (f"{LAB}/openai/", None, f"{LAB}/openai/v1", "/chat/completions"),
        (f"{LAB}/openai/v1/", None, f"{LAB}/openai/v1", "/chat/completions"),
        (f"{LAB}/openai/v1/chat/completions", None, f"{LAB}/openai/v1", "/chat/completions"),
        (LAB, "preview", f"{LAB}/openai/v1?api-version=preview", "/chat/completions"),
        (f"{LAB}?api-version=preview", None, f"{LAB}/openai/v1?api-version=preview", "/chat/completions"),
        (LAB, "2024-10-21", f"{LAB}/openai?api-version=2024-10-21", "/deployments/my%20gpt/chat/completions"),
        (
            f"{LAB}/openai?api-version=2024-10-21",
            "2025-01-01",
            f"{LAB}/openai?api-version=2024-10-21",
            "/deployments/my%20gpt/chat/completions",
        ),
        (
            f"{LAB}/openai/deployments/other?api-version=2024-10-21",
            None,
            f"{LAB}/openai/deployments/other?api-version=2024-10-21",
            "/chat/completions",
        ),
        ("https://gate.example/team-a/openai/v1", None, "https://gate.example/team-a/openai/v1", "/chat/completions"),
    ],
)
def test_an_endpoint_of_azure_leads_to_its_api(given: str, api_version: str | None, base_url: str, path: str) -> None:
    found = base_url_of(AZURE, given, api_version)
    assert found == base_url
    assert base_url_of(AZURE, found) == found
    assert chat_path(AZURE, found.partition("?")[0], "my gpt") == path


@pytest.mark.parametrize("given", ["http://[::1", "nonsense", "", "ftp://x/y", "https://"])
def test_what_is_no_url_is_left_for_others_to_refuse(given: str) -> None:
    assert base_url_of(AZURE, given, "2024-10-21").startswith(given)
    with pytest.raises(ConfigError):
        OpenAICompatible(given or None, KEY, profile=AZURE)


def test_without_an_endpoint_azure_names_the_variable_of_one() -> None:
    with pytest.raises(ConfigError, match="azure needs a base URL: set AZURE_OPENAI_ENDPOINT"):
        OpenAICompatible(None, KEY, profile=AZURE)


def test_the_url_of_another_server_gets_no_path() -> None:
    assert base_url_of(PROFILES["vllm"], " http://127.0.0.1:8000 ") == "http://127.0.0.1:8000"
    assert base_url_of(PROFILES["openai"], "http://127.0.0.1/v1?key=a%20b") == "http://127.0.0.1/v1?key=a%20b"


@BOTH
async def test_a_request_to_azure_goes_to_the_api_without_versions(streamed: bool) -> None:
    _, server = await asked(AZURE, said(), path="", streamed=streamed, settings=ModelSettings(max_tokens=9))
    assert server.asked[0].line == "POST /openai/v1/chat/completions HTTP/1.1"
    assert server.asked[0].body["model"] == "m-1"
    assert server.asked[0].body["max_completion_tokens"] == 9


async def test_a_request_to_the_older_azure_names_the_deployment_in_its_path() -> None:
    _, server = await asked(AZURE, said(), path="?api-version=2024-10-21", model="my gpt")
    line = "POST /openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21 HTTP/1.1"
    assert server.asked[0].line == line


# Azure: its filter.

FILTERED = {
    "error": {
        "message": "The response was filtered due to the prompt triggering the content management policy.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"violence": {"filtered": True, "severity": "high"}},
        },
    }
}
SAFE = {"hate": {"filtered": False, "severity": "safe"}}


@BOTH
async def test_a_prompt_that_azure_filters_is_a_filtered_reply_and_no_bad_request(streamed: bool) -> None:
    reply, server = await asked(AZURE, answer(FILTERED, 400), streamed=streamed, settings=ModelSettings(max_tokens=9))
    assert (reply.finish, reply.text, reply.calls) == (Finish.CONTENT_FILTER, "", ())
    assert (reply.requests, reply.limit) == (1, 9)
    assert reply.usage.estimated
    assert reply.usage.input_tokens == len(server.asked[0].text) // 4
    assert reply.usage.output_tokens == 0


async def test_a_turn_with_a_prompt_that_azure_filters_ends_as_filtered() -> None:
    async with serving(answer(FILTERED, 400)) as server:
        backend = OpenAICompatible(f"http://127.0.0.1:{server.port}", KEY, profile=AZURE)
        turn = await vt.ask("something vile", model=backend)
        await backend.aclose()
    assert turn.outcome == "filtered"
    assert len(server.asked) == 1


async def test_a_whole_reply_of_azure_with_its_filters_findings_is_read() -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": "Hi"}, "content_filter_results": SAFE}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    data = {"model": "gpt-x", "choices": [choice], "usage": usage, "prompt_filter_results": [{"prompt_index": 0}]}
    reply, _ = await asked(AZURE, answer(data))
    assert (reply.text, reply.finish, reply.model) == ("Hi", Finish.STOP, "gpt-x")
    assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (9, 4)


async def test_a_stream_of_azure_with_its_filters_findings_is_read() -> None:
    parts = [
        event({"choices": [], "model": "", "prompt_filter_results": [{"prompt_index": 0}]}),
        chunk({"role": "assistant", "content": "Good "}, content_filter_results={}),
        chunk({"content": "morning"}, content_filter_results=SAFE),
        event({"choices": [{"index": 0, "content_filter_results": SAFE, "content_filter_offsets": {"check": 4}}]}),
        chunk({}, "content_filter", content_filter_results={"violence": {"filtered": True}}),
        event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}),
        DONE,
    ]
    reply, _ = await asked(AZURE, stream(*parts), streamed=True)
    assert (reply.text, reply.finish, reply.model) == ("Good morning", Finish.CONTENT_FILTER, "m-1")
    assert reply.usage.input_tokens == 9


async def test_a_stream_that_the_filter_breaks_off_is_filtered_too() -> None:
    broken_off = event({"error": {"code": "content_filter", "message": "The response was filtered", "param": None}})
    reply, _ = await asked(AZURE, stream(chunk({"content": "How to"}), broken_off), streamed=True)
    assert (reply.finish, reply.text) == (Finish.CONTENT_FILTER, "")


@pytest.mark.parametrize(
    ("status", "error", "kind", "words"),
    [
        (401, {"code": "401", "message": "Access denied: invalid key."}, AuthRefused, "AZURE_OPENAI_API_KEY"),
        (404, {"code": "DeploymentNotFound", "message": "It does not exist."}, ModelError, "does not exist"),
        (429, {"code": "RateLimitReached", "message": "Retry after 6 seconds."}, RateLimited, "after 6 seconds"),
        (400, {"code": "context_length_exceeded", "message": "too long"}, ContextTooLong, "context window"),
    ],
)  # fmt: skip
async def test_what_azure_refuses_is_told_with_what_to_do(
    status: int, error: Any, kind: type[ModelError], words: str
) -> None:
    found = await failure(AZURE, answer({"error": error}, status))
    assert isinstance(found, kind)
    assert not isinstance(found, PromptFiltered)
    assert words in str(found)


@pytest.mark.parametrize(
    ("profile", "status", "error"),
    [
        ("openai", 400, {"code": "invalid_prompt", "message": "Your prompt was flagged."}),
        ("openrouter", 403, {"code": 403, "message": "Flagged", "metadata": {"reasons": ["hate"]}}),
        ("vllm", 400, {"message": "Content Exists Risk", "code": "invalid_request_error"}),
    ],
)  # fmt: skip
async def test_others_filter_prompts_too(profile: str, status: int, error: Any) -> None:
    reply, _ = await asked(PROFILES[profile], answer({"error": error}, status))
    assert (reply.finish, reply.text) == (Finish.CONTENT_FILTER, "")


async def test_a_403_without_reasons_is_about_the_key() -> None:
    found = await failure(OPENROUTER, answer({"error": {"code": 403, "message": "No", "metadata": {}}}, 403))
    assert isinstance(found, AuthRefused)
    assert "OPENROUTER_API_KEY" in str(found)


# OpenRouter.

ROUTED = {
    "prompt_tokens": 194,
    "completion_tokens": 20,
    "total_tokens": 214,
    "cost": 0.00095,
    "is_byok": False,
    "cost_details": {"upstream_inference_cost": 0.0009},
    "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 100, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 8},
}


@BOTH
async def test_openrouter_says_what_a_reply_cost_and_which_tokens_it_counts(streamed: bool) -> None:
    whole = {"model": "a/b", "provider": "X", "usage": ROUTED}
    one = answer({**whole, "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]})
    many = stream(
        ": OPENROUTER PROCESSING\n\n",
        ": OPENROUTER PROCESSING\n\n",
        chunk({"role": "assistant", "content": "Hi"}),
        chunk({"content": ""}, "stop", native_finish_reason="completed"),
        event({**whole, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": None}]}),
        DONE,
    )
    reply, server = await asked(OPENROUTER, many if streamed else one, streamed=streamed, path="/api/v1")
    assert server.asked[0].line == "POST /api/v1/chat/completions HTTP/1.1"
    assert (reply.text, reply.finish, reply.model) == ("Hi", Finish.STOP, "a/b")
    usage = reply.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (194, 50, 100)
    assert (usage.output_tokens, usage.thinking_tokens, usage.estimated) == (20, 8, False)
    assert reply.cost == 0.00095


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}, 0.021),
        ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, 0.001),
        ({"cost": 0, "is_byok": False}, 0.0),
        ({"cost": None}, None),
        ({"cost": "0.5"}, None),
        ({"cost": -1}, None),
        ({"cost": True}, None),
        ({"cost": 1e400}, None),
        ({}, None),
    ],
)
async def test_only_an_amount_is_a_cost(usage: dict[str, Any], cost: float | None) -> None:
    data = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    reply, _ = await asked(OPENROUTER, page(json.dumps(data)))
    assert reply.cost == (None if cost is None else pytest.approx(cost))


async def test_a_cost_in_nobody_knows_what_is_none() -> None:
    data = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"cost": 3}}
    reply, _ = await asked(PROFILES["vllm"], answer(data))
    assert reply.cost is None


async def test_routing_goes_through_as_it_is() -> None:
    routing = {"order": ["anthropic"], "allow_fallbacks": False}
    _, server = await asked(OPENROUTER, said(), settings=ModelSettings(extra={"provider": routing}))
    assert server.asked[0].body["provider"] == routing


@BOTH
async def test_an_error_in_the_middle_of_a_reply_is_no_reply(streamed: bool) -> None:
    error = {"code": 502, "message": "Provider disconnected", "metadata": {"provider_name": "X"}}
    choice = {"index": 0, "message": {"content": "Half a"}, "finish_reason": "error", "error": error}
    many = stream(
        chunk({"content": "Half a"}),
        event({"error": error, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
    )
    found = await failure(OPENROUTER, many if streamed else answer({"choices": [choice]}), streamed=streamed)
    assert isinstance(found, ServerFailed)
    assert found.status == 502
    assert "Provider disconnected" in str(found)


@BOTH
async def test_a_choice_that_stopped_with_an_error_is_no_reply_even_if_nothing_says_which(streamed: bool) -> None:
    one = answer({"choices": [{"index": 0, "message": {"content": "Half"}, "finish_reason": "error"}]})
    many = stream(chunk({"content": "Half"}), chunk({}, "error"), DONE)
    found = await failure(OPENROUTER, many if streamed else one, streamed=streamed)
    assert isinstance(found, ServerFailed)
    assert found.retryable


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('{"error":{"message":"Overloaded, try later","type":"overloaded_error"}}', "Anthropic: Overloaded, try later"),
        ("upstream broke", "Anthropic: upstream broke"),
        ({"error": {"message": "deep"}}, "Anthropic: deep"),
        ("", "Provider returned error"),
        (7, "Provider returned error"),
    ],
)
async def test_the_words_of_the_provider_behind_the_router_are_told(raw: Any, words: str) -> None:
    metadata = {"raw": raw, "provider_name": "Anthropic"}
    error = {"code": 429, "message": "Provider returned error", "metadata": metadata}
    found = await failure(OPENROUTER, answer({"error": error, "user_id": "u"}, 429))
    assert isinstance(found, RateLimited)
    assert f'"{words}"' in str(found)


async def test_too_little_credit_does_not_come_back_but_credit_that_is_held_does() -> None:
    error = {"error": {"code": 402, "message": "Insufficient credits"}}
    spent = await failure(OPENROUTER, answer(error, 402))
    assert isinstance(spent, QuotaSpent)
    held = await failure(OPENROUTER, answer(error, 402, retry_after="3"))
    assert type(held) is RateLimited
    assert (held.status, held.retry_after) == (402, 3.0)
    assert "still run (402)" in str(held)


async def test_the_routers_limits_stand_in_the_body() -> None:
    metadata = {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "20"}}
    found = await failure(OPENROUTER, answer({"error": {"code": 429, "message": "No", "metadata": metadata}}, 429))
    assert found.retry_after == 20.0


# Servers on this machine.


@BOTH
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("profile", [OLLAMA, LMSTUDIO, PROFILES["vllm"], PROFILES["llamacpp"]])
async def test_thinking_is_read_under_both_of_its_names(profile: Profile, field: str, streamed: bool) -> None:
    one = said("Hi", **{field: "hm, let me see"})
    many = stream(chunk({field: "hm, "}), chunk({field: "let me see"}), chunk({"content": "Hi"}, "stop"), DONE)
    pieces: list[Piece] = []
    reply, _ = await asked(profile, many if streamed else one, streamed=streamed, on_piece=pieces.append)
    assert (reply.text, reply.thinking) == ("Hi", "hm, let me see")
    if streamed:
        assert "".join(each.text for each in pieces if isinstance(each, ThinkingPiece)) == reply.thinking
        assert "".join(each.text for each in pieces if isinstance(each, TextPiece)) == "Hi"


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        # input, output, cached, written to the cache, thinking
        ({"prompt_tokens": 9, "completion_tokens": 3}, (9, 3, 0, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": None}, (9, 3, 0, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}, (9, 3, 8, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 8}, (9, 3, 8, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 8}, (9, 3, 8, 0, 0)),
        (
            {
                "input_tokens": 9,
                "output_tokens": 5,
                "input_tokens_details": {"cached_tokens": 2, "cache_creation_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 3},
            },
            (9, 5, 2, 4, 3),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "cache_read_input_tokens": 2,
                "cache_creation_input_tokens": 4,
                "reasoning_tokens": 3,
            },
            (9, 5, 2, 4, 3),
        ),
    ],
)
async def test_tokens_are_counted_under_every_name_they_have(usage: Any, counts: tuple[int, ...]) -> None:
    data = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    reply, _ = await asked(PROFILES["vllm"], answer(data))
    found = reply.usage
    assert counts == (
        found.input_tokens,
        found.output_tokens,
        found.cached_tokens,
        found.cache_write_tokens,
        found.thinking_tokens,
    )
    assert not found.estimated
