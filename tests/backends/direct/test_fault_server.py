"""Against the server that goes wrong on purpose: every fault is a reply or a typed error, every request well formed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import stamina

from tests.backends.direct.apis import BOTH, KEY, MODEL, TOOLS, WAYS, asked
from vancetope.backends.base import Request
from vancetope.backends.direct import Direct, Kind, warm
from vancetope.backends.faults import KINDS, FaultServer, Given
from vancetope.backends.scripted import call, calls, respond, say
from vancetope.errors import ModelError
from vancetope.messages import Assistant, Call, Finish, Reply, Result, User


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


def at(kind: Kind, server: FaultServer, **options: Any) -> Direct:
    return Direct(kind, server.anthropic_url if kind == "anthropic" else server.gemini_url, KEY, **options)


async def outcome(kind: Kind, given: Given, streams: bool, request: Request | None = None) -> Reply | ModelError:
    await warm(kind)
    async with FaultServer([given]) as server:
        one = at(kind, server, attempts=1, idle_timeout=0.3)
        try:
            return await one.complete(
                request or asked(kind, tools=TOOLS, timeout=1.0), (lambda piece: None) if streams else None
            )
        except ModelError as error:
            return error
        finally:
            await one.aclose()
            assert server.violations == []


@BOTH
@WAYS
@pytest.mark.parametrize("name", KINDS)
async def test_every_fault_leaves_a_reply_or_a_typed_error(kind: Kind, name: str, streams: bool) -> None:
    fault = KINDS[name]
    found = await outcome(kind, fault, streams)
    # Gemini's streams have no end mark: one without a finish is one that broke off.
    endless = kind == "gemini" and streams and name.startswith("null_finish")
    match "error" if endless else fault.leaves:
        case "reply":
            assert isinstance(found, Reply), found
        case "error" | "nothing":
            assert isinstance(found, ModelError), found
    if isinstance(found, ModelError):
        assert str(found).startswith(f"{kind} at http://127.0.0.1:")
        assert KEY not in str(found)
        assert found.__context__ is None


@BOTH
@WAYS
async def test_a_turn_of_several_rounds_breaks_no_rule_of_the_provider(kind: Kind, streams: bool) -> None:
    on_piece = (lambda piece: None) if streams else None
    looked = calls(call("get_time", city="Paris"), text="Let me look.", thinking="It wants the time.")
    async with FaultServer([looked, say("Done."), respond("It is 15:42.")]) as server:
        one = at(kind, server)
        messages: list[User | Assistant | Result] = [User("What time is it?")]
        first = await one.complete(asked(kind, *messages, tools=TOOLS), on_piece)
        made = Call("c00100000", first.calls[0].name, first.calls[0].arguments)
        messages += [Assistant(first.text, (made,), first.carried), Result(made.id, made.name, "15:42")]
        second = await one.complete(asked(kind, *messages, tools=TOOLS), on_piece)
        assert (second.text, second.calls) == ("Done.", ())
        messages.append(User("VALIDATION CHECK: call respond"))
        third = await one.complete(asked(kind, *messages, tools=TOOLS, choice="respond"), on_piece)
        assert (third.calls[0].name, third.finish) == ("respond", Finish.TOOL_CALLS)
        await one.aclose()
        assert server.violations == []
        assert [each.dialect for each in server.requests] == [kind] * 3
        assert server.requests[2].forced == "respond"
        assert server.requests[2].turns[-1] == ("user", "VALIDATION CHECK: call respond")
        assert {each.model for each in server.requests} == {MODEL[kind]}
