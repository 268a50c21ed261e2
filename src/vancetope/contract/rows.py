"""The truth table: one function a row, in the order in which they are tried. The first with a verdict decides.

Source: the turn contract, `docs/contract.md`, whose table is generated from this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vancetope import sentences
from vancetope.contract.call_rows import cut_beside, problem
from vancetope.contract.calls import Read, message_of
from vancetope.contract.seen import Seen
from vancetope.contract.verdict import End, Go, Narrow, Spends, Streak, Verdict
from vancetope.messages import Finish
from vancetope.outcome import Outcome

SHORT_ANSWER = 200
LONG_RESULT = 500
OPEN_ENDED = 3
MIXED = 3
NO_CALL_RAN = 3
REPEAT_NARROWS = 5


# Refusal, then the narrowed round, then cut replies.


def refused(seen: Seen) -> Verdict | None:
    if seen.reply.finish is Finish.REFUSAL:
        return seen.fail("refused", Outcome.REFUSED, sentences.REFUSED)
    if seen.reply.finish is Finish.CONTENT_FILTER:
        return seen.fail("refused", Outcome.FILTERED, sentences.FILTERED)
    return None


def narrowed(seen: Seen) -> Verdict | None:
    if seen.state.narrow is None:
        return None
    whole = [each for each in seen.responds if each.problem is None and (each.closed or not seen.was_cut)]
    if len(seen.responds) == 1 and whole:
        answers = tuple(sentences.DELIVERED if each is whole[0] else sentences.NOT_RUN for each in seen.reads)
        return _accepted(seen, whole[0], answers)
    why = seen.state.narrow.sentence
    if seen.was_cut:
        twice = seen.in_a_row("cut") > 1
        outcome = Outcome.OUTPUT_TRUNCATED if twice else Outcome.INCOMPLETE
        return seen.fail("narrowed", outcome, sentences.CUT_NARROWED.format(why=why))
    if seen.text is None:
        return seen.fail("narrowed", Outcome.INCOMPLETE, sentences.NARROWED_OUT.format(why=why))
    if _answers(seen) and not seen.reads:
        return _natural(seen, seen.text)
    return seen.fallback("narrowed", seen.text, sentences.TEXT_NARROWED.format(why=why), seen.every(sentences.NOT_RUN))


def cut(seen: Seen) -> Verdict | None:
    if not seen.was_cut or any(each.closed for each in seen.reads):
        return None
    if seen.in_a_row("cut") > 1:
        tokens = f" of {seen.reply.limit} tokens" if seen.reply.limit else ""
        return seen.fail("cut", Outcome.OUTPUT_TRUNCATED, sentences.TRUNCATED.format(tokens=tokens))
    sentence = sentences.cut_off(seen.reply.limit)
    wordless = not seen.reads and seen.text is None
    return Go(
        "cut",
        "cut",
        answers=seen.every(sentence),
        say=None if seen.reads else sentence,
        streak="cut",
        raise_output=wordless and seen.rules.raises_output and not seen.state.output_raised,
    )


def bounded(seen: Seen) -> Verdict | None:
    hit = seen.reply.bounded or any(each.call.bounded for each in seen.reads)
    if not hit or seen.state.bounded:
        return None
    say = None if seen.reads else sentences.BOUND_HIT
    return Go("bounded", "cut", answers=seen.every(sentences.BOUND_HIT), say=say, bounded=True)


# Replies with calls.


def mixed(seen: Seen) -> Verdict | None:
    if not seen.responds or len(seen.responds) == len(seen.reads):
        return None
    narrow = Narrow("mixed", sentences.NARROW_MIXED) if seen.state.mixed + 1 >= MIXED else None
    streak: Streak | None = "cut" if any(cut_beside(seen, each) for each in seen.reads) else None
    answers = tuple(
        (cut_beside(seen, each) or sentences.RESPOND_ALONE) if each.kind == "respond" else problem(seen, each)
        for each in seen.reads
    )
    return Go("mixed", "mixed", answers=answers, streak=streak, narrow=narrow)


def many_responds(seen: Seen) -> Verdict | None:
    if len(seen.responds) < 2:
        return None
    if seen.corrections_left <= 0:
        return seen.fail("many_responds", Outcome.INCOMPLETE, sentences.MANY_RESPONDS)
    return Go("many_responds", "correction", answers=seen.every(sentences.RESPOND_ONCE))


def invalid_respond(seen: Seen) -> Verdict | None:
    if not seen.responds or (wrong := seen.responds[0].problem) is None:
        return None
    if seen.corrections_left > 0:
        return Go("invalid_respond", "correction", answers=(sentences.bad_respond(wrong),))
    message = message_of(seen.responds[0].call)
    if message is not None:
        return seen.fallback("invalid_respond", message, sentences.HALF_RESPOND, (sentences.DELIVERED,))
    return seen.fail("invalid_respond", Outcome.INCOMPLETE, sentences.INVALID_RESPOND.format(problem=wrong))


def nothing_running(seen: Seen) -> Verdict | None:
    if not seen.responds or seen.rules.role != "primary" or not seen.idle:
        return None
    if _awaiting(seen.responds[0]) is not False or not _may_object(seen):
        return None
    return Go("nothing_running", "correction", answers=(sentences.NOTHING_RUNNING,), objected=True)


def data_relay(seen: Seen) -> Verdict | None:
    if not seen.responds:
        return None
    arguments = seen.responds[0].arguments or {}
    if _awaiting(seen.responds[0]) is True or not _too_brief(seen, str(arguments["message"])):
        return None
    return Go("data_relay", "correction", answers=(seen.rules.relay,), objected=True)


def respond(seen: Seen) -> Verdict | None:
    return _accepted(seen, seen.responds[0], (sentences.DELIVERED,)) if seen.responds else None


def work(seen: Seen) -> Verdict | None:
    if not seen.reads:
        return None
    answers = tuple(problem(seen, each) for each in seen.reads)
    beside_cut = any(cut_beside(seen, each) for each in seen.reads)
    streak: Streak | None = "cut" if beside_cut else None if None in answers else "no_call_ran"
    narrow = None
    if seen.same_set >= REPEAT_NARROWS:
        narrow = Narrow("repeated", sentences.NARROW_REPEATED)
    elif streak == "no_call_ran" and seen.in_a_row(streak) >= NO_CALL_RAN:
        narrow = Narrow("no_call_ran", sentences.NARROW_NO_CALL_RAN)
    spends: Spends = "own" if None not in answers or narrow else "cut" if beside_cut else "-"
    return Go("work", spends, answers=answers, streak=streak, narrow=narrow, same_set=seen.same_set)


# Replies without a call.


def malformed(seen: Seen) -> Verdict | None:
    promised = seen.reply.finish is Finish.TOOL_CALLS and seen.text is None
    if seen.reply.finish is not Finish.MALFORMED_CALL and not promised:
        return None
    if seen.in_a_row("malformed") > 1 or seen.corrections_left <= 0:
        return seen.fail("malformed", Outcome.MALFORMED_CALL, sentences.MALFORMED)
    return Go("malformed", "correction", say=sentences.UNREADABLE_CALL, streak="malformed")


def open_ended(seen: Seen) -> Verdict | None:
    if seen.reply.end_turn is not False or not (seen.text or seen.reply.thinking.strip()):
        return None
    if seen.in_a_row("open_ended") > OPEN_ENDED:
        return None
    return Go("open_ended", "cap", streak="open_ended")


def natural_relay(seen: Seen) -> Verdict | None:
    if not _answers(seen) or not _too_brief(seen, seen.reply.text):
        return None
    return Go("natural_relay", "correction", say=seen.rules.relay, objected=True)


def natural(seen: Seen) -> Verdict | None:
    return _natural(seen, seen.reply.text) if _answers(seen) else None


def narrated(seen: Seen) -> Verdict | None:
    if seen.text is None:
        return None
    if not seen.rules.validation or seen.corrections_left <= 0:
        return seen.fallback("narrated", seen.text, sentences.TEXT_TAKEN)
    tools = ", ".join(seen.rules.offer.named)
    say = sentences.NO_CALL.format(tools=tools) if tools else sentences.NO_CALL_NO_TOOLS
    if seen.rules.turn_end == "natural":
        say = sentences.NO_ACTION
    return Go("narrated", "correction", say=say)


def silent(seen: Seen) -> Verdict | None:
    if seen.in_a_row("silent") > 1 or seen.corrections_left <= 0:
        return seen.fail("silent", Outcome.EMPTY_REPLY, sentences.EMPTY)
    say = sentences.EMPTY_RESPOND if seen.rules.turn_end == "respond" else sentences.EMPTY_NATURAL
    return Go("silent", "correction", say=say, streak="silent")


def _may_object(seen: Seen) -> bool:
    return not seen.state.objected and seen.corrections_left > 0


def _too_brief(seen: Seen, message: str) -> bool:
    if not (seen.rules.validation and seen.rules.relay and _may_object(seen)):
        return False
    return len(message) <= SHORT_ANSWER and seen.state.biggest_result >= LONG_RESULT


def _answers(seen: Seen) -> bool:
    """Whether this text ends a `natural` turn. Where a grammar was asked for, only its action `answer` does: other text
    is there because the server dropped the grammar, and may be half an action."""
    return seen.rules.turn_end == "natural" and seen.text is not None and not seen.reply.unforced


def _awaiting(each: Read) -> bool | None:
    """What a valid `respond` says explicitly about waiting, null if it says nothing."""
    value = (each.arguments or {}).get("awaiting_user_input")
    return value if isinstance(value, bool) else None


def _accepted(seen: Seen, each: Read, answers: tuple[str, ...]) -> End:
    explicit = _awaiting(each)
    return End(
        "respond" if seen.state.narrow is None else "narrowed",
        Outcome.RESPOND,
        message=str((each.arguments or {})["message"]),
        awaiting_user_input=seen.waits if explicit is None else explicit,
        answers=answers,
        bounded=each.call.bounded,
    )


def _natural(seen: Seen, text: str) -> End:
    outcome = Outcome.NATURAL_FALLBACK if seen.reply.finish is Finish.UNKNOWN else Outcome.NATURAL
    row = "natural" if seen.state.narrow is None else "narrowed"
    reason = sentences.UNKNOWN_FINISH if outcome is Outcome.NATURAL_FALLBACK else ""
    return End(row, outcome, message=text, awaiting_user_input=seen.waits, reason=reason, bounded=seen.reply.bounded)


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is printed: which reply, what follows, which budget it spends."""

    name: str
    reply: str
    then: str
    budget: str
    verdict: Callable[[Seen], Verdict | None]


TABLE: tuple[Row, ...] = (
    Row(
        "refused",
        "refused or filtered, also with calls beside it",
        "ends as `refused` or `filtered`; no call of it runs, its text is kept as `best_text`",
        "-",
        refused,
    ),
    Row(
        "narrowed",
        "any reply of a narrowed round",
        "one valid `respond` is delivered, other calls get *not run*; text is delivered as `natural_fallback` "
        "(`natural` under that contract); a cut reply after another cut one ends as `output_truncated`; all else as "
        "`incomplete`",
        "cap + 1",
        narrowed,
    ),
    Row(
        "cut",
        "cut at the output limit with no whole call in it",
        "*cut off, send it shorter*; the output limit is raised once if nothing was written; twice: `output_truncated`",
        "cut",
        cut,
    ),
    Row(
        "bounded",
        "a text of it stopped at a bound of our grammar",
        "as cut, once a turn; a second one is taken and marked `bounded`",
        "cut",
        bounded,
    ),
    Row(
        "mixed",
        "`respond` with other calls, known or not, in any order",
        "the other calls run; each `respond` gets *must be the last and only call*; the third such reply narrows",
        "mixed (3)",
        mixed,
    ),
    Row(
        "many_responds",
        "two or more `respond` and nothing else",
        "each gets an error, nothing is delivered; corrections out: `incomplete`, first message as `best_text`",
        "correction",
        many_responds,
    ),
    Row(
        "invalid_respond",
        "one `respond` whose arguments do not fit, or a blank message",
        "its errors as its result; corrections out: a message in it is delivered as `natural_fallback`, without one "
        "the turn ends as `incomplete`",
        "correction",
        invalid_respond,
    ),
    Row(
        "nothing_running",
        "`respond` of a primary that says it waits for nobody while nothing runs",
        "*nothing is running*; the next valid answer stands",
        "correction",
        nothing_running,
    ),
    Row(
        "data_relay",
        "a short `respond` after a long result, unless it says that it waits",
        "*tell what the tools said*; the next valid answer stands",
        "correction",
        data_relay,
    ),
    Row("respond", "one valid `respond`", "ends as `respond`; no request follows", "-", respond),
    Row(
        "work",
        "other calls only",
        "each runs or gets its error (below); three replies in a row in which none ran narrow, the fifth equal set of "
        "calls narrows; text beside them is narration",
        "own",
        work,
    ),
    Row(
        "malformed",
        "a call that could not be read, or a promised call that is not there",
        "*your call could not be read*; twice, or corrections out: `malformed_call`",
        "correction",
        malformed,
    ),
    Row(
        "open_ended",
        "text or thinking, and the provider says the turn goes on",
        "kept as narration, asked again with nothing of ours added; after three in a row, as if it had not been said",
        "cap",
        open_ended,
    ),
    Row(
        "natural_relay",
        "`natural`: a short text after a long result",
        "*tell what the tools said*; the next text stands",
        "correction",
        natural_relay,
    ),
    Row(
        "natural",
        "`natural`: text, or the action `answer` under a grammar",
        "ends as `natural`; as `natural_fallback` where the provider gave no known reason to stop",
        "-",
        natural,
    ),
    Row(
        "narrated",
        "text without a call, `respond`; text that is no action under a grammar, `natural`",
        "*no call: call one of these now*; corrections out or `validation` off: the text is delivered as "
        "`natural_fallback`",
        "correction",
        narrated,
    ),
    Row(
        "silent",
        "thinking only, or nothing",
        "*your reply was empty*; twice, or corrections out: `empty_reply`",
        "correction",
        silent,
    ),
)
