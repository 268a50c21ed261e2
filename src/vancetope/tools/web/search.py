"""`web_search`: hits of a search engine, behind a seam."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal, Protocol, TypeAlias

from vancetope import sentences
from vancetope.messages import ToolSpec
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.failure import ToolFailed
from vancetope.tools.untrusted import marked

LONGEST_QUERY = 400
"""Characters; the engines take no longer ones."""
MOST_HITS = 20
DEFAULT_HITS = 5
LONGEST_TITLE = 200
LONGEST_SNIPPET = 600
LONGEST_URL = 2_000


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a search found. Title and snippet may come with markup; the tool takes it out."""

    title: str
    url: str
    snippet: str


Why: TypeAlias = Literal["key", "forbidden", "limit", "spent", "refused", "unreachable", "failed"]


class SearchFailed(ToolFailed):
    """A search without an answer. `why`: the key is not taken, the search is not permitted, there were too many for now
    (`wait` seconds, where the provider says so), the plan is used up, this query is not taken, the provider cannot be
    reached, or it failed."""

    def __init__(self, text: str, why: Why, wait: float | None = None) -> None:
        super().__init__(text)
        self.why: Why = why
        self.wait = wait


class SearchProvider(Protocol):
    """A search engine.

    Contract: `name` is what people call it, for sentences about it. `search` gives at most `count` hits, best first,
    and an empty sequence where there are none; it raises `SearchFailed` with one sentence for all that prevents an
    answer (a refused key, a limit, a server out of reach), without the key in it. It does not block the event loop,
    and when it is cancelled nothing of it goes on.
    """

    @property
    def name(self) -> str: ...

    async def search(self, query: str, count: int) -> Sequence[Hit]: ...


def web_search(provider: SearchProvider, *, with_fetch: bool = True) -> Tool:
    """The tool `web_search(query, count=5)` over this provider. `with_fetch` says that there is `web_fetch` beside it.

    Only http and https addresses are given, each once, with titles and snippets as plain text, all marked as untrusted.
    """
    parameters = {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": LONGEST_QUERY,
                "description": sentences.WEB_SEARCH_QUERY,
            },
            "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_HITS,
                "default": DEFAULT_HITS,
                "description": sentences.WEB_SEARCH_COUNT,
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    description = sentences.WEB_SEARCH if with_fetch else sentences.WEB_SEARCH_BARE

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:  # noqa: ARG001
        query, count = " ".join(arguments["query"].split()), int(arguments.get("count", DEFAULT_HITS))
        shown = json.dumps(query, ensure_ascii=False)
        hits = cleaned(await provider.search(query, count), count) if query else ()
        if not hits:
            return sentences.WEB_NO_HITS.format(provider=provider.name, query=shown)
        text = "\n\n".join(_told(number, hit) for number, hit in enumerate(hits, 1))
        return marked(text, sentences.WEB_HITS.format(query=shown, count=len(hits), provider=provider.name))

    return Tool(ToolSpec("web_search", description, parameters), run)


def cleaned(hits: Sequence[Hit], count: int) -> tuple[Hit, ...]:
    """At most `count` hits with http(s) addresses, each address once, with plain and short texts."""
    found: dict[str, Hit] = {}
    for hit in hits:
        url = hit.url.strip()
        if not re.fullmatch(r"https?://[^\s<>\"]+", url, re.IGNORECASE) or len(url) > LONGEST_URL:
            continue
        title = _short(plain(hit.title), LONGEST_TITLE)
        found.setdefault(_key(url), Hit(title or url, url, _short(plain(hit.snippet), LONGEST_SNIPPET)))
    return tuple(found.values())[:count]


def plain(text: str) -> str:
    """On one line, without tags and entities. Text that only looks like a tag (`a < b`) stays."""
    return " ".join(unescape(re.sub(r"</?[a-zA-Z][^<>]{0,200}>", "", text[:20_000])).split())


def _short(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    return f"{text[:size].rsplit(' ', 1)[0] or text[:size]} ..."


def _key(url: str) -> str:
    """The same for addresses of one page: without scheme, fragment, case of the host and final slash."""
    rest = url.partition("://")[2].partition("#")[0]
    host, slash, path = rest.partition("/")
    return f"{host.lower()}{slash}{path}".removesuffix("/")


def _told(number: int, hit: Hit) -> str:
    lines = [f"{number}. {hit.title}", f"   {hit.url}"]
    if hit.snippet:
        lines.append(f"   {hit.snippet}")
    return "\n".join(lines)
