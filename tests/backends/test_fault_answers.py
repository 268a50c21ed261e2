"""Faults of structured answers: each is on the wire what it says, whichever way the schema was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.backends.listening import BOTH, asking, hear
from vancetope.backends.faults import KINDS, SCENARIOS, Asked, FaultServer, fitting, scenario
from vancetope.backends.faults.answers import ANSWERS, ENDLESS, wanted
from vancetope.backends.faults.fault import DONE

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}, "river": {"type": "string"}},
    "required": ["city", "people"],
}
FITTING = {"city": "Paris", "people": 1}
WHOLE = '{"city":"Paris","people":1}'

SAID: dict[str, Callable[[str], bool]] = {
    "answer_in_prose": lambda text: text == DONE,
    "answer_misfit": lambda text: json.loads(text) == {"reply": DONE, "number": 1},
    "answer_misfit_again": lambda text: json.loads(text) == {"reply": DONE},
    "answer_fenced": lambda text: text == f"```json\n{WHOLE}\n```",
    "answer_in_talk": lambda text: text == f"Here it is:\n\n{WHOLE}\n\nAnd now?",
    "answer_after_thought": lambda text: text == f"<think>So {{</think>{WHOLE}",
    "answer_in_python": lambda text: text == "```\n{'city': 'Paris', 'people': 1}\n```",
    "answer_twice": lambda text: text == f"{WHOLE}\n{WHOLE}",
    "draft_then_final": lambda text: text.startswith('{"city":"Paris ","people":1}') and text.endswith(WHOLE),
    "doubled_brace": lambda text: text == f'{{"{WHOLE}',
    "schema_echoed": lambda text: json.loads(text) == CITY,
    "answer_placeholders": lambda text: text == '{"city": <city>, "people": <people>}',
    "answer_ellipsis": lambda text: text == '{"city":"Paris","people":1, ...}',
    "answer_wrapped": lambda text: json.loads(text) == {"output": FITTING},
    "answer_in_list": lambda text: json.loads(text) == [FITTING],
    "answer_as_text": lambda text: json.loads(json.loads(text)) == FITTING,
    "answer_nan": lambda text: text == '{"city":"Paris","people":1, "share": NaN}',
    "answer_null": lambda text: text == "null",
    "answer_cut_unseen": lambda text: text == WHOLE[: len(WHOLE) // 2],
    "endless_number": lambda text: text.endswith(f'"n": {"7" * ENDLESS}}}'),
    "answer_cut": lambda text: text == WHOLE[: len(WHOLE) // 2],
    "answer_cut_closed": lambda text: text == WHOLE,
    "endless_space": lambda text: text == WHOLE[: len(WHOLE) // 2] + " " * ENDLESS,
    "endless_list": lambda text: text.startswith('{"n": [7, 7, ') and len(text) > 1_000,
    "answer_in_thought": lambda text: text == "",
}
CUT = {"answer_cut", "answer_cut_closed", "endless_space", "endless_list"}


def by_format(**changes: Any) -> dict[str, Any]:
    shape = {"type": "json_schema", "json_schema": {"name": "reply", "schema": CITY}}
    return asking(tools=None, response_format=shape, **changes)


def in_words(**changes: Any) -> dict[str, Any]:
    system = {"role": "system", "content": f"Fill {{this}} form: {{}} Schema:\n{json.dumps(CITY, indent=2)}\nBe brief."}
    return asking(tools=None, messages=[system, {"role": "user", "content": "Which city?"}], **changes)


@BOTH
@pytest.mark.parametrize("form", [by_format, in_words])
@pytest.mark.parametrize("name", [each.name for each in ANSWERS])
async def test_a_fault_of_an_answer_is_what_it_says(name: str, form: Any, stream: bool) -> None:
    async with FaultServer([KINDS[name]]) as server:
        told = await hear(server.base_url, form(stream=stream or None))
    assert SAID[name](told.text), told.text[:200]
    assert told.finish == ("length" if name in CUT else "stop")
    assert (told.thinking == WHOLE) == (name == "answer_in_thought")


@pytest.mark.parametrize("form", [by_format, in_words])
async def test_the_scenario_answer_gives_an_object_that_fits(form: Any) -> None:
    async with FaultServer(SCENARIOS["answer"]) as server:
        assert (await hear(server.base_url, form())).text == WHOLE


@pytest.mark.parametrize("form", [by_format, in_words])
async def test_a_fault_that_comes_once_is_followed_by_an_object_that_fits(form: Any) -> None:
    async with FaultServer(scenario("answer_fenced")) as server:
        told = [(await hear(server.base_url, form())).text for _ in range(3)]
    assert told == [f"```json\n{WHOLE}\n```", WHOLE, WHOLE]


def test_where_no_schema_is_asked_for_the_answer_is_an_empty_object() -> None:
    bodies: list[dict[str, Any]] = [{}, {"messages": []}, asking(tools=None)]
    bodies.append({"messages": [{"role": "system", "content": "{ {} {'a"}]})
    for body in bodies:
        assert wanted(Asked(body)) == {}
        assert fitting(Asked(body)) == {}


async def test_a_draft_differs_from_the_final_answer_wherever_it_can() -> None:
    for schema, draft in (
        ({"properties": {"open": {"type": "boolean"}, "n": {"type": "integer"}}, "required": ["open", "n"]}, {"n": 2}),
        ({"properties": {"of": CITY}, "required": ["of"]}, {"of": {**FITTING, "city": "Paris "}}),
        ({"properties": {"open": {"type": "boolean"}}, "required": ["open"]}, {"open": True}),
    ):
        shape = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
        async with FaultServer([KINDS["draft_then_final"]]) as server:
            told = await hear(server.base_url, asking(tools=None, response_format=shape))
        first = json.loads(told.text.splitlines()[0])
        assert draft.items() <= first.items()


def test_the_command_lists_the_faults_of_answers_with_their_reports(capsys: pytest.CaptureFixture[str]) -> None:
    from vancetope.backends.faults.__main__ import main

    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert "draft_then_final" in listed
    assert "S21" in listed
