"""`result_read`: the rest of a result that was cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vancetope import sentences
from vancetope.messages import ToolSpec
from vancetope.tools.base import Tool, ToolContext
from vancetope.tools.blobs import Blobs
from vancetope.tools.failure import ToolFailed
from vancetope.tools.outputs import head_of
from vancetope.tools.untrusted import FRAME, is_marked, marked

SPEC = ToolSpec(
    "result_read",
    sentences.RESULT_READ,
    {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": sentences.RESULT_READ_HANDLE},
            "offset": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": sentences.RESULT_READ_OFFSET,
            },
            "length": {"type": "integer", "minimum": 1, "description": sentences.RESULT_READ_LENGTH},
        },
        "required": ["handle"],
        "additionalProperties": False,
    },
)


def result_read(blobs: Blobs, output_cap: int = 32 * 1024) -> Tool:
    """The tool over these blobs; its own answer fits `output_cap` bytes, so that it is never cut itself."""

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:  # noqa: ARG001
        handle, start = arguments["handle"], int(arguments.get("offset", 0))
        text = blobs.get(handle)
        if text is None:
            known = ", ".join(blobs.handles()[-5:])
            raise ToolFailed(
                sentences.RESULT_READ_UNKNOWN.format(
                    handle=handle[:60], known=f"known: {known}" if known else "nothing was cut yet"
                )
            )
        if start >= len(text):
            raise ToolFailed(sentences.RESULT_READ_PAST.format(handle=handle, size=len(text)))
        return _piece(text, handle, start, int(arguments.get("length", len(text))), output_cap)

    return Tool(SPEC, run)


def _piece(text: str, handle: str, start: int, length: int, cap: int) -> str:
    outside = is_marked(text)
    room = max(4, cap - 200 - (FRAME if outside else 0))
    piece = head_of(text[start : start + min(length, room)], room)
    end = start + len(piece)
    more = f"; read on at offset {end}" if end < len(text) else ""
    head = sentences.RESULT_READ_PIECE.format(handle=handle, start=start, end=end, size=len(text), more=more)
    return head + (marked(piece, handle) if outside else piece)
