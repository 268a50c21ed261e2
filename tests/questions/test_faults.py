"""What every fault of a model or its server comes to: the documented error, counted where the requests arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.questions.asking import ALL, BY_FORMAT, CITY, FORMS, Put, always, formed, put, without_waiting, written
from vancetope.backends.faults import KINDS, SCENARIOS, Asked, FaultServer, Given, first
from vancetope.backends.faults.answers import ANSWERS
from vancetope.backends.faults.fault import DONE
from vancetope.events import RawDelta
from vancetope.outcome import Enforcement, EnforcementName

BUDGETS = (1, 2, 3, 10)
WHOLE = {"city": "Paris", "people": 1}
TEXT = json.dumps(WHOLE, separators=(",", ":"))
SAME = 3  # equal replies in a row are the end
CUT = 2  # a cut reply is asked for again once


@dataclass(frozen=True)
class Comes:
    """What a fault comes to that is there every time: an error or the rule of a success, after so many attempts."""

    error: str | None = None
    most: int = 1
    last: Any = None
    rule: str | None = None

    def attempts(self, budget: int) -> int:
        return min(budget, self.most)


def never(last: Any = None, most: int = SAME) -> Comes:
    return Comes("max_attempts_exceeded", most, last)


def misfit(last: Any, most: int = SAME) -> Comes:
    return Comes("schema_violation", most, last)


def cut_off(last: Any) -> Comes:
    return Comes("output_truncated", CUT, last)


def found(rule: str) -> Comes:
    return Comes(rule=rule)


HALF = TEXT[: len(TEXT) // 2]
COMES: Mapping[str, Comes] = {
    # The model ignores the schema, or answers with something else.
    "answer_in_prose": never(DONE),
    "constraint_ignored": never(DONE),
    "answer_misfit": misfit(..., most=10),
    "answer_misfit_again": misfit({"reply": DONE}),
    "schema_echoed": misfit(...),
    "answer_wrapped": misfit({"output": WHOLE}),
    "answer_in_list": misfit([WHOLE]),
    "answer_as_text": misfit(TEXT),
    "answer_null": misfit(None),
    # Nothing, or nothing that is one JSON value.
    "blank_text": never(None),
    "empty_text": never(None),
    "answer_in_thought": never(None),
    "malformed_call": never(None),
    "draft_then_final": never(f'{{"city":"Paris ","people":1}}\n\nThat was a draft. This is final:\n\n{TEXT}'),
    "doubled_brace": never(f'{{"{TEXT}'),
    "answer_placeholders": never('{"city": <city>, "people": <people>}'),
    "answer_ellipsis": never(f"{TEXT[:-1]}, ...}}"),
    "answer_nan": never(f'{TEXT[:-1]}, "share": NaN}}'),
    "answer_cut_unseen": never(HALF),
    "endless_number": never(f'{TEXT[:-1]}, "n": {"7" * 3_000}'[:2_000]),
    # Cut at the output limit.
    "answer_cut": cut_off(HALF),
    "answer_cut_closed": cut_off(TEXT),
    "endless_space": cut_off(f"{HALF}{' ' * 3_000}"[:2_000]),
    "endless_list": cut_off(('{"n": [' + "7, " * 1_000)[:2_000][:1507]),
    "cut_text": cut_off(DONE[:20]),
    "cut_thinking": cut_off(None),
    "cut_empty": cut_off(None),
    # Refused.
    "refusal_field": Comes("refused", last="I will not do that."),
    "refusal_finish": Comes("refused"),
    "content_filter": Comes("refused", last=DONE[:20]),
    # In odd clothes, but clear.
    "answer_fenced": found("fence"),
    "answer_in_talk": found("span"),
    "answer_after_thought": found("strict"),
    "answer_in_python": found("tidied"),
    "answer_twice": found("span"),
}
# Every combination; of the other faults every form and budget, streamed by turns.
CHOSEN = (
    "answer_misfit",
    "answer_misfit_again",
    "answer_in_prose",
    "blank_text",
    "answer_cut",
    "answer_twice",
    "doubled_brace",
    "draft_then_final",
    "schema_echoed",
    "answer_placeholders",
)


def test_every_fault_of_an_answer_has_its_outcome() -> None:
    assert {each.name for each in ANSWERS} <= COMES.keys()
    assert set(CHOSEN) <= COMES.keys()


def is_what_it_comes_to(made: Put, name: str, budget: int) -> None:
    comes, answer = COMES[name], made.answer
    assert (answer.success, answer.error, answer.rule) == (comes.error is None, comes.error, comes.rule)
    assert answer.attempts == comes.attempts(budget)
    assert made.calls == answer.attempts <= budget
    if answer.success:
        assert answer.data == WHOLE
    elif comes.last is not ...:
        assert answer.last_invalid == comes.last


@ALL
@pytest.mark.parametrize("name", COMES)
async def test_a_fault_that_is_there_every_time_comes_to_its_outcome(name: str, enforcement: EnforcementName) -> None:
    for number, budget in enumerate(BUDGETS):
        by_turns = [bool((number + FORMS.index(enforcement)) % 2)]
        for listening in (True, False) if name in CHOSEN else by_turns:
            made = await put(always(KINDS[name]), enforcement, max_attempts=budget, listening=listening)
            is_what_it_comes_to(made, name, budget)


@ALL
@pytest.mark.parametrize("name", [name for name, comes in COMES.items() if comes.error not in (None, "refused")])
async def test_a_fault_that_comes_once_costs_one_attempt(name: str, enforcement: EnforcementName) -> None:
    made = await put(first(KINDS[name], then=SCENARIOS["answer"]), enforcement)
    assert (made.answer.success, made.answer.attempts, made.calls) == (True, 2, 2)
    assert (made.answer.data, made.answer.rule) == (WHOLE, "strict")
    corrected = COMES[name].error != "output_truncated"
    assert len(made.corrections) == corrected == made.report.corrections


@ALL
async def test_an_echoed_schema_is_kept_as_the_last_value_that_did_not_fit(enforcement: EnforcementName) -> None:
    made = await put(always(KINDS["schema_echoed"]), enforcement)
    assert made.answer.last_invalid.keys() >= {"type", "properties", "required"}
    assert made.answer.error == "schema_violation"


@ALL
async def test_of_wrong_objects_the_last_one_and_its_errors_are_told(enforcement: EnforcementName) -> None:
    made = await put(always(KINDS["answer_misfit"]), enforcement, max_attempts=4)
    assert made.answer.last_invalid == {"reply": DONE, "number": 4}
    assert "/city" in made.answer.message
    assert "/people" in made.answer.message


@ALL
@pytest.mark.parametrize("late", ["answer_in_prose", "blank_text", "draft_then_final", "answer_nan"])
async def test_a_reply_without_json_behind_a_wrong_object_leaves_its_value_and_its_errors(
    late: str, enforcement: EnforcementName
) -> None:
    made = await put([KINDS["answer_misfit"], KINDS[late]], enforcement, max_attempts=2)
    assert (made.answer.error, made.answer.attempts) == ("schema_violation", 2)
    assert made.answer.last_invalid == {"reply": DONE, "number": 1}
    assert "/city" in made.answer.message, "the message is not about the value"


@ALL
async def test_what_is_streamed_of_every_attempt_is_what_it_said(enforcement: EnforcementName) -> None:
    names = ("answer_in_prose", "answer_misfit_again", "answer_fenced")
    made = await put([KINDS[name] for name in names], enforcement)
    texts = list(written(made.events).values())
    assert texts == [
        DONE,
        json.dumps({"reply": DONE}, ensure_ascii=False, separators=(",", ":")),
        f"```json\n{TEXT}\n```",
    ]
    assert len({each.id for each in made.of(RawDelta)}) == 3


# What a server refuses or loses is free, and bounded.

FREE: Mapping[str, tuple[int, int]] = {
    # The requests that come of it: by a response format, and in words.
    "schema_refused": (2, 1),
    "status_400": (2, 1),
    "status_404": (2, 1),
    "status_401": (1, 1),
    "status_403": (1, 1),
    "context_openai": (1, 1),
    "status_429_bare": (3, 3),
    "status_429_date": (3, 3),
    "status_429_hours": (1, 1),
    "status_500": (3, 3),
    "status_529": (3, 3),
    "reset_at_once": (3, 3),
    "half_stream": (2, 2),
    "html_page": (2, 2),
}


@ALL
@pytest.mark.parametrize("name", FREE)
async def test_a_server_that_never_gives_a_reply_is_an_llm_error_after_a_bounded_number_of_requests(
    name: str, enforcement: EnforcementName
) -> None:
    with without_waiting():
        made = await put(
            always(KINDS[name]), enforcement, max_attempts=10, model=f"never-{name}", listening=name != "status_500"
        )
    assert (made.answer.error, made.answer.attempts, made.answer.last_invalid) == ("llm_error", 0, None)
    assert made.calls == FREE[name][enforcement == "prompted"]


@ALL
@pytest.mark.parametrize("name", ["status_429_date", "status_500", "status_503", "reset_at_once", "half_stream"])
async def test_what_a_server_loses_is_asked_for_again_and_is_no_attempt(
    name: str, enforcement: EnforcementName
) -> None:
    script: list[Given] = []
    for wrong in ("answer_misfit", "answer_in_prose"):
        script += [KINDS[name], KINDS[wrong]]
    with without_waiting():
        made = await put(first(*script, KINDS[name], then=SCENARIOS["answer"]), enforcement)
    assert (made.answer.success, made.answer.attempts, made.calls) == (True, 3, 6)


def refusing(then: Given) -> Callable[[Asked], Given]:
    """A server that refuses every response format, and answers in words like this."""
    return lambda asked: KINDS["schema_refused"] if formed(asked) else then


@BY_FORMAT
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", ["answer_misfit", "answer_misfit_again", "answer_cut", "answer_fenced", "blank_text"])
async def test_a_refused_response_format_costs_one_request_and_no_attempt(
    name: str, budget: int, enforcement: EnforcementName
) -> None:
    model = f"refuses-{name}-{budget}-{enforcement}"
    made = await put(refusing(KINDS[name]), enforcement, max_attempts=budget, model=model)
    assert made.answer.attempts == COMES[name].attempts(budget)
    assert made.calls == 1 + made.answer.attempts
    assert [formed(asked) for asked in made.asked] == [True, *[False] * made.answer.attempts]
    assert made.answer.error == COMES[name].error
    assert made.answer.enforcement == Enforcement(enforcement, "prompted")
    assert any("refuses this schema" in each for each in made.notices)
    assert json.dumps(CITY, indent=2) in made.asked[1].messages[0]["content"], "in words it is the caller's own schema"


@BY_FORMAT
async def test_a_refused_response_format_is_remembered_for_its_model_and_schema(enforcement: EnforcementName) -> None:
    model = f"remembers-{enforcement}"
    script = refusing(SCENARIOS["answer"](Asked({"response_format": None})))
    server = FaultServer(lambda asked: KINDS["schema_refused"] if formed(asked) else SCENARIOS["answer"](asked))
    other = {**CITY, "required": ["city"]}
    calls = []
    for schema, named in ((CITY, model), (CITY, model), (other, model), (CITY, f"{model}-2"), (CITY, model)):
        made = await put(script, enforcement, schema=schema, model=named, server=server)
        assert made.answer.success
        calls.append(made.calls)
    assert calls == [2, 1, 2, 2, 1]


@BY_FORMAT
async def test_a_response_format_that_fails_for_another_reason_is_not_remembered(enforcement: EnforcementName) -> None:
    model = f"forgets-{enforcement}"
    made = await put(always(KINDS["status_404"]), enforcement, model=model)
    assert made.calls == 2
    made = await put(SCENARIOS["answer"], enforcement, model=model)
    assert (made.calls, formed(made.asked[0])) == (1, True)


@BY_FORMAT
async def test_a_refusal_in_the_middle_falls_back_within_its_attempt(enforcement: EnforcementName) -> None:
    script = [KINDS["answer_misfit"], KINDS["schema_refused"], KINDS["answer_misfit"], KINDS["answer_fenced"]]
    made = await put(script, enforcement, model=f"middle-{enforcement}")
    assert (made.answer.success, made.answer.attempts, made.calls) == (True, 3, 4)
    assert [formed(asked) for asked in made.asked] == [True, True, False, False]
    assert made.said(1) == made.said(2), "the fallback asks the same question"
