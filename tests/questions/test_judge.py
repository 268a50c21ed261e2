"""The judge of a question, as the pure fold that it is: random replies, and what holds of every ruling."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.questions.asking import CITY, ERRORS, EXCERPT, FRAME
from vancetope.contract.form import Form, form
from vancetope.contract.question import Failed, Found, Question, Retry, Ruling, Tried, judge
from vancetope.messages import Finish, Reply
from vancetope.models.base import ModelInfo
from vancetope.questions import question_of
from vancetope.schema.validate import compile as compiled

INFO = ModelInfo(provider="lab", name="model")
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(10**6), 10**6)

# Schemas, and instances that fit them.
OPTIONAL = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    },
    "required": ["name"],
}
UNION = {
    "type": "object",
    "properties": {
        "what": {
            "anyOf": [
                {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
                {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
            ]
        }
    },
    "required": ["what"],
}
LISTED = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}, "minItems": 1}},
    "required": ["rows"],
    "$defs": {"row": {"type": "object", "properties": {"at": {"enum": ["a", "b"]}}, "required": ["at"]}},
}
SCHEMAS: Sequence[tuple[Mapping[str, Any], st.SearchStrategy[dict[str, Any]]]] = (
    (CITY, st.fixed_dictionaries({"city": WORDS, "people": st.integers(1, 10**9)})),
    (OPTIONAL, st.fixed_dictionaries({"name": WORDS}, optional={"note": WORDS, "tags": st.lists(WORDS, max_size=3)})),
    (
        UNION,
        st.fixed_dictionaries(
            {"what": st.fixed_dictionaries({"n": NUMBERS}) | st.fixed_dictionaries({"word": WORDS})},
        ),
    ),
    (
        LISTED,
        st.fixed_dictionaries(
            {"rows": st.lists(st.fixed_dictionaries({"at": st.sampled_from("ab")}), min_size=1, max_size=4)}
        ),
    ),
)
# What fits none of them.
UNFITTING = (
    st.fixed_dictionaries({"rows": NUMBERS, "what": WORDS}) | st.lists(NUMBERS, max_size=3) | NUMBERS | st.none()
)
PROSE = st.sampled_from(["I am not sure.", "Next I will look it up.", "It is Oslo, with 700,000 people.", "{'", "```"])
BLANK = st.sampled_from(["", " ", "\n\n", "\u200b"])


def dressed(text: str, how: str) -> str:
    match how:
        case "fence":
            return f"```json\n{text}\n```"
        case "talk":
            return f"Here it is:\n\n{text}\n"
        case "thought":
            return f"<think>Let me see.</think>\n{text}"
    return text


@st.composite
def texts(draw: st.DrawFn, instances: st.SearchStrategy[dict[str, Any]]) -> str:
    kind = draw(st.sampled_from(["fits", "fits", "misfit", "misfit", "prose", "blank", "two", "half"]))
    if kind in ("prose", "blank"):
        return draw(PROSE if kind == "prose" else BLANK)
    value = draw(UNFITTING if kind == "misfit" else instances)
    text = dressed(
        json.dumps(value, ensure_ascii=draw(st.booleans())), draw(st.sampled_from(["", "fence", "talk", "thought"]))
    )
    if kind == "two":
        return f"{text}\n{json.dumps(draw(instances))}"
    return text[: len(text) // 2] if kind == "half" else text


FINISHES = st.sampled_from(
    [
        *[Finish.STOP] * 8,
        *[Finish.LENGTH] * 3,
        Finish.UNKNOWN,
        Finish.TOOL_CALLS,
        Finish.MALFORMED_CALL,
        *[Finish.REFUSAL],
    ]
)


@st.composite
def replies(draw: st.DrawFn, instances: st.SearchStrategy[dict[str, Any]]) -> list[Reply]:
    """Twelve replies, of which some are equal."""
    different = draw(st.lists(st.builds(Reply, texts(instances), finish=FINISHES), min_size=1, max_size=5))
    order = draw(st.lists(st.integers(0, len(different) - 1), min_size=12, max_size=12))
    return [different[at] for at in order]


@dataclass(frozen=True)
class Case:
    question: Question
    form: Form
    replies: list[Reply]
    room: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    schema, instances = draw(st.sampled_from(SCHEMAS))
    question = replace(asked(json.dumps(schema)), max_attempts=draw(st.integers(1, 10)))
    shape = shaped(json.dumps(schema), draw(st.sampled_from([None, "openai", "gemini", "llguidance"])))
    return Case(question, shape, draw(replies(instances)), draw(st.booleans()))


@cache
def asked(schema: str) -> Question:
    made = question_of("Which?", json.loads(schema), INFO)
    assert isinstance(made, Question)
    return made


@cache
def shaped(schema: str, profile: str | None) -> Form:
    return form(compiled(json.loads(schema)), profile, INFO, raised=False)


def folded(case: Case) -> list[tuple[Tried, Ruling, Reply]]:
    """The rulings on these replies, up to the one that does not ask again."""
    tried = Tried()
    course = []
    for reply in case.replies:
        tried, ruling = judge(case.question, case.form, tried, reply, can_raise=case.room)
        course.append((tried, ruling, reply))
        if not ruling.again:
            break
    return course


@given(cases())
def test_the_fold_ends_within_its_attempts_and_every_reply_is_one(case: Case) -> None:
    course = folded(case)
    assert folded(case) == course, "the fold is not pure"
    assert [tried.attempts for tried, _, _ in course] == list(range(1, len(course) + 1))
    assert len(course) <= case.question.max_attempts
    assert not course[-1][1].again
    assert all(isinstance(ruling, Retry) for _, ruling, _ in course[:-1])


@given(cases())
def test_what_is_found_fits_the_callers_own_schema_and_was_in_the_reply(case: Case) -> None:
    _, ruling, reply = folded(case)[-1]
    if isinstance(ruling, Found):
        assert isinstance(ruling.value, dict)
        assert compiled(case.question.schema).fits(ruling.value)
        assert ruling.data is ruling.value
        assert reply.finish not in (Finish.LENGTH, Finish.REFUSAL, Finish.CONTENT_FILTER)
        for word in _words(ruling.value):
            assert any(json.dumps(word, ensure_ascii=each)[1:-1] in reply.text for each in (True, False))


@given(cases())
def test_a_failure_says_why_and_keeps_the_last_invalid_value(case: Case) -> None:
    course = folded(case)
    tried, ruling, reply = course[-1]
    if not isinstance(ruling, Failed):
        return
    assert ruling.error in ERRORS
    assert ruling.message.strip()
    if ruling.error == "schema_violation":
        assert tried.invalid
        assert not compiled(case.question.schema).fits(tried.last_invalid)
    elif ruling.error == "max_attempts_exceeded":
        assert not tried.invalid
        assert tried.last_invalid == (reply.text[:2_000] if reply.text.strip(" \n\u200b") else None)
    for (before, _, _), (after, _, _) in pairwise(course):
        assert after.invalid or not before.invalid, "a value that was kept is gone"


@given(cases())
def test_a_cut_reply_is_never_read_and_asked_again_once_and_only_with_more_room(case: Case) -> None:
    raised = 0
    for tried, ruling, reply in folded(case):
        if reply.finish is Finish.LENGTH:
            assert not isinstance(ruling, Found)
        if isinstance(ruling, Retry) and ruling.say is None:
            raised += 1
            assert reply.finish is Finish.LENGTH
            assert case.room
            assert ruling.quote is None
            assert tried.raised
        elif reply.finish is Finish.LENGTH:
            assert isinstance(ruling, Failed)
            assert ruling.error == "output_truncated"
    assert raised <= 1


@given(cases())
def test_of_equal_replies_in_a_row_the_second_is_shown_its_schema_and_the_third_is_the_end(case: Case) -> None:
    course = folded(case)
    same = 0
    before: str | None = None
    for number, (_, ruling, reply) in enumerate(course, 1):
        if reply.finish is Finish.LENGTH:
            same, before = 0, None
            continue
        same = same + 1 if before is not None and reply.text.strip() == before.strip() else 1
        before = reply.text
        assert same < 3 or number == len(course)
        if isinstance(ruling, Retry):
            assert ruling.say is not None
            assert ("word for word" in ruling.say) == (same == 2)


@given(cases())
def test_a_correction_is_short_and_about_the_reply_before_it(case: Case) -> None:
    for _, ruling, reply in folded(case):
        if isinstance(ruling, Retry) and ruling.say is not None:
            assert ruling.quote == reply.text
            assert len(ruling.say) <= 1_500 + FRAME + EXCERPT * ("word for word" in ruling.say)


@given(cases(), st.integers(0, 11))
def test_a_refused_reply_is_the_end_wherever_it_comes(case: Case, at: int) -> None:
    refusing = list(case.replies)
    refusing[at] = replace(refusing[at], finish=Finish.CONTENT_FILTER)
    course = folded(replace(case, replies=refusing))
    if len(course) == at + 1:
        ruling = course[-1][1]
        assert isinstance(ruling, Failed)
        assert ruling.error == "refused"
    assert len(course) <= at + 1


def _words(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for each in value.values() for word in _words(each)]
    if isinstance(value, list):
        return [word for each in value for word in _words(each)]
    return [value] if isinstance(value, str) else []


# By example.


def question(max_attempts: int = 3, schema: Mapping[str, Any] = CITY) -> Question:
    made = question_of("Which?", schema, INFO, max_attempts=max_attempts)
    assert isinstance(made, Question)
    return made


def ruled(*given: Reply | str, max_attempts: int = 3, can_raise: bool = True) -> tuple[Tried, Ruling]:
    tried, ruling = Tried(), None
    for each in given:
        reply = Reply(each) if isinstance(each, str) else each
        tried, ruling = judge(question(max_attempts), Form("prompted"), tried, reply, can_raise=can_raise)
    assert ruling is not None
    return tried, ruling


@pytest.mark.parametrize(
    ("replies", "error", "attempts"),
    [
        (["{}"] * 3, "schema_violation", 3),
        (["{}", "No.", "No!"], "schema_violation", 3),
        (["No.", "No!", "{}"], "schema_violation", 3),
        (["No.", "No!", "No?"], "max_attempts_exceeded", 3),
        (["", " ", "\n"], "max_attempts_exceeded", 3),
        (["{}", Reply("{", finish=Finish.LENGTH), Reply("{", finish=Finish.LENGTH)], "output_truncated", 3),
        ([Reply("No.", finish=Finish.REFUSAL)], "refused", 1),
    ],
)
def test_the_error_is_decided_by_all_attempts(replies: Any, error: str, attempts: int) -> None:
    tried, ruling = ruled(*replies)
    assert isinstance(ruling, Failed)
    assert (ruling.error, tried.attempts) == (error, attempts)


def test_a_cut_between_equal_replies_breaks_their_row() -> None:
    _, ruling = ruled("No.", "No.", Reply("No.", finish=Finish.LENGTH), "No.", "No.", max_attempts=10)
    assert isinstance(ruling, Retry)
    _, ruling = ruled("No.", "No.", "No.", max_attempts=10)
    assert isinstance(ruling, Failed)


def test_without_more_room_the_first_cut_is_the_end() -> None:
    _, ruling = ruled(Reply("{", finish=Finish.LENGTH), can_raise=False)
    assert isinstance(ruling, Failed)
    assert ruling.error == "output_truncated"


def test_format_misses_are_told_in_a_correction_that_is_sent_anyway() -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}, "n": {"type": "integer"}}}
    loose = question_of("Which?", schema, INFO)
    strict = question_of("Which?", schema, INFO, format_checks=True)
    assert isinstance(loose, Question)
    assert isinstance(strict, Question)
    wrong_day, both = Reply('{"day": "soon", "n": 1}'), Reply('{"day": "soon", "n": "x"}')
    _, ruling = judge(loose, Form("prompted"), Tried(), wrong_day, can_raise=True)
    assert isinstance(ruling, Found)
    _, ruling = judge(loose, Form("prompted"), Tried(), both, can_raise=True)
    assert isinstance(ruling, Retry)
    assert "/day" in (ruling.say or "")
    assert "/n" in (ruling.say or "")
    _, ruling = judge(strict, Form("prompted"), Tried(), wrong_day, can_raise=True)
    assert isinstance(ruling, Retry)
    assert "/day" in (ruling.say or "")


def test_for_a_union_only_the_nearest_branch_is_told() -> None:
    _, ruling = judge(question(3, UNION), Form("prompted"), Tried(), Reply('{"what": {"n": "five"}}'), can_raise=True)
    assert isinstance(ruling, Retry)
    assert "/what/n" in (ruling.say or "")
    assert "word" not in (ruling.say or "").split("fit the schema")[1].split("Send the whole")[0]


def test_the_null_of_a_providers_form_is_taken_out_again() -> None:
    shape = form(compiled(OPTIONAL), "openai", INFO, raised=False)
    _, ruling = judge(
        question(3, OPTIONAL), shape, Tried(), Reply('{"name": "x", "note": null, "tags": null}'), can_raise=True
    )
    assert isinstance(ruling, Found)
    assert ruling.value == {"name": "x"}
