"""One process in memory: its inbox, its status, and one turn at a time.

The ephemeral form of a lane: the same verbs and the same turn as a stored one, gone when its program ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from vancetope.context import Halt
from vancetope.errors import IllegalMove
from vancetope.events import Event, MessageReceived, Notice, StatusChanged
from vancetope.inputs import user_message
from vancetope.messages import History, System, User, next_turn, text_of
from vancetope.outcome import Outcome, Turn
from vancetope.prepare import Prepared
from vancetope.process import CloseReason, Status, moved, rest

Mode: TypeAlias = Literal["follow_up", "steer"]


@dataclass(frozen=True, slots=True)
class Posted:
    """A message in the inbox. A `steer` joins the running turn at its next round, a `follow_up` starts the next one."""

    message: User
    mode: Mode


class Lane:
    """A process and its turns.

    `publish` gets every event, in order, and must not raise. The lane owns the task of the running turn; `stop` ends
    it.
    """

    def __init__(
        self,
        prepared: Prepared,
        publish: Callable[[Event], None],
        *,
        history: History | None = None,
        session: str = "",
    ) -> None:
        self.prepared = prepared
        self.history = history or History()
        self.status = Status.INIT
        self.close_reason: CloseReason | None = None
        self.turn_no = next_turn(self.history)
        self.last: Turn | None = None
        self._session = session
        self._publish = publish
        self._inbox: deque[Posted] = deque()
        self._drained: list[User] = []
        self._halt = Halt()
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._stopping = False

    async def start(self, first: Any = None) -> Turn:
        """Open the process. Without a first message it greets; with one it answers that, and returns that turn.

        Raises `IllegalMove` if the process is open already.
        """
        if self.status is not Status.INIT:
            raise IllegalMove(f"the process is {self.status}; only one that is init can be started")
        if first is not None:
            self.post(first)
            return await self.settled()
        self._move(Status.RUNNING)
        ctx = self.prepared.context(
            drain=lambda _: (), publish=self._publish, history=self.history, turn=self.turn_no, session=self._session
        )
        turn = await self.prepared.engine.start(ctx, self.prepared.greeting or None)
        self._ended(turn)
        self._wake()
        return turn

    def post(self, content: Any, mode: Mode = "follow_up") -> None:
        """Put a message into the inbox, and start a turn if none runs. Raises `ConfigError` for a message that cannot
        be sent and `IllegalMove` if the process is closed or being closed; then nothing was posted."""
        message = user_message(content, self.prepared.info)
        if self.status is Status.CLOSED or self._stopping:
            raise IllegalMove("the process is closed; it takes no more messages")
        self._inbox.append(Posted(message, mode))
        self._publish(MessageReceived(text_of(message.content), mode))
        self._wake()

    def _wake(self) -> None:
        """Start the task of the lane, if there is a message and nothing runs."""
        if self._inbox and self._task is None and self.status not in (Status.RUNNING, Status.CLOSED):
            self._task = asyncio.create_task(self._drain_inbox())
            self._begin()

    async def settled(self) -> Turn:
        """Wait until the process rests; the last turn. Cancelling the wait does not cancel the turn.

        What a turn cannot report (weights that were deleted, a bug) is raised here; the process takes messages again.
        """
        if self._task is not None:
            await asyncio.shield(self._task)
        if self._failure is not None:
            raise self._failure
        if self.last is None:
            raise IllegalMove("the process has not had a turn yet")
        return self.last

    def interrupt(self, *, drop_queue: bool = False) -> tuple[User, ...]:
        """End the running turn as `interrupted`; does nothing without one. Queued messages start the next turn, or are
        taken back and returned with `drop_queue`."""
        dropped = tuple(each.message for each in self._inbox) if drop_queue else ()
        if drop_queue:
            self._inbox.clear()
        if self._task is not None:
            self._halt.set("interrupted")
        return dropped

    async def stop(self) -> None:
        """Close the process for good; a running turn ends as `stopped`, and none follows."""
        self._stopping = True
        if self._task is not None:
            self._halt.set("stopped")
            await asyncio.shield(self._task)
        if self.status is not Status.CLOSED:
            self._close(CloseReason.STOPPED)

    async def _drain_inbox(self) -> None:
        try:
            while self._inbox and self.status is not Status.CLOSED and not self._stopping:
                if self.status is not Status.RUNNING:
                    self._begin()
                try:
                    self._ended(await self._turn())
                except Exception as error:
                    self._failed(error)
        finally:
            self._task = None

    def _begin(self) -> None:
        self._halt, self._failure, self._drained = Halt(), None, []
        self._move(Status.RUNNING)

    async def _turn(self) -> Turn:
        ctx = self.prepared.context(
            drain=self._take,
            publish=self._publish,
            history=self.history,
            turn=self.turn_no,
            session=self._session,
            halt=self._halt,
            idle=lambda: not self._inbox,
        )
        return await self.prepared.engine.steer(ctx)

    def _take(self, round: int) -> tuple[User, ...]:
        """All messages for the first round, later the steering ones, in the order in which they were posted."""
        taken = [each.message for each in self._inbox if round == 0 or each.mode == "steer"]
        self._inbox = deque(each for each in self._inbox if round != 0 and each.mode != "steer")
        self._drained += taken
        return tuple(taken)

    def _ended(self, turn: Turn) -> None:
        self.last = turn
        self.history = turn.messages
        self.turn_no += 1
        status, reason = rest(turn.outcome, self.prepared.rules.role, awaiting=turn.awaiting_user_input)
        if reason is not None:
            self._close(reason)
            return
        self._move(status)
        if status is Status.READY and turn.outcome is Outcome.RESPOND and not self._inbox:
            self._publish(Notice("nothing pending"))

    def _failed(self, error: Exception) -> None:
        """A turn that raised has no outcome; its messages stay, and the process rests."""
        self._failure = error
        self.history = History((*self.history, *self._drained, System(str(error) or type(error).__name__)))
        self.turn_no += 1
        self._move(Status.READY if self.prepared.rules.role == "primary" else Status.IDLE)

    def _close(self, reason: CloseReason) -> None:
        self._move(Status.CLOSED)
        self.close_reason = reason
        if self._inbox:
            self._publish(Notice(f"{len(self._inbox)} unread messages were dropped when the process closed"))
            self._inbox.clear()

    def _move(self, to: Status) -> None:
        self.status = moved(self.status, to)
        self._publish(StatusChanged(to.value))
