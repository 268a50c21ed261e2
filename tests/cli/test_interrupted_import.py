"""Ctrl-C while modules load: Python wraps it where a class is being made, and it is an interrupt all the same."""

from __future__ import annotations

import pytest

from vancetope.cli import app


class Pressed:
    """What a person does while a class with this attribute is made."""

    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


def load_a_class() -> None:
    type("Loaded", (), {"field": Pressed()})


def fail_while_handling() -> None:
    try:
        load_a_class()
    except BaseException as error:
        raise ImportError("cannot import name") from error


def fail() -> None:
    raise ImportError("cannot import name")


@pytest.mark.parametrize(("what", "code"), [(load_a_class, 130), (fail_while_handling, 130), (fail, 1)])
def test_a_wrapped_interrupt_is_an_interrupt(
    what: object, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*args: object, **options: object) -> None:
        assert callable(what)
        what()

    monkeypatch.setattr(app, "app", command)
    assert app.run(["ask", "Hi"]) == code
    assert ("bug" in capsys.readouterr().err) == (code == 1)
