"""The client: one request to Anthropic's or Google's API through the library, and what it takes to get its reply."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from vancetope.backends.base import OnPiece, Request
from vancetope.backends.direct.anthropic import Anthropic
from vancetope.backends.direct.asking import rehearsed, response, written_ahead
from vancetope.backends.direct.dialect import Dialect
from vancetope.backends.direct.extras import Kind, loaded, made, missing_extra
from vancetope.backends.direct.gemini import Gemini
from vancetope.backends.direct.passage import Passage
from vancetope.backends.direct.reading import calls_in, parts_in, reply_of
from vancetope.backends.direct.seat import PASSAGE
from vancetope.backends.direct.speech import spoken
from vancetope.backends.direct.splice import Plan, Written
from vancetope.backends.openai.failures import Where, broken, said_in
from vancetope.backends.openai.mask import masked
from vancetope.backends.openai.pool import Origin, Pool, Pools
from vancetope.backends.openai.profiles import at_host, checked_key
from vancetope.backends.resilience import ATTEMPTS, Circuits, Course, persist
from vancetope.errors import ConfigError, Unreachable, VancetopeError
from vancetope.messages import Reply
from vancetope.models.base import ModelInfo, Thinking
from vancetope.models.catalogue import catalogue

LONG = 60  # turns that the library does not write on the event loop

Wire = Callable[[str, Any], None]

DIALECTS: dict[Kind, Dialect] = {"anthropic": Anthropic(), "gemini": Gemini()}


class Direct:
    """A `Backend` for Anthropic's or Google's API, over pydantic-ai's direct layer.

    `url` and `key` override what is known of the API (the key is not read from the environment here). `attempts`,
    `idle_timeout`, `per_model_limit`, `max_connections` and `wire` are as in `OpenAICompatible`.

    Raises `ConfigError` at once for a base URL or a key that cannot work, and `MissingExtra` without the library.
    """

    def __init__(
        self,
        kind: Kind,
        url: str | None = None,
        key: str | None = None,
        *,
        key_variable: str | None = None,
        wire: Wire | None = None,
        max_connections: int = 100,
        per_model_limit: int = 8,
        attempts: int = ATTEMPTS,
        idle_timeout: float = 120.0,
    ) -> None:
        if missing := missing_extra(kind):
            raise missing
        if min(attempts, per_model_limit, max_connections) < 1:
            raise ConfigError("attempts, per_model_limit and max_connections are at least 1")
        self._dialect = DIALECTS[kind]
        profile = replace(self._dialect.profile, key_variable=key_variable or self._dialect.profile.key_variable)
        base = url or profile.base_url or ""
        # The library writes the version into the path by itself.
        self._origin = Origin.at(re.sub(rf"{self._dialect.versions}/*(?=$|\?)", "", base.strip()), profile.name)
        self.profile = at_host(profile, self._origin.host)
        self._key = checked_key(key, self.profile)
        self._secrets = (*((self._key,) if self._key else ()), *self._origin.secrets)
        self._wire = wire
        self._attempts = attempts
        self._idle_timeout = idle_timeout
        self._circuits = Circuits()
        self._written = Written()
        self._pools = Pools(self._origin, max_connections, per_model_limit)
        self._thinking: dict[str, Thinking | None] = {}

    async def complete(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        """The model's reply, streamed where `on_piece` is given. Contract: see `Backend`."""
        plan = self._written.plan(request.model, request.messages)
        if not plan.fresh:
            raise ConfigError("there is nothing to send: the conversation holds no message that says anything")
        where = Where(self.profile, self._origin.address, " ".join(request.model.split())[:100], self._secrets)
        course = Course(where, request.timeout, on_piece, request.on_send)
        model, plan = await self._prepared(plan, course)
        said = spoken(plan.fresh, self._dialect.kind, self._dialect.system, plan.model)
        once = partial(self._attempt, request, model, plan, said, where, course, on_piece is not None)
        return await persist(course, self._circuits.of(request.model), once, self._attempts)

    def knowing(self, info: ModelInfo) -> Direct:
        """This backend, where more is known of a model than the bundled catalogue says: the same connections, limits
        and circuits, with what `info` says of the thinking of the model with its name."""
        told = _thinking(info)
        known = self._thinking[info.name] if info.name in self._thinking else _bundled(self._dialect.kind, info.name)
        if told == known:
            return self
        knows = copy.copy(self)
        knows._thinking = {**self._thinking, info.name: told}
        return knows

    async def aclose(self) -> None:
        """Close the connections of the running event loop; those of another loop close when it ends."""
        await self._pools.aclose()

    async def _prepared(self, plan: Plan, course: Course) -> tuple[Any, Plan]:
        """The library's model, and what it has still to write. All that takes long is done in a thread: loading the
        library before its first request, and writing a long past. It counts to the time of the call."""
        try:
            async with asyncio.timeout(course.left):
                if plan.model not in self._thinking:
                    self._thinking[plan.model] = await asyncio.to_thread(_bundled, self._dialect.kind, plan.model)
                load = partial(rehearsed, self._dialect)
                model = await made(self._dialect.kind, load, plan.model, self._thinking[plan.model])
                if len(plan.fresh) > LONG:
                    await asyncio.to_thread(written_ahead, self._dialect, model, plan, self._written)
                    plan = self._written.plan(plan.model, plan.messages)
                return model, plan
        except TimeoutError:
            late = Unreachable(f"{course.where}: no request was ready within {course.timeout:g} s")
            late.requests = 0
            problem: VancetopeError = late
        except Exception as error:
            if isinstance(error, VancetopeError):
                raise
            words = said_in(None, str(error) or type(error).__name__, self._secrets)
            problem = ConfigError(f"the library for {course.where} cannot be loaded: {words}")
        problem.__context__ = None
        raise problem

    async def _attempt(
        self, request: Request, model: Any, plan: Plan, said: list[Any], where: Where, course: Course, streams: bool
    ) -> Reply:
        """One request, from its wait for a free slot to its reply."""
        pool = await self._pools.here()
        passage = self._passage(request, model, plan, pool, where, course, streams)
        clock = passage.clock = asyncio.timeout(course.left)
        held = PASSAGE.set(passage)
        problem: Exception
        try:
            async with clock, pool.slots(request.model):
                return await self._asked(passage, said)
        except TimeoutError:
            if not clock.expired():
                raise
            problem = course.timed_out(
                answered=passage.answered, characters=passage.notes.characters, idle=self._idle_timeout
            )
        except Exception as error:
            if error is course.listener_failed:
                raise
            problem = passage.problem or self._unread(passage, error)
        finally:
            PASSAGE.reset(held)
            await passage.aclose()
        # Raised out here and alone, the failure drags along none of the errors below, which quote what they were given.
        if isinstance(problem, VancetopeError):
            problem.__cause__ = problem.__context__ = None
        raise problem

    def _passage(
        self, request: Request, model: Any, plan: Plan, pool: Pool, where: Where, course: Course, streams: bool
    ) -> Passage:
        return Passage(
            dialect=self._dialect,
            request=request,
            model=model,
            plan=plan,
            written=self._written,
            origin=self._origin,
            key=self._key,
            pool=pool,
            where=where,
            course=course,
            show=self._show,
            shows=self._wire is not None,
            idle_timeout=self._idle_timeout,
            streams=streams,
        )

    async def _asked(self, passage: Passage, said: list[Any]) -> Reply:
        tell = passage.course.tell if passage.streams else None
        given = await response(passage.model, said, passage.request, self._dialect, tell)
        notes = passage.notes
        pieces, parts = parts_in(given)
        calls = calls_in(pieces, parts, self._dialect, notes)
        if passage.data is None:
            self._show("reply", self._dialect.told(pieces, calls, notes))
        return reply_of(
            pieces,
            calls,
            self._dialect,
            notes,
            model=passage.request.model,
            characters=passage.characters,
            limit=passage.limit,
            requests=passage.course.requests,
        )

    def _unread(self, passage: Passage, error: Exception) -> Exception:
        """What it means that the library gave up by itself: before the request it did not like ours, behind it the
        answer."""
        words = said_in(None, str(error) or type(error).__name__, self._secrets)
        if passage.course.waits:
            return ConfigError(f"the request to {passage.where} cannot be built: {words}")
        return broken(passage.where, f"sent a reply that cannot be read: {words}.")

    def _show(self, kind: str, value: Any) -> None:
        if self._wire is not None:
            self._wire(kind, masked(value, self._secrets))


def connect(
    kind: Kind, url: str | None, key: str | None, *, key_variable: str | None = None, wire: Wire | None = None
) -> Direct:
    """The backend for one API at one address. Nothing is loaded and nothing sent before its first request; raises
    `ConfigError` for a key or a base URL that cannot work, `MissingExtra` where the library is not installed."""
    return Direct(kind, url, key, key_variable=key_variable, wire=wire)


async def warm(kind: Kind) -> None:
    """Load the library of this kind, in a thread; the first request does so otherwise."""
    await loaded(kind, partial(rehearsed, DIALECTS[kind]))


def _bundled(kind: Kind, name: str) -> Thinking | None:
    return _thinking(catalogue().lookup(kind, name))


def _thinking(info: ModelInfo) -> Thinking | None:
    return info.thinking if info.known else None
