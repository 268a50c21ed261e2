"""Everything between a person's wish and the first request: which model, may it be used, is it there."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vancetope.cli.answers import agreed_keys, agreed_to, question_of, remember
from vancetope.cli.lines import Line
from vancetope.cli.usage_file import FileLedger, at_hand, file_ledger
from vancetope.errors import MissingExtra
from vancetope.settings import Settings

if TYPE_CHECKING:
    from vancetope.asked import Asked
    from vancetope.backends.choose import Choice
    from vancetope.models.ledger import Ledger
    from vancetope.prepare import Prepared

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
    from vancetope.backends.choose import FOUND_KEYS

    prepare = by or preparing.prepare
    asked = replace(asked, settings=settings, ledger=await _ledger(settings, person))
    prepared = prepare(asked)
    choice = prepared.choice
    if choice is None:
        return prepared
    if choice.paid_by_surprise and not await _may_pay(choice, settings, person, agrees=agrees):
        prepared = prepare(replace(asked, agreed=agreed_keys(settings, FOUND_KEYS)))
        choice = prepared.choice
        assert choice is not None
        if choice.paid_by_surprise:  # by a key that somebody has said yes to
            person.tell(Line(str(choice), "note"))
    elif choice.fallbacks:
        agreed = await _agreed(choice, settings, person, agrees=agrees)
        if any(each.paid_by_surprise and each.key_variable not in agreed for each in choice.fallbacks):
            prepared = prepare(replace(asked, agreed=agreed))
    if choice.kind == "local":
        await _present(choice, person, agrees=agrees)
    if not choice.paid_by_surprise:  # else it was announced before anybody was asked
        person.tell(Line(str(choice), "note"))
    person.tell(*(Line(f"· {each}", "note") for each in prepared.notices))
    return prepared


async def _ledger(settings: Settings, person: Person) -> Ledger:
    """The ledger of this command. It is there at once after the first time: another model is chosen without a pause
    in which a message could still go to the old one."""
    known = at_hand(settings)
    if known is not None:
        return known
    ledger = await asyncio.to_thread(file_ledger, settings)
    if isinstance(ledger, FileLedger):
        for notice in await asyncio.to_thread(ledger.notices):
            person.tell(Line(f"· {notice}", "note"))
    return ledger


def small_model_lines() -> list[Line]:
    """What the first screen says of the small local model."""
    return [
        Line("This small model proves the contract, not wisdom: every turn ends properly, often with a wrong answer."),
        Line("Of Ford's tools it gets the clock alone."),
        Line("A better one: set OPENAI_API_KEY, or name a server you run, for example --model ollama:qwen3:4b"),
        Line(f"Try: {EXAMPLE}"),
    ]


async def _may_pay(choice: Choice, settings: Settings, person: Person, *, agrees: bool) -> bool:
    variable = choice.key_variable or ""
    answer = True if agrees else agreed_to(settings, variable)
    if answer is False:
        person.tell(Line(f"{variable} is set, but you said no to it here; --model {choice.kind}: uses it", "note"))
        return False
    person.tell(Line(str(choice), "note"))
    return await _asked_once("Use it?", answer, variable, settings, person)


async def _agreed(choice: Choice, settings: Settings, person: Person, *, agrees: bool) -> frozenset[str]:
    """The variables of those keys that may pay for the models that stand in for the chosen one."""
    paid = {each.key_variable: each for each in reversed(choice.fallbacks) if each.paid_by_surprise}
    found = {choice.key_variable} if choice.paid_by_surprise else set()
    for variable, each in reversed(paid.items()):
        answer = True if agrees or variable in found else agreed_to(settings, variable or "")
        if answer is not False and variable not in found:
            person.tell(Line(f"if that fails: {each}", "note"))
            answer = await _asked_once("Use it then?", answer, variable or "", settings, person)
        if answer:
            found.add(variable)
    return frozenset(each for each in found if each)


async def _asked_once(question: str, known: bool | None, variable: str, settings: Settings, person: Person) -> bool:
    """The known answer, else that of the person, which is kept; yes where nobody can be asked."""
    if known is not None:
        return known
    answer = await person.confirm(question)
    if answer is not None:
        remember(settings, question_of(variable), answer)
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
