"""From a page's bytes to its text."""

from __future__ import annotations

import re

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
_PRESCAN = 4096

# Labels in common use, as browsers read them: the smaller sets are read as their supersets. A label that is not here
# counts for nothing, so that no page picks one of Python's codecs that are no character sets.
_CODECS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8",
    "utf-16-le": "utf-16 utf-16le unicode",
    "utf-16-be": "utf-16be",
    "cp1252": "windows-1252 cp1252 iso-8859-1 iso8859-1 latin1 latin-1 l1 us-ascii ascii ansi_x3.4-1968",
    "cp1250": "windows-1250 cp1250",
    "cp1251": "windows-1251 cp1251",
    "cp1253": "windows-1253 cp1253",
    "cp1254": "windows-1254 cp1254 iso-8859-9 latin5",
    "cp1255": "windows-1255 cp1255",
    "cp1256": "windows-1256 cp1256",
    "cp1257": "windows-1257 cp1257",
    "cp1258": "windows-1258 cp1258",
    "cp866": "ibm866 cp866 866",
    "iso8859-2": "iso-8859-2 iso8859-2 latin2",
    "iso8859-3": "iso-8859-3",
    "iso8859-4": "iso-8859-4",
    "iso8859-5": "iso-8859-5",
    "iso8859-6": "iso-8859-6",
    "iso8859-7": "iso-8859-7",
    "iso8859-8": "iso-8859-8 iso-8859-8-i",
    "iso8859-10": "iso-8859-10",
    "iso8859-13": "iso-8859-13",
    "iso8859-14": "iso-8859-14",
    "iso8859-15": "iso-8859-15 latin-9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8 koi",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman",
    "cp874": "windows-874 tis-620 iso-8859-11",
    "gb18030": "gb2312 gbk gb18030 x-gbk gb_2312-80 chinese",
    "big5hkscs": "big5 big5-hkscs x-x-big5 cn-big5",
    "euc_jp": "euc-jp x-euc-jp",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j",
    "iso2022_jp": "iso-2022-jp",
    "cp949": "euc-kr ks_c_5601-1987 korean windows-949",
}
_BY_LABEL = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}


def decoded(body: bytes, told: str) -> str:
    """The text, line ends as they are. A byte order mark counts first, then `told` (the header's label), then what the
    page says of itself, then UTF-8 if it fits, then Windows-1252. Never raises: what does not fit is replaced."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    if named := _BY_LABEL.get(told.lower()) or _said(body):
        return body.decode(named, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        # Only its last character is broken: it was cut, and the rest is UTF-8.
        if error.start >= len(body) - 3:
            return body.decode(errors="replace")
        return body.decode("cp1252", "replace")


def _said(body: bytes) -> str | None:
    """The codec that the page names. It can be read, so the page is not in UTF-16 whatever it names."""
    found = _XML.match(body) or _META.search(body[:_PRESCAN])
    codec = _BY_LABEL.get(found[1].decode("ascii", "replace").lower()) if found else None
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec
