"""Mutations after which the text no longer says what the value was: no object other than it may come back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NoReturn, TypeAlias

from tests.schema import mutation_phrases as phrases
from tests.schema.mutation_around import LEXICAL
from tests.schema.mutation_text import (
    Draft,
    Path,
    Token,
    containers,
    end_of_content,
    exact,
    put,
    scalars,
    span,
    tokens,
    written,
    written_object,
)
from tests.schema.mutation_values import other_scalar, variant


@dataclass(frozen=True, slots=True)
class Reply:
    """A damaged reply. `whole`: it still holds the original, so that this one may come back."""

    text: str
    finish: str = "stop"
    whole: bool = True


Damage: TypeAlias = Callable[[Draft, Random], Reply | None]
DAMAGE: dict[str, Damage] = {}


def damage(function: Damage) -> Damage:
    """Register a damage under its function's name."""
    DAMAGE[function.__name__] = function
    return function


def broken(draft: Draft | None, random: Random) -> Reply | None:
    """The reply with this damaged object in it; none if the object is still JSON, so has a clear reading after all."""
    if draft is None or is_json(written_object(draft)):
        return None
    around = random.choice(["plain", "plain", "fence_json", "prose_before", "prose_around", "label", "thinking"])
    return Reply(written(LEXICAL[around][1](draft, random) or draft))


def is_json(text: str) -> bool:
    """Whether a text is one JSON value, without NaN, half a surrogate pair, or a key that has two values."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    def single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found and not exact(found[key], value):
                raise ValueError(key)
            found[key] = value
        return found

    try:
        value = json.loads(text, parse_constant=refuse, object_pairs_hook=single)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


def picked(random: Random, choices: Iterator[Any]) -> Any:
    """One of these; none if there is none."""
    found = list(choices)
    return random.choice(found) if found else None


def places(draft: Draft, *kinds: str) -> Iterator[int]:
    return (index for index, each in enumerate(draft.tokens) if each.kind in kinds)


def members(draft: Draft) -> Iterator[Path]:
    """The paths of all members of all objects."""
    return (each.path for each in draft.tokens if each.kind == "key")


def member_span(draft: Draft, path: Path) -> tuple[int, int]:
    """The tokens of a member, its key included."""
    first, end = span(draft.tokens, path)
    return (first - 2 if isinstance(path[-1], str) else first), end


# Cut.

_CUT_IN = (
    *("plain", "plain", "plain", "fence_json", "fence_untagged", "prose_before", "prose_after", "label", "thinking"),
    *("trailing_commas", "bare_keys", "single_quotes", "python_words", "raw_controls", "full_width_signs", "colours"),
)


def _cut(draft: Draft, random: Random) -> tuple[Draft, str]:
    """A reply cut at any byte, one time in two near its end, where little seems to be missing."""
    draft = LEXICAL[random.choice(_CUT_IN)][1](draft, random) or draft
    data = written(draft).encode()
    near = random.random() < 0.5
    at = random.randrange(max(0, len(data) - 40) if near else 0, len(data))
    return draft, data[:at].decode(errors="ignore")


@damage
def cut(draft: Draft, random: Random) -> Reply | None:
    whole, text = _cut(draft, random)
    return Reply(text, whole=len(text) >= end_of_content(whole))


@damage
def cut_and_reported(draft: Draft, random: Random) -> Reply | None:
    return Reply(_cut(draft, random)[1], finish="length", whole=False)


@damage
def cut_after_a_token(draft: Draft, random: Random) -> Reply | None:
    """Where the text so far looks finished, or nearly so."""
    kept = draft.tokens[: random.randint(1, len(draft.tokens) - 1)]
    text = written_object(replace(draft, tokens=kept))
    return Reply(text, whole=len(text) >= end_of_content(draft))


# Something is missing.


@damage
def value_removed(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, members(draft))
    return broken(put(draft, *span(draft.tokens, path)), random) if path else None


@damage
def item_removed(draft: Draft, random: Random) -> Reply | None:
    """Never the last one: what remains would read as a trailing comma."""
    lists = (path for path, each in containers(draft.instance.value) if isinstance(each, list) and len(each) > 1)
    path = picked(random, lists)
    if path is None:
        return None
    count = sum(each.kind == "comma" and each.path == path for each in draft.tokens)
    return broken(put(draft, *span(draft.tokens, (*path, random.randrange(count)))), random)


@damage
def key_alone(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, members(draft))
    if path is None:
        return None
    first, end = span(draft.tokens, path)
    return broken(put(draft, first - random.choice([0, 1]), end), random)


@damage
def key_removed(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, members(draft))
    if path is None:
        return None
    first, _ = span(draft.tokens, path)
    return broken(put(draft, first - 2, first - random.choice([0, 1])), random)


@damage
def doubled_comma(draft: Draft, random: Random) -> Reply | None:
    """A member or an item was dropped, its comma was not."""
    index = picked(random, places(draft, "comma", "open"))
    comma = Token("comma", ",", ())
    return broken(put(draft, index + 1, index + 1, comma, *_more(random, comma)), random)


def _more(random: Random, token: Token) -> tuple[Token, ...]:
    return (token,) if random.random() < 0.2 else ()


@damage
def ellipsis_in_a_list(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, (path for path, each in containers(draft.instance.value) if isinstance(each, list)))
    return broken(_elided(draft, path, random), random) if path is not None else None


@damage
def ellipsis_in_an_object(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, (path for path, each in containers(draft.instance.value) if isinstance(each, dict)))
    return broken(_elided(draft, path, random), random) if path is not None else None


@damage
def ellipsis_for_a_value(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, (path for path, _ in scalars(draft.instance.value)))
    if path is None:
        return None
    dots = random.choice(["...", "…", "{...}", "[...]", "....", "..", "<...>"])
    return broken(put(draft, *span(draft.tokens, path), Token("raw", dots, path)), random)


def _elided(draft: Draft, path: Path, random: Random) -> Draft:
    """The container at the path with dots for some of its entries."""
    first, end = span(draft.tokens, path)
    dots = Token("raw", random.choice(["...", "…", "... "]), path)
    found = entries(draft, path)
    if not found:
        return put(draft, first + 1, end - 1, dots)
    start = random.randrange(len(found))
    stop = random.choice([start, len(found) - 1])
    return put(draft, found[start][0], found[stop][1], dots)


def entries(draft: Draft, path: Path) -> list[tuple[int, int]]:
    """The tokens of each member or item of the container at the path."""
    container = draft.instance.value
    for step in path:
        container = container[step]
    return [
        member_span(draft, (*path, key))
        for key in (container if isinstance(container, dict) else range(len(container)))
    ]


# Something is there twice.


@damage
def key_with_two_values(draft: Draft, random: Random) -> Reply | None:
    path = picked(random, members(draft))
    if path is None:
        return None
    value: Any = draft.instance.value
    for step in path:
        value = value[step]
    other = "x" if isinstance(value, dict | list) else other_scalar(value, random)
    key = path[-1]
    escaped = "".join(f"\\u{ord(each):04x}" if ord(each) < 0x10000 else each for each in str(key))
    spelled = [json.dumps(key), f'"{escaped}"', *([str(key)] if re.fullmatch("[A-Za-z_]+", str(key)) else [])]
    pair = (Token("key", random.choice(spelled), path, key), Token("colon", ":", path), *tokens(other, path=path))
    comma = Token("comma", ",", path[:-1])
    first, end = member_span(draft, path)
    before = random.random() < 0.5
    return broken(put(draft, first, first, *pair, comma) if before else put(draft, end, end, comma, *pair), random)


_TWO = (
    "{}\n{}",
    "{}\n\n{}",
    "{},\n{}",
    "{}\n---\n{}",
    "Before: {}\nAfter: {}",
    "Option 1:\n```json\n{}\n```\n\nOption 2:\n```json\n{}\n```",
    "```json\n{}\n{}\n```",
    "```\n{}\n```\nor\n```\n{}\n```",
    "- {}\n+ {}",
    "{}\n\n```json\n{}\n```",
    "```json\n{}\n```\n\n{}",
    "Either\n{}\nor\n{}\nI cannot tell.",
)
_DRAFTS = (
    "My first guess was {}, but the record says otherwise. Final: {}",
    "{}\n\nWait, that is wrong. Corrected:\n{}",
    "Draft:\n{}\n\nFinal:\n{}",
    "```json\n{}\n```\nOn second thought:\n```json\n{}\n```",
    "Erster Entwurf: {}\nEndgültig: {}",
)


def _two(draft: Draft, random: Random, template: str, *, ordered: bool) -> Reply | None:
    other = variant(draft.instance, random)
    if other is None:
        return None
    pair = [_text_of(draft, other), written_object(draft)]
    if not ordered:
        random.shuffle(pair)
    before, between, after = template.split("{}")
    text = f"{before}{pair[0]}{between}{pair[1]}{after}"
    return None if is_json(text) else Reply(text)


def _text_of(draft: Draft, value: Any) -> str:
    return written_object(replace(draft, tokens=tuple(tokens(value))))


@damage
def two_objects(draft: Draft, random: Random) -> Reply | None:
    return _two(draft, random, random.choice(_TWO), ordered=False)


@damage
def two_objects_one_of_them_loose(draft: Draft, random: Random) -> Reply | None:
    """One of them is JSON as it stands, the other after a repair."""
    loose = random.choice(["single_quotes", "trailing_commas", "bare_keys", "line_comments", "python_words"])
    changed_draft = LEXICAL[loose][1](draft, random)
    return _two(changed_draft, random, random.choice(_TWO), ordered=False) if changed_draft else None


@damage
def draft_then_final(draft: Draft, random: Random) -> Reply | None:
    return _two(draft, random, random.choice(_DRAFTS), ordered=True)


@damage
def started_again(draft: Draft, random: Random) -> Reply | None:
    """A first part, then the whole object from its beginning; not where that could be a value in the first."""
    other = variant(draft.instance, random) if random.random() < 0.7 else draft.instance.value
    text = _text_of(draft, other)
    both = text[: random.randint(1, len(text) - 1)] + random.choice(["", "\n", " "]) + written_object(draft)
    return None if any(map(is_json, (f"{both}}}", f"{both}]}}", f"{both}}}}}"))) else Reply(both)


# The object is not the answer.


def _this_or_another(draft: Draft, random: Random) -> Draft:
    other = variant(draft.instance, random) if random.random() < 0.5 else None
    return draft if other is None else replace(draft, tokens=tuple(tokens(other)))


@damage
def thinking_never_closed(draft: Draft, random: Random) -> Reply | None:
    opening, _ = random.choice(phrases.THINKING)
    inner = written(_this_or_another(draft, random))
    thought = random.choice(["Let me see.\n", "Draft: ", f"{random.choice(phrases.THOUGHTS)}\n"])
    return Reply(f"{opening}{thought}{inner}{random.choice(['', ' Hmm.', chr(10) + 'Is that right?'])}", whole=False)


@damage
def quoted_in_a_sentence(draft: Draft, random: Random) -> Reply | None:
    before, after = random.choice(phrases.QUOTED)
    one_line = replace(_this_or_another(draft, random), layout=random.choice(["compact", "spaced"]))
    return Reply(f"{before}{written(one_line)}{after}", whole=False)


_OUTER = (
    '{"result": %s, "note": }',
    '{"before": %s, "after": ...}',
    '{"items": [%s, ',
    '{"data": %s',
    "[%s, ...]",
    '{"data": %s, "data": 0}',
    '{"data": %s]',
    '{"answer": %s, "why": "because',
    "{%s",
)


@damage
def inside_a_broken_object(draft: Draft, random: Random) -> Reply | None:
    """The value is a part of something larger that is broken. A doubled opening brace may mean just the value."""
    outer = random.choice(_OUTER)
    inner = _this_or_another(draft, random)
    text = outer.replace("%s", written(inner))
    return Reply(text, whole=outer == "{%s" and inner is draft)
