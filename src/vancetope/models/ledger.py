"""The ledger: a row for every model call, and what may still be spent."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from typing import Literal, Protocol, TypeAlias
from uuid import uuid4

from vancetope.messages import Reply, Usage
from vancetope.models.base import ModelInfo, Price, cost_of
from vancetope.models.budgets import (
    SCOPES,
    UNITS,
    Account,
    Budgets,
    Limit,
    Refusal,
    Scope,
    Spent,
    Warned,
    scope_key,
)

Purpose: TypeAlias = Literal["answer", "correction", "repair"]
CallOutcome: TypeAlias = Literal["replied", "failed", "cut short"]

MOST_ROWS = 10_000
MOST_IDS = 100_000
MOST_PASSING = 100_000
# Money is summed in whole millionths of millionths of a dollar: what is reserved and given back leaves exactly nothing.
_PARTS = 10**12


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that a call is expected to take: tokens, and US dollars (null where the price is not known)."""

    tokens_in: int
    tokens_out: int
    cost: float | None

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model call. `id` tells it from every other call: the same id is counted once. `at` is when it began, in UTC.

    `asked` is the model that was asked for, `used` the one that the server says it used. `price` is the one that the
    cost was reckoned with; `cost`, in US dollars, is null where no price is known, and what the provider itself states
    wins. `requests` counts what was sent to the server. A call that `failed` was not billed; one that was `cut short`
    broke off after its reply had begun, and counts what it may have cost.
    """

    id: str
    at: datetime
    account: Account
    provider: str
    asked: str
    used: str
    purpose: Purpose
    usage: Usage
    price: Price | None
    cost: float | None
    requests: int
    outcome: CallOutcome


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call under way holds of its account, from `at` on. `id` will be the id of its row, `number` is the
    ledger's own."""

    id: str
    account: Account
    estimate: Estimate
    budgets: Budgets
    at: datetime
    number: int


class Ledger(Protocol):
    """Where model calls are counted.

    Contract: `reserve` is atomic: it refuses where what was spent, what is reserved and the estimate are together over
    a limit of any scope of the account, and else holds the estimate, so that of two calls at once only one gets the
    last of a budget. Each reservation ends with one `settle`, whose row takes its place, or with one `release`; a
    second one changes nothing. A row's id is counted once, however often it is settled. `id` is the name of a call
    that is about to be made: where that name is taken, the call is made once more and gets a name of its own, because
    it is paid once more; what a replay finds in its journal never comes here. `settle` gives the scopes
    that have passed `Budgets.warn_at` with this row. `rows` gives the latest rows, oldest first, that fit what is
    named; `since` is a time. `spent` is the sum of all rows there ever were, for the day of `at` (default: now). No
    method waits for a disk or a network; all may be called from any thread.
    """

    def reserve(
        self, account: Account, estimate: Estimate, budgets: Budgets, id: str | None = None
    ) -> Reservation | Refusal: ...

    def settle(self, reservation: Reservation, row: Row) -> tuple[Warned, ...]: ...

    def release(self, reservation: Reservation) -> None: ...

    def rows(
        self,
        *,
        turn: str | None = None,
        tree: str | None = None,
        project: str | None = None,
        tenant: str | None = None,
        since: datetime | None = None,
    ) -> tuple[Row, ...]: ...

    def spent(self, scope: Scope, account: Account, at: datetime | None = None) -> Spent: ...


def now() -> datetime:
    return datetime.now(UTC)


def estimated(info: ModelInfo, tokens_in: int, tokens_out: int) -> Estimate:
    """The most that a request of so many tokens with this output limit costs: all of its input at the dearest price
    that input has, since nobody knows before what a cache holds."""
    read = cost_of(info, Usage(input_tokens=tokens_in, output_tokens=tokens_out))
    if read is None:
        return Estimate(tokens_in, tokens_out, None)
    written = cost_of(info, Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_write_tokens=tokens_in))
    cached = cost_of(info, Usage(input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=tokens_in))
    return Estimate(tokens_in, tokens_out, max(read, written or 0.0, cached or 0.0))


def replied(held: Reservation, info: ModelInfo, purpose: Purpose, reply: Reply, asked: str | None = None) -> Row:
    """The row of a call that got its reply. `info` is the model that was really called, `asked` the one that was asked
    for, where that is another."""
    cost = cost_of(info, reply.usage) if reply.cost is None else reply.cost
    return _row(held, info, purpose, "replied", asked, reply.model, reply.usage, cost, reply.requests)


def failed(held: Reservation, info: ModelInfo, purpose: Purpose, requests: int, asked: str | None = None) -> Row:
    """The row of a call that got no reply and is not billed."""
    return _row(held, info, purpose, "failed", asked, "", Usage(), 0.0, requests)


def cut_short(
    held: Reservation,
    info: ModelInfo,
    purpose: Purpose,
    requests: int,
    asked: str | None = None,
    usage: Usage | None = None,
) -> Row:
    """The row of a call that broke off after its reply had begun: it counts `usage`, where something is known of it,
    else its whole estimate."""
    whole = Usage(input_tokens=held.estimate.tokens_in, output_tokens=held.estimate.tokens_out, estimated=True)
    cost = held.estimate.cost if usage is None else cost_of(info, usage)
    return _row(held, info, purpose, "cut short", asked, "", usage or whole, cost, requests)


def _row(
    held: Reservation,
    info: ModelInfo,
    purpose: Purpose,
    outcome: CallOutcome,
    asked: str | None,
    used: str,
    usage: Usage,
    cost: float | None,
    requests: int,
) -> Row:
    is_long = info.long_price is not None and info.long_from is not None and usage.input_tokens > info.long_from
    return Row(
        id=held.id,
        at=held.at,
        account=held.account,
        provider=info.provider,
        asked=asked or info.id,
        used=used or info.name,
        purpose=purpose,
        usage=usage,
        price=info.long_price if is_long else info.price,
        cost=cost,
        requests=requests,
        outcome=outcome,
    )


@dataclass(slots=True)
class _Sum:
    tokens: int = 0
    money: int = 0
    calls: int = 0
    unpriced: int = 0
    held_tokens: int = 0
    held_money: int = 0
    holds: int = 0


class MemoryLedger:
    """A ledger that lives as long as this Python does.

    Its memory is bounded: of rows the last `most_rows` are kept; the sums of projects, tenants and days for ever, those
    of turns and trees as long as they are among the last hundred thousand that called a model.
    """

    def __init__(self, clock: Callable[[], datetime] = now, most_rows: int = MOST_ROWS) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._held: dict[int, Reservation] = {}
        self._taken: set[str] = set()
        self._rows: deque[Row] = deque(maxlen=most_rows)
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._lasting: dict[tuple[str, ...], _Sum] = {}
        self._passing: OrderedDict[tuple[str, ...], _Sum] = OrderedDict()

    def reserve(
        self, account: Account, estimate: Estimate, budgets: Budgets, id: str | None = None
    ) -> Reservation | Refusal:
        at = self._clock()
        with self._lock:
            sums = self._sums(account, at)
            for scope, each in zip(SCOPES, sums, strict=True):
                if refusal := _refusal(scope, budgets.of(scope), each, estimate):
                    return refusal
            for each in sums:
                each.holds += 1
                each.held_tokens += estimate.tokens
                each.held_money += _parts(estimate.cost)
            held = Reservation(self._free(id), account, estimate, budgets, at, next(self._numbers))
            self._held[held.number] = held
            self._taken.add(held.id)
        return held

    def settle(self, reservation: Reservation, row: Row) -> tuple[Warned, ...]:
        with self._lock:
            self._let_go(reservation)
            if row.id in self._ids:
                return ()
            sums = self._sums(row.account, row.at)
            before = [(each.tokens, each.money) for each in sums]
            self._count(row, sums)
            after = [(each.tokens, each.money) for each in sums]
        return tuple(
            warned
            for scope, was, became in zip(SCOPES, before, after, strict=True)
            for warned in _warned(scope, reservation.budgets, was, became)
        )

    def release(self, reservation: Reservation) -> None:
        with self._lock:
            self._let_go(reservation)

    def count(self, rows: Iterable[Row]) -> None:
        """Count rows that are known from elsewhere; those that are known here are left out."""
        for row in rows:
            with self._lock:
                if row.id not in self._ids:
                    self._count(row, self._sums(row.account, row.at))

    def knows(self, id: str) -> bool:
        """Whether the row with this id is counted."""
        with self._lock:
            return id in self._ids

    def rows(
        self,
        *,
        turn: str | None = None,
        tree: str | None = None,
        project: str | None = None,
        tenant: str | None = None,
        since: datetime | None = None,
    ) -> tuple[Row, ...]:
        with self._lock:
            kept = tuple(self._rows)
        return tuple(
            row
            for row in kept
            if turn in (None, row.account.turn)
            and tree in (None, row.account.tree)
            and project in (None, row.account.project)
            and tenant in (None, row.account.tenant)
            and (since is None or row.at >= since)
        )

    def spent(self, scope: Scope, account: Account, at: datetime | None = None) -> Spent:
        key = scope_key(scope, account, at or self._clock())
        with self._lock:
            found = self._lasting.get(key) or self._passing.get(key) or _Sum()
            return Spent(
                tokens=found.tokens,
                dollars=found.money / _PARTS,
                calls=found.calls,
                unpriced=found.unpriced,
                reserved_tokens=found.held_tokens,
                reserved_dollars=found.held_money / _PARTS,
            )

    def _sums(self, account: Account, at: datetime) -> list[_Sum]:
        """The sums of all scopes, in their order."""
        return [self._sum(scope_key(scope, account, at)) for scope in SCOPES]

    def _sum(self, key: tuple[str, ...]) -> _Sum:
        if key[0] not in ("turn", "tree"):
            return self._lasting.setdefault(key, _Sum())
        found = self._passing.setdefault(key, _Sum())
        self._passing.move_to_end(key)
        if len(self._passing) > MOST_PASSING:
            oldest, each = self._passing.popitem(last=False)
            if each.holds:
                self._passing[oldest] = each
        return found

    def _free(self, id: str | None) -> str:
        """A name for a call: this one, as long as no other call has it."""
        if id is None:
            return uuid4().hex
        names = chain([id], (f"{id}#{number}" for number in count(2)))
        return next(name for name in names if name not in self._ids and name not in self._taken)

    def _count(self, row: Row, sums: list[_Sum]) -> None:
        self._ids[row.id] = None
        if len(self._ids) > MOST_IDS:
            self._ids.popitem(last=False)
        self._rows.append(row)
        for each in sums:
            each.calls += 1
            each.unpriced += row.cost is None
            each.tokens += row.usage.input_tokens + row.usage.output_tokens
            each.money += _parts(row.cost)

    def _let_go(self, reservation: Reservation) -> None:
        held = self._held.pop(reservation.number, None)
        if held is None:
            return
        self._taken.discard(held.id)
        for each in self._sums(held.account, held.at):
            each.holds -= 1
            each.held_tokens -= held.estimate.tokens
            each.held_money -= _parts(held.estimate.cost)


def _refusal(scope: Scope, limit: Limit, so_far: _Sum, wanted: Estimate) -> Refusal | None:
    if limit.tokens is not None and so_far.tokens + so_far.held_tokens + wanted.tokens > limit.tokens:
        return Refusal(scope, "tokens", so_far.tokens, so_far.held_tokens, wanted.tokens, limit.tokens)
    if limit.dollars is None or wanted.cost == 0:  # what is free may be used when the money is gone
        return None
    over = so_far.money + so_far.held_money + _parts(wanted.cost) > _parts(limit.dollars)
    if not over and wanted.cost is not None:
        return None
    spent, held = so_far.money / _PARTS, so_far.held_money / _PARTS
    return Refusal(scope, "dollars", spent, held, wanted.cost, limit.dollars)


def _warned(scope: Scope, budgets: Budgets, before: tuple[int, int], after: tuple[int, int]) -> tuple[Warned, ...]:
    limit = budgets.of(scope)
    whole = (limit.tokens, None if limit.dollars is None else limit.dollars * _PARTS)
    return tuple(
        Warned(scope, unit, became / size, most / size)
        for unit, size, was, became, most in zip(UNITS, (1, _PARTS), before, after, whole, strict=True)
        if most is not None and was < most * budgets.warn_at <= became
    )


def _parts(dollars: float | None) -> int:
    return round((dollars or 0.0) * _PARTS)
