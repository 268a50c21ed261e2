"""Reports that name a provider's way to speak, over Anthropic's and Gemini's own APIs (C04 to C102)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import vancetope
from tests.cases.playing import (
    PROMPT,
    answer,
    at,
    content,
    everything,
    ids,
    oslo,
    paris,
    roles,
    work_calls,
    work_results,
)
from tests.cases.providers import (
    BOTH,
    FORMS,
    KEY,
    MODELS,
    STREAMED,
    UNENDED,
    ProviderLine,
    choice_of,
    limit_of,
    one_by_one,
    play,
    put,
    thinks,
    told,
    url_of,
)
from tests.questions.asking import CITY, FITS, OSLO, without_waiting
from tests.questions.asking import PROMPT as QUESTION
from vancetope.backends.base import ModelSettings, Piece, Request
from vancetope.backends.direct import connect
from vancetope.backends.faults import KINDS, NARRATIONS, Asked, FaultServer, Given, spoken
from vancetope.backends.faults.edits import finish
from vancetope.backends.scripted import (
    call,
    calls,
    cut,
    empty,
    filtered,
    malformed,
    raw_call,
    refuse,
    respond,
    say,
    think,
)
from vancetope.events import ToolStarted, TurnNarrowed
from vancetope.messages import Assistant, Call, Finish, History, Reply, Result, ToolSpec, Usage, User
from vancetope.models.catalogue import catalogue
from vancetope.outcome import DELIVERED, EnforcementName, Outcome

# A turn that the provider keeps open (C04).


@STREAMED
async def test_c04_a_paused_turn_of_anthropic_is_sampled_again_with_nothing_of_ours(listening: bool) -> None:
    # A paused reply goes back as the last message, which the API takes from nobody else.
    played = await play([KINDS["end_turn_false"], answer], "anthropic", listening=listening, unchecked=(UNENDED,))
    assert (played.turn.outcome, played.turn.corrections, played.rows) == (Outcome.RESPOND, 0, [])
    before, after = (asked.messages for asked in played.requests)
    assert after[: len(before)] == before
    assert [(each["role"], content(each)) for each in after[len(before) :]] == [("assistant", NARRATIONS["en"])]


async def test_c04_paused_replies_of_anthropic_count_against_the_cap() -> None:
    script: list[Given] = [KINDS["end_turn_false"], KINDS["end_turn_false"], answer]
    played = await play(script, "anthropic", max_iterations=2, unchecked=(UNENDED,))
    assert (played.turn.narrowed, played.turn.rounds) == (True, 3)
    assert list(played.requests[-1].tools) == ["respond"]


async def test_c04_gemini_has_no_word_for_it_so_such_a_text_is_narration() -> None:
    played = await play([KINDS["end_turn_false"], answer], "gemini")
    assert (played.turn.outcome, played.turn.corrections, played.rows) == (Outcome.RESPOND, 1, ["narrated"])


# Calls and their results (C22, C61, C72, C83).

WITH_CALLS = [
    "equal_ids",
    "no_id",
    "constant_id",
    "long_id",
    "two_responds",
    "two_responds_and_work",
    "respond_after_work",
    "respond_before_work",
    "invalid_respond_and_work",
    "unknown_tool",
    "no_name",
    "empty_name",
    "odd_name",
    "bad_arguments",
    "array_arguments",
    "null_arguments",
    "no_arguments",
    "nan_arguments",
    "missing_arguments",
    "double_encoded",
    "wrapped_arguments",
    "nested_strings",
    "narration_with_call",
    "json_and_call",
    "cut_arguments",
    "cut_whole_call",
]


@BOTH
@FORMS
@pytest.mark.parametrize("kind", WITH_CALLS)
async def test_c22_no_reply_of_any_provider_leaves_a_call_without_its_one_result(
    kind: str, enforcement: EnforcementName, provider: str
) -> None:
    played = await play(one_by_one(KINDS[kind], rest=answer), provider, enforcement, max_validation_corrections=3)
    assert played.turn.outcome is Outcome.RESPOND
    for asked in played.requests:
        made = list(ids(asked))
        assert [each["tool_call_id"] for each in asked.messages if each["role"] == "tool"] == made
        assert len(set(made)) == len(made)
    after = await play([answer], provider, enforcement, history=played.turn.messages, prompt="And now?")
    assert after.turn.outcome is Outcome.RESPOND


@BOTH
@STREAMED
@pytest.mark.parametrize("kind", ["no_id", "empty_id", "constant_id", "equal_ids", "numbered_ids", "long_id"])
async def test_c61_whatever_ids_anthropic_or_gemini_give_ours_are_unique_for_ever(
    kind: str, listening: bool, provider: str
) -> None:
    def odd(asked: Asked) -> Given:
        return answer if "It is 15:42" in told(asked) else KINDS[kind]

    history = History()
    for prompt in ("What time is it?", "And now?", "And now again?"):
        played = await play(odd, provider, prompt=prompt, history=history, listening=listening)
        assert played.turn.outcome is Outcome.RESPOND
        history = played.turn.messages
    made = [each.id for message in history if isinstance(message, Assistant) for each in message.calls]
    results = [message for message in history if isinstance(message, Result)]
    assert len(set(made)) == len(made) == len(results)
    assert len(made) in (3, 6)
    assert all(each.ok for each in results)


@BOTH
@STREAMED
@pytest.mark.parametrize("kind", ["filter_with_call", "content_filter", "recitation", "refusal_finish"])
async def test_c72_no_call_of_a_reply_that_anthropic_or_gemini_refused_runs(
    kind: str, listening: bool, provider: str
) -> None:
    played = await play([KINDS[kind]], provider, listening=listening)
    assert played.of(ToolStarted) == []
    assert not any(each.ok for each in work_results(played.turn))
    assert played.turn.outcome in (Outcome.FILTERED, Outcome.REFUSED)
    assert (len(played.requests), played.turn.message) == (1, None)
    after = await play([answer], provider, history=played.turn.messages, prompt="And now?")
    assert after.turn.outcome is Outcome.RESPOND


@BOTH
async def test_c83_arguments_that_came_as_an_object_with_texts_in_it_are_decoded_once(provider: str) -> None:
    seen: list[Any] = []

    def plan(name: str, steps: list[int], options: dict[str, bool], count: int) -> str:
        """Plan something."""
        seen.append((name, steps, options, count))
        return "planned"

    odd = call("plan", name="[1]", steps="[1, 2]", options='{"precise": true}', count="3")
    played = await play([odd, answer], provider, tools=[plan])
    assert played.turn.outcome is Outcome.RESPOND
    assert seen == [("[1]", [1, 2], {"precise": True}, 3)]


@BOTH
async def test_c25_a_json_text_beside_a_call_is_no_answer_over_their_apis_either(provider: str) -> None:
    both = replace(paris, text=FITS)
    made = await put([both, say("Now I know."), FITS], provider, tools=[_time])
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 3)
    assert "It is 15:42 in Paris." in everything(made.asked[1]), "the call ran"
    assert [asked.schema is not None for asked in made.asked] == [False, False, True]
    turn = await play([both, answer], provider)
    assert turn.committed == ["It is 15:42 in Paris."]
    assert work_calls(turn.turn.messages) == ["get_time"]


def _time(city: str) -> str:
    """Tell the time in a city."""
    return f"It is 15:42 in {city}."


_time.__name__ = "get_time"


# Nothing, and calls that nobody could read (C28 to C32, C47).

UNREADABLE = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")


def ending(word: str | None, reply: Reply) -> Given:
    return spoken("ending", "A reply with this finish.", lambda _: reply, edit=finish(word))


@STREAMED
@FORMS
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@pytest.mark.parametrize("word", UNREADABLE)
async def test_c29_a_call_that_gemini_could_not_read_is_never_a_success(
    word: str, turn_end: Any, enforcement: EnforcementName, listening: bool
) -> None:
    for reply in (empty(), say("I will look at the clock.")):
        script = [ending(word, reply)] * 2
        played = await play(script, "gemini", enforcement, turn_end=turn_end, listening=listening)
        assert (played.turn.outcome, played.turn.message) == (Outcome.MALFORMED_CALL, None)
        assert (played.turn.model_calls, played.turn.corrections) == (2, 1)
        assert "could not be read" in told(played.requests[1])


@STREAMED
async def test_c29_one_call_that_gemini_could_not_read_costs_one_correction(listening: bool) -> None:
    played = await play([KINDS["malformed_call"], paris, answer], "gemini", listening=listening)
    assert (played.turn.outcome, played.turn.corrections, len(played.requests)) == (Outcome.RESPOND, 1, 3)


@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c29_no_finish_that_google_names_makes_a_success_of_nothing(turn_end: Any) -> None:
    from google.genai.types import FinishReason

    for word in (each.value for each in FinishReason):
        played = await play([ending(word, empty())] * 2, "gemini", turn_end=turn_end)
        assert played.turn.outcome not in DELIVERED, word
        assert played.turn.model_calls <= 2


@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c29_no_finish_that_anthropic_names_or_does_not_name_makes_a_success_of_nothing(turn_end: Any) -> None:
    from typing import get_args

    from anthropic.types import StopReason

    for word in (*get_args(StopReason), "compaction", "done_thinking", None):
        script = one_by_one(ending(word, empty()), rest=ending("end_turn", empty()))
        played = await play(script, "anthropic", turn_end=turn_end)
        assert played.turn.outcome not in DELIVERED, word
        assert played.turn.model_calls <= 3


EMPTY: dict[str, Given] = {
    "nothing": KINDS["empty_text"],
    "one empty block": KINDS["empty_block"],
    "white space": KINDS["blank_text"],
    "thinking": think("It was 15:42, so I am done."),
}


@BOTH
@FORMS
@pytest.mark.parametrize("kind", EMPTY)
async def test_c30_a_stop_without_parts_after_a_result_costs_one_more_request_at_once(
    kind: str, enforcement: EnforcementName, provider: str
) -> None:
    for listening in (True, False):
        played = await play([paris, EMPTY[kind], answer], provider, enforcement, listening=listening)
        assert (played.turn.outcome, played.turn.model_calls) == (Outcome.RESPOND, 3)
        assert played.turn.corrections == 1
        waited = played.requests[2].arrived - played.requests[1].arrived
        assert waited < 1.0, "there was a back-off"
        assert roles(played.requests[2])[-1] == "user"
        assert "It is 15:42 in Paris." in everything(played.requests[2])
        nothing = await play([paris, EMPTY[kind], EMPTY[kind]], provider, enforcement, listening=listening)
        assert (nothing.turn.outcome, nothing.turn.model_calls) == (Outcome.EMPTY_REPLY, 3)


@BOTH
@STREAMED
@pytest.mark.parametrize("kind", EMPTY)
async def test_c32_anthropic_and_gemini_that_never_say_anything_are_asked_twice_and_no_more(
    kind: str, listening: bool, provider: str
) -> None:
    played = await play(lambda asked: EMPTY[kind], provider, listening=listening, max_validation_corrections=50)
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.EMPTY_REPLY, 2)


@BOTH
async def test_c32_what_does_not_fit_in_a_providers_own_words_is_not_asked_again(provider: str) -> None:
    played = await play([KINDS["context_exceeded"]], provider)
    assert (played.turn.outcome, len(played.requests)) == (Outcome.CONTEXT_OVERFLOW, 1)


@BOTH
@pytest.mark.parametrize("kind", ["narration", "invalid_respond", "two_responds"])
async def test_c47_a_correction_that_gemini_or_anthropic_answers_with_nothing_costs_one_more_request(
    kind: str, provider: str
) -> None:
    for nothing in (empty(), think("Hm.")):
        played = await play([KINDS[kind], nothing, nothing], provider, max_validation_corrections=9)
        assert (played.turn.outcome, len(played.requests)) == (Outcome.EMPTY_REPLY, 3)
        waits = [b.arrived - a.arrived for a, b in zip(played.requests, played.requests[1:], strict=False)]
        assert max(waits) < 1.0, "there was a back-off"


# Forced choices and schemas (C40 to C45).


@BOTH
@pytest.mark.parametrize("cap", [1, 2])
async def test_c40_at_the_cap_respond_alone_is_offered_and_forced_in_the_providers_own_words(
    cap: int, provider: str
) -> None:
    played = await play([*[paris, oslo][:cap], answer], provider, max_iterations=cap)
    assert (played.turn.outcome, played.turn.narrowed, len(played.requests)) == (Outcome.RESPOND, True, cap + 1)
    assert [choice_of(provider, asked.body) for asked in played.requests] == [None] * cap + ["respond"]
    assert list(played.requests[-1].tools) == ["respond"]
    assert f"limit of {cap} repl" in told(played.requests[-1])


@BOTH
async def test_c41_a_choice_that_was_forced_on_a_provider_is_for_one_request(provider: str) -> None:
    async with FaultServer([paris, answer, paris, answer], key=KEY) as server:
        line = ProviderLine(server, provider=provider, options={"max_iterations": 1})
        for prompt in ("What time is it?", "And now?"):
            line.lane.post(prompt)
            assert (await line.lane.settled()).outcome is Outcome.RESPOND
    line.keeps_promises()
    assert [choice_of(provider, asked.body) for asked in server.requests] == [None, "respond"] * 2


@BOTH
async def test_c42_at_the_cap_no_work_tool_is_forced_on_a_provider_or_run(provider: str) -> None:
    played = await play(lambda asked: paris, provider, max_iterations=2)
    assert (played.turn.outcome, len(played.requests)) == (Outcome.INCOMPLETE, 3)
    assert "get_time" not in str(choice_of(provider, played.requests[-1].body))
    assert list(played.requests[-1].tools) == ["respond"]
    assert [each.ok for each in work_results(played.turn)] == [True, True, False]


@BOTH
async def test_c43_no_schema_stands_beside_tools_in_a_request_to_a_provider(provider: str) -> None:
    made = await put([paris, say("So."), "{}", FITS], provider, tools=[_time])
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)
    assert [asked.schema is not None for asked in made.asked] == [False, False, True, True]
    assert [choice_of(provider, asked.body) for asked in made.asked] == [None] * 4


SERVERS = ("azure", "openrouter", "ollama", "lmstudio", "llamacpp", "vllm")


@pytest.mark.parametrize("kind", SERVERS)
async def test_c43_no_schema_stands_beside_tools_in_a_request_to_any_kind_of_server(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    async with FaultServer([paris, answer, paris, say("So."), FITS]) as server:
        where = at(server, kind)
        turn = await vancetope.ask(PROMPT, tools=[_time], **where)
        assert turn.outcome is Outcome.RESPOND
        made = await vancetope.query(QUESTION, CITY, tools=[_time], **where)
        assert made.data == OSLO
    assert server.violations == []
    assert not any("response_format" in asked.body and "tools" in asked.body for asked in server.requests)
    for asked in server.requests[:4]:
        assert "get_time" in asked.tools, "as a tool or as an action"
    # What these two serve is known by its own names only: a model of another name is asked in words.
    assert (server.requests[4].schema is not None) == (kind not in ("azure", "openrouter"))


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5"])
async def test_c45_where_anthropic_refuses_forcing_beside_thinking_nothing_is_forced(model: str) -> None:
    for thinking, forced in (("low", None), ("off", "respond"), (None, "respond")):
        script = [think("Hm.", paris), answer]
        settings = {} if thinking is None else {"thinking": thinking}
        played = await play(script, "anthropic", model=f"anthropic:{model}", max_iterations=1, model_settings=settings)
        assert (played.turn.outcome, played.turn.narrowed) == (Outcome.RESPOND, True)
        assert [choice_of("anthropic", asked.body) for asked in played.requests] == [None, forced]
        assert [thinks("anthropic", asked.body) for asked in played.requests] == [thinking == "low"] * 2
        assert list(played.requests[-1].tools) == ["respond"]
        assert "call `respond` now" in told(played.requests[-1])


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-5-5"])
async def test_c45_models_of_anthropic_that_take_no_forced_choice_get_none(model: str) -> None:
    played = await play([paris, answer], "anthropic", model=f"anthropic:{model}", max_iterations=1)
    assert (played.turn.outcome, played.turn.narrowed) == (Outcome.RESPOND, True)
    assert [choice_of("anthropic", asked.body) for asked in played.requests] == [None, None]
    assert list(played.requests[-1].tools) == ["respond"]


@BOTH
async def test_c45_no_model_of_the_catalogue_is_asked_for_what_its_api_refuses_beside_thinking(provider: str) -> None:
    known = await asyncio.to_thread(catalogue, ())
    for name in known.names(provider):
        for settings in ({}, {"thinking": "off"}, {"thinking": "low"}, {"thinking": "high"}):
            played = await play(
                [paris, answer] if settings.get("thinking") in ("off", "low") else [think("Hm.", paris), answer],
                provider,
                model=name,
                max_iterations=1,
                model_settings=settings,
            )
            assert (played.turn.outcome, played.turn.narrowed) == (Outcome.RESPOND, True), name
            last = played.requests[-1].body
            enabled = provider == "anthropic" and last.get("thinking", {}).get("type") == "enabled"
            assert not (enabled and choice_of(provider, last)), name


# Cuts (C46).

CUTS: dict[str, Given] = {
    "respond": cut(respond("A long story. " * 20), at=60),
    "work": cut(call("get_time", city="A long name of a city"), at=20),
    "nothing of it": cut(raw_call("get_time", "")),
    "text": cut(say("A long story. " * 20), at=60),
    "thinking": cut(think("A long thought. " * 20)),
    "nothing": empty(Finish.LENGTH),
    "window": KINDS["window_full"],
}


@BOTH
@STREAMED
@pytest.mark.parametrize("kind", CUTS)
async def test_c46_a_limit_of_a_provider_in_the_middle_of_anything_is_called_a_cut(
    kind: str, listening: bool, provider: str
) -> None:
    played = await play([CUTS[kind], answer], provider, listening=listening, model_settings={"max_tokens": 2077})
    assert (played.turn.outcome, played.turn.corrections, len(played.requests)) == (Outcome.RESPOND, 0, 2)
    said = told(played.requests[1])
    assert "cut off at 2077 tokens" in said
    assert "required" not in said
    assert "missing" not in said, "an object of which the end is missing is no wrong one"
    assert limit_of(provider, played.requests[0].body) == 2077


@BOTH
@STREAMED
@pytest.mark.parametrize("kind", CUTS)
async def test_c46_cut_twice_by_a_provider_is_a_failure_of_its_own(kind: str, listening: bool, provider: str) -> None:
    played = await play([CUTS[kind]] * 2, provider, listening=listening, max_validation_corrections=9)
    assert (played.turn.outcome, len(played.requests)) == (Outcome.OUTPUT_TRUNCATED, 2)
    assert not any(each.ok for each in work_results(played.turn))
    limit, raised = limit_of(provider, played.requests[1].body), {"anthropic": 128_000, "gemini": 65_536}[provider]
    if kind in ("thinking", "nothing"):
        assert limit == raised, "nothing was said, so there is more room"
    if kind == "text":
        assert limit != raised


async def test_c46_half_a_text_in_a_call_of_anthropic_that_came_whole_is_never_run_or_delivered() -> None:
    half: dict[str, Given] = {
        "work": Reply(calls=call("get_time", city="San Fra").calls, finish=Finish.LENGTH),
        "respond": Reply(calls=respond("It is 15:4").calls, finish=Finish.LENGTH),
    }
    for given in half.values():
        played = await play([given, answer], "anthropic", listening=False)
        assert (played.turn.outcome, played.turn.message) == (Outcome.RESPOND, "It is 15:42 in Paris.")
        assert not any(each.ok for each in work_results(played.turn))
        assert "cut off" in told(played.requests[1])


# Every field of a reply (C51).

SAID = Reply(
    text="First the clock.",
    calls=(Call("id_1", "get_time", '{"city": "Zürich"}'), Call("id_2", "get_weather", '{"city": "Oslo"}')),
    thinking="The user wants the time. 時刻",
    finish=Finish.TOOL_CALLS,
    usage=Usage(1000, 200, cached_tokens=600, cache_write_tokens=300, thinking_tokens=50),
)


async def asked_once(provider: str, given: Given, listening: bool) -> tuple[Reply, list[Piece]]:
    pieces: list[Piece] = []
    async with FaultServer([given], key=KEY) as server:
        backend = connect("anthropic" if provider == "anthropic" else "gemini", url_of(server, provider), KEY)
        spec = ToolSpec("get_time", "Tell the time.", {"type": "object", "properties": {"city": {"type": "string"}}})
        name = MODELS[provider].partition(":")[2]
        request = Request(name, "Be brief.", (User(PROMPT),), (spec,), settings=ModelSettings(max_tokens=500))
        reply = await backend.complete(request, pieces.append if listening else None)
        await backend.aclose()
    assert server.violations == []
    return reply, pieces


@BOTH
@STREAMED
async def test_c51_every_field_of_a_reply_of_anthropic_and_gemini_reaches_the_engine(
    listening: bool, provider: str
) -> None:
    reply, _ = await asked_once(provider, SAID, listening)
    wrote = 300 if provider == "anthropic" else 0
    assert (reply.text, reply.calls, reply.thinking) == (SAID.text, SAID.calls, SAID.thinking)
    assert (reply.finish, reply.requests, reply.end_turn) == (Finish.TOOL_CALLS, 1, None)
    assert reply.usage == Usage(1000, 200, cached_tokens=600, cache_write_tokens=wrote, thinking_tokens=50)
    assert reply.model == MODELS[provider].partition(":")[2]
    assert "The user wants the time." in reply.carried or provider == "gemini"
    assert '"signature"' in reply.carried


FINISHES: dict[str, tuple[Reply, Finish, Finish]] = {
    "stop": (say("Yes."), Finish.STOP, Finish.STOP),
    "cut": (cut(say("Yes and")), Finish.LENGTH, Finish.LENGTH),
    "refused": (refuse("I will not."), Finish.REFUSAL, Finish.CONTENT_FILTER),
    "refused at once": (refuse(), Finish.REFUSAL, Finish.CONTENT_FILTER),
    "filtered": (filtered("It is"), Finish.REFUSAL, Finish.CONTENT_FILTER),
    "unreadable": (malformed(), Finish.STOP, Finish.MALFORMED_CALL),
}


@STREAMED
@pytest.mark.parametrize("kind", FINISHES)
async def test_c51_why_a_reply_ended_reaches_the_engine(kind: str, listening: bool) -> None:
    given, anthropic, gemini = FINISHES[kind]
    for provider, wanted in (("anthropic", anthropic), ("gemini", gemini)):
        reply, _ = await asked_once(provider, given, listening)
        assert (reply.finish, reply.text) == (wanted, given.text), provider


@BOTH
async def test_c51_what_is_streamed_is_what_the_reply_says(provider: str) -> None:
    reply, pieces = await asked_once(provider, SAID, listening=True)
    told_of: dict[Any, str] = {}
    for piece in pieces:
        if piece.kind == "call":
            told_of[piece.index] = told_of.get(piece.index, "") + piece.arguments
        elif piece.kind != "restarted":
            told_of[piece.kind] = told_of.get(piece.kind, "") + piece.text
    said: dict[Any, str] = {number: each.arguments for number, each in enumerate(reply.calls)}
    assert told_of == said | {"text": reply.text, "thinking": reply.thinking}


@BOTH
async def test_c51_thinking_that_was_signed_goes_back_while_its_turn_runs_and_not_later(provider: str) -> None:
    script = [think("First the clock.", paris), think("Then the sky.", calls(oslo, text="And now the sky.")), answer]
    played = await play(script, provider, model_settings={"thinking": "medium"})
    assert played.turn.outcome is Outcome.RESPOND
    signed = "signature" if provider == "anthropic" else "thoughtSignature"
    assert [str(asked.body).count(f"'{signed}'") for asked in played.requests] == [0, 1, 2]
    after = await play([answer], provider, history=played.turn.messages, prompt="And now?")
    assert "First the clock." not in everything(after.requests[0])


# Results (C67), and who tries again (C35).


class Silent(Exception):
    """An exception that says nothing."""

    def __str__(self) -> str:
        return ""


@BOTH
async def test_c67_results_for_a_provider_come_in_the_order_of_the_calls_and_none_is_blank(provider: str) -> None:
    async def slow(name: str, seconds: float) -> str:
        """Take some time."""
        await asyncio.sleep(seconds)
        if name == "bare":
            raise Silent
        return "" if name == "blank" else name

    names = ["c", "bare", "blank", "a"]
    reply = calls(*(call("slow", name=name, seconds=0.05 - number / 100) for number, name in enumerate(names)))
    played = await play([reply, answer], provider, tools=[slow])
    results = [each for each in played.requests[1].messages if each["role"] == "tool"]
    assert [each["tool_call_id"] for each in results] == list(ids(played.requests[1]))
    assert [each["content"] for each in results][::3] == ["c", "a"]
    assert results[1]["content"].startswith("Silent")
    assert all(each["content"].strip() for each in results)


@BOTH
@STREAMED
async def test_c35_no_library_between_us_and_a_provider_tries_again_by_itself(listening: bool, provider: str) -> None:
    for kind, requests in (("status_500", 3), ("status_529", 3), ("status_429", 3), ("status_400", 1)):
        with without_waiting(3):
            played = await play(one_by_one(rest=KINDS[kind]), provider, listening=listening, repeats=requests - 1)
        assert (played.turn.outcome, len(played.requests)) == (Outcome.MODEL_ERROR, requests), kind
        assert played.turn.model_calls == requests, "every request is counted"


# Streams (C99).


@BOTH
@pytest.mark.parametrize(
    "kind",
    ["token_per_character", "one_delta", "odd_packets", "split_utf8", "crlf", "crlf_split", "comments", "no_space"],
)
async def test_c99_a_message_of_any_provider_arrives_the_same_in_every_chunking(kind: str, provider: str) -> None:
    played = await play([paris, KINDS[kind]], provider)
    plain = await play([paris, KINDS["one_delta"]], provider)
    assert played.turn.outcome is Outcome.RESPOND
    assert played.committed == plain.committed
    assert "再见" in played.committed[0]


# The cap (C102).


@BOTH
@FORMS
async def test_c102_a_provider_whose_model_ignores_the_cap_leaves_its_work_its_words_and_a_reason(
    enforcement: EnforcementName, provider: str
) -> None:
    cities = [call("get_time", city=city) for city in ("Paris", "Oslo", "Rome")]
    script = [cities[0], say("So far it is 15:42."), *cities[1:], paris]
    played = await play(script, provider, enforcement, max_iterations=4)
    turn = played.turn
    assert (turn.outcome, turn.best_text) == (Outcome.INCOMPLETE, "So far it is 15:42.")
    assert len(played.of(TurnNarrowed)) == 1
    assert work_calls(turn.messages) == ["get_time"] * 4
    after = await play([answer], provider, enforcement, history=turn.messages, prompt="And now?")
    assert "It is 15:42 in Rome." in everything(after.requests[0])
