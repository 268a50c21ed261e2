"""The actions that end a turn are schemas with the role's default in them."""

from __future__ import annotations

import pytest

from vancetope.outcome import Role
from vancetope.schema.validate import compile
from vancetope.tools.respond import answer_spec, respond_spec


@pytest.mark.parametrize(("role", "default"), [("primary", True), ("worker", False)])
def test_respond_needs_only_its_message_and_shows_the_roles_default(role: Role, default: bool) -> None:
    spec = respond_spec(role)
    flag = spec.parameters["properties"]["awaiting_user_input"]
    assert spec.name == "respond"
    assert flag["default"] is default
    assert f"{str(default).lower()} (the default)" in flag["description"]
    fits = compile(spec.parameters).fits
    assert fits({"message": "hello"})
    assert fits({"message": "hello", "awaiting_user_input": not default})
    assert not fits({"message": ""})
    assert not fits({"awaiting_user_input": True})
    assert not fits({"message": "hello", "awaiting_user_input": "true"})
    assert not fits({"message": "hello", "more": 1})


def test_a_worker_writes_to_who_gave_the_task_and_a_primary_to_the_user() -> None:
    assert "user" in respond_spec("primary").description
    assert "user" not in respond_spec("worker").description


def test_answer_has_a_message_and_nothing_else() -> None:
    fits = compile(answer_spec().parameters).fits
    assert answer_spec().name == "answer"
    assert fits({"message": "hello"})
    assert not fits({"message": "hello", "awaiting_user_input": True})
