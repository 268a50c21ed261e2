# ruff: noqa: RUF001  typographic and full-width signs are the subject here
"""Lexical repairs: what has one reading is written as strict JSON, what has more or none is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.schema.strict import parse
from vancetope.schema.tidy import Comments, Cut, Tidied, Unreadable, tidied


def read(text: str) -> Any:
    found = tidied(text, 0, len(text))
    assert isinstance(found, Tidied), found
    assert found.end == len(text)
    return parse(found.text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}),
        ("[1 ,\n]", [1]),
        ('{"a": 1\n"b": 2\n\n"c": [3]\n}', {"a": 1, "b": 2, "c": [3]}),
        ("{\"a\": {}\n  'b': 2}", {"a": {}, "b": 2}),
        ('{"a": 1 // note\n"b": 2}', {"a": 1, "b": 2}),
        ("{'a': 'b'}", {"a": "b"}),
        ('{\'a\': \'say "b"\', "c": "it\'s"}', {"a": 'say "b"', "c": "it's"}),
        (r"""{'a': 'it\'s', "b": "it\'s", 'c': '\"\\\n\u00e9\xe9'}""", {"a": "it's", "b": "it's", "c": '"\\\né\xe9'}),
        ("{“a”: “b”, ”c”: ”d”}", {"a": "b", "c": "d"}),
        ('{„a“: „it\'s \\"b\\"“}', {"a": 'it\'s "b"'}),
        ("{‘a’: ‘b \"c\" 'd'’}", {"a": "b \"c\" 'd'"}),
        ('{＂a＂: ＂it\'s＂, ＇b＇: ＇"c"＇}', {"a": "it's", "b": '"c"'}),
        ("{a: 1, $b: 2, c_d: 3, e-f: 4, naïve: 5, 名: 6}", {"a": 1, "$b": 2, "c_d": 3, "e-f": 4, "naïve": 5, "名": 6}),
        ("{true: 1, null: 2}", {"true": 1, "null": 2}),
        ("[True, False, None, true, false, null]", [True, False, None, True, False, None]),
        ('{"a": "b\nc\td\r\ne"}', {"a": "b\nc\td\r\ne"}),
        ('｛"a"：［1，2］｝', {"a": [1, 2]}),
        ('{\u00a0"a"\u3000:\u200b1\ufeff,\u2028"b":2}', {"a": 1, "b": 2}),
        ("[-0, 0.5, -1.25e-3, 1E+2, 10]", [0, 0.5, -1.25e-3, 100.0, 10]),
        ("{}", {}),
        ("[[], {}, [[]]]", [[], {}, [[]]]),
    ],
)
def test_a_lexical_slip_has_one_reading(text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    "string",
    [
        "// no comment",
        "/* none */ # none",
        "[1,] {a: b} 'c', True, None",
        "a ... b …",
        "：，｛“”‘’＂",
        "\u00a0\u200b\ufeff\u2028",
        'a "b" \\ / \b\f\n\r\t',
        "it's",
        "",
    ],
)
def test_no_repair_reaches_into_a_string(string: str) -> None:
    written = json.dumps(string, ensure_ascii=False)
    assert read(f"{{{written}: [{written},],}}") == {string: [string]}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": , "b": 1}',
        '{"a": }',
        '{"a"}',
        '{"a", "b": 1}',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        '{"a": 1; "b": 2}',
        '{"a" = 1}',
        '{"a": 1, , "b": 2}',
        "{,}",
        "[,]",
        "[1,,2]",
        "[1 2]",
        '["a"\n"b"]',
        '{"a": "b" "c"}',
        '{"a": "b"\n"c"}',
        "{1: 2}",
        "{True: 1}",
        "{None: 1}",
        '{"a": [1}',
        '{"a": 1]',
        "[{]}",
    ],
)
def test_what_is_missing_or_out_of_place_is_not_guessed(text: str) -> None:
    assert isinstance(tidied(text, 0, len(text)), Unreadable)


NO_VALUES = (
    *("NaN", "Infinity", "-Infinity", "undefined", "nil", "TRUE", "high", "???", "<age>", "...", "…", "(1)", "a.b"),
    *(".5", "5.", "+5", "05", "-", "0x1F", "1_000", "1e", "5px", "１２", "1.2.3", "--1", "10%", "52 years", "f(1)"),
    *('"a" + "b"', "`a`", "«a»", "&quot;a&quot;", '\\"a\\"', "f'a'", "b'a'", "{{a}}"),
)


@pytest.mark.parametrize("value", NO_VALUES)
def test_no_other_value_is_known(value: str) -> None:
    for text in (f'{{"a": {value}}}', f"[1, {value}, 2]"):
        assert isinstance(tidied(text, 0, len(text)), Unreadable)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "say "b" c"}',
        '{"a": "say "b", c"}',
        "{'a': 'it's'}",
        "{‘a’: ‘it’s’}",
        '{“a": “b”}',
        '{“a”: “say "b"”}',
        "{“a”: “say ”b” c”}",
        r'{"a": "C:\Users"}',
        r'{"a": "\x41"}',
        r'{"a": "\u12"}',
        '{"a": "b\x00c"}',
        '{"a": "b\x1bc"}',
        '{"a": "b\\\nc"}',
        '{"a\nb": 1}',
        "{'a': 1, \"b\n\": 2}",
    ],
)
def test_a_string_whose_end_or_content_is_in_doubt_is_refused(text: str) -> None:
    assert isinstance(tidied(text, 0, len(text)), Unreadable)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{ // note\n"a": 1}', {"a": 1}),
        ('{\n# note\n# more notes\n"a": 1}', {"a": 1}),
        ('{"a": 1, // note\n"b": 2}', {"a": 1, "b": 2}),
        ('{"a": 1 // note\n, "b": 2}', {"a": 1, "b": 2}),
        ('{"a": /* note */ 1, /* note */ "b": 2}', {"a": 1, "b": 2}),
        ('{"a" /* k */: // v\n1}', {"a": 1}),
        ('{"a": 1 // note\n}', {"a": 1}),
        ('["x", // first\n"y" # second\n]', ["x", "y"]),
        ('{"a": {"b": 1} // note\n}', {"a": {"b": 1}}),
        ('{"a": 1, /* "b": 2, */ "c": 3}', {"a": 1, "c": 3}),
        ('{"a": 1, /** * ** note **/ "b": 2}', {"a": 1, "b": 2}),
        ("[1, 2 /* note */]", [1, 2]),
        ("[1, 2,\n// note\n]", [1, 2]),
        ('{"a": 1, // note\n}', {"a": 1}),
        ('{"a": {\n// note\n}}', {"a": {}}),
        ("[/* note */]", []),
    ],
)
def test_a_comment_is_left_out(text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, // ...\n"b": 2}',
        '{"a": 1, /* and so on … */ "b": 2}',
        '{"a": 1 # ... more\n}',
        "[1, 2 /* ⋯ */]",
        '{"a": // ..\n 1}',
        '{"a": /* unknown */}',
        '{"a": /* unknown */, "b": 1}',
        '{"a" /* unknown */}',
        "[1, /* two */, 3]",
        "[/* one */, 2]",
    ],
)
def test_a_comment_with_an_ellipsis_or_in_place_of_a_value_is_refused(text: str) -> None:
    assert isinstance(tidied(text, 0, len(text)), Unreadable)


HERE = Comments(here=True)


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ('{"a": 1,}', None),
        ('{"a": 1, // x\n}', HERE),
        ('{/* x */ "a": 1}', HERE),
        ("[1, /* x */ 2]", HERE),
        ("[/* x */]", HERE),
        ('{"a": /* x */ 1}', None),
        ('{"a" /* x */: 1}', None),
        ('{"a": [[], [1 # x\n]]}', Comments(below=(("a", Comments(below=((1, HERE),))),))),
        ('{"a": [1 /* x */], /* y */ "b": {/* z */}}', Comments(True, (("a", HERE), ("a", HERE), ("b", HERE)))),
        ('{"\\u00e9\\n": {/* x */}}', Comments(below=(("é\n", HERE),))),
        ("{é: [/* x */]}", Comments(below=(("é", HERE),))),
        # of the container that ended before it in its line, or in that of its comma
        ('{"a": [1] // x\n}', Comments(True, (("a", HERE),))),
        ('{"a": [1], // x\n"b": 2}', Comments(True, (("a", HERE),))),
        ('{"a": [1], /* x */ /* y */\n"b": 2}', Comments(True, (("a", HERE),))),
        ('{"a": [1],\n// x\n"b": 2}', HERE),
        ('{"a": [1], "b": 2 // x\n}', HERE),
        # of the container that begins behind it, unless it ends a line that it did not begin
        ('{\n// x\n"a": [1]}', Comments(True, (("a", HERE),))),
        ('{ // x\n"a": [1]}', HERE),
        ('{"b": 1, // x\n"a": [1]}', HERE),
        ('{"b": 1, // x\n// y\n"a": [1]}', Comments(True, (("a", HERE),))),
        ('{"b": 1, /* x */ "a": [1]}', Comments(True, (("a", HERE),))),
        ('{"b": 1 /* x */, "a": [1]}', HERE),
        ('{"a": // x\n[1]}', Comments(below=(("a", HERE),))),
        ('{"a" /* x */: [1]}', Comments(below=(("a", HERE),))),
        ('{/* x */ "b": 1, "a": [1]}', HERE),
        ("[\n# x\n[1], [2]]", Comments(True, ((0, HERE),))),
    ],
)
def test_it_is_told_of_which_containers_comments_speak(text: str, comments: Comments | None) -> None:
    found = tidied(text, 0, len(text))
    assert isinstance(found, Tidied), found
    assert found.comments == comments


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a',
        "{'a",
        "{“a",
        '{"a"',
        '{"a":',
        '{"a": t',
        '{"a": -',
        '{"a": 1',
        '{"a": 1,',
        "[1, {",
        "[1 /* no",
        "{a",
        "[1, /",
    ],
)
def test_a_value_that_stops_is_cut(text: str) -> None:
    assert isinstance(tidied(text, 0, len(text)), Cut)
    assert isinstance(tidied(text + "]}", 0, len(text)), Cut)


def test_the_reading_ends_with_the_value() -> None:
    text = "see {a: 1}} and"
    assert tidied(text, 4, len(text)) == Tidied('{"a":1}', 10)


def test_raw_line_breaks_may_be_left_alone() -> None:
    text = '{"a": "b\nc",}'
    assert isinstance(tidied(text, 0, len(text)), Tidied)
    assert isinstance(tidied(text, 0, len(text), line_breaks=False), Unreadable)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=12)
ROOTS = st.lists(VALUES) | st.dictionaries(TEXT, VALUES)


@given(ROOTS, st.booleans(), st.sampled_from([None, 0, 2]))
def test_strict_json_is_written_as_it_is(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    found = tidied(text, 0, len(text))
    assert isinstance(found, Tidied)
    assert parse(found.text) == value
    if "\x7f" not in text and not ascii_only:
        assert found.text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(ROOTS)
def test_what_python_prints_is_read_or_refused_never_changed(value: Any) -> None:
    text = repr(value)
    found = tidied(text, 0, len(text))
    assert not isinstance(found, Cut)
    if isinstance(found, Tidied):
        assert parse(found.text) == value
    else:
        assert "\\" in text


TOKENS = (
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "'",
        '"a"',
        "'b'",
        "“c”",
        "d",
        "1",
        "-2.5",
        "true",
        "None",
        " ",
        "\n",
        "//x\n",
    ),
    *("/*y*/", "#z\n", "…", "...", "\\", "\\n", "\t", "：", "，", "｛", "｝", ".", "+", "é", "\x00", "\ud800"),
)


@given(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join))
def test_whatever_stands_behind_a_bracket_is_read_refused_or_cut(rest: str) -> None:
    for text in ("{" + rest, "[" + rest):
        found = tidied(text, 0, len(text))
        if isinstance(found, Tidied):
            json.loads(found.text)
            assert text[found.end - 1] in "}]｝］"
        elif isinstance(found, Unreadable):
            assert 0 < found.at < len(text)
            assert found.why.isprintable()
