"""A result's text, bounded: its head, its tail, and how to read what lies between."""

from __future__ import annotations

from collections.abc import Callable

from vancetope import sentences
from vancetope.tools.blobs import Blobs


def shortened(text: str, cap: int) -> str:
    """An error's text in at most `cap` bytes of UTF-8, its head and its tail; what lies between is not kept."""
    if _fits(text, cap):
        return text
    return _cut(text, cap, lambda left_out, _: sentences.CUT_ERROR.format(left_out=left_out, size=len(text)))


def bounded(text: str, call_id: str, cap: int, blobs: Blobs) -> tuple[str, str | None]:
    """The text in at most `cap` bytes of UTF-8, and the handle of the whole where it was cut.

    Three quarters are the head and a quarter is the tail; both end at characters. `text` is printable.
    """
    if _fits(text, cap):
        return text, None
    handle = blobs.put(call_id, text)
    return _cut(text, cap, lambda left_out, offset: _marker(left_out, len(text), handle, offset)), handle


def _fits(text: str, cap: int) -> bool:
    return len(text) <= cap and (len(text) * 4 <= cap or len(text.encode()) <= cap)


def _cut(text: str, cap: int, marker: Callable[[int, int], str]) -> str:
    """Head, marker and tail in `cap` bytes; the marker is told how much is left out, and where that begins."""
    longest = marker(len(text), len(text))
    room = max(0, cap - len(longest.encode()) - 2)
    head = head_of(text, room * 3 // 4)
    tail = tail_of(text, room - room * 3 // 4)
    return f"{head}\n{marker(len(text) - len(head) - len(tail), len(head))}\n{tail}"


def head_of(text: str, size: int) -> str:
    """The longest beginning of the text that fits `size` bytes of UTF-8."""
    return text[:size].encode()[:size].decode(errors="ignore")


def tail_of(text: str, size: int) -> str:
    """The longest end of the text that fits `size` bytes of UTF-8."""
    if size <= 0:
        return ""
    return text[-size:].encode()[-size:].decode(errors="ignore")


def _marker(left_out: int, size: int, handle: str | None, offset: int) -> str:
    if handle is None:
        return sentences.CUT_UNKEPT.format(left_out=left_out, size=size)
    return sentences.CUT.format(left_out=left_out, size=size, handle=handle, offset=offset)
