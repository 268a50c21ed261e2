"""What a tool returned, as the text that a model reads."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from enum import Enum
from functools import cache
from typing import Any

from vancetope import sentences

DONE = "done"


def text_of(value: Any) -> str:
    """Text as it is; `None` as "done"; numbers as Python prints them, true and false as JSON does; an enum's member as
    its value; bytes as UTF-8, what is none replaced; dicts, lists, dataclasses, pydantic models as compact JSON; the
    rest by `str`. Raises `TypeError` for a generator and other iterators without a text: they have no end to rely on.
    """
    if isinstance(value, str):
        return str(value)
    if value is None:
        return DONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="replace")
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Enum):
        return text_of(value.value)
    if isinstance(value, Iterator | AsyncIterator) and type(value).__str__ is object.__str__:
        raise TypeError(sentences.NO_RESULT.format(kind=type(value).__name__))
    return _json(value)


def printable(text: str) -> str:
    """The text without NUL, and with each half of a surrogate pair replaced: what UTF-8 and databases can hold.

    The same object where there is nothing to replace, as almost always.
    """
    if "\0" in text:
        text = text.replace("\0", "\N{SYMBOL FOR NULL}")
    if text.isascii() or not _has_surrogate(text):
        return text
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


_SURROGATE = re.compile("[\ud800-\udfff]")
_STEP = 1 << 20


def _has_surrogate(text: str) -> bool:
    """Whether UTF-8 cannot hold this text; in steps, so that a large text is never there twice."""
    try:
        for start in range(0, len(text), _STEP):
            text[start : start + _STEP].encode()
    except UnicodeEncodeError:
        return True
    return False


def _json(value: Any) -> str:
    if not _is_structured(value):
        return str(value)
    try:
        text: bytes = _anything().dump_json(value, fallback=str)
        return text.decode()
    except (ValueError, RecursionError):  # it holds itself, or half a surrogate pair
        return str(value)


@cache
def _anything() -> Any:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(Any, config=ConfigDict(ser_json_bytes="base64", ser_json_inf_nan="strings"))


def _is_structured(value: Any) -> bool:
    return (
        isinstance(value, dict | list | tuple | set | frozenset)
        or hasattr(value, "__dataclass_fields__")
        or hasattr(value, "__pydantic_serializer__")
    )
