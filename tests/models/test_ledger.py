"""The ledger: what is counted, what is held, and that nobody slips under a limit."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from vancetope.messages import Reply, Usage
from vancetope.models import ledger as ledgers
from vancetope.models.base import ModelInfo, Price, cost_of
from vancetope.models.budgets import SCOPES, Account, Budgets, Limit, Refusal, Scope, Spent, Warned
from vancetope.models.ledger import Estimate, MemoryLedger, Reservation, cut_short, estimated, failed, replied

INFO = ModelInfo(provider="lab", name="m", price=Price(input=1, output=5))
UNPRICED = ModelInfo(provider="lab", name="other")
FREE = ModelInfo(provider="local", name="m", price=Price(input=0, output=0))
ACCOUNT = Account("p:1", "p", "/project", "/tenant")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def held(
    ledger: MemoryLedger, estimate: Estimate, budgets: Budgets | None = None, id: str | None = None
) -> Reservation:
    """A reservation that is granted."""
    found = ledger.reserve(ACCOUNT, estimate, budgets or Budgets(), id)
    assert isinstance(found, Reservation)
    return found


def said(tokens_in: int, tokens_out: int, **more: Any) -> Reply:
    return replace(Reply(usage=Usage(input_tokens=tokens_in, output_tokens=tokens_out)), **more)


def only(scope: Scope, limit: Limit) -> Budgets:
    """A limit of one scope."""
    named: dict[str, Any] = {scope: limit}
    return Budgets(**named)


# Rows.


def test_a_reply_becomes_a_row_with_the_model_that_was_really_used() -> None:
    ledger = MemoryLedger(lambda: NOON)
    held_ = held(ledger, estimated(INFO, 100, 50), id="p:1:model:0:0")
    row = replied(held_, INFO, "correction", said(90, 10, model="m-2026", requests=2), asked="default:fast")
    assert (row.id, row.at, row.account) == ("p:1:model:0:0", NOON, ACCOUNT)
    assert (row.provider, row.asked, row.used, row.purpose) == ("lab", "default:fast", "m-2026", "correction")
    assert (row.price, row.requests, row.outcome) == (INFO.price, 2, "replied")
    assert row.cost == pytest.approx(0.00014)
    assert ledger.settle(held_, row) == ()
    assert ledger.rows() == (row,)


def test_the_cost_that_the_provider_states_wins() -> None:
    row = replied(held(MemoryLedger(), estimated(INFO, 10, 10)), INFO, "answer", said(10, 10, cost=0.5))
    assert row.cost == 0.5
    unpriced = replied(held(MemoryLedger(), estimated(UNPRICED, 10, 10)), UNPRICED, "answer", said(10, 10, cost=0.5))
    assert (unpriced.cost, unpriced.price) == (0.5, None)


def test_a_call_that_failed_costs_nothing() -> None:
    ledger = MemoryLedger()
    held_ = held(ledger, estimated(INFO, 100, 100))
    ledger.settle(held_, failed(held_, INFO, "answer", 3))
    spent = ledger.spent("turn", ACCOUNT)
    assert (spent.tokens, spent.dollars, spent.calls, spent.unpriced, spent.reserved_tokens) == (0, 0, 1, 0, 0)


def test_a_reply_that_broke_off_counts_its_estimate_unless_more_is_known() -> None:
    ledger = MemoryLedger()
    held_ = held(ledger, estimated(INFO, 100, 20))
    row = cut_short(held_, INFO, "answer", 1)
    assert row.usage == Usage(input_tokens=100, output_tokens=20, estimated=True)
    assert row.cost == pytest.approx(0.0002)
    known = cut_short(held_, INFO, "answer", 1, usage=Usage(input_tokens=100, output_tokens=2, estimated=True))
    assert known.cost == pytest.approx(0.00011)


def test_a_row_of_a_long_request_has_the_long_price() -> None:
    info = replace(INFO, long_price=Price(input=2, output=10), long_from=1000)
    held_ = held(MemoryLedger(), estimated(info, 1001, 1))
    assert replied(held_, info, "answer", said(1001, 1)).price == info.long_price
    assert replied(held_, info, "answer", said(1000, 1)).price == info.price


@given(
    price=st.builds(
        Price,
        input=st.floats(0, 100),
        output=st.floats(0, 100),
        cached=st.none() | st.floats(0, 100),
        cache_write=st.none() | st.floats(0, 200),
    ),
    tokens=st.integers(0, 10**6),
    parts=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    limit=st.integers(0, 10**5),
    written=st.floats(0, 1),
)
def test_an_estimate_is_the_most_that_these_tokens_can_cost(
    price: Price, tokens: int, parts: tuple[float, float], limit: int, written: float
) -> None:
    cached = int(tokens * parts[0])
    usage = Usage(
        input_tokens=tokens,
        output_tokens=int(limit * written),
        cached_tokens=cached,
        cache_write_tokens=int((tokens - cached) * parts[1]),
    )
    info = replace(INFO, price=price)
    cost, most = cost_of(info, usage), estimated(info, tokens, limit).cost
    assert cost is not None
    assert most is not None
    assert cost <= most * (1 + 1e-12) + 1e-15


# Limits.


@pytest.mark.parametrize("scope", SCOPES)
def test_every_scope_refuses_what_does_not_fit_beside_spent_and_reserved(scope: Scope) -> None:
    ledger = MemoryLedger()
    budgets = only(scope, Limit(tokens=100, dollars=1))
    first = held(ledger, Estimate(30, 10, 0.1), budgets)
    ledger.settle(first, replied(first, INFO, "answer", said(20, 10, cost=0.2)))
    held(ledger, Estimate(20, 10, 0.3), budgets)
    refused = ledger.reserve(ACCOUNT, Estimate(40, 1, 0.1), budgets)
    assert refused == Refusal(scope, "tokens", 30, 30, 41, 100)
    refused = ledger.reserve(ACCOUNT, Estimate(30, 10, 0.5000001), budgets)
    assert refused == Refusal(scope, "dollars", 0.2, 0.3, 0.5000001, 1)
    held(ledger, Estimate(30, 10, 0.5), budgets)


def test_scopes_count_for_all_who_share_them() -> None:
    ledger = MemoryLedger(lambda: NOON)
    held_ = held(ledger, Estimate(5, 5, 0.5))
    ledger.settle(held_, replied(held_, INFO, "answer", said(5, 5, cost=0.5)))
    others = {
        "turn": replace(ACCOUNT, turn="p:2"),
        "tree": replace(ACCOUNT, tree="q"),
        "project": replace(ACCOUNT, project="/other"),
        "tenant": replace(ACCOUNT, tenant="/else"),
    }
    for name, account in others.items():
        shares: dict[Scope, bool] = {scope: ledger.spent(scope, account).tokens == 10 for scope in SCOPES}
        apart = {name} | ({"day"} if name == "tenant" else set())
        assert {scope for scope, is_shared in shares.items() if not is_shared} == apart


def test_a_new_day_begins_at_midnight_utc() -> None:
    times = [NOON.replace(hour=23, minute=59)]
    ledger = MemoryLedger(lambda: times[-1])
    budgets = Budgets(day=Limit(tokens=10))
    before = held(ledger, Estimate(5, 5, None), budgets)
    assert isinstance(ledger.reserve(ACCOUNT, Estimate(1, 0, None), budgets), Refusal)
    times.append(times[-1] + timedelta(minutes=1))
    held(ledger, Estimate(5, 5, None), budgets)
    ledger.settle(before, replied(before, UNPRICED, "answer", said(5, 5)))
    assert ledger.spent("day", ACCOUNT).tokens == 0
    assert ledger.spent("day", ACCOUNT, times[0]).tokens == 10


def test_a_call_of_unknown_price_is_refused_under_a_limit_in_dollars_and_counted_without_one() -> None:
    ledger = MemoryLedger()
    refused = ledger.reserve(ACCOUNT, estimated(UNPRICED, 1, 1), Budgets(tenant=Limit(dollars=5)))
    assert refused == Refusal("tenant", "dollars", 0, 0, None, 5)
    held_ = held(ledger, estimated(UNPRICED, 1, 1), Budgets(tenant=Limit(tokens=5)))
    ledger.settle(held_, replied(held_, UNPRICED, "answer", said(1, 1)))
    spent = ledger.spent("tenant", ACCOUNT)
    assert (spent.tokens, spent.dollars, spent.calls, spent.unpriced) == (2, 0, 1, 1)


def test_what_is_free_may_be_used_when_the_money_is_gone() -> None:
    ledger = MemoryLedger()
    budgets = Budgets(day=Limit(dollars=0.1))
    over = held(ledger, Estimate(1, 1, 0.1), budgets)
    ledger.settle(over, replied(over, INFO, "answer", said(1, 1, cost=0.2)))
    assert isinstance(ledger.reserve(ACCOUNT, Estimate(1, 1, 0.000001), budgets), Refusal)
    held(ledger, estimated(FREE, 1000, 1000), budgets)


# Once.


def test_a_row_counts_once_however_often_it_is_settled() -> None:
    """A replay after a crash settles what was settled before it (C71)."""
    ledger = MemoryLedger()
    held_ = held(ledger, Estimate(10, 10, 0.1))
    row = replied(held_, INFO, "answer", said(10, 10, cost=0.1))
    ledger.settle(held_, row)
    assert ledger.settle(held_, row) == ()
    ledger.release(held_)
    ledger.count([row])
    spent = ledger.spent("project", ACCOUNT)
    assert (spent.tokens, spent.calls, spent.reserved_tokens) == (20, 1, 0)
    assert ledger.rows() == (row,)


def test_a_call_that_is_made_once_more_counts_once_more() -> None:
    ledger = MemoryLedger()
    budgets = Budgets(turn=Limit(tokens=50))
    first = held(ledger, Estimate(10, 10, 0.1), budgets, id="step")
    second = held(ledger, Estimate(10, 10, 0.1), budgets, id="step")
    assert (first.id, second.id) == ("step", "step#2")
    for each in (first, second):
        ledger.settle(each, replied(each, INFO, "answer", said(10, 10)))
    assert isinstance(ledger.reserve(ACCOUNT, Estimate(10, 10, 0.1), budgets, id="step"), Refusal)
    assert ledger.spent("turn", ACCOUNT).calls == 2


def test_what_is_released_leaves_nothing() -> None:
    ledger = MemoryLedger()
    held_ = held(ledger, Estimate(10, 10, 0.1), id="step")
    ledger.release(held_)
    ledger.release(held_)
    assert ledger.spent("day", ACCOUNT) == Spent()
    assert held(ledger, Estimate(1, 1, 0.1), id="step").id == "step"


# Warnings.


def test_a_scope_warns_when_it_passes_its_part_and_never_again() -> None:
    ledger = MemoryLedger()
    budgets = Budgets(turn=Limit(tokens=100), day=Limit(dollars=1), warn_at=0.5)

    def call(tokens: int, dollars: float) -> tuple[Warned, ...]:
        held_ = held(ledger, Estimate(0, tokens, dollars), budgets)
        return ledger.settle(held_, replied(held_, INFO, "answer", said(0, tokens, cost=dollars)))

    assert call(49, 0.1) == ()
    assert call(1, 0.1) == (Warned("turn", "tokens", 50, 100),)
    assert call(10, 0.5) == (Warned("day", "dollars", 0.7, 1),)
    assert call(40, 0.3) == ()


# Bounds.


def test_memory_is_bounded_and_sums_are_not() -> None:
    ledger = MemoryLedger(most_rows=3)
    for _ in range(5):
        held_ = held(ledger, Estimate(1, 1, 0.1))
        ledger.settle(held_, replied(held_, INFO, "answer", said(1, 1)))
    assert len(ledger.rows()) == 3
    assert ledger.spent("project", ACCOUNT).tokens == 10


def test_turns_that_hold_something_are_kept_when_old_ones_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MOST_PASSING", 6)
    ledger = MemoryLedger()
    held_ = held(ledger, Estimate(1, 1, 0.1))
    for number in range(20):
        other = ledger.reserve(Account(f"q{number}", f"q{number}"), Estimate(1, 1, 0.1), Budgets())
        assert isinstance(other, Reservation)
        ledger.settle(other, replied(other, INFO, "answer", said(1, 1)))
    assert ledger.spent("turn", ACCOUNT).reserved_tokens == 2
    ledger.release(held_)
    assert ledger.spent("turn", ACCOUNT).reserved_tokens == 0
    assert ledger.spent("turn", Account("q0", "q0")).calls == 0
    assert ledger.spent("turn", Account("q19", "q19")).calls == 1


def test_rows_are_found_by_whose_they_are() -> None:
    times = [NOON]
    ledger = MemoryLedger(lambda: times[-1])
    for number, account in enumerate((ACCOUNT, Account("p:2", "p", "/project", "/tenant"), Account("q:1", "q"))):
        times.append(NOON + timedelta(hours=number))
        held_ = ledger.reserve(account, Estimate(1, 1, 0), Budgets(), id=account.turn)
        assert isinstance(held_, Reservation)
        ledger.settle(held_, replied(held_, INFO, "answer", said(1, 1)))

    def ids(**named: Any) -> list[str]:
        return [each.id for each in ledger.rows(**named)]

    assert ids() == ["p:1", "p:2", "q:1"]
    assert ids(turn="p:2") == ["p:2"]
    assert ids(tree="p") == ids(project="/project") == ids(tenant="/tenant") == ["p:1", "p:2"]
    assert ids(project="") == ["q:1"]
    assert ids(since=NOON + timedelta(hours=1)) == ["p:2", "q:1"]


# Nobody slips under a limit.


def test_of_many_at_once_only_those_get_through_that_fit() -> None:
    ledger = MemoryLedger()
    budgets = Budgets(project=Limit(tokens=1000), day=Limit(dollars=0.5))
    start = threading.Barrier(8)
    over: list[float] = []

    def work(worker: int) -> int:
        start.wait()
        granted = 0
        for number in range(60):
            account = Account(f"{worker}:{number}", f"{worker}", "/project", "/tenant")
            held_ = ledger.reserve(account, Estimate(5, 5, 0.004), budgets)
            if isinstance(held_, Refusal):
                continue
            if number % 3 == 0:
                ledger.release(held_)
            else:
                granted += 1
                ledger.settle(held_, replied(held_, INFO, "answer", said(5, 5, cost=0.004)))
            spent = ledger.spent("day", account)
            over.append(spent.dollars + spent.reserved_dollars)
        return granted

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(work, range(8)))
    spent = ledger.spent("project", ACCOUNT)
    assert granted == spent.calls == 100
    assert (spent.tokens, spent.reserved_tokens, spent.reserved_dollars) == (1000, 0, 0)
    assert max(over) <= 0.5
    assert ledger.spent("day", ACCOUNT).dollars == pytest.approx(0.4)


ACCOUNTS = st.builds(
    Account,
    st.sampled_from(["t1", "t2"]),
    st.sampled_from(["p1", "p2"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["x", "y"]),
)
LIMITS = st.builds(Limit, st.none() | st.integers(0, 2000), st.none() | st.floats(0, 0.02))


class Interleavings(RuleBasedStateMachine):
    """Calls of many accounts, in any order, whose estimates are upper bounds."""

    under_way = Bundle("under_way")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = MemoryLedger(lambda: NOON)
        self.budgets: Budgets | None = None
        self.open: dict[int, Reservation] = {}
        self.settled = 0

    @rule(turn=LIMITS, tree=LIMITS, project=LIMITS, tenant=LIMITS, day=LIMITS)
    def limit(self, turn: Limit, tree: Limit, project: Limit, tenant: Limit, day: Limit) -> None:
        if self.budgets is None:
            self.budgets = Budgets(turn=turn, tree=tree, project=project, tenant=tenant, day=day)

    @rule(target=under_way, account=ACCOUNTS, tokens=st.tuples(st.integers(0, 500), st.integers(0, 500)))
    def reserve(self, account: Account, tokens: tuple[int, int]) -> Reservation | None:
        self.budgets = self.budgets or Budgets(day=Limit(tokens=1500))
        found = self.ledger.reserve(account, estimated(INFO, *tokens), self.budgets)
        if isinstance(found, Refusal):
            assert found.wanted is not None
            assert found.spent + found.reserved + found.wanted > found.limit * (1 - 1e-9)
            return None
        self.open[found.number] = found
        return found

    @rule(each=consumes(under_way), part=st.floats(0, 1), twice=st.booleans())
    def settle(self, each: Reservation | None, part: float, twice: bool) -> None:
        if each is None:
            return
        usage = said(int(each.estimate.tokens_in * part), int(each.estimate.tokens_out * part))
        row = replied(each, INFO, "answer", usage)
        self.ledger.settle(each, row)
        if twice:
            assert self.ledger.settle(each, row) == ()
        del self.open[each.number]
        self.settled += 1

    @rule(each=consumes(under_way), whole=st.booleans())
    def end(self, each: Reservation | None, whole: bool) -> None:
        if each is None:
            return
        if whole:
            self.ledger.settle(each, cut_short(each, INFO, "answer", 1))
            self.settled += 1
        else:
            self.ledger.release(each)
        del self.open[each.number]

    @invariant()
    def no_limit_is_passed(self) -> None:
        for account in ALL:
            for scope in SCOPES:
                spent, limit = self.ledger.spent(scope, account), (self.budgets or Budgets()).of(scope)
                assert limit.tokens is None or spent.tokens + spent.reserved_tokens <= limit.tokens
                assert limit.dollars is None or spent.dollars + spent.reserved_dollars <= limit.dollars + 1e-11

    @invariant()
    def what_is_held_is_what_is_under_way(self) -> None:
        held_ = sum(self.ledger.spent("day", Account("", "", "", name)).reserved_tokens for name in "xy")
        assert held_ == sum(each.estimate.tokens for each in self.open.values())
        assert sum(self.ledger.spent("tenant", Account("", "", "", name)).calls for name in "xy") == self.settled

    def teardown(self) -> None:
        for each in self.open.values():
            self.ledger.release(each)
        for account in ALL:
            for scope in SCOPES:
                spent = self.ledger.spent(scope, account)
                assert (spent.reserved_tokens, spent.reserved_dollars) == (0, 0)


ALL = [Account("t1", "p1", "a", "x"), Account("t2", "p2", "b", "y")]
TestInterleavings = Interleavings.TestCase
