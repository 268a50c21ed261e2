"""From HTML to the text that a person would read."""

from __future__ import annotations

import html as entities
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vancetope.tools.web.tags import thinned

if TYPE_CHECKING:
    import httpx
    from selectolax.lexbor import LexborNode

LONGEST_LINK = 1_000
"""Characters of an address that is still shown."""
DEEPEST_INDENT = 8
"""Lists and quotations within each other that are still indented."""

_STEP = 1 << 17
_SPACE = re.compile(r"[ \t\n\r\f\v\xa0]+")
_AROUND_BREAK = re.compile(r" *\n *")
_BLOCKS = frozenset({"div", "p", "li", "dt", "dd", "article", "header", "caption", "tr"})
_APART = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "table", "dl"})
_IN_LAYOUT = "table, ul, ol, dl, pre, blockquote, h1, h2, h3, h4"


@dataclass(frozen=True, slots=True)
class Text:
    """`simplified` as of `tags.Thinned`."""

    text: str
    simplified: bool


def text_of_html(html: str, url: str) -> Text:
    """The title, then the main content: headings as `#`, paragraphs apart, items with `-` or their numbers, rows of
    tables as `a | b`, code between fences, links as `[text](address)` with their addresses in full.

    What a reader does not see is left out, and so are navigation and footers, unless the page has nothing else. Linear
    in time, and needs no network.
    """
    from selectolax.lexbor import LexborHTMLParser

    page = thinned(html)
    base = _base(url, page.base)
    tree = LexborHTMLParser(page.html)
    text = ""
    if tree.body is not None:
        text = _written(_content(tree.body), base, skip_asides=True) or _written(tree.body, base, skip_asides=False)
    title = _SPACE.sub(" ", entities.unescape(page.title)).strip()
    if title and not text.startswith(f"# {title}\n") and text != f"# {title}":
        text = f"# {title}\n\n{text}".rstrip()
    return Text(text, page.simplified)


def _base(url: str, told: str) -> httpx.URL:
    import httpx

    own = httpx.URL(url)
    try:
        return own.join(entities.unescape(told).strip())
    except (httpx.InvalidURL, ValueError, TypeError):
        return own


def _content(body: LexborNode) -> LexborNode:
    """The element that holds the page's own text: its main part, or its only article, if most of the text is there."""
    for selector in ("[main]", "article"):
        found = body.css(f"{selector}:not([hidden])")
        if len(found) == 1:
            whole, part = _length(body), _length(found[0])
            if part >= 200 or part * 2 >= whole:
                return found[0] if selector == "[main]" or part * 2 >= whole else body
    return body


def _length(node: LexborNode) -> int:
    return len(node.text().split())


def _written(root: LexborNode, base: httpx.URL, *, skip_asides: bool) -> str:
    writer, root_id = _Writer(base), root.mem_id  # two nodes are compared by their whole HTML
    node: LexborNode | None = root
    while node is not None:
        if _is_read(node, skip_asides) and writer.enter(node) and (child := node.first_child) is not None:
            node = child
            continue
        while node is not None:
            writer.leave(node)
            if node.mem_id == root_id:
                node = None
            elif (following := node.next) is not None:
                node = following
                break
            else:
                node = node.parent
    return writer.text()


def _is_read(node: LexborNode, skip_asides: bool) -> bool:
    tag = node.tag or ""
    if tag == "-text":
        return True
    if tag.startswith("-"):
        return False
    given = node.attributes
    if "hidden" in given or (skip_asides and "aside" in given):
        return False
    # A page's header holds its navigation; one with a heading is an article's.
    return not (skip_asides and tag == "header" and node.css_first("h1, h2, h3") is None)


def _spaced(text: str) -> str:
    """With single spaces, in steps: a regular expression holds up all threads until it is through."""
    if len(text) <= _STEP:
        return _SPACE.sub(" ", text)
    return "".join(_SPACE.sub(" ", text[start : start + _STEP]) for start in range(0, len(text), _STEP))


@dataclass(slots=True)
class _Container:
    """A list, an item or a quotation that the text stands in; `mark` is written once, before its first line."""

    tag: str
    number: int = 0
    mark: str = ""
    indent: str = ""


@dataclass(slots=True)
class _Writer:
    base: httpx.URL
    lines: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    gap: int = 0
    """Line ends that are due before the next text: 1 for a new line, 2 for a paragraph."""
    containers: list[_Container] = field(default_factory=list)
    quotes: str = ""
    """The marks of quotations before the last line."""
    heading: str = ""
    link: tuple[int, str] | None = None
    """Where in `pieces` the open link began, and its address."""
    pre: int = 0
    cells: list[list[str]] = field(default_factory=list)
    """For each table that is written in rows, the finished cells of its row."""
    tables: list[bool] = field(default_factory=list)
    """For each open table whether it is written in rows; others only arrange what is on the page."""

    def text(self) -> str:
        self._flush()
        return "".join(self.lines).strip("\n")

    def enter(self, node: LexborNode) -> bool:
        """Begin an element or add a text; whether to go into it."""
        tag = node.tag or ""
        if tag == "-text":
            self.pieces.append(node.text() if self.pre else _spaced(node.text()))
        elif tag == "br":
            self.pieces.append("\n")
        elif tag == "hr":
            self._break(2)
        elif tag == "img":
            self._image(node)
        elif tag == "span":
            self._link(node)
        elif tag == "table":
            self._table(node)
        elif tag in ("ul", "ol"):
            self._list(node)
        else:
            self._block(tag)
        return True

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "span":
            if self.link is not None and node.attributes.get("href"):
                self._end_link()
        elif tag == "pre":
            self._flush()
            self.pre = max(0, self.pre - 1)
            self.gap = 2
        elif tag in ("td", "th"):
            self._cell()
        elif tag == "tr" or (tag == "caption" and self._in_rows()):
            self._row() if tag == "tr" else self._write_line()
        elif tag == "table":
            self._end_table()
        elif tag in ("ul", "ol", "li", "blockquote"):
            self._end_container(tag)
        elif tag in _BLOCKS or tag in _APART:
            self._break(2 if tag in _APART else 1)
            self.heading = ""

    def _block(self, tag: str) -> None:
        if tag == "li":
            self._item()
            return
        if tag in ("td", "th"):
            if not self._in_rows():
                self._break(1)
            return
        if tag in _BLOCKS or tag in _APART:
            self._break(2 if tag in _APART else 1)
        if tag == "pre":
            self.pre += 1
        elif tag == "blockquote":
            self.containers.append(_Container(tag, indent="> "))
        elif tag == "dd":
            self.pieces.append("  ")
        elif tag[:1] == "h" and tag[1:].isdigit():
            self.heading = "#" * int(tag[1:]) + " "

    def _in_rows(self) -> bool:
        return bool(self.tables) and self.tables[-1]

    def _break(self, gap: int) -> None:
        """End the line; within a cell of a row it goes on."""
        if self._in_rows():
            self.pieces.append(" ")
            return
        self._flush()
        self.gap = max(self.gap, gap)

    def _list(self, node: LexborNode) -> None:
        nested = any(each.tag in ("ul", "ol") for each in self.containers)
        self._break(1 if nested else 2)
        start = node.attributes.get("start") or ""
        number = int(start) if re.fullmatch(r"-?[0-9]{1,6}", start) else 1
        self.containers.append(_Container(node.tag or "", number))

    def _item(self) -> None:
        self._break(1)
        holder = next((each for each in reversed(self.containers) if each.tag in ("ul", "ol")), None)
        mark = "- "
        if holder is not None and holder.tag == "ol":
            mark, holder.number = f"{holder.number}. ", holder.number + 1
        self.containers.append(_Container("li", mark=mark, indent=" " * len(mark)))

    def _end_container(self, tag: str) -> None:
        nested = any(each.tag in ("ul", "ol") for each in self.containers[:-1])
        self._break(1 if tag == "li" or (tag != "blockquote" and nested) else 2)
        if self.containers and self.containers[-1].tag == tag:
            self.containers.pop()

    def _link(self, node: LexborNode) -> None:
        href = node.attributes.get("href")
        if not href or self.pre:
            return
        if self.link is not None:
            self._end_link()
        if address := self._address(href):
            self.link = (len(self.pieces), address)

    def _end_link(self) -> None:
        assert self.link is not None
        (start, address), self.link = self.link, None
        raw = "".join(self.pieces[start:])
        text = _SPACE.sub(" ", raw).strip()
        if text and text != address:
            before, after = " " if raw[:1].isspace() else "", " " if raw[-1:].isspace() else ""
            self.pieces[start:] = [f"{before}[{text}]({address}){after}"]

    def _address(self, href: str) -> str | None:
        """The address in full; none for what no GET can reach, for a place on this page, and for credentials."""
        import httpx

        href = href.strip()
        if href.startswith("#") or len(href) > LONGEST_LINK:
            return None
        try:
            full = self.base.join(href)
        except (httpx.InvalidURL, ValueError, TypeError):
            return None
        if full.scheme not in ("http", "https") or "%" in full.host or not full.host or full.userinfo:
            return None
        address = str(full).replace("(", "%28").replace(")", "%29")
        return address if len(address) <= LONGEST_LINK else None

    def _image(self, node: LexborNode) -> None:
        """A picture's text where it is all that a link shows."""
        if self.link is not None and not "".join(self.pieces[self.link[0] :]).strip():
            self.pieces.append(_SPACE.sub(" ", node.attributes.get("alt") or ""))

    def _table(self, node: LexborNode) -> None:
        self._break(2)
        in_rows = all(each.css_first(_IN_LAYOUT) is None for each in node.iter())
        self.tables.append(in_rows)
        if in_rows:
            self.cells.append([])

    def _cell(self) -> None:
        if not self._in_rows():
            self._break(1)
            return
        if self.link is not None:
            self._end_link()
        self.cells[-1].append(_SPACE.sub(" ", "".join(self.pieces)).strip())
        self.pieces.clear()

    def _row(self) -> None:
        if not self._in_rows():
            self._break(1)
            return
        row, self.cells[-1] = self.cells[-1], []
        if any(row):
            self.pieces = [" | ".join(row)]
            self._write_line()
        self.gap = max(self.gap, 1)

    def _end_table(self) -> None:
        if self._in_rows():
            self._row()
            self.cells.pop()
        if self.tables:
            self.tables.pop()
        self._break(2)

    def _flush(self) -> None:
        """Write what has come since the last break."""
        if self.link is not None:
            if "".join(self.pieces[self.link[0] :]).strip():
                self._end_link()
            else:
                self.link = (0, self.link[1])  # a link around blocks: it goes to the first that has text
        self._write_line()

    def _write_line(self) -> None:
        raw = "".join(self.pieces)
        self.pieces.clear()
        if self.pre:
            text = raw.strip("\r\n")
            text = f"```\n{text}\n```" if text.strip() else ""
        else:
            indented = "  " if raw.startswith("  ") and raw.strip() else ""
            text = indented + _AROUND_BREAK.sub("\n", re.sub(r" {2,}", " ", raw)).strip()
        if text.strip():
            self._write(self.heading + text)
            self.gap = max(self.gap, 1)

    def _write(self, text: str) -> None:
        shown = self.containers[:DEEPEST_INDENT]
        quotes = "".join(each.indent for each in shown if each.tag == "blockquote").rstrip()
        if self.lines:
            self.lines.append("\n" if self.gap < 2 else f"\n{quotes}\n" if quotes == self.quotes else "\n\n")
        self.gap, self.quotes = 0, quotes
        indent, first = "".join(each.indent for each in shown), "".join(each.mark or each.indent for each in shown)
        for each in shown:
            each.mark = ""
        self.lines.append(first + text.replace("\n", f"\n{indent}"))
