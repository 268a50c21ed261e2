"""`vancetope query`: one structured question, one JSON object or one named failure."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from vancetope import sentences
from vancetope.answer import Answer
from vancetope.cli.inputs import prompt_from
from vancetope.cli.lines import Line, answer_numbers, failure_line
from vancetope.cli.opening import opened
from vancetope.cli.page import Page, Streams, Terminal, aside
from vancetope.cli.person import AtTerminal
from vancetope.cli.retries import tell_retries
from vancetope.cli.schemas import STDIN, schema_from
from vancetope.cli.trouble import INTERRUPTED, Refused, failed, print_json
from vancetope.cli.watch import Reader
from vancetope.cli.watched import Watching
from vancetope.cli.wire import on_stderr
from vancetope.cli.wishes import Demand, Wishes
from vancetope.context import Halt
from vancetope.contract.question import BadQuestion, Question
from vancetope.events import Event, TurnEnded, TurnStarted, UsageRecorded
from vancetope.prepare import Prepared, prepare_question
from vancetope.questions import answered, question_of
from vancetope.settings import load

EXAMPLE = 'vancetope query --schema country.json "Describe France."'
NO_ANSWER = 5


def query(prompt: str | None, wishes: Wishes, demand: Demand) -> int:
    """Ask once for JSON; the exit code. The data, or with `as_json` the wrapper, is all that is ever on stdout: what a
    class of the caller's prints goes to stderr."""
    if sys.stdout is None:
        raise Refused("standard output is closed: there is nowhere to put the answer")
    progress = Progress(_page(quiet=wishes.quiet))
    try:
        with redirect_stdout(sys.stderr):
            schema, text = _read(prompt, demand)
            answer = asyncio.run(_answered(text, schema, wishes, demand, progress))
    except KeyboardInterrupt:
        if wishes.as_json:
            stopped = Answer[Any](
                success=False, attempts=progress.replies, error="stopped", message=sentences.WAS_INTERRUPTED
            )
            print_json(stopped.wrapper())
        raise
    return _told(answer, progress.seconds, wishes)


class Progress(Reader):
    """What happens on the way to an answer, for a person. How it ends is told by its answer."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.replies = 0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def take(self, event: Event) -> None:
        if isinstance(event, TurnStarted):
            self._began = time.monotonic()
        self.replies += isinstance(event, UsageRecorded)
        if not isinstance(event, TurnEnded):
            super().take(event)


def _page(*, quiet: bool) -> Page:
    """Where progress is shown: stdout is left to the data, also in a terminal."""
    return Terminal(quiet=quiet, file=sys.stderr) if sys.stderr.isatty() else Streams(quiet=quiet)


def _read(prompt: str | None, demand: Demand) -> tuple[Any, str]:
    """The schema and the question. Raises `Refused` where one cannot be had."""
    takes_stdin = demand.schema == STDIN
    if takes_stdin and prompt in (None, "-"):
        raise Refused("--schema - takes the schema from standard input; give the question as an argument")
    return schema_from(demand.schema), prompt_from(prompt, EXAMPLE, reads_stdin=not takes_stdin)


async def _answered(text: str, schema: Any, wishes: Wishes, demand: Demand, progress: Progress) -> Answer[Any]:
    settings = load()
    asked = replace(wishes.asked("jeltz", on_stderr if wishes.wire else None), settings=settings)
    prepared = prepare_question(asked)
    question = _question(text, schema, demand, prepared)
    if isinstance(question, Question):  # else no model is needed, and none is announced
        person = AtTerminal(quiet=wishes.quiet, may_ask=not wishes.as_json)
        prepared = await opened(asked, settings, person, agrees=wishes.agrees, by=prepare_question)
    tell_retries(progress.tell)
    try:
        return await _watched(prepared, question, progress)
    finally:
        with suppress(OSError):
            progress.close()
        await prepared.aclose()


def _question(text: str, schema: Any, demand: Demand, prepared: Prepared) -> Question | BadQuestion:
    attempts = prepared.max_attempts if demand.max_attempts is None else demand.max_attempts
    return question_of(text, schema, prepared.info, max_attempts=attempts, format_checks=demand.format_checks)


async def _watched(prepared: Prepared, question: Question | BadQuestion, progress: Progress) -> Answer[Any]:
    halt = Halt()
    watching = Watching(progress, partial(halt.set, "interrupted"))
    async with watching.work():
        return await answered(prepared, question, publish=watching.publish, halt=halt)


def _told(answer: Answer[Any], seconds: float, wishes: Wishes) -> int:
    """The exit code of an answer, once it is told."""
    if wishes.as_json:
        print_json(answer.wrapper())
    elif answer.success:
        print_json(answer.value, indented=True)
    if answer.cause is not None:
        failed(answer.cause, as_json=False)
    elif not answer.success:
        aside(failure_line(answer), quiet=wishes.quiet)
    if answer.model_calls:
        aside(Line(answer_numbers(answer, seconds), "dim"), quiet=wishes.quiet)
    if answer.error == "stopped":
        return INTERRUPTED
    return 0 if answer.success else NO_ANSWER
