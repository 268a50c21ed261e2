"""Tools in a question: they run first, their rounds are no attempts, and the answer is asked for without them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases.playing import roles
from tests.harness import TOOLS
from tests.questions.asking import ALL, CITY, FITS, FORMS, MISFIT, OSLO, PROMPT, Put, formed, play, put
from vancetope.backends.faults import KINDS, Asked, FaultServer, Given, Wire
from vancetope.backends.scripted import Answer, call, calls, cut, empty, filtered, malformed, refuse, say
from vancetope.events import CorrectionSent, RepairSent, RoundStarted, ToolEnded, ToolStarted
from vancetope.messages import Finish, Reply
from vancetope.outcome import EnforcementName

paris = call("get_time", city="Paris")
oslo = call("get_weather", city="Oslo")
CAP = 20


def bare(script: list[Given] | Callable[[Asked], Given]) -> FaultServer:
    """A server that says its texts as they are, without the form that the request asked for."""
    return FaultServer(script, wire=Wire(follow_form=False))


def in_tool_round(asked: Asked, enforcement: EnforcementName) -> bool:
    """Whether this request lets the model call a tool."""
    if enforcement == "native":
        return "tools" in asked.body
    return "get_time" in asked.tools if enforcement == "constrained" else "get_time" in str(asked.messages[0])


def rounds(made: Put, enforcement: EnforcementName) -> list[bool]:
    return [in_tool_round(asked, enforcement) for asked in made.asked]


# The way of a question with tools.


@ALL
async def test_tools_run_first_and_a_closing_request_without_them_asks_for_the_answer(
    enforcement: EnforcementName,
) -> None:
    made = await put([paris, say("I know it now."), FITS], enforcement, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 3)
    assert rounds(made, enforcement) == [True, True, False]
    assert [formed(asked) for asked in made.asked] == [False, False, enforcement != "prompted"]
    assert "It is 15:42 in Paris." in json.dumps(made.asked[2].body)
    assert "tools are closed" in made.said(2)[-1]
    assert "I know it now." not in json.dumps(made.asked[2].body)
    assert [event.name for event in made.of(ToolStarted)] == ["get_time"]
    assert [event.round for event in made.of(RoundStarted)] == [0, 1, 2]


@ALL
async def test_in_the_tool_rounds_the_model_knows_the_schema_and_that_it_may_call(
    enforcement: EnforcementName,
) -> None:
    made = await put([paris, say("Done."), FITS], enforcement, tools=TOOLS)
    for asked in made.asked:
        assert json.dumps(CITY, indent=2) in asked.messages[0]["content"]
    assert ["call your tools first" in asked.messages[0]["content"] for asked in made.asked] == [True, True, False]


@ALL
async def test_without_tools_nothing_is_said_of_tools(enforcement: EnforcementName) -> None:
    made = await put([FITS], enforcement)
    assert made.calls == 1
    assert "tool" not in json.dumps(list(made.asked[0].messages))


@ALL
async def test_an_early_text_that_is_the_answer_is_taken(enforcement: EnforcementName) -> None:
    made = await put(
        [say(FITS) if enforcement != "constrained" else call("answer", message=FITS)], enforcement, tools=TOOLS
    )
    assert (made.answer.data, made.answer.attempts, made.calls, made.answer.rule) == (OSLO, 1, 1, "strict")
    made = await put([paris, say(f"```json\n{FITS}\n```")], enforcement, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls, made.answer.rule) == (OSLO, 1, 2, "fence")


@ALL
@pytest.mark.parametrize("text", [MISFIT, "It is Oslo.", f"{FITS} or {FITS.replace('Oslo', 'Bergen')}", "[]"])
async def test_an_early_text_that_is_no_answer_is_no_attempt(text: str, enforcement: EnforcementName) -> None:
    made = await put([paris, say(text), FITS], enforcement, tools=TOOLS, max_attempts=1)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 3)
    made = await put([paris, say(text), "Prose."], enforcement, tools=TOOLS, max_attempts=1)
    assert (made.answer.error, made.answer.attempts) == ("max_attempts_exceeded", 1)
    assert made.answer.last_invalid == "Prose."


@ALL
async def test_attempts_are_counted_behind_the_tool_rounds(enforcement: EnforcementName) -> None:
    made = await put([paris, oslo, say("Done."), MISFIT, "Prose.", FITS], enforcement, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 3, 6)
    for asked in made.asked[3:]:
        assert "It is 15:42 in Paris." in json.dumps(asked.body), "what the tools said is in every attempt"
        assert "Rain in Oslo." in json.dumps(asked.body)
    assert len(made.asked[5].messages) == len(made.asked[4].messages) == len(made.asked[3].messages) + 2
    assert made.report.rounds == 6


# Calls win.


@pytest.mark.parametrize("enforcement", ["native", "prompted"])
async def test_calls_win_over_an_answer_beside_them(enforcement: EnforcementName) -> None:
    both = calls(paris, text=FITS)
    made = await put([both, say("Now I know."), FITS.replace("Oslo", "Bergen")], enforcement, tools=TOOLS)
    assert made.answer.data == {**OSLO, "city": "Bergen"}
    assert made.calls == 3
    assert [event.ok for event in made.of(ToolEnded)] == [True]


async def test_calls_of_a_server_that_drops_its_grammar_win_as_well() -> None:
    both = calls(paris, text=FITS)
    script = [both, call("answer", message="Now I know."), say(FITS.replace("Oslo", "Bergen"))]
    made = await put(script, "constrained", tools=TOOLS)
    assert made.answer.data == {**OSLO, "city": "Bergen"}
    assert [event.ok for event in made.of(ToolEnded)] == [True]


@ALL
async def test_a_call_in_the_closing_request_is_an_attempt_and_does_not_run(enforcement: EnforcementName) -> None:
    made = await put([paris, say("Done."), paris, FITS], enforcement, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 2, 4)
    assert len(made.of(ToolStarted)) == 1


# Bounds.


@ALL
async def test_the_tool_rounds_are_capped_and_then_the_answer_is_asked_for(enforcement: EnforcementName) -> None:
    def script(asked: Asked) -> Given:
        return call("get_time", city=f"City {asked.number}") if in_tool_round(asked, enforcement) else say(FITS)

    made = await put(script, enforcement, tools=TOOLS, listening=False)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, CAP + 1)
    made = await put(script, enforcement, tools=TOOLS, max_iterations=3)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 4)
    assert len(made.of(ToolEnded)) == 3
    assert rounds(made, enforcement) == [True] * 3 + [False]


@ALL
async def test_a_model_that_calls_for_ever_costs_the_cap_and_its_attempts(enforcement: EnforcementName) -> None:
    def script(asked: Asked) -> Given:
        return call("get_time", city=f"City {asked.number}")

    made = await put(script, enforcement, tools=TOOLS, max_iterations=2, max_attempts=2)
    assert not made.answer.success
    assert (made.answer.attempts, made.calls) == (2, 4)
    assert len(made.of(ToolEnded)) == 2


@ALL
async def test_the_same_calls_again_and_again_end_the_tool_rounds_early(enforcement: EnforcementName) -> None:
    made = await put(lambda asked: paris if in_tool_round(asked, enforcement) else say(FITS), enforcement, tools=TOOLS)
    assert made.answer.data == OSLO
    assert made.calls == 6
    assert sum(event.ok for event in made.of(ToolEnded)) < 5


@ALL
async def test_names_that_are_none_end_the_tool_rounds_after_three(enforcement: EnforcementName) -> None:
    def script(asked: Asked) -> Given:
        return call("get_tiem", n=asked.number) if in_tool_round(asked, enforcement) else say(FITS)

    made = await put(script, enforcement, tools=TOOLS)
    assert (made.answer.data, made.calls) == (OSLO, 4)
    assert "Did you mean get_time" in json.dumps(made.asked[1].body)


@ALL
async def test_a_failing_tool_is_told_and_the_question_goes_on(enforcement: EnforcementName) -> None:
    def broken(reason: str) -> str:
        """Break."""
        raise RuntimeError(reason)

    script: list[Given] = [call("broken", reason="no power"), call("broken", n=1), call("get_time", town="x")]
    script += [say("So."), FITS]
    made = await put(script, enforcement, tools=[*TOOLS, broken])
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 5)
    assert "no power" in json.dumps(made.asked[-1].body)
    assert [event.ok for event in made.of(ToolEnded)] == [False] * len(made.of(ToolEnded))


# What may come instead of a call or a text.


@ALL
@pytest.mark.parametrize(
    "reply", [empty(), malformed(), Reply(finish=Finish.TOOL_CALLS)], ids=["empty", "malformed", "promised"]
)
async def test_a_tool_round_that_brings_nothing_is_followed_by_the_closing_request(
    reply: Reply, enforcement: EnforcementName
) -> None:
    made = await put([reply, FITS], enforcement, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 2)
    assert roles(made.asked[1])[-1] == "user"
    made = await put([paris, reply, FITS], enforcement, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 3)


@ALL
async def test_a_refusal_in_a_tool_round_is_a_refusal(enforcement: EnforcementName) -> None:
    for reply in (refuse("No."), filtered("It is")):
        made = await put([paris, reply], enforcement, tools=TOOLS)
        assert (made.answer.error, made.answer.attempts, made.calls) == ("refused", 0, 2)


@ALL
async def test_a_tool_round_that_is_cut_twice_is_output_truncated(enforcement: EnforcementName) -> None:
    made = await put([paris, cut("A long story.", 6), cut("A long story.", 6)], enforcement, tools=TOOLS)
    assert (made.answer.error, made.calls) == ("output_truncated", 3)


@ALL
async def test_a_tool_round_that_is_cut_once_goes_on(enforcement: EnforcementName) -> None:
    made = await put([cut("A long story.", 6), paris, say("So."), FITS], enforcement, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 1)


@ALL
async def test_a_cut_text_is_no_early_answer(enforcement: EnforcementName) -> None:
    made = await put([cut(FITS), cut(FITS)], enforcement, tools=TOOLS)
    assert made.answer.error == "output_truncated"
    assert made.answer.data is None


@ALL
async def test_a_server_that_fails_in_a_tool_round_is_an_llm_error(enforcement: EnforcementName) -> None:
    made = await put([paris, KINDS["status_401"]], enforcement, tools=TOOLS)
    assert (made.answer.error, made.answer.attempts, made.calls) == ("llm_error", 0, 2)


# Prompted backends: the envelope.


async def test_an_envelope_that_is_missing_is_asked_for_once_and_an_answer_is_still_taken() -> None:
    made = await put([FITS, FITS], "prompted", server=bare([FITS, FITS]), tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 2)
    assert len(made.of(RepairSent)) == made.report.repairs == 1


async def test_one_repair_brings_the_call() -> None:
    envelope = json.dumps({"content": "", "tool_calls": [{"name": "get_time", "arguments": {"city": "Paris"}}]})
    done = json.dumps({"content": "So.", "tool_calls": []})
    script: list[Given] = ["get_time(Paris)", envelope, done, FITS]
    made = await put(script, "prompted", server=bare(script), tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 4)
    assert [event.ok for event in made.of(ToolEnded)] == [True]
    assert made.report.repairs == 1
    assert made.of(CorrectionSent) == []


async def test_prose_twice_is_believed_and_the_answer_is_asked_for() -> None:
    script: list[Given] = ["I have no tools.", "I really have none.", FITS]
    made = await put(script, "prompted", server=bare(script), tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 1, 3)
    assert "tool_calls" not in made.asked[2].messages[0]["content"], "the closing request asks for no envelope"


async def test_in_the_closing_request_no_envelope_is_asked_for_and_none_is_repaired() -> None:
    script: list[Given] = [
        json.dumps({"content": "", "tool_calls": [{"name": "get_time", "arguments": {"city": "Paris"}}]}),
        json.dumps({"content": "So.", "tool_calls": []}),
        "Prose.",
        FITS,
    ]
    made = await put(script, "prompted", server=bare(script), tools=TOOLS)
    assert (made.answer.data, made.answer.attempts, made.calls) == (OSLO, 2, 4)
    assert made.of(RepairSent) == []
    assert all("tool_calls" not in asked.messages[0]["content"] for asked in made.asked[2:])


# Tools of the recipe.


@ALL
async def test_a_recipe_may_bring_tools_of_its_own(enforcement: EnforcementName, tmp_path: Path) -> None:
    recipe = tmp_path / "timely.yaml"
    recipe.write_text("engine: jeltz\npromptPrefix: '{{ schema_json | raw }}'\ntools: {add: [clock]}\n")
    made = await put([call("clock"), say("So."), FITS], enforcement, recipe=recipe)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 1)
    assert [event.name for event in made.of(ToolEnded)] == ["clock"]


@pytest.mark.parametrize("enforcement", FORMS)
async def test_the_same_course_over_a_script_and_from_its_journal(enforcement: EnforcementName) -> None:
    first = [paris, oslo] if enforcement == "constrained" else [calls(paris, oslo)]
    ends = call("answer", message="So.") if enforcement == "constrained" else say("So.")
    script: list[Answer] = [*first, ends, MISFIT, FITS]
    made = await play(script, enforcement, follow_form=True, tools=TOOLS)
    assert (made.answer.data, made.answer.attempts) == (OSLO, 2)
    assert made.said(0)[0] == PROMPT


async def test_a_recipe_may_bound_the_tool_rounds(tmp_path: Path) -> None:
    file = tmp_path / "brief.yaml"
    file.write_text("engine: jeltz\nparams: {maxIterations: 2}\npromptPrefix: 'Fill in {{ schema_json }}'\n")
    script: list[Answer] = [call("get_time", city=str(number)) for number in range(5)]
    made = await play([*script[:2], FITS], tools=TOOLS, recipe=file)
    assert (made.answer.success, made.calls) == (True, 3)
