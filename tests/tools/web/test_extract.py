from __future__ import annotations

import re
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.tools.web.extract import text_of_html
from vancetope.tools.web.tags import DEEPEST, MOST, thinned

URL = "http://site.example/docs/page.html"


def text(html: str) -> str:
    return text_of_html(dedent(html), URL).text


CORPUS = {
    "paragraphs": ("<p>One\n  two <p>Three<div>four</div>five", "One two\n\nThree\n\nfour\nfive"),
    "headings": ("<h1>A <b>b</b></h1><p>x<h2> B </h2>y<h6>C</h6>", "# A b\n\nx\n\n## B\n\ny\n\n###### C"),
    "breaks": ("a<br>b <br/> c</br>d<hr>e", "a\nb\nc\nd\n\ne"),
    "entities": ("<p>&lt;b&gt; &amp;amp; &eacute;&#8364;&nbsp;x &unknown; AT&T", "<b> &amp; é€ x &unknown; AT&T"),
    "a list": ("<ul><li>one<li>two <b>x</b></li><li></li></ul>after", "- one\n- two x\n\nafter"),
    "numbers": ("<ol><li>a<li>b</ol><ol start=7><li>c</ol>", "1. a\n2. b\n\n7. c"),
    "lists in lists": (
        "<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>",
        "- a\n  - b\n    1. c\n- d",
    ),
    "items with paragraphs": ("<ul><li><p>a</p><p>b</p></li><li>c</ul>", "- a\n\n  b\n\n- c"),
    "definitions": ("<dl><dt>T<dd>D<dt>U<dd>E</dl>", "T\n  D\nU\n  E"),
    "a quotation": ("x<blockquote><p>a<p>b<ul><li>c</ul></blockquote>y", "x\n\n> a\n>\n> b\n>\n> - c\n\ny"),
    "code": ("<p>Do:<pre><code>\nif a:\n    <i>b</i> &lt; c\n</code></pre>", "Do:\n\n```\nif a:\n    b < c\n```"),
    "a table": (
        (
            "<table><caption>Sizes</caption><thead><tr><th>Name<th>Size</thead>"
            "<tr><td>a <b>b</b><td>1<br>2<tr><td></table>z"
        ),
        "Sizes\nName | Size\na b | 1 2\n\nz",
    ),
    "an arranged page": (
        "<table><tr><td><ul><li>x<li>y</ul><td><h2>H</h2><p>text</table>",
        "- x\n- y\n\n## H\n\ntext",
    ),
    "a table in a table": (
        "<table><tr><td>left<td><table><tr><td>a<td>b<tr><td>c<td>d</table></table>",
        "left\n\na | b\nc | d",
    ),
    "links": (
        "<p><a href='a.html'>One</a>, <a href='/b?c=d&amp;e=f#g'> Two </a>and <a href='//x.example/'>Three</a>.",
        "[One](http://site.example/docs/a.html), [Two](http://site.example/b?c=d&e=f#g) and [Three](http://x.example/).",
    ),
    "links without use": (
        (
            "<a href='#top'>up</a> <a href='javascript:f()'>js</a> <a href='mailto:a@b.de'>m</a> <a name=x>n</a> "
            "<a href='http://u:pw@x.example/'>c</a> <a href='data:text/html,x'>d</a> <a href='/e'></a><a href='http://[bad'>b</a>"
        ),
        "up js m n c d b",
    ),
    "a link that shows its address": ("<a href=http://x.example/>http://x.example/</a>", "http://x.example/"),
    "a link with a bracket": ("<a href='/a_(b)'>w</a>", "[w](http://site.example/a_%28b%29)"),
    "a link around blocks": (
        "<a href=c><h3>Card</h3><p>text</p></a>",
        "### [Card](http://site.example/docs/c)\n\ntext",
    ),
    "a picture in a link": (
        "<a href=/><img src=x alt='the  logo'></a> <img alt=y>",
        "[the logo](http://site.example/)",
    ),
    "links that never end": (
        "<a href=1>a<a href=2>b<p>c",
        "[a](http://site.example/docs/1)[b](http://site.example/docs/2)\n\nc",
    ),
    "a base": ("<base href='/main/'><base href='/other/'><a href=x>y</a>", "[y](http://site.example/main/x)"),
    "scripts and styles": (
        (
            "a<script>if (1<2) '<p>no'</script><style>p{}</style>b<SCRIPT src=x></SCRIPT >"
            "c<!-- <p>no --><noscript>d</noscript>"
        ),
        "abcd",
    ),
    "what is hidden": (
        (
            "<p hidden>no<p>yes<span style='color:red; DISPLAY : none'>no</span><i aria-hidden=true>no</i>"
            "<template><p>no</template><select><option>no</select><svg><path/><text>no</text></svg>"
            "<span style='opacity:0'>no"
            "</span><span style='font-size:0px;x:y'>no</span><span style='opacity:0.5'>!</span><iframe>no</iframe>"
        ),
        "yes!",
    ),
    "a title": ("<title> My\n&amp; page </title><svg><title>no</title></svg><p>x", "# My & page\n\nx"),
    "a title that is the heading": ("<title>Same</title><h1>Same</h1><p>x", "# Same\n\nx"),
    "only a title": ("<title>T</title>", "# T"),
    "navigation and footer": (
        (
            "<header><a href=/>Home</a></header><nav>no</nav><div role=navigation>no</div>"
            "<p>yes</p><aside>no</aside><footer>no"
        ),
        "yes",
    ),
    "a header with a heading": ("<article><header><h1>T</h1><p>by me</header><p>x</article>", "# T\n\nby me\n\nx"),
    "nothing but navigation": ("<nav><ul><li><a href=a>A</a></ul></nav>", "- [A](http://site.example/docs/a)"),
    "the main part": ("<div>teaser</div><main><p>" + "word " * 250 + "</main><div>more", ("word " * 250).strip()),
    "a small main part is still it": ("<div>teaser</div><main>the only words here</main>", "the only words here"),
    "no tags": ("a < b and c > d <3 <", "a < b and c > d <3 <"),
    "broken tags": ("<p>a<b>b</i>c</p></div></ul></x>d<p", "abc\n\nd"),
    "odd attributes": (
        "<p title='a>b' x=\"<i>\" y = z'>in</p><a\nhref = /q >l</a>",
        "in\n\n[l](http://site.example/q)",
    ),
    "bogus comments": ("a<!x>b<?php echo ?>c</ >d<!-->e<!--->f<![CDATA[g]]>h", "abcdefh"),
    "an end tag in a cell": ("<table><tr><td>a</div><td>b</table>", "a | b"),
}


@pytest.mark.parametrize("name", CORPUS)
def test_html_becomes_what_a_reader_sees(name: str) -> None:
    html, expected = CORPUS[name]
    assert text(html) == expected


def test_a_whole_page() -> None:
    told = text("""\
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><title>Release 2.0 | Project</title>
        <link rel="stylesheet" href="x.css"><script type="application/ld+json">{"@type": "x"}</script></head>
        <body class="docs">
          <a class="skip" href="#content">Skip to content</a>
          <header class="site"><nav><ul><li><a href="/">Home</a></li></ul></nav></header>
          <main id="content">
            <article>
              <h1>Release 2.0</h1>
              <p class="meta">Published on <time datetime="2026-01-02">2 January</time> by <a href="/me">me</a></p>
              <p>This release <em>removes</em> the <code>old()</code> call.</p>
              <h2 id="c">Changes<a class="anchor" href="#c">¶</a></h2>
              <ul>
                <li>Faster start</li>
                <li>New option <code>--fast</code>
                  <ul><li>off by default</li></ul>
                </li>
              </ul>
              <pre class="hl"><span>$</span> pip install <span>project</span></pre>
              <div class="table"><table>
                <tr><th>System</th><th>Works</th></tr>
                <tr><td>Linux</td><td>yes</td></tr>
              </table></div>
            </article>
          </main>
          <footer><p>© 2026</p></footer>
        </body></html>
        """)
    assert told == dedent("""\
        # Release 2.0 | Project

        # Release 2.0

        Published on 2 January by [me](http://site.example/me)

        This release removes the old() call.

        ## Changes¶

        - Faster start
        - New option --fast
          - off by default

        ```
        $ pip install project
        ```

        System | Works
        Linux | yes""")


HOSTILE = [
    "<div>",
    "<p>",
    "<ul><li>",
    "<table><tr><td>",
    "<b>",
    "<a href=x>",
    "<blockquote>x",
    "<h1>",
    "<a ",
    "<",
    "<!--",
]
HOSTILE += [
    "<script>",
    "<title>",
    '<a x="',
    "</div>",
    "<svg><style><b id=1>",
    "<select><option>",
    "<dl><dd><p>",
    "&amp;",
]
HOSTILE += [
    "<template>",
    "<header>x",
    "<math><mi>",
    "<table><div>",
    "<td>",
    "<button><p>",
    "<form>",
    "<article>x",
    "<main>x",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_html_that_nests_or_repeats_without_end_is_read_in_time(piece: str) -> None:
    found = text_of_html("<p>begin</p>" + piece * 100_000, URL)
    assert "begin" in found.text or piece in ("<article>x", "<main>x")
    assert len(found.text) < 4_000_000


def test_formatting_that_each_paragraph_would_repeat_is_read_in_time() -> None:
    html = "<p>" + "".join(f"<b id={n}>" for n in range(5_000)) + "<p>x" * 50_000
    assert text_of_html(html, URL).text.startswith("x\n\nx")


def test_what_nests_too_deep_keeps_its_text_and_says_so() -> None:
    found = text_of_html("<div>" * 100_000 + "deep" + "</div>" * 100_000 + "<p>after", URL)
    assert found.simplified
    assert re.sub(r"\s+", " ", found.text) == "deep after"
    assert not text_of_html("<div>" * DEEPEST + "deep", URL).simplified


def test_a_page_of_more_elements_than_any_keeps_its_text_and_says_so() -> None:
    found = text_of_html("<p>x</p>" * MOST, URL)
    assert found.simplified
    assert found.text.count("x") == MOST


PIECES = st.sampled_from(
    [
        "<div>",
        "</div>",
        "<p>",
        "</p>",
        "<ul>",
        "<li>",
        "</ul>",
        "<table>",
        "<tr>",
        "<td>",
        "</table>",
        "<a href='/x'>",
        "</a>",
        "<b>",
        "<pre>",
        "</pre>",
        "<blockquote>",
        "</blockquote>",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "<svg>",
        "</svg>",
        "<h1>",
        "</h1>",
        "<title>",
        "</title>",
        "<br>",
        "<img alt=x>",
        "<span hidden>",
        "</span>",
        "&lt;",
        "<",
        ">",
        '"',
        "'",
        "<dl>",
        "<dd>",
        "<nav>",
        "</nav>",
        "<main>",
        "<header>",
        "<select>",
        "<template>",
        "<base href=/y/>",
        "<caption>",
        " x ",
    ]
)


@given(st.lists(PIECES | st.text(max_size=6), max_size=40).map("".join))
def test_no_html_fails_and_none_leaves_a_tag_that_was_not_written_here(html: str) -> None:
    page = thinned(html)
    assert isinstance(text_of_html(html, URL).text, str)
    depth = 0
    for tag in re.findall(r"<[^>]*>", page.html):
        found = re.fullmatch(r"<(/?)([a-z0-9]+)((?: (?:hidden|aside|main|(?:href|alt|start)=\"[^\"<]*\"))*)>", tag)
        assert found, tag
        if found[2] not in ("p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "br", "hr", "img"):
            depth += -1 if found[1] else 1
        assert 0 <= depth <= DEEPEST
    assert depth == 0
    assert page.html.count("<") == len(re.findall(r"<[^>]*>", page.html))
