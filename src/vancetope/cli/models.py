"""`vancetope models`: what can be used here, and why not."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from vancetope.backends.choose import FOUND_KEYS, Choice, choose, considered
from vancetope.cli.answers import agreed_keys, agreed_to
from vancetope.cli.found import Found, Offer, found
from vancetope.cli.lines import Line, Tone
from vancetope.cli.page import shown_path, toned, wrapped
from vancetope.cli.person import fetched
from vancetope.cli.trouble import print_json
from vancetope.cli.watch import plain
from vancetope.errors import ConfigError
from vancetope.models.aliases import Alias
from vancetope.models.base import ModelInfo
from vancetope.models.catalogue import Catalogue, catalogue
from vancetope.settings import Settings, load

MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class Stand:
    """What an alias stands for here and now: `model` is the one that is chosen, null with a `problem`; `then` are those
    that stand in for it, `passed` those before it with the reasons why they cannot be used."""

    name: str
    members: tuple[str, ...]
    where: str
    model: str | None
    problem: str | None
    is_paid: bool = False
    then: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()


def models(*, probe: bool, as_json: bool) -> int:
    """Show the default choice, every way to a model, and what the aliases stand for; the exit code."""
    settings = load()
    choice, problem = _default(settings)
    ways, stands = asyncio.run(found(settings, probe=probe)), _stands(settings)
    if as_json:
        print_json(
            {
                "default": None if choice is None else {"model": choice.info.id, "why": str(choice)},
                "problem": problem,
                "fallbacks": [] if choice is None else [each.info.id for each in choice.fallbacks],
                "notices": [] if choice is None else list(choice.notices),
                "ways": [plain(each) for each in ways],
                "aliases": [plain(each) for each in stands],
            }
        )
        return 0
    for each in wrapped(str(choice) if choice else f"none; {problem}", "default: "):
        _print(Line(each, "plain" if choice else "bad"))
    for notice in choice.notices if choice else ():
        for each in wrapped(notice, "· "):
            _print(Line(each, "note"))
    _print(Line(""))
    width = max(map(len, (*(each.name for each in ways), *(each.name for each in stands))))
    chosen = choice.info.provider if choice else ""
    lines = [line for way in ways for line in _lines(way, width, is_default=way.name == chosen)]
    for line in (*lines, Line(""), *(line for each in stands for line in _alias_lines(each, width))):
        _print(line)
    return 0


def pull(spec: str | None) -> int:
    """Fetch a local model and say where it lies; the exit code."""
    path = asyncio.run(fetched(spec))
    size = path.stat().st_size
    print(f"{path} ({size / 1e6:.0f} MB)")
    return 0


def _default(settings: Settings) -> tuple[Choice | None, str | None]:
    try:
        return _chosen(None, settings), None
    except ConfigError as error:
        return None, str(error)


def _chosen(name: str | None, settings: Settings) -> Choice:
    """The choice that a command would make, as far as nothing has to be asked."""
    choice = choose(name, None, settings)
    if choice.paid_by_surprise and agreed_to(settings, choice.key_variable or "") is False:
        return choose(name, None, settings, agreed=agreed_keys(settings, FOUND_KEYS))
    return choice


def _stands(settings: Settings) -> list[Stand]:
    """Every alias; one that a server of the settings has taken the name of is none."""
    known = catalogue(settings.folders)
    taken = settings.servers
    return [
        _stand(each, settings, known) for each in known.aliases.values() if each.name.partition(":")[0] not in taken
    ]


def _stand(alias: Alias, settings: Settings, known: Catalogue) -> Stand:
    try:
        choice = _chosen(alias.name, settings)
        tried = list(considered(alias.name, "argument", settings, known))
    except ConfigError as error:
        return Stand(alias.name, alias.members, alias.where, None, str(error))
    before = takewhile(
        lambda each: isinstance(each, str) or each.info.id != choice.info.id, (each for _, each in tried)
    )
    return Stand(
        alias.name,
        alias.members,
        alias.where,
        choice.info.id,
        None,
        choice.paid_by_surprise,
        tuple(each.info.id for each in choice.fallbacks),
        tuple(each if isinstance(each, str) else _declined(each) for each in before),
    )


def _declined(choice: Choice) -> str:
    return f"{choice.info.id} would be paid by the key in {choice.key_variable}; you said no to it here"


def _lines(way: Found, width: int, *, is_default: bool) -> list[Line]:
    """A way to a model as lines of the terminal, what is long wrapped below its column."""
    tone: Tone = "plain" if way.is_usable else "dim"
    lead = f"{'→' if is_default else ' '} {'✓' if way.is_usable else '-'} {way.name:<{width}}  "
    shown = way.models if way.is_usable or any(each.path for each in way.models) else ()
    names = [_named(each) for each in shown[:MOST_NAMES]]
    if len(shown) > MOST_NAMES:
        names.append(f"and {len(shown) - MOST_NAMES} more")
    first = [Line(each, tone) for each in wrapped(way.state, lead)]
    return first + [Line(each, "dim") for name in names for each in wrapped(name, " " * len(lead))]


def _alias_lines(stand: Stand, width: int) -> list[Line]:
    lead = f"  {'✓' if stand.model else '-'} {stand.name:<{width}}  "
    if stand.model is None:
        return [Line(each, "dim") for each in wrapped(stand.problem or "", lead)]
    text = f"is {stand.model}{' (paid)' if stand.is_paid else ''}"
    if stand.then:
        text += f"; if that fails, {', then '.join(stand.then)}"
    lines = [Line(each) for each in wrapped(text, lead)]
    return lines + [Line(each, "dim") for why in stand.passed for each in wrapped(why, " " * len(lead))]


def facts(info: ModelInfo) -> str:
    """What the catalogue says of a model, in a few words."""
    said = [] if info.context_window is None else [f"{info.context_window:,} tokens"]
    if info.price is not None:
        paid = info.price.input or info.price.output
        said.append(f"${info.price.input:g} in and ${info.price.output:g} out per million" if paid else "free")
    said.append(info.enforcements[0])
    said += {"no": [], "yes": ["can think"], "always": ["thinks"]}[info.thinking]
    return ", ".join([*said, "sees images"] if info.vision else said)


def _named(offer: Offer) -> str:
    said = [offer.name]
    if offer.path is not None and offer.size is not None:
        said.append(f"{offer.size / 1e6:.0f} MB in {shown_path(Path(offer.path).parent)}")
    if offer.info is not None:
        said.append(facts(offer.info))
    return ", ".join(said)


def _print(line: Line) -> None:
    print(toned(line.text, line.tone, sys.stdout))
