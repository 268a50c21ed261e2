"""What of a conversation is written again, and what is kept."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from vancetope.backends.direct.speech import Spoken
from vancetope.backends.direct.splice import Written, spliced
from vancetope.messages import Assistant, User


def say(written: Written, *messages: Spoken, model: str = "m") -> tuple[int, list[bytes]]:
    """How many turns the library has to write, and the whole as it goes out."""
    plan = written.plan(model, messages)
    made = [
        {
            "role": turn.side,
            "said": [
                each.text if isinstance(each, Assistant) else each.content
                for each in turn.messages
                if not hasattr(each, "call_id")
            ],
        }
        for turn in plan.fresh
    ]
    return len(plan.fresh), spliced(plan, made, "model", written)


def talk(length: int, name: str = "") -> tuple[Spoken, ...]:
    return tuple(User(f"{name}{n}") if n % 2 == 0 else Assistant(f"{name}{n}") for n in range(length))


def test_only_the_end_of_a_conversation_is_written_again() -> None:
    written = Written()
    assert say(written, *talk(1))[0] == 1
    assert say(written, *talk(3))[0] == 3
    assert say(written, *talk(5))[0] == 3
    assert say(written, *talk(5))[0] == 1
    assert say(written, *talk(5), model="other")[0] == 5
    fresh, whole = say(written, *talk(7))
    assert (fresh, whole) == (3, say(Written(), *talk(7))[1])


def test_a_turn_that_goes_on_is_written_anew() -> None:
    written = Written()
    say(written, *talk(3))
    fresh, whole = say(written, *talk(3), User("and"))
    assert fresh == 1
    assert whole[-1] == b'{"role":"user","said":["2","and"]}'
    assert (
        say(written, *talk(2), Assistant("more"), User("2"))[1]
        == say(Written(), *talk(2), Assistant("more"), User("2"))[1]
    )


def test_a_past_that_was_changed_is_written_anew_from_there() -> None:
    written = Written()
    say(written, *talk(9))
    changed = (*talk(4), User("other"), *talk(9)[5:])
    fresh, whole = say(written, *changed)
    assert fresh == 6
    assert whole == say(Written(), *changed)[1]


def test_silent_messages_do_not_move_the_turns() -> None:
    written = Written()
    first = (User("a"), Assistant(" "), User("b"), Assistant("c"), User("d"))
    say(written, *first)
    longer = (*first, Assistant("e"), Assistant(""), User("f"))
    fresh, whole = say(written, *longer)
    assert fresh == 3
    assert whole == say(Written(), *longer)[1]
    assert whole[0] == b'{"role":"user","said":["a","b"]}'


def test_several_conversations_with_the_same_beginning_are_kept_apart() -> None:
    written = Written()
    for round in (3, 5, 7):
        for name in "xyz":
            talked = (User("hello"), *talk(round, name)[1:])
            fresh, whole = say(written, *talked)
            assert fresh == 3
            assert whole == say(Written(), *talked)[1]


def test_what_is_kept_is_bounded() -> None:
    written = Written(most=200)
    for name in "abcdefgh":
        say(written, *talk(3, name))
    assert sum(each.size for alike in written._kept.values() for each in alike) <= 200
    assert say(written, *talk(5, "h"))[0] == 3
    assert say(written, *talk(5, "a"))[0] == 5
    many = Written()
    for number in range(20):
        say(many, User("hello"), Assistant(f"{number}"), User("bye"))
    assert sum(len(each) for each in many._kept.values()) == 4


def test_several_threads_may_keep_conversations_at_once() -> None:
    written = Written(most=20_000)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda number: say(written, *talk(4, str(number % 40))), range(1500)))
    finally:
        sys.setswitchinterval(before)


def test_a_conversation_that_the_library_writes_otherwise_is_not_kept() -> None:
    written = Written()
    plan = written.plan("m", talk(3))
    assert spliced(plan, [{"role": "user"}], "model", written) == [b'{"role":"user"}']
    assert not written._kept
    silent = replace(plan, fresh=plan.fresh[1:], starts=plan.starts[1:])
    made = [{"role": "user"}, {"role": "model"}, {"role": "user"}]
    assert spliced(silent, made, "model", written) == [b'{"role":"model"}', b'{"role":"user"}']
