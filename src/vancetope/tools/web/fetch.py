"""`web_fetch`: a page of the public web as text."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from vancetope import sentences
from vancetope.messages import ToolSpec
from vancetope.tools import threads
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.failure import ToolFailed
from vancetope.tools.outputs import head_of
from vancetope.tools.untrusted import harmless, marked
from vancetope.tools.web import response
from vancetope.tools.web.charset import decoded
from vancetope.tools.web.extract import text_of_html
from vancetope.tools.web.fetcher import Fetcher
from vancetope.tools.web.response import Page
from vancetope.tools.web.rules import WebRules

PIECE = 24 * 1024
"""Bytes of UTF-8 in one answer: below what a result may have, so that no piece is cut out of its frame."""
OF_A_FAILURE = 2_000
"""Characters of what a server says where it has no page."""
KEPT = 4
"""Pages of which the text is kept, so that reading on is reading on in the same text."""

TIMEOUT = 60.0
"""Seconds: more than a fetch and its extraction take."""

_HTML = ("text/html", "application/xhtml+xml")
_LOOKS_LIKE_HTML = re.compile(
    r"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)

SPEC = ToolSpec(
    "web_fetch",
    sentences.WEB_FETCH,
    {
        "type": "object",
        "properties": {
            "url": {"type": "string", "minLength": 1, "description": sentences.WEB_FETCH_URL},
            "start": {"type": "integer", "minimum": 0, "default": 0, "description": sentences.WEB_FETCH_START},
        },
        "required": ["url"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Read:
    """A page as text, and what one should know of it."""

    page: Page
    text: str
    notes: tuple[str, ...]


def web_fetch(rules: WebRules, fetcher: Fetcher | None = None) -> Tool:
    """The tool `web_fetch(url, start=0)`. `fetcher` is for other limits or another resolver; it has rules of its own.

    Requests go straight to the servers: a proxy that the environment names is not used, because what it would reach
    cannot be checked. Each answer is marked as untrusted.
    """
    fetcher = fetcher or Fetcher(rules)
    kept: OrderedDict[str, Read] = OrderedDict()

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:  # noqa: ARG001
        url, start = arguments["url"].strip(), int(arguments.get("start", 0))
        read = kept.get(url) if start else None
        if read is None:
            page = await fetcher.page(url)
            read = await threads.current().run(partial(_read, page))
            kept[url] = read
            kept.move_to_end(url)
            while len(kept) > KEPT:
                kept.popitem(last=False)
        return _told(read, start)

    return Tool(SPEC, run, timeout=TIMEOUT)


def _read(page: Page) -> Read:
    """The page's text, without what nobody sees. Raises `ToolFailed` where it is none, or the server has no page."""
    if page.status >= 400 and not response.is_text(page):
        raise ToolFailed(_failed(page))
    response.check(page)
    text = decoded(page.body, page.charset)
    notes = [] if page.cut is None else [sentences.WEB_CUT[page.cut].format(size=len(page.body))]
    if page.kind in _HTML or (page.kind not in ("application/json", "text/plain") and _LOOKS_LIKE_HTML.match(text)):
        found = text_of_html(text, page.url)
        text = found.text
        if found.simplified:
            notes.append(sentences.WEB_THINNED)
    read = Read(page, harmless(text), tuple(notes))
    if page.status >= 400:
        raise ToolFailed(_failed(page, read))
    return read


def _told(read: Read, start: int) -> str:
    size = len(read.text)
    if start and start >= size:
        raise ToolFailed(sentences.WEB_PAST.format(url=read.page.url, size=size))
    piece = head_of(read.text[start : start + PIECE], PIECE)
    end, notes = start + len(piece), read.notes
    if start or end < size:
        told = sentences.WEB_PIECE.format(start=start, end=end, size=size)
        notes = (*notes, sentences.WEB_MORE.format(piece=told, end=end) if end < size else told)
    return marked(piece.strip("\n") or sentences.WEB_EMPTY, _source(read.page, notes))


def _failed(page: Page, read: Read | None = None) -> str:
    """One sentence, and the beginning of what the server says about it."""
    wait = sentences.WAIT.format(seconds=page.wait) if page.wait is not None else ""
    told = sentences.WEB_STATUS.format(url=page.url, status=response.status_text(page.status), wait=wait)
    words = read.text[:OF_A_FAILURE].strip() if read else ""
    return f"{told}\n{marked(words, _source(page, read.notes))}" if read and words else told


def _source(page: Page, notes: tuple[str, ...]) -> str:
    return sentences.WEB_PAGE.format(
        url=page.url,
        status=response.status_text(page.status),
        kind=page.kind or "no type",
        size=len(page.body),
        notes="".join(f"; {each}" for each in notes),
    )
