# ruff: noqa: RUF001  typographic and full-width signs are the subject here
"""Mutations that change how a value is written and leave it one reading: the value must come back equal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Literal, TypeAlias

from tests.schema import mutation_phrases as phrases
from tests.schema.mutation_complete import may_lack_content
from tests.schema.mutation_text import (
    RESET,
    Draft,
    Token,
    containers,
    each_token,
    put,
    span,
    written_object,
)

Mutation: TypeAlias = Callable[[Draft, Random], Draft | None]
# In the order in which several are put into one reply; two of one stage exclude each other.
Stage: TypeAlias = Literal[
    "strings", "controls", "keys", "words", "commas", "signs", "comments", "colour", "space", "wrap", "prose", "front"
]

LEXICAL: dict[str, tuple[Stage | None, Mutation]] = {}
SCALARS = ("string", "number", "word")
_NOT_KEYS = {"true", "false", "null", "None", "True", "False", "NaN", "Infinity", "undefined"}


def lexical(stage: Stage | None) -> Callable[[Mutation], Mutation]:
    """Register a mutation under its function's name; without a stage it is never combined with others."""

    def register(mutation: Mutation) -> Mutation:
        LEXICAL[mutation.__name__] = (stage, mutation)
        return mutation

    return register


def loosely(draft: Draft, change: Callable[[Token], Token]) -> Draft | None:
    """The draft with its tokens changed so that it is strict JSON no longer; none if nothing changed."""
    changed = each_token(draft, change)
    return None if changed.tokens == draft.tokens else replace(changed, strict=False)


def retold(token: Token, text: str) -> Token:
    return replace(token, text=text)


def sub_escapes(text: str, becomes: dict[str, str]) -> str:
    """A JSON string's text with some of its escapes written otherwise."""
    return re.sub(r"\\(.)", lambda found: becomes.get(found[0], found[0]), text, flags=re.DOTALL)


@lexical(None)
def plain(draft: Draft, random: Random) -> Draft | None:
    return replace(draft, front=random.choice(["", "", "\n", "  ", "\r\n"]), after=random.choice(["", "\n", "\n\n  "]))


@lexical(None)
def escaped_slashes(draft: Draft, random: Random) -> Draft | None:
    return each_token(draft, lambda each: retold(each, each.text.replace("/", "\\/")) if _is_text(each) else each)


# How strings are written.


@lexical("strings")
def single_quotes(draft: Draft, random: Random) -> Draft | None:
    def quoted(token: Token) -> Token:
        if not _is_text(token):
            return token
        inner = token.text[1:-1].replace("'", "\\'")
        return retold(token, f"'{sub_escapes(inner, {chr(92) + chr(34): chr(34)})}'")

    return loosely(draft, quoted)


@lexical("strings")
def python_repr(draft: Draft, random: Random) -> Draft | None:
    """As `print(value)` shows it, where Python's escapes are JSON's too."""

    def shown(token: Token) -> Token:
        return retold(token, repr(token.value)) if _is_text(token) or token.kind == "word" else token

    changed = loosely(draft, shown)
    if changed is None or any(re.search(r"(?<!\\)(?:\\\\)*\\[^'\\nrt]", each.text) for each in changed.tokens):
        return None
    return changed


@lexical("strings")
def typographic_quotes(draft: Draft, random: Random) -> Draft | None:
    """A string that holds one of these quotes keeps its straight ones: turned, it would have two readings."""
    opening, closing = random.choice([("“", "”"), ("“", "”"), ("„", "“"), ("”", "”"), ("‘", "’")])

    def turned(token: Token) -> Token:
        if not _is_text(token) or re.search("[“”„‟\"‘’‚']", str(token.value)):
            return token
        return retold(token, f"{opening}{token.text[1:-1]}{closing}")

    return loosely(draft, turned)


@lexical("strings")
def escaped_apostrophes(draft: Draft, random: Random) -> Draft | None:
    return loosely(draft, lambda each: retold(each, each.text.replace("'", "\\'")) if _is_text(each) else each)


@lexical("controls")
def raw_controls(draft: Draft, random: Random) -> Draft | None:
    """Newlines and tabs as they are instead of as escapes."""

    def raw(token: Token) -> Token:
        if token.kind != "string":
            return token
        return retold(token, sub_escapes(token.text, {"\\n": "\n", "\\t": "\t"}))

    return loosely(draft, raw)


@lexical("keys")
def bare_keys(draft: Draft, random: Random) -> Draft | None:
    def bare(token: Token) -> Token:
        fit = token.kind == "key" and re.fullmatch(r"[A-Za-z_$][\w$]*", token.value, re.ASCII)
        return retold(token, token.value) if fit and token.value not in _NOT_KEYS else token

    return loosely(draft, bare)


@lexical("words")
def python_words(draft: Draft, random: Random) -> Draft | None:
    return loosely(draft, lambda each: retold(each, repr(each.value)) if each.kind == "word" else each)


# Commas and other signs between tokens.


@lexical("commas")
def trailing_commas(draft: Draft, random: Random) -> Draft | None:
    filled = [path for path, value in containers(draft.instance.value) if value]
    chosen = filled if random.random() < 0.5 else random.sample(filled, min(1, len(filled)))
    if not chosen:
        return None
    for path in chosen:
        _, end = span(draft.tokens, path)
        draft = put(draft, end - 1, end - 1, Token("comma", ",", path))
    return replace(draft, strict=False)


@lexical(None)
def no_commas_between_lines(draft: Draft, random: Random) -> Draft | None:
    """One member a line, and no comma in the whole object."""
    if not isinstance(draft.instance.value, dict) or len(draft.instance.value) < 2:
        return None
    kept = tuple(each for each in draft.tokens if each.kind != "comma" or each.path != ())
    return replace(draft, tokens=kept, layout="pretty", strict=False)


@lexical("signs")
def full_width_signs(draft: Draft, random: Random) -> Draft | None:
    wide = {"comma": "，", "colon": "："}
    some = random.choice([("comma", "colon"), ("comma",), ("colon",)])
    return loosely(draft, lambda each: retold(each, wide[each.kind]) if each.kind in some else each)


@lexical("signs")
def full_width_brackets(draft: Draft, random: Random) -> Draft | None:
    wide = {"{": "｛", "}": "｝", "[": "［", "]": "］", ",": "，", ":": "："}
    between = ("open", "close", "comma", "colon")
    return loosely(draft, lambda each: retold(each, wide[each.text]) if each.kind in between else each)


def _commented(draft: Draft, random: Random, opening: str, closing: str) -> Draft | None:
    """With a few comments. Where the schema would allow more entries the comment may stand for them, as far as anybody
    can tell who does not know its language: there it is right to refuse the reply, and right to take it."""
    steps = list(enumerate(zip(draft.tokens, draft.tokens[1:], strict=False)))
    after_open = [i for i, (a, b) in steps if a.kind == "open" and b.kind == "key"]
    inside = [i for i, (a, _) in steps if a.kind in ("comma", *SCALARS) and not _ends_at(draft, i)]
    places = after_open + inside
    doubtful = draft.doubtful
    for place in sorted(random.sample(places, min(len(places), random.randint(1, 3))), reverse=True):
        doubtful = doubtful or may_lack_content(draft.instance, draft.tokens, place)
        alone = draft.tokens[place + 1].kind == "key" and random.random() < 0.4
        draft = put(draft, place + 1, place + 1, _comment(random, opening, closing, alone=alone))
    return replace(draft, strict=False, doubtful=doubtful) if places else None


def _ends_at(draft: Draft, index: int) -> bool:
    """Whether a closing bracket follows, or a comma and a closing bracket."""
    after = [each.kind for each in draft.tokens[index + 1 : index + 3]]
    return after[:1] == ["close"] or after == ["comma", "close"]


def _comment(random: Random, opening: str, closing: str, *, alone: bool) -> Token:
    return Token("comment", f"{opening}{random.choice(phrases.HARMLESS)}{closing}", (), alone)


@lexical("comments")
def line_comments(draft: Draft, random: Random) -> Draft | None:
    return _commented(replace(draft, layout="pretty"), random, "// ", "")


@lexical("comments")
def hash_comments(draft: Draft, random: Random) -> Draft | None:
    return _commented(replace(draft, layout="pretty"), random, "# ", "")


@lexical("comments")
def block_comments(draft: Draft, random: Random) -> Draft | None:
    return _commented(draft, random, "/* ", " */")


@lexical(None)
def comment_before_a_closing_bracket(draft: Draft, random: Random) -> Draft | None:
    ends = [i for i, each in enumerate(draft.tokens) if each.kind in SCALARS and _ends_at(draft, i)]
    if not ends:
        return None
    place = random.choice(ends)
    doubtful = may_lack_content(draft.instance, draft.tokens, place)
    comment = _comment(random, *random.choice([("// ", ""), ("# ", ""), ("/* ", " */")]), alone=random.random() < 0.5)
    return replace(put(draft, place + 1, place + 1, comment), layout="pretty", strict=False, doubtful=doubtful)


@lexical(None)
def comment_behind_a_container(draft: Draft, random: Random) -> Draft | None:
    """In its line, or in that of its comma."""
    ends = [i for i, each in enumerate(draft.tokens[:-1]) if each.kind == "close"]
    if not ends:
        return None
    place = random.choice(ends)
    place += draft.tokens[place + 1].kind == "comma"
    doubtful = may_lack_content(draft.instance, draft.tokens, place)
    comment = _comment(random, *random.choice([("// ", ""), ("# ", ""), ("/* ", " */")]), alone=False)
    return replace(put(draft, place + 1, place + 1, comment), layout="pretty", strict=False, doubtful=doubtful)


# What terminals and word processors do.


@lexical("colour")
def colours(draft: Draft, random: Random) -> Draft | None:
    codes = {"key": "\x1b[34m", "string": "\x1b[32m", "number": "\x1b[1;33m", "word": "\x1b[38;5;208m"}

    def painted(token: Token) -> Token:
        return retold(token, f"{codes[token.kind]}{token.text}{RESET}") if token.kind in codes else token

    changed = each_token(draft, painted)
    return None if changed.tokens == draft.tokens else changed


@lexical("space")
def no_break_spaces(draft: Draft, random: Random) -> Draft | None:
    changed = replace(draft, layout=random.choice(["spaced", "pretty"]), space="\u00a0", strict=False)
    return changed if "\u00a0" in written_object(changed).replace("\n", "") else None


@lexical("space")
def carriage_returns(draft: Draft, random: Random) -> Draft | None:
    raw_in_string = any("\n" in each.text for each in draft.tokens)
    return None if raw_in_string else replace(draft, layout="pretty", newline="\r\n")


def _is_text(token: Token) -> bool:
    return token.kind in ("string", "key")


STAGES: tuple[Stage, ...] = Stage.__args__  # type: ignore[attr-defined]


def combined(draft: Draft, random: Random, count: int) -> Draft | None:
    """Several mutations of different stages in one reply; none where one of them does not apply."""
    by_stage = {stage: [name for name, (own, _) in LEXICAL.items() if own == stage] for stage in STAGES}
    stages = sorted(random.sample(STAGES, count), key=STAGES.index)
    names = [random.choice(by_stage[stage]) for stage in stages]
    for name in names:
        changed = LEXICAL[name][1](draft, random)
        if changed is None:
            return None
        draft = replace(changed, recipe=(*draft.recipe, name))
    return draft
