"""The judge of a structured question: a pure fold over the attempts at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from json import dumps
from typing import Any, Literal, TypeAlias

from vancetope import sentences
from vancetope.contract.form import Form
from vancetope.messages import Finish, Reply, User, says_something, text_of
from vancetope.schema.excerpt import excerpt
from vancetope.schema.extraction import Extraction, NoJson, Rule, find
from vancetope.schema.problems import MAX_PROBLEMS, Problem, sentence
from vancetope.schema.strict import MAX_DEPTH, NotJson, parse
from vancetope.schema.validate import Validator

KEPT_TEXT = 2_000
SAME_ENDS = 3

Failure: TypeAlias = Literal["schema_violation", "max_attempts_exceeded", "output_truncated", "refused"]
Build: TypeAlias = Callable[[Any], tuple[Any, tuple[Problem, ...]]]


@dataclass(frozen=True, slots=True)
class Question:
    """One structured question, checked. `validator` is the caller's own schema, which alone decides; `build` makes the
    caller's own value of an object that fits, or says what is wrong with it. `hints` is the same schema with formats
    checked: they are told in a correction that is sent anyway. `notices` are sentences for people about
    the schema."""

    message: User
    validator: Validator
    hints: Validator
    max_attempts: int = 3
    build: Build | None = None
    notices: tuple[str, ...] = ()

    @property
    def schema(self) -> Mapping[str, Any]:
        return self.validator.schema

    @property
    def text(self) -> str:
        return text_of(self.message.content)


@dataclass(frozen=True, slots=True)
class BadQuestion:
    """What was asked is no question that can be sent."""

    error: Literal["invalid_params", "invalid_schema"]
    message: str


@dataclass(frozen=True, slots=True)
class Found:
    """The answer. `data` is what the caller gets, `value` the JSON object behind it."""

    value: Any
    data: Any
    rule: Rule
    again: Literal[False] = False


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer, for good."""

    error: Failure
    message: str
    again: Literal[False] = False


@dataclass(frozen=True, slots=True)
class Retry:
    """One more attempt. `say` is the correction, `quote` the reply that it is about; both are null where the same
    question is asked again with more room."""

    say: str | None
    quote: str | None
    again: Literal[True] = True


Ruling: TypeAlias = Found | Failed | Retry


@dataclass(frozen=True, slots=True)
class Tried:
    """What the judge remembers of the attempts: a fold over them and nothing else. `invalid` is the last JSON value
    that did not fit, in a tuple of one, and `problems` what was wrong with it; `text` is the last reply, `same` how
    often in a row it has come, and `why` what was wrong with it."""

    attempts: int = 0
    text: str = ""
    same: int = 0
    invalid: tuple[Any, ...] = ()
    problems: str = ""
    why: str = ""
    raised: bool = False

    @property
    def last_invalid(self) -> Any:
        """The wrapper's `lastInvalid`."""
        if self.invalid:
            return self.invalid[0]
        return self.text[:KEPT_TEXT] if says_something(self.text) else None


def judge(question: Question, form: Form, tried: Tried, reply: Reply, *, can_raise: bool) -> tuple[Tried, Ruling]:
    """The ruling on an attempt, and what is remembered after it. `can_raise`: the output limit can be raised once."""
    same = tried.same + 1 if tried.same and reply.text.strip() == tried.text.strip() else 1
    tried = replace(tried, attempts=tried.attempts + 1, text=reply.text, same=0)
    if reply.finish in (Finish.REFUSAL, Finish.CONTENT_FILTER):
        why = sentences.REFUSED if reply.finish is Finish.REFUSAL else sentences.FILTERED
        return tried, Failed("refused", why)
    found = _read(question, form, reply)
    if isinstance(found, Found):
        return tried, found
    if found.reason == "truncated" and (reply.finish is Finish.LENGTH or found.at_bound):
        return _cut(question, tried, can_raise=can_raise)
    only_calls = reply.calls and not says_something(reply.text)
    tried = replace(tried, same=same, why=sentences.CALLED_AND_CLOSED if only_calls else found.sentence)
    if found.reason == "invalid":
        tried = replace(tried, invalid=(found.value,), problems=sentence(found.problems))
    if tried.attempts >= question.max_attempts or tried.same >= SAME_ENDS:
        return tried, _spent(tried)
    return tried, Retry(_correction(question, tried, reply, found), reply.text)


def early(question: Question, text: str) -> Found | None:
    """The answer, where the text that ended the tool rounds already is one; it is no attempt if it is not."""
    found = find(text, question.validator)
    fitted = None if isinstance(found, NoJson) else _fitted(question, found)
    return fitted if isinstance(fitted, Found) else None


@dataclass(frozen=True, slots=True)
class _Missing:
    reason: str
    sentence: str = ""
    value: Any = None
    problems: tuple[Problem, ...] = ()
    at_bound: bool = False


def _read(question: Question, form: Form, reply: Reply) -> Found | _Missing:
    """The answer in a reply: found in its text, brought back to the caller's form, judged by the caller's schema."""
    found = _restored(question, form, reply) or find(reply.text, question.validator, reply.finish.value)
    if isinstance(found, NoJson) and found.reason == "invalid":
        found = _restored_amid_text(question, form, reply, found.value) or found
    if isinstance(found, NoJson):
        return _Missing(found.reason, found.sentence, found.value, found.problems)
    if form.at_bound is not None and form.at_bound(found.value):
        return _Missing("truncated", at_bound=True)
    return _fitted(question, found)


def _restored(question: Question, form: Form, reply: Reply) -> Extraction | NoJson | None:
    """What a reply in a provider's own form says in the caller's; null where it is not in that form."""
    if form.restore is None or reply.finish is Finish.LENGTH:
        return None
    try:
        value = form.restore(parse(reply.text))
    except NotJson:
        return None
    if problems := question.validator.problems(value):
        return NoJson("invalid", sentence(problems), value, problems)
    return Extraction(value, "strict")


def _restored_amid_text(question: Question, form: Form, reply: Reply, misfit: Any) -> Extraction | None:
    """The same where the one value of a reply, which does not fit as it is, is a server's form amid more text: behind
    reasoning, in a fence. Null unless what it says in the caller's form fits."""
    if form.restore is None or form.validator is None:
        return None
    found = find(reply.text, form.validator, reply.finish.value)
    if isinstance(found, NoJson) or found.value != misfit:
        return None
    value = form.restore(found.value)
    return Extraction(value, found.rule) if question.validator.fits(value) else None


def _fitted(question: Question, found: Extraction) -> Found | _Missing:
    if not isinstance(found.value, dict):
        problems: tuple[Problem, ...] = (Problem("", "type", "an object", "not an object"),)
        return _Missing("invalid", value=found.value, problems=problems)
    if question.build is None:
        return Found(found.value, found.value, found.rule)
    data, problems = question.build(found.value)
    if problems:
        return _Missing("invalid", value=found.value, problems=problems)
    return Found(found.value, data, found.rule)


def _cut(question: Question, tried: Tried, *, can_raise: bool) -> tuple[Tried, Ruling]:
    """A cut reply is never read, and never asked for again with the same room."""
    if tried.raised or not can_raise or tried.attempts >= question.max_attempts:
        twice = sentences.ANSWER_CUT_TWICE if tried.raised else ""
        return tried, Failed("output_truncated", sentences.ANSWER_CUT.format(twice=twice))
    return replace(tried, raised=True), Retry(None, None)


def _spent(tried: Tried) -> Failed:
    if tried.invalid:
        return Failed("schema_violation", sentences.NEVER_FITTED.format(problems=tried.problems))
    return Failed("max_attempts_exceeded", sentences.NEVER_JSON.format(why=tried.why))


def _correction(question: Question, tried: Tried, reply: Reply, found: _Missing) -> str:
    match found.reason:
        case "invalid":
            hints = [each for each in question.hints.problems(found.value) if each not in found.problems]
            said = sentences.ANSWER_INVALID.format(problems=sentence([*found.problems, *hints][:MAX_PROBLEMS]))
        case "ambiguous":
            said = sentences.ANSWER_AMBIGUOUS
        case "too_deep":
            said = sentences.ANSWER_TOO_DEEP.format(depth=MAX_DEPTH)
        case "too_large":
            said = sentences.ANSWER_TOO_LARGE
        case "truncated":
            said = sentences.ANSWER_BROKEN.format(why=found.sentence)
        case _ if not says_something(reply.text):
            said = sentences.ANSWER_CALLED if reply.calls else sentences.ANSWER_EMPTY
        case _:
            said = sentences.ANSWER_NONE
    if tried.same > 1:
        part = excerpt(question.schema, found.problems[0].pointer if found.problems else "")
        said = f"{said}\n{sentences.ANSWER_REPEATED.format(excerpt=dumps(part, ensure_ascii=False)[:KEPT_TEXT])}"
    return said
