"""A conversation that moves from provider to provider: what one left is taken by every other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.playing import answer, brief, oslo, paris, work_calls
from tests.providers.providing import EVERY, PROVIDERS, TOLD, WAYS, Provider, play
from tests.providers.test_thinking import thought_in
from vancetope.backends.faults import KINDS, Given
from vancetope.backends.scripted import call, calls, cut, respond, say, think
from vancetope.messages import File, History, Image, User
from vancetope.outcome import Outcome

ANYWHERE = pytest.mark.parametrize("target", PROVIDERS)
THINKS: dict[str, Any] = {"model_settings": {"thinking": "low", "max_tokens": 12_000}}

# Turns that leave something behind that some provider does not like.
LEAVING: dict[str, list[Given]] = {
    "calls": [calls(paris, oslo, text="Both."), brief],
    "signed thinking": [think("hmm", paris), think("so", brief)],
    "a correction": [say("I will look."), paris, answer],
    "an unknown tool": [call("get_tiem", city="Rome"), brief],
    "a nameless call": [KINDS["no_name"], brief],
    "a call with an odd name": [KINDS["odd_name"], brief],
    "arguments that are no JSON": [KINDS["bad_arguments"], brief],
    "arguments that are a list": [KINDS["array_arguments"], brief],
    "a cut call": [cut(paris, 5), brief],
    "respond beside work": [calls(paris, respond("Rain.", True)), brief],
    "equal ids": [KINDS["equal_ids"], brief],
    "long ids": [KINDS["long_id"], brief],
    "a refusal": [paris, KINDS["refusal_field"]],
    "nothing": [paris, *[KINDS["empty_text"]] * 9],
    "a server's failure": [paris, KINDS["status_401"]],
    "white space": [KINDS["blank_text"], brief],
}


@EVERY
@ANYWHERE
@pytest.mark.parametrize("left", LEAVING)
async def test_a_history_of_one_provider_is_continued_on_another(
    provider: Provider, target: Provider, left: str
) -> None:
    options = THINKS if left == "signed thinking" else {}
    first = await play(list(LEAVING[left]), provider, True, unchecked=(TOLD,), **options)
    stored = History.from_json(first.turn.messages.to_json())
    second = await play([oslo, brief], target, False, prompt="And in Oslo?", history=stored, **options)
    assert second.turn.outcome is Outcome.RESPOND
    assert second.requests[0].said.endswith("And in Oslo?")
    if first.turn.message:
        assert first.turn.message in str(second.requests[0].messages)
    calls_before = work_calls(first.turn.messages)
    sent = [made["function"]["name"] for each in second.requests[0].messages for made in each.get("tool_calls", ())]
    assert [name for name in sent if name in ("get_time", "get_weather")] == [
        name for name in calls_before if name in ("get_time", "get_weather")
    ]


@EVERY
@ANYWHERE
async def test_one_providers_thinking_never_goes_to_another(provider: Provider, target: Provider) -> None:
    first = await play([think("sEcret", paris), think("sEcret", brief)], provider, True, unchecked=(TOLD,), **THINKS)
    second = await play([paris, brief], target, True, prompt="Again?", history=first.turn.messages, **THINKS)
    assert second.turn.outcome is Outcome.RESPOND
    if provider != target:
        assert "sEcret" not in str(second.requests[0].body)
        assert thought_in(second.requests[0]) == []


@EVERY
@WAYS
async def test_a_conversation_of_many_turns_goes_round_all_providers(provider: Provider, streams: bool) -> None:
    history: Any = ()
    start = PROVIDERS.index(provider)
    for number in range(6):
        at = PROVIDERS[(start + number) % len(PROVIDERS)]
        script: list[Given] = [think(f"hmm {number}", calls(paris, oslo)), say("So."), answer]
        prompt = f"Question {number}?"
        played = await play(script, at, streams, prompt=prompt, history=history, unchecked=(TOLD,), **THINKS)
        assert played.turn.outcome is Outcome.RESPOND
        history = played.turn.messages
        asked = [each for each in played.requests[0].messages if each["role"] == "user"]
        assert len(asked) >= 1
    assert [each.content for each in history if isinstance(each, User)] == [f"Question {n}?" for n in range(6)]


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


@EVERY
@WAYS
async def test_images_go_to_every_provider_in_its_own_way(provider: Provider, streams: bool) -> None:
    prompt = ["What is on it?", Image(PIXEL)]
    played = await play([brief], provider, streams, prompt=prompt)
    assert played.turn.outcome is Outcome.RESPOND
    parts = played.requests[0].messages[-1]["content"]
    assert [part["type"] for part in parts if part["type"] == "text"] == ["text"]
    assert len(parts) == 2
    assert "iVBORw0KGgo" in str(played.requests[0].body)


@EVERY
@WAYS
async def test_a_file_goes_to_every_provider_in_its_own_way(provider: Provider, streams: bool) -> None:
    file = File("report.pdf", "application/pdf", "JVBERi0xLjQKJSVFT0YK")
    played = await play([brief], provider, streams, prompt=["Read this.", file])
    assert played.turn.outcome is Outcome.RESPOND
    assert "JVBERi0xLjQKJSVFT0YK" in str(played.requests[0].body)
