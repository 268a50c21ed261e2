"""Damage to single numbers, words, signs and strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from tests.schema import mutation_phrases as phrases
from tests.schema.mutation_damage import Reply, broken, damage, picked, places
from tests.schema.mutation_omission import DAMAGE
from tests.schema.mutation_text import Draft, Path, Token, put, span, written

__all__ = ["DAMAGE"]  # which is complete once this module is loaded

# Numbers and words.


def _numbers(draft: Draft) -> Iterator[Path]:
    return (each.path for each in draft.tokens if each.kind == "number")


@damage
def number_replaced(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, _numbers(draft))
    if path is None:
        return None
    return broken(
        put(draft, *span(draft.tokens, path), Token("raw", random.choice(phrases.PLACEHOLDERS), path)), random
    )


@damage
def number_garbled(draft: Draft, random: Random) -> Reply | None:
    index = picked(random, places(draft, "number"))
    if index is None:
        return None
    text = draft.tokens[index].text
    forms = [f"{text},500", f"{text}%", f"{text} kg", f"~{text}", f"{text}.2.1", f"{text}x", f"{text}-{text}9"]
    forms += [f"{text}?", f"{text}...", f"{text} or 7", f"{text}/7", f"{text}e", f"--{text}", f">{text}", f"{text}*10"]
    forms += [f"{text[:-1]} {text[-1:]}"] if len(text) > 1 else [f"{text} {text}"]
    return broken(put(draft, index, index + 1, Token("raw", random.choice(forms), draft.tokens[index].path)), random)


@damage
def word_cut(draft: Draft, random: Random) -> Reply | None:
    index = picked(random, places(draft, "word"))
    if index is None:
        return None
    token = draft.tokens[index]
    return broken(put(draft, index, index + 1, replace(token, text=token.text[: random.randint(1, 3)])), random)


# Signs.


@damage
def brackets_crossed(draft: Draft, random: Random) -> Reply | None:
    pairs = zip(draft.tokens, draft.tokens[1:], strict=False)
    crossing = [i for i, (a, b) in enumerate(pairs) if a.kind == b.kind == "close" and a.text != b.text]
    if crossing and random.random() < 0.7:
        index = random.choice(crossing)
        return broken(put(draft, index, index + 2, draft.tokens[index + 1], draft.tokens[index]), random)
    index = picked(random, places(draft, "close"))
    other = {"}": "]", "]": "}"}[draft.tokens[index].text]
    return broken(put(draft, index, index + 1, replace(draft.tokens[index], text=other)), random)


@damage
def bracket_removed(draft: Draft, random: Random) -> Reply | None:
    index = picked(random, places(draft, "open", "close"))
    return broken(put(draft, index, index + 1), random)


@damage
def bracket_added(draft: Draft, random: Random) -> Reply | None:
    index = picked(random, places(draft, "open", "close"))
    return broken(put(draft, index, index, draft.tokens[index]), random)


@damage
def comma_or_colon_removed(draft: Draft, random: Random) -> Reply | None:
    index = picked(random, places(draft, "comma", "colon"))
    return broken(put(draft, index, index + 1), random) if index is not None else None


@damage
def opened_in_the_prose(draft: Draft, random: Random) -> Reply | None:
    prose = random.choice(["It starts with { as always:\n", "The {name slot is filled:\n", "From [1, 2:\n"])
    return Reply(f"{prose}{written(draft)}")


# Strings.


def _strings(draft: Draft, pattern: str) -> Iterator[int]:
    """The places of strings and keys whose JSON text holds this."""
    return (
        i for i, each in enumerate(draft.tokens) if each.kind in ("string", "key") and re.search(pattern, each.text)
    )


def _respelled(draft: Draft, index: int | None, change: Callable[[str], str], random: Random) -> Reply | None:
    if index is None:
        return None
    token = draft.tokens[index]
    return broken(put(draft, index, index + 1, replace(token, text=change(token.text))), random)


@damage
def quote_removed(draft: Draft, random: Random) -> Reply | None:
    at_end = random.random() < 0.5
    index = picked(random, _strings(draft, "..."))
    return _respelled(draft, index, lambda text: text[:-1] if at_end else text[1:], random)


@damage
def inner_quotes_bare(draft: Draft, random: Random) -> Reply | None:
    return _respelled(draft, picked(random, _strings(draft, r'\\"')), lambda text: text.replace('\\"', '"'), random)


@damage
def backslashes_bare(draft: Draft, random: Random) -> Reply | None:
    return _respelled(draft, picked(random, _strings(draft, r"\\\\")), lambda text: text.replace("\\\\", "\\"), random)


@damage
def string_without_quotes(draft: Draft, random: Random) -> Reply | None:
    """Only strings that begin like words, and not like words that mean something."""
    plain = r'^"(?!(?i:true|false|null|none|nan|infinity|undefined)\b)[A-Za-z][^"\\]*"$'
    strings = (i for i in _strings(draft, plain) if draft.tokens[i].kind == "string")
    return _respelled(draft, picked(random, strings), lambda text: text[1:-1], random)


@damage
def half_a_surrogate_pair(draft: Draft, random: Random) -> Reply | None:
    half = random.choice(["\\ud83d", "\\ude80"])
    index = picked(random, places(draft, "string"))
    return _respelled(draft, index, lambda text: f"{text[:-1]}{half}x{text[-1:]}", random)
