"""A docstring in any of the three usual styles tells what the tool and its parameters are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.tools.docstrings import Described, read

GOOGLE = """Book a table
    at a place.

    It may be full.

    Args:
        place (str): where: the name
            of the restaurant
        *guests: who comes
        when (datetime, optional): the day

            and not this
    Returns:
        nothing: at all
    """

NUMPY = """Book a table
    at a place.

    Parameters
    ----------
    place : str
        where: the name
        of the restaurant
    guests
        who comes
    when, until : datetime, optional
        the day

    Returns
    -------
    nothing : str
        at all
    """

SPHINX = """Book a table
    at a place.

    :param str place: where: the name
        of the restaurant
    :param guests: who comes
    :type guests: list
    :param when: the day
    :returns: nothing
    """


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX])
def test_the_three_styles_are_read(doc: str) -> None:
    told = read(doc)
    assert told.summary == "Book a table at a place."
    assert told.parameters.pop("until", "the day") == "the day"
    assert told.parameters == {
        "place": "where: the name of the restaurant",
        "guests": "who comes",
        "when": "the day",
    }


@pytest.mark.parametrize("doc", [None, "", "\n\n", "   "])
def test_nothing_tells_nothing(doc: str | None) -> None:
    assert read(doc) == Described()


def test_a_docstring_that_begins_with_its_parameters_has_no_summary() -> None:
    assert read("\n    Args:\n        a: first") == Described("", {"a": "first"})
    assert read(":param a: first") == Described("", {"a": "first"})
    assert read("Parameters\n----------\na\n    first") == Described("", {"a": "first"})


def test_text_after_the_section_is_no_parameter() -> None:
    assert read("Do.\n\nArgs:\n    a: first\n\nNote: this\n    b: not this").parameters == {"a": "first"}


@given(st.text(st.sampled_from("ab:*- \n\t()ArgsParmte")))
def test_no_docstring_makes_it_raise(doc: str) -> None:
    assert "\n" not in read(doc).summary
