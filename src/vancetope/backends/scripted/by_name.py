"""Scripts by name: what `scripted:hello` and `scripted:/path/to/script.json` mean on the command line.

A script file is a JSON array. Each item is a string (a reply's text) or an object with any of these keys:

    {"text": "...", "thinking": "...",
     "calls": [{"name": "get_time", "arguments": {"city": "Paris"}}],     arguments: an object, or its raw text
     "respond": "It is 15:42.",  or  {"message": "...", "awaiting_user_input": true},    a call of `respond`, last
     "finish": "length",                                                  default: tool_calls with calls, else stop
     "end_turn": false}

or exactly `{"error": "what the provider says", "status": 500}`: the request fails, for good.

A reply that is one call is given as a JSON action where the request asks for that form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vancetope.backends.base import Request
from vancetope.backends.scripted.backend import ScriptedBackend
from vancetope.backends.scripted.replies import Answer, call, calls, json_text, raw_call, respond, say
from vancetope.errors import AuthRefused, ConfigError, ModelError, RateLimited, RequestRejected, ServerFailed
from vancetope.messages import Finish, Reply, User, text_of
from vancetope.tools.respond import ANSWER, RESPOND

PREFIX = "scripted:"
GREETING = "Hello! I am a script, not a model: I say this to everything."

_KEYS: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "thinking": (str,),
    "calls": (list,),
    "respond": (str, dict),
    "finish": (str,),
    "end_turn": (bool, type(None)),
}
_BY_STATUS = {400: RequestRejected, 401: AuthRefused, 403: AuthRefused, 404: RequestRejected, 429: RateLimited}
_TYPES = {str: "a string", list: "an array", dict: "an object", bool: "true or false", int: "a number"}


def load(spec: str) -> ScriptedBackend:
    """The scripted backend of this name (`hello`, `echo`) or of this JSON file; a leading `scripted:` is dropped.

    Reads the file at once. Raises `ConfigError`, one sentence, where the file is missing or is no script.
    """
    name = spec.removeprefix(PREFIX)
    if name in BUILT_IN:
        return ScriptedBackend(BUILT_IN[name], follow_form=True)
    if not name.endswith(".json"):
        known = ", ".join(PREFIX + each for each in BUILT_IN)
        raise ConfigError(f"there is no script {name!r}: give {known} or a file, {PREFIX}/path/to/script.json")
    return ScriptedBackend(read_script(Path(name)), follow_form=True)


def read_script(path: Path) -> list[Answer]:
    """The answers in this JSON file. Raises `ConfigError` naming the first thing that is wrong."""
    try:
        items = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise ConfigError(f"the script {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the script {path} is not JSON: {error}") from None
    if not isinstance(items, list):
        raise ConfigError(f"the script {path} must be a JSON array of replies, not {_called(items)}")
    return [_answer(item, f"the script {path}, reply {number}") for number, item in enumerate(items, 1)]


def hello(request: Request) -> Reply:
    """Says the same greeting to everything, in whatever form the request wants."""
    return _deliver(request, GREETING)


def echo(request: Request) -> Reply:
    """Says back what the user said last."""
    said = [text_of(message.content) for message in request.messages if isinstance(message, User)]
    return _deliver(request, said[-1] if said and said[-1].strip() else GREETING)


BUILT_IN: Mapping[str, Callable[[Request], Reply]] = {"hello": hello, "echo": echo}


def _deliver(request: Request, message: str) -> Reply:
    if any(tool.name == RESPOND for tool in request.tools):
        return respond(message, awaiting_user_input=True)
    if request.envelope and f'"{RESPOND}"' in request.system:
        return respond(message, awaiting_user_input=True)
    if request.response_schema is None:
        return say(message)
    schema = json_text(request.response_schema)
    if f'"{RESPOND}"' in schema:
        return respond(message, awaiting_user_input=True)
    return call(ANSWER, message=message) if f'"{ANSWER}"' in schema else say(message)


def _answer(item: object, where: str) -> Answer:
    if isinstance(item, str):
        return say(item)
    if not isinstance(item, dict):
        raise ConfigError(f"{where} must be a string or an object, not {_called(item)}")
    if "error" in item:
        fields = _checked(item, {"error": (str,), "status": (int,)}, where)
        status = fields.get("status")
        kind = _BY_STATUS.get(status or 0) or (ServerFailed if (status or 0) >= 500 else ModelError)
        return kind(fields["error"], status=status)
    if not item:
        raise ConfigError(f'{where} is an empty object; a reply without anything is written {{"text": ""}}')
    fields = _checked(item, _KEYS, where)
    made = [_call(each, f"{where}, call {number}") for number, each in enumerate(fields.get("calls", []), 1)]
    if "respond" in fields:
        made.append(_respond(fields["respond"], f"{where}, respond"))
    given = fields.get("finish", (Finish.TOOL_CALLS if made else Finish.STOP).value)
    if given not in set(Finish):
        raise ConfigError(f"{where}: finish must be one of {', '.join(Finish)}, not {given!r}")
    together = calls(*made, text=fields.get("text", ""), thinking=fields.get("thinking", ""))
    return Reply(together.text, together.calls, together.thinking, Finish(given), end_turn=fields.get("end_turn"))


def _call(item: object, where: str) -> Reply:
    fields = _checked(item, {"name": (str,), "arguments": (dict, str)}, where)
    if "name" not in fields:
        raise ConfigError(f"{where} has no name")
    arguments = fields.get("arguments", {})
    return raw_call(fields["name"], arguments if isinstance(arguments, str) else json_text(arguments))


def _respond(item: str | dict[str, Any], where: str) -> Reply:
    if isinstance(item, str):
        return respond(item)
    _checked(item, {"message": (str,), "awaiting_user_input": (bool,)}, where)
    return raw_call(RESPOND, json_text(item))


def _checked(item: object, keys: Mapping[str, tuple[type, ...]], where: str) -> dict[str, Any]:
    """The object, if it has only these keys with values of these types."""
    if not isinstance(item, dict):
        raise ConfigError(f"{where} must be an object, not {_called(item)}")
    for key, value in item.items():
        if key not in keys:
            raise ConfigError(f"{where} has an unknown key {key!r}; known are {', '.join(keys)}")
        if type(value) not in keys[key]:
            wanted = " or ".join(_TYPES.get(each, "null") for each in keys[key])
            raise ConfigError(f"{where}: {key} must be {wanted}, not {_called(value)}")
    return item


def _called(value: object) -> str:
    return "null" if value is None else _TYPES.get(type(value), "a number")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON value")
