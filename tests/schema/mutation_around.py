"""Lexical mutations around the object: fences, tags, labels, prose, and what stands in front of everything."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

from tests.schema import mutation_phrases as phrases
from tests.schema.mutation_lexical import LEXICAL, lexical
from tests.schema.mutation_text import Draft, containers, exact, written_object
from tests.schema.mutation_values import variant

__all__ = ["LEXICAL"]  # which is complete once this module is loaded

# Fences, tags and labels.


def _fenced(draft: Draft, opening: str, closing: str) -> Draft:
    return replace(draft, fence=(opening, closing))


@lexical("wrap")
def fence_json(draft: Draft, random: Random) -> Draft | None:
    return _fenced(draft, random.choice(["```json\n", "```JSON\n", "``` json\n"]), "\n```")


@lexical("wrap")
def fence_untagged(draft: Draft, random: Random) -> Draft | None:
    return _fenced(draft, "```\n", "\n```" + random.choice(["", "\n"]))


@lexical("wrap")
def fence_of_four(draft: Draft, random: Random) -> Draft | None:
    return _fenced(draft, "````json\n", "\n````")


@lexical("wrap")
def fence_of_tildes(draft: Draft, random: Random) -> Draft | None:
    return _fenced(draft, random.choice(["~~~json\n", "~~~\n"]), "\n~~~")


@lexical("wrap")
def fence_on_one_line(draft: Draft, random: Random) -> Draft | None:
    text = written_object(draft)
    return None if "\n" in text or "`" in text else _fenced(draft, "```json ", " ```")


@lexical("wrap")
def fence_never_closed(draft: Draft, random: Random) -> Draft | None:
    return replace(_fenced(draft, "```json\n", "\n"), bare=False)


@lexical("wrap")
def fence_after_another(draft: Draft, random: Random) -> Draft | None:
    return _fenced(draft, f"{random.choice(phrases.SHELL)}```json\n", "\n```")


@lexical("wrap")
def tags(draft: Draft, random: Random) -> Draft | None:
    tag = random.choice(phrases.TAGS)
    return replace(_fenced(draft, f"<{tag}>\n", f"\n</{tag}>"), bare=False)


@lexical("wrap")
def label(draft: Draft, random: Random) -> Draft | None:
    return replace(draft, label=random.choice(phrases.LABELS), bare=False)


# Prose on lines of its own.


def _loose_prose(draft: Draft, before: str, after: str) -> Draft:
    """Around a fence prose leaves it a fence; around a bare object it makes the object a span."""
    fenced = (
        draft.fence[0].rstrip("\n ").endswith(("```", "```json", "```JSON", "``` json", "````json", "~~~", "~~~json"))
    )
    return replace(draft, before=before, after=after, bare=draft.bare and fenced)


def _speaks_of(draft: Draft, prose: str) -> bool:
    """Whether the prose holds a list that could be the answer."""
    return "[" in prose and (isinstance(draft.instance.value, list) or draft.instance.fits([1]))


@lexical("prose")
def prose_before(draft: Draft, random: Random) -> Draft | None:
    prose = random.choice(phrases.BEFORE)
    return None if _speaks_of(draft, prose) else _loose_prose(draft, f"{prose}\n", "")


@lexical("prose")
def prose_after(draft: Draft, random: Random) -> Draft | None:
    prose = random.choice(phrases.AFTER)
    return None if _speaks_of(draft, prose) else _loose_prose(draft, "", f"\n{prose}")


@lexical("prose")
def prose_around(draft: Draft, random: Random) -> Draft | None:
    before, after = random.choice(phrases.BEFORE), random.choice(phrases.AFTER)
    if _speaks_of(draft, before + after):
        return None
    return _loose_prose(draft, f"{before}\n\n", f"\n\n{after}\n")


@lexical("prose")
def echo(draft: Draft, random: Random) -> Draft | None:
    """The question's own data, or its schema, stands before the answer and does not fit the schema."""
    asked: Any = random.choice([{"text": "Mara Lind, b. 1974"}, dict(draft.instance.schema)])
    if any(draft.instance.fits(each) for _, each in containers(asked)):
        return None
    return _loose_prose(draft, f"Input: {json.dumps(asked, ensure_ascii=False)}\n", "")


@lexical("prose")
def told_twice(draft: Draft, random: Random) -> Draft | None:
    again = json.dumps(draft.instance.value, indent=1, ensure_ascii=False)
    return replace(_loose_prose(draft, f"{again}\n\nOnce more:\n", ""), bare=False)


# What stands in front of everything.


@lexical("front")
def thinking(draft: Draft, random: Random) -> Draft | None:
    opening, closing = random.choice(phrases.THINKING)
    return replace(draft, front=f"{opening}{random.choice(phrases.THOUGHTS)}{closing}")


@lexical("front")
def thinking_with_draft(draft: Draft, random: Random) -> Draft | None:
    opening, closing = random.choice(phrases.THINKING)
    other = variant(draft.instance, random)
    if other is None or exact(other, draft.instance.value):
        return None
    return replace(draft, front=f"{opening}Draft: {json.dumps(other)}. No wait.{closing}")


@lexical("front")
def thinking_opened_by_the_prompt(draft: Draft, random: Random) -> Draft | None:
    return replace(draft, front="The user wants one object. That is easy.\n</think>\n\n", bare=False)


@lexical("front")
def channels(draft: Draft, random: Random) -> Draft | None:
    thought = random.choice(phrases.THOUGHTS)
    front = f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>final<|message|>"
    return replace(draft, front=front, after=draft.after + random.choice(["", "<|return|>"]))


@lexical("front")
def byte_order_mark(draft: Draft, random: Random) -> Draft | None:
    return replace(draft, front=random.choice(["\ufeff", "\ufeff\u200b", "\ufeff\n"]))


@lexical("front")
def spinner(draft: Draft, random: Random) -> Draft | None:
    frames = random.choice(["- \r\\ \r| \r", "⠋ Thinking\r⠙ Thinking\r", "\rLoading 10%\rLoading 100%\r"])
    return replace(draft, front=f"{frames}\x1b[2K\r")
