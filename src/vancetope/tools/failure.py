"""A failed call, in words for the model."""

from __future__ import annotations

import threading

from vancetope import sentences

_LEVELS = 4


class ToolFailed(Exception):
    """What a tool raises to tell the model why it failed; its text is the error result, nothing is added."""


class Exited(Exception):
    """The tool raised something that is made to end a program or a thread (`sys.exit()`), and does not: `cause`."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


def is_ctrl_c(error: BaseException) -> bool:
    """Whether a person may have stopped the program: signals reach its main thread only, and there one cannot tell who
    raised `KeyboardInterrupt`. Everything else that a tool raises is the tool's own."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def failure_text(error: BaseException, levels: int = _LEVELS) -> str:
    """The type and the text of an exception, never blank; of a group also those of its first three members, and of
    groups in it down to `levels`."""
    if isinstance(error, Exited):
        error = error.cause
    said = _said(error)
    kind = type(error).__name__
    if said and isinstance(error, ToolFailed):
        return said
    text = f"{kind}: {said}" if said else sentences.NO_MESSAGE.format(kind=kind)
    if isinstance(error, BaseExceptionGroup) and levels:
        text = "\n".join((text, *(f"- {failure_text(each, levels - 1)}" for each in error.exceptions[:3])))
    return text


def _said(error: BaseException) -> str:
    try:
        return str(error).strip()
    except BaseException as another:
        if is_ctrl_c(another):
            raise
        return ""
