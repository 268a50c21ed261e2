"""Structured questions over all providers: the provider's own response format, and what they really answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases.playing import TOOLS, paris
from tests.providers.providing import EVERY, SHORT, WAYS, Provider, put
from vancetope.backends.faults import KINDS, Given
from vancetope.backends.faults.answers import ANSWERS
from vancetope.backends.scripted import say, think
from vancetope.messages import Reply, Usage
from vancetope.outcome import Enforcement

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "people": {"type": "integer", "minimum": 1},
        "river": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["city", "people"],
}
OSLO = {"city": "Oslo", "people": 717_710}
FITS = json.dumps(OSLO)


@EVERY
@WAYS
async def test_the_providers_own_response_format_is_asked_for(provider: Provider, streams: bool) -> None:
    whole = {**OSLO, "river": "Akerselva"}
    answer, server = await put([json.dumps(whole)], provider, streams, {**CITY, "required": list(whole)})
    assert (answer.unwrap(), answer.attempts, answer.rule) == (whole, 1, "strict")
    assert answer.enforcement == Enforcement("native", "native")
    (asked,) = server.requests
    assert asked.schema is not None
    assert set(asked.schema["properties"]) == {"city", "people", "river"}
    assert asked.tools == {}
    assert asked.forced is None


@EVERY
@WAYS
async def test_an_object_that_misses_the_callers_schema_is_corrected(provider: Provider, streams: bool) -> None:
    """No provider's format can say everything: what it cannot is checked here."""
    answer, server = await put(['{"city": "O", "people": 0}', FITS], provider, streams, CITY)
    assert (answer.unwrap(), answer.attempts) == (OSLO, 2)
    assert [role for role, _ in server.requests[1].turns] == ["user", "assistant", "user"]
    assert "city" in server.requests[1].said
    assert server.requests[0].system == server.requests[1].system


@EVERY
@WAYS
async def test_a_format_that_is_ignored_is_corrected_once_it_is_seen(provider: Provider, streams: bool) -> None:
    answer, server = await put([KINDS["constraint_ignored"], FITS], provider, streams, CITY)
    assert (answer.unwrap(), answer.attempts) == (OSLO, 2)
    assert len(server.requests) == 2
    never, _ = await put(lambda asked: KINDS["constraint_ignored"], provider, streams, CITY)
    assert (never.success, never.error) == (False, "max_attempts_exceeded")
    assert never.attempts <= 3


@EVERY
@WAYS
@pytest.mark.parametrize("kind", [each.name for each in ANSWERS])
async def test_any_answer_leaves_an_object_that_fits_or_a_named_failure(
    provider: Provider, streams: bool, kind: str
) -> None:
    script: list[Given] = [KINDS[kind], *[FITS] * 3]
    answer, _ = await put(script, provider, streams, CITY)
    assert answer.success
    assert {"city", "people"} <= set(answer.unwrap())
    stays, _ = await put(lambda asked: KINDS[kind], provider, streams, CITY)
    assert stays.success or stays.error in ("max_attempts_exceeded", "output_truncated", "schema_violation")


@EVERY
@WAYS
async def test_tools_come_first_and_the_format_with_the_answer(provider: Provider, streams: bool) -> None:
    def script(asked: Any) -> Given:
        if asked.tools and asked.result is None:
            return paris
        return say(FITS) if asked.schema is not None else say("It is 15:42.")

    answer, server = await put(script, provider, streams, CITY, tools=TOOLS)
    assert answer.unwrap() == OSLO
    assert "get_time" in server.requests[0].tools
    assert server.requests[-1].schema is not None


@EVERY
@WAYS
@pytest.mark.parametrize("kind", ["refusal_field", "refusal_finish", "content_filter"])
async def test_a_refusal_is_a_named_failure(provider: Provider, streams: bool, kind: str) -> None:
    answer, server = await put([KINDS[kind]], provider, streams, CITY)
    assert (answer.success, answer.error) == (False, "refused")
    assert len(server.requests) == 1


@EVERY
@WAYS
@pytest.mark.parametrize(("kind", "repeats"), [("status_401", 0), ("status_500", 2), ("half_stream", 1)])
async def test_a_server_that_fails_is_a_named_failure(
    provider: Provider, streams: bool, kind: str, repeats: int
) -> None:
    answer, _ = await put(lambda asked: KINDS[kind], provider, streams, CITY, repeats=repeats)
    assert (answer.success, answer.error) == (False, "llm_error")


@EVERY
@WAYS
async def test_silence_is_a_named_failure(provider: Provider, streams: bool) -> None:
    answer, _ = await put([KINDS["silence"]], provider, streams, CITY, patience=SHORT)
    assert (answer.success, answer.error) == (False, "llm_error")


@EVERY
@WAYS
async def test_thinking_and_tokens_do_not_touch_the_answer(provider: Provider, streams: bool) -> None:
    said = Usage(100, 50, cached_tokens=20, thinking_tokens=10)
    reply = Reply(text=FITS, thinking='So {"city": "no"}', usage=said)
    answer, _ = await put([reply], provider, streams, CITY)
    assert (answer.unwrap(), answer.rule) == (OSLO, "strict")
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.thinking_tokens) == (100, 50, 20, 10)
    assert answer.cost


@EVERY
@WAYS
async def test_a_prompted_question_needs_no_format(provider: Provider, streams: bool) -> None:
    answer, server = await put([think("hm", FITS)], provider, streams, CITY, enforcement="prompted")
    assert answer.unwrap() == OSLO
    assert server.requests[0].schema is None
    assert '"minLength"' in server.requests[0].system + server.requests[0].said
