"""Reading a call as the contract does: is it known, did it close, do its arguments fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from json import dumps
from typing import Any, Literal, TypeAlias

from vancetope.contract.rules import Rules
from vancetope.messages import Call, ToolSpec, says_something
from vancetope.schema.strict import NotJson, parse
from vancetope.schema.validate import Validator, decode_once, drop_extras, sentence
from vancetope.schema.validate import compile as compiled
from vancetope.tools.respond import RESPOND

Kind: TypeAlias = Literal["respond", "work", "unknown"]


@dataclass(frozen=True, slots=True)
class Read:
    """A call after reading. `problem` says what is wrong with its arguments, `closed` whether they are whole JSON;
    `key` is equal for calls of the same tool with the same arguments, whatever their spelling."""

    call: Call
    kind: Kind
    arguments: Mapping[str, Any] | None
    problem: str | None
    closed: bool
    key: str


def read(call: Call, rules: Rules) -> Read:
    """Decode the arguments once, one level deep where the schema asks for it, and check them against the tool."""
    spec = rules.respond if call.name == RESPOND and rules.turn_end == "respond" else rules.offer.tools.get(call.name)
    kind: Kind = "unknown" if spec is None else "respond" if spec is rules.respond else "work"
    empty = not call.arguments.strip()
    try:
        value = {} if empty else _object(call.arguments)
    except NotJson as error:
        return Read(call, kind, None, f"The arguments are no JSON object: {error}.", closed=False, key=_key(call, None))
    if not isinstance(value, dict):
        problem = "The arguments must be a JSON object."
        return Read(call, kind, None, problem, closed=True, key=_key(call, value))
    if spec is None:
        return Read(call, kind, value, None, closed=not empty, key=_key(call, value))
    return replace(_fitted(call, kind, spec, value), closed=not empty)


def near_names(name: str, rules: Rules) -> list[str]:
    """Offered names that look like this one, nearest first, at most three."""
    known = offered_names(rules)
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    return [by_lower[each] for each in close]


def offered_names(rules: Rules) -> list[str]:
    """The names that a reply is told it may use, in the order in which they were offered."""
    return [*rules.offer.named, *([RESPOND] if rules.turn_end == "respond" else [])]


def message_of(call: Call) -> str | None:
    """The non-blank `message` string of a `respond` call, also where the rest of it is wrong; else null."""
    try:
        value = _object(call.arguments)
    except NotJson:
        return None
    message = value.get("message") if isinstance(value, dict) else None
    return message if isinstance(message, str) and says_something(message) else None


def _fitted(call: Call, kind: Kind, spec: ToolSpec, value: dict[str, Any]) -> Read:
    arguments = decode_once(spec.parameters, value)
    if kind == "respond":
        arguments = drop_extras(spec.parameters, arguments)
    problem = sentence(_validator(spec.parameters).problems(arguments)) or None
    if kind == "respond" and problem is None and not says_something(str(arguments["message"])):
        problem = "/message: blank; expected a text for the user."
    return Read(call, kind, arguments, problem, closed=True, key=_key(call, value))


def _object(raw: str) -> Any:
    """The arguments as a value; arguments that were encoded twice are decoded twice."""
    value = parse(raw)
    return parse(value) if isinstance(value, str) else value


def _key(call: Call, value: Any) -> str:
    return f"{call.name} {call.arguments if value is None else dumps(value, sort_keys=True)}"


_KNOWN: dict[int, tuple[Mapping[str, Any], Validator]] = {}


def _validator(parameters: Mapping[str, Any]) -> Validator:
    """The validator of a tool's parameters, by identity: to compare schemas costs more than to check a call."""
    known = _KNOWN.get(id(parameters))
    if known is None or known[0] is not parameters:
        if len(_KNOWN) >= 1024:
            _KNOWN.clear()
        known = _KNOWN[id(parameters)] = (parameters, compiled(parameters))
    return known[1]


def readable(raw: str) -> str:
    """Arguments as every provider takes them back: the text itself if it is a JSON object, else an object that quotes
    it. Some servers refuse a whole conversation for one call that is no JSON."""
    try:
        if isinstance(parse(raw), dict):
            return raw
    except NotJson:
        pass
    return dumps({"unreadable": raw[:2000]})
