"""Both seams, the validator and the extractor, against what JSON Schema says.

Always against our own sample (`suite.py`). Against the official JSON-Schema-Test-Suite as well where
`VANCETOPE_JSON_SCHEMA_SUITE` names a folder of it (the one that holds `tests/`): no wheel carries its files, but the
source archive of the package `jsonschema` does, as `json/`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schema.suite import GROUPS, KEYWORDS
from tests.schema.suite_damage import damaged
from tests.schema.suite_group import Group
from vancetope.schema import Extraction, NoJson, extract
from vancetope.schema.keywords import unknown_keywords
from vancetope.schema.problems import MAX_PROBLEMS, MAX_SENTENCE
from vancetope.schema.strict import same
from vancetope.schema.validate import InvalidSchema, Validator, compile, json_types, sentence

each_group = pytest.mark.parametrize("group", GROUPS, ids=[f"{each.keywords}: {each.what}" for each in GROUPS])


def test_the_sample_has_four_values_of_each_kind_for_every_keyword() -> None:
    fits: Counter[str] = Counter()
    fails: Counter[str] = Counter()
    for group in GROUPS:
        for keyword in group.keywords.split():
            fits[keyword] += len({json.dumps(value) for value in group.fits})
            fails[keyword] += len({json.dumps(value) for value in group.fails})
    assert fits.keys() | fails.keys() == KEYWORDS
    assert [each for each in sorted(KEYWORDS) if min(fits[each], fails[each]) < 4] == []


@each_group
def test_the_validator_says_what_the_standard_says(group: Group) -> None:
    validator = compile(group.schema)
    assert [value for value in group.fits if not validator.fits(value)] == []
    assert [value for value in group.fails if validator.fits(value)] == []


@each_group
def test_the_extractor_returns_a_plain_value_exactly_where_it_fits(group: Group) -> None:
    assert [value for value in group.fits if not is_returned(value, group.schema)] == []
    assert [value for value in group.fails if not is_refused(value, group.schema)] == []


@each_group
def test_every_problem_is_a_short_sentence_about_a_place(group: Group) -> None:
    validator = compile(group.schema)
    for value in group.fails:
        assert_told(validator, value)


@each_group
def test_a_value_that_fits_has_only_types_that_the_schema_may_allow(group: Group) -> None:
    types = json_types(group.schema, group.schema)
    assert [value for value in group.fits if type_of(value) not in types] == []


@each_group
def test_the_keywords_of_the_standard_are_known(group: Group) -> None:
    assert {each.keyword for each in unknown_keywords(group.schema)} <= {"parts"}  # a group's own holder


def is_returned(value: Any, schema: dict[str, Any]) -> bool:
    found = extract(json.dumps(value), schema)
    return isinstance(found, Extraction) and found.rule == "strict" and same(found.value, value)


def is_refused(value: Any, schema: dict[str, Any]) -> bool:
    found = extract(json.dumps(value), schema)
    return isinstance(found, NoJson) and found.reason == "invalid" and same(found.value, value) and found.problems != ()


def assert_told(validator: Validator, value: Any) -> None:
    """The problems of a value that fails are at least one and at most eight, each told shortly and with its place."""
    problems = validator.problems(value)
    assert 1 <= len(problems) <= MAX_PROBLEMS
    assert len(set(problems)) == len(problems)
    for each in problems:
        assert str(each).startswith((f"{each.pointer}: ", "the value: "))
        assert each.pointer == "" or each.pointer.startswith("/")
        assert each.expected
        assert each.found
    assert 0 < len(sentence(problems)) <= MAX_SENTENCE
    assert sentence(problems).startswith(str(problems[0])[:200])


def type_of(value: Any) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


# Broken schemas


def judge_damaged(count: int, seed: int) -> Counter[str]:
    """Compile so many damaged schemas, and judge the values of their groups by those that still are schemas."""
    chance, outcomes = Random(seed), Counter[str]()
    for _ in range(count):
        group = chance.choice(GROUPS)
        schema = damaged(group.schema, chance)
        assert len(unknown_keywords(schema)) <= 8
        try:
            validator = compile(schema)
        except InvalidSchema:
            outcomes["refused"] += 1
            continue
        outcomes["compiled"] += 1
        types = json_types(schema, schema)
        for value in (*group.fits, *group.fails):
            if validator.fits(value):
                assert type_of(value) in types
            else:
                assert_told(validator, value)
    return outcomes


def test_a_damaged_schema_is_refused_or_judges_and_nothing_else_happens() -> None:
    outcomes = judge_damaged(500, seed=20)
    assert outcomes["refused"] > 250
    assert outcomes["compiled"] > 50


@given(st.integers(min_value=0, max_value=2**32))
def test_so_it_is_for_any_damage(seed: int) -> None:
    judge_damaged(5, seed)


# The official suite

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
REMOTE, METASCHEMA = "refers to another document", "is written for a metaschema of its own"
# In the suite as the source archive of jsonschema 4.26.0 has it: cases judged, and cases left out with the reason.
JUDGED = {"draft4": 593, "draft6": 806, "draft7": 890, "draft2019-09": 1191, "draft2020-12": 1208}
LEFT_OUT = {
    "draft4": {REMOTE: 17},
    "draft6": {REMOTE: 23},
    "draft7": {REMOTE: 23},
    "draft2019-09": {REMOTE: 31, METASCHEMA: 5},
    "draft2020-12": {REMOTE: 44, METASCHEMA: 5},
}


def official(draft: str) -> Iterator[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """The required groups of a draft: a name, the schema, the cases."""
    folder = os.environ.get("VANCETOPE_JSON_SCHEMA_SUITE")
    if not folder:
        pytest.skip("VANCETOPE_JSON_SCHEMA_SUITE names no folder with the official suite")
    files = sorted((Path(folder) / "tests" / draft).glob("*.json"))
    assert files
    for file in files:
        for group in json.loads(file.read_text(encoding="utf-8")):
            schema = group["schema"]
            if not isinstance(schema, dict):  # a whole schema is an object with us, so true and false stand inside one
                schema = {"allOf": [schema]}
            yield f"{file.stem}: {group['description']}", {"$schema": DRAFTS[draft], **schema}, group["tests"]


def reason(error: InvalidSchema) -> str:
    if "$schema names a draft" in str(error):
        return METASCHEMA
    assert "Resource 'http://localhost:1234/" in str(error)
    return REMOTE


@pytest.mark.parametrize("draft", DRAFTS)
def test_both_seams_agree_with_the_official_suite(draft: str) -> None:
    judged, left_out, wrong = 0, Counter[str](), []
    for name, schema, cases in official(draft):
        try:
            validator = compile(schema)
        except InvalidSchema as error:
            left_out[reason(error)] += len(cases)
            continue
        for case in cases:
            judged += 1
            holds = is_returned if case["valid"] else is_refused
            if validator.fits(case["data"]) != case["valid"] or not holds(case["data"], schema):
                wrong.append(f"{name}: {case['description']}")
            if case["valid"]:
                assert type_of(case["data"]) in json_types(schema, schema)
            else:
                assert_told(validator, case["data"])
    assert wrong == []
    assert (judged, dict(left_out)) == (JUDGED[draft], LEFT_OUT[draft])


@pytest.mark.parametrize("draft", DRAFTS)
def test_damaged_schemas_of_the_official_suite_are_refused_or_judge(draft: str) -> None:
    groups = list(official(draft))
    chance = Random(20)
    for _ in range(500):
        _, schema, cases = chance.choice(groups)
        try:
            validator = compile(damaged(schema, chance))
        except InvalidSchema:
            continue
        for value in values(cases):
            if not validator.fits(value):
                assert_told(validator, value)


def values(cases: Iterable[dict[str, Any]]) -> Iterator[Any]:
    return (case["data"] for case in cases)
