"""Jeltz: one question, one JSON object that fits the caller's schema, or one named failure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from json import dumps, loads
from typing import Any, Literal, TypeAlias

from vancetope import sentences, turn
from vancetope.answer import Answer, AnswerError
from vancetope.backends.openai.mask import mask
from vancetope.context import Context, Log
from vancetope.contract.ask import ask
from vancetope.contract.form import Form, form, profile
from vancetope.contract.question import BadQuestion, Failed, Found, Question, Retry, Tried, early, judge
from vancetope.contract.stream import RawStreamer
from vancetope.contract.verdict import End
from vancetope.engines.attempt import attempt, enforced, more_room
from vancetope.errors import ClassFailed, ConfigError
from vancetope.events import CorrectionSent, Notice, RoundStarted, TurnEnded
from vancetope.messages import Assistant, Message, Note, Result, whole_characters
from vancetope.model_call import Sent, falls_back
from vancetope.models.ledger import Purpose
from vancetope.outcome import Enforcement, EnforcementName, Outcome, TurnReport
from vancetope.tools.failure import failure_text

MOST_REFUSED = 1_000
QUOTED = 4_000
MOST_INDENTED = 500_000
ERRORS: Mapping[Outcome, AnswerError] = {
    Outcome.REFUSED: "refused",
    Outcome.FILTERED: "refused",
    Outcome.BUDGET_EXCEEDED: "budget_exceeded",
    Outcome.INTERRUPTED: "stopped",
    Outcome.STOPPED: "stopped",
    Outcome.OUTPUT_TRUNCATED: "output_truncated",
    Outcome.MODEL_ERROR: "llm_error",
    Outcome.CONTEXT_OVERFLOW: "llm_error",
}
TOOLS_OVER = (Outcome.NATURAL, Outcome.NATURAL_FALLBACK, Outcome.EMPTY_REPLY, Outcome.MALFORMED_CALL)

_USER = re.compile(r"(?<=://)[^\s/@]+@")
_QUERY = re.compile(r"(://[^\s?\"'<>]*)\?[^\s\"'<>]+")

# Schemas that a model's server refused as a response format, by model and schema, the oldest first.
_refused: dict[tuple[str, str], None] = {}


@dataclass(frozen=True, slots=True)
class Refused:
    """The step that remembers whether the server is known to refuse this schema as a response format."""

    refused: bool


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No reply came that could be judged, and none will."""

    end: End
    again: Literal[False] = False


Ruling: TypeAlias = Found | Failed | Retry | Unanswered


@dataclass(slots=True)
class Course:
    """A question on its way: what it has cost, what the judge remembers, what every attempt begins with, what the next
    one is told of the last, and how it is asked for."""

    log: Log
    form: Form
    prompts: Mapping[EnforcementName, str]
    tried: Tried = field(default_factory=Tried)
    opening: tuple[Message, ...] = ()
    mending: tuple[Message, ...] = ()
    limit: int | None = None
    tokens: int = 0
    corrections: int = 0
    dropped: bool = False


async def answer(ctx: Context, question: Question | BadQuestion) -> Answer[Any]:
    """Ask until a reply fits the schema or the attempts are used up. It never raises for what a model or its server
    does. Raises `ConfigError` before anything is told or sent, for a recipe whose prompt cannot be rendered."""
    prompts = _prompts(ctx, question) if isinstance(question, Question) else {}
    turn.started(ctx)
    log = Log(RawStreamer(f"{ctx.turn}.0", ctx.publish))
    course = Course(log, Form(ctx.enforcement), prompts)
    try:
        given = await _answered(ctx, course, question)
    except ClassFailed as error:
        given = replace(_failed(ctx, course, "internal_error", str(error)), cause=error)
    except ConfigError:
        raise
    except Exception as error:
        said = sentences.OUR_FAULT.format(what=_first_line(failure_text(error)))
        given = replace(_failed(ctx, course, "internal_error", said), cause=error)
    ctx.publish(TurnEnded(_report(course, given)))
    return given


async def _answered(ctx: Context, course: Course, question: Question | BadQuestion) -> Answer[Any]:
    if isinstance(question, BadQuestion):
        return _failed(ctx, course, question.error, question.message)
    for said in question.notices:
        ctx.publish(Notice(said))
    known = await ctx.journal.step("form", partial(_is_refused, ctx, question), Refused)
    course.form = Form("prompted") if known.refused else _told_form(ctx, question)
    ruling = await _after_tools(ctx, course, question)
    if ruling is None:
        ctx = _with_time(ctx, course)
        sender, judge_of = partial(_send, ctx, course, question), partial(_judged, ctx, course, question)
        ruling = await ask(sender, judge_of, question.max_attempts)
    return _result(ctx, course, ruling)


async def _is_refused(ctx: Context, question: Question) -> Refused:
    return Refused(bool(_refused) and (ctx.model.id, _key(question)) in _refused)


def _form(ctx: Context, question: Question, *, raised: bool = False) -> Form:
    """How to ask the model that is asked now: in the form that was prepared, else in words."""
    try:
        return form(question.validator, profile(ctx.enforcement, ctx.model), ctx.model, raised=raised)
    except ConfigError as error:  # a model that stands in for another may have no such form
        return Form("prompted", why=str(error))


def _told_form(ctx: Context, question: Question) -> Form:
    made = _form(ctx, question)
    if made.why:
        ctx.publish(Notice(sentences.ASKED_IN_WORDS.format(why=made.why)))
    return made


async def _after_tools(ctx: Context, course: Course, question: Question) -> Ruling | None:
    """The tool rounds, where there are tools: a `natural` turn that is over with its first reply without a call. Null
    where the answer is still to be asked for."""
    log = course.log
    course.opening = (question.message,)
    if not ctx.rules.offer.named:
        return None
    system = f"{course.prompts[course.form.mode]}\n\n{sentences.ANSWER_TOOLS}"
    ctx = replace(ctx, system=system)
    verdict = None
    while log.state.narrow is None and not isinstance(verdict, End):
        sent = await turn.send(ctx, log, None)
        verdict = turn.judged(ctx, log, sent)
        if not isinstance(verdict, End):
            await turn.act(ctx, log, verdict)
    course.opening = _kept(log.messages)
    if not isinstance(verdict, End):
        return None
    if verdict.message is not None and (found := early(question, verdict.message)):
        course.tried = replace(course.tried, attempts=1)
        return found
    return None if verdict.outcome in TOOLS_OVER else Unanswered(verdict)


def _with_time(ctx: Context, course: Course) -> Context:
    """The context of the attempts: where the tool rounds took all the time, they have that of one last round."""
    narrow = course.log.state.narrow
    course.log.state = replace(course.log.state, narrow=None)
    if narrow is None or narrow.reason != "deadline":
        return ctx
    return replace(ctx, deadline=asyncio.get_running_loop().time() + ctx.patience.last_round)


def _kept(messages: list[Message]) -> tuple[Message, ...]:
    """What the attempts see of the tool rounds: everything up to the last result."""
    kept = list(messages)
    while kept and isinstance(kept[-1], Assistant | Note):
        kept.pop()
    return (*kept, Note(sentences.ANSWER_CLOSING)) if any(isinstance(each, Result) for each in kept) else tuple(kept)


async def _send(ctx: Context, course: Course, question: Question, ruling: Ruling | None) -> Sent:
    """One attempt. A schema that the server refuses is asked for in words within it, and from then on."""
    number = course.tried.attempts
    course.log.streamer = RawStreamer(f"{ctx.turn}.{course.log.state.rounds + number}", ctx.publish)
    if isinstance(ruling, Retry) and ruling.say is not None:
        course.corrections += 1
        ctx.publish(CorrectionSent("attempt", ruling.say))
        course.mending = _mending(ruling.say, ruling.quote or "")
    messages = (*course.opening, *course.mending)
    ctx.publish(RoundStarted(course.log.state.rounds + number))
    key = f"attempt:{number}"
    ask_in = partial(attempt, ctx, course.log, prompts=course.prompts, messages=messages, limit=course.limit)
    purpose: Purpose = "correction" if course.corrections else "answer"
    sent, course.tokens = await ask_in(f"{key}:0", course.form, purpose)
    while falls_back(ctx, course.log, sent):
        key = f"{key}:{ctx.model.id}"
        course.form = _told_form(ctx, question)
        sent, course.tokens = await ask_in(f"{key}:0", course.form, purpose)
    if not sent.rejected or course.form.response_schema is None or sent.end is None:
        return sent
    ctx.publish(Notice(sentences.SCHEMA_REFUSED.format(why=_without_secrets(sent.end.reason))))
    course.form = Form("prompted")
    sent, course.tokens = await ask_in(f"{key}:1", course.form, purpose)
    if sent.reply is not None:
        _refused[ctx.model.id, _key(question)] = None
        while len(_refused) > MOST_REFUSED:
            _refused.pop(next(iter(_refused)))
    return sent


def _mending(say: str, quote: str) -> tuple[Message, ...]:
    """The last reply, once and cut, and what was wrong with it: the conversation does not grow with the attempts."""
    quoted = (Assistant(quote if len(quote) <= QUOTED else f"{quote[:QUOTED]}…"),) if quote.strip() else ()
    return (*quoted, Note(say))


def _judged(ctx: Context, course: Course, question: Question, sent: Sent) -> Ruling:
    if sent.reply is None:
        return Unanswered(sent.end or End("late", Outcome.MODEL_ERROR, reason=sentences.LATE))
    reply = replace(sent.reply, text=whole_characters(sent.reply.text))
    course.dropped |= not enforced(course.form, reply)
    limit = more_room(ctx.model, reply, course.tokens)
    before = course.tried
    course.tried = replace(before, attempts=before.attempts + 1, text=reply.text)  # also where judging it fails
    course.tried, ruling = judge(question, course.form, before, reply, can_raise=limit is not None)
    if isinstance(ruling, Retry) and ruling.say is None:
        course.limit = limit
        if course.form.response_schema is not None:
            course.form = _form(ctx, question, raised=True)
    return ruling


def _prompts(ctx: Context, question: Question) -> dict[EnforcementName, str]:
    """The recipe's prompt for each form that may be needed. It always has the schema: a grammar does not show it to the
    model, and a provider's form of it has lost its bounds."""
    text = question.validator.text
    if ctx.model.tier != "tiny" and len(pretty := _indented(text)) <= MOST_INDENTED:
        text = pretty
    given = {"schema_json": text, "prompt": question.text}
    modes: tuple[EnforcementName, ...] = (ctx.enforcement, "prompted")
    return {mode: ctx.render({**given, "mode": mode}) for mode in dict.fromkeys(modes)}


@lru_cache(maxsize=64)
def _indented(text: str) -> str:
    return dumps(loads(text), ensure_ascii=False, indent=2)


def _key(question: Question) -> str:
    return dumps(question.schema, sort_keys=True)


def _result(ctx: Context, course: Course, ruling: Ruling) -> Answer[Any]:
    match ruling:
        case Found(value=value, data=data, rule=rule):
            return replace(
                _failed(ctx, course, None, ""), success=True, data=data, value=value, rule=rule, last_invalid=None
            )
        case Failed(error=error, message=message):
            return _failed(ctx, course, error, message)
        case Unanswered(end=end):
            return _failed(ctx, course, ERRORS.get(end.outcome, "llm_error"), _without_secrets(end.reason))
        case Retry():
            raise AssertionError("the attempts are used up, and the judge asks for one more")


def _first_line(text: str) -> str:
    return _without_secrets(text.partition("\n")[0])[:200]


def _without_secrets(text: str) -> str:
    """What a backend said, of which we do not know how careful it is: libraries quote the URL, and keys stand in it."""
    return _QUERY.sub(r"\1?***", _USER.sub("***@", mask(text[:QUOTED])))


def _failed(ctx: Context, course: Course, error: AnswerError | None, message: str) -> Answer[Any]:
    honoured = "none" if course.dropped else course.form.mode
    return Answer(
        success=False,
        attempts=course.tried.attempts,
        error=error,
        message=message,
        last_invalid=course.tried.last_invalid,
        model_calls=course.log.requests,
        usage=course.log.usage,
        cost=course.log.cost,
        enforcement=Enforcement(ctx.enforcement, honoured),
    )


def _report(course: Course, given: Answer[Any]) -> TurnReport:
    """The turn that delivered the wrapper; whatever it says, it is the message."""
    wrapper = dumps(given.wrapper(), ensure_ascii=False)
    stopped = given.error == "stopped"
    return TurnReport(
        outcome=Outcome.STOPPED if stopped else Outcome.NATURAL,
        message=None if stopped else wrapper,
        best_text=wrapper if stopped else None,
        awaiting_user_input=False,
        reason=given.message,
        rounds=course.log.state.rounds + course.tried.attempts,
        model_calls=given.model_calls,
        corrections=course.corrections,
        repairs=course.log.repairs,
        usage=given.usage,
        cost=given.cost,
        enforcement=given.enforcement,
    )
