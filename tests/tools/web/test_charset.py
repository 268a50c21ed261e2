from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.web.serving import body_of, fetched, page, serving
from vancetope.tools.web.charset import _CODECS, decoded

TEXT = "Grüße, naïve café"


@pytest.mark.parametrize(
    ("body", "told", "text"),
    [
        (TEXT.encode(), "utf-8", TEXT),
        (TEXT.encode(), "", TEXT),
        (TEXT.encode("latin-1"), "ISO-8859-1", TEXT),
        (TEXT.encode("latin-1"), "", TEXT),
        ("“quoted” 5 €".encode("cp1252"), "iso-8859-1", "“quoted” 5 €"),
        ("Привет".encode("cp1251"), "windows-1251", "Привет"),
        ("Привет".encode("koi8-r"), "KOI8-R", "Привет"),
        ("日本語".encode("shift_jis"), "Shift_JIS", "日本語"),
        ("日本語".encode("euc_jp"), "euc-jp", "日本語"),
        ("中文㐀".encode("gb18030"), "gb2312", "中文㐀"),
        ("中文".encode("big5"), "big5", "中文"),
        ("한국어".encode("euc_kr"), "euc-kr", "한국어"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "windows-1252", TEXT),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-8", TEXT),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "", TEXT),
        (b'<meta charset="windows-1251">' + "Привет".encode("cp1251"), "", '<meta charset="windows-1251">Привет'),
        (b"<meta charset=utf-16>" + TEXT.encode(), "", "<meta charset=utf-16>" + TEXT),
        (b"<meta charset=koi8-r>" + TEXT.encode(), "utf-8", "<meta charset=koi8-r>" + TEXT),
        (b'<?xml version="1.0" encoding="iso-8859-2"?>\xb1', "", '<?xml version="1.0" encoding="iso-8859-2"?>ą'),
        (b"a\xffb", "utf-8", "a\ufffdb"),
        ("ü".encode() * 5 + "ü".encode()[:1], "", "üüüüü\ufffd"),
        (b"", "utf-8", ""),
    ],
)
def test_bytes_become_the_text_that_was_meant(body: bytes, told: str, text: str) -> None:
    assert decoded(body, told) == text


def test_the_label_in_an_old_meta_element_counts() -> None:
    head = b'<META http-equiv="Content-Type" content="text/html; charset=iso-8859-5">'
    assert decoded(head + "Привет".encode("iso8859-5"), "").endswith("Привет")


@pytest.mark.parametrize(
    "label",
    ["zlib_codec", "base64", "rot13", "unicode_escape", "idna", "punycode", "utf-7", "undefined", "mbcs", "x" * 99],
)
def test_a_label_that_is_no_character_set_counts_for_nothing(label: str) -> None:
    assert decoded(b"a\\u0041+AEE-", label) == "a\\u0041+AEE-"


def test_every_codec_is_there() -> None:
    for codec in _CODECS:
        b"a".decode(codec, "replace")


@given(st.binary(max_size=200), st.sampled_from(["", *(label for all_ in _CODECS.values() for label in all_.split())]))
def test_no_bytes_and_no_label_fail(body: bytes, told: str) -> None:
    assert isinstance(decoded(body, told), str)


async def test_the_charset_of_the_header_is_used() -> None:
    async with serving(page("<p>Привет".encode("cp1251"), 'text/html; charset="windows-1251"')) as site:
        assert body_of(await fetched(site)) == "Привет"


async def test_utf_16_is_text() -> None:
    async with serving(page("\ufeff<p>Hello".encode("utf-16-le"))) as site:
        assert body_of(await fetched(site)) == "Hello"
