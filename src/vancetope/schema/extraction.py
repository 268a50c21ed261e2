"""One schema-valid JSON value out of a model's text: strict first, and doubt means no."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vancetope.schema import reasoning, transport, validate
from vancetope.schema.candidates import Candidates, candidates
from vancetope.schema.complete import is_closed_off, nothing_left_out
from vancetope.schema.problems import Problem
from vancetope.schema.reading import MAX_TRAILING, Reading, Reason, Rule
from vancetope.schema.retraction import takes_back
from vancetope.schema.signs import BLANK
from vancetope.schema.strict import MAX_BYTES, NotJson, parse, same
from vancetope.schema.validate import ALL_TYPES, Validator

__all__ = ["Extraction", "NoJson", "Reason", "Rule", "extract", "find"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """The value, which fits the schema, and the rule that found it: how far the text was from plain JSON."""

    value: Any
    rule: Rule


@dataclass(frozen=True, slots=True)
class NoJson:
    """No value, and why.

    `invalid` means that the text gave exactly one JSON value and it does not fit: `value` is that value and `problems`
    what is wrong with it. `none` is a text without JSON, or with JSON that cannot be read; `sentence` says which.
    """

    reason: Reason
    sentence: str = ""
    value: Any = None
    problems: tuple[Problem, ...] = ()


def extract(text: str, schema: Mapping[str, Any], finish: str = "stop") -> Extraction | NoJson:
    """The one value that this text gives and that fits the schema, or why there is none.

    `finish` is the reason why the model stopped, a value of `vancetope.messages.Finish`. Raises `InvalidSchema` for
    what is no schema, and nothing else, whatever the text. Linear in the text.
    """
    return find(text, validate.compile(schema), finish)


def find(text: str, validator: Validator, finish: str = "stop") -> Extraction | NoJson:
    """As `extract`, with a schema that is compiled already. Raises nothing."""
    if finish == "length":
        return NoJson("truncated", "the reply was cut off at the output limit")
    if finish in ("refusal", "content_filter"):
        return NoJson("none", "the reply is a refusal")
    if _too_large(text):
        return NoJson("too_large", f"the text is longer than {MAX_BYTES:,} bytes")
    plain = text.strip(BLANK)
    while True:
        try:
            return _judged(parse(plain), validator)
        except NotJson as error:
            refusal = error
        bare = transport.undone(plain)
        bare = bare[reasoning.after_leading(bare) :].strip(BLANK)
        if bare == plain:
            break
        plain = bare
    if not plain:
        return NoJson("none", "the text holds nothing but reasoning" if text.strip(BLANK) else "the text is blank")
    if transport.has_codes(plain):
        return NoJson("none", "the text holds control codes of a terminal that cannot be undone")
    if refusal.reason == "too_large":
        return NoJson("too_large", str(refusal))
    lost = len(text) - len(text.rstrip(BLANK)) > MAX_TRAILING
    return _chosen(candidates(plain), validator, may_close=finish == "stop" and not lost)


def _too_large(text: str) -> bool:
    if len(text) > MAX_BYTES:
        return True
    return not text.isascii() and len(text.encode(errors="surrogatepass")) > MAX_BYTES


def _judged(value: Any, validator: Validator) -> Extraction | NoJson:
    """The whole text is this value, which is final: it fits, or it is what a correction is about."""
    problems = validator.problems(value)
    return _unfit(value, problems) if problems else Extraction(value, "strict")


def _unfit(value: Any, problems: tuple[Problem, ...]) -> NoJson:
    return NoJson("invalid", "the JSON does not fit the schema", value, problems)


def _chosen(found: Candidates, validator: Validator, *, may_close: bool) -> Extraction | NoJson:
    if found.stop:
        return NoJson(found.stop.reason, found.stop.sentence)
    for each in found.readings:
        if each.rule == "closed" and not (may_close and is_closed_off(each.value, validator.schema)):
            return NoJson("truncated", "the JSON stops before its last brace, and more may be missing")
    answers = _answers(found, validator)
    fitting = [each for each in answers if validator.fits(each.value)]
    if not fitting:
        return _misfit(found, answers, validator)
    if not all(same(each.value, fitting[0].value) for each in fitting):
        return NoJson("ambiguous", "the text holds several different values that fit the schema")
    given = [each for each in fitting if each.given]
    if not given:
        return NoJson("none", _QUOTED)
    whole = [each for each in given if not _may_lack_content(each, validator)]
    if not whole:
        return NoJson("none", "a comment in the JSON may stand for content that was left out")
    best = min(whole, key=lambda each: _RANK.index(each.rule))
    if best.rule == "span" and len(found.readings) == 1 and _alone(found):
        return Extraction(best.value, "strict")
    if best.rule != "fence":
        if validator.takes_any_object if isinstance(best.value, dict) else validator.takes_any_list:
            return NoJson("none", "the schema allows nearly every object, so the JSON must stand alone or in a fence")
        if takes_back(best.value, _behind(found, max(each.end for each in given))):
            return NoJson("ambiguous", "the text behind the JSON names another number than the JSON does")
    return Extraction(best.value, best.rule)


_RANK = ("strict", "fence", "span", "tidied", "closed")


_QUOTED = "JSON stands in the text only as a part of a sentence or of another value"


def _answers(found: Candidates, validator: Validator) -> list[Reading]:
    """The readings that may be the answer: a list amid text only where the schema speaks of lists, if it speaks of
    any types at all."""
    if "array" in validator.types and validator.types != ALL_TYPES:
        return found.readings
    return [each for each in found.readings if isinstance(each.value, dict) or each.rule == "fence"]


def _may_lack_content(reading: Reading, validator: Validator) -> bool:
    comments = reading.comments
    return comments is not None and not nothing_left_out(comments, reading.value, validator.schema)


def _misfit(found: Candidates, answers: list[Reading], validator: Validator) -> NoJson:
    """No value fits: the one that was given, if there is exactly one, is what a correction can be about."""
    given = [each for each in answers if each.given]
    given = given or [each for each in found.readings if each.given and not validator.fits(each.value)]
    if not given:
        listed = "a list stands in the text, and the schema does not speak of lists"
        quoted = listed if any(each.given for each in found.readings) else _QUOTED
        return NoJson("none", found.passed or (quoted if found.readings else "the text holds no JSON"))
    if not all(same(each.value, given[0].value) for each in given):
        return NoJson("ambiguous", "the text holds several different JSON values, and none fits the schema")
    return _unfit(given[0].value, validator.problems(given[0].value))


def _alone(found: Candidates) -> bool:
    """Whether nothing but reasoning and control tokens stands around the readings."""
    return found.alone and not any(found.text[start:end].strip(BLANK) for start, end in found.gaps)


def _behind(found: Candidates, end: int) -> Iterable[str]:
    return (found.text[start:stop] for start, stop in found.gaps if start >= end)
