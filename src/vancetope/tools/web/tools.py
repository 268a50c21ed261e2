"""The tools for the web, together."""

from __future__ import annotations

from vancetope.tools.base import Tool
from vancetope.tools.web.fetch import web_fetch
from vancetope.tools.web.rules import WebRules
from vancetope.tools.web.search import SearchProvider, web_search


def web_tools(rules: WebRules, provider: SearchProvider | None) -> tuple[Tool, ...]:
    """`web_fetch` and, where there is a provider, `web_search`. Nothing is connected before a call."""
    return (web_fetch(rules), web_search(provider)) if provider is not None else (web_fetch(rules),)
