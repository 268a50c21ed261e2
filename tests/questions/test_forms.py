"""How a question is asked of different models: bounds of our own grammar, tiny models, recipes, pasts with tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import vancetope
from tests.cases.playing import at
from tests.harness import TOOLS
from tests.questions.asking import ALL, CITY, FITS, FORMS, MISFIT, OSLO, PROMPT, Known, formed, known, play, put
from vancetope.backends.faults import FaultServer, Given
from vancetope.backends.scripted import call, respond, say
from vancetope.messages import Reply, Usage
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName

NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["text"],
    "additionalProperties": False,
}
BOUND = 20


def small(**facts: Any) -> dict[str, Any]:
    """What is known of a model of our own server, which writes under a bounded grammar."""
    local = {"structured_output": ("llguidance",), "string_bound": BOUND, "output_limit": 100, "output_ceiling": 400}
    return {"provider": "local", "name": "model", "enforcements": ("constrained", "native"), **local, **facts}


async def bounded(replies: list[str], schema: Any = NOTE, **options: Any) -> tuple[Any, list[Any]]:
    backend = Known(replies, info=ModelInfo(**small()))
    answer = await vancetope.query(PROMPT, schema, model=backend, **options)
    return answer, backend.requests


def note(length: int, tags: int = 0) -> str:
    return json.dumps({"text": "x" * length, **({"tags": ["y"] * tags} if tags else {})})


# Bounds of our own grammar.


async def test_our_own_grammar_bounds_every_text_and_list_and_the_caller_sees_nothing_of_it() -> None:
    answer, requests = await bounded([note(BOUND - 1, 3)])
    assert answer.data == {"text": "x" * (BOUND - 1), "tags": ["y"] * 3}
    sent = requests[0].response_schema
    assert sent["properties"]["text"]["maxLength"] == BOUND
    assert sent["properties"]["tags"]["maxItems"] == 32
    assert "maxLength" not in requests[0].system, "the model reads the schema as the caller wrote it"


@pytest.mark.parametrize("full", [note(BOUND), note(3, 32)], ids=["text", "list"])
async def test_a_value_that_stops_at_our_bound_is_cut_and_asked_for_again_with_more_room(full: str) -> None:
    answer, requests = await bounded([full, note(60, 40)])
    assert answer.data == json.loads(note(60, 40))
    assert (answer.attempts, len(requests)) == (2, 2)
    assert requests[0].messages == requests[1].messages
    assert [each.response_schema["properties"]["text"]["maxLength"] for each in requests] == [BOUND, 4 * BOUND]
    assert [each.response_schema["properties"]["tags"]["maxItems"] for each in requests] == [32, 128]
    assert [each.settings.max_tokens for each in requests] == [100, 400]


async def test_a_value_that_stops_at_the_larger_bound_too_is_output_truncated() -> None:
    answer, requests = await bounded([note(BOUND), note(4 * BOUND)], max_attempts=10)
    assert (answer.error, answer.attempts, len(requests)) == ("output_truncated", 2, 2)


async def test_a_bound_of_the_callers_own_is_none_of_ours() -> None:
    schema = {**NOTE, "properties": {"text": {"type": "string", "maxLength": BOUND}}}
    answer, _ = await bounded([note(BOUND)], schema)
    assert (answer.success, answer.attempts) == (True, 1)
    choice = {**NOTE, "properties": {"text": {"enum": ["x" * 300, "y"]}}}
    answer, _ = await bounded([note(300)], choice)
    assert (answer.success, answer.attempts) == (True, 1)


async def test_the_least_that_the_caller_asks_for_is_above_our_bound() -> None:
    schema = {**NOTE, "properties": {"text": {"type": "string", "minLength": 50}}}
    answer, requests = await bounded([note(51), note(60)], schema)
    sent = requests[0].response_schema
    assert sent["properties"]["text"].get("maxLength", 50) >= 50
    assert answer.success


async def test_a_text_of_another_server_that_is_as_long_as_our_bound_is_not_cut() -> None:
    backend = known([note(4_000)], structured_output=("llguidance",))
    answer = await vancetope.query(PROMPT, NOTE, model=backend)
    assert (answer.success, answer.attempts) == (True, 1)


# Tiny models.


async def test_a_tiny_model_reads_the_schema_in_one_line_and_no_rules() -> None:
    answer, requests = await bounded([note(3)])
    assert answer.success
    assert "Make nothing up" in requests[0].system
    backend = Known([note(3)], info=ModelInfo(**small(tier="tiny")))
    assert (await vancetope.query(PROMPT, NOTE, model=backend)).success
    (request,) = backend.requests
    assert json.dumps(NOTE) in request.system
    assert "Make nothing up" not in request.system
    assert len(request.system) < len(requests[0].system)


# Recipes.


def recipe(folder: Path, params: str, rest: str = "") -> Path:
    path = folder / "mine.yaml"
    path.write_text(f"engine: jeltz\nparams: {{{params}}}\npromptPrefix: '{{{{ schema_json | raw }}}}'\n{rest}")
    return path


async def test_a_recipe_says_how_to_sample_and_how_to_ask(tmp_path: Path) -> None:
    mine = recipe(tmp_path, "temperature: 0.3, maxTokens: 77, enforcement: prompted, maxAttempts: 1")
    backend = known([MISFIT], structured_output=("openai",))
    answer = await vancetope.query(PROMPT, CITY, model=backend, recipe=mine)
    (request,) = backend.requests
    assert (request.settings.temperature, request.settings.max_tokens) == (0.3, 77)
    assert request.response_schema is None
    assert (answer.error, answer.attempts) == ("schema_violation", 1)
    backend = known([FITS], structured_output=("openai",))
    await vancetope.query(
        PROMPT, CITY, model=backend, recipe=mine, enforcement="native", model_settings={"max_tokens": 9}
    )
    assert backend.requests[0].response_schema is not None
    assert backend.requests[0].settings.max_tokens == 9


async def test_a_recipe_may_bound_the_tool_rounds(tmp_path: Path) -> None:
    mine = recipe(tmp_path, "maxIterations: 2", "tools: {add: [clock]}\n")
    script: list[Given] = [call("clock", timezone=f"Etc/GMT+{number}") for number in range(1, 3)]
    made = await put([*script, say(FITS)], "native", recipe=mine)
    assert (made.answer.data, made.calls) == (OSLO, 3)
    assert [formed(asked) for asked in made.asked] == [False, False, True]
    made = await put([script[0], say(FITS)], "native", recipe=mine, max_iterations=1)
    assert (made.answer.data, made.calls) == (OSLO, 2)
    assert [formed(asked) for asked in made.asked] == [False, True]


async def test_a_recipe_as_the_specification_writes_it_loads(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        "description: |\n  Single-shot structured-query engine.\nengine: jeltz\n"
        "params:\n  maxAttempts: 3\n  validation: false\n"
        "promptPrefix: |\n  You are Jeltz.\n\n  ## Schema\n\n  {{ schema_json | raw }}\n\n  ## Rules\n"
        "tags:\n  - structured\n  - engine-default\n"
    )
    made = await put([FITS], "prompted", recipe=path)
    assert made.answer.success
    assert made.asked[0].messages[0]["content"].startswith("You are Jeltz.\n\n## Schema\n\n{\n")


@pytest.mark.parametrize("name", ["turnEnd: natural", "role: worker", "maxValidationCorrections: 1", "greeting: Hi"])
async def test_what_only_a_chat_reads_is_refused_in_a_recipe_for_questions(name: str, tmp_path: Path) -> None:
    with pytest.raises(vancetope.ConfigError, match=name.partition(":")[0]):
        await vancetope.query(PROMPT, CITY, model=known([]), recipe=recipe(tmp_path, name))


# The past.


@ALL
async def test_a_past_with_tools_is_shown_to_a_question_without_any(enforcement: EnforcementName) -> None:
    async with FaultServer([call("get_time", city="Paris"), respond("It is 15:42 in Paris."), MISFIT, FITS]) as server:
        turn = await vancetope.ask("What time is it?", tools=TOOLS, enforcement=enforcement, **at(server))
        answer = await vancetope.query(PROMPT, CITY, history=turn.messages, enforcement=enforcement, **at(server))
        assert server.violations == []
        assert (answer.data, answer.attempts) == (OSLO, 2)
        for asked in server.requests[2:]:
            assert "It is 15:42 in Paris." in json.dumps(asked.body)
            assert "tools" not in asked.body
        before = json.dumps(server.requests[2].messages[1:-1])
        assert json.dumps(server.requests[3].messages[1:-3]) == before


@ALL
async def test_a_past_with_tools_is_shown_to_a_question_with_tools(enforcement: EnforcementName) -> None:
    script: list[Given] = [call("get_time", city="Paris"), respond("It is 15:42."), call("get_time", city="Oslo")]
    async with FaultServer([*script, say("So."), FITS]) as server:
        where = at(server)
        turn = await vancetope.ask("What time is it?", tools=TOOLS, enforcement=enforcement, **where)
        answer = await vancetope.query(
            PROMPT, CITY, history=turn.messages, tools=TOOLS, enforcement=enforcement, **where
        )
        assert server.violations == []
        assert (answer.data, answer.attempts, answer.model_calls) == (OSLO, 1, 3)


# Replies of unusual size.


@ALL
async def test_a_reply_that_nests_too_deep_is_told_so(enforcement: EnforcementName) -> None:
    deep = '{"city": ' + "[" * 200 + "]" * 200 + ', "people": 1}'
    made = await play([deep, FITS], enforcement)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)
    assert "deeper than 128" in made.corrections[0]
    made = await play([deep], enforcement, max_attempts=1)
    assert (made.answer.error, made.answer.last_invalid) == ("max_attempts_exceeded", deep)


@ALL
async def test_a_reply_that_is_too_large_to_read_is_told_so(enforcement: EnforcementName) -> None:
    large = f'{{"city": "{"x" * 2_100_000}", "people": 1}}'
    made = await put([large, FITS], enforcement, listening=False)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)
    assert made.asked[1].size < 20_000


@ALL
async def test_a_hundred_thousand_brackets_are_read_in_no_time(enforcement: EnforcementName) -> None:
    made = await put(["{" * 1_000_000, "[" * 100_000, FITS], enforcement, listening=False)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 3)


async def test_every_form_gives_the_same_answer_to_the_same_replies() -> None:
    usage = Usage(10, 10)
    answers = []
    for enforcement in FORMS:
        script = [Reply(MISFIT, usage=usage), Reply("Prose.", usage=usage), Reply(FITS, usage=usage)]
        made = await play(script, enforcement)
        answers.append((made.wrapper, made.answer.usage, made.answer.rule, made.corrections))
    assert answers[0] == answers[1] == answers[2]


async def test_a_model_of_which_nothing_is_known_is_asked_in_words() -> None:
    nobody = Known([FITS], info=ModelInfo(provider="lab", name="model", enforcements=()))
    answer = await vancetope.query(PROMPT, CITY, model=nobody)
    assert (answer.data, answer.enforcement.asked) == (OSLO, "prompted")
    turn = await vancetope.ask(PROMPT, model=Known([respond("Hi")], info=nobody.info, follow_form=True))
    assert (turn.message, turn.enforcement.asked) == ("Hi", "prompted")


@ALL
async def test_a_reply_that_only_calls_is_told_that_nothing_can_be_called(enforcement: EnforcementName) -> None:
    info = ModelInfo(provider="lab", name="model", enforcements=FORMS)
    backend = Known([call("search", query="Oslo"), FITS, call("search", query="Oslo")], info=info)
    answer = await vancetope.query(PROMPT, CITY, model=backend, enforcement=enforcement)
    assert answer.data == OSLO
    assert "no tool is open" in str(backend.requests[1].messages[-1])
    answer = await vancetope.query(PROMPT, CITY, model=backend, enforcement=enforcement, max_attempts=1)
    assert (answer.error, answer.last_invalid) == ("max_attempts_exceeded", None)
    assert "called a tool" in answer.message
