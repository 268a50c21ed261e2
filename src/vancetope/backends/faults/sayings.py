"""Replies that are well-formed and wrong all the same: announcements, nothing, cuts, final answers beside work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.faults.edits import RECITATION, WINDOW_FULL, finish
from vancetope.backends.faults.fault import DONE, NARRATIONS, Fault, spoken, well, work
from vancetope.backends.faults.render import render
from vancetope.backends.faults.wire import Step, Wire
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
from vancetope.messages import Finish, Reply
from vancetope.tools.respond import RESPOND

GUESS = respond("It is raining in Paris.", awaiting_user_input=True)
FENCED = f"```json\n{dumped({'message': DONE, 'awaiting_user_input': True})}\n```"


def narration(language: str = "en") -> Fault:
    """An announcement of more work and no call, in one of the languages of `NARRATIONS`."""
    rows = "C01 C02 C06 C07 C08 C10 C11"
    return spoken("narration", "More work is announced, nothing is called.", lambda _: say(NARRATIONS[language]), rows)


def narrated(asked: Asked) -> Reply:
    return replace(work(asked), text=NARRATIONS["en"])


def told_twice(asked: Asked) -> Reply:
    return replace(well(asked), text=DONE)


def prose(asked: Asked, wire: Wire) -> Iterator[Step]:
    return render(say(DONE), asked, replace(wire, follow_form=False))


def guess_after_work(asked: Asked) -> Reply:
    return calls(work(asked), GUESS)


def guess_before_work(asked: Asked) -> Reply:
    return calls(GUESS, work(asked))


SAYINGS = (
    narration(),
    spoken("narration_with_call", "Text beside a call.", narrated, "C03 C26"),
    spoken("json_and_call", "A JSON answer beside a call.", lambda a: replace(work(a), text='{"a": 1}'), "C25"),
    spoken(
        "unknown_tool", "A call of a tool that was not offered.", lambda _: call("get_tiem", city="Paris"), "C80 C81"
    ),
    spoken("constant_call", "The same call whenever asked.", work, "C34 C40 C102"),
    spoken("thinking_only", "Thinking, and nothing else.", lambda _: think("What time is it there?"), "C28 C30"),
    spoken("empty_text", "Nothing, with finish stop.", lambda _: empty(), "C28 C30 C32 C47"),
    spoken("empty_block", "One block of empty text.", lambda _: empty(), "C28 C30", empty_block=True),
    spoken("blank_text", "White space.", lambda _: say(" \n\t "), "C30"),
    spoken("calls_without_calls", "Finish tool_calls, with neither call nor text.", lambda _: calls(), "C29"),
    spoken("malformed_call", "The provider could not read the model's call.", lambda _: malformed(), "C29"),
    spoken("refusal_field", "The refusal stands in a field of its own.", lambda _: refuse("I will not do that.")),
    spoken("refusal_finish", "The finish reason is refusal, and nothing is said.", lambda _: refuse()),
    spoken("content_filter", "The filter stops the text in its middle.", lambda _: filtered(DONE[:20])),
    spoken("filter_with_call", "The filter stops the reply, but a call is there.", lambda a: filtered(work(a)), "C72"),
    spoken(
        "recitation", "What is said stands elsewhere already.", lambda _: filtered(DONE[:20]), edit=finish(RECITATION)
    ),
    spoken("window_full", "The context window is full.", lambda _: cut(DONE, 20), "C46 C87", edit=finish(WINDOW_FULL)),
    spoken("cut_arguments", "The output limit cut a call's arguments.", lambda a: cut(work(a), 5), "C46"),
    spoken("cut_respond", "The output limit cut the final message.", lambda a: cut(well(a), 30), "C46"),
    spoken("cut_text", "The output limit cut text.", lambda _: cut(DONE, 20), "C46"),
    spoken("cut_thinking", "The output limit came in the thinking.", lambda _: cut(think("hmm, " * 20)), "C46"),
    spoken("cut_empty", "The output limit came before anything.", lambda _: empty(Finish.LENGTH), "C32 C46"),
    spoken("cut_whole_call", "Finish length, though the call is whole.", lambda a: cut(work(a)), "C46"),
    Fault("constraint_ignored", "Prose, though a JSON schema was asked for.", prose, ("C37", "C38", "C43")),
)

RESPONDS = (
    spoken("respond_after_work", "Work and a final answer in one reply.", guess_after_work, "C19"),
    spoken("respond_before_work", "A final answer and work in one reply.", guess_before_work, "C19"),
    spoken("two_responds", "Two final answers.", lambda _: calls(GUESS, respond("It is sunny.", True)), "C20 C22 C24"),
    spoken("final_twice", "The same final answer twice.", lambda _: calls(GUESS, GUESS), "C20 C48"),
    spoken("two_responds_and_work", "Two of them, work between.", lambda a: calls(GUESS, work(a), GUESS), "C19 C20"),
    spoken("text_and_respond", "Text and final answer say the same.", told_twice, "C15 C48 C52 C53"),
    spoken("invalid_respond", "A final answer without its message.", lambda _: call(RESPOND, awaiting=True), "C21 C34"),
    spoken("invalid_respond_and_work", "The same beside work.", lambda a: calls(call(RESPOND), work(a)), "C21 C66"),
    spoken("blank_respond", "A final answer that says nothing.", lambda _: respond("  ", True), "C30"),
    spoken(
        "extra_respond", "A final answer with a key that nobody asked for.", lambda _: respond(DONE, True, mood="well")
    ),
    spoken("text_flag", "The flag as text.", lambda _: call(RESPOND, message=DONE, awaiting_user_input="true"), "C83"),
    spoken("no_flag", "A final answer without its flag.", lambda _: respond(DONE), "C10"),
    spoken("fenced_respond", "Arguments in a Markdown fence.", lambda _: raw_call(RESPOND, FENCED), "C101"),
)
