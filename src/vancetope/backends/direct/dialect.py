"""What differs between the APIs behind the library: the values and the protocol that the client drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from vancetope.backends.base import Request
from vancetope.backends.direct.carried import Piece
from vancetope.backends.direct.extras import Kind, Layer
from vancetope.backends.openai.profiles import Profile
from vancetope.messages import Call, Finish, Usage

Event: TypeAlias = tuple[str, Mapping[str, Any]]
"""An event of a stream: its name, empty if the API names none, and its JSON value."""


class NoReply(ValueError):
    """The JSON is no answer of this API."""


class Failure(Exception):
    """The answer is a failure that the server reports in what had begun as a good one."""

    def __init__(self, error: object) -> None:
        super().__init__("the server reports a failure")
        self.error = error


@dataclass(slots=True)
class Notes:
    """What an answer says that the library drops, renames, or would stumble over.

    `finish` is the server's own word, `blocked` its reason for not answering at all, `refusal` why the model refused.
    `usage` are the server's counts, `odd` the arguments that are no JSON object by the number of their call, as text,
    `parsed` the calls whose arguments the server gave as an object, not as the text that the model wrote.
    `places` are the parts of a stream that are being written, by the server's own number for them; `parts` is how many
    there were. `open` are the calls among them: their number, and what stands for them if nothing follows.
    `complete`: the server said that it was through; `done`: nothing more can come. `characters` is how much came.
    """

    finish: str = ""
    blocked: str = ""
    refusal: str = ""
    model: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    odd: dict[int, str] = field(default_factory=dict)
    parsed: set[int] = field(default_factory=set)
    calls: int = 0
    begun: bool = False
    parts: int = 0
    places: dict[int, int] = field(default_factory=dict)
    open: dict[int, tuple[int, list[dict[str, Any]]]] = field(default_factory=dict)
    characters: int = 0
    complete: bool = False
    done: bool = False

    def count(self, counts: object) -> None:
        """Take the server's counts over; a later null or zero takes none back that was there."""
        self.usage |= {name: value for name, value in record(counts).items() if value or name not in self.usage}


class Dialect(Protocol):
    """One API. `system` is the library's name for it, `conversation` the member of a request that holds the messages,
    `model_role` the role of the model in it, `versions` a pattern of the
    paths that a base URL may end in and need not."""

    @property
    def kind(self) -> Kind: ...
    @property
    def system(self) -> str: ...
    @property
    def conversation(self) -> str: ...
    @property
    def model_role(self) -> str: ...
    @property
    def versions(self) -> str: ...
    @property
    def profile(self) -> Profile: ...

    @property
    def ours(self) -> frozenset[str]:
        """The members of `settings.extra` that are meant for us and are no part of the body."""
        ...

    def load(self) -> Layer: ...

    def headers(self, key: str, made: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        """The headers for one request beside the common ones; `made` are the library's."""
        ...

    def settings(self, request: Request, model: Any) -> dict[str, Any]:
        """The library's settings for a request to its model."""
        ...

    def patched(self, body: dict[str, Any], messages: list[bytes], request: Request, model: Any) -> dict[str, Any]:
        """The body that the library made, the messages left out, with what it has no word for. They go along as JSON,
        those of one speaker after another."""
        ...

    def messages(self, made: Sequence[Any]) -> Sequence[Any]:
        """The messages that the library made, as the API spells them."""
        ...

    def fitted(self, messages: list[bytes], body: Mapping[str, Any], request: Request, model: Any) -> list[bytes]:
        """The messages as this body wants them: without what it rules out, with marks for the API's cache if it takes
        any."""
        ...

    def limit(self, body: Mapping[str, Any]) -> int | None: ...

    def answer(self, data: Any, notes: Notes) -> Mapping[str, Any]:
        """A whole answer so that the library can read it. Raises `NoReply` and `Failure`."""
        ...

    def events(self, data: Any, notes: Notes) -> Sequence[Event]:
        """A whole answer as the events of a stream. Raises `NoReply` and `Failure`."""
        ...

    def event(self, name: str, data: Any, notes: Notes) -> Sequence[Event]:
        """One event of a stream so that the library can read it. Raises `Failure`."""
        ...

    def told(self, pieces: Sequence[Piece], calls: Sequence[Call], notes: Notes) -> dict[str, Any]:
        """A streamed answer as it would have come whole, to be shown."""
        ...

    def finish(self, notes: Notes, calls: bool) -> tuple[Finish, bool | None]:
        """Why the model stopped, and what that says of the turn."""
        ...

    def usage(self, counts: Mapping[str, Any], asked: int, written: int) -> Usage: ...


def text(value: object) -> str:
    """The value if it is a text, else nothing."""
    return value if isinstance(value, str) else ""


def record(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with these members: objects are merged, null takes a member out, anything else takes its place."""
    whole = dict(body)
    for name, value in extra.items():
        if value is None:
            whole.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(inner := whole.get(name), Mapping):
            whole[name] = merged(inner, value)
        else:
            whole[name] = value
    return whole
