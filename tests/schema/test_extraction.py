"""Extraction against a file of replies as models really break them: what must be found, and what must never be."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from vancetope.errors import ConfigError
from vancetope.messages import Finish
from vancetope.schema import Extraction, InvalidSchema, NoJson, extract, find
from vancetope.schema.validate import compile

Row = dict[str, Any]
ROWS: list[Row] = [
    json.loads(line) for line in (Path(__file__).parent / "broken_outputs.jsonl").read_text("utf-8").splitlines()
]
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}

# Rows marked "policy" that we decide otherwise than the file, each with the reason.
REFUSED_BY_US = {
    "B049": "two different values fit: which one stands is said in words only",
    "B058": "two different values fit: a fence does not outrank a line of its own",
    "B062": "an object opens and never closes: what stands inside is not the answer",
    "B064": "an object opens and never closes: what stands inside is not the answer",
    "B083": "two strings side by side are two items or, as in Python, one",
    "B086": "equals signs for colons are no lexical slip of JSON",
    "B088": "numbers are never repaired",
    "B089": "numbers are never repaired",
    "B092": "a word without quotes is no value",
    "B095": "an expression is no value",
    "B099": "where a string without its quote ends is a guess",
    "B100": "where a string without its quote ends is a guess",
    "B101": "where a string with bare quotes inside ends is a guess",
    "B103": "a backslash before a letter may be a slip in either direction",
    "B106": "a bracket that closes nothing says that something is missing",
    "B107": "a brace that closes a list says that something is missing",
    "B109": "escaped outside of a string: this is the inside of another one",
    "B110": "escaped outside of a string: this is the inside of another one",
    "B111": "escaped for HTML: strings may be escaped as well, or not",
    "B150": "a reply that was cut is never read leniently",
    "B184": "no unwrapping: the whole text is a string, and that is final",
}
ACCEPTED_BY_US = {
    "B172": "the whole text is strict JSON that fits, and that is final",
    "B192": "formats are hints unless the caller makes them a gate",
}


@cache
def outcome(name: str) -> Extraction | NoJson:
    row = next(row for row in ROWS if row["id"] == name)
    return extract(row["raw"], row["schema"], row["finish_reason"])


def named(row: Row) -> str:
    return f"{row['id']}: {row['why']}"


def only(verdict: str) -> list[Row]:
    return [row for row in ROWS if row["certainty"] == "certain" and row["verdict"] == verdict]


@pytest.mark.parametrize("row", only("accept"), ids=named)
def test_what_a_reply_clearly_gives_is_found(row: Row) -> None:
    found = outcome(row["id"])
    assert isinstance(found, Extraction), found
    assert json.dumps(found.value, sort_keys=True) == json.dumps(row["value"], sort_keys=True)


@pytest.mark.parametrize("row", only("reject"), ids=named)
def test_what_a_reply_does_not_give_is_never_invented(row: Row) -> None:
    found = outcome(row["id"])
    assert isinstance(found, NoJson), found
    assert found.sentence


@pytest.mark.parametrize("row", [row for row in ROWS if row["certainty"] == "policy"], ids=named)
def test_a_matter_of_policy_is_decided_as_listed_and_never_with_another_value(row: Row) -> None:
    found, name = outcome(row["id"]), row["id"]
    assert isinstance(found, Extraction) == (
        name not in REFUSED_BY_US if row["verdict"] == "accept" else name in ACCEPTED_BY_US
    )
    if isinstance(found, Extraction) and row["verdict"] == "accept":
        assert found.value == row["value"]


def test_the_lists_name_only_rows_that_the_file_decides_otherwise() -> None:
    decided = {row["id"]: (row["certainty"], row["verdict"]) for row in ROWS}
    assert {decided[name] for name in REFUSED_BY_US} == {("policy", "accept")}
    assert {decided[name] for name in ACCEPTED_BY_US} == {("policy", "reject")}


def test_the_figures_of_the_file_are_what_we_promise() -> None:
    accepts, rejects = only("accept"), only("reject")
    found = [row for row in accepts if isinstance(outcome(row["id"]), Extraction)]
    invented = [row for row in rejects if isinstance(outcome(row["id"]), Extraction)]
    wrong = [
        row
        for row in ROWS
        if isinstance(one := outcome(row["id"]), Extraction)
        and row["verdict"] == "accept"
        and one.value != row["value"]
    ]
    assert (len(ROWS), len(accepts), len(rejects)) == (141, 49, 50)
    assert (len(found), invented, wrong) == (49, [], [])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_whatever_is_returned_fits_the_schema(row: Row) -> None:
    found, validator = outcome(row["id"]), compile(row["schema"])
    if isinstance(found, Extraction):
        assert validator.fits(found.value)
    elif found.reason == "invalid":
        assert found.problems == validator.problems(found.value)
        assert found.problems
    else:
        assert (found.value, found.problems) == (None, ())


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"$ref": "https://example.org/schema"}, {"required": 1}])
def test_what_is_no_schema_is_said_whatever_the_text(schema: dict[str, Any]) -> None:
    for finish in ("stop", "length"):
        with pytest.raises(InvalidSchema) as raised:
            extract("", schema, finish)
        assert isinstance(raised.value, ConfigError)


def test_a_compiled_schema_gives_the_same_and_may_make_formats_a_gate() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date"}}, "required": ["at"]}
    text = 'Here:\n{"at": "soon"}'
    assert find(text, compile(schema)) == extract(text, schema) == Extraction({"at": "soon"}, "span")
    gated = find(text, compile(schema, formats=True))
    assert isinstance(gated, NoJson)
    assert (gated.reason, gated.value, gated.problems[0].keyword) == ("invalid", {"at": "soon"}, "format")


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        (Finish.STOP, None),
        (Finish.TOOL_CALLS, None),
        (Finish.UNKNOWN, None),
        (Finish.MALFORMED_CALL, None),
        (Finish.LENGTH, "truncated"),
        (Finish.REFUSAL, "none"),
        (Finish.CONTENT_FILTER, "none"),
    ],
)
def test_a_cut_or_refused_reply_gives_nothing_even_if_it_is_whole(finish: Finish, reason: str | None) -> None:
    for text in ('{"name": "Mara", "age": 52}', '```json\n{"name": "Mara", "age": 52}\n```'):
        found = extract(text, PERSON, finish)
        assert (found.reason if isinstance(found, NoJson) else None) == reason
