"""What only some providers say, over all of them: signed thinking that goes back, tokens, cache, money."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest

import vancetope
from tests.cases.playing import PROMPT, TOOLS, answer, brief, oslo, paris
from tests.harness import Refusing
from tests.providers.providing import EVERY, MODELS, TOLD, WAYS, Provider, info, play
from vancetope.backends.faults import KINDS, Asked
from vancetope.backends.faults.asked import signature
from vancetope.backends.faults.check_gemini import DIGEST, STAND_INS
from vancetope.backends.scripted import calls, say, think
from vancetope.events import UsageRecorded
from vancetope.journal import RecordingJournal
from vancetope.messages import Reply, Usage
from vancetope.models.base import cost_of
from vancetope.outcome import Outcome

THINKS: dict[str, Any] = {"model_settings": {"thinking": "medium", "max_tokens": 12_000}}


def thought_in(asked: Asked) -> list[tuple[str, str]]:
    """Every thought that goes back in this request, as (text, signature), in the provider's own fields. Of signatures
    that bind, only what is of the text itself."""
    found: list[tuple[str, str]] = []
    if asked.dialect == "anthropic":
        for message in asked.body["messages"]:
            blocks = message["content"] if isinstance(message["content"], list) else []
            found += [(each["thinking"], each["signature"]) for each in blocks if each["type"] == "thinking"]
    elif asked.dialect == "gemini":
        for content in asked.body["contents"]:
            texts = [each["text"] for each in content["parts"] if each.get("thought")]
            signed = [each["thoughtSignature"] for each in content["parts"] if "thoughtSignature" in each]
            plain = (each.replace("-", "+").replace("_", "/") for each in signed)
            found += [("".join(texts), each) for each in plain if b64decode(each) not in STAND_INS]
    return [(text, b64encode(b64decode(signed)[:DIGEST]).decode()) for text, signed in found]


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@WAYS
async def test_signed_thinking_goes_back_as_it_came(provider: Provider, streams: bool) -> None:
    script = [
        think("Which city? Zürich 👋🏽", paris),
        think("And the weather?", calls(oslo, text="So.")),
        think("Ah.", brief),
    ]
    played = await play(script, provider, streams, **THINKS)
    assert played.turn.outcome is Outcome.RESPOND
    one, two, three = (thought_in(asked) for asked in played.requests)
    first = ("Which city? Zürich 👋🏽", signature("Which city? Zürich 👋🏽"))
    assert one == []
    assert [each[1] for each in two] == [first[1]]
    assert [each[1] for each in three] == [first[1], signature("And the weather?")]
    if provider == "anthropic":
        assert three == [first, ("And the weather?", signature("And the weather?"))]
    assert all(asked.thinking for asked in played.requests)


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@WAYS
async def test_thinking_before_text_that_is_corrected_breaks_nothing(provider: Provider, streams: bool) -> None:
    played = await play([think("Hm.", say("I will look.")), think("Now.", paris), brief], provider, streams, **THINKS)
    assert (played.turn.outcome, played.turn.corrections) == (Outcome.RESPOND, 1)
    assert [each[1] for each in thought_in(played.requests[2])][-1] == signature("Now.")


@EVERY
@WAYS
async def test_thinking_is_in_no_message_and_no_answer(provider: Provider, streams: bool) -> None:
    script = [think("sEcret thought", paris), think("sEcret thought", brief)]
    played = await play(script, provider, streams, unchecked=(TOLD,), **THINKS)
    assert "sEcret" not in f"{played.turn.message} {played.turn.best_text} {played.turn.messages.to_json()}"
    follows = await play([brief], provider, streams, prompt="And now?", history=played.turn.messages, unchecked=(TOLD,))
    assert follows.turn.outcome is Outcome.RESPOND


@EVERY
@WAYS
async def test_nothing_of_thinking_is_asked_for_where_nobody_wants_it(provider: Provider, streams: bool) -> None:
    played = await play([brief], provider, streams)
    body = played.requests[0].body
    assert "thinking" not in body
    assert "thinkingConfig" not in body.get("generationConfig", {})


ANTHROPIC = [
    "claude-haiku-5-5",
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "claude-opus-5",
    "claude-opus-4-6",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
]
GEMINI = ["gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-2.5-flash", "gemini-2.5-pro"]


@pytest.mark.parametrize("level", ["off", "low", "medium", "high"])
@pytest.mark.parametrize(
    ("provider", "model"), [*(("anthropic", each) for each in ANTHROPIC), *(("gemini", each) for each in GEMINI)]
)
async def test_every_model_is_asked_to_think_as_its_provider_takes_it(
    provider: Provider, model: str, level: str
) -> None:
    settings: dict[str, Any] = {"thinking": level}
    played = await play([think("hm", paris), say("So."), brief], provider, True, model=model, model_settings=settings)
    assert played.turn.outcome is Outcome.RESPOND
    if level != "off" or (info(provider, model).thinking != "always" and model != "gemini-3.8-flash"):
        assert played.requests[0].thinking is (level != "off"), "some cannot be kept from it, they are asked for little"


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@WAYS
async def test_a_turn_with_signed_thinking_is_the_same_from_its_journal(provider: Provider, streams: bool) -> None:
    journal = RecordingJournal()
    script = [think("Which city?", paris), think("And the weather?", calls(oslo, text="So.")), think("Ah.", brief)]
    played = await play(script, provider, streams, journal=journal, **THINKS)
    frozen = RecordingJournal.from_json(journal.to_json(), frozen=True)
    again = await vancetope.ask(
        PROMPT, model=Refusing(), journal=frozen, tools=TOOLS, model_settings={"max_tokens": 12_000}
    )
    assert (again.outcome, again.message, again.messages) == (
        played.turn.outcome,
        played.turn.message,
        played.turn.messages,
    )
    assert again.usage == played.turn.usage
    assert frozen.ran == []


# Tokens and money.


def counted(provider: Provider) -> Usage:
    """What this provider can say: only Anthropic tells what was written to a cache."""
    written = 300 if provider == "anthropic" else 0
    return Usage(1000, 500, cached_tokens=200, thinking_tokens=100, cache_write_tokens=written)


@EVERY
@WAYS
async def test_all_that_a_provider_says_of_tokens_reaches_the_turn(provider: Provider, streams: bool) -> None:
    said = counted(provider)
    script = [Reply(calls=paris.calls, finish=paris.finish, usage=said), Reply(calls=answer.calls, usage=said)]
    played = await play(script, provider, streams)
    usage = played.turn.usage
    assert (usage.input_tokens, usage.output_tokens) == (2000, 1000)
    assert (usage.cached_tokens, usage.cache_write_tokens) == (400, 2 * said.cache_write_tokens)
    assert usage.thinking_tokens == 200
    assert not usage.estimated
    known = info(provider)
    price = cost_of(known, said)
    assert price is not None
    assert played.turn.cost == pytest.approx(2 * price)
    if streams:
        recorded = played.of(UsageRecorded)
        assert [each.usage for each in recorded] == [said, said]
        assert [each.model for each in recorded] == [MODELS[provider]] * 2, "the name that the server says"


@EVERY
@WAYS
async def test_where_a_provider_says_nothing_of_tokens_they_are_estimated(provider: Provider, streams: bool) -> None:
    played = await play([KINDS["no_usage"]], provider, streams)
    assert played.turn.usage.estimated
    assert played.turn.usage.input_tokens > 100
    assert played.turn.usage.output_tokens > 0


@EVERY
@WAYS
async def test_the_prompt_of_every_request_begins_like_the_one_before_so_that_a_cache_can_serve_it(
    provider: Provider, streams: bool
) -> None:
    played = await play([calls(paris, oslo), say("So."), brief], provider, streams)
    assert played.requests[0].said == PROMPT
    for before, after in zip(played.requests, played.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        for key in ("system", "systemInstruction", "tools"):
            assert after.body.get(key) == before.body.get(key)
