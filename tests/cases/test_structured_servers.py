"""Servers that promise a structured answer and give something else (S10 to S19, S30 to S38)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.harness import TOOLS
from tests.questions.asking import (
    ALL,
    BY_FORMAT,
    CITY,
    FITS,
    FORMS,
    MISFIT,
    OSLO,
    PROMPT,
    Put,
    always,
    formed,
    known,
    put,
    without_waiting,
)
from vancetope import query
from vancetope.backends.faults import KINDS, SCENARIOS, Given, first, status
from vancetope.backends.scripted import call, calls, cut, empty, filtered, malformed, refuse, say, think
from vancetope.context import Patience
from vancetope.messages import Finish, Reply
from vancetope.outcome import Enforcement, EnforcementName
from vancetope.schema.profiles import PROFILES

# A constraint that is accepted and not kept.


@BY_FORMAT
async def test_s10_a_format_that_is_accepted_and_never_enforced_is_marked_and_still_judged(
    enforcement: EnforcementName,
) -> None:
    made = await put([MISFIT, '{"town": "Oslo"}', FITS], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 3)
    assert made.answer.enforcement == Enforcement(enforcement, "none")
    assert [formed(asked) for asked in made.asked] == [True] * 3
    made = await put(always(KINDS["answer_misfit"]), enforcement)
    assert (made.answer.error, made.answer.enforcement.honoured) == ("schema_violation", "none")


@ALL
async def test_s10_a_format_that_is_kept_is_said_to_be_kept(enforcement: EnforcementName) -> None:
    made = await put(SCENARIOS["answer"], enforcement)
    assert made.answer.enforcement == Enforcement(enforcement, enforcement)


@ALL
@pytest.mark.parametrize(
    "text", ['{"{"city": "Oslo", "people": 7}', '{{"city": "Oslo", "people": 7}}', f"{{{FITS}", f"{FITS}}}"]
)
async def test_s11_a_doubled_brace_is_refused_or_left_outside(text: str, enforcement: EnforcementName) -> None:
    made = await put([text, FITS], enforcement)
    if made.answer.attempts == 1:
        assert text == f"{FITS}}}", "only what stands outside a whole object may be left out"
    assert made.answer.data == OSLO


@ALL
async def test_s11_the_fault_that_ships_for_it_is_asked_again(enforcement: EnforcementName) -> None:
    made = await put(first(KINDS["doubled_brace"], then=SCENARIOS["answer"]), enforcement)
    assert (made.answer.success, made.answer.attempts) == (True, 2)
    made = await put(always(KINDS["doubled_brace"]), enforcement)
    assert made.answer.error == "max_attempts_exceeded"


@BY_FORMAT
async def test_s12_prose_of_a_server_that_dropped_the_format_is_caught_by_the_text_path(
    enforcement: EnforcementName,
) -> None:
    made = await put([f"Sure! Here you go:\n\n```json\n{FITS}\n```\n"], enforcement)
    assert (made.answer.data, made.answer.rule, made.answer.attempts) == (OSLO, "fence", 1)
    assert made.answer.enforcement.honoured == "none"
    made = await put(["It is Oslo, with 717,710 people.", FITS], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)


@ALL
async def test_s12_thinking_before_the_object_does_no_harm(enforcement: EnforcementName) -> None:
    for reply in (think("Oslo, I think.", FITS), say(f"<think>{MISFIT}</think>{FITS}")):
        made = await put([reply], enforcement)
        assert (made.answer.data, made.answer.attempts) == (OSLO, 1)


@ALL
async def test_s14_a_server_that_takes_the_schema_and_writes_prose_is_told_once_and_then_answers(
    enforcement: EnforcementName,
) -> None:
    made = await put([KINDS["answer_in_prose"], FITS], enforcement)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 2, 2)
    assert "held no JSON object" in made.said(1)[-1]


@ALL
@pytest.mark.parametrize("finish", [Finish.STOP, Finish.TOOL_CALLS, Finish.UNKNOWN])
async def test_s15_that_a_reply_ended_well_does_not_make_it_an_answer(
    finish: Finish, enforcement: EnforcementName
) -> None:
    made = await put([Reply(finish=finish), Reply(f"```json\n{FITS}\n```", finish=finish)], enforcement)
    assert (made.answer.data, made.answer.attempts, made.answer.rule) == (OSLO, 2, "fence")
    made = await put([Reply(finish=finish)], enforcement, max_attempts=1)
    assert (made.answer.error, made.answer.last_invalid) == ("max_attempts_exceeded", None)


@ALL
@pytest.mark.parametrize("reply", [malformed(), empty(), calls(), "null", "None", " "])
async def test_s17_nothing_is_never_a_success(reply: Reply | str, enforcement: EnforcementName) -> None:
    made = await put([reply], enforcement, max_attempts=1)
    assert made.answer.error in ("max_attempts_exceeded", "schema_violation")
    assert made.answer.data is None
    assert made.wrapper["success"] is False
    made = await put([reply, FITS], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)


LATER: Mapping[str, tuple[Given, str]] = {
    "a server that refuses the key": (KINDS["status_401"], "llm_error"),
    "a server that fails": (KINDS["status_500"], "llm_error"),
    "a page": (KINDS["html_page"], "llm_error"),
    "half a stream": (KINDS["half_stream"], "llm_error"),
    "a conversation that is too long": (KINDS["context_openai"], "llm_error"),
    "a cut": (cut("{", 1), "output_truncated"),
    "a refusal": (refuse("No."), "refused"),
    "a filter": (filtered("It"), "refused"),
}


@ALL
@pytest.mark.parametrize("what", LATER)
async def test_s18_the_last_invalid_value_is_kept_whatever_comes_later(what: str, enforcement: EnforcementName) -> None:
    given, error = LATER[what]
    with without_waiting():
        made = await put(first(MISFIT, then=lambda _: given), enforcement, max_attempts=9)
    assert made.answer.error == error
    assert made.answer.last_invalid == {"city": "Oslo"}
    assert made.answer.usage.input_tokens > 0


@ALL
async def test_s18_the_last_text_is_kept_where_there_was_no_value(enforcement: EnforcementName) -> None:
    made = await put(["It is Oslo.", KINDS["status_401"]], enforcement)
    assert (made.answer.error, made.answer.last_invalid) == ("llm_error", "It is Oslo.")


HUGE = {"huge", "huge_line"}
SILENT = {name for name, fault in KINDS.items() if fault.leaves == "nothing"}


@pytest.mark.parametrize(
    ("name", "often"),
    [(name, often) for name in sorted(KINDS.keys() - HUGE) for often in ("once", "always") if name != "slow"],
)
async def test_s19_whatever_a_server_does_there_is_a_wrapper_that_says_success_or_not(name: str, often: str) -> None:
    number = sorted(KINDS).index(name)
    script = always(KINDS[name]) if often == "always" else first(KINDS[name], then=SCENARIOS["answer"])
    patience = Patience(model_call=0.75) if name in SILENT else None
    with without_waiting(2):
        made = await asked_of(script, FORMS[number % 3], name, often, patience, number % 2 == 0)
    assert isinstance(made.wrapper["success"], bool)
    assert type(made.wrapper["attempts"]) is int
    assert ("data" in made.wrapper) == made.answer.success
    assert ("error" in made.wrapper) != made.answer.success


async def asked_of(
    script: Any, enforcement: EnforcementName, name: str, often: str, patience: Patience | None, listening: bool
) -> Put:
    """As `put`, but without its rule about equal requests: many of these faults are asked again."""
    from tests.cases.playing import at
    from tests.questions.asking import keeps_promises
    from vancetope.backends.faults import FaultServer

    events: list[Any] = []
    async with FaultServer(script) as server:
        where = {**at(server), "model": f"case:s19-{name}-{often}"}
        listener = events.append if listening else None
        answer = await query(PROMPT, CITY, enforcement=enforcement, patience=patience, on_event=listener, **where)
        made = Put(answer, events, server.requests, server)
        assert server.violations == []
    keeps_promises(made)
    return made


# Options of the server.


@ALL
async def test_s30_an_option_of_the_server_reaches_it_in_every_attempt(enforcement: EnforcementName) -> None:
    options = {"guided_whitespace_pattern": "[ ]?", "chat_template_kwargs": {"enable_thinking": False}}
    made = await put([MISFIT, cut("{", 1), FITS], enforcement, model_settings={"temperature": 0, **options})
    assert made.answer.data == OSLO
    for asked in made.asked:
        assert {name: asked.body[name] for name in options} == options
        assert asked.body["temperature"] == 0


@BY_FORMAT
async def test_s30_an_option_may_replace_the_response_format(enforcement: EnforcementName) -> None:
    made = await put([FITS], enforcement, model_settings={"response_format": {"type": "json_object"}})
    assert made.answer.data == OSLO
    assert made.asked[0].body["response_format"] == {"type": "json_object"}


# Limits and rules of the providers.

MANY: dict[str, Any] = {
    "type": "object",
    "properties": {f"field_{number}": {"type": "string"} for number in range(26)},
    "required": ["field_0"],
    "additionalProperties": False,
}


async def test_s33_a_schema_over_a_providers_counts_is_asked_for_in_words_and_people_are_told() -> None:
    for profile, schema, says in (
        ("anthropic", MANY, "24"),
        ("openai", deep(12), "10"),
        ("ollama", wide(900), "ollama takes"),
    ):
        backend = known(['{"field_0": "x"}'], structured_output=(profile,))
        events: list[Any] = []
        answer = await query(PROMPT, schema, model=backend, on_event=events.append, max_attempts=1)
        notices = [event.text for event in events if event.type == "notice"]
        assert backend.requests[0].response_schema is None, profile
        assert any("in words" in each and says in each for each in notices), (profile, notices)
        assert answer.enforcement.honoured == "prompted"
        assert (answer.model_calls, answer.attempts) == (1, 1), "nothing was sent that the server would refuse"


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"in": schema}, "required": ["in"]}
    return {"type": "object", "properties": {"field_0": {"type": "string"}, "deep": schema}, "required": ["field_0"]}


def wide(fields: int) -> dict[str, Any]:
    properties = {f"field_{number}": {"type": "string", "pattern": "^[a-z]{1,40}$"} for number in range(fields)}
    return {"type": "object", "properties": properties, "required": ["field_0"]}


async def test_s33_a_schema_just_below_the_counts_is_sent() -> None:
    fewer = {**MANY, "properties": dict(list(MANY["properties"].items())[:25])}
    backend = known(['{"field_0": "x"}'], structured_output=("anthropic",))
    answer = await query(PROMPT, fewer, model=backend)
    assert answer.success
    assert backend.requests[0].response_schema is not None


@BY_FORMAT
async def test_s33_a_grammar_that_is_too_large_for_the_server_falls_back_cleanly(
    enforcement: EnforcementName,
) -> None:
    refusal = {"error": {"message": "The compiled grammar is too large.", "type": "invalid_request_error"}}
    too_large = status(400, refusal)
    made = await put(
        lambda asked: too_large if formed(asked) else FITS, enforcement, model=f"s33-{enforcement}", max_attempts=1
    )
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 2)
    assert made.answer.enforcement == Enforcement(enforcement, "prompted")
    assert any("compiled grammar" in each for each in made.notices)


LOOSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "home": {"type": "object", "properties": {"street": {"type": "string"}, "no": {"type": ["integer", "null"]}}},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        "either": {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "null"}]},
    },
    "required": ["name"],
    "$defs": {"tag": {"type": "object", "properties": {"label": {"type": "string", "maxLength": 9}}}},
}


def objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every subschema that describes an object."""
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each)
    elif isinstance(schema, Mapping):
        if "properties" in schema and isinstance(schema["properties"], Mapping):
            yield schema
        for each in schema.values():
            yield from objects(each)


@pytest.mark.parametrize("profile", ["openai", "anthropic", "gemini"])
async def test_s34_every_object_of_a_strict_format_is_closed_and_complete(profile: str) -> None:
    backend = known(['{"name": "Ada"}'], structured_output=(profile,))
    answer = await query(PROMPT, LOOSE, model=backend)
    assert answer.data == {"name": "Ada"}
    sent = backend.requests[0].response_schema
    assert sent is not None
    for each in objects(sent):
        if PROFILES[profile].closed_objects:
            assert each.get("additionalProperties") is False
        if PROFILES[profile].all_required:
            assert set(each.get("required", ())) == set(each["properties"])


async def test_s34_strict_is_asked_for_and_what_was_filled_with_null_is_taken_out() -> None:
    filled = {
        "name": "Ada",
        "age": None,
        "home": {"street": "A", "no": None},
        "tags": [{"label": None}],
        "either": None,
    }
    made = await put([json.dumps(filled)], "native", schema=LOOSE)
    assert made.asked[0].body["response_format"]["json_schema"]["strict"] is True
    assert made.answer.data == {
        "name": "Ada",
        "home": {"street": "A", "no": None},
        "tags": [{}],
        "either": None,
    }
    assert made.answer.enforcement == Enforcement("native", "native")


@pytest.mark.parametrize("profile", PROFILES)
async def test_s35_only_keywords_that_a_provider_keeps_to_are_sent_to_it(profile: str) -> None:
    backend = known(['{"name": "Ada"}'], structured_output=(profile,))
    await query(PROMPT, LOOSE, model=backend)
    sent = backend.requests[0].response_schema
    assert sent is not None
    assert set(keywords(sent)) <= PROFILES[profile].keywords | {"x-guidance"}


def keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from keywords(each)
    elif isinstance(schema, Mapping):
        for key, each in schema.items():
            yield key
            if key in ("properties", "$defs"):
                for inner in each.values():
                    yield from keywords(inner)
            elif key not in ("enum", "required"):
                yield from keywords(each)


async def test_s35_a_place_without_a_type_is_never_sent_where_the_provider_needs_one() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "any": {}}, "required": ["name", "any"]}
    for profile in ("openai", "anthropic", "gemini"):
        backend = known(['{"name": "Ada", "any": 1}'], structured_output=(profile,))
        answer = await query(PROMPT, schema, model=backend)
        assert answer.success
        sent = backend.requests[0].response_schema
        assert sent is None or {} not in list(subschemas(sent)), profile


def subschemas(schema: Any) -> Iterator[Any]:
    yield schema
    if isinstance(schema, Mapping):
        for each in schema.get("properties", {}).values():
            yield from subschemas(each)


# Text where a call was wanted.


@ALL
async def test_s38_a_text_instead_of_a_call_is_read_before_anything_is_spent(enforcement: EnforcementName) -> None:
    ends = call("answer", message=FITS) if enforcement == "constrained" else say(FITS)
    made = await put([ends], enforcement, tools=TOOLS, max_attempts=1)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 1)
    made = await put([say("I need no tool for that."), FITS], enforcement, tools=TOOLS, max_attempts=1)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 2)


@ALL
async def test_s38_a_call_instead_of_the_object_is_told_and_asked_again(enforcement: EnforcementName) -> None:
    made = await put([call("respond", **OSLO), FITS], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)


def test_no_kind_of_fault_is_left_out() -> None:
    assert len(KINDS) - len(HUGE) > 120
