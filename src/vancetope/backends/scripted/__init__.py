"""A model that says what you tell it: for tests of your own agents, for demos without a key, for our own suite.

    backend = ScriptedBackend([call("get_time", city="Paris"), respond("It is 15:42 in Paris.")])

A script is a list of answers, used up one by one, or a function of the request. An answer is a `Reply` (the builders
below make one), a `str` (its text), an exception (raised), or one of these with something happening around it: `gated`,
`restarted`, `failing`. Every request is kept in `backend.requests`. `ScriptedText` is the same for text alone: an async
function from text to text, for `vancetope.backends.text.TextBackend`.
"""

from vancetope.backends.scripted.backend import (
    Chunking,
    Script,
    ScriptedBackend,
    ScriptExhausted,
    pieces_of,
    random_chunks,
)
from vancetope.backends.scripted.by_name import load
from vancetope.backends.scripted.replies import (
    Answer,
    Staged,
    action,
    as_action,
    as_envelope,
    call,
    calls,
    cut,
    empty,
    failing,
    filtered,
    gated,
    malformed,
    raw_call,
    refuse,
    respond,
    restarted,
    say,
    think,
)
from vancetope.backends.scripted.text import ScriptedText, TextAnswer, TextScript

__all__ = [
    "Answer",
    "Chunking",
    "Script",
    "ScriptExhausted",
    "ScriptedBackend",
    "ScriptedText",
    "Staged",
    "TextAnswer",
    "TextScript",
    "action",
    "as_action",
    "as_envelope",
    "call",
    "calls",
    "cut",
    "empty",
    "failing",
    "filtered",
    "gated",
    "load",
    "malformed",
    "pieces_of",
    "random_chunks",
    "raw_call",
    "refuse",
    "respond",
    "restarted",
    "say",
    "think",
]
