"""One schema-valid JSON value out of a model's text: strict first, and doubt means no."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vancetope.schema import reasoning, transport, validate
from vancetope.schema.candidates import Candidates, candidates
from vancetope.schema.problems import Problem, resolved
from vancetope.schema.reading import MAX_TRAILING, Reason, Rule
from vancetope.schema.signs import BLANK
from vancetope.schema.strict import MAX_BYTES, NotJson, parse, same
from vancetope.schema.validate import Validator

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
        if each.rule == "closed" and not (may_close and _complete(each.value, validator.schema)):
            return NoJson("truncated", "the JSON stops before its last brace, and more may be missing")
    fitting = [each for each in found.readings if validator.fits(each.value)]
    if not fitting:
        return _misfit(found, validator)
    if not all(same(each.value, fitting[0].value) for each in fitting):
        return NoJson("ambiguous", "the text holds several different values that fit the schema")
    given = [each for each in fitting if each.given]
    if not given:
        return NoJson("none", _QUOTED)
    best = min(given, key=lambda each: _RANK.index(each.rule))
    if best.rule == "span" and len(found.readings) == 1 and _alone(found):
        return Extraction(best.value, "strict")
    if best.rule != "fence":
        if _permissive(validator):
            return NoJson("none", "the schema allows nearly every object, so the JSON must stand alone or in a fence")
        if _contradicted(best.value, _behind(found, max(each.end for each in given))):
            return NoJson("ambiguous", "the text behind the JSON names another number than the JSON does")
    return Extraction(best.value, best.rule)


_RANK = ("strict", "fence", "span", "tidied", "closed")


_QUOTED = "JSON stands in the text only as a part of a sentence or of another value"


def _misfit(found: Candidates, validator: Validator) -> NoJson:
    """No value fits: the one that was given, if there is exactly one, is what a correction can be about."""
    given = [each for each in found.readings if each.given]
    if "array" not in validate.json_types(validator.schema, validator.schema):
        given = [each for each in given if isinstance(each.value, dict)] or given
    if not given:
        return NoJson("none", found.passed or (_QUOTED if found.readings else "the text holds no JSON"))
    if not all(same(each.value, given[0].value) for each in given):
        return NoJson("ambiguous", "the text holds several different JSON values, and none fits the schema")
    return _unfit(given[0].value, validator.problems(given[0].value))


def _alone(found: Candidates) -> bool:
    """Whether nothing but reasoning and control tokens stands around the readings."""
    return found.alone and not any(found.text[start:end].strip(BLANK) for start, end in found.gaps)


_KINDS: tuple[Any, ...] = (None, "x", 0, True, {}, [])
_UNKNOWN = "\ue000"  # a key of nobody's


def _permissive(validator: Validator) -> bool:
    """Whether nearly every object fits, or nearly every list: nothing is required, and anything may be added."""
    fits = validator.fits
    return all(fits({_UNKNOWN: each}) for each in _KINDS) or all(fits([each]) for each in _KINDS)


def _complete(value: dict[str, Any], schema: Any) -> bool:
    """Whether an object has all the properties that the schema knows, and the schema forbids others."""
    for _ in range(8):
        target = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(target, str) or not target.startswith("#"):
            break
        schema = resolved(schema, target)
    if not isinstance(schema, Mapping) or schema.get("additionalProperties") is not False:
        return False
    properties = schema.get("properties")
    return isinstance(properties, Mapping) and value.keys() == properties.keys() and "patternProperties" not in schema


# A number that stands alone; the number of an entry at the start of its line is none.
_NUMBER = re.compile(r"^[ \t]*+\d{1,3}[.)](?=\s)|(?<![\w.])(?<!\w-)(\d{1,40}(?:\.\d{1,40})?)(?!\w)", re.MULTILINE)


def _contradicted(value: Any, behind: Iterable[str]) -> bool:
    """Whether the text behind a value names a number that the value does not hold, while it holds one of that kind,
    whole or broken: then it may well take back what the value says."""
    numbers = {abs(each) for each in _numbers(value)}
    kinds = {isinstance(each, int) or each.is_integer() for each in numbers}
    named = (match.group(1) for piece in behind for match in _NUMBER.finditer(piece) if match.group(1))
    return bool(kinds) and any(
        ("." not in each) in kinds and (float(each) if "." in each else int(each)) not in numbers for each in named
    )


def _behind(found: Candidates, end: int) -> Iterable[str]:
    return (found.text[start:stop] for start, stop in found.gaps if start >= end)


def _numbers(value: Any) -> Iterable[float]:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield each
