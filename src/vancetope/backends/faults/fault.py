"""What a fault is, and the makers of faults that take parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from vancetope.backends.faults.asked import Asked, dumped, sample
from vancetope.backends.faults.dialects import dialect_of
from vancetope.backends.faults.render import render
from vancetope.backends.faults.wire import JSON, Close, Data, Head, Pause, Raw, Reset, Silence, Step, Wire
from vancetope.backends.scripted import Staged, call, respond, say
from vancetope.backends.scripted.replies import reply_of
from vancetope.messages import Reply
from vancetope.tools.respond import ANSWER, RESPOND

Plan: TypeAlias = Callable[[Asked, Wire], Iterator[Step]]
Maker: TypeAlias = Callable[[Asked], Reply]
Leaves: TypeAlias = Literal["reply", "error", "either", "nothing"]

DONE = "The work is done. Grüße aus Zürich, 再见, مع السلامة, до свидания, 👋🏽."
# An announcement without its act, in six languages: the control flow must not notice the language.
NARRATIONS: Mapping[str, str] = {
    "en": "Next I will look at the clock and come back with the time.",
    "de": "Als Nächstes schaue ich auf die Uhr und melde mich mit der Zeit.",
    "fr": "Je vais maintenant regarder l'heure et je reviens avec la réponse.",
    "ja": "次に時計を確認して、時刻をお知らせします。",
    "ar": "سأنظر الآن إلى الساعة ثم أعود إليك بالوقت.",
    "hi": "अब मैं घड़ी देखकर समय बताऊँगा।",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which an answer goes wrong.

    `rows` cites the public failure reports that it replays (`C46`, `S21` and so on; empty where it is plain bad luck).
    `leaves` says what a client has afterwards: a "reply" (maybe an odd one), an "error", "either" (as it prefers), or
    "nothing" until it gives up.
    """

    name: str
    about: str
    plan: Plan
    rows: tuple[str, ...] = ()
    leaves: Leaves = "reply"


def well(asked: Asked) -> Reply:
    """The reply that ends a turn properly, in the form that the request allows."""
    for name in (RESPOND, ANSWER):
        if name in asked.tools:
            return respond(DONE, awaiting_user_input=True) if name == RESPOND else call(name, message=DONE)
    return say(DONE if asked.schema is None else dumped(sample(asked.schema)))


def work(asked: Asked) -> Reply:
    """A call of the first offered tool that does not end the turn; without one, the reply that ends it."""
    for name, schema in asked.tools.items():
        if name not in (RESPOND, ANSWER):
            return call(name, **sample({**schema, "type": "object"}))
    return well(asked)


def spoken(name: str, about: str, make: Maker, rows: str = "", *, leaves: Leaves = "reply", **wire: Any) -> Fault:
    """A fault in what is said: the reply that `make` gives, on a `Wire` with these changes. `rows`: "C29 C32"."""

    def plan(asked: Asked, base: Wire) -> Iterator[Step]:
        return render(make(asked), asked, replace(base, **wire))

    return Fault(name, about, plan, tuple(rows.split()), leaves)


def error_object(message: str, type: str, **more: object) -> dict[str, Any]:
    """An error as most providers write it."""
    return {"error": {"message": message, "type": type, **more}}


def error_of(asked: Asked, code: int, message: str, retry_after: float | None = None) -> dict[str, Any]:
    """An error as the provider that was asked writes it."""
    return dialect_of(asked).error(code, message, retry_after)


def status(
    code: int,
    body: object = None,
    *headers: tuple[str, str],
    message: str = "",
    retry_after: float | None = None,
    name: str = "",
    about: str = "",
) -> Fault:
    """An answer with this status and JSON body; text or bytes go out as they are.

    Without a body it is the error object of whoever is asked, with this message, and with the seconds to wait where its
    dialect has a place for them (else they can only be a header).
    """
    kind = ("content-type", "text/html") if isinstance(body, str) else JSON

    def plan(asked: Asked, _wire: Wire) -> Iterator[Step]:
        value = body
        if value is None:
            said = message or f"scripted status {code}"
            value = error_of(asked, code, said, retry_after)
        data = value if isinstance(value, bytes) else (value if isinstance(value, str) else dumped(value)).encode()
        yield Head(code, (kind, *headers), len(data))
        yield Data(data)

    return Fault(name or f"status_{code}", about or f"The server answers {code}.", plan, leaves="error")


def halved(
    answer: Reply | str | Maker | None = None,
    *,
    events: int | None = None,
    octets: int | None = None,
    end: Step | None = None,
) -> Fault:
    """The answer stops after so many writes, or after so many bytes of its body, and `end` happens (default: `Close`).
    Always before its last write: a stream of fewer writes stops one earlier, an answer of one in its middle.

    The answer is a reply, its text, a function of the request, or None for the one that ends a turn.
    """

    def plan(asked: Asked, wire: Wire) -> Iterator[Step]:
        given = list(render(_made(answer, asked), asked, wire))
        writes = sum(isinstance(step, Data) for step in given)
        most, written, size = events, 0, 0
        if asked.stream and events is not None and writes <= events:
            most = None if writes == 1 else writes - 1
        for step in given:
            if isinstance(step, Data):
                if octets is None and (not asked.stream or (events is not None and most is None)):
                    step = Data(step.data[: len(step.data) // 2])
                if octets is not None and size + len(step.data) >= octets:
                    yield Data(step.data[: octets - size])
                    break
                if asked.stream and written == most:
                    break
                written, size = written + 1, size + len(step.data)
            yield step
        yield end or Close()

    return Fault("half", "The answer stops in the middle and the connection is closed.", plan, (), "error")


def slow(answer: Reply | str | Maker | None = None, *, delay: float = 0.05) -> Fault:
    """The whole answer, with so many seconds before each chunk."""

    def plan(asked: Asked, wire: Wire) -> Iterator[Step]:
        return render(_made(answer, asked), asked, replace(wire, delay=delay))

    return Fault("slow", "Every chunk comes late, but all of them come.", plan)


def silence(*, head: bool = False) -> Fault:
    """The server takes the request and never answers; with `head`, it sends status and headers first."""

    def plan(asked: Asked, wire: Wire) -> Iterator[Step]:
        if head:
            yield from _only_head(asked, wire)
        yield Silence()

    return Fault("silence", "The server takes the request and never answers.", plan, (), "nothing")


def reset(*, head: bool = False) -> Fault:
    """The connection is reset at once; with `head`, after status and headers."""

    def plan(asked: Asked, wire: Wire) -> Iterator[Step]:
        if head:
            yield from _only_head(asked, wire)
            yield Pause(0.01)
        yield Reset()

    return Fault("reset", "The connection is reset.", plan, (), "error")


def body(data: bytes | Callable[[Asked], bytes], *, content_type: str = JSON[1], leaves: Leaves = "error") -> Fault:
    """A 200 with exactly these bytes as its body, or with those that the function makes of the request."""

    def plan(asked: Asked, _wire: Wire) -> Iterator[Step]:
        sent = data(asked) if callable(data) else data
        yield Head(headers=(("content-type", content_type),), length=len(sent))
        yield Data(sent)

    return Fault("body", "A 200 whose body is not what was asked for.", plan, (), leaves)


def steps(*given: Step, leaves: Leaves = "error") -> Fault:
    """Exactly these steps."""

    def plan(_asked: Asked, _wire: Wire) -> Iterator[Step]:
        return iter(given)

    return Fault("steps", "Exactly these steps.", plan, (), leaves)


def plan_of(answer: Reply | str | Staged | Fault, asked: Asked, wire: Wire) -> Iterator[Step]:
    """The steps of whatever a script gave."""
    return answer.plan(asked, wire) if isinstance(answer, Fault) else render(answer, asked, wire)


def raw_answer(data: bytes, length: int) -> Raw:
    """A JSON answer whose content-length is what you say."""
    return Raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % length + data)


def named(name: str, about: str, fault: Fault, rows: str = "", leaves: Leaves | None = None) -> Fault:
    """This fault under a name of its own."""
    return replace(fault, name=name, about=about, rows=tuple(rows.split()), leaves=leaves or fault.leaves)


def _only_head(asked: Asked, wire: Wire) -> Iterator[Step]:
    """Status and headers of the right kind, and the promise of a body."""
    for step in render(well(asked), asked, wire):
        if isinstance(step, Head):
            yield replace(step, length=None)
            return


def _made(answer: Reply | str | Maker | None, asked: Asked) -> Reply:
    if isinstance(answer, Reply | str):
        return reply_of(answer)
    return (answer or well)(asked)
