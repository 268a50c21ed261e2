"""One attempt under the library: its request as it goes out, its answer as it comes in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx

from vancetope.backends.base import Request
from vancetope.backends.direct.dialect import Dialect, Event, Failure, NoReply, Notes, merged
from vancetope.backends.direct.failures import failed, failed_inside, not_json
from vancetope.backends.direct.splice import Plan, Written, spliced
from vancetope.backends.openai.bodies import LARGEST_FAILURE, beginning, capped, opened, text_of
from vancetope.backends.openai.course import AFTER_DONE, AFTER_FINISH
from vancetope.backends.openai.failures import Where, broken, lost, said_in
from vancetope.backends.openai.mask import mask
from vancetope.backends.openai.pool import Origin, Pool
from vancetope.backends.openai.sse import DONE, EventReader, values
from vancetope.backends.openai.wire import encoded
from vancetope.backends.resilience import Course
from vancetope.errors import ConfigError, ModelError, VancetopeError

# Of Unicode, beside those that JSON escapes anyway: the libraries would end a line there.
LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}

MARGIN = 0.05  # seconds before the deadline in which a reply that is whole is given


class Stopped(Exception):
    """The library is told that nothing comes; the passage knows why."""


@dataclass(slots=True)
class Passage:
    """See `vancetope.backends.direct.seat.Passage`. `problem` is why there is no reply, `notes` what the answer said,
    `limit` and `characters` are the request's, `data` is a whole answer as it came."""

    dialect: Dialect
    request: Request
    model: Any
    plan: Plan
    written: Written
    origin: Origin
    key: str = field(repr=False)
    pool: Pool
    where: Where
    course: Course
    show: Callable[[str, Any], None]
    shows: bool
    idle_timeout: float
    streams: bool
    clock: asyncio.Timeout | None = None
    notes: Notes = field(default_factory=Notes)
    problem: Exception | None = None
    answered: bool = False
    limit: int | None = None
    characters: int = 0
    data: Any = None
    _response: httpx.Response | None = None

    async def send(self, made: Any) -> Any:
        try:
            return await self._sent(made)
        except httpx.RequestError as error:
            self.problem = lost(self.where, error, answered=self.answered, characters=self.notes.characters)
        except Exception as error:
            self.problem = error
        raise Stopped

    async def aclose(self) -> None:
        """Let go of the connection, wherever the answer stands."""
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()

    async def _sent(self, made: Any) -> Any:
        from httpx2 import Response

        self.notes = Notes()
        content = self._built(json.loads(await made.aread()))
        await self.aclose()
        self.course.sends()
        if self.shows:
            self.show("request", json.loads(content))
        response = self._response = await self.pool.transport.handle_async_request(self._outgoing(made, content))
        if not 200 <= response.status_code < 300:
            text = mask(await beginning(response.aiter_bytes()), self.where.secrets)[:LARGEST_FAILURE]
            self.show("reply", {"status": response.status_code, "body": text})
            raise failed(self.where, response.status_code, text, response.headers)
        self.answered = True
        if self.streams:
            return Response(200, headers={"content-type": "text/event-stream"}, content=self._stream(response))
        whole = self._whole(await text_of(capped(response, self.where)), self.dialect.answer)
        return Response(200, headers={"content-type": "application/json"}, content=json.dumps(whole).encode())

    def _built(self, body: dict[str, Any]) -> bytes:
        try:
            return self._content(body)
        except VancetopeError:
            raise
        except Exception as error:
            problem = ConfigError(f"the request to {self.where} cannot be built: {self._words(error)}")
        raise problem

    def _words(self, error: Exception) -> str:
        return said_in(None, str(error) or type(error).__name__, self.where.secrets)

    def _content(self, body: dict[str, Any]) -> bytes:
        """The body as it goes out: what the library wrote, what it has no word for, the past, and the caller's own."""
        made = self.dialect.messages(body.pop(self.dialect.conversation))
        messages = spliced(self.plan, made, self.dialect.model_role, self.written)
        extra = {k: value for k, value in self.request.settings.extra.items() if k not in self.dialect.ours}
        body = merged(self.dialect.patched(body, messages, self.request, self.model), extra)
        self.limit = self.dialect.limit(body)
        start, characters = encoded(body)
        if self.dialect.conversation in extra:
            self.characters = characters
            return start
        whole = b",".join(self.dialect.fitted(messages, body, self.request, self.model))
        self.characters = characters + len(whole)
        comma = b"," if body else b""
        return b"".join([start[:-1], comma, b'"', self.dialect.conversation.encode(), b'":[', whole, b"]}"])

    def _outgoing(self, made: Any, content: bytes) -> httpx.Request:
        headers = [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"vancetope"),
            *self.dialect.headers(self.key, made.headers),
        ]
        if self.origin.authorization:
            headers.append((b"authorization", self.origin.authorization.encode()))
        url = self.origin.url(made.url.raw_path.decode().partition("?")[0])
        for name, value in made.url.params.items():
            url = url.copy_add_param(name, value)
        return httpx.Request("POST", url, headers=headers, content=content, extensions=self.origin.extensions())

    def _whole(self, text: str, read: Callable[[Any, Notes], Any]) -> Any:
        """A whole answer as `read` gives it."""
        try:
            self.data = json.loads(text)
        except (ValueError, RecursionError):
            self.show("reply", text)
            raise not_json(self.where, text, streams=self.streams) from None
        self.show("reply", self.data)
        try:
            return read(self.data, self.notes)
        except Failure as failure:
            problem = failed_inside(self.where, failure.error)
        except NoReply as reason:
            problem = broken(self.where, f"answers with JSON that is no reply: {reason}. Check the base URL.")
        except Exception as error:
            problem = self._unreadable(error)
        raise problem

    async def _stream(self, response: httpx.Response) -> AsyncGenerator[bytes]:
        """The events of a stream as the library reads them, or those that a whole answer would have been."""
        try:
            async with aclosing(self._events(response)) as events:
                async for event in events:
                    yield written_event(event)
        except httpx.RequestError as error:
            self.problem = lost(self.where, error, answered=True, characters=self.notes.characters)
        except Exception as error:
            self.problem = error
        if self.problem is not None:
            raise Stopped

    async def _events(self, response: httpx.Response) -> AsyncGenerator[Event]:
        blocks = capped(response, self.where)
        head, is_stream = await opened(blocks)
        if not is_stream:
            for event in self._whole(await text_of(blocks, head), self.dialect.events):
                yield event
            return
        reader = EventReader()
        async for block in self._patiently(blocks, head):
            for sent in reader.feed(block) if block is not None else reader.close():
                for event in self._read(sent):
                    yield event
        if not self.notes.complete:
            raise broken(self.where, f"ended its stream in the middle, after {self.notes.characters} characters.")

    async def _patiently(self, blocks: AsyncIterator[bytes], head: bytes) -> AsyncIterator[bytes | None]:
        """The blocks of a stream as long as it may be silent, and a null at its end. What fails behind the finish costs
        nothing: the reply is whole."""
        block: bytes | None = head
        now = asyncio.get_running_loop().time
        ends: list[float] = []  # when it is over, whatever comes: by the finish, and by the end mark
        while block is not None:
            yield block
            left = self.course.left
            if self.clock is not None:
                self.clock.reschedule(now() + min(left, self.idle_timeout))
            if self.notes.complete and not ends:
                ends.append(now() + AFTER_FINISH)
            if self.notes.done and len(ends) < 2:
                ends.append(now() + AFTER_DONE)
            try:
                if ends:
                    async with asyncio.timeout_at(min(*ends, now() + left - MARGIN)):
                        block = await anext(blocks, None)
                else:
                    block = await anext(blocks, None)
            except (TimeoutError, httpx.RequestError):
                if not self.notes.complete:
                    raise
                block = None
        yield None

    def _read(self, sent: Any) -> Sequence[Event]:
        if self.notes.done:
            return ()
        try:
            found = values(sent)
        except (ValueError, RecursionError):
            if self.notes.complete:
                return ()
            came = f"after {self.notes.characters} characters"
            raise broken(self.where, f"sent a chunk that is no JSON, {came}.") from None
        events: list[Event] = []
        for value in found:
            if value == DONE:
                continue
            try:
                events += self.dialect.event(sent.name, value, self.notes)
            except Failure as failure:
                if not self.notes.complete:
                    raise failed_inside(self.where, failure.error) from None
            except Exception as error:
                raise self._unreadable(error) from None
        return events

    def _unreadable(self, error: Exception) -> ModelError:
        return broken(self.where, f"sent a reply that cannot be read: {self._words(error)}.")


def written_event(event: Event) -> bytes:
    """An event as it goes over the wire."""
    name, data = event
    head = f"event: {name}\n" if name else ""
    told = json.dumps(data, ensure_ascii=False).translate(LINE_ENDS)
    return f"{head}data: {told}\n\n".encode("utf-8", "replace")
