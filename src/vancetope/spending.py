"""The tokens and the money of one model call: held before it is sent, settled once it is over."""

from __future__ import annotations

from dataclasses import dataclass, field

from vancetope import sentences
from vancetope.context import Context, Log
from vancetope.contract.verdict import End
from vancetope.contract.view import estimate
from vancetope.messages import Usage
from vancetope.models.base import ModelInfo
from vancetope.models.budgets import SCOPES, Refusal, money
from vancetope.models.ledger import Estimate, Reservation, Row, estimated
from vancetope.outcome import Outcome

ASSUMED_OUTPUT = 1024  # tokens, where nobody bounds the output and no budget holds
MOST_OUTPUT = 16_384  # tokens that a request gets at most where a budget bounds its output
SHARE = 4  # of what several share, one request takes at most this part for its output


@dataclass(frozen=True, slots=True)
class Spent:
    """What a call cost: its tokens, US dollars (null if the price is unknown), and which budgets it brought near their
    end, in sentences for people."""

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    warnings: tuple[str, ...] = ()


def most(ctx: Context, tokens: int, max_output: int | None) -> Estimate:
    """The most that a request of so many tokens is expected to cost."""
    return estimated(ctx.model, tokens, max_output or ASSUMED_OUTPUT)


def output_room(ctx: Context, log: Log, tokens: int) -> int | None:
    """The output limit of a request with so many tokens that names none itself, where a budget holds: no reply may be
    longer than the money for it. Null where none holds."""
    own = (log.usage.input_tokens + log.usage.output_tokens, log.cost or 0.0)
    rooms = [
        room for room in (_room(ctx.model, ctx.budget.tokens, ctx.budget.dollars, own, tokens),) if room is not None
    ]
    for scope in SCOPES:
        limit = ctx.budgets.of(scope)
        if limit.tokens is None and limit.dollars is None:
            continue
        spent = ctx.ledger.spent(scope, ctx.account)
        gone = (spent.tokens + spent.reserved_tokens, spent.dollars + spent.reserved_dollars)
        if (room := _room(ctx.model, limit.tokens, limit.dollars, gone, tokens)) is not None:
            rooms.append(room // SHARE)
    if not rooms:
        return None
    return max(min(*rooms, ctx.model.output_ceiling or MOST_OUTPUT, MOST_OUTPUT), ASSUMED_OUTPUT)


def _room(
    model: ModelInfo, tokens: int | None, dollars: float | None, gone: tuple[int, float], needed: int
) -> int | None:
    """The tokens of output that are left of a limit behind what is gone and a request of so many tokens; null where
    there is no limit, or output costs nothing."""
    rooms = [] if tokens is None else [tokens - gone[0] - needed]
    free = estimated(model, needed, 0).cost
    one = estimated(model, needed, 1_000_000).cost
    if dollars is not None and free is not None and one is not None and one > free:
        rooms.append(int((dollars - gone[1] - free) / (one - free) * 1_000_000))
    return min(rooms, default=None)


def over_budget(ctx: Context, log: Log, wanted: Estimate) -> End | None:
    """The end of a turn whose next call could go over the turn's own budget: what was spent and what the call may cost,
    together. It reads nothing but the turn, so that a replay comes to the same."""
    tokens = log.usage.input_tokens + log.usage.output_tokens + wanted.tokens
    if ctx.budget.tokens is not None and tokens > ctx.budget.tokens:
        return _refused(log, sentences.OVER_BUDGET.format(would=tokens, budget=ctx.budget.tokens))
    if ctx.budget.dollars is None or wanted.cost == 0:
        return None
    cost = None if log.cost is None or wanted.cost is None else log.cost + wanted.cost
    if cost is not None and cost > ctx.budget.dollars:
        return _refused(log, sentences.OVER_MONEY.format(would=money(cost), budget=money(ctx.budget.dollars)))
    return None


def hold(ctx: Context, log: Log, key: str, wanted: Estimate) -> Reservation | End:
    """Reserve what the call with this key may cost, on its account; the end of the turn where a budget forbids it."""
    held = ctx.ledger.reserve(ctx.account, wanted, ctx.budgets, f"{ctx.account.turn}:{key}")
    return _refused(log, held.sentence) if isinstance(held, Refusal) else held


def settle(ctx: Context, held: Reservation, row: Row) -> Spent:
    """Write down what the call really cost."""
    warned = ctx.ledger.settle(held, row)
    return Spent(row.usage, row.cost, tuple(each.sentence for each in warned))


def lost(tokens: int, shown: str | None) -> Usage:
    """The tokens of a reply that broke off after it had begun, as far as one can guess: the provider may bill them."""
    return Usage(tokens, estimate(shown) if shown else 0, estimated=True)


def add(log: Log, spent: Spent) -> None:
    """Count what a call cost into its turn."""
    log.usage += spent.usage
    log.cost = None if log.cost is None or spent.cost is None else round(log.cost + spent.cost, 12)


def _refused(log: Log, reason: str) -> End:
    return End("over_budget", Outcome.BUDGET_EXCEEDED, best_text=log.state.best_text, reason=reason)
