"""Where the schema of a question comes from: a file, standard input, or a class in a module."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from vancetope.cli.clean import one_line
from vancetope.cli.inputs import read_stdin
from vancetope.cli.trouble import Refused

STDIN = "-"
MOST_VALUES = 100_000
_YAML = (".yaml", ".yml")
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_NAMED = re.compile(rf"({_DOTTED}):({_DOTTED})")


def schema_from(said: str) -> Any:
    """The schema that `--schema` names: the value in a JSON or YAML file (any value, whether it is a schema is not
    asked here), with `-` in standard input, or the class or mapping that `module:Name` names.

    A file of that very name comes before a module. Raises `Refused` in one sentence for whatever cannot be had.
    """
    if said == STDIN:
        return _json(read_stdin().encode(), "standard input")
    named = _NAMED.fullmatch(said)
    if named and not os.path.exists(said):  # noqa: PTH110 (it never fails, Path.exists does)
        return _object(*named.groups())
    if said.lower().endswith(_YAML):
        from vancetope.strict_yaml import read

        return _plain(read(Path(said), "--schema:"), said)
    return _json(_content(said), said)


def _content(path: str) -> bytes:
    """What is in a file, as far as a schema may be long."""
    from vancetope.schema.strict import MAX_BYTES

    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        hint = "" if os.sep in path or "." in path else "; a class is named module:Class"
        raise Refused(f"--schema: {path} cannot be read: {error.strerror}{hint}") from None
    except OSError as error:
        raise Refused(f"--schema: {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise Refused(f"--schema: {path!r} cannot be read: no file has such a name") from None


def _json(data: bytes, where: str) -> Any:
    from vancetope.schema.strict import NotJson, parse

    try:
        return parse(data.removeprefix(b"\xef\xbb\xbf"))
    except NotJson as error:
        raise Refused(f"--schema: {where}: {error}") from None


def _plain(value: Any, where: str) -> Any:
    """The same value, once it is sure that JSON can hold it: YAML reads dates, and names such as `on` and `1`, as other
    values than texts, and its aliases can make much of little."""
    left, seen = [("", value)], 0
    while left:
        at, each = left.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise Refused(f"--schema: {where}: it holds more than {MOST_VALUES:,} values")
        if isinstance(each, dict):
            for key, inner in each.items():
                if not isinstance(key, str):
                    raise Refused(f"--schema: {where}: the key {key!r} at {at or 'the top'} is no text; quote it")
                left.append((f"{at}/{key}", inner))
        elif isinstance(each, list):
            left += [(f"{at}/{index}", inner) for index, inner in enumerate(each)]
        elif not isinstance(each, str | int | float | None):
            kind = type(each).__name__
            raise Refused(
                f"--schema: {where}: the value at {at or 'the top'} is a {kind}, which JSON has not; quote it"
            )
    return value


def _object(module: str, path: str) -> Any:
    """What a module calls by this name, if a schema can be made of it."""
    found: Any = _imported(module)
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            near = get_close_matches(name, _classes(found), n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise Refused(f"--schema: there is no {path} in {module}{hint}") from None
    if not isinstance(found, type | Mapping):
        raise Refused(f"--schema: {module}:{path} is of type {type(found).__name__}; name a class")
    return found


def _imported(module: str) -> ModuleType:
    """The module, also from the current folder. Whatever happens while it is loaded is its author's to mend."""
    with suppress(OSError):  # a folder that is gone holds no module
        here = os.getcwd()  # noqa: PTH109 (sys.path holds texts)
        if not sys.flags.safe_path and sys.path[:1] != [here]:
            sys.path.insert(0, here)
    try:
        return import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{module}.".startswith(f"{missing}."):
            raise Refused(f"--schema: there is no module {missing}, and no file of that name") from None
        why = one_line(f"{type(error).__name__}: {error}".removesuffix(": "), 300)
        raise Refused(f"--schema: the module {module} cannot be imported: {why}") from None


def _classes(found: Any) -> list[str]:
    return [name for name, value in getattr(found, "__dict__", {}).items() if isinstance(value, type)]
