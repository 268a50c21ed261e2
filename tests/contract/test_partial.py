from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.contract.partial import PartialReader

# Any text that JSON can carry: half a surrogate pair has no bytes and is refused before it could be delivered.
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def cut_up(text: str, cuts: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(each % (len(text) + 1) for each in cuts)})
    return [text[start:end] for start, end in itertools.pairwise(edges)]


def read(pieces: list[str], *options: Any) -> str:
    reader = PartialReader(*options)
    return "".join(reader.feed(piece) for piece in pieces)


@given(
    message=TEXT,
    before=st.dictionaries(TEXT.filter(lambda key: key != "message"), VALUES, max_size=3),
    after=st.dictionaries(TEXT.filter(lambda key: key != "message"), VALUES, max_size=3),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
    ascii=st.booleans(),
    indent=st.sampled_from([None, 1]),
)
def test_joined_pieces_are_the_message_however_it_is_cut(
    message: str, before: dict[str, Any], after: dict[str, Any], cuts: list[int], ascii: bool, indent: int | None
) -> None:
    text = json.dumps({**before, "message": message, **after}, ensure_ascii=ascii, indent=indent)
    assert read(cut_up(text, cuts), ("message",)) == message


@given(message=TEXT, ascii=st.booleans())
def test_every_single_character_may_be_a_piece(message: str, ascii: bool) -> None:
    text = json.dumps({"message": message}, ensure_ascii=ascii)
    assert read(list(text), ("message",)) == message


@given(message=TEXT, cuts=st.lists(st.integers(0, 2000), max_size=8), swapped=st.booleans())
def test_an_action_is_shown_once_its_tool_is_known(message: str, cuts: list[int], swapped: bool) -> None:
    parts = [("tool", "respond"), ("arguments", {"message": message, "awaiting_user_input": True})]
    text = json.dumps(dict(reversed(parts) if swapped else parts))
    options = (("arguments", "message"), (("tool",), ("respond",)))
    assert read(cut_up(text, cuts), *options) == message
    assert read(cut_up(text.replace('"respond"', '"get_time"'), cuts), *options) == ""


@given(text=st.text(), cuts=st.lists(st.integers(0, 200), max_size=5))
def test_it_takes_any_text_without_raising(text: str, cuts: list[int]) -> None:
    read(cut_up(text, cuts), ("message",))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r'{"message": "😀"}', "😀"),
        (r'{"message": "\ud83d!"}', "�!"),
        (r'{"message": "\ude00"}', "�"),
        (r'{"message": "\ud83dA"}', "�A"),
        (r'{"message": "a\"b\\c\/d\n"}', 'a"b\\c/d\n'),
        ('{"a": {"message": "inner"}, "message": "outer"}', "outer"),
        ('{"a": ["message", "x"], "message": "m"}', "m"),
        ('{"message": "first", "message": "second"}', "first"),
        ('{"message": 5}', ""),
        ('{"message": {"message": "deep"}}', ""),
        ('["message", "x"]', ""),
        ('"message"', ""),
        ('Sure! {"message": "x"}', ""),
        ('  {"message": "indented"}', "indented"),
        ('{"message": "cut of', "cut of"),
        (r'{"message": "\uZZZZ"}', ""),
        ('{"m\\u0065ssage": "escaped key"}', "escaped key"),
        ('{"message": "a"} {"message": "b"}', "a"),
    ],
)
def test_quirks(text: str, shown: str) -> None:
    assert read([text], ("message",)) == shown
    assert read(list(text), ("message",)) == shown
