"""Every state that the judge can reach, breadth first, and random turns through the real loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.truth import (
    LONG,
    NATURAL,
    RULES,
    bad,
    blank,
    bound,
    closed_and_cut,
    cut_hello,
    ending,
    finishing,
    hello,
    nonsense,
    oslo,
    paris,
    poll,
)
from tests.harness import play
from vancetope.backends.scripted import call, calls, cut, empty, filtered, malformed, refuse, respond, say, think
from vancetope.contract import calls as calls_module
from vancetope.contract import judge as judge_module
from vancetope.contract.calls import Read
from vancetope.contract.judge import begin, judge, ran
from vancetope.contract.rules import Rules
from vancetope.contract.verdict import End, Go, State
from vancetope.messages import Call, Finish, Reply
from vancetope.outcome import DELIVERED, EnforcementName
from vancetope.tools.respond import respond_spec

# One reply of every kind that the table tells apart.
ALPHABET: dict[str, Reply] = {
    "refusal": refuse("No."),
    "filtered": filtered(),
    "cut text": cut("So I"),
    "cut nothing": cut(""),
    "cut call": cut(paris, at=5),
    "cut respond": cut_hello,
    "closed and cut": closed_and_cut,
    "closed respond at the limit": cut(hello),
    "respond": hello,
    "respond, not waiting": respond("On it.", False),
    "respond, waiting": respond("Which?", True),
    "invalid respond": blank,
    "half valid respond": call("respond", message="Hi", awaiting_user_input="perhaps"),
    "bounded respond": bound(hello),
    "bounded text": bound(say("So")),
    "two responds": calls(hello, hello),
    "mixed": calls(paris, hello),
    "mixed with unknown": calls(nonsense, hello),
    "work": paris,
    "other work": oslo,
    "poll": poll,
    "unknown": nonsense,
    "bad arguments": bad,
    "work and bad": calls(oslo, bad),
    "malformed": malformed(),
    "promised": empty(Finish.TOOL_CALLS),
    "open-ended": ending(say("First"), end_turn=False),
    "text": say("I'll do that."),
    "text, unknown finish": finishing(say("So."), Finish.UNKNOWN),
    "thinking": think("Hm."),
    "empty": empty(),
}


@dataclass(frozen=True)
class Explored:
    states: int
    ends: frozenset[str]


def explore(rules: Rules) -> Explored:
    """Visit every state, whatever the model says, the clock and the door do; check what must hold in each step.

    Rounds are left out of the states, so that what is found holds for every cap: each step adds one round, and from
    each state a call in the last round of the cap is checked to end the turn or to narrow it.
    """
    seen, ends = {State()}, set()
    waiting = deque(seen)
    while waiting:
        before = waiting.popleft()
        following = [begin(before, drained=drained, late=late) for drained, late in product((True, False), repeat=2)]
        for name, reply in ALPHABET.items():
            for idle in (True, False) if name == "respond, not waiting" else (False,):
                after, verdict = judge(rules, before, reply, idle=idle)
                step_holds(rules, before, after, reply, verdict, name)
                if isinstance(verdict, End):
                    ends.add(verdict.outcome.value)
                else:
                    following += [ran(after, results) for results in (([], [LONG]) if verdict.runs else ([],))]
        last, _ = judge(rules, replace(before, rounds=rules.iterations - 1), paris)
        assert last.ended or last.narrow, "the cap neither ends the turn nor narrows it"
        fresh = {replace(state, rounds=0, best_text=None) for state in following} - seen
        seen |= fresh
        waiting.extend(fresh)
    return Explored(len(seen), frozenset(ends))


def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a call depends on nothing but the call and the rules: once is enough for all states."""
    known: dict[tuple[str, str, bool, str], Read] = {}

    def read(call: Call, rules: Rules) -> Read:
        key = (call.name, call.arguments, call.bounded, rules.turn_end)
        if key not in known:
            known[key] = calls_module.read(call, rules)
        return known[key]

    monkeypatch.setattr(judge_module, "read", read)


def step_holds(rules: Rules, before: State, after: State, reply: Reply, verdict: End | Go, name: str) -> None:
    assert after.rounds == before.rounds + 1, name
    assert after.corrections <= rules.corrections, name
    assert len(verdict.answers) in ((len(reply.calls),) if reply.calls else (0,)), f"{name}: one result per call"
    if isinstance(verdict, End):
        assert after.ended, name
        assert (verdict.message is not None) == (verdict.outcome in DELIVERED), name
        assert None not in verdict.answers, name
        assert verdict.message is None or verdict.message.strip(), name
        assert verdict.outcome in DELIVERED or verdict.reason, name
    else:
        assert before.narrow is None, f"{name}: a narrowed round ends the turn"
        assert verdict.runs or verdict.say or verdict.answers or verdict.row == "open_ended", (
            f"{name}: no word to the model"
        )
        assert (verdict.spends == "correction") == (after.corrections > before.corrections), name


@pytest.mark.parametrize("corrections", [0, 1, 2])
@pytest.mark.parametrize("role", ["primary", "worker"])
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@pytest.mark.timeout(120)
def test_every_path_ends_once(
    turn_end: str,
    role: str,
    corrections: int,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    read_once(monkeypatch)
    base = RULES if turn_end == "respond" else NATURAL
    spec = respond_spec("primary" if role == "primary" else "worker") if turn_end == "respond" else None
    rules = replace(base, role=role, respond=spec, corrections=corrections)  # type: ignore[arg-type]
    found = explore(rules)
    expected = {
        "refused",
        "filtered",
        "output_truncated",
        "malformed_call",
        "empty_reply",
        "incomplete",
        "natural_fallback",
    }
    assert found.ends == expected | {turn_end}
    record_property("states", found.states)
    assert found.states > 100


SCRIPTS = st.lists(st.sampled_from(sorted(ALPHABET)), max_size=12)


@given(
    names=SCRIPTS,
    enforcement=st.sampled_from(["native", "constrained", "prompted"]),
    turn_end=st.sampled_from(["respond", "natural"]),
    corrections=st.integers(0, 2),
    iterations=st.integers(1, 12),
    chunk=st.integers(1, 9),
)
async def test_random_replies_through_the_real_loop_end_once_with_one_result_per_call(
    names: list[str], enforcement: EnforcementName, turn_end: str, corrections: int, iterations: int, chunk: int
) -> None:
    script = [ALPHABET[name] for name in names] + [hello] * (iterations + 1)
    played = await play(
        script,
        enforcement,
        turn_end=turn_end,
        max_validation_corrections=corrections,
        max_iterations=iterations,
        chunking=chunk,
    )
    assert played.turn.rounds <= iterations + 1
    assert len(played.requests) == played.turn.rounds
