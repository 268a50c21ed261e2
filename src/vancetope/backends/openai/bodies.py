"""The body of an answer, as bytes: bounded, and as text."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterator

import httpx

from vancetope.backends.openai.failures import Where, broken
from vancetope.errors import ModelError

LARGEST_ANSWER = 32 * 1024 * 1024  # bytes
LARGEST_FAILURE = 64 * 1024  # characters shown of an answer that is an error
LARGEST_SECRET = 16 * 1024  # bytes read beyond, so that no secret is cut before it is masked
STREAM_BEGINS = (b"data:", b":", b"event:", b"id:", b"retry:", b"error:")
ENOUGH = 9  # bytes that tell a stream from JSON, a byte order mark before them included


async def capped(response: httpx.Response, where: Where) -> AsyncGenerator[bytes]:
    """The blocks of a body. Raises `ReplyBroken` for one that is larger than any reply."""
    size = 0
    async for block in response.aiter_bytes():
        size += len(block)
        if size > LARGEST_ANSWER:
            raise broken(where, f"sends more than {LARGEST_ANSWER // 1024 // 1024} MiB for one reply.")
        yield block


async def opened(blocks: AsyncIterator[bytes]) -> tuple[bytes, bool]:
    """The beginning of a body, and whether it is that of a stream of events. A body is read by what it is, not by what
    was asked for: some servers stream always, some never."""
    head = b""
    async for block in blocks:
        head = (head + block).lstrip()
        if len(head) >= ENOUGH:
            break
    head = head.removeprefix(BOM_UTF8).lstrip()
    return head, head.startswith(STREAM_BEGINS)


async def text_of(blocks: AsyncIterator[bytes], head: bytes = b"") -> str:
    """What is in these blocks, behind what has been read of them."""
    return _decoded(b"".join([head, *[block async for block in blocks]]))


async def beginning(blocks: AsyncIterator[bytes]) -> str:
    """The first part of an error's body and a little more; a connection that fails in it does not hide the error."""
    read = b""
    try:
        async for block in blocks:
            read += block
            if len(read) > LARGEST_FAILURE + LARGEST_SECRET:
                break
    except (httpx.RequestError, ModelError):
        pass
    return _decoded(read[: LARGEST_FAILURE + LARGEST_SECRET])


def _decoded(body: bytes) -> str:
    return body.removeprefix(BOM_UTF8).decode("utf-8", "replace")
