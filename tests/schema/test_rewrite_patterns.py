"""Patterns that every dialect reads alike go to the grammar; the others are said in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.schema.rewrite_patterns import portable
from vancetope.schema.validate import matcher


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        (r"^\d{4}-\d{2}$", "^[0-9]{4}-[0-9]{2}$"),
        (r"^[A-Z][\w.-]*$", "^[A-Z][A-Za-z0-9_.-]*$"),
        (r"^(?:red|green)?!$", "^(red|green)?!$"),
        (r"^a\.b\/c\-d$", "^a[.]b/c-d$"),
        (r"^#([a-f0-9]{3}){1,2}$", "^#([a-f0-9]{3}){1,2}$"),
        (r"^x{2,}$", "^x{2,}$"),
        (r"^[-a]$", "^[a-]$"),
        (r"^\(\+\)$", "^[(][+][)]$"),
    ],
)
def test_plain_patterns_are_written_without_dialect(pattern: str, written: str) -> None:
    assert portable(pattern) == written


@pytest.mark.parametrize(
    "pattern",
    [
        *("a", "^a", "a$", "^a|b$", "^$", "^(a|)$", "", "^a$|^b$", "ab$", "^ab"),
        *(r"^.$", r"^\s$", r"^\D$", r"^[^a]$", r"^\bx$", r"^(?=a)a$", r"^(?<n>a)$", r"^(a)\1$", r"^\x41$", r"^\n$"),
        *('^"$', r"^\\$", r"^[\\]$", "^ü$", "^a\nb$", r"^[\]]$", r"^[a^]$", r"^[[:alpha:]]$", r"^\p{L}$", r"^[é]$"),
        *("^a{101}$", "^a{0}$", "^a{0,0}$", "^a{3,2}$", "^a{,3}$", "^a{x}$", "^a+?$", "^a++$", "^a**$", "^*a$"),
        *("^(a$", "^a)$", "^[a$", "^[]$", "^[z-a]$", "^[A-z]$", "^[-]$", "^" + "(" * 12 + "a" + ")" * 12 + "$", "^a\\"),
        "^" + "a" * 500 + "$",
    ],
)
def test_other_patterns_are_not_for_every_dialect(pattern: str) -> None:
    assert portable(pattern) is None


@given(
    pattern=st.text(alphabet=r"ab1_-.^$|()[]{}*+?\dw,:", max_size=12).map(lambda inner: f"^{inner}$"),
    texts=st.lists(st.text(alphabet="ab1_-.^$|", max_size=5), max_size=20),
)
def test_a_portable_pattern_matches_the_same_texts(pattern: str, texts: list[str]) -> None:
    if (found := portable(pattern)) is None:
        return
    caller, ours = matcher(pattern), matcher(found)
    for text in texts:
        assert caller(text) == ours(text) == bool(re.fullmatch(found[1:-1], text))
