"""Whole conversations as scripts: functions of what was asked, so that they serve any number of turns at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vancetope.backends.faults.answers import ANSWERS, whole
from vancetope.backends.faults.asked import Asked
from vancetope.backends.faults.connections import CONNECTIONS
from vancetope.backends.faults.fault import Fault, well
from vancetope.backends.faults.fields import CALLS, FIELDS
from vancetope.backends.faults.sayings import RESPONDS, SAYINGS
from vancetope.backends.faults.server import Given
from vancetope.backends.faults.statuses import BODIES, STATUSES
from vancetope.backends.faults.streams import STREAMS
from vancetope.backends.scripted import call, respond, say
from vancetope.errors import ConfigError
from vancetope.messages import Reply
from vancetope.tools.respond import ANSWER, RESPOND

KINDS: Mapping[str, Fault] = {
    fault.name: fault
    for group in (STATUSES, BODIES, CONNECTIONS, STREAMS, FIELDS, CALLS, SAYINGS, RESPONDS, ANSWERS)
    for fault in group
}


def clock(asked: Asked) -> Reply:
    """One call of `get_time`, then an answer that holds its result; without that tool, an answer at once.

    It keeps no state and waits for nothing, so it also serves as the zero-latency server of a benchmark.
    """
    result = asked.result
    if result is None and "get_time" in asked.tools:
        return call("get_time", city="Paris")
    return deliver(asked, f"It is {result} in Paris.") if result is not None else well(asked)


def echo(asked: Asked) -> Reply:
    """The user's last words, given back."""
    return deliver(asked, asked.said or "You said nothing.")


def answer(asked: Asked) -> Reply:
    """The structured answer that is asked for, by a response format or in words: a small object that fits."""
    return say(whole(asked))


def deliver(asked: Asked, message: str) -> Reply:
    """This message as the end of the turn, in the form that the request allows."""
    if RESPOND in asked.tools:
        return respond(message, awaiting_user_input=True)
    return call(ANSWER, message=message) if ANSWER in asked.tools else say(message)


SCENARIOS: Mapping[str, Callable[[Asked], Given]] = {"clock": clock, "echo": echo, "well": well, "answer": answer}


def first(*answers: Given, then: Callable[[Asked], Given] = clock) -> Callable[[Asked], Given]:
    """These answers, one by one, and after them this scenario."""
    left = list(answers)
    return lambda asked: left.pop(0) if left else then(asked)


def scenario(name: str, *, always: bool = False) -> Callable[[Asked], Given]:
    """The scenario of this name, or the fault of this name: `always`, or once and then `clock` (after a fault of a
    structured answer, the `answer`).

    Raises `ConfigError` for any other name.
    """
    if name in SCENARIOS:
        return SCENARIOS[name]
    if name not in KINDS:
        raise ConfigError(f"there is no scenario and no fault {name!r}; --list shows them all")
    fault = KINDS[name]
    return (lambda _: fault) if always else first(fault, then=answer if fault in ANSWERS else clock)
