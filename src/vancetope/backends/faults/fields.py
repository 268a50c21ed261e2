"""Replies in odd clothes: fields that are missing, null, of another type or in another place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.faults.edits import (
    STOP,
    finish,
    id,
    made_calls,
    messages,
    nameless,
    no_candidates,
    null_arguments,
    null_message,
    null_usage,
    object_arguments,
    old_style,
    reasoning,
    without,
)
from vancetope.backends.faults.fault import NARRATIONS, Fault, Maker, spoken, well, work
from vancetope.backends.scripted import call, calls, empty, say, think
from vancetope.messages import Reply

WHOLE = 1_000_000  # a chunking that keeps every text in one delta, so that an edit sees all of it


def nested(text: str) -> str:
    """Every value of the arguments that is no text becomes its own JSON text; three are added."""
    values = json.loads(text) | {"options": {"precise": True}, "limits": [1, 2], "count": 3}
    return dumped({key: value if isinstance(value, str) else dumped(value) for key, value in values.items()})


def two(asked: Asked) -> Reply:
    """The same work twice in one reply."""
    return calls(work(asked), work(asked))


def numbered(asked: Asked) -> Reply:
    """Ids that begin anew with every round: name:0, name:1."""
    both = two(asked)
    return replace(both, calls=tuple(replace(each, id=f"{each.name}:{n}") for n, each in enumerate(both.calls)))


def going_on(_asked: Asked) -> Reply:
    """The provider says that the turn is not over."""
    return say(NARRATIONS["en"], end_turn=False)


def rewritten(change: Callable[[str], str]) -> Maker:
    """A work call whose arguments are what `change` makes of their text."""

    def make(asked: Asked) -> Reply:
        reply = work(asked)
        return replace(reply, calls=tuple(replace(each, arguments=change(each.arguments)) for each in reply.calls))

    return make


def altered(name: str, about: str, make: Maker, rows: str = "", **wire: Any) -> Fault:
    """A work call, sent in one piece."""
    return spoken(name, about, make, rows, chunking=WHOLE, **wire)


FIELDS = (
    spoken("null_finish", "The finish reason stays null.", well, "C32", edit=finish(None)),
    spoken("null_finish_call", "A call, and the finish reason stays null.", work, "C32", edit=finish(None)),
    spoken(
        "null_finish_empty", "Nothing, and the finish reason stays null.", lambda _: empty(), "C32", edit=finish(None)
    ),
    spoken("unknown_finish", "A finish reason that nobody knows.", well, "C29 C32", edit=finish("done_thinking")),
    spoken("stop_with_call", "A call, but the finish reason says stop.", work, edit=finish(STOP)),
    spoken("no_usage", "Usage is missing.", well, "C103", usage=False),
    spoken("null_usage", "Usage is null.", well, "C103", edit=null_usage),
    spoken("no_model", "The model's name is missing.", well, edit=without("model", "modelVersion")),
    spoken("reasoning_field", "Thinking, in another field.", lambda a: think("hmm", well(a)), edit=messages(reasoning)),
    spoken("end_turn_false", "The provider says that the turn is not over.", going_on, "C04"),
    spoken("empty_choices", "An empty list of choices.", well, edit=no_candidates, leaves="either"),
    spoken("no_choices", "No choices at all.", well, edit=without("choices", "candidates", "content"), leaves="either"),
    spoken(
        "null_message",
        "A choice whose message is null.",
        well,
        edit=null_message,
        leaves="either",
    ),
)

CALLS = (
    spoken("no_id", "A call without an id.", work, "C61 C67", edit=id(None)),
    spoken("empty_id", "A call with an empty id.", work, "C61 C67", edit=id("")),
    spoken("constant_id", "The same id in every round.", work, "C61", edit=id("call_0")),
    spoken("equal_ids", "Two calls of one reply with the same id.", two, "C22 C61", edit=id("call_0")),
    spoken("numbered_ids", "Ids that begin anew in every round.", numbered, "C61"),
    spoken("long_id", "A very long id, with signs that other servers refuse.", work, "C61", edit=id("id/+=:" * 66)),
    spoken("no_index", "Pieces of a streamed call do not say which call they belong to.", work, call_index=False),
    spoken("two_without_index", "Two calls in a delta each, without index.", two, call_index=False, chunking=WHOLE),
    altered("object_arguments", "Arguments as an object.", work, "C83", edit=object_arguments(json.loads)),
    altered("null_arguments", "Arguments that are null.", work, "C83", edit=made_calls(null_arguments)),
    altered("no_arguments", "Arguments that are the empty text.", rewritten(lambda _: "")),
    altered("double_encoded", "Arguments encoded twice.", rewritten(dumped), "C83 C84"),
    altered("nested_strings", "Nested values as JSON text.", rewritten(nested), "C83 C84"),
    altered("wrapped_arguments", "Arguments inside another object.", rewritten(lambda t: f'{{"output":{t}}}'), "C85"),
    altered("bad_arguments", "Arguments that are no JSON.", rewritten(lambda _: "city: Paris")),
    altered("array_arguments", "Arguments that are an array.", rewritten(lambda _: '["Paris"]')),
    altered("nan_arguments", "Arguments with NaN in them.", rewritten(lambda _: '{"city": NaN}'), "C95"),
    altered("missing_arguments", "Arguments without what is required.", rewritten(lambda _: "{}"), "C34"),
    altered("old_style_call", "The call in the deprecated field.", work, edit=messages(old_style)),
    spoken("no_name", "A call without a name.", work, "C80", edit=made_calls(nameless)),
    spoken("empty_name", "A call with an empty name.", lambda _: call(""), "C80"),
    spoken("odd_name", "A call whose name no tool could have.", lambda _: call("functions.get time!\n"), "C80"),
)
