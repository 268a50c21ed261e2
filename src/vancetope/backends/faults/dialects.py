"""The dialects of the server: what each makes of requests, replies and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vancetope.backends.faults import anthropic, gemini, openai
from vancetope.backends.faults.asked import Asked, DialectName
from vancetope.backends.faults.wire import Told, Wire
from vancetope.messages import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one provider's API is spoken.

    `reads` knows its paths, `form` reads a request (body, path) as a chat in OpenAI's format. `whole` and `stream` are
    a reply as one object and as the objects of a stream, `framed` is such an object on the wire, `end` what ends a
    stream, `late` what may come behind that. `error` is an error object of a status, a sentence, and the seconds to
    wait; `models` the list of models.
    """

    name: DialectName
    reads: Callable[[str], bool]
    form: Callable[[Mapping[str, Any], str], Mapping[str, Any]]
    whole: Callable[[Reply, Asked, Wire], dict[str, Any]]
    stream: Callable[[Reply, Asked, Wire], Iterator[Told]]
    framed: Callable[[Mapping[str, Any], Wire], bytes]
    end: Callable[[Wire], bytes]
    late: Callable[[Wire], bytes]
    error: Callable[[int, str, float | None], dict[str, Any]]
    models: Callable[[tuple[str, ...]], dict[str, Any]]


OPENAI = Dialect(
    name="openai",
    reads=openai.reads,
    form=openai.form,
    whole=openai.whole,
    stream=openai.stream,
    framed=openai.framed,
    end=openai.end,
    late=openai.late,
    error=openai.error,
    models=openai.models,
)
ANTHROPIC = Dialect(
    name="anthropic",
    reads=anthropic.reads,
    form=anthropic.form,
    whole=anthropic.whole,
    stream=anthropic.stream,
    framed=anthropic.framed,
    end=anthropic.end,
    late=anthropic.late,
    error=anthropic.error,
    models=anthropic.models,
)
GEMINI = Dialect(
    name="gemini",
    reads=gemini.reads,
    form=gemini.form,
    whole=gemini.whole,
    stream=gemini.stream,
    framed=gemini.framed,
    end=gemini.end,
    late=gemini.late,
    error=gemini.error,
    models=gemini.models,
)
DIALECTS: Mapping[DialectName, Dialect] = {each.name: each for each in (OPENAI, ANTHROPIC, GEMINI)}


def dialect_of(asked: Asked) -> Dialect:
    """The dialect in which this was asked."""
    return DIALECTS[asked.dialect]


def dialect_at(path: str) -> Dialect | None:
    """The dialect that is spoken at this path."""
    return next((each for each in DIALECTS.values() if each.reads(path)), None)
