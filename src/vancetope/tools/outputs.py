"""A result's text, bounded: its head, its tail, and how to read what lies between."""

from __future__ import annotations

from vancetope import sentences
from vancetope.tools.blobs import Blobs


def bounded(text: str, call_id: str, cap: int, blobs: Blobs) -> tuple[str, str | None]:
    """The text in at most `cap` bytes of UTF-8, and the handle of the whole where it was cut.

    Three quarters are the head and a quarter is the tail; both end at characters. `text` is printable.
    """
    if len(text) <= cap and (len(text) * 4 <= cap or len(text.encode()) <= cap):
        return text, None
    handle = blobs.put(call_id, text)
    longest = _marker(len(text), len(text), handle, len(text))
    room = max(0, cap - len(longest.encode()) - 2)
    head = head_of(text, room * 3 // 4)
    tail = tail_of(text, room - room * 3 // 4)
    marker = _marker(len(text) - len(head) - len(tail), len(text), handle, len(head))
    return f"{head}\n{marker}\n{tail}", handle


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
