"""Everything one turn works with, built fresh for it and thrown away after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from vancetope.backends.base import Backend, ModelSettings
from vancetope.contract.compilers import Compiler
from vancetope.contract.rules import Rules
from vancetope.contract.stream import Streamer
from vancetope.contract.verdict import Narrow, State
from vancetope.events import Event
from vancetope.journal import Journal, NullJournal
from vancetope.messages import History, Message, Reply, Usage, User
from vancetope.models.base import ModelInfo
from vancetope.models.budgets import Account, Budgets
from vancetope.models.ledger import Ledger, MemoryLedger
from vancetope.outcome import EnforcementName
from vancetope.tools.base import Tool
from vancetope.tools.batch import Limits
from vancetope.tools.blobs import Blobs
from vancetope.tools.threads import Threads

T = TypeVar("T")

HaltKind: TypeAlias = Literal["interrupted", "stopped"]


class Halted(Exception):
    """The turn was interrupted or stopped while it waited for this."""


class Halt:
    """Where a turn can be interrupted or stopped from outside: once, and for good."""

    def __init__(self) -> None:
        self.kind: HaltKind | None = None
        self.event = asyncio.Event()
        self._running: set[asyncio.Task[Any]] = set()

    def set(self, kind: HaltKind) -> None:
        """Ask the turn to end; a stop outranks an interrupt."""
        if self.kind != "stopped":
            self.kind = kind
        self.event.set()
        for task in self._running:
            task.cancel()

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`. Raises `Halted` as soon as the turn is halted; `work` is cancelled and awaited then."""
        if self.event.is_set():
            work.close()
            raise Halted
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self.event.is_set() and not (current and current.cancelling()):
                raise Halted from None
            raise
        finally:
            self._running.discard(task)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a turn may use: tokens in and out together, US dollars. Null is no limit."""

    tokens: int | None = None
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take, in seconds. `last_round` is what the narrowed round gets once the turn is late."""

    model_call: float = 300.0
    turn: float = 1800.0
    last_round: float = 30.0


@dataclass(frozen=True, slots=True)
class Way:
    """A model, how it is reached, and how it is to write."""

    model: ModelInfo
    backend: Backend
    settings: ModelSettings = field(default_factory=ModelSettings)


class Route:
    """The ways that a turn may take, in order: the next one once a model cannot do what another may. There is no way
    back within the turn."""

    def __init__(self, first: Way, *fallbacks: Way) -> None:
        self.first = first
        self.now = first
        self._left = list(fallbacks)

    def next(self) -> Way | None:
        """Take the next way; null where there is none."""
        if not self._left:
            return None
        self.now = self._left.pop(0)
        return self.now


@dataclass(kw_only=True, slots=True)
class Context:
    """One turn's world.

    `drain(round)` gives the messages that join the turn at the start of a round, `idle()` says whether nothing could
    continue the turn by itself, `deadline` is a time of the running loop's clock. `account` is on whose account its
    model calls go, `budget` what the turn may use and `budgets` what all that share the account may. `notices` are told
    when it has begun. `raw`: replies are shown as they are written, because they answer a structured question; `render`
    gives its system prompt for these variables.
    """

    turn: int
    session: str
    rules: Rules
    enforcement: EnforcementName
    compiler: Compiler
    system: str
    route: Route
    drain: Callable[[int], Sequence[User]]
    publish: Callable[[Event], None]
    deadline: float
    history: History = field(default_factory=History)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    account: Account = field(default_factory=lambda: Account("", ""))
    ledger: Ledger = field(default_factory=MemoryLedger)
    budget: Budget = field(default_factory=Budget)
    budgets: Budgets = field(default_factory=Budgets)
    patience: Patience = field(default_factory=Patience)
    limits: Limits = field(default_factory=Limits)
    blobs: Blobs = field(default_factory=Blobs)
    threads: Threads = field(default_factory=Threads)
    journal: Journal = field(default_factory=NullJournal)
    halt: Halt = field(default_factory=Halt)
    idle: Callable[[], bool] = lambda: True
    streamed: bool = True
    notices: tuple[str, ...] = ()
    raw: bool = False
    render: Callable[[Mapping[str, Any]], str] = lambda _: ""
    deps: Any = None

    @property
    def model(self) -> ModelInfo:
        """The model that is asked now."""
        return self.route.now.model


@dataclass(slots=True)
class Log:
    """The running turn: the judge's state, the messages so far and what they cost: tokens, requests, and US dollars,
    null once a price is unknown."""

    streamer: Streamer
    state: State = field(default_factory=State)
    messages: list[Message] = field(default_factory=list)
    reply: Reply = field(default_factory=Reply)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    repairs: int = 0
    calls: int = 0
    unforced: bool = False
    told: Narrow | None = None
    hidden: int = 0
    memo: dict[int, Any] = field(default_factory=dict)
