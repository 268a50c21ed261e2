"""Who watches a turn: a program that reads events, or a person who reads a page."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

from vancetope.cli.lines import Line
from vancetope.cli.page import Page
from vancetope.cli.transcript import Transcript
from vancetope.cli.trouble import print_json
from vancetope.events import Event


class Watcher(Protocol):
    """Contract: `take` is told every event in order, `tick` comes about ten times a second, `close` comes last.
    `tell` is for lines beside the events. `take`, `tell` and `tick` raise `OSError` where nobody reads any more."""

    def take(self, event: Event) -> None: ...

    def tell(self, line: Line) -> None: ...

    def tick(self) -> None: ...

    def close(self) -> None: ...


class Program:
    """Every event as one line of JSON on stdout."""

    def take(self, event: Event) -> None:
        print_json(event_data(event))

    def tell(self, line: Line) -> None:
        """A program reads events only."""

    def tick(self) -> None:
        """Events come when they happen."""

    def close(self) -> None:
        """Every line was flushed."""


class Reader:
    """A person in front of a page."""

    def __init__(self, page: Page, transcript: Transcript | None = None) -> None:
        self.page = page
        self.transcript = transcript or Transcript()

    def take(self, event: Event) -> None:
        parts = self.transcript.take(event)
        if parts:
            self.page.settle(parts)

    def tell(self, line: Line) -> None:
        self.page.settle([line])

    def tick(self) -> None:
        if self.page.is_repainted:
            self.page.live(self.transcript.live())

    def close(self) -> None:
        self.page.close()


def event_data(event: Event) -> dict[str, Any]:
    """An event as data, its type first."""
    fields = {each.name: getattr(event, each.name) for each in dataclasses.fields(event) if each.name != "type"}
    return {"type": event.type, **{name: plain(value) for name, value in fields.items()}}


def plain(value: Any) -> Any:
    """A value without classes of ours."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
