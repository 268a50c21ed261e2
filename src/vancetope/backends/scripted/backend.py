"""The scripted backend itself: answers one by one, streamed in any chunking."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, TypeAlias

from vancetope.backends.base import CallPiece, OnPiece, Piece, Request, Restarted, TextPiece, ThinkingPiece
from vancetope.backends.scripted.replies import Answer, Staged, as_action, as_envelope, json_text, staged_of
from vancetope.errors import ConfigError
from vancetope.messages import Assistant, Reply, Usage, User, text_of

CHARACTERS_PER_TOKEN = 4

Script: TypeAlias = Iterable[Answer] | Callable[[Request], Answer | Awaitable[Answer]]
Chunking: TypeAlias = int | Callable[[str], Sequence[str]]


class ScriptExhausted(ConfigError):
    """The scripted model has no reply left."""


def random_chunks(seed: int, longest: int = 7) -> Callable[[str], Sequence[str]]:
    """A chunking with pieces of 1 to `longest` characters, the same for the same seed."""
    chance = random.Random(seed)

    def chunk(text: str) -> list[str]:
        pieces: list[str] = []
        while text:
            size = chance.randint(1, longest)
            pieces.append(text[:size])
            text = text[size:]
        return pieces

    return chunk


def _told(request: Request) -> None:
    if request.on_send:
        request.on_send()


@dataclass(slots=True)
class ScriptedBackend:
    """A `Backend` that answers from a script.

    `chunking` is the size of streamed pieces, or a function that splits a text into them. With `follow_form`, a reply
    that is one call is given as an action text where the request asks for JSON by `response_schema`, and every reply as
    an envelope where it asks for that, so that one script serves all enforcements. Raises `ScriptExhausted` where the
    list has no answer left.
    """

    script: Script
    chunking: Chunking = 3
    follow_form: bool = False
    requests: list[Request] = field(default_factory=list, init=False)
    closed: bool = field(default=False, init=False)
    _left: list[Answer] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.chunking, int) and self.chunking < 1:
            raise ConfigError(f"a chunk has at least 1 character, not {self.chunking}")
        if not callable(self.script):
            self._left = list(self.script)

    @property
    def left(self) -> int:
        """How many answers of the list have not been asked for."""
        return len(self._left)

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        self.requests.append(request)
        _told(request)
        answer = await self._answer(request)
        if isinstance(answer, Exception):
            raise answer
        staged = staged_of(answer)
        reply = staged.reply
        if self.follow_form and request.response_schema is not None:
            reply = as_action(reply)
        elif self.follow_form and request.envelope:
            reply = as_envelope(reply)
        pieces = list(pieces_of(reply, self.chunking)) if on_piece is not None else []
        requests = reply.requests
        if on_piece is not None and staged.restart_after is not None:
            await _tell(pieces[: staged.restart_after], on_piece)
            on_piece(Restarted())
            requests += 1
            _told(request)
        await _play(staged, pieces, on_piece)
        return _filled(replace(reply, requests=requests), request)

    async def aclose(self) -> None:
        self.closed = True

    async def _answer(self, request: Request) -> Answer:
        if callable(self.script):
            given = self.script(request)
            return await given if isawaitable(given) else given
        if not self._left:
            used = len(self.requests) - 1
            raise ScriptExhausted(
                f"the scripted model has used all its {used} replies and was asked once more: {_asked(request)}"
            )
        return self._left.pop(0)


def pieces_of(reply: Reply, chunking: Chunking = 3) -> Iterator[Piece]:
    """The reply as a stream tells it: thinking, then text, then each call, its name in its first piece."""
    yield from (ThinkingPiece(chunk) for chunk in _chunks(reply.thinking, chunking))
    yield from (TextPiece(chunk) for chunk in _chunks(reply.text, chunking))
    for index, each in enumerate(reply.calls):
        first, *rest = _chunks(each.arguments, chunking) or [""]
        yield CallPiece(index, each.name, first)
        yield from (CallPiece(index, "", chunk) for chunk in rest)


async def _play(staged: Staged, pieces: list[Piece], on_piece: OnPiece | None) -> None:
    """Tell the pieces, waiting and failing where the script says so."""
    gate_at = min(staged.gate_after, len(pieces)) if staged.gate else None
    error_at = min(staged.error_after, len(pieces)) if staged.error else None
    for position in range(len(pieces) + 1):
        if staged.gate is not None and position == gate_at:
            await staged.gate.wait()
        if staged.error is not None and position == error_at:
            raise staged.error
        if on_piece is not None and position < len(pieces):
            await _tell(pieces[position : position + 1], on_piece)


async def _tell(pieces: Sequence[Piece], on_piece: OnPiece) -> None:
    for piece in pieces:
        on_piece(piece)
        await asyncio.sleep(0)  # as a network would: others run between two pieces


def _chunks(text: str, chunking: Chunking) -> list[str]:
    if isinstance(chunking, int):
        return [text[start : start + chunking] for start in range(0, len(text), chunking)]
    pieces = list(chunking(text)) if text else []
    if "".join(pieces) != text:
        raise ConfigError("the chunking function gave pieces that do not join to the text it was given")
    return pieces


def _filled(reply: Reply, request: Request) -> Reply:
    """The reply with usage, limit and model where the script left them out."""
    usage = reply.usage
    if usage == Usage():
        asked = len(request.system) + sum(_length(message) for message in request.messages)
        asked += sum(
            len(each.name) + len(each.description) + len(json_text(dict(each.parameters))) for each in request.tools
        )
        said = len(reply.text) + sum(len(each.name) + len(each.arguments) for each in reply.calls)
        thought = len(reply.thinking) // CHARACTERS_PER_TOKEN
        usage = Usage(
            input_tokens=max(1, asked // CHARACTERS_PER_TOKEN),
            output_tokens=said // CHARACTERS_PER_TOKEN + thought,
            thinking_tokens=thought,
            estimated=True,
        )
    limit = reply.limit if reply.limit is not None else request.settings.max_tokens
    return replace(reply, usage=usage, limit=limit, model=reply.model or request.model)


def _length(message: Any) -> int:
    match message:
        case User(content=content):
            return len(text_of(content))
        case Assistant(text=text, calls=made):
            return len(text) + sum(len(each.name) + len(each.arguments) for each in made)
        case _:
            return len(message.text)


def _asked(request: Request) -> str:
    if not request.messages:
        return "a request without messages"
    last = request.messages[-1]
    text = text_of(last.content) if isinstance(last, User) else last.text
    return f"the last message is of kind {last.kind!r} and reads {text if len(text) <= 120 else text[:119] + '…'!r}"
