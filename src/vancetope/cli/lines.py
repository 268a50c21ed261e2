"""What a person reads beside the message: one line for each thing that happened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from vancetope.cli.clean import clean, one_line
from vancetope.events import CorrectionSent, Notice, RepairSent, ToolEnded, TurnNarrowed
from vancetope.messages import Usage
from vancetope.outcome import DELIVERED, Enforcement, Outcome, TurnReport

if TYPE_CHECKING:
    from vancetope.answer import Answer

Tone: TypeAlias = Literal["plain", "dim", "good", "bad", "note", "you"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of ours. `fits`: it is cut to the width of the terminal rather than wrapped."""

    text: str
    tone: Tone = "plain"
    fits: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """The message of a turn, as Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """What the model wrote that is not its message: narration, or the best text of a turn that failed."""

    text: str


Part: TypeAlias = Line | Said | Aside

# What had to be done to read an answer, by the rule that found it; a strict reply needs nothing.
HOW_FOUND = {
    "fence": "taken out of a code block",
    "span": "taken out of other text",
    "tidied": "its JSON was tidied",
    "closed": "its last brace was added",
}


def user_line(text: str) -> Line:
    indented = clean(text).replace("\n", "\n  ")
    return Line(f"> {indented}", "you")


def waiting_line(text: str, mode: str) -> Line:
    """A message that no turn has taken yet."""
    return Line(f"⧗ {'steers the next round' if mode == 'steer' else 'queued'}: {one_line(text)}", "dim", fits=True)


def call_text(name: str, arguments: Mapping[str, Any] | str) -> str:
    """A call as `name(key=value, ...)`, cut to one line."""
    if isinstance(arguments, str):
        inner = one_line(arguments, 60)
    else:
        inner = ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    return f"{one_line(name, 40)}({one_line(inner, 70)})"


def tool_line(call: str, ended: ToolEnded) -> Line:
    took = f"{ended.seconds:.1f} s"
    if ended.ok:
        return Line(f"✓ {call} {took}", "good", fits=True)
    return Line(f"✗ {call} failed, {took}: {one_line(ended.text)}", "bad")


def correction_line(event: CorrectionSent) -> Line:
    return Line(f"↻ correction: {one_line(event.text, 200)}", "dim", fits=True)


def repair_line(event: RepairSent) -> Line:
    return Line(f"↻ asked once more: {one_line(event.text, 200)}", "dim", fits=True)


def narrowed_line(event: TurnNarrowed) -> Line:
    return Line(f"↻ last round: {one_line(event.reason, 200)}", "dim", fits=True)


def notice_line(event: Notice) -> Line:
    return Line(f"· {one_line(event.text, 300)}", "note")


def error_line(error: BaseException) -> Line:
    return Line(f"✗ {one_line(str(error), 600)}", "bad")


def report_parts(report: TurnReport, seconds: float, *, shown: str = "") -> list[Part]:
    """What is said of a turn that ended: a red line and the best text if it failed, then one line of numbers. `shown`
    is the text that already stands above."""
    parts: list[Part] = []
    if report.outcome not in DELIVERED:
        best = clean(report.best_text or "")
        kept: list[Part] = [Aside(best)] if best.strip() and best.strip() != shown.strip() else []
        if report.outcome in (Outcome.INTERRUPTED, Outcome.STOPPED):
            parts += [*kept, Line(f"■ {report.outcome}", "bad")]
        else:
            reason = f": {one_line(report.reason, 600)}" if report.reason else ""
            parts += [Line(f"✗ {report.outcome}{reason}", "bad"), *kept]
    parts.append(Line(numbers(report, seconds), "dim"))
    return parts


def numbers(report: TurnReport, seconds: float) -> str:
    """Rounds, model calls, tokens, cost and time of a turn, and what was not as usual."""
    said = [_count(report.rounds, "round"), *_spent(report.model_calls, report.usage, report.cost, seconds)]
    if report.corrections:
        said.append(_count(report.corrections, "correction"))
    if report.bounded:
        said.append("message cut at its bound")
    if report.model_calls:
        said += _not_honoured(report.enforcement)
    if report.outcome in DELIVERED and report.outcome is not Outcome.RESPOND:
        said.append(report.outcome.value)
    return " · ".join(said)


def answer_numbers(answer: Answer[Any], seconds: float) -> str:
    """The same of a structured question: attempts, model calls, tokens, cost and time, and what was not as usual."""
    said = [_count(answer.attempts, "attempt"), *_spent(answer.model_calls, answer.usage, answer.cost, seconds)]
    if answer.model_calls:
        said += _not_honoured(answer.enforcement)
    if answer.rule in HOW_FOUND:
        said.append(HOW_FOUND[answer.rule])
    return " · ".join(said)


def failure_line(answer: Answer[Any]) -> Line:
    """Why there is no answer, and the start of the last reply that was none."""
    if answer.error == "stopped":
        return Line("■ stopped", "bad")
    last = answer.last_invalid if isinstance(answer.last_invalid, str) else _json(answer.last_invalid)
    tail = "" if answer.last_invalid is None else f" (the last reply: {one_line(last, 200)})"
    return Line(f"✗ {answer.error}: {one_line(answer.message, 600)}{tail}", "bad")


def _spent(calls: int, usage: Usage, cost: float | None, seconds: float) -> list[str]:
    about = "~" if usage.estimated else ""
    said = [_count(calls, "call"), f"{about}{usage.input_tokens:,} tokens in, {about}{usage.output_tokens:,} out"]
    if cost:
        said.append(f"${cost:.4f}" if cost >= 0.0001 else "< $0.0001")
    return [*said, f"{seconds:.1f} s"]


def _not_honoured(enforcement: Enforcement) -> list[str]:
    if enforcement.honoured == enforcement.asked:
        return []
    return [f"{enforcement.asked} enforcement was not honoured"]


def exit_code(outcome: Outcome) -> int:
    """The exit code that an outcome means."""
    if outcome in DELIVERED or outcome is Outcome.STARTED:
        return 0
    return {Outcome.MODEL_ERROR: 3, Outcome.BUDGET_EXCEEDED: 6, Outcome.INTERRUPTED: 130}.get(outcome, 4)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _value(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
