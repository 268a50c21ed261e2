"""HTML made small and harmless to parse: only what its text needs, and balanced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

DEEPEST = 256
"""Levels; parsing takes time with their square, and browsers stop at 512."""
MOST = 120_000
"""Tags; the largest pages that people read have a tenth of it."""

_TAG = re.compile(
    r"<(/?)([a-zA-Z][^\s/>]*+)((?:[^>=\"']++|=\s*+(?:\"[^\"]*+\"|'[^']*+')|[=\"'])*+)>",
)
_ATTRIBUTE = re.compile(r"([^\s/>=\"']++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?+")
_OF_INTEREST = re.compile(r"\b(?:href|hidden|style|aria-hidden|role|alt|start)\b", re.IGNORECASE)
_UNSEEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    r"|(?:opacity|font-size|max-height)\s*:\s*0(?:\.0+)?(?:px|em|rem|%|pt)?\s*(?:!\s*important\s*)?(?:;|\Z)",
    re.IGNORECASE,
)

# Their content is no markup and nothing to read: it goes with them.
_RAW = frozenset({"script", "style", "iframe", "noembed", "noframes", "textarea", "xmp"})
# Their content goes with them too.
_UNREAD = frozenset({"template", "select", "datalist", "svg", "canvas", "audio", "video", "object", "map", "dialog"})
_FOREIGN = ("svg", "math")  # in these, <path/> ends at once; elsewhere the slash says nothing
_ASIDE = frozenset({"nav", "aside", "footer", "menu"})
_ASIDE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar", "toolbar"}
)
# A new one ends the one before, and their end tags are often left out; what holds them bounds how deep they nest.
_LOOSE = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot"})
_KEPT = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "caption", "pre", "blockquote", "article", "header"}
)
_VOID = frozenset({"br", "hr", "img", "base"})
_VOID_UNUSED = frozenset({"input", "meta", "link", "area", "col", "embed", "source", "track", "wbr", "param", "keygen"})
_SKIPPED = frozenset({"html", "head", "body", "frameset", "colgroup", "noscript", "bgsound", "frame"})
_HIDDEN = " hidden"
_BLOCKS = frozenset(
    {"div", "section", "main", "form", "fieldset", "details", "summary", "figure", "figcaption", "address", "legend"}
    | {"center", "hgroup", "dir", "listing", "optgroup", "option", "search", *_ASIDE}
)


@dataclass(slots=True)
class Thinned:
    """HTML of few tags, no formatting and no raw text; `title` is the page's, `base` what its links start from.

    It holds at most `MOST` tags, nests at most `DEEPEST` levels besides paragraphs, items and cells, and every `<` in
    it begins a tag. `simplified` says that tags were left out for these bounds; their text is kept.

    What is hidden is gone, but for paragraphs, items and cells: they carry `hidden`.

    Elements: headings, lists, tables, `p`, `pre`, `blockquote`, `br`, `hr`, `img`, `article`, `header`; every other is
    a `div` (a block) or a `span`. Attributes: `hidden`, `aside` (beside the content), `main`, `href`, `alt`, `start`.
    """

    html: str
    title: str
    base: str
    simplified: bool


def thinned(html: str) -> Thinned:
    """Linear in time, whatever the HTML."""
    state = _State()
    state.out.extend(state.pieces(html))
    while state.open:
        state.out.append(f"</{state.open.pop()[1]}>")
    return Thinned("".join(state.out), state.title or "", state.base or "", state.simplified)


@dataclass(slots=True)
class _State:
    out: list[str] = field(default_factory=list)
    open: list[tuple[str, str]] = field(default_factory=list)
    """The names of the open elements, as they stand in the page and as they are written."""
    count: dict[str, int] = field(default_factory=dict)
    within: dict[str, int] | None = None
    """While it is inside a hidden element: how many of each name are open in there, itself included."""
    hider: str = ""
    tags: int = 0
    title: str | None = None
    base: str | None = None
    simplified: bool = False

    def pieces(self, html: str) -> Iterator[str]:
        at, size = 0, len(html)
        while at < size:
            start = html.find("<", at)
            if self.within is None:
                yield html[at:start] if start >= 0 else html[at:]
            if start < 0:
                return
            following = html[start + 1 : start + 3]
            if following[:1] in ("!", "?") or (following[:1] == "/" and not following[1:].isalpha()):
                at = _after_comment(html, start)
            elif (tag := _TAG.match(html, start)) is not None:
                at = tag.end()
                name = tag[2].lower()
                if not tag[1] and (name in _RAW or name == "title"):
                    at = self._raw(name, html, at)
                elif self.within is None or (tag[1] and self._unhidden(name)):
                    yield from self._ended(name) if tag[1] else self._started(name, tag[3])
                elif not tag[1]:
                    self._hidden(name, tag[3])
            elif following[:1].isascii() and following.lstrip("/")[:1].isalpha():
                return  # a tag without an end: as in browsers, nothing follows
            else:
                at = start + 1
                if self.within is None:
                    yield "&lt;"

    def _hidden(self, name: str, attributes: str) -> None:
        """An element begins in a hidden one."""
        assert self.within is not None
        if name not in _VOID and name not in _VOID_UNUSED and not (attributes.endswith("/") and self._is_foreign()):
            self.within[name] = self.within.get(name, 0) + 1

    def _unhidden(self, name: str) -> bool:
        """An element ends in a hidden one; whether it is one around the hidden one, which ends with it."""
        assert self.within is not None
        if self.within.get(name):
            self.within[name] -= 1
            if name == self.hider and not self.within[name]:
                self.within = None
            return False
        if self.count.get(name) or name in ("li", "td", "th", "tr"):
            self.within = None
            return True
        return False

    def _is_foreign(self) -> bool:
        return self.within is not None and any(map(self.within.get, _FOREIGN))

    def _raw(self, name: str, html: str, at: int) -> int:
        """Pass over raw text to the place after its end tag; keep the first title."""
        end = re.compile(rf"</{name}(?=[\s/>])[^>]*+>?", re.IGNORECASE).search(html, at)
        if name == "title" and self.title is None:
            self.title = html[at : end.start() if end else at + 1000]
        return end.end() if end else len(html)

    def _started(self, name: str, attributes: str) -> Iterator[str]:
        if name in _SKIPPED or name in _VOID_UNUSED:
            return
        if name == "base":
            self.base = self.base if self.base is not None else _attributes(attributes).get("href")
            return
        told = _told(name, attributes)
        if told == _HIDDEN and name not in _LOOSE:
            if name not in _VOID and not (name in _FOREIGN and attributes.endswith("/")):
                self.within, self.hider = {name: 1}, name
            return
        self.tags += 1
        if self.tags > MOST:
            self.simplified = True
            yield " "
        elif name in _VOID or name in _LOOSE:
            yield f"<{name}{told}>"
        elif len(self.open) >= DEEPEST:
            self.simplified = True
            yield " "
        else:
            written = name if name in _KEPT else "div" if name in _BLOCKS else "span"
            self.open.append((name, written))
            self.count[name] = self.count.get(name, 0) + 1
            yield f"<{written}{told}>"

    def _ended(self, name: str) -> Iterator[str]:
        """The end of an element, and of those that are still open in it; nothing outside ends inside a table."""
        if name == "br":
            yield "<br>"
        elif name in _LOOSE:
            if self.tags <= MOST:
                self.tags += 1
                yield f"</{name}>"
        elif self.count.get(name):
            inner = next(n for n in range(len(self.open) - 1, -1, -1) if self.open[n][0] in (name, "table"))
            if self.open[inner][0] != name:
                return
            while len(self.open) > inner:
                ended, written = self.open.pop()
                self.count[ended] -= 1
                yield f"</{written}>"


def _after_comment(html: str, start: int) -> int:
    if html.startswith("<!--", start):
        if html.startswith(("<!-->", "<!--->"), start):
            return html.index(">", start) + 1
        end = html.find("-->", start + 4)
        return end + 3 if end >= 0 else len(html)
    end = html.find(">", start)
    return end + 1 if end >= 0 else len(html)


def _told(name: str, attributes: str) -> str:
    """The attributes of interest, as they are written; for a hidden element only that it is."""
    told = _HIDDEN if name in _UNREAD else " aside" if name in _ASIDE else " main" if name == "main" else ""
    if not attributes or not _OF_INTEREST.search(attributes):
        return told
    given = _attributes(attributes)
    if (
        given.get("hidden", "until-found").strip().lower() != "until-found"
        or given.get("aria-hidden", "").strip().lower() == "true"
        or _UNSEEN_STYLE.search(given.get("style", ""))
    ):
        return _HIDDEN
    role = given.get("role", "").strip().lower()
    if role in _ASIDE_ROLES or role == "main":
        told = " main" if role == "main" else " aside"
    for key, owner in (("href", "a"), ("alt", "img"), ("start", "ol")):
        if name == owner and given.get(key, "").strip():
            told += f' {key}="{_escaped(given[key])}"'
    return told


def _attributes(text: str) -> dict[str, str]:
    """The first of each name."""
    given: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(text):
        given.setdefault(found[1].lower(), found[2] or found[3] or found[4] or "")
    return given


def _escaped(value: str) -> str:
    return value.replace('"', "&quot;").replace("<", "&lt;")
