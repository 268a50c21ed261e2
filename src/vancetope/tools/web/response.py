"""What a server answered: its headers in words of ours, and its body within bounds."""

from __future__ import annotations

import asyncio
import math
import re
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal, TypeAlias

from vancetope import sentences
from vancetope.tools.failure import ToolFailed

if TYPE_CHECKING:
    import httpcore

Cut: TypeAlias = Literal["size", "time", "broken"]
_STEP = 64 * 1024

_TEXTS = re.compile(
    r"text/.+|.+\+(json|xml|yaml)|application/(json|xml|xhtml\+xml|javascript|ecmascript|x-javascript|x-ndjson|ndjson|"
    r"jsonlines|json5|yaml|x-yaml|toml|sql|x-sh|graphql|x-httpd-php|rtf|x-www-form-urlencoded|x-tex|x-latex)"
)
_UNTOLD = ("", "application/octet-stream", "binary/octet-stream", "application/x-unknown", "unknown/unknown")
_NAMES = {"application/pdf": "a PDF", "image": "a picture", "audio": "a sound", "video": "a video", "font": "a font"}


@dataclass(frozen=True, slots=True)
class Page:
    """What a server answered at the end of all redirects. `kind` is the media type in lower case, "" where none is
    named; `size` what the server says of the body's size, `wait` the seconds that it asks to wait."""

    url: str
    status: int
    kind: str
    charset: str
    size: int | None = None
    wait: float | None = None
    body: bytes = b""
    cut: Cut | None = None


def headers(response: httpcore.Response) -> Mapping[str, str]:
    """By names in lower case; the first of several is taken."""
    found: dict[str, str] = {}
    for name, value in response.headers:
        found.setdefault(name.decode("latin-1").lower(), _text(value).strip())
    return found


def _text(value: bytes) -> str:
    try:
        return value.decode()  # a Location in UTF-8, which browsers follow too
    except UnicodeDecodeError:
        return value.decode("latin-1")


def unread(url: str, status: int, headers: Mapping[str, str]) -> Page:
    """The page before its body is read."""
    essence, _, rest = headers.get("content-type", "").partition(";")
    kind = essence.strip().lower()
    charset = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", rest, re.IGNORECASE)
    length = headers.get("content-length", "")
    return Page(
        url,
        status,
        kind if re.fullmatch(r"[a-z0-9.+_-]{1,60}/[a-z0-9.+_-]{1,100}", kind) else "",
        charset[1] if charset else "",
        size=int(length) if re.fullmatch(r"[0-9]{1,15}", length) else None,
        wait=wait(headers),
    )


def is_text(page: Page) -> bool:
    """Whether the page's type, and its body as far as it is read, may be text."""
    typed = page.kind in _UNTOLD or _TEXTS.fullmatch(page.kind) is not None
    return typed and (b"\0" not in page.body[:4096] or page.body.startswith((b"\xff\xfe", b"\xfe\xff")))


def check(page: Page) -> None:
    """Raises `ToolFailed` for a page that is no text."""
    if is_text(page):
        return
    kind = page.kind or "application/octet-stream"
    name = _NAMES.get(kind) or _NAMES.get(kind.partition("/")[0], "a binary file")
    size = len(page.body) if page.body and not page.cut else page.size
    told = f"{name} ({kind}, {size:,} bytes)" if size is not None else f"{name} ({kind})"
    raise ToolFailed(sentences.WEB_BINARY.format(url=page.url, kind=told))


def status_text(status: int) -> str:
    """The status with its own name; a server's name for it may say anything."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def wait(headers: Mapping[str, str]) -> float | None:
    """The seconds of a Retry-After, which holds seconds or a date; null where it holds neither."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
    return float(math.ceil(max(0.0, seconds))) if math.isfinite(seconds) else None


async def read(page: Page, pieces: AsyncIterator[bytes], headers: Mapping[str, str], limit: int, until: float) -> Page:
    """The page with as much of its body as `limit` (bytes, after decompression) allows and comes in time. Raises
    `ToolFailed` where nothing of it can be had."""
    import httpcore

    host = httpcore.URL(page.url).host.decode("ascii", "replace")
    inflated = Inflater(headers.get("content-encoding", ""), page.url)
    body = bytearray()
    cut: Cut | None = None
    try:
        async with asyncio.timeout_at(until):
            cut = await _filled(body, pieces, inflated, limit)
    except TimeoutError:
        if not body:
            raise ToolFailed(sentences.WEB_NO_BODY.format(host=host)) from None
        cut = "time"
    except (httpcore.NetworkError, httpcore.ProtocolError, zlib.error):
        if not body:
            raise ToolFailed(sentences.WEB_NO_HTTP.format(host=host)) from None
        cut = "broken"
    return replace(page, body=bytes(body[:limit]), cut=cut)


async def _filled(body: bytearray, pieces: AsyncIterator[bytes], inflated: Inflater, limit: int) -> Cut | None:
    async for piece in pieces:
        for part in inflated(piece):
            body += part
            if len(body) > limit:
                return "size"
            await asyncio.sleep(0)
    return None if inflated.ended else "broken"


class UnknownEncoding(ToolFailed):
    """The body has an encoding that was not asked for."""


class Inflater:
    """Undoes a Content-Encoding in steps of at most 64 KiB, so that a small body never becomes a large one at once.

    Raises `UnknownEncoding` at once.
    """

    def __init__(self, encoding: str, url: str) -> None:
        named = [each.strip().lower() for each in encoding.split(",")]
        named = [each for each in named if each not in ("", "identity")]
        if len(named) > 1 or not set(named) <= {"gzip", "x-gzip", "deflate"}:
            shown = re.sub(r"[^a-z0-9, -]", "?", encoding.lower())[:40]
            raise UnknownEncoding(sentences.WEB_ENCODING.format(url=url, encoding=shown))
        self._window = {"deflate": zlib.MAX_WBITS}.get(named[0], zlib.MAX_WBITS | 16) if named else 0
        self._inner: zlib._Decompress | None = None

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if not self._window:
            yield data
            return
        part = b""
        while data or len(part) == _STEP:  # a full step may have left more behind, of input that it took in whole
            if self._inner is None or (self._inner.eof and data):
                if self._inner is not None and not data.startswith(b"\x1f\x8b"):
                    return  # what follows a whole stream and is no further one is padding
                self._inner = self._started(data)
            part = self._inner.decompress(data, _STEP)
            data = self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail
            if part:
                yield part

    def _started(self, data: bytes) -> zlib._Decompress:
        if self._window == zlib.MAX_WBITS and not _has_zlib_head(data):
            self._window = -zlib.MAX_WBITS  # some servers mean the bare format when they say deflate
        return zlib.decompressobj(self._window)

    @property
    def ended(self) -> bool:
        """Whether what was compressed came to its end."""
        return self._inner is None or self._inner.eof


def _has_zlib_head(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and (len(data) < 2 or int.from_bytes(data[:2], "big") % 31 == 0)
