"""The truth table by example: for each row at least one reply, what came before it, and what the judge says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vancetope.backends.scripted import (
    call,
    calls,
    cut,
    empty,
    filtered,
    malformed,
    raw_call,
    refuse,
    respond,
    say,
    think,
)
from vancetope.contract.judge import begin, judge, ran
from vancetope.contract.rules import Offer, Rules
from vancetope.contract.verdict import Go, State, Verdict
from vancetope.messages import Finish, Reply, Result, ToolSpec
from vancetope.tools.respond import respond_spec

CITY: Mapping[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = {name: ToolSpec(name, f"Look up: {name}.", CITY) for name in ("get_time", "get_weather", "watch")}
RULES = Rules(
    relay="Tell what the tools said.",
    offer=Offer(TOOLS, poll=frozenset({"watch"})),
    respond=respond_spec("primary"),
    raises_output=True,
)
WORKER = replace(RULES, role="worker", respond=respond_spec("worker"))
NATURAL = replace(RULES, turn_end="natural", respond=None)
LONG = Result("c00000000", "get_time", "x" * 600, size=600)

paris = call("get_time", city="Paris")
oslo = call("get_weather", city="Oslo")
bad = call("get_time", town="Paris")
nonsense = call("get_tyme", city="Paris")
poll = call("watch", city="Paris")
hello = respond("Hello!")
blank = respond("  ")
cut_hello = cut(hello, at=12)
closed_and_cut = cut(calls(paris, oslo), at=8)


def bound(reply: Reply) -> Reply:
    return replace(reply, calls=tuple(replace(each, bounded=True) for each in reply.calls), bounded=not reply.calls)


def ending(reply: Reply, *, end_turn: bool) -> Reply:
    return replace(reply, end_turn=end_turn)


def finishing(reply: Reply, finish: Finish) -> Reply:
    return replace(reply, finish=finish)


@dataclass(frozen=True)
class Example:
    """`before` are the replies before `reply`; `expect` are attributes of the verdict; `answers` has one entry a call,
    null where it runs, else a part of its error."""

    row: str
    about: str
    reply: Reply
    expect: Mapping[str, Any]
    before: Sequence[Reply] = ()
    rules: Rules = RULES
    results: Sequence[Result] = ()
    idle: bool = False
    late: bool = False
    drained: bool = False
    answers: Sequence[str | None] | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


def played(example: Example) -> tuple[State, Verdict]:
    """The judge's word on an example, after everything that came before."""
    state = State()
    for reply in example.before:
        state, verdict = judge(example.rules, begin(state, drained=False, late=False), reply, idle=example.idle)
        assert isinstance(verdict, Go), f"what came before {example.about!r} already ended the turn"
    state = ran(state, example.results)
    state = begin(state, drained=example.drained, late=example.late)
    return judge(example.rules, state, example.reply, idle=example.idle)


def holds(example: Example) -> bool:
    """Whether the judge says what the example expects."""
    state, verdict = played(example)
    told = {
        **{key: getattr(state, key) for key in example.state},
        **{key: getattr(verdict, key, None) for key in example.expect},
    }
    if told != {**example.state, **example.expect}:
        return False
    if example.answers is None:
        return True
    if len(verdict.answers) != len(example.answers):
        return False
    pairs = zip(verdict.answers, example.answers, strict=True)
    return all(said is None if part is None else said is not None and part in said for said, part in pairs)


def ends(outcome: str, **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, **more}


def spends(budget: str, **more: Any) -> dict[str, Any]:
    return {"spends": budget, **more}


def no_corrections(rules: Rules) -> Rules:
    return replace(rules, corrections=0)


NO_BUDGET = no_corrections(RULES)
NARROW = replace(RULES, iterations=1)
NARROW_NATURAL = replace(NATURAL, iterations=1)

EXAMPLES: tuple[Example, ...] = (
    Example("refused", "a refusal", refuse("I cannot."), ends("refused", best_text="I cannot.")),
    Example("refused", "a filter with part of a text", filtered("Once upon"), ends("filtered", best_text="Once upon")),
    Example(
        "refused",
        "a refusal beside a call",
        finishing(calls(paris, text="No."), Finish.REFUSAL),
        ends("refused"),
        answers=["Not run"],
    ),
    Example(
        "refused", "keeps the narration before it", refuse(), ends("refused", best_text="Hm."), before=[say("Hm.")]
    ),
    Example("narrowed", "a valid respond", hello, ends("respond", message="Hello!"), before=[paris], rules=NARROW),
    Example(
        "narrowed",
        "respond beside a call that is not run",
        calls(paris, hello),
        ends("respond", message="Hello!"),
        before=[paris],
        rules=NARROW,
        answers=["Not run", "Delivered"],
    ),
    Example("narrowed", "text", say("So."), ends("natural_fallback", message="So."), before=[paris], rules=NARROW),
    Example(
        "narrowed", "text by nature", say("So."), ends("natural", message="So."), before=[paris], rules=NARROW_NATURAL
    ),
    Example(
        "narrowed",
        "text beside a call by nature",
        calls(paris, text="So."),
        ends("natural_fallback", message="So."),
        before=[paris],
        rules=NARROW_NATURAL,
        answers=["Not run"],
    ),
    Example("narrowed", "a call", oslo, ends("incomplete"), before=[paris], rules=NARROW, answers=["Not run"]),
    Example("narrowed", "nothing", empty(), ends("incomplete"), before=[paris], rules=NARROW),
    Example("narrowed", "malformed", malformed(), ends("incomplete"), before=[paris], rules=NARROW),
    Example(
        "narrowed",
        "an invalid respond is no answer and is not corrected",
        blank,
        ends("incomplete", message=None),
        before=[paris],
        rules=NARROW,
    ),
    Example(
        "narrowed",
        "two responds are no answer",
        calls(hello, respond("Bye!")),
        ends("incomplete", best_text="Hello!"),
        before=[paris],
        rules=NARROW,
    ),
    Example("narrowed", "cut text", cut("So I"), ends("incomplete", best_text="So I"), before=[paris], rules=NARROW),
    Example(
        "narrowed", "cut text after cut text", cut("So I"), ends("output_truncated"), before=[cut("So")], rules=NARROW
    ),
    Example("narrowed", "at the deadline", say("So."), ends("natural_fallback"), late=True),
    Example(
        "narrowed",
        "a short answer after long results stands",
        hello,
        ends("respond"),
        before=[paris],
        rules=NARROW,
        results=[LONG],
    ),
    Example("cut", "text", cut("So I"), spends("cut", raise_output=False), answers=[]),
    Example("cut", "a call", cut(paris, at=5), spends("cut", say=None), answers=["cut off"]),
    Example("cut", "a respond", cut_hello, spends("cut", say=None), answers=["cut off"]),
    Example("cut", "nothing raises the limit", cut(""), spends("cut", raise_output=True)),
    Example("cut", "thinking raises the limit", cut(think("Hm")), spends("cut", raise_output=True)),
    Example("cut", "twice", cut("So I am"), ends("output_truncated", best_text="So I am"), before=[cut("So I")]),
    Example("cut", "twice without a word", cut(""), ends("output_truncated", best_text=None), before=[cut("")]),
    Example("cut", "not twice in a row", cut("So I"), spends("cut"), before=[cut("So"), paris]),
    Example("cut", "without corrections", cut("So I"), spends("cut"), rules=NO_BUDGET),
    Example(
        "cut", "after a whole call beside a cut one", cut("So I"), ends("output_truncated"), before=[closed_and_cut]
    ),
    Example("bounded", "a message that filled its bound", bound(hello), spends("cut"), answers=["shorter"]),
    Example("bounded", "once a turn", bound(hello), ends("respond", bounded=True), before=[bound(hello)]),
    Example("bounded", "text by nature", bound(say("So")), spends("cut"), rules=NATURAL, answers=[]),
    Example("mixed", "after a work call", calls(paris, hello), spends("mixed"), answers=[None, "last and only"]),
    Example("mixed", "before a work call", calls(hello, paris), spends("mixed"), answers=["last and only", None]),
    Example(
        "mixed", "with an unknown call", calls(hello, nonsense), spends("mixed"), answers=["last and only", "get_time"]
    ),
    Example("mixed", "an invalid respond too", calls(blank, paris), spends("mixed"), answers=["last and only", None]),
    Example(
        "mixed",
        "two responds with work beside them",
        calls(hello, paris, hello),
        spends("mixed"),
        answers=["last and only", None, "last and only"],
    ),
    Example(
        "mixed", "a cut respond is cut", cut(calls(paris, hello), at=9), spends("mixed"), answers=[None, "cut off"]
    ),
    Example(
        "mixed",
        "the third time narrows",
        calls(paris, hello),
        spends("mixed"),
        before=[calls(paris, hello), calls(oslo, hello)],
        answers=[None, "last and only"],
        state={"mixed": 3},
    ),
    Example("many_responds", "two", calls(hello, respond("Bye!")), spends("correction"), answers=["once", "once"]),
    Example(
        "many_responds",
        "corrections out",
        calls(hello, respond("Bye!")),
        ends("incomplete", best_text="Hello!", message=None),
        rules=NO_BUDGET,
        answers=["Not run", "Not run"],
    ),
    Example("invalid_respond", "a blank message", blank, spends("correction"), answers=["/message"]),
    Example("invalid_respond", "no message", call("respond", text="Hi"), spends("correction"), answers=["message"]),
    Example("invalid_respond", "no JSON", raw_call("respond", "{message"), spends("correction"), answers=["JSON"]),
    Example(
        "invalid_respond",
        "corrections out, with a message in it",
        call("respond", message="Hello!", awaiting_user_input="perhaps"),
        ends("natural_fallback", message="Hello!", awaiting_user_input=True),
        rules=NO_BUDGET,
    ),
    Example("invalid_respond", "corrections out, no message", blank, ends("incomplete", message=None), rules=NO_BUDGET),
    Example(
        "nothing_running",
        "false from an idle primary",
        respond("Working on it.", False),
        spends("correction"),
        idle=True,
        answers=["nothing is running"],
    ),
    Example(
        "nothing_running",
        "said again, it stands",
        respond("Working on it.", False),
        ends("respond", awaiting_user_input=False),
        idle=True,
        before=[respond("Working on it.", False)],
    ),
    Example(
        "nothing_running",
        "something is running",
        respond("Working on it.", False),
        ends("respond", awaiting_user_input=False),
    ),
    Example(
        "nothing_running",
        "a worker may",
        respond("Done.", False),
        ends("respond", awaiting_user_input=False),
        rules=WORKER,
        idle=True,
    ),
    Example(
        "nothing_running",
        "without corrections it stands",
        respond("So.", False),
        ends("respond"),
        rules=NO_BUDGET,
        idle=True,
    ),
    Example("data_relay", "short after long", hello, spends("correction"), results=[LONG], answers=["Tell what"]),
    Example("data_relay", "it says that it waits", respond("Which?", True), ends("respond"), results=[LONG]),
    Example("data_relay", "a long answer", respond("y" * 201), ends("respond"), results=[LONG]),
    Example("data_relay", "a failed result", hello, ends("respond"), results=[replace(LONG, ok=False)]),
    Example(
        "data_relay",
        "the next answer stands",
        hello,
        ends("respond"),
        results=[LONG],
        before=[respond("n", False)],
        idle=True,
    ),
    Example(
        "data_relay", "switched off", hello, ends("respond"), results=[LONG], rules=replace(RULES, validation=False)
    ),
    Example("data_relay", "without corrections", hello, ends("respond"), results=[LONG], rules=NO_BUDGET),
    Example("respond", "alone", hello, ends("respond", message="Hello!", awaiting_user_input=True, bounded=False)),
    Example(
        "respond", "a worker does not wait by default", hello, ends("respond", awaiting_user_input=False), rules=WORKER
    ),
    Example(
        "respond", "a worker asks", respond("Which?", True), ends("respond", awaiting_user_input=True), rules=WORKER
    ),
    Example("respond", "extra keys are dropped", respond("Hi", mood="good"), ends("respond", message="Hi")),
    Example(
        "respond",
        "a flag as a string is decoded",
        call("respond", message="Hi", awaiting_user_input="false"),
        ends("respond", awaiting_user_input=False),
    ),
    Example("respond", "text beside it is never delivered", calls(hello, text="PS"), ends("respond", message="Hello!")),
    Example("respond", "cut behind its end", cut(hello), ends("respond", message="Hello!")),
    Example("respond", "finish is not asked", finishing(hello, Finish.STOP), ends("respond")),
    Example("work", "one call", paris, spends("-"), answers=[None]),
    Example(
        "work", "text beside it costs nothing", calls(paris, text="I look."), spends("-", say=None), answers=[None]
    ),
    Example("work", "two calls, one of them bad", calls(bad, oslo), spends("-"), answers=["city", None]),
    Example(
        "work",
        "three replies without a call that ran",
        nonsense,
        spends("own"),
        before=[bad, nonsense],
        answers=["get_time"],
        state={"streak": ("no_call_ran", 3)},
    ),
    Example(
        "work",
        "a drained message allows repeats",
        paris,
        spends("-"),
        before=[paris, paris],
        drained=True,
        answers=[None],
    ),
    Example("work", "by nature", paris, spends("-"), rules=NATURAL, answers=[None]),
    Example("cut_beside", "a whole call beside a cut one", closed_and_cut, spends("cut"), answers=[None, "cut off"]),
    Example("unknown", "names what is near", nonsense, spends("own"), answers=["get_time"]),
    Example("unknown", "names what there is", call("frobnicate"), spends("own"), answers=["get_weather"]),
    Example("unknown", "respond by nature", hello, spends("own"), rules=NATURAL, answers=["no tool named 'respond'"]),
    Example("unknown", "a call without a name", raw_call("", "{}"), spends("own"), answers=["no tool named"]),
    Example("bad_arguments", "schema", bad, spends("own"), answers=["city"]),
    Example("bad_arguments", "no JSON", raw_call("get_time", "{city: Paris}"), spends("own"), answers=["JSON"]),
    Example("bad_arguments", "a list", raw_call("get_time", "[1]"), spends("own"), answers=["object"]),
    Example(
        "bad_arguments",
        "a number in a string is decoded once",
        call("get_time", city="Paris", days="3"),
        spends("-"),
        answers=[None],
    ),
    Example("repeated", "the second time runs", paris, spends("-"), before=[paris], answers=[None]),
    Example("repeated", "the third time", paris, spends("own"), before=[paris, paris], answers=["same call"]),
    Example(
        "repeated",
        "another spelling is the same",
        raw_call("get_time", '{ "city":"Paris" }'),
        spends("own"),
        before=[paris, paris],
        answers=["same call"],
    ),
    Example(
        "repeated",
        "in another order",
        calls(oslo, paris),
        spends("own"),
        before=[calls(paris, oslo)] * 2,
        answers=["same", "same"],
    ),
    Example("repeated", "not in a row", paris, spends("-"), before=[paris, paris, oslo], answers=[None]),
    Example("repeated", "a poll may", poll, spends("-"), before=[poll] * 5, answers=[None]),
    Example(
        "repeated",
        "a poll beside it runs",
        calls(poll, paris),
        spends("-"),
        before=[calls(poll, paris)] * 2,
        answers=[None, "same"],
    ),
    Example(
        "repeated",
        "the fifth time narrows",
        paris,
        spends("own"),
        before=[paris] * 4,
        answers=["same call"],
        state={"same_set": 5},
    ),
    Example("malformed", "once", malformed(), spends("correction"), answers=[]),
    Example(
        "malformed",
        "a promised call that is not there",
        empty(Finish.TOOL_CALLS),
        spends("correction", row="malformed"),
    ),
    Example("malformed", "twice", malformed(), ends("malformed_call"), before=[malformed()]),
    Example("malformed", "corrections out", malformed(), ends("malformed_call"), rules=NO_BUDGET),
    Example(
        "malformed",
        "text in it is kept",
        finishing(say("So"), Finish.MALFORMED_CALL),
        ends("malformed_call", best_text="So"),
        rules=NO_BUDGET,
    ),
    Example("malformed", "a call in it counts", finishing(paris, Finish.MALFORMED_CALL), spends("-"), answers=[None]),
    Example("open_ended", "text", ending(say("First"), end_turn=False), spends("cap", say=None), answers=[]),
    Example("open_ended", "thinking by nature", ending(think("Hm"), end_turn=False), spends("cap"), rules=NATURAL),
    Example("open_ended", "without corrections", ending(say("First"), end_turn=False), spends("cap"), rules=NO_BUDGET),
    Example(
        "open_ended",
        "three in a row, then it has not been said",
        ending(say("Fourth"), end_turn=False),
        spends("correction", row="narrated"),
        before=[ending(say("x"), end_turn=False)] * 3,
    ),
    Example(
        "open_ended", "true changes nothing", ending(say("So"), end_turn=True), spends("correction", row="narrated")
    ),
    Example(
        "natural_relay", "short after long", say("It is late."), spends("correction"), rules=NATURAL, results=[LONG]
    ),
    Example("natural_relay", "a long text", say("y" * 201), ends("natural"), rules=NATURAL, results=[LONG]),
    Example(
        "natural",
        "text",
        say("It is late."),
        ends("natural", message="It is late.", awaiting_user_input=True),
        rules=NATURAL,
    ),
    Example(
        "natural",
        "of a worker",
        say("Late."),
        ends("natural", awaiting_user_input=False),
        rules=replace(NATURAL, role="worker"),
    ),
    Example(
        "natural", "no known finish", finishing(say("Late."), Finish.UNKNOWN), ends("natural_fallback"), rules=NATURAL
    ),
    Example(
        "natural",
        "a second one was bounded",
        bound(say("So")),
        ends("natural", bounded=True),
        rules=NATURAL,
        before=[bound(say("So"))],
    ),
    Example(
        "narrated",
        "by nature under a dropped grammar",
        replace(say('{"tool": "get_time"'), unforced=True),
        spends("correction", row="narrated"),
        rules=NATURAL,
    ),
    Example(
        "cut",
        "after one that was cut behind a call that could not run",
        cut("So I"),
        ends("output_truncated"),
        before=[cut(calls(nonsense, oslo), at=8)],
    ),
    Example(
        "silent", "zero-width text is no text", say("\u200b\u2060"), spends("correction", row="silent"), answers=[]
    ),
    Example("narrated", "text", say("I'll do that now."), spends("correction", row="narrated"), answers=[]),
    Example(
        "narrated",
        "corrections out",
        say("So."),
        ends("natural_fallback", message="So.", awaiting_user_input=True),
        rules=NO_BUDGET,
    ),
    Example("narrated", "third time", say("c"), ends("natural_fallback", message="c"), before=[say("a"), say("b")]),
    Example(
        "narrated",
        "of a worker",
        say("So."),
        ends("natural_fallback", awaiting_user_input=False),
        rules=no_corrections(WORKER),
    ),
    Example("narrated", "validation off", say("So."), ends("natural_fallback"), rules=replace(RULES, validation=False)),
    Example("narrated", "an unknown finish", finishing(say("So."), Finish.UNKNOWN), spends("correction")),
    Example("silent", "nothing", empty(), spends("correction", row="silent"), answers=[]),
    Example("silent", "blank text is no text", say(" \n "), spends("correction", row="silent")),
    Example("silent", "thinking only", think("Hm."), spends("correction", row="silent")),
    Example("silent", "twice", empty(), ends("empty_reply"), before=[think("Hm.")]),
    Example("silent", "corrections out", empty(), ends("empty_reply"), rules=NO_BUDGET),
    Example("silent", "an unknown finish is no success", empty(Finish.UNKNOWN), ends("empty_reply"), before=[empty()]),
    Example("silent", "by nature", empty(), spends("correction"), rules=NATURAL),
    Example(
        "silent",
        "keeps the narration before it",
        empty(),
        ends("empty_reply", best_text="I go."),
        before=[say("I go."), empty()],
    ),
)
