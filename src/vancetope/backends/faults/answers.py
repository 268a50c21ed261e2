"""Structured answers gone wrong: replies to a request for one JSON object that fits a schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from vancetope.backends.faults.asked import Asked, dumped, sample, text_of
from vancetope.backends.faults.fault import DONE, Fault, spoken
from vancetope.backends.scripted import cut, say, think

SCHEMA_KEYS = frozenset({"type", "properties", "$ref", "anyOf", "oneOf", "allOf"})
ENDLESS = 6_000  # digits or blanks


def wanted(asked: Asked) -> Mapping[str, Any]:
    """The JSON Schema of the answer that is asked for: of the response format, or else the first in the system prompt;
    empty where there is none."""
    if asked.schema is not None:
        return asked.schema
    decoder = json.JSONDecoder()
    text = text_of(asked.messages[0].get("content")) if asked.messages else ""
    at = text.find("{")
    while at >= 0:
        try:
            value, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and value.keys() & SCHEMA_KEYS:
            return value
        at = text.find("{", at + 1)
    return {}


def fitting(asked: Asked) -> dict[str, Any]:
    """A small object that fits the schema that is asked for, if that is a simple one."""
    value = sample({"type": "object", **wanted(asked)})
    return value if isinstance(value, dict) else {}


def whole(asked: Asked) -> str:
    return dumped(fitting(asked))


def varied(value: Any) -> Any:
    """The same object with another text or number at its first place that has one."""
    if isinstance(value, dict):
        for key, each in value.items():
            if (other := varied(each)) != each:
                return {**value, key: other}
    elif isinstance(value, str):
        return f"{value} "
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return value + 1
    return value


def with_member(asked: Asked, member: str) -> str:
    """The answer with one more member behind its last, written as it is."""
    text = whole(asked)[:-1]
    return f"{text}{', ' if text != '{' else ''}{member}}}"


def another(asked: Asked) -> str:
    return dumped({"reply": DONE, "number": asked.number})


def draft_and_final(asked: Asked) -> str:
    return f"{dumped(varied(fitting(asked)))}\n\nThat was a draft. This is final:\n\n{whole(asked)}"


def blanks_to_fill(asked: Asked) -> str:
    """The names of the schema, each with its own name in angle brackets as its value."""
    names = fitting(asked) or {"answer": None}
    return "{" + ", ".join(f"{dumped(name)}: <{name}>" for name in names) + "}"


def pythonic(asked: Asked) -> str:
    """The answer as Python prints it."""
    return repr(fitting(asked))


def _text(name: str, about: str, make: Callable[[Asked], str], rows: str = "") -> Fault:
    return spoken(name, about, lambda asked: say(make(asked)), rows)


def _cut(name: str, about: str, make: Callable[[Asked], str], rows: str) -> Fault:
    return spoken(name, about, lambda asked: cut(say(make(asked))), rows)


def _half(asked: Asked) -> str:
    text = whole(asked)
    return text[: max(1, len(text) // 2)]


ANSWERS = (
    _text("answer_in_prose", "The answer is told in prose.", lambda _: DONE, "S12 S14"),
    _text("answer_misfit", "Another object than the one that was asked for, each time a new one.", another, "S10 S34"),
    _text("answer_misfit_again", "The same wrong object whenever asked.", lambda _: dumped({"reply": DONE}), "C34"),
    _text("answer_fenced", "The answer in a Markdown fence.", lambda a: f"```json\n{whole(a)}\n```", "C101 S15"),
    _text("answer_in_talk", "The answer between two sentences.", lambda a: f"Here it is:\n\n{whole(a)}\n\nAnd now?"),
    _text("answer_after_thought", "The answer behind a thought in tags.", lambda a: f"<think>So {{</think>{whole(a)}"),
    _text(
        "answer_in_python", "The answer as Python prints it, a fence around it.", lambda a: f"```\n{pythonic(a)}\n```"
    ),
    _text("answer_twice", "The same answer twice.", lambda a: f"{whole(a)}\n{whole(a)}", "S11"),
    _text("draft_then_final", "A draft, and then another answer.", draft_and_final, "S21"),
    _text("doubled_brace", "Its first brace comes twice.", lambda a: f'{{"{whole(a)}', "S11"),
    _text("schema_echoed", "The schema itself instead of an answer.", lambda a: dumped(wanted(a))),
    _text("answer_placeholders", "Names in angle brackets instead of values.", blanks_to_fill),
    _text("answer_ellipsis", "Dots where the rest should be.", lambda a: with_member(a, "...")),
    _text("answer_wrapped", "The answer inside another object.", lambda a: f'{{"output":{whole(a)}}}', "C85"),
    _text("answer_in_list", "The answer as the one item of a list.", lambda a: f"[{whole(a)}]", "C94"),
    _text("answer_as_text", "The answer as a JSON text inside JSON.", lambda a: dumped(whole(a)), "C85"),
    _text("answer_nan", "A number that JSON does not have.", lambda a: with_member(a, '"share": NaN'), "C95"),
    _text("answer_null", "The JSON value null.", lambda _: "null", "S17 S19"),
    _text("answer_cut_unseen", "Half an answer, and the finish reason says stop.", _half, "S02"),
    _text(
        "endless_number", "A number of thousands of digits.", lambda a: with_member(a, f'"n": {"7" * ENDLESS}'), "S07"
    ),
    _cut("answer_cut", "The output limit cut the answer.", _half, "S01 S03 S04 S05"),
    _cut("answer_cut_closed", "The answer is whole, and the output limit was reached.", whole, "S01 S02"),
    _cut(
        "endless_space", "White space without end, up to the output limit.", lambda a: _half(a) + " " * ENDLESS, "S06"
    ),
    _cut("endless_list", "One item again and again, up to the output limit.", lambda _: '{"n": [' + "7, " * 500, "S08"),
    spoken("answer_in_thought", "The answer stands in the thinking, the text is empty.", lambda a: think(whole(a))),
)
