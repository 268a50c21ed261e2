"""What may be spent, and what is said where it is not enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.models.base import ModelInfo, Price
from vancetope.models.budgets import (
    SCOPES,
    UNITS,
    Account,
    Budgets,
    Limit,
    Refusal,
    Scope,
    Warned,
    budgets_from,
    money,
    money_problem,
    scope_key,
)

ACCOUNT = Account("p:1", "p", "/project", "/tenant")
UNPRICED = ModelInfo(provider="lab", name="m")
FREE = ModelInfo(provider="local", name="m", price=Price(input=0, output=0))


def only(scope: Scope, limit: Limit) -> Budgets:
    """A limit of one scope."""
    named: dict[str, Any] = {scope: limit}
    return Budgets(**named)


@pytest.mark.parametrize("scope", SCOPES)
def test_money_in_any_scope_needs_a_price(scope: Scope) -> None:
    budgets = only(scope, Limit(dollars=1))
    problem = money_problem(budgets, UNPRICED)
    assert problem is not None
    assert problem.startswith(
        f"the price of lab:m is not known, so a budget in dollars (budgets.{scope}.dollars) cannot be kept"
    )
    assert money_problem(budgets, FREE) is None
    assert money_problem(only(scope, Limit(tokens=1)), UNPRICED) is None


def test_no_budget_is_no_problem() -> None:
    assert money_problem(Budgets(), UNPRICED) is None


def test_every_limit_has_a_key_of_its_own() -> None:
    said: dict[str, Any] = {
        f"budgets.{scope}.{unit}": number
        for number, (scope, unit) in enumerate(((scope, unit) for scope in SCOPES for unit in UNITS), 1)
    }
    assert budgets_from({**said, "budgets.warnAt": 0.5}.get) == Budgets(
        turn=Limit(1, 2), tree=Limit(3, 4), project=Limit(5, 6), tenant=Limit(7, 8), day=Limit(9, 10), warn_at=0.5
    )
    assert budgets_from(dict[str, Any]().get) == Budgets()


def test_a_day_is_one_of_utc_and_of_a_tenant() -> None:
    here = timezone(timedelta(hours=5))
    late = datetime(2026, 12, 1, 4, 59, tzinfo=here)
    assert scope_key("day", ACCOUNT, late) == ("day", "/tenant", "2026-11-30")
    assert scope_key("day", ACCOUNT, late + timedelta(minutes=1)) == ("day", "/tenant", "2026-12-01")
    assert scope_key("day", Account("x", "y", "z", "/tenant"), late) == scope_key("day", ACCOUNT, late)


def test_scopes_of_one_name_are_told_apart() -> None:
    same = Account("a", "a", "a", "a")
    assert len({scope_key(scope, same, datetime(2026, 1, 1, tzinfo=UTC)) for scope in SCOPES}) == len(SCOPES)


# What is said.


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (
            Refusal("day", "dollars", 4.98, 0.01, 0.0312, 5.0),
            (
                "today's budget is not enough: $4.98 of $5.00 spent, calls under way hold $0.01, this call could take "
                "$0.0312; raise budgets.day.dollars in the settings, or wait for midnight UTC"
            ),
        ),
        (
            Refusal("tree", "tokens", 9000, 0, 2100, 10_000),
            (
                "the budget of this process and its children is not enough: 9,000 of 10,000 tokens spent, this call "
                "could take 2,100 tokens; raise budgets.tree.tokens in the settings, or begin a new conversation"
            ),
        ),
        (
            Refusal("project", "dollars", 0, 0, None, 1),
            "the project's budget is in dollars, but the price of the model is not known, so the call was not made",
        ),
    ],
)
def test_a_refusal_says_what_was_spent_what_was_wanted_and_what_to_do(refusal: Refusal, sentence: str) -> None:
    assert refusal.sentence == sentence


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("unit", UNITS)
def test_every_refusal_names_its_key(scope: Scope, unit: Any) -> None:
    assert f"raise budgets.{scope}.{unit} in the settings" in Refusal(scope, unit, 1, 0, 1, 1).sentence


def test_a_warning_says_how_much_is_spent() -> None:
    assert Warned("tenant", "tokens", 8123, 10_000).sentence == (
        "the tenant's budget is 81% spent: 8,123 of 10,000 tokens (budgets.tenant.tokens)"
    )
    assert Warned("turn", "dollars", 0.0099, 0.01).sentence == (
        "this turn's budget is 99% spent: $0.0099 of $0.01 (budgets.turn.dollars)"
    )


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [
        (0, "$0"),
        (5, "$5.00"),
        (1234.5, "$1,234.50"),
        (1234.567, "$1,234.57"),
        (4.99961, "$4.9996"),
        (0.5, "$0.50"),
        (0.123456, "$0.123"),
        (0.0312, "$0.0312"),
        (0.00000123456, "$0.00000123"),
        (0.99999, "$1.00"),
    ],
)
def test_money_keeps_what_matters(dollars: float, shown: str) -> None:
    assert money(dollars) == shown


@given(st.floats(min_value=1e-9, max_value=1e6))
def test_money_is_never_shown_as_nothing_and_never_far_off(dollars: float) -> None:
    shown = float(money(dollars).removeprefix("$").replace(",", ""))
    assert shown == pytest.approx(dollars, rel=0.006)
