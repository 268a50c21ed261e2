"""Everything between a person's wish and the first request: which model, may it be used, is it there."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vancetope.cli.answers import USES_FOUND_KEY, remember, remembered
from vancetope.cli.lines import Line
from vancetope.cli.usage_file import FileLedger, file_ledger
from vancetope.errors import MissingExtra
from vancetope.settings import Settings

if TYPE_CHECKING:
    from vancetope.backends.choose import Choice
    from vancetope.prepare import Asked, Prepared

# A question that the small local model answers right; `make bench` checks it.
EXAMPLE = "What time is it in Paris?"

Progress = Callable[[int, int | None], None]


class Person(Protocol):
    """Who sits at the other end.

    Contract: `tell` shows lines before any later output; `confirm` gives the answer, the default for none, and null
    where nobody can be asked; `fetching` shows the progress of a download while the block runs.
    """

    def tell(self, *lines: Line) -> None: ...

    async def confirm(self, question: str) -> bool | None: ...

    async def fetch(self, name: str) -> Path: ...


async def opened(
    asked: Asked,
    settings: Settings,
    person: Person,
    *,
    agrees: bool = False,
    by: Callable[[Asked], Prepared] | None = None,
) -> Prepared:
    """The prepared process, its model announced, allowed and there. Raises `ConfigError` in one sentence.

    `agrees`: the person has said yes to every question on the command line. `by` prepares it, if it is no chat.
    """
    from vancetope import prepare as preparing

    prepare = by or preparing.prepare
    ledger = await asyncio.to_thread(file_ledger, settings)
    if isinstance(ledger, FileLedger):
        for notice in await asyncio.to_thread(ledger.notices):
            person.tell(Line(f"· {notice}", "note"))
    asked = replace(asked, settings=settings, ledger=ledger)
    prepared = prepare(asked)
    choice = prepared.choice
    if choice is not None and choice.paid_by_surprise:
        if await _may_pay(choice, settings, person, agrees=agrees):
            return prepared
        prepared = prepare(replace(asked, model="local:"))
        choice = prepared.choice
    if choice is not None:
        if choice.kind == "local":
            await _present(choice, person, agrees=agrees)
        person.tell(Line(str(choice), "note"))
    return prepared


def small_model_lines() -> list[Line]:
    """What the first screen says of the small local model."""
    return [
        Line("This small model proves the contract, not wisdom: every turn ends properly, often with a wrong answer."),
        Line("Of Ford's tools it gets the clock alone."),
        Line("A better one: set OPENAI_API_KEY, or name a server you run, for example --model ollama:qwen3:4b"),
        Line(f"Try: {EXAMPLE}"),
    ]


async def _may_pay(choice: Choice, settings: Settings, person: Person, *, agrees: bool) -> bool:
    answer = True if agrees else remembered(settings, USES_FOUND_KEY)
    if answer is False:
        person.tell(Line("OPENAI_API_KEY is set, but you said no to it here; --model openai: uses it", "note"))
        return False
    person.tell(Line(str(choice), "note"))
    if answer is None:
        answer = await person.confirm("Use it?")
        if answer is not None:
            remember(settings, USES_FOUND_KEY, answer)
    return answer is not False


async def _present(choice: Choice, person: Person, *, agrees: bool) -> None:
    """Return once the local model's runtime and file are there. Raises `ConfigError` where they are not."""
    from vancetope.backends.local.weights import KNOWN, WeightsMissing, find

    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("local", "the local model")
    try:
        await find(choice.path)
    except WeightsMissing as missing:
        model = KNOWN.get(choice.path)
        if model is None:
            raise
        size = f"{model.size / 1e6:.0f} MB, {model.licence}"
        question = f"The local model {model.name} is not on this machine. Fetch it now ({size})?"
        if not agrees and not await person.confirm(question):
            raise missing from None
        await person.fetch(model.name)


def is_small(choice: Choice | None) -> bool:
    """Whether this is one of the small models that we name."""
    return choice is not None and choice.kind == "local" and os.sep not in choice.path
