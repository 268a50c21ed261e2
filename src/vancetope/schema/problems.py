"""What is wrong with a value, in words a model can act on: where, what was expected, what was found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import unquote

MAX_PROBLEMS = 8
MAX_SENTENCE = 1_500


@dataclass(frozen=True, slots=True)
class Problem:
    """One way in which a value does not fit its schema.

    `pointer` is a JSON pointer into the value ("" for the whole), for a missing or forbidden key that key's own;
    `keyword` the schema keyword that failed; `expected` and `found` are short phrases, never the whole value.
    """

    pointer: str
    keyword: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.pointer or 'the value'}: {self.found}; expected {self.expected}"


def sentence(problems: Sequence[Problem]) -> str:
    """The problems, a line each, in at most `MAX_SENTENCE` characters; lines that do not fit are counted."""
    lines: list[str] = []
    room = MAX_SENTENCE - len("... and 99999 more")
    for problem in problems:
        line = str(problem)
        if lines and len(line) > room:
            lines.append(f"... and {len(problems) - len(lines)} more")
            break
        lines.append(_cut(line, room))
        room -= len(lines[-1]) + 1
    return "\n".join(lines)


def described(errors: Iterable[Any], schema: Any) -> tuple[Problem, ...]:
    """The first `MAX_PROBLEMS` different problems of these errors of the validator, made with this schema."""
    found: dict[Problem, None] = {}
    for problem in (problem for error in errors for problem in _problems(error, schema)):
        found[problem] = None
        if len(found) == MAX_PROBLEMS:
            break
    return tuple(found)


def pointer_of(path: Iterable[str | int]) -> str:
    """The JSON pointer of a path, cut where it is longer than 200 characters."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return _cut("".join(f"/{step}" for step in steps), 200)


def shown(value: Any) -> str:
    """A few words for a JSON value."""
    if isinstance(value, str):
        return json.dumps(_cut(value, 40), ensure_ascii=False)
    if isinstance(value, dict):
        return f"an object with the {_keys(value)}" if value else "an empty object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    try:
        return _cut(str(value), 40)
    except ValueError:  # more digits than the interpreter prints
        return "a very long number"


_NAMED = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def wanted(schema: Any, root: Any, hops: int = 8) -> str:
    """A few words for what a schema wants, as far as a glance tells; "a value" where it does not."""
    if not isinstance(schema, Mapping) or hops == 0:
        return "a value"
    root = resource(schema, root)
    if isinstance(target := schema.get("$ref"), str) and target.startswith("#"):
        return wanted(resolved(root, target), root, hops - 1)
    if "const" in schema:
        return shown(schema["const"])
    if isinstance(options := schema.get("enum"), list):
        return _one_of(options)
    if isinstance(kinds := schema.get("type"), str | list):
        return _types([kinds] if isinstance(kinds, str) else kinds)
    for union in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(union), list):
            return _cut(" or ".join(dict.fromkeys(wanted(each, root, hops - 1) for each in branches)), 200)
    return "a value"


def resolved(root: Any, reference: str) -> Any:
    """What a local reference (`#` or `#/...`) names in the schema `root`; null where it names nothing, and where only
    the validator knows what it names (an anchor, a way through a schema with an `$id` of its own)."""
    if reference not in ("", "#") and not reference.startswith("#/"):
        return None
    at = root
    for step in steps_of(reference):
        if at is not root and resource(at, root) is at:
            return None
        at = _child(at, step)
    return at


def steps_of(reference: str) -> tuple[str, ...]:
    """The steps of a local reference `#/...`."""
    steps = unquote(reference.removeprefix("#")).split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def resource(schema: Any, root: Any) -> Any:
    """What the local references in this schema start from: the schema itself where it has an `$id`, else `root`."""
    name = schema.get("$id", schema.get("id")) if isinstance(schema, Mapping) else None
    return schema if isinstance(name, str) and not name.startswith("#") else root


def _child(at: Any, step: str | int) -> Any:
    if isinstance(at, Mapping):
        return at.get(str(step))
    if isinstance(at, list) and str(step).isdecimal() and int(step) < len(at):
        return at[int(step)]
    return None


def _problems(error: Any, root: Any) -> Iterator[Problem]:
    """One error of the validator as one problem, or several where it names several keys or a union's branch."""
    kind, at = error.kind, list(error.instance_path)
    keyword = kind.name
    if hasattr(kind, "context"):
        yield from _union(error, root)
    elif keyword == "unevaluatedItems":
        yield Problem(pointer_of(at), keyword, "no further items", shown(error.instance))
    elif hasattr(kind, "unexpected"):
        for each in kind.unexpected:
            yield Problem(pointer_of([*at, each]), keyword, _only(_parent(error, root)), "not allowed")
    elif hasattr(kind, "property"):
        properties = _child(_parent(error, root), "properties")
        expected = wanted(_child(properties, kind.property), root)
        yield Problem(pointer_of([*at, kind.property]), keyword, expected, "missing")
    elif keyword == "propertyNames":
        for problem in _problems(kind.error, root):
            yield Problem(pointer_of(at), keyword, f"{problem.expected} as a key", f"the key {problem.found}")
    else:
        yield Problem(pointer_of(at), keyword, _expected(kind), shown(error.instance))


def _union(error: Any, root: Any) -> Iterator[Problem]:
    """The problems of the branch that the value came nearest to; the types wanted where it is near to none."""
    branches, at = error.kind.context, list(error.instance_path)
    keyword = error.kind.name
    failed = [branch for branch in branches if branch]
    if not failed:
        many = f"a value that fits only one of {len(branches)} alternatives"
        yield Problem(pointer_of(at), keyword, many, f"{shown(error.instance)}, which fits several")
        return
    nearest = min(failed, key=lambda branch: _distance(branch, at))
    if _distance(nearest, at)[0]:
        alternatives = _child(_parent(error, root), keyword)
        expected = wanted({"anyOf": alternatives}, root)
        yield Problem(pointer_of(at), keyword, expected, shown(error.instance))
        return
    for each in nearest:
        for problem in _problems(each, root):
            near = problem.expected if "(nearest of" in problem.expected else _near(problem.expected, len(branches))
            yield Problem(problem.pointer, keyword, near, problem.found)


def _near(expected: str, count: int) -> str:
    return f"{expected} (nearest of {count} alternatives)"


def _distance(branch: Sequence[Any], at: list[str | int]) -> tuple[bool, int, int]:
    """How far a value is from a branch: not of its type at all, then tags that differ, then the number of errors."""
    wrong_type = any(each.kind.name in ("type", "falseSchema") and list(each.instance_path) == at for each in branch)
    wrong_value = any(each.kind.name in ("const", "enum") and list(each.instance_path) == at for each in branch)
    tags = sum(each.kind.name in ("const", "enum") for each in branch)
    return (wrong_type or wrong_value, tags, len(branch))


def _parent(error: Any, root: Any) -> Any:
    """The schema object whose keyword failed; null where that is unsure: behind a reference the validator counts from
    the nearest `$id`, which need not be the root's."""
    path = list(error.schema_path)
    if path != list(error.evaluation_path) and _has_resources(root):
        return None
    at = root
    for step in path[:-1]:
        at = _child(at, step)
    return at


def _has_resources(root: Any) -> bool:
    """Whether a schema with an `$id` of its own stands inside this one."""
    left = [root]
    while left:
        each = left.pop()
        if each is not root and resource(each, root) is each:
            return True
        if isinstance(each, Mapping | list):
            left.extend(each.values() if isinstance(each, Mapping) else each)
    return False


_BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
    "maxProperties": "at most {} keys",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "format": "a string of the format {}",
    "pattern": "a string that matches {}",
    "contentEncoding": "a string encoded as {}",
    "contentMediaType": "a string of the type {}",
    "additionalItems": "at most {} items",
}


# What the engine says in place of a pattern where trying it would have taken too long.
_GAVE_UP = "Error executing regex"


def _expected(kind: Any) -> str:
    keyword, value = kind.name, kind.value
    if keyword == "pattern" and str(value).startswith(_GAVE_UP):
        return "a string that matches its pattern, which could not be tried to the end"
    if keyword in _BOUNDS:
        phrase = _BOUNDS[keyword].format(_cut(str(value), 120))
        return phrase.removesuffix("s") if value == 1 else phrase
    if keyword == "type":
        return _types(kind.types)
    if keyword == "enum":
        return _one_of(kind.options)
    if keyword == "const":
        return shown(kind.expected_value)
    if keyword == "uniqueItems":
        return "a list in which nothing appears twice"
    if keyword == "contains":
        return "a list with an item that fits 'contains'"
    if keyword == "falseSchema":
        return "nothing here"
    if keyword == "not":
        return "a value that does not fit the schema under 'not'"
    return f"a value that fits '{keyword}'"


def _types(types: Iterable[str]) -> str:
    return " or ".join(_NAMED.get(each, str(each)) for each in types)


def _one_of(options: Sequence[Any]) -> str:
    if len(options) == 1:
        return shown(options[0])
    return _cut("one of " + ", ".join(shown(each) for each in options), 200)


def _only(schema: Any) -> str:
    known = _child(schema, "properties")
    return f"only the {_keys(known)}" if isinstance(known, Mapping) and known else "no such key"


def _keys(names: Iterable[str]) -> str:
    listed = list(islice(names, 13))
    text = ", ".join(_cut(str(each), 40) for each in listed[:12])
    return ("key " if len(listed) == 1 else "keys ") + text + (", ..." if len(listed) == 13 else "")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
