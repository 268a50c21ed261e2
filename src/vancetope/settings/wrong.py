"""What is wrong with settings, in one sentence each: where, which key, what to do. None shows a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from vancetope.errors import ConfigError
from vancetope.settings.kinds import MOST, Kind, Unfit

LONGEST_NAME = 60
_SECRET = re.compile(
    r"(?:.*(?:api|access|secret|private|auth))?keys?|.*token|.*(?:secret|password|passwd|passphrase|credentials?)"
    r"|auth|authori[sz]ation|bearer"
)


def fitting(value: Any, kind: Kind, where: str, name: str) -> Any:
    """The setting that a value stands for. Raises `ConfigError` where it is not of this kind."""
    try:
        return kind.of(value)
    except Unfit as error:
        raise unfit(error, kind, where, name) from None


def unfit(error: Unfit, kind: Kind, where: str, name: str = "") -> ConfigError:
    place = f"{where}: {name}" if name else where
    hint = f"; did you mean {error}?" if str(error) else ""
    return ConfigError(f"{place}: expected {kind.told}{hint}")


def mapping(value: Any, where: str, name: str) -> Mapping[Any, Any]:
    """The mapping that stands there; an empty one for null. Raises `ConfigError` for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: {name or 'the top'}: expected a mapping of keys")
    return value


def unknown(key: Any, where: str, prefix: str, here: Iterable[str], elsewhere: Iterable[str] = ()) -> ConfigError:
    """A key that nothing reads: `here` are the keys that its mapping may have, `elsewhere` all dotted names."""
    names, dotted, said = tuple(here), tuple(elsewhere), named(key)
    place = f"{where}: {prefix}{said}"
    if isinstance(key, str) and looks_secret(key) and not get_close_matches(key, names, n=1, cutoff=0.85):
        return ConfigError(f"{place}: {_advice(prefix)}")
    if key in dotted:
        return ConfigError(f"{place}: write it as {_nested(key)}")
    if near := [each for each in names if len(said) > 3 and said.lower() in each.lower()] or get_close_matches(
        said, names, n=1, cutoff=0.6
    ):
        return ConfigError(f"{place}: unknown key; did you mean {near[0]}?")
    leaves = {each.rpartition(".")[2]: each for each in reversed(dotted)}
    if near := get_close_matches(said, leaves, n=1, cutoff=0.75):
        return ConfigError(f"{place}: unknown key; did you mean {leaves[near[0]]}?")
    if near := get_close_matches(said, names, n=1, cutoff=0.5):
        return ConfigError(f"{place}: unknown key; did you mean {near[0]}?")
    return ConfigError(f"{place}: unknown key; known keys are {', '.join(names)}")


def looks_secret(key: str) -> bool:
    """Whether a key of a file is one under which people write secrets."""
    return _SECRET.fullmatch(re.sub(r"[^a-z]", "", key.lower())) is not None


def named(key: Any) -> str:
    """A key as a sentence may show it: short, in one line."""
    if isinstance(key, str):
        said = key if key and key.isprintable() else repr(key)
    else:
        said = (
            repr(key)
            if key is None or isinstance(key, float) or (isinstance(key, int) and abs(key) < MOST)
            else f"a key of type {type(key).__name__}"
        )
    return said if len(said) <= LONGEST_NAME else f"{said[: LONGEST_NAME - 1]}…"


def _advice(prefix: str) -> str:
    no = "a secret does not belong in a file"
    if prefix.startswith("servers."):
        return f"{no}; set it in the environment, or its file in NAME_FILE, and write keyVariable: NAME"
    example = "BRAVE_API_KEY" if prefix == "search." else "OPENAI_API_KEY"
    return f"{no}; set it in the environment, for example {example}, or its file in {example}_FILE"


def _nested(dotted: str) -> str:
    *groups, leaf = dotted.split(".")
    return "".join(f"{each}: {{" for each in groups) + f"{leaf}: ..." + "}" * len(groups)
