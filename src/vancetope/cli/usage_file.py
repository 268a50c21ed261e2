"""The usage of a project in a file: what its budgets have spent, from run to run."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from vancetope.messages import Usage
from vancetope.models.base import Price
from vancetope.models.budgets import Account, Budgets, Limit, Refusal, Scope, Spent, Warned, budgets_from
from vancetope.models.ledger import CallOutcome, Estimate, MemoryLedger, Purpose, Reservation, Row, now
from vancetope.settings import PROJECT_FOLDER, Settings

FILE = "usage.jsonl"
SHOWN = f"{PROJECT_FOLDER}/{FILE}"
VERSION = 1
MOST = 10**15  # tokens or dollars; what is more than that, nobody has used
BLOCK = 1 << 20
_AT = re.compile(rb',"at":"(\d{4}-\d\d-\d\d)T')
PURPOSES = get_args(Purpose)
OUTCOMES = get_args(CallOutcome)

_open: dict[Path | None, FileLedger | MemoryLedger] = {}


def file_ledger(settings: Settings) -> FileLedger | MemoryLedger:
    """The ledger of this command, the same one until `closed`. In a project later runs will know what this one uses,
    and it knows what earlier ones used, as far as a budget of the settings asks for that; outside of any it knows this
    run only. Blocks while it reads the file."""
    ledger = at_hand(settings)
    if ledger is None:
        ledger = FileLedger(settings.project) if settings.project else MemoryLedger()
        _open[settings.project] = ledger
        if isinstance(ledger, FileLedger):
            ledger.begin(_wanted(budgets_from(settings.get)))
    return ledger


def at_hand(settings: Settings) -> FileLedger | MemoryLedger | None:
    """The ledger of this command, if it is open."""
    return _open.get(settings.project)


def closed() -> tuple[str, ...]:
    """Write what is not written yet and let the files go; sentences about what went wrong and was not told."""
    said: list[str] = []
    while _open:
        _, ledger = _open.popitem()
        if isinstance(ledger, FileLedger):
            said += ledger.close()
    return tuple(said)


def usage_path(project: Path) -> Path:
    """Where the usage of a project is kept."""
    return project / PROJECT_FOLDER / FILE


@dataclass(frozen=True, slots=True)
class Found:
    """A line of the file that ends at byte `end`: its number (from 1), and its row, or null if it is none of ours.
    `is_whole`: it ends with a newline."""

    number: int
    end: int
    row: Row | None
    is_whole: bool


class FileLedger:
    """The ledger of a project: in memory, and every row is a line of the project's file.

    A line is written beside the work and never fails a call: what is wrong with the file becomes a notice. Rows of
    other runs are counted as soon as one of our own is written; their reservations are not seen.
    """

    def __init__(self, project: Path) -> None:
        self._path = usage_path(project)
        self._project = str(project)
        self._memory = MemoryLedger()
        self._writer = ThreadPoolExecutor(1, "usage")
        self._since = ""
        self._offset = 0
        self._lines = 0
        self._notices: list[str] = []
        self._told: set[str] = set()

    def begin(self, since: str | None = "") -> None:
        """Count the rows of the file, or those from this date on, or with null none: with a hundred thousand of them
        counting takes seconds. Call it first; blocks."""
        self._since = since or ""
        self._writer.submit(self._pass_by if since is None else self._read).result()

    def notices(self) -> tuple[str, ...]:
        """What went wrong with the file, in sentences, each given once; blocks until what is waiting is written."""
        return self._writer.submit(self._taken).result()

    def close(self) -> tuple[str, ...]:
        """Write what is waiting and end the thread that writes; the notices that were not given."""
        notices = self.notices()
        self._writer.shutdown()
        return notices

    def reserve(
        self, account: Account, estimate: Estimate, budgets: Budgets, id: str | None = None
    ) -> Reservation | Refusal:
        return self._memory.reserve(account, estimate, budgets, id)

    def settle(self, reservation: Reservation, row: Row) -> tuple[Warned, ...]:
        is_new = not self._memory.knows(row.id)
        warned = self._memory.settle(reservation, row)
        if is_new:
            self._writer.submit(self._write, row)
        return warned

    def release(self, reservation: Reservation) -> None:
        self._memory.release(reservation)

    def rows(
        self,
        *,
        turn: str | None = None,
        tree: str | None = None,
        project: str | None = None,
        tenant: str | None = None,
        since: datetime | None = None,
    ) -> tuple[Row, ...]:
        return self._memory.rows(turn=turn, tree=tree, project=project, tenant=tenant, since=since)

    def spent(self, scope: Scope, account: Account, at: datetime | None = None) -> Spent:
        return self._memory.spent(scope, account, at)

    def _write(self, row: Row) -> None:
        try:
            append(self._path, row)
        except OSError as error:
            self._notice(
                f"{SHOWN} cannot be written ({error.strerror}): later runs will not know what this one used, and their "
                "budgets cannot count it"
            )
        else:
            self._read()

    def _read(self) -> None:
        foreign: list[int] = []
        try:
            for found in lines_of(self._path, self._offset, self._lines, self._since):
                if found.row is None and not found.is_whole:
                    break  # somebody may be writing it now
                self._offset, self._lines = found.end, found.number
                if found.row is None:
                    foreign.append(found.number)
                else:
                    self._memory.count([_here(found.row, self._project)])
        except OSError as error:
            self._notice(f"{SHOWN} cannot be read ({error.strerror}): budgets count what this run uses, and no more")
        if foreign:
            self._notice(foreign_sentence(foreign))

    def _pass_by(self) -> None:
        with suppress(OSError):  # what is wrong will be said when a row is to be written
            self._offset, self._lines = end_of(self._path)

    def _notice(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._notices.append(text)

    def _taken(self) -> tuple[str, ...]:
        taken, self._notices = tuple(self._notices), []
        return taken


def foreign_sentence(lines: list[int]) -> str:
    """What to say of lines that are none of ours, given their numbers."""
    if len(lines) == 1:
        return f"line {lines[0]} of {SHOWN} is no row of ours and is not counted"
    return f"{len(lines)} lines of {SHOWN}, the first is line {lines[0]}, are no rows of ours and are not counted"


def append(path: Path, row: Row) -> None:
    """Write a row as a line at the end of the file, in one piece; a line that broke off there is ended first. Raises
    `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(file).st_size
        is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        line = (b"\n" if is_torn else b"") + line_of(row)
        if os.write(file, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)


def lines_of(path: Path, offset: int = 0, number: int = 0, since: str = "") -> Iterator[Found]:
    """The lines of the file from byte `offset` on, `number` lines stand before it; empty ones are left out, and rows of
    an earlier date than `since`. All of them where the file has become shorter than that, none where there is no file.
    Raises `OSError`."""
    try:
        file = os.fdopen(_opened(path, os.O_RDONLY), "rb")
    except FileNotFoundError:
        return
    with file:
        if os.fstat(file.fileno()).st_size < offset:
            offset = number = 0
        file.seek(offset)
        for line in file:
            offset += len(line)
            number += 1
            if line.strip() and not _date_in(line) < since:
                yield Found(number, offset, row_in(line), line.endswith(b"\n"))


def end_of(path: Path) -> tuple[int, int]:
    """Where the last whole line of the file ends, in bytes, and how many lines there are. Raises `OSError`."""
    try:
        file = os.fdopen(_opened(path, os.O_RDONLY), "rb")
    except FileNotFoundError:
        return 0, 0
    end = lines = read = 0
    with file:
        while block := file.read(BLOCK):
            lines += block.count(b"\n")
            if b"\n" in block:
                end = read + block.rindex(b"\n") + 1
            read += len(block)
    return end, lines


def line_of(row: Row) -> bytes:
    """The row as a line."""
    used, price = row.usage, row.price
    fields = {
        "v": VERSION,
        "id": row.id,
        "at": row.at.astimezone(UTC).isoformat(),
        "turn": row.account.turn,
        "tree": row.account.tree,
        "project": row.account.project,
        "tenant": row.account.tenant,
        "provider": row.provider,
        "asked": row.asked,
        "used": row.used,
        "purpose": row.purpose,
        "outcome": row.outcome,
        "requests": row.requests,
        "input": used.input_tokens,
        "output": used.output_tokens,
        "cached": used.cached_tokens,
        "cacheWrite": used.cache_write_tokens,
        "thinking": used.thinking_tokens,
        "estimated": used.estimated,
        "price": price and [price.input, price.output, price.cached, price.cache_write],
        "cost": row.cost,
    }
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def row_in(line: bytes) -> Row | None:
    """The row that a line is; null where it is none of ours."""
    try:
        fields = json.loads(line)
        return _row(fields) if fields["v"] == VERSION else None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _row(fields: dict[str, Any]) -> Row:
    purpose, outcome = fields["purpose"], fields["outcome"]
    if purpose not in PURPOSES or outcome not in OUTCOMES:
        raise ValueError
    at = datetime.fromisoformat(fields["at"])
    if at.tzinfo is None:
        raise ValueError
    return Row(
        id=_text(fields["id"]),
        at=at.astimezone(UTC),
        account=Account(*(_text(fields[name]) for name in ("turn", "tree", "project", "tenant"))),
        provider=_text(fields["provider"]),
        asked=_text(fields["asked"]),
        used=_text(fields["used"]),
        purpose=purpose,
        usage=Usage(
            input_tokens=_whole(fields["input"]),
            output_tokens=_whole(fields["output"]),
            cached_tokens=_whole(fields["cached"]),
            cache_write_tokens=_whole(fields["cacheWrite"]),
            thinking_tokens=_whole(fields["thinking"]),
            estimated=fields["estimated"] is True,
        ),
        price=None if fields["price"] is None else _price(*fields["price"]),
        cost=None if fields["cost"] is None else _number(fields["cost"]),
        requests=_whole(fields["requests"]),
        outcome=outcome,
    )


def _price(into: Any, out: Any, cached: Any, written: Any) -> Price:
    cached, written = (None if each is None else _number(each) for each in (cached, written))
    return Price(input=_number(into), output=_number(out), cached=cached, cache_write=written)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise ValueError
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise ValueError
    return float(value)


def _date_in(line: bytes) -> str:
    """The date of a row, if this is one as we write it, found without reading the line; else what is later than any."""
    match = _AT.search(line)
    return match[1].decode() if match else "later"


def _wanted(budgets: Budgets) -> str | None:
    """From which date on rows of earlier runs count for these budgets; null where none does."""
    if any(budgets.of(scope) != Limit() for scope in ("project", "tenant")):
        return ""
    return None if budgets.day == Limit() else now().date().isoformat()


def _here(row: Row, project: str) -> Row:
    """The row as one of this project: its folder may have had another name when the row was written."""
    if row.account.project == project:
        return row
    return replace(row, account=replace(row.account, project=project))


def _opened(path: Path, flags: int) -> int:
    """The ordinary file at this path, open. A pipe there would keep us waiting for its other end, so it is refused."""
    file = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is no ordinary file")
    return file
