"""A loopback server that speaks three providers' dialects, well or badly, exactly as a script tells it."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import parse_qs

import h11

from vancetope.backends.faults import anthropic, gemini, openai
from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.faults.check import Violation, violations
from vancetope.backends.faults.dialects import Dialect, dialect_at
from vancetope.backends.faults.fault import Fault, plan_of, status
from vancetope.backends.faults.gemini import STREAMED, camel
from vancetope.backends.faults.statuses import KEY_REFUSED
from vancetope.backends.faults.wire import Close, Data, Head, Pause, Raw, Reset, Silence, Step, Wait, Wire
from vancetope.backends.scripted import Staged
from vancetope.errors import ConfigError
from vancetope.messages import Reply

Given: TypeAlias = Reply | str | Staged | Fault
Script: TypeAlias = Iterable[Given] | Callable[[Asked], Given | Awaitable[Given]]

HOST = "127.0.0.1"
BODY_LIMIT = 64 * 1024 * 1024
SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie"})
JSON_HEADER = (("content-type", "application/json"),)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Request `number` has the very body of the one before it, which had got the answer of this name."""

    number: int
    after: str


class ClientGone(Exception):
    """The client closed its connection while it was being answered."""


@dataclass(eq=False)
class FaultServer:
    """`async with FaultServer([...]) as server:` serves on loopback until the block ends; then nothing of it is left.

    The script is a list of answers, used up one by one, or a function of what was asked, sync or async. An answer is a
    `Reply` (or `str`, or a `gated` reply), sent as JSON or as a stream, whichever the client asked for, or a `Fault`.
    Who asks at /v1/chat/completions is answered as OpenAI does it, at /v1/messages as Anthropic does, at
    /v1beta/models/NAME:generateContent or :streamGenerateContent?alt=sse as Gemini does: the script is the same.
    With `strict`, a request that some strict provider would refuse gets a 400 and uses up no answer; either way it is
    in `violations`. Rules named in `unchecked` are left out. A `key`: requests without it get a 401.

    What happened is in `requests`, `violations`, `repeats`, `connections` (accepted ones) and `failures` (exceptions of
    the script; the first is raised when the block ends). Entering the block again starts anew.
    """

    script: Script = ()
    strict: bool = True
    unchecked: Iterable[str] = ()
    key: str | None = None
    wire: Wire = field(default_factory=Wire)
    models: tuple[str, ...] = ("scripted-model",)
    port: int = 0

    requests: list[Asked] = field(default_factory=list, init=False)
    violations: list[Violation] = field(default_factory=list, init=False)
    repeats: list[Repeat] = field(default_factory=list, init=False)
    failures: list[Exception] = field(default_factory=list, init=False)
    connections: int = field(default=0, init=False)
    _server: asyncio.Server | None = field(default=None, init=False)
    _open: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _left: list[Given] | None = field(default=None, init=False)
    _all: tuple[Given, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not callable(self.script):
            self._all = tuple(self.script)

    @property
    def base_url(self) -> str:
        """What a client of OpenAI's chat format is given as its base URL; ends in /v1."""
        return f"http://{HOST}:{self._bound}/v1"

    @property
    def anthropic_url(self) -> str:
        """What an Anthropic client is given as its base URL; it adds /v1/messages itself."""
        return f"http://{HOST}:{self._bound}"

    @property
    def gemini_url(self) -> str:
        """What a Gemini client is given as its base URL; it adds /v1beta/models/... itself."""
        return f"http://{HOST}:{self._bound}"

    @property
    def open_connections(self) -> int:
        return len(self._open)

    @property
    def left(self) -> int:
        """How many answers of the list have not been asked for."""
        return len(self._left or ())

    @property
    def _bound(self) -> int:
        if self._server is None:
            raise ConfigError("the fault server is not running: use `async with FaultServer(...) as server`")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        if self._server is not None:
            raise ConfigError("this fault server is running already")
        self.requests, self.violations, self.repeats, self.failures = [], [], [], []
        self.connections, self._left = 0, list(self._all)
        self._server = await asyncio.start_server(self._accept, HOST, self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
            for _ in range(10):
                await asyncio.sleep(0)  # lets the connections notice clients that have just left
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)
            await server.wait_closed()
        if error is None and self.failures:
            raise self.failures[0]

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(Connection(self, reader, writer).serve())
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def answer(self, asked: Asked, body: object) -> Given:
        """What this request gets; everything there is to record of it is recorded here."""
        if self.requests and self.requests[-1].body == asked.body:
            self.repeats.append(Repeat(asked.number, self.requests[-1].answer))
        self.requests.append(asked)
        if asked.authorized is False:
            return KEY_REFUSED if asked.dialect == "gemini" else status(401)
        named = whole_request(body, asked)
        broken = list(violations(named, asked.number, frozenset(self.unchecked), asked.dialect))
        self.violations += broken
        if broken and self.strict:
            return status(400, message=broken[0].sentence)
        if callable(self.script):
            try:
                given = self.script(asked)
                return await given if isawaitable(given) else given
            except Exception as error:
                self.failures.append(error)
                return status(500, message=f"the script raised {type(error).__name__}")
        if not self._left:
            sentence = f"the script has used all its {len(self._all)} answers"
            self.violations.append(Violation(asked.number, "script", sentence))
            return status(400, message=sentence)
        return self._left.pop(0)

    def asked(self, request: h11.Request, data: bytes, dialect: Dialect) -> tuple[Asked, object]:
        """The request as a record, and its body as it was, object or not."""
        headers = {name.decode(): value.decode("latin-1") for name, value in request.headers}
        path, _, query = request.target.decode("latin-1").partition("?")
        given = key_in(headers, query)
        right = None if self.key is None else hmac.compare_digest(given.encode(), self.key.encode())
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        shown = {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
        record = body if isinstance(body, dict) else {}
        asked = Asked(record, len(self.requests) + 1, shown, right, asyncio.get_running_loop().time(), len(data))
        asked.dialect, asked.chat = dialect.NAME, dialect.form(record, path)
        return asked, body


def whole_request(body: object, asked: Asked) -> object:
    """The body with what its dialect says beside it: a model's name in the path, betas in a header."""
    if not isinstance(body, dict) or asked.dialect == "openai":
        return body
    if asked.dialect == "gemini":
        return {"model": asked.model, **camel(body)}
    betas = asked.headers.get("anthropic-beta", "")
    return {**body, "betas": [each.strip() for each in betas.split(",")]}


def key_in(headers: Mapping[str, str], query: str) -> str:
    """The key of a request, wherever its dialect has it; empty if there is none."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    others = (headers.get(name, "") for name in ("api-key", "x-api-key", "x-goog-api-key"))
    return bearer or next(filter(None, others), "") or "".join(parse_qs(query).get("key", [])[:1])


def spoken_by(path: str, request: h11.Request) -> Dialect:
    """The dialect of a client that asks for something else than a reply."""
    if "/v1beta/" in path:
        return gemini
    return anthropic if any(name == b"anthropic-version" for name, _ in request.headers) else openai


class Connection:
    """One client connection: requests in, steps out, until one side has enough."""

    def __init__(self, server: FaultServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.http = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        try:
            while await self._one():
                self.http.start_next_cycle()
        except (ClientGone, ConnectionError, h11.RemoteProtocolError):
            pass  # the client's own business
        finally:
            self.writer.close()
            with contextlib.suppress(OSError):
                await self.writer.wait_closed()

    async def _one(self) -> bool:
        """Serve one request. False: this connection is finished."""
        request = await self._event()
        if not isinstance(request, h11.Request):
            return False
        body = bytearray()
        while isinstance(data := await self._event(), h11.Data):
            body += data.data
            if len(body) > BODY_LIMIT:
                await self._run(status(413).plan(Asked({}), self.server.wire))
                return False
        return await self._route(request, bytes(body))

    async def _route(self, request: h11.Request, body: bytes) -> bool:
        path, _, query = request.target.decode("latin-1").partition("?")
        dialect = dialect_at(path)
        if path.endswith(STREAMED) and parse_qs(query).get("alt") != ["sse"]:
            return await self._json(400, gemini.error(400, "only streams with alt=sse are spoken here", None))
        if request.method == b"POST" and dialect is not None:
            return await self._chat(request, body, dialect)
        if request.method == b"GET" and path.endswith("/models"):
            return await self._json(200, spoken_by(path, request).models(self.server.models))
        return await self._json(404, spoken_by(path, request).error(404, f"there is nothing at {path}", None))

    async def _chat(self, request: h11.Request, body: bytes, dialect: Dialect) -> bool:
        asked, parsed = self.server.asked(request, body, dialect)
        answer = await self.server.answer(asked, parsed)
        asked.answer = answer.name if isinstance(answer, Fault) else "reply"
        try:
            return await self._run(plan_of(answer, asked, self.server.wire))
        except (ClientGone, ConnectionError):
            asked.disconnected = True
            raise
        except Exception as error:
            self.server.failures.append(error)
            return False

    async def _json(self, code: int, value: Any) -> bool:
        data = dumped(value).encode()
        return await self._run([Head(code, JSON_HEADER, len(data)), Data(data)])

    async def _run(self, steps: Iterable[Step]) -> bool:
        """Do the steps. False: the connection is finished."""
        for step in steps:
            match step:
                case Head(status=code, headers=headers, length=length):
                    framing = ("transfer-encoding", "chunked") if length is None else ("content-length", str(length))
                    await self._send(h11.Response(status_code=code, headers=[*headers, framing]))
                case Data(data=data):
                    await self._send(h11.Data(data=data))
                case Raw(data=data):
                    await self._write(data)
                case Pause(seconds=seconds):
                    await self._unless_gone(asyncio.sleep(seconds))
                case Wait(gate=gate):
                    await self._unless_gone(gate.wait())
                case Silence():
                    await self._unless_gone(asyncio.Event().wait())
                case Reset():
                    self._reset()
                    return False
                case Close():
                    return False
        await self._send(h11.EndOfMessage())
        return self.http.our_state is h11.DONE and self.http.their_state is h11.DONE

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self.http.receive_data(await self.reader.read(65536))
        return event

    async def _send(self, event: h11.Event) -> None:
        await self._write(self.http.send(event) or b"")

    async def _write(self, data: bytes) -> None:
        if self.reader.at_eof():
            raise ClientGone
        self.writer.write(data)
        await self.writer.drain()

    async def _unless_gone(self, what: Awaitable[object]) -> None:
        """Wait for it, but not longer than the client does."""
        waiting = asyncio.ensure_future(what)
        listening = asyncio.ensure_future(self.reader.read(65536))
        try:
            await asyncio.wait((waiting, listening), return_when=asyncio.FIRST_COMPLETED)
            while listening.done() and not waiting.done():
                if not (data := listening.result()):
                    raise ClientGone
                self.http.receive_data(data)
                listening = asyncio.ensure_future(self.reader.read(65536))
                await asyncio.wait((waiting, listening), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            listening.cancel()
            await asyncio.gather(waiting, listening, return_exceptions=True)

    def _reset(self) -> None:
        """Close with a TCP reset instead of a good-bye."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
