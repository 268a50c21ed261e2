"""A server on loopback that says exactly the bytes a test gives it, and records what it was asked."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

# What the server does in turn: write bytes, wait (seconds), hold until the client goes away, or hang up.
HOLD = "hold"
HANG_UP = "hang up"
Step = bytes | float | str
Answer = Sequence[Step]


@dataclass
class Asked:
    """One request as it arrived."""

    line: str
    headers: dict[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


@dataclass
class Raw:
    """The running server. The answers are used in order; the last one repeats."""

    answers: list[Answer] | Callable[[Asked], Answer]
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    at_once: int = 0
    most_at_once: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                try:
                    if not await self._say(self._next(asked), reader, writer):
                        break
                finally:
                    self.at_once -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            self.gone.set()
            writer.close()

    def _next(self, asked: Asked) -> Answer:
        if callable(self.answers):
            return self.answers(asked)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def _say(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        for step in answer:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif isinstance(step, float):
                await asyncio.sleep(step)
            elif step == HOLD:
                await reader.read(1)
                return False
            else:
                return False
        return True


@asynccontextmanager
async def serving(*answers: Answer, by: Callable[[Asked], Answer] | None = None) -> AsyncIterator[Raw]:
    """A server with these answers, or one that asks `by` for each."""
    raw = Raw(by or list(answers))
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(raw.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    raw.port = server.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


@asynccontextmanager
async def serving_bytes(given: bytes) -> AsyncIterator[int]:
    """The port of a server that says the same bytes to everybody, whatever it is asked."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(given)
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


@contextmanager
def serving_in_a_thread(*answers: Answer) -> Iterator[Raw]:
    """The same server on an event loop of its own, for tests that run several loops."""
    started: Queue[tuple[Raw, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def run() -> None:
        over = asyncio.Event()
        async with serving(*answers) as raw:
            started.put((raw, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    raw, loop, over = started.get(timeout=5)
    try:
        yield raw
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    line, *rest = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in rest)}
    text = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(line, headers, text.decode())


def page(body: bytes | str, status: int = 200, kind: str = "application/json", **headers: str) -> Answer:
    """A whole answer; an underscore in a header's name stands for a dash."""
    content = body.encode() if isinstance(body, str) else body
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n{extra}\r\n"
    return [head.encode() + content]


def answer(data: Any, status: int = 200, **headers: str) -> Answer:
    """A whole answer in JSON."""
    return page(json.dumps(data), status, **headers)


def said(text: str = "Hello", **message: Any) -> Answer:
    """An ordinary reply."""
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    return answer({"model": "m-1", "choices": [choice], "usage": usage})


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DONE = "data: [DONE]\n\n"


def chunked(data: bytes | str) -> bytes:
    """One chunk of a chunked body."""
    content = data.encode() if isinstance(data, str) else data
    return b"%x\r\n%b\r\n" % (len(content), content)


def event(data: Any) -> str:
    return f"data: {json.dumps(data)}\n\n"


def delta(finish: str | None = None, **delta: Any) -> str:
    """An ordinary chunk of a stream."""
    return event({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


USAGE = event({"model": "m-1", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def stream(*parts: bytes | str | float, end: bytes | str = END) -> Answer:
    """A streamed answer: each part is one chunk of the body, a number is a pause."""
    steps: list[Step] = [part if isinstance(part, float) else chunked(part) for part in parts]
    return [STREAM, *steps, end]
