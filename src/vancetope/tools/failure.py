"""A failed call, in words for the model."""

from __future__ import annotations

from vancetope import sentences
from vancetope.tools.threads import ThreadLeft


class ToolFailed(Exception):
    """What a tool raises to tell the model why it failed; its text is the error result, nothing is added."""


def failure_text(error: BaseException) -> str:
    """The type and the text of an exception, never blank; of a group also those of its first three members."""
    if isinstance(error, ThreadLeft):
        error = error.cause
    try:
        said = str(error).strip()
    except Exception:
        said = ""
    kind = type(error).__name__
    if said and isinstance(error, ToolFailed):
        return said
    text = f"{kind}: {said}" if said else sentences.NO_MESSAGE.format(kind=kind)
    if isinstance(error, BaseExceptionGroup):
        text = "\n".join((text, *(f"- {failure_text(each)}" for each in error.exceptions[:3])))
    return text
