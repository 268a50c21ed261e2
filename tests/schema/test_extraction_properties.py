# ruff: noqa: RUF001  typographic and full-width signs are the subject here
"""What holds for any value, any text and any size."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.schema import Extraction, NoJson, Reason, Rule, extract, find
from vancetope.schema.reading import MAX_TRAILING
from vancetope.schema.validate import compile

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        "```",
        "```json\n{}\n```",
        "</think>",
        "<think>",
        "// no",
        "/*",
        "{",
        "}",
        "[",
        "...",
        "\u200b",
        "\r",
        "a\n\nb",
        '"',
        "'",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=12)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=5)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


SPELLINGS: dict[str, Callable[[Any], str]] = {
    "compact": compact,
    "spaced": lambda value: json.dumps(value, ensure_ascii=False),
    "ascii": json.dumps,
    "indented": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    "tabs": lambda value: json.dumps(value, indent="\t").replace("\n", "\r\n"),
}
FRAMES = {
    "alone": ("", ""),
    "blank": (" \r\n\ufeff", "\n\n"),
    "reasoning": ('<think>\nLet me {see}: {"name": "no"}\n</think>\n\n', ""),
    "template": ("<|im_start|>assistant\n", "<|im_end|>"),
    "fence": ("```json\n", "\n```"),
    "bare fence": ("Here:\n\n```\n", "\n```\n\nIs that all?"),
    "long fence": ("~~~~~~\n", "\n~~~~~~"),
    "one line": ("```json ", " ```"),
}
PROSE = {
    "before": ("Here is the JSON you asked for:\n", ""),
    "behind": ("", "\n\nLet me know whether that is what you need!"),
    "around": ("以下是結果：\n\n", "\n\n以上です。"),
    "label": ("**Answer:** ", " ✅"),
    "open fence": ("```json\n", ""),
}


def schema_of(value: Any) -> dict[str, Any]:
    """A schema that this value fits and that restricts what else does."""
    match value:
        case bool():
            return {"type": "boolean"}
        case None:
            return {"type": "null"}
        case int() | float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", "items": {"anyOf": [schema_of(each) for each in value]} if value else False}
        case _:
            properties = {key: schema_of(each) for key, each in value.items()}
            return {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(OBJECTS, st.sampled_from(sorted(SPELLINGS)), st.sampled_from(sorted(FRAMES)))
def test_any_object_alone_or_in_a_fence_comes_out_as_it_went_in(value: Any, spelling: str, frame: str) -> None:
    before, behind = FRAMES[frame]
    text = before + SPELLINGS[spelling](value) + behind
    for schema in ({}, {"type": "object"}, schema_of(value)):
        found = extract(text, schema)
        assert isinstance(found, Extraction), found
        assert same(found.value, value)
        assert found.rule == ("strict" if frame in ("alone", "blank", "reasoning", "template") else "fence")


@given(OBJECTS, st.sampled_from(sorted(SPELLINGS)), st.sampled_from(sorted(PROSE)))
def test_any_object_amid_prose_comes_out_as_it_went_in(value: Any, spelling: str, prose: str) -> None:
    before, behind = PROSE[prose]
    text = before + SPELLINGS[spelling](value) + behind
    found = extract(text, schema_of(value))
    assert isinstance(found, Extraction), found
    assert same(found.value, value)
    assert found.rule == "span"
    assert isinstance(extract(text, {}), NoJson)


@given(OBJECTS.filter(bool), st.sampled_from(sorted(SPELLINGS)), st.data())
def test_a_cut_object_gives_nothing_or_the_whole_one(value: Any, spelling: str, data: st.DataObject) -> None:
    text = SPELLINGS[spelling](value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for before in ("", "Here:\n", "```json\n", "<think>x</think>"):
        found = extract(before + cut, schema_of(value))
        assert isinstance(found, NoJson) or (found.rule == "closed" and same(found.value, value))
        assert isinstance(extract(before + cut, {}), NoJson)
        cut_by_limit = extract(before + cut, schema_of(value), "length")
        assert isinstance(cut_by_limit, NoJson)
        assert cut_by_limit.reason == "truncated"


@given(OBJECTS, OBJECTS, st.sampled_from(["\n", " ", ", ", "\n\nor\n\n", "\n```\n\n```json\n"]))
def test_two_different_objects_that_fit_are_ambiguous(one: Any, other: Any, between: str) -> None:
    schema = {"anyOf": [schema_of(one), schema_of(other)]}
    text = f"{compact(one)}{between}{compact(other)}"
    for each in (text, f"```json\n{text}\n```", f"See:\n{text}"):
        found = extract(each, schema)
        if same(one, other):
            assert isinstance(found, NoJson) or same(found.value, one)
        elif isinstance(found, NoJson):
            assert found.reason == "ambiguous"
        else:
            pytest.fail(f"{each!r} gave {found}")


SIGNS = (
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "'",
        "`",
        "```",
        "```json\n",
        "\n```\n",
        "~~~",
        "\n",
        " ",
        "\r",
        "\\",
        "\\u",
        "\t",
    ),
    *("<think>", "</think>", "[THINK]", "<|channel|>", "final", "<|message|>", "<|end|>", "\x1b[0m", "\x1b[A", "\x1b"),
    *(
        "//",
        "/*",
        "*/",
        "#",
        "...",
        "…",
        "“",
        "”",
        "‘",
        "：",
        "，",
        "｛",
        "｝",
        "true",
        "None",
        "NaN",
        "1",
        "-",
        ".",
        "e",
    ),
    *('"a"', '"a":', "a:", '{"a": 1}', '{"a": 2}', "{'a': 1,}", '{"a": 1', "x ", "\u200b", "\ufeff", "\ud800", "\x00"),
)
A: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
SCHEMAS: list[dict[str, Any]] = [
    {},
    A,
    {**A, "additionalProperties": False},
    {"type": "array"},
    {"type": "array", "items": {"type": "integer"}},
    {"anyOf": [A, {"type": "null"}]},
    {"not": {}},
]


@given(st.lists(st.sampled_from(SIGNS), max_size=40).map("".join) | st.text(max_size=60), st.sampled_from(SCHEMAS))
def test_any_text_gives_a_value_that_fits_or_one_of_the_reasons(text: str, schema: dict[str, Any]) -> None:
    for finish in ("stop", "unknown"):
        found = extract(text, schema, finish)
        if isinstance(found, Extraction):
            assert found.rule in get_args(Rule)
            assert compile(schema).fits(found.value)
        else:
            assert found.reason in get_args(Reason)
            assert found.sentence.isprintable()
            assert (found.reason == "invalid") == bool(found.problems)


@given(st.lists(st.sampled_from(SIGNS), max_size=8).map("".join), st.sampled_from(["", "\n", " ", "```\n"]))
def test_signs_around_an_object_never_change_it(signs: str, between: str) -> None:
    value = {"name": "Mara {x} ```", "tags": ["a", "]"], "n": -7}
    for text in (signs + between + compact(value), compact(value) + between + signs):
        found = extract(text, schema_of(value))
        assert isinstance(found, NoJson) or same(found.value, value)


MEGABYTE = 1_000_000
LARGE = {
    "braces": "{",
    "brackets": "[",
    "quotes": '"',
    "apostrophes": "'",
    "typographic quotes": "“",
    "backticks": "`",
    "tildes": "~",
    "fences": "```\n",
    "tagged fences": "```json\n",
    "fences of two lengths": "``` ```` ",
    "fence and brace": "``` {",
    "fenced objects": '```json\n{"a": 1}\n```\n',
    "open keys": '{"a":',
    "open strings": '{"',
    "open single quotes": "{'a':",
    "open bare keys": "{a:",
    "open lists of items": '["a",',
    "empty objects": "{}",
    "pairs of quoted braces": '{"}',
    "escapes": '"\\"',
    "backslashes": "\\",
    "thinking": "<think>",
    "thoughts": "<think></think>",
    "ends of thinking": "</think>",
    "bracketed thinking": "[THINK]",
    "channels": "<|channel|>",
    "whole channels": "<|channel|>analysis<|message|>",
    "less-than signs": "<",
    "tokens": "<|end|>",
    "half tokens": "<|",
    "comments": "/*",
    "line comments": "//",
    "hashes": "#",
    "blanks": " ",
    "lines": "\n",
    "returns": "a\r",
    "codes": "\x1b[",
    "titles": "\x1b]",
    "quotations": "> ",
    "labels": "a: ",
    "numbers": "1 ",
    "digits": "1",
    "letters": "a",
    "commas": ",",
    "mixture": '{"a":[\'`<think>',
    "other mixture": "a{b}c[d]\"'```\n",
}
STARTS = (
    "",
    "{",
    "[",
    '{"a": 1}',
    "{'a': '",
    '["',
    "```json\n",
    "```\n{",
    "[1,",
    "{a:",
    "// ",
    "\x1b[1m",
    "\r",
    "<think>",
)


@pytest.mark.parametrize("unit", LARGE.values(), ids=LARGE.keys())
def test_a_megabyte_of_anything_is_answered_in_linear_time(unit: str) -> None:
    text = unit * (MEGABYTE // len(unit))
    validator = compile({**A, "additionalProperties": False})
    for start in STARTS:
        assert isinstance(find(start + text[: MEGABYTE // 10], validator), Extraction | NoJson)
    assert isinstance(find(text, validator), Extraction | NoJson)
    assert isinstance(find(text + '\n{"a": 1}', validator), Extraction | NoJson)
    assert isinstance(find('{"a": 1' + text, validator), Extraction | NoJson)


def test_a_megabyte_of_braces_is_answered_at_once() -> None:
    validator = compile(A)
    best = 1.0
    for _ in range(3):
        before = time.perf_counter()
        found = find("{" * MEGABYTE, validator)
        best = min(best, time.perf_counter() - before)
        assert isinstance(found, NoJson)
        assert found.reason == "too_deep"
    assert best < 0.1


@pytest.mark.parametrize("seed", range(6))
def test_a_large_text_of_random_signs_is_answered_in_linear_time(seed: int) -> None:
    signs = random.Random(seed).choices(SIGNS, k=200_000)
    for schema in SCHEMAS[:3]:
        extract("".join(signs), schema)
        extract("{'a': [" + "".join(sign for sign in signs if sign not in ("]", "}", "｝")), schema)


def test_a_large_value_is_found_by_every_rule() -> None:
    value = {"rows": [{"id": number, "text": f"row {number} of it's many"} for number in range(5_000)]}
    schema = schema_of({"rows": value["rows"][:1]})
    text = json.dumps(value)
    texts = {
        "strict": text,
        "fence": f"```json\n{text}\n```",
        "span": f"Here:\n{text}",
        "tidied": f"Here:\n{text[:-1]},}}",
        "closed": text[:-1],
    }
    for rule, each in texts.items():
        assert extract(each, schema) == Extraction(value, rule)  # type: ignore[arg-type]


def test_a_run_of_blanks_behind_an_open_object_is_a_cut_reply() -> None:
    closed = {**A, "additionalProperties": False, "properties": {"a": {"type": "string"}}}
    assert extract('{"a": "b"' + " " * MAX_TRAILING, closed) == Extraction({"a": "b"}, "closed")
    for many in (MAX_TRAILING + 1, MEGABYTE):
        found = extract('{"a": "b"' + "\n" * many, closed)
        assert isinstance(found, NoJson)
        assert found.reason == "truncated"
