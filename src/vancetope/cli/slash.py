"""What a line in the chat may order."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vancetope.cli.clean import clean
from vancetope.cli.lines import Line, Part, Said, call_text, user_line

if TYPE_CHECKING:
    from vancetope.cli.talk import Talk
    from vancetope.messages import History

_COMMAND = re.compile(r"/([a-z]*)(?:\s+(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """An order: what runs, and what was said behind its name."""

    run: Callable[[Talk, str], None]
    rest: str


def command_in(text: str) -> Command | None:
    """The order in a line, or null for a message: a path (/etc/hosts) or a slash amid words is none."""
    match = _COMMAND.match(text.strip())
    if match is None:
        return None
    name = match[1]
    if name not in COMMANDS:
        return Command(lambda talk, _: _unknown(talk, name), "")
    return Command(COMMANDS[name][0], (match[2] or "").strip())


def _unknown(talk: Talk, name: str) -> None:
    talk.screen.tell(Line(f"there is no /{name}; /help lists what there is", "bad"))


def _help(talk: Talk, _: str) -> None:
    width = max(len(usage) for _, usage, _ in COMMANDS.values())
    talk.screen.tell(*(Line(f"  {usage:<{width}}  {about}", "note") for _, usage, about in COMMANDS.values()))
    talk.screen.tell(*(Line(f"  {key:<{width}}  {about}", "note") for key, about in KEYS))


def _model(talk: Talk, name: str) -> None:
    if talk.lane is None or not name:
        choice = talk.lane.prepared.choice if talk.lane else None
        talk.screen.tell(Line(str(choice), "note"))
    elif talk.is_busy:
        talk.screen.tell(Line("a turn is running: wait for its end, or /stop it", "bad"))
    else:
        talk.later(talk.change_model(name))


def _history(talk: Talk, _: str) -> None:
    talk.screen.settle(history_parts(talk.lane.history) if talk.lane else [])


def _usage(talk: Talk, _: str) -> None:
    from vancetope.cli.usage import budget_lines, columns, grouped, limited, table

    if talk.lane is None:
        return
    prepared = talk.lane.prepared
    rows = prepared.ledger.rows(tree=prepared.account.tree)
    limits = limited(prepared.budgets, prepared.ledger, prepared.account)
    talk.screen.tell(*table(grouped(rows, "model"), "model", columns(sys.stdout)), *budget_lines(limits))


def _quit(talk: Talk, _: str) -> None:
    talk.screen.leave(0)


def _steer(talk: Talk, text: str) -> None:
    if text:
        talk.post(text, "steer")
    else:
        talk.screen.tell(Line("say what: /steer only the last three months", "bad"))


def _stop(talk: Talk, _: str) -> None:
    if talk.is_busy:
        talk.interrupt()
    else:
        talk.screen.tell(Line("no turn is running", "note"))


COMMANDS: Mapping[str, tuple[Callable[[Talk, str], None], str, str]] = {
    "help": (_help, "/help", "this list"),
    "model": (_model, "/model [NAME]", "show the model, or go on with another"),
    "history": (_history, "/history", "show the conversation again"),
    "usage": (_usage, "/usage", "what this conversation has used, and what is left"),
    "steer": (_steer, "/steer TEXT", "tell the running turn something, now"),
    "stop": (_stop, "/stop", "interrupt the running turn"),
    "quit": (_quit, "/quit", "leave"),
}
KEYS = (
    ("Enter", "send; while a turn runs, queue for the next one"),
    ("Alt-Enter", "a new line"),
    ("Ctrl-C", "interrupt the turn or clear the line; twice leaves"),
    ("Ctrl-D", "leave"),
)


def history_parts(history: History) -> list[Part]:
    """A conversation as it looks in the chat."""
    from vancetope.messages import Accepted, Assistant, System, User, text_of

    parts: list[Part] = []
    for message in history:
        match message:
            case User(content=content):
                parts.append(user_line(text_of(content)))
            case Accepted(text=text):
                parts.append(Said(clean(text)))
            case Assistant(calls=calls):
                parts += [Line(f"· {call_text(each.name, _decoded(each.arguments))}", "dim") for each in calls]
            case System(text=text):
                parts.append(Line(f"· {clean(text)}", "note"))
            case _:
                pass
    return parts or [Line("nothing was said yet", "note")]


def _decoded(arguments: str) -> dict[str, Any] | str:
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments
