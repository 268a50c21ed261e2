"""The kinds of value that a setting may have: what to write, and how a file or a text of the environment says it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

MOST = 10**12
LONGEST = 4096  # characters of a text
MOST_HOSTS = 1000
LONGEST_HOST = 260
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[\w-]+(?:\.[\w-]+)*)\.?)(?::(?P<port>[0-9]{1,5}))?")


class Unfit(Exception):
    """A value is not of its kind; the message may hold what was probably meant, never the value."""


@dataclass(frozen=True, slots=True)
class Kind:
    """`told` is what to write. `of` gives the setting that a value of a file or of code stands for, `spelt` the value
    that a text of the environment stands for; both raise `Unfit`."""

    told: str
    of: Callable[[Any], Any]
    spelt: Callable[[str], Any] = str


def text(told: str) -> Kind:
    return Kind(told, _text, str.strip)


def folder(told: str) -> Kind:
    return Kind(told, lambda value: _text(os.fspath(value) if isinstance(value, os.PathLike) else value))


def url(told: str) -> Kind:
    return Kind(told, _url, str.strip)


def one_of(*names: str) -> Kind:
    told = f"{', '.join(names[:-1])} or {names[-1]}"
    return Kind(told, partial(_name, names), lambda said: said.strip().lower())


def yes_or_no() -> Kind:
    return Kind("true or false", _yes_or_no, _spelt_yes_or_no)


def whole(told: str, least: int, most: int = MOST) -> Kind:
    def of(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Unfit
        return value

    return Kind(told, of, _spelt_whole)


def number(told: str, fits: Callable[[float], bool]) -> Kind:
    def of(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not -MOST <= value <= MOST:
            raise Unfit
        if not fits(value):
            raise Unfit
        return value

    return Kind(told, of, _spelt_number)


def hosts(told: str) -> Kind:
    return Kind(told, _hosts, lambda said: [each.strip() for each in said.split(",") if each.strip()])


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or not value.isprintable():
        raise Unfit
    return value


def _name(names: tuple[str, ...], value: Any) -> str:
    if value is False and "off" in names:  # how YAML reads a bare `off`
        return "off"
    if isinstance(value, str) and value in names:
        return value
    near = get_close_matches(value[:64].lower(), names, n=1, cutoff=0.6) if isinstance(value, str) else []
    raise Unfit(*near)


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Unfit
    return value


def _spelt_yes_or_no(said: str) -> bool:
    word = said.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise Unfit
    return word in _TRUE


def _spelt_whole(said: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", said):
        raise Unfit
    return int(said)


def _spelt_number(said: str) -> float:
    if not re.fullmatch(r"\s*[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})\s*", said):
        raise Unfit
    value = float(said)
    return int(value) if value.is_integer() and "." not in said else value


def _url(value: Any) -> str:
    said = _text(value).strip()
    try:
        parts = urlsplit(said)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise Unfit from None
    if not is_address or any(each.isspace() for each in said):
        raise Unfit
    return said


def _hosts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset) or len(value) > MOST_HOSTS:
        raise Unfit
    if not all(isinstance(each, str) and len(each) <= LONGEST_HOST and _is_host(each) for each in value):
        raise Unfit
    return tuple(dict.fromkeys(each.lower() for each in value))


def _is_host(said: str) -> bool:
    """Whether this is a name or an address (IPv6 in brackets), alone or with a port."""
    found = _HOST.fullmatch(said)
    if not found or not 0 < int(found["port"] or 1) < 65536:
        return False
    try:
        ip_address(found["six"] or found["name"])
    except ValueError:
        return not found["six"] and not found["name"].rpartition(".")[2].isdigit()  # 300.0.0.1 is no name either
    return True
