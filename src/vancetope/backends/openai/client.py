"""The client: one request to a chat completion and what it takes to get its reply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

import httpx

from vancetope.backends.base import OnPiece, Request
from vancetope.backends.openai.assembly import Assembly, take, tell_whole
from vancetope.backends.openai.bodies import LARGEST_FAILURE, beginning, capped, opened, text_of
from vancetope.backends.openai.course import Course, Written
from vancetope.backends.openai.failures import PromptFiltered, Where, broken, failed, failed_inside, lost, not_json
from vancetope.backends.openai.mask import mask, masked
from vancetope.backends.openai.pool import Origin, Pool, Pools
from vancetope.backends.openai.profiles import Profile, at_host, base_url_of, chat_path, checked_key
from vancetope.backends.openai.reading import NoReply, failure_in, filtered, reply_in
from vancetope.backends.openai.sse import EventReader
from vancetope.backends.openai.wire import body_of, encoded, limit_of
from vancetope.backends.resilience import ATTEMPTS, Circuits, persist
from vancetope.errors import ConfigError, VancetopeError
from vancetope.messages import Reply

Wire = Callable[[str, Any], None]

MOST_URLS = 100  # that are kept parsed: some servers have one for each model


class OpenAICompatible:
    """A `Backend` for one server that speaks OpenAI's chat completions.

    `base_url` and `api_key` override what the profile says (the key is not read from the environment here).
    `attempts` bounds the requests for one reply, `idle_timeout` the silence inside a stream in seconds,
    `per_model_limit` the requests to one model at a time, `max_connections` those to the server; both limits hold per
    event loop. `wire` is told ("request", body) and ("reply", body or text) of everything that goes over the wire, with
    secrets masked and without headers; a stream is told put together, a failure with its status.

    Raises `ConfigError` at once for a base URL or a key that cannot work.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        profile: Profile,
        wire: Wire | None = None,
        max_connections: int = 100,
        per_model_limit: int = 8,
        attempts: int = ATTEMPTS,
        idle_timeout: float = 120.0,
    ) -> None:
        if not (url := base_url or profile.base_url):
            where = f"set {profile.url_variable}" if profile.url_variable else "for example http://127.0.0.1:8080/v1"
            raise ConfigError(f"{profile.name} needs a base URL: {where}")
        if min(attempts, per_model_limit, max_connections) < 1:
            raise ConfigError("attempts, per_model_limit and max_connections are at least 1")
        self._origin = Origin.at(base_url_of(profile, url), profile.name)
        self.profile = at_host(profile, self._origin.host)
        key = checked_key(api_key, self.profile)
        self._secrets = (*((key,) if key else ()), *self._origin.secrets)
        self._headers = _headers(key, self._origin.authorization, self.profile)
        self._models = self._origin.url("/models")
        self._wire = wire
        self._attempts = attempts
        self._idle_timeout = idle_timeout
        self._circuits = Circuits()
        self._urls: dict[str, httpx.URL] = {}
        self._pools = Pools(self._origin, max_connections, per_model_limit)

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        """The model's reply, streamed where `on_piece` is given. Contract: see `Backend`."""
        body = body_of(request, self.profile, stream=on_piece is not None)
        content, characters = encoded(body)
        written = Written(request.model, body, content, characters, limit_of(body))
        course = Course(self._where(request.model), request.timeout, self._idle_timeout, on_piece, request.on_send)
        once = partial(self._attempt, request.model, written, course)
        try:
            return await persist(course, self._circuits.of(request.model), once, self._attempts)
        except PromptFiltered:
            return filtered(characters, written.limit, course.requests)

    async def list_models(self, timeout: float = 10.0) -> tuple[str, ...]:
        """The names of the models that the server offers, in its order. One request, never repeated."""
        course = Course(self._where(""), timeout, self._idle_timeout)
        pool = await self._pools.here()
        course.sends()
        self._show("request", {"models": self._origin.address})
        clock = asyncio.timeout_at(course.deadline)
        try:
            async with clock:
                request = self._request("GET", self._models)
                async with self._answer(pool, request, course) as blocks:
                    text = await text_of(blocks)
        except TimeoutError:
            if not clock.expired():
                raise
            raise course.late() from None
        except httpx.RequestError as error:
            raise lost(course.where, error, answered=course.answered, characters=0) from None
        data = self._json(text, course)
        self._show("reply", data)
        if (names := _model_names(data)) is None:
            raise broken(course.where, "answers with JSON that is no list of models. Check the base URL.")
        return names

    async def aclose(self) -> None:
        """Close the connections of the running event loop; those of another loop close when it ends."""
        await self._pools.aclose()

    async def _attempt(self, model: str, written: Written, course: Course) -> Reply:
        """One request, from its wait for a free slot to its reply.

        A connection that fails, or time that runs out, behind a stream's finish costs nothing: the reply was whole.
        """
        pool = await self._pools.here()
        clock = asyncio.timeout_at(course.deadline)
        try:
            async with clock, pool.slots(model):
                course.sends()
                self._show("request", written.body)
                request = self._request("POST", self._chat(model), written.content)
                async with self._answer(pool, request, course) as blocks:
                    return await self._read(blocks, written, course, clock)
        except TimeoutError:
            if not clock.expired():
                raise
            problem: VancetopeError = course.late()
        except httpx.RequestError as error:
            if error is course.listener_failed:
                raise
            came = course.assembly.characters if course.assembly else 0
            problem = lost(course.where, error, answered=course.answered, characters=came)
        if course.assembly is not None and course.assembly.complete:
            return self._assembled(course.assembly, written, course)
        raise problem

    @asynccontextmanager
    async def _answer(self, pool: Pool, request: httpx.Request, course: Course) -> AsyncIterator[AsyncIterator[bytes]]:
        """The blocks of an answer of status 2xx; raises the error that any other status means."""
        async with aclosing(await pool.transport.handle_async_request(request)) as response:
            status = response.status_code
            async with aclosing(capped(response, course.where)) as blocks:
                if 200 <= status < 300:
                    course.answered = True
                    yield blocks
                    return
                text = mask(await beginning(blocks), self._secrets)[:LARGEST_FAILURE]
        self._show("reply", {"status": status, "body": text})
        raise failed(course.where, status, text, response.headers)

    async def _read(
        self, blocks: AsyncIterator[bytes], written: Written, course: Course, clock: asyncio.Timeout
    ) -> Reply:
        head, is_stream = await opened(blocks)
        if is_stream:
            return await self._streamed(head, blocks, written, course, clock)
        text = await text_of(blocks, head)
        data = self._json(text, course)
        self._show("reply", data)
        reply = self._reply(data, written, course)
        tell_whole(reply, course.tell)
        return reply

    async def _streamed(
        self, head: bytes, blocks: AsyncIterator[bytes], written: Written, course: Course, clock: asyncio.Timeout
    ) -> Reply:
        reader = EventReader()
        assembly = course.assembly = Assembly(course.tell)
        for event in reader.feed(head):
            take(event, assembly, course.where)
        clock.reschedule(course.patience())
        async for block in blocks:
            for event in reader.feed(block):
                take(event, assembly, course.where)
            clock.reschedule(course.patience())
        for event in reader.close():
            take(event, assembly, course.where)
        return self._assembled(assembly, written, course)

    def _assembled(self, assembly: Assembly, written: Written, course: Course) -> Reply:
        body = assembly.body()
        self._show("reply", body)
        if not assembly.complete:
            raise broken(course.where, f"ended its stream in the middle, after {assembly.characters} characters.")
        return self._reply(body, written, course)

    def _json(self, text: str, course: Course) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            self._show("reply", text)
            raise not_json(course.where, text) from None

    def _reply(self, data: Any, written: Written, course: Course) -> Reply:
        if failure := failure_in(data):
            raise failed_inside(course.where, failure)
        try:
            return reply_in(
                data,
                characters=written.characters,
                limit=written.limit,
                requests=course.requests,
                profile=self.profile,
                asked=written.model,
            )
        except NoReply as reason:
            raise broken(course.where, f"answers with JSON that is no reply: {reason}. Check the base URL.") from None

    def _request(self, method: str, url: httpx.URL, content: bytes = b"") -> httpx.Request:
        extensions = self._origin.extensions()
        return httpx.Request(method, url, headers=self._headers, content=content, extensions=extensions)

    def _chat(self, model: str) -> httpx.URL:
        path = chat_path(self.profile, self._origin.prefix, model)
        if (url := self._urls.get(path)) is None:
            if len(self._urls) >= MOST_URLS:
                self._urls.clear()
            url = self._urls[path] = self._origin.url(path)
        return url

    def _where(self, model: str) -> Where:
        return Where(self.profile, self._origin.address, " ".join(model.split())[:100], self._secrets)

    def _show(self, kind: str, value: Any) -> None:
        if self._wire is not None:
            self._wire(kind, masked(value, self._secrets))


def _model_names(data: Any) -> tuple[str, ...] | None:
    """The names in the shapes that servers give this list; null if it is none of them."""
    listed = (data.get("data") or data.get("models", data.get("data"))) if isinstance(data, Mapping) else data
    if not isinstance(listed, list):
        return None
    names = [item.get("id") or item.get("name") if isinstance(item, Mapping) else item for item in listed]
    return tuple(name for name in names if isinstance(name, str) and name)


def _headers(key: str, authorization: str | None, profile: Profile) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
        (b"accept-encoding", b"identity"),
        (b"user-agent", b"vancetope"),
    ]
    if profile.hangs_up:
        headers.append((b"connection", b"close"))
    if key and profile.key_header != "authorization":
        headers.append((profile.key_header.encode(), key.encode()))
    elif key:
        authorization = f"Bearer {key}"
    if authorization:
        headers.append((b"authorization", authorization.encode()))
    return headers
