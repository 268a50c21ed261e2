"""Whatever a tool returns, the model reads text that every store and provider can hold."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from vancetope.tools.values import printable, text_of


class Model(BaseModel):
    a: int
    when: datetime.date


@dataclasses.dataclass
class Data:
    a: int
    inner: Any = None


class Kind(enum.Enum):
    ONE = 1


class Word(enum.StrEnum):
    YES = "yes"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ("", ""),
        (None, "done"),
        (True, "true"),
        (3, "3"),
        (1.5, "1.5"),
        (float("nan"), "nan"),
        (b"bytes \xff", "bytes \N{REPLACEMENT CHARACTER}"),
        (Kind.ONE, "1"),
        (Word.YES, "yes"),
        (Decimal("1.50"), "1.50"),
        (datetime.date(2025, 1, 2), "2025-01-02"),
        (PurePosixPath("a/b"), "a/b"),
        ({"a": [1, None, "é"]}, '{"a":[1,null,"é"]}'),
        ((1, 2), "[1,2]"),
        ([], "[]"),
        (Model(a=1, when=datetime.date(2025, 1, 2)), '{"a":1,"when":"2025-01-02"}'),
        (Data(1, Model(a=2, when=datetime.date(2025, 1, 2))), '{"a":1,"inner":{"a":2,"when":"2025-01-02"}}'),
        ({"x": float("inf"), "y": b"\xff"}, '{"x":"Infinity","y":"_w=="}'),
    ],
)
def test_a_value_as_text(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_odd_values_are_still_text() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert text_of(loop) == "[[...]]"
    assert text_of(["\ud800"])
    assert "object" in text_of({"a": object()})


@given(st.text(st.characters(codec=None)) | st.text(st.sampled_from("a\0\ud800\udc00é")))
def test_printable_text_can_be_encoded_and_holds_no_nul(text: str) -> None:
    shown = printable(text)
    assert "\0" not in shown
    assert shown.encode() or not text
    assert len(shown) == len(text)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_ordinary_text_is_the_same_object(text: str) -> None:
    assert printable(text) is text


def test_half_a_pair_far_inside_is_found() -> None:
    assert printable("é" * 2_000_000 + "\ud800") == "é" * 2_000_000 + "\N{REPLACEMENT CHARACTER}"


@given(st.recursive(st.none() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])), st.lists))
def test_lists_are_json(value: Any) -> None:
    if isinstance(value, list):
        assert json.loads(text_of(value)) == value
