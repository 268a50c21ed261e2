"""`vancetope usage`: what model calls in this project have used, and what is left."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, TypeAlias

from vancetope.cli.clean import one_line
from vancetope.cli.lines import Line, Tone
from vancetope.cli.page import aside, toned
from vancetope.cli.trouble import Refused, print_json
from vancetope.cli.usage_file import Found, foreign_sentence, lines_of, usage_path
from vancetope.messages import Usage
from vancetope.models.budgets import (
    SCOPES,
    UNITS,
    Account,
    Budgets,
    Scope,
    Spent,
    Unit,
    amount,
    budgets_from,
    money,
    progress,
)
from vancetope.models.ledger import Ledger, MemoryLedger, Row
from vancetope.settings import Settings, load

By: TypeAlias = Literal["model", "day", "purpose", "process"]

BAR = 20
PURPOSES = ("answer", "correction", "repair")
HEADS = ("calls", "input", "cached", "output", "thinking", "cost")
BUDGET_NAMES: Mapping[Scope, str] = {
    "turn": "each turn",
    "tree": "conversation",
    "project": "project",
    "tenant": "tenant",
    "day": "today (UTC)",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that stand in one line of the table. `cost` is what the calls with a known price cost together, in US
    dollars, and `guessed` says that some of that is an estimate; `unpriced` are those without."""

    name: str
    first: datetime
    calls: int = 0
    failed: int = 0
    cut_short: int = 0
    usage: Usage = Usage()  # noqa: RUF009 (it is frozen)
    cost: float = 0.0
    guessed: bool = False
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Limited:
    """A budget of the settings, and what of it is spent; null for one that every turn or process has anew."""

    scope: Scope
    unit: Unit
    limit: float
    spent: Spent | None

    @property
    def used(self) -> float | None:
        if self.spent is None:
            return None
        return self.spent.tokens if self.unit == "tokens" else self.spent.dollars


def usage(*, by: By, since: str | None, as_json: bool) -> int:
    """Show what was used, grouped; the exit code."""
    settings = load()
    if settings.project is None:
        raise Refused("usage is kept for projects, and there is none here: a project is a folder with vancetope.yaml")
    start = None if since is None else moment(since)
    ledger, foreign = MemoryLedger(most_rows=1), []
    groups: dict[str, Group] = {}
    for found in _found(settings):
        if found.row is None:
            foreign.append(found.number)
        elif not ledger.knows(found.row.id):
            row = replace(found.row, account=replace(found.row.account, project=str(settings.project)))
            ledger.count([row])
            if start is None or row.at >= start:
                _add(groups, row, by)
    account = Account("", "", str(settings.project), str(settings.tenant))
    limits = limited(budgets_from(settings.get), ledger, account)
    shown = ordered(groups.values(), by)
    if as_json:
        print_json(_data(settings, by, start, shown, limits, foreign))
        return 0
    for line in (*table(shown, by, columns(sys.stdout)), *budget_lines(limits)):
        print(toned(line.text, line.tone, sys.stdout))
    if foreign:
        aside(Line(f"· {foreign_sentence(foreign)}", "note"))
    return 0


def moment(said: str) -> datetime:
    """The time that a person means by a date or a time; one without a zone is of UTC."""
    try:
        at = datetime.fromisoformat(said.strip())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Refused(f"--since {one_line(said, 40)!r}: expected a date such as 2026-11-30") from None


def grouped(rows: Iterable[Row], by: By) -> list[Group]:
    """The rows as groups, in the order in which they are shown."""
    groups: dict[str, Group] = {}
    for row in rows:
        _add(groups, row, by)
    return ordered(groups.values(), by)


def ordered(groups: Iterable[Group], by: By) -> list[Group]:
    """What costs most first, days and processes as they came, purposes in their own order."""
    order: dict[By, Callable[[Group], Any]] = {
        "model": lambda each: (-each.cost, -each.usage.input_tokens - each.usage.output_tokens, each.name),
        "day": lambda each: each.name,
        "purpose": lambda each: PURPOSES.index(each.name),
        "process": lambda each: (each.first, each.name),
    }
    return sorted(groups, key=order[by])


def table(groups: Sequence[Group], by: By, room: int) -> list[Line]:
    """The groups as lines of at most so many columns, as far as the numbers allow (a name too long for its column has
    a line of its own), a total, and what is to be said of the numbers."""
    if not groups:
        return [Line("no model was called", "note")]
    total = _total(groups)
    rows: list[tuple[str, Sequence[str], Tone]] = [(by, HEADS, "dim")]
    rows += [(_label(each, by), _cells(each), "plain") for each in groups]
    if len(groups) > 1:
        rows.append(("total", _cells(total), "good"))
    widths = [max(map(len, cells)) for cells in zip(*(cells for _, cells, _ in rows), strict=True)]
    left = max(room - sum(widths) - 2 * len(widths), len("process"))
    width = min(left, max(len(name) for name, _, _ in rows))
    shown: list[Line] = []
    for name, cells, tone in rows:
        numbers = "".join(f"  {cell:>{each}}" for cell, each in zip(cells, widths, strict=True))
        alone = len(name) > width
        shown += [Line(name, tone)] if alone else []
        shown.append(Line(f"{'' if alone else name:<{width}}{numbers}", tone))
    return shown + [Line(each, "note") for each in _remarks(total)]


def limited(budgets: Budgets, ledger: Ledger, account: Account) -> list[Limited]:
    """The limits there are, with what is spent of those that outlive a turn; of the account's tree if it names one."""
    found: list[Limited] = []
    for scope in SCOPES:
        is_new = scope == "turn" or (scope == "tree" and not account.tree)
        spent = None if is_new else ledger.spent(scope, account)
        for unit in UNITS:
            limit = getattr(budgets.of(scope), unit)
            if limit is not None:
                found.append(Limited(scope, unit, limit, spent))
    return found


def budget_lines(limits: Sequence[Limited]) -> list[Line]:
    """The budgets, each with a bar, below an empty line; nothing where there is none."""
    if not limits:
        return []
    width = max(len(BUDGET_NAMES[each.scope]) for each in limits)
    return [Line(""), Line("budget", "dim"), *(_budget_line(each, width) for each in limits)]


def _budget_line(each: Limited, width: int) -> Line:
    name = f"{BUDGET_NAMES[each.scope]:<{width}}"
    if each.used is None or each.spent is None:
        return Line(f"{name}  at most {amount(each.unit, each.limit)}")
    so_far = progress(each.unit, each.used, each.limit)
    part = each.used / each.limit if each.limit else 1.0
    filled = min(math.floor(part * BAR), BAR)
    bar = "█" * filled + "░" * (BAR - filled)
    unpriced = each.spent.unpriced if each.unit == "dollars" else 0
    more = f", and {_calls(unpriced)} of unknown price" if unpriced else ""
    return Line(f"{name}  {bar} {_percent(part):>4}  {so_far}{more}", "bad" if part >= 1 else "plain")


def _percent(part: float) -> str:
    """A part in whole percents; less than one is told from none."""
    return "<1%" if 0 < part < 0.01 else f"{math.floor(100 * part)}%"


def _found(settings: Settings) -> Iterable[Found]:
    assert settings.project is not None
    try:
        yield from lines_of(usage_path(settings.project))
    except OSError as error:
        raise Refused(f"{usage_path(settings.project)} cannot be read: {error.strerror}") from None


def _add(groups: dict[str, Group], row: Row, by: By) -> None:
    name = _name(row, by)
    before = groups.get(name) or Group(name, row.at)
    groups[name] = replace(
        before,
        first=min(before.first, row.at),
        calls=before.calls + 1,
        failed=before.failed + (row.outcome == "failed"),
        cut_short=before.cut_short + (row.outcome == "cut short"),
        usage=before.usage + row.usage,
        cost=before.cost + (row.cost or 0.0),
        guessed=before.guessed or (row.usage.estimated and bool(row.cost)),
        unpriced=before.unpriced + (row.cost is None),
    )


def _name(row: Row, by: By) -> str:
    match by:
        case "model":
            return f"{row.provider}:{row.used}"
        case "day":
            return row.at.date().isoformat()
        case "purpose":
            return row.purpose
        case "process":
            return row.account.tree


def _label(group: Group, by: By) -> str:
    if by == "process":
        return f"{group.first:%Y-%m-%d %H:%M} {one_line(group.name, 60)[:8]}"
    return one_line(group.name, 200)


def _total(groups: Sequence[Group]) -> Group:
    total = Group("total", min(each.first for each in groups))
    for each in groups:
        total = replace(
            total,
            calls=total.calls + each.calls,
            failed=total.failed + each.failed,
            cut_short=total.cut_short + each.cut_short,
            usage=total.usage + each.usage,
            cost=total.cost + each.cost,
            guessed=total.guessed or each.guessed,
            unpriced=total.unpriced + each.unpriced,
        )
    return total


def _cells(group: Group) -> tuple[str, ...]:
    used = group.usage
    about = "~" if used.estimated else ""
    return (
        f"{group.calls:,}",
        f"{about}{_count(used.input_tokens)}",
        _count(used.cached_tokens),
        f"{about}{_count(used.output_tokens)}",
        _count(used.thinking_tokens),
        _cost(group),
    )


def _cost(group: Group) -> str:
    if group.unpriced == group.calls:
        return "unknown"
    about = "~" if group.guessed else ""
    return f"{about}{money(group.cost)}{' + ?' if group.unpriced else ''}"


def _count(tokens: int) -> str:
    """A number of tokens in at most nine characters."""
    if tokens < 10_000_000:
        return f"{tokens:,}"
    return f"{tokens / 1e6:,.1f}M" if tokens < 10_000_000_000 else f"{tokens / 1e9:,.1f}G"


def _remarks(total: Group) -> list[str]:
    """What has to be known to read the numbers."""
    said: list[str] = []
    if total.usage.estimated:
        said.append("~ estimated: the provider did not say, or the reply broke off")
    if total.unpriced:
        said.append(f"{_calls(total.unpriced)} of unknown price: tokens are counted, the cost is not")
    if total.failed:
        said.append(f"{_calls(total.failed)} failed and {'costs' if total.failed == 1 else 'cost'} nothing")
    if total.cut_short:
        said.append(
            f"{_calls(total.cut_short)} broke off and {'counts' if total.cut_short == 1 else 'count'} as estimated"
        )
    return said


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number:,} calls"


def columns(stream: TextIO) -> int:
    """How wide a table may be there: in a pipe each group stays in one line."""
    return shutil.get_terminal_size().columns if stream.isatty() else 10_000


def _data(
    settings: Settings,
    by: By,
    start: datetime | None,
    groups: Sequence[Group],
    limits: Sequence[Limited],
    foreign: Sequence[int],
) -> dict[str, Any]:
    """The same for a program: tokens and US dollars as numbers, null where no price is known."""
    return {
        "project": str(settings.project),
        "since": start and start.isoformat(),
        "by": by,
        "total": _numbers(_total(groups)) if groups else None,
        "groups": [{"name": each.name, **_numbers(each)} for each in groups],
        "budgets": [
            {"scope": each.scope, "unit": each.unit, "spent": each.used, "limit": each.limit} for each in limits
        ],
        "unreadable_lines": len(foreign),
    }


def _numbers(group: Group) -> dict[str, Any]:
    used = group.usage
    return {
        "calls": group.calls,
        "failed": group.failed,
        "cut_short": group.cut_short,
        "input_tokens": used.input_tokens,
        "cached_tokens": used.cached_tokens,
        "cache_write_tokens": used.cache_write_tokens,
        "output_tokens": used.output_tokens,
        "thinking_tokens": used.thinking_tokens,
        "estimated": used.estimated,
        "cost": None if group.unpriced == group.calls else round(group.cost, 12),
        "unpriced": group.unpriced,
    }
