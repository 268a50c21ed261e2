"""A question over a journal: a replay comes to the same answer without the model, a run that broke off goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pytest

import vancetope
from tests.harness import TOOLS
from tests.questions.asking import (
    ALL,
    BY_FORMAT,
    CITY,
    FITS,
    FORMS,
    MISFIT,
    OSLO,
    PROMPT,
    Known,
    known,
    play,
    replays,
    unlike,
)
from vancetope.backends.base import Request
from vancetope.backends.scripted import Answer, call, calls, cut, filtered, raw_call, refuse, say, think
from vancetope.errors import ModelError, RateLimited, RequestRejected, ServerFailed
from vancetope.journal import RecordingJournal
from vancetope.messages import Reply
from vancetope.models.base import ModelInfo
from vancetope.outcome import EnforcementName

T = TypeVar("T")

paris = call("get_time", city="Paris")
oslo = call("get_weather", city="Oslo")

ENDS: Mapping[str, tuple[list[Answer], Mapping[str, Any]]] = {
    "at once": ([FITS], {}),
    "after corrections": ([MISFIT, "Prose.", FITS], {}),
    "never": ([unlike(MISFIT, number) for number in range(3)], {}),
    "never JSON": (["One.", "", "Three."], {}),
    "the same again and again": ([MISFIT] * 3, {"max_attempts": 10}),
    "cut and mended": ([cut(FITS, 9), FITS], {}),
    "cut twice": ([cut(FITS, 9), cut(FITS, 12)], {}),
    "cut after a misfit": ([MISFIT, cut(FITS, 9), "Prose.", FITS], {"max_attempts": 4}),
    "refused": ([MISFIT, refuse("No.")], {}),
    "filtered": ([filtered(FITS)], {}),
    "thinking": ([think("Hm."), think("It is Oslo.", FITS)], {}),
    "a server that fails": ([MISFIT, ServerFailed("It is gone.", status=500)], {}),
    "a server that is busy": ([RateLimited("Slower.", status=429)], {}),
    "over budget": ([MISFIT, FITS], {"budget": 1_800, "model_settings": {"max_tokens": 1_000}}),
    "bad parameters": ([], {"max_attempts": 0}),
    "with tools": ([paris, FITS], {"tools": TOOLS}),
    "with tools and a closing request": ([calls(paris, oslo), say("I know it."), MISFIT, FITS], {"tools": TOOLS}),
    "with tools that fail": (
        [call("fail", reason="x"), call("nope"), raw_call("get_time", "{"), "", FITS],
        {"tools": TOOLS},
    ),
    "with tools, cut": ([paris, cut("A long story", 6), cut("A long story", 6)], {"tools": TOOLS}),
    "with tools, at the cap": ([paris, oslo, FITS], {"tools": TOOLS, "max_iterations": 2}),
    "with tools, refused": ([paris, refuse("No.")], {"tools": TOOLS}),
}


@ALL
@pytest.mark.parametrize("name", ENDS)
async def test_a_replayed_question_comes_to_the_same_answer_without_the_model(
    name: str, enforcement: EnforcementName
) -> None:
    script, options = ENDS[name]
    made = await play(script, enforcement, follow_form=True, **options)  # replays it by itself
    if script and made.answer.error != "budget_exceeded":
        assert made.calls >= len(script)


def test_every_error_but_those_of_our_own_is_among_them() -> None:
    assert len(ENDS) > 20


def refusing(replies: Iterable[Answer]) -> Callable[[Request], Answer]:
    """A server that refuses every response format, and then says these, one by one."""
    left = list(replies)

    def script(request: Request) -> Answer:
        if request.response_schema is not None:
            return RequestRejected("no such keyword", status=400)
        return left.pop(0)

    return script


@BY_FORMAT
@pytest.mark.parametrize("replies", [[FITS], [MISFIT, FITS], [cut(FITS, 9), FITS], ["One.", "Two.", "Three."]])
async def test_a_refused_response_format_is_replayed_as_it_was(
    replies: list[Answer], enforcement: EnforcementName
) -> None:
    schema = {**CITY, "description": f"{enforcement} {len(replies)} {replies[0]!r}"[:60]}  # refused for the first time
    first = await play(refusing(replies), enforcement, schema=schema)
    assert first.calls == 1 + len(replies)
    second = await play(refusing(replies), enforcement, schema=schema)  # by now it is remembered
    assert second.calls == len(replies)
    assert second.wrapper == first.wrapper


@BY_FORMAT
async def test_a_journal_of_before_a_refusal_is_replayed_after_it_and_the_other_way_round(
    enforcement: EnforcementName,
) -> None:
    info = ModelInfo(provider="lab", name=f"moody-{enforcement}", enforcements=FORMS)
    moody: Iterator[Answer] = iter([FITS, RequestRejected("no such keyword", status=400), FITS, FITS])
    journals, answers = [], []
    for _ in range(3):
        journal = RecordingJournal()
        backend = Known(lambda request: next(moody), info=info)
        answers.append(await vancetope.query(PROMPT, CITY, model=backend, journal=journal, enforcement=enforcement))
        journals.append(journal)
    assert [each.model_calls for each in answers] == [1, 2, 1]
    assert [each.enforcement.honoured for each in answers] == [enforcement, "prompted", "prompted"]
    for answer, journal in zip(answers, journals, strict=True):
        await replays(answer, journal, PROMPT, CITY, info, {"enforcement": enforcement})


async def test_a_replay_publishes_the_same_answer_and_streams_nothing() -> None:
    journal = RecordingJournal()
    answer = await vancetope.query(PROMPT, CITY, model=known([MISFIT, FITS]), journal=journal)
    events: list[Any] = []
    frozen = RecordingJournal.from_json(journal.to_json(), frozen=True)
    again = await vancetope.query(PROMPT, CITY, model=known([]), journal=frozen, on_event=events.append)
    assert again == answer
    kinds = [each.type for each in events]
    assert kinds.count("turn_ended") == 1
    assert "raw_delta" not in kinds


# A run that breaks off.


class Broken(BaseException):
    """The program is gone."""


class Breaking(RecordingJournal):
    """A journal that breaks off the run behind its n-th step: what was done by then is kept."""

    left = 0

    async def step(self, key: str, fn: Callable[[], Awaitable[T]], kind: type[T]) -> T:
        if self.left <= 0:
            raise Broken
        value = await super().step(key, fn, kind)
        self.left -= 1
        return value


RUNS: Mapping[str, tuple[list[Answer], Mapping[str, Any]]] = {
    "corrections": ENDS["after corrections"],
    "cut": ENDS["cut after a misfit"],
    "tools": ENDS["with tools and a closing request"],
    "failing tools": ENDS["with tools that fail"],
}


@ALL
@pytest.mark.parametrize("name", RUNS)
async def test_a_run_that_breaks_off_behind_any_step_goes_on_behind_it_and_asks_nothing_again(
    name: str, enforcement: EnforcementName
) -> None:
    script, options = RUNS[name]
    whole = await play(script, enforcement, follow_form=True, **options)
    asked: dict[str, Any] = {"enforcement": enforcement, **options}
    for steps in range(1, 50):
        backend = Known(script, follow_form=True, info=ModelInfo(provider="lab", name="model", enforcements=FORMS))
        journal = Breaking()
        journal.left = steps
        try:
            answer = await vancetope.query(PROMPT, CITY, model=backend, journal=journal, **asked)
        except Broken:
            kept = RecordingJournal.from_json(journal.to_json())
            answer = await vancetope.query(PROMPT, CITY, model=backend, journal=kept, **asked)
            assert backend.left == 0, "not every reply was asked for"
            assert len(backend.requests) == whole.calls, "a reply that was paid for was asked for again"
            assert answer.wrapper() == whole.wrapper
            assert (answer.model_calls, answer.usage) == (whole.answer.model_calls, whole.answer.usage)
        else:
            assert steps > whole.calls
            assert answer.wrapper() == whole.wrapper
            break
    else:
        raise AssertionError("the run never ended")


@BY_FORMAT
async def test_a_run_that_breaks_off_behind_a_refused_format_goes_on_in_words(enforcement: EnforcementName) -> None:
    schema = {**CITY, "description": f"{enforcement} breaks off"}
    info = ModelInfo(provider="lab", name="model", enforcements=FORMS)
    asked: dict[str, Any] = {"enforcement": enforcement}
    for steps in range(1, 9):
        schema = {**schema, "title": str(steps)}
        backend = Known(refusing([MISFIT, FITS]), info=info)
        journal = Breaking()
        journal.left = steps
        try:
            await vancetope.query(PROMPT, schema, model=backend, journal=journal, **asked)
        except Broken:
            kept = RecordingJournal.from_json(journal.to_json())
            answer = await vancetope.query(PROMPT, schema, model=backend, journal=kept, **asked)
            assert (answer.data, answer.attempts, answer.model_calls) == (OSLO, 2, 3)
            assert len(backend.requests) == 3
        else:
            assert steps == 4
            return
    raise AssertionError("the run never ended")


class Failing(RecordingJournal):
    """A journal whose store fails at its n-th step."""

    left = 0

    async def step(self, key: str, fn: Callable[[], Awaitable[T]], kind: type[T]) -> T:
        self.left -= 1
        if self.left < 0:
            raise OSError("the disk is full")
        return await super().step(key, fn, kind)


@ALL
async def test_a_store_that_fails_is_an_internal_error_with_its_wrapper_and_its_cause(
    enforcement: EnforcementName,
) -> None:
    for steps in range(4):
        backend = Known([MISFIT, "Prose.", FITS], info=ModelInfo(provider="lab", name="model", enforcements=FORMS))
        journal = Failing()
        journal.left = steps
        events: list[Any] = []
        answer = await vancetope.query(
            PROMPT, CITY, model=backend, journal=journal, enforcement=enforcement, on_event=events.append
        )
        assert answer.error == "internal_error"
        assert "the disk is full" in answer.message
        assert isinstance(answer.cause, OSError)
        assert answer.attempts == max(0, steps - 1)
        assert [each.type for each in events].count("turn_ended") == 1
        assert events[-1].type == "turn_ended"
        assert list(answer.wrapper()) == ["success", "attempts", "error", "message", "lastInvalid"]


async def test_a_cancelled_step_is_not_kept() -> None:
    entered, gate = asyncio.Event(), asyncio.Event()

    async def script(request: Request) -> Reply:
        entered.set()
        await gate.wait()
        return say(FITS)

    journal = RecordingJournal()
    running = asyncio.ensure_future(vancetope.query(PROMPT, CITY, model=known(script), journal=journal))
    await entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gate.set()
    kept = RecordingJournal.from_json(journal.to_json())
    answer = await vancetope.query(PROMPT, CITY, model=known([FITS]), journal=kept)
    assert (answer.data, answer.model_calls) == (OSLO, 1)


async def test_an_error_of_a_server_is_a_step_too_and_is_not_asked_for_again() -> None:
    failure = ModelError("It is gone.", status=500)
    failure.requests = 3
    journal = RecordingJournal()
    backend = known([MISFIT, failure])
    answer = await vancetope.query(PROMPT, CITY, model=backend, journal=journal)
    assert (answer.error, answer.model_calls) == ("llm_error", 4)
    await replays(answer, journal, PROMPT, CITY, backend.info, {})


async def test_a_pydantic_model_is_made_anew_in_a_replay() -> None:
    from pydantic import BaseModel

    class City(BaseModel):
        city: str
        people: int

    journal = RecordingJournal()
    backend = known([MISFIT, FITS])
    answer = await vancetope.query(PROMPT, City, model=backend, journal=journal)
    assert answer.data == City.model_validate(OSLO)
    await replays(answer, journal, PROMPT, City, backend.info, {})
    assert replace(answer, attempts=1) != answer
