"""Strict JSON: one text, one value, and doubt means no."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NoReturn, TypeAlias, get_args

MAX_DEPTH = 128
MAX_BYTES = 2_000_000

Reason: TypeAlias = Literal["truncated", "none", "invalid", "too_deep", "too_large"]
REASONS: tuple[Reason, ...] = get_args(Reason)


class NotJson(ValueError):
    """The text is not one strict JSON value. `reason` is one of `REASONS`, `str(error)` one sentence."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


def parse(text: str | bytes) -> Any:
    """The value of a text that is JSON from its first to its last character (white space around it is allowed).

    Refused with `NotJson`: NaN and infinities, numbers that a float cannot hold (`1e999`), integers longer than Python
    prints, lone surrogates, a key that appears twice in one object with unequal values, more than `MAX_DEPTH` levels,
    more than `MAX_BYTES` bytes of UTF-8. Nothing else is raised, whatever the text.
    """
    string = _decoded(text) if isinstance(text, bytes) else _sized(text)
    if string.count("[") + string.count("{") > MAX_DEPTH and _nests_too_deep(string):
        raise NotJson("too_deep", f"the JSON nests deeper than {MAX_DEPTH} levels")
    try:
        value = _DECODER.decode(string)
    except json.JSONDecodeError as error:
        raise _explained(string, error) from None
    except NotJson:
        raise
    except ValueError:  # what remains is the interpreter's limit on the digits of an integer
        raise NotJson("too_large", "the JSON holds an integer with too many digits") from None
    if ("\\ud" in string or "\\uD" in string) and _has_surrogate(value):
        raise NotJson("invalid", "a string in the JSON holds half of a surrogate pair")
    return value


def deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and objects nest deeper than `limit` levels in this value; true for one that holds itself."""
    level: list[Any] = [value] if isinstance(value, dict | list | tuple) else []
    for _ in range(limit):
        below: dict[int, Any] = {}
        for each in level:
            for child in each.values() if isinstance(each, dict) else each:
                if isinstance(child, dict | list | tuple):
                    below[id(child)] = child
        if not below:
            return False
        level = list(below.values())
    return bool(level)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal as JSON: 1 equals 1.0, but true is not 1. At most `MAX_DEPTH` levels."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _sized(text: str) -> str:
    """The same text, if it is Unicode and not too long."""
    if len(text) > MAX_BYTES:
        raise _too_large()
    if text.isascii():
        return text
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise NotJson("invalid", "the text holds half of a surrogate pair") from None
    if size > MAX_BYTES:
        raise _too_large()
    return text


def _decoded(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise _too_large()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotJson("invalid", f"the text is not UTF-8 (byte {error.start})") from None


def _too_large() -> NotJson:
    return NotJson("too_large", f"the text is longer than {MAX_BYTES:,} bytes")


# A whole string, or one structural character. A quote that opens and never closes matches alone: the scan ends there,
# because the parser ends there as well. Possessive repeats keep it linear.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}]', re.DOTALL)


def _nests_too_deep(text: str) -> bool:
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif token in "]}":
            depth -= 1
        elif token == '"':
            return False
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        for key, each in pairs:
            if not same(each, value[key]):
                raise NotJson("invalid", f"the key {_shown(key)} appears twice in one object, with unequal values")
    return value


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise NotJson("invalid", f"the number {_shown(text)} is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise NotJson("invalid", f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)


def _has_surrogate(value: Any) -> bool:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            try:
                each.encode()
            except UnicodeEncodeError:
                return True
        elif isinstance(each, dict):
            left.extend(each)
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
    return False


# What the end of a text can hold of a literal, a number or an escape that was cut.
_CUT = re.compile(r"(?:-|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|\.|[eE][+-]?)?")
_CUT_ESCAPE = re.compile(r"\\?u?[0-9a-fA-F]{0,4}")


def _explained(text: str, error: json.JSONDecodeError) -> NotJson:
    """Why this text is no JSON: blank or prose, cut off, or wrong at a place."""
    rest = text[error.pos :].rstrip(" \t\r\n")
    first = text.lstrip(" \t\r\n")
    if not first:
        return NotJson("none", "the text is blank")
    if error.msg.startswith("Unterminated string") or _CUT.fullmatch(rest):
        return NotJson("truncated", "the JSON stops before its end")
    if error.msg.startswith("Invalid \\") and _CUT_ESCAPE.fullmatch(text[error.pos :]):
        return NotJson("truncated", "the JSON stops before its end")
    if error.pos == len(text) - len(first) and error.msg == "Expecting value":
        return NotJson("none", "the text does not begin as JSON")
    said = error.msg.removesuffix(" at")
    return NotJson("invalid", f"not JSON at line {error.lineno}, column {error.colno}: {said[0].lower()}{said[1:]}")


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= 40 else text[:39] + "…", ensure_ascii=False)
