"""From what a caller asks to a checked question, or the failure that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from json import dumps, loads
from typing import Any

from vancetope import sentences
from vancetope.answer import Answer
from vancetope.context import Halt
from vancetope.contract.question import BadQuestion, Build, Question
from vancetope.engines import jeltz
from vancetope.errors import ClassFailed, ConfigError
from vancetope.events import Event
from vancetope.inputs import user_message
from vancetope.journal import Journal
from vancetope.messages import History, User, next_turn
from vancetope.models.base import ModelInfo
from vancetope.prepare import Prepared
from vancetope.schema.keywords import unknown_keywords
from vancetope.schema.problems import Problem, pointer_of, shown
from vancetope.schema.validate import CACHED_LENGTH, InvalidSchema, Validator
from vancetope.schema.validate import compile as compiled
from vancetope.tools.failure import failure_text

MOST_ATTEMPTS = 10
MOST_SCHEMA = 1_000_000  # characters; a recipe's prompt, which holds the schema, may have few more


def question_of(
    prompt: Any, schema: Any, info: ModelInfo, *, max_attempts: Any = 3, format_checks: Any = False
) -> Question | BadQuestion:
    """The question for this model. It never raises: what cannot be asked is `invalid_params` or `invalid_schema`."""
    if problem := _bad_params(prompt, schema, max_attempts, format_checks):
        return BadQuestion("invalid_params", problem)
    try:
        message = user_message(prompt, info)
    except ConfigError as error:
        return BadQuestion("invalid_params", f"prompt: {error}")
    try:
        plain, build = (dict(schema), None) if isinstance(schema, Mapping) else _of_type(schema)
    except Exception as error:  # a type is a program: whatever it raises is its author's to mend
        name = (schema if isinstance(schema, type) else type(schema)).__name__
        return BadQuestion("invalid_schema", sentences.NOT_A_SCHEMA.format(name=name, why=_first_line(error)))
    return _question(message, plain, build, max_attempts, format_checks)


async def answered(
    prepared: Prepared,
    question: Question | BadQuestion,
    *,
    publish: Callable[[Event], None],
    history: History | None = None,
    journal: Journal | None = None,
    halt: Halt | None = None,
    streamed: bool = True,
    notices: tuple[str, ...] = (),
) -> Answer[Any]:
    """Ask it, once: every door's way to an answer."""
    past = history or History()
    first = (question.message,) if isinstance(question, Question) else ()
    ctx = prepared.context(
        drain=lambda round: first if round == 0 else (),
        publish=publish,
        history=past,
        turn=next_turn(past),
        halt=halt,
        journal=journal,
        streamed=streamed,
        notices=notices,
    )
    return await jeltz.answer(ctx, question)


def _bad_params(prompt: Any, schema: Any, max_attempts: Any, format_checks: Any) -> str | None:
    if isinstance(prompt, str) and not prompt.strip():
        return sentences.NO_PROMPT
    if not isinstance(schema, Mapping | type):
        return sentences.NO_SCHEMA
    if not isinstance(max_attempts, int) or isinstance(max_attempts, bool) or not 1 <= max_attempts <= MOST_ATTEMPTS:
        return sentences.BAD_ATTEMPTS
    return None if isinstance(format_checks, bool) else sentences.BAD_FORMAT_CHECKS


def _question(
    message: User, schema: dict[str, Any], build: Build | None, max_attempts: int, format_checks: bool
) -> Question | BadQuestion:
    try:
        validator = compiled(schema, formats=format_checks)
    except InvalidSchema as error:
        return BadQuestion("invalid_schema", str(error))
    text = validator.text
    if len(text) > MOST_SCHEMA:
        said = sentences.SCHEMA_TOO_LARGE.format(size=len(text), most=MOST_SCHEMA)
        return BadQuestion("invalid_schema", said)
    takes_objects, hints, notices = (_cached if len(text) <= CACHED_LENGTH else _seen)(text)
    if not takes_objects:
        return BadQuestion("invalid_schema", sentences.NOT_AN_OBJECT)
    return Question(message, validator, hints, max_attempts, build, notices)


def _seen(text: str) -> tuple[bool, Validator, tuple[str, ...]]:
    """Whether the schema in this text allows an object, its validator of formats too, and what is odd about it: likely
    typos (a note of its author's is none), and that it says next to nothing."""
    schema = loads(text)
    validator = compiled(schema)
    odd = [str(each) for each in unknown_keywords(schema) if each.meant or each.since]
    permissive = [sentences.OPEN_SCHEMA] if validator.takes_any_object else []
    return "object" in validator.types, compiled(schema, formats=True), (*odd, *permissive)


_cached = lru_cache(maxsize=256)(_seen)


@lru_cache(maxsize=64)
def _of_type(kind: type) -> tuple[dict[str, Any], Build]:
    """The schema of a pydantic model or another type that pydantic knows, and how its values are made."""
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def build(value: Any) -> tuple[Any, tuple[Problem, ...]]:
        try:
            return adapter.validate_json(dumps(value)), ()
        except ValidationError as error:
            return None, tuple(map(_problem, error.errors(include_url=False)[:8]))
        except Exception as error:
            said = sentences.CLASS_FAILED.format(name=kind.__name__, kind=type(error).__name__)
            raise ClassFailed(said) from error

    return adapter.json_schema(), build


def _problem(error: Any) -> Problem:
    said = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return Problem(pointer_of(error["loc"]), error["type"], said, shown(error["input"]))


def _first_line(error: Exception) -> str:
    return failure_text(error).removeprefix(f"{type(error).__name__}: ").partition("\n")[0][:300]
