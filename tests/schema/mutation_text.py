"""JSON values as tokens, and replies as drafts that mutations change before they are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, Literal, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
Kind: TypeAlias = Literal["open", "close", "colon", "comma", "key", "string", "number", "word", "comment", "raw"]
Layout: TypeAlias = Literal["compact", "spaced", "pretty"]
RESET = "\x1b[0m"  # what ends a colour
LAYOUTS: tuple[Layout, ...] = ("compact", "spaced", "pretty")


@dataclass(frozen=True)
class Instance:
    """A schema and a value that fits it; `own` if both are ours."""

    id: str
    schema: Mapping[str, Any]
    value: Any
    own: bool = True

    def fits(self, value: Any) -> bool:
        """Whether a value fits the schema, by the validator itself and not by our code."""
        return bool(self._validator.is_valid(value))

    @cached_property
    def permissive(self) -> bool:
        """Whether the schema takes an object, or a list, of nearly anything: then only strict JSON may be accepted,
        alone or in a fence."""
        odd: list[Any] = [{}, {"q7": 0}, {"q7": "x"}] if isinstance(self.value, dict) else [["q7"], [{"q7": 0}]]
        return any(map(self.fits, odd))

    @cached_property
    def _validator(self) -> Any:
        import jsonschema_rs

        return jsonschema_rs.validator_for(dict(self.schema), offline=True, validate_formats=False)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of JSON. `path` is that of the value it belongs to; of the member for a key and a colon, of the
    container for a comma. `value` is what a key or a scalar means; for a comment, whether it has a line of its own."""

    kind: Kind
    text: str
    path: Path
    value: Any = None


Tokens: TypeAlias = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply before it is written: `front`, `before`, `label`, the object (in a fence or not), `after`."""

    instance: Instance
    tokens: Tokens
    layout: Layout
    space: str = " "
    newline: str = "\n"
    fence: tuple[str, str] = ("", "")
    front: str = ""
    before: str = ""
    label: str = ""
    after: str = ""
    strict: bool = True  # the object is still JSON as it stands
    doubtful: bool = False  # to refuse it is right too
    bare: bool = True  # nothing but the object, a fence around it, and what the transport or the thinking put there
    recipe: tuple[str, ...] = field(default=(), compare=False)


def tokens(value: Any, *, ascii_only: bool = False, path: Path = ()) -> Iterator[Token]:
    """The tokens of a JSON value, as the standard library writes them."""
    if isinstance(value, dict):
        yield Token("open", "{", path)
        for index, (key, each) in enumerate(value.items()):
            if index:
                yield Token("comma", ",", path)
            yield Token("key", json.dumps(key, ensure_ascii=ascii_only), (*path, key), key)
            yield Token("colon", ":", (*path, key))
            yield from tokens(each, ascii_only=ascii_only, path=(*path, key))
        yield Token("close", "}", path)
    elif isinstance(value, list):
        yield Token("open", "[", path)
        for index, each in enumerate(value):
            if index:
                yield Token("comma", ",", path)
            yield from tokens(each, ascii_only=ascii_only, path=(*path, index))
        yield Token("close", "]", path)
    else:
        kind: Kind = "word" if value is None or isinstance(value, bool) else "number"
        text = json.dumps(value, ensure_ascii=ascii_only)
        yield Token("string" if isinstance(value, str) else kind, text, path, value)


def draft_of(instance: Instance, random: Random) -> Draft:
    """The plain reply: strict JSON in one of the usual layouts."""
    ascii_only = random.random() < 0.2
    return Draft(instance, tuple(tokens(instance.value, ascii_only=ascii_only)), random.choice(LAYOUTS))


def written_object(draft: Draft) -> str:
    """The object alone."""
    pieces: list[str] = []
    depth = 0
    last: Token | None = None
    for token in draft.tokens:
        depth -= token.kind == "close"
        gap = _gap(last, token, depth, draft.layout)
        pieces += [gap.replace(" ", draft.space), token.text]
        depth += token.kind == "open"
        last = token
    return "".join(pieces)


def written(draft: Draft) -> str:
    """The whole reply."""
    opening, closing = draft.fence
    core = f"{opening}{written_object(draft)}{closing}"
    text = f"{draft.front}{draft.before}{draft.label}{core}{draft.after}"
    return text.replace("\n", draft.newline)


def end_of_content(draft: Draft) -> int:
    """Where in the written reply the last token ends that is more than a closing bracket, a comma or a comment."""
    head = f"{draft.front}{draft.before}{draft.label}{draft.fence[0]}"
    kept = list(draft.tokens)
    while kept[-1].kind in ("close", "comma", "comment"):
        kept.pop()
    core = written_object(replace(draft, tokens=tuple(kept))).removesuffix(RESET)
    start = (head + core).replace("\n", draft.newline)
    assert written(draft).startswith(start)
    return len(start)


def _gap(last: Token | None, token: Token, depth: int, layout: Layout) -> str:
    if last is None:
        return ""
    line = "\n" + "  " * depth
    if last.kind == "comment":
        ends_line = not last.text.endswith("*/")
        if layout != "pretty" and not ends_line:
            return " "
        return line if ends_line or token.kind not in ("comma", "colon") else ""
    if token.kind == "comment":
        return line if layout == "pretty" and (last.kind == "open" or token.value) else " "
    if layout == "compact" or token.kind in ("comma", "colon"):
        return ""
    if layout == "spaced":
        return " " if last.kind in ("comma", "colon") else ""
    if last.kind == "colon":
        return " "
    if last.kind == "open" and token.kind == "close":
        return ""
    return line if last.kind in ("open", "comma") or token.kind in ("close", "key") else ""


def span(sequence: Sequence[Token], path: Path) -> tuple[int, int]:
    """First and last index + 1 of the tokens of the value at this path, without its key."""
    first = next(i for i, each in enumerate(sequence) if each.path == path and each.kind not in ("key", "colon"))
    if sequence[first].kind != "open":
        return first, first + 1
    end = next(i for i in range(first, len(sequence)) if sequence[i].path == path and sequence[i].kind == "close")
    return first, end + 1


def put(draft: Draft, first: int, end: int, *new: Token) -> Draft:
    """The draft with these tokens in place of those from `first` to before `end`."""
    return replace(draft, tokens=(*draft.tokens[:first], *new, *draft.tokens[end:]))


def each_token(draft: Draft, change: Callable[[Token], Token]) -> Draft:
    return replace(draft, tokens=tuple(map(change, draft.tokens)))


def containers(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every object and list in a value, with its path."""
    if isinstance(value, dict | list):
        yield path, value
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from containers(each, (*path, key))


def scalars(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every string, number and word in a value, with its path."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from scalars(each, (*path, key))
    else:
        yield path, value


def exact(one: Any, other: Any) -> bool:
    """Whether two values are equal, types included: 1, 1.0 and true are three values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(exact(each, other[key]) for key, each in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(exact, one, other))
    return bool(one == other)
