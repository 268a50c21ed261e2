"""Turns with the real local model: in six languages each ends as the contract says, after a real tool call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import vancetope
from vancetope.backends.base import OnPiece, Request
from vancetope.backends.local import DEFAULT, launcher
from vancetope.backends.local.backend import LocalBackend
from vancetope.contract.examples import action
from vancetope.messages import Accepted, Assistant, Reply, Result
from vancetope.models.catalogue import catalogue
from vancetope.outcome import Outcome
from vancetope.schema.validate import compile as compiled

pytestmark = pytest.mark.timeout(180)

MOST_ROUNDS = 4
INFO = catalogue().lookup("local", DEFAULT)
QUESTIONS = (
    "What time is it in Paris?",
    "Tell me the time in Berlin.",
    "Wie spät ist es in Berlin?",
    "Wie viel Uhr ist es in London?",
    "Quelle heure est-il à Paris ?",
    "Quel jour sommes-nous à Rome ?",
    "¿Qué hora es en Lima?",
    "¿Qué día es hoy en Madrid?",
    "東京は今何時ですか",
    "今日は何曜日ですか",
    "كم الساعة في القاهرة؟",
    "ما هو اليوم؟",
)


class ClockFirst:
    """The local model. Its first reply to a question can only be a call of the clock: what a model of this size chooses
    is no matter of the contract, but a tool shall run."""

    def __init__(self) -> None:
        self.info = INFO
        self.told: list[tuple[Request, Reply]] = []
        self._model = LocalBackend(DEFAULT)

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        if not self.told:
            request = replace(request, response_schema=only("clock", request.response_schema))
        reply = await self._model.complete(request, on_piece)
        self.told.append((request, reply))
        return reply

    async def aclose(self) -> None:
        await self._model.aclose()


def only(tool: str, schema: Any) -> dict[str, Any]:
    """The grammar without the actions of other tools."""
    branches = [each for each in schema["anyOf"] if each["properties"]["tool"]["const"] == tool]
    return {**schema, "anyOf": branches}


@pytest.fixture(scope="module", autouse=True)
def no_model_is_left_behind() -> Iterator[None]:
    yield
    launcher._end_all()
    launcher._slots.clear()


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_turn_of_the_local_model_runs_a_tool_and_responds_once(question: str) -> None:
    backend = ClockFirst()
    try:
        turn = await vancetope.ask(question, model=backend, recipe="ford")
    finally:
        await backend.aclose()
    assert turn.outcome is Outcome.RESPOND
    assert turn.message
    assert turn.rounds <= MOST_ROUNDS
    assert turn.enforcement.honoured == "constrained"
    kinds = [type(each) for each in turn.messages[1:]]
    assert kinds == [*[Assistant, Result] * (len(kinds) // 2), Accepted]
    assert next(each.name for each in turn.messages if isinstance(each, Result)) == "clock"
    for request, reply in backend.told:
        said = json.loads(reply.text)
        assert compiled(request.response_schema or {}).problems(said) == ()
        assert reply.text == action(said["tool"], said["arguments"]), "the grammar leaves no room for white space"
    assert [json.loads(reply.text)["tool"] for _, reply in backend.told].count("respond") == 1


@pytest.mark.parametrize("question", ["What time is it in Paris?", "Wie spät ist es in Berlin?"])
async def test_the_message_carries_what_the_clock_said(question: str) -> None:
    turn = await vancetope.ask(question, model="local:", recipe="ford")
    (result,) = [each for each in turn.messages if isinstance(each, Result)]
    assert result.ok
    assert result.text.split(", ")[2] in turn.unwrap()
