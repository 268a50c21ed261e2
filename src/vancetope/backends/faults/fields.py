"""Replies in odd clothes: fields that are missing, null, of another type or in another place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.faults.fault import NARRATIONS, Fault, spoken, well, work
from vancetope.backends.faults.wire import Edit
from vancetope.backends.scripted import call, calls, empty, say, think
from vancetope.messages import Reply

WHOLE = 1_000_000  # a chunking that keeps every text in one delta, so that an edit sees all of it


def choices(edit: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of every choice of a completion or chunk."""

    def whole(given: dict[str, Any]) -> dict[str, Any]:
        for choice in given["choices"]:
            edit(choice)
        return given

    return whole


def messages(edit: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of every message or delta."""
    return choices(lambda choice: edit(choice["message"] if "message" in choice else choice["delta"]))


def made_calls(edit: Callable[[dict[str, Any]], object]) -> Edit:
    """An edit of every call, or every piece of one."""
    return messages(lambda message: [edit(each) for each in message.get("tool_calls", ())])


def finish(value: str | None) -> Edit:
    """Every finish reason becomes this one."""
    return choices(lambda choice: choice.update(finish_reason=choice["finish_reason"] and value))


def id(value: str | None) -> Edit:
    """Every call's id becomes this one; with None the key is left out."""

    def edit(made: dict[str, Any]) -> None:
        if made.pop("id", None) is not None and value is not None:
            made["id"] = value

    return made_calls(edit)


def arguments(change: Callable[[str], object]) -> Edit:
    """The arguments become whatever `change` makes of their text. Needs the chunking `WHOLE`."""
    return made_calls(lambda made: made["function"].update(arguments=change(made["function"]["arguments"])))


def without(key: str) -> Edit:
    return lambda given: {name: value for name, value in given.items() if name != key}


def reasoning(message: dict[str, Any]) -> None:
    """Thinking moves to the field `reasoning`."""
    if "reasoning_content" in message:
        message["reasoning"] = message.pop("reasoning_content")


def old_style(message: dict[str, Any]) -> None:
    """The call moves to the deprecated field, as some gateways still write it."""
    for made in message.pop("tool_calls", ()):
        message["function_call"] = made["function"]


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


def altered(name: str, about: str, edit: Edit, rows: str = "") -> Fault:
    """Arguments of a work call, sent in one piece and edited."""
    return spoken(name, about, work, rows, edit=edit, chunking=WHOLE)


FIELDS = (
    spoken("null_finish", "The finish reason stays null.", well, "C32", edit=finish(None)),
    spoken("null_finish_call", "A call, and the finish reason stays null.", work, "C32", edit=finish(None)),
    spoken(
        "null_finish_empty", "Nothing, and the finish reason stays null.", lambda _: empty(), "C32", edit=finish(None)
    ),
    spoken("unknown_finish", "A finish reason that nobody knows.", well, "C29 C32", edit=finish("done_thinking")),
    spoken("stop_with_call", "A call, but the finish reason says stop.", work, edit=finish("stop")),
    spoken("no_usage", "Usage is missing.", well, "C103", usage=False),
    spoken("null_usage", "Usage is null.", well, "C103", edit=lambda given: {**given, "usage": None}),
    spoken("no_model", "The model's name is missing.", well, edit=without("model")),
    spoken("reasoning_field", "Thinking, in another field.", lambda a: think("hmm", well(a)), edit=messages(reasoning)),
    spoken("end_turn_false", "The provider says that the turn is not over.", going_on, "C04"),
    spoken("empty_choices", "An empty list of choices.", well, edit=lambda g: {**g, "choices": []}, leaves="either"),
    spoken("no_choices", "No choices at all.", well, edit=without("choices"), leaves="either"),
    spoken(
        "null_message",
        "A choice whose message is null.",
        well,
        edit=choices(lambda choice: choice.update({key: None for key in ("message", "delta") if key in choice})),
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
    altered("object_arguments", "Arguments as an object.", arguments(json.loads), "C83"),
    altered("null_arguments", "Arguments that are null.", arguments(lambda _: None), "C83"),
    altered("no_arguments", "Arguments that are the empty text.", arguments(lambda _: "")),
    altered("double_encoded", "Arguments encoded twice.", arguments(dumped), "C83 C84"),
    altered("nested_strings", "Nested values as JSON text.", arguments(nested), "C83 C84"),
    altered("wrapped_arguments", "Arguments inside another object.", arguments(lambda t: f'{{"output":{t}}}'), "C85"),
    altered("bad_arguments", "Arguments that are no JSON.", arguments(lambda _: "city: Paris")),
    altered("array_arguments", "Arguments that are an array.", arguments(lambda _: '["Paris"]')),
    altered("nan_arguments", "Arguments with NaN in them.", arguments(lambda _: '{"city": NaN}'), "C95"),
    altered("missing_arguments", "Arguments without what is required.", arguments(lambda _: "{}"), "C34"),
    altered("old_style_call", "The call in the deprecated field.", messages(old_style)),
    spoken("no_name", "A call without a name.", work, "C80", edit=made_calls(lambda m: m["function"].pop("name", 0))),
    spoken("empty_name", "A call with an empty name.", lambda _: call(""), "C80"),
    spoken("odd_name", "A call whose name no tool could have.", lambda _: call("functions.get time!\n"), "C80"),
)
