"""Delimited reasoning and the control tokens of chat templates: what stands around an answer and is none of it."""

from __future__ import annotations

import re

from vancetope.schema.signs import BLANK

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|seed:think"
# Each opening delimiter with the one that closes it; a name of the first pattern closes with the same name.
_PAIRS = (
    (rf"<(?P<name>{_NAMES})(?:\s[^<>]{{0,80}})?>", ""),
    (r"\[think\]", r"\[/think\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|start_thinking\|>", r"<\|end_thinking\|>"),
    (r"<\|channel>", r"<channel\|>"),
    (
        r"<\|channel\|>\s{0,8}(?!\s|final\b)\w*+(?:[^<>{}\[\]]{0,80}<\|message\|>)?",
        r"(?=<\|(?:channel|start|end|return|call)\|>)",
    ),
)
# The same, for the larger pattern of all that may stand around an answer.
OPENING = "|".join(f"(?P<reason{number}>{opening})" for number, (opening, _) in enumerate(_PAIRS))
CLOSING = "|".join((rf"</(?:{_NAMES})>", *(closing for _, closing in _PAIRS[1:-1])))
# A control token; the role after the start of a message and the name of the channel that is the answer go with it.
TOKEN = (
    r"<\|(?:(?:im_)?start|start_header_id)\|>\w{0,20}"
    r"|<\|channel\|>\s{0,8}final(?:<\|message\|>)?"
    r"|<\|\w{1,30}\|>"
    r"|</s>"
)

_CLOSERS = tuple(re.compile(closing, re.IGNORECASE) for _, closing in _PAIRS)
_NAMED = {name: re.compile(rf"</{name}>", re.IGNORECASE) for name in _NAMES.split("|")}
_LEADING = re.compile(rf"[{BLANK}]*+(?:{OPENING}|(?P<token>{TOKEN}))", re.IGNORECASE)


def end_of(match: re.Match[str]) -> int | None:
    """Where the reasoning ends that this match of `OPENING` begins; None if it never does."""
    number = next(number for number in range(len(_PAIRS)) if match.group(f"reason{number}") is not None)
    closer = _NAMED[match.group("name").lower()] if number == 0 else _CLOSERS[number]
    found = closer.search(match.string, match.end())
    return found.end() if found else None


def after_leading(text: str) -> int:
    """Where the text goes on after the reasoning and the control tokens that it begins with."""
    at = 0
    while match := _LEADING.match(text, at):
        end = match.end() if match.lastgroup == "token" else end_of(match)
        if end is None:
            return len(text)
        at = end
    return at
