"""What tokens cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.messages import Usage
from vancetope.models.base import ModelInfo, Price, cost_of

PLAIN = Price(input=2.0, output=10.0)
CACHING = Price(input=2.0, output=10.0, cached=0.5, cache_write=2.5)
LONG = Price(input=4.0, output=15.0, cached=1.0, cache_write=5.0)
MILLION = 1_000_000


def model(price: Price | None, long: Price | None = None, at: int | None = None) -> ModelInfo:
    return ModelInfo(provider="lab", name="model", price=price, long_price=long, long_from=at)


@pytest.mark.parametrize(
    ("price", "usage", "dollars"),
    [
        (PLAIN, Usage(), 0.0),
        (PLAIN, Usage(MILLION, 0), 2.0),
        (PLAIN, Usage(0, MILLION), 10.0),
        (PLAIN, Usage(MILLION, MILLION, cached_tokens=MILLION), 12.0),
        (PLAIN, Usage(MILLION, 0, cache_write_tokens=MILLION), 2.0),
        (CACHING, Usage(MILLION, 0, cached_tokens=MILLION), 0.5),
        (CACHING, Usage(MILLION, 0, cache_write_tokens=MILLION), 2.5),
        (CACHING, Usage(4 * MILLION, MILLION, cached_tokens=MILLION, cache_write_tokens=2 * MILLION), 17.5),
        (CACHING, Usage(0, MILLION, thinking_tokens=MILLION), 10.0),
        (CACHING, Usage(10, 0, cached_tokens=1000, cache_write_tokens=1000), 5 / MILLION),
        (Price(input=0, output=0), Usage(MILLION, MILLION), 0.0),
    ],
)
def test_every_kind_of_token_has_its_price(price: Price, usage: Usage, dollars: float) -> None:
    assert cost_of(model(price), usage) == pytest.approx(dollars)


def test_the_long_price_holds_above_its_limit_for_the_whole_request() -> None:
    info = model(CACHING, LONG, 200_000)
    assert cost_of(info, Usage(200_000, 1000)) == pytest.approx(0.41)
    assert cost_of(info, Usage(200_001, 1000)) == pytest.approx(0.815004)


def test_an_unknown_price_is_an_unknown_cost() -> None:
    assert cost_of(model(None), Usage(MILLION, MILLION)) is None
    assert cost_of(model(None, LONG, 10), Usage(5, 0)) is None
    assert cost_of(model(None, LONG, 10), Usage(MILLION, 0)) == pytest.approx(4.0)


tokens = st.integers(0, 10**9)
dollars = st.floats(0, 1000, allow_nan=False)
prices = st.builds(Price, input=dollars, output=dollars, cached=st.none() | dollars, cache_write=st.none() | dollars)


@given(prices, tokens, tokens, tokens, tokens)
def test_a_cost_is_never_negative_and_never_above_that_of_the_dearest_token(
    price: Price, asked: int, said: int, cached: int, written: int
) -> None:
    cost = cost_of(model(price), Usage(asked, said, cached_tokens=cached, cache_write_tokens=written))
    dearest = max(price.input, price.output, price.cached or 0, price.cache_write or 0)
    assert cost is not None
    assert 0 <= cost <= dearest * (asked + said) / MILLION * (1 + 1e-9)
