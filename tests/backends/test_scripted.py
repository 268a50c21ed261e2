"""The scripted backend keeps the contract of every backend, and says exactly what its script says."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vancetope as vt
from vancetope.backends.base import CallPiece, Piece, Request, Restarted, TextPiece, ThinkingPiece
from vancetope.backends.scripted import (
    Answer,
    Chunking,
    ScriptedBackend,
    ScriptExhausted,
    action,
    as_action,
    as_envelope,
    call,
    calls,
    cut,
    empty,
    failing,
    filtered,
    gated,
    load,
    malformed,
    pieces_of,
    random_chunks,
    raw_call,
    refuse,
    respond,
    restarted,
    say,
    think,
)
from vancetope.errors import AuthRefused, ConfigError, ModelError, RateLimited, ServerFailed
from vancetope.messages import Assistant, Call, Finish, Reply, Result, ToolSpec, Usage, User
from vancetope.outcome import EnforcementName, Outcome

ASKED = Request(model="scripted:test", system="be brief", messages=(User("What time is it in Paris?"),))
RESPOND = ToolSpec("respond", "ends the turn", {"type": "object"})


async def told(backend: ScriptedBackend, request: Request = ASKED) -> tuple[Reply, list[Piece]]:
    pieces: list[Piece] = []
    return await backend.complete(request, pieces.append), pieces


async def test_a_list_is_used_up_in_order_and_every_request_is_kept() -> None:
    backend = ScriptedBackend([call("get_time", city="Paris"), "It is 15:42.", respond("done", False)])
    replies = [await backend.complete(replace(ASKED, choice=str(number))) for number in range(3)]
    assert replies[0].calls == (Call("call_1", "get_time", '{"city": "Paris"}'),)
    assert replies[0].finish is Finish.TOOL_CALLS
    assert (replies[1].text, replies[1].finish) == ("It is 15:42.", Finish.STOP)
    assert json.loads(replies[2].calls[0].arguments) == {"message": "done", "awaiting_user_input": False}
    assert [request.choice for request in backend.requests] == ["0", "1", "2"]
    assert backend.left == 0


async def test_an_exhausted_script_says_how_many_it_had_and_what_was_asked() -> None:
    backend = ScriptedBackend(["one"])
    await backend.complete(ASKED)
    with pytest.raises(ScriptExhausted, match=r"all its 1 replies .* kind 'user' and reads 'What time") as raised:
        await backend.complete(ASKED)
    assert isinstance(raised.value, ConfigError)
    assert len(backend.requests) == 2


@pytest.mark.parametrize(
    ("message", "shown"),
    [(Result("c", "get_time", "15:42"), "15:42"), (Assistant("x" * 500), "x…"), (User("u"), "'u'")],
)
async def test_the_exhausted_script_quotes_any_last_message(message: User | Assistant | Result, shown: str) -> None:
    with pytest.raises(ScriptExhausted, match=shown):
        await ScriptedBackend([]).complete(replace(ASKED, messages=(message,)))


async def test_an_exception_in_the_script_is_raised() -> None:
    backend = ScriptedBackend([RateLimited(retry_after=2.0), "later"])
    with pytest.raises(RateLimited):
        await backend.complete(ASKED)
    assert (await backend.complete(ASKED)).text == "later"


async def test_a_function_answers_from_the_request_sync_or_async() -> None:
    def sync(request: Request) -> Answer:
        return request.system

    async def later(request: Request) -> Answer:
        await asyncio.sleep(0)
        return ServerFailed() if request.choice == "fail" else say(request.model)

    assert (await ScriptedBackend(sync).complete(ASKED)).text == "be brief"
    assert (await ScriptedBackend(later).complete(ASKED)).text == "scripted:test"
    with pytest.raises(ServerFailed):
        await ScriptedBackend(later).complete(replace(ASKED, choice="fail"))


async def test_usage_limit_and_model_are_filled_in_but_never_overwritten() -> None:
    settings = replace(ASKED.settings, max_tokens=50)
    backend = ScriptedBackend([think("a" * 40, "b" * 80), replace(say("x"), usage=Usage(7, 8), limit=9, model="other")])
    filled = await backend.complete(replace(ASKED, settings=settings, tools=(RESPOND,)))
    assert filled.usage == Usage(17, 30, thinking_tokens=10, estimated=True)
    assert (filled.limit, filled.model, filled.requests) == (50, "scripted:test", 1)
    kept = await backend.complete(ASKED)
    assert (kept.usage, kept.limit, kept.model) == (Usage(7, 8), 9, "other")


async def test_a_stream_tells_thinking_then_text_then_calls_with_the_name_in_the_first_piece() -> None:
    reply = calls(call("a", x=1), raw_call("b", ""), text="narrate", thinking="hmm")
    given, pieces = await told(ScriptedBackend([reply], chunking=4))
    assert given.calls == reply.calls
    assert pieces == [
        ThinkingPiece("hmm"),
        TextPiece("narr"),
        TextPiece("ate"),
        CallPiece(0, "a", '{"x"'),
        CallPiece(0, "", ": 1}"),
        CallPiece(1, "b", ""),
    ]


@given(st.text(), st.text(), st.lists(st.text(max_size=20), max_size=3), st.integers(0, 10_000) | st.integers(1, 5))
def test_whatever_the_chunking_the_pieces_join_to_the_reply(
    text: str, thinking: str, arguments: list[str], seed: int
) -> None:
    reply = calls(*(raw_call(f"t{n}", each) for n, each in enumerate(arguments)), text=text, thinking=thinking)
    chunking: Chunking = seed if 0 < seed <= 5 else random_chunks(seed)
    pieces = list(pieces_of(reply, chunking))
    assert "".join(piece.text for piece in pieces if isinstance(piece, ThinkingPiece)) == thinking
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)) == text
    for index, each in enumerate(reply.calls):
        own = [piece for piece in pieces if isinstance(piece, CallPiece) and piece.index == index]
        assert [piece.name for piece in own] == [each.name, *[""] * (len(own) - 1)]
        assert "".join(piece.arguments for piece in own) == each.arguments


def test_random_chunks_are_the_same_for_the_same_seed_and_no_longer_than_asked() -> None:
    text = "the quick brown fox jumps over the lazy dog"
    assert random_chunks(3)(text) == random_chunks(3)(text) != random_chunks(4)(text)
    assert max(map(len, random_chunks(5, longest=2)(text))) <= 2


async def test_a_chunking_that_loses_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="do not join"):
        await told(ScriptedBackend(["hello"], chunking=lambda text: [text[:2]]))


@pytest.mark.parametrize("size", [0, -1])
async def test_a_chunk_size_below_one_is_refused(size: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        ScriptedBackend(["hello"], chunking=size)


async def test_a_restart_tells_pieces_then_restarted_then_everything_again() -> None:
    reply, pieces = await told(ScriptedBackend([restarted("abcdef", after=1)]))
    assert pieces == [TextPiece("abc"), Restarted(), TextPiece("abc"), TextPiece("def")]
    assert reply.requests == 2


async def test_without_streaming_a_restart_is_invisible() -> None:
    assert (await ScriptedBackend([restarted("abcdef", after=1)]).complete(ASKED)).text == "abcdef"


@pytest.mark.parametrize("after", [0, 1, 2, 99])
async def test_a_failing_reply_breaks_after_its_pieces(after: int) -> None:
    pieces: list[Piece] = []
    with pytest.raises(ModelError):
        await ScriptedBackend([failing("abcdef", ModelError("gone"), after=after)]).complete(ASKED, pieces.append)
    assert len(pieces) == min(after, 2)


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_gated_reply_waits_and_can_be_cancelled_in_the_middle(streamed: bool) -> None:
    gate, pieces = asyncio.Event(), list[Piece]()
    backend = ScriptedBackend([gated("abcdef", gate, after=1), gated("abcdef", gate)])
    for opened in (False, True):
        task = asyncio.create_task(backend.complete(ASKED, pieces.append if streamed else None))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        if opened:
            gate.set()
            assert (await task).text == "abcdef"
        else:
            assert len(pieces) == (1 if streamed else 0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


def test_the_builders_say_what_they_are_called() -> None:
    assert empty() == Reply()
    assert empty(Finish.UNKNOWN).finish is Finish.UNKNOWN
    assert refuse("no") == Reply(text="no", finish=Finish.REFUSAL)
    assert filtered("par") == Reply(text="par", finish=Finish.CONTENT_FILTER)
    assert malformed().finish is Finish.MALFORMED_CALL
    assert think("hm") == Reply(thinking="hm")
    assert think("hm", call("a")).calls[0].name == "a"
    assert say("x", end_turn=False).end_turn is False
    assert json.loads(action("respond", message="hi").text) == {"tool": "respond", "arguments": {"message": "hi"}}
    assert calls() == Reply(finish=Finish.TOOL_CALLS)
    assert raw_call("a", "{", id="").calls == (Call("", "a", "{"),)
    assert "awaiting_user_input" not in respond("hi").calls[0].arguments


def test_a_cut_shortens_the_last_part() -> None:
    assert cut("abcdef") == Reply(text="abcdef", finish=Finish.LENGTH)
    assert cut("abcdef", 2).text == "ab"
    assert cut(think("abcdef"), 2).thinking == "ab"
    both = cut(calls(call("a"), call("b", x=1), text="t"), 3)
    assert [each.arguments for each in both.calls] == ["{}", '{"x']
    assert (both.text, both.finish) == ("t", Finish.LENGTH)


async def test_one_script_serves_both_forms() -> None:
    backend = ScriptedBackend([call("get_time", city="Paris")] * 2, follow_form=True)
    native = await backend.complete(ASKED)
    constrained = await backend.complete(replace(ASKED, response_schema={"type": "object"}))
    assert native.calls[0].name == "get_time"
    assert (constrained.text, constrained.finish) == (
        '{"tool": "get_time", "arguments": {"city": "Paris"}}',
        Finish.STOP,
    )


def test_only_a_single_call_has_an_action_form() -> None:
    for reply in (say("x"), calls(call("a"), call("b")), calls(call("a"), text="t"), empty()):
        assert as_action(reply) is reply
    assert as_action(cut(call("a", x=1), 4)).text == '{"tool": "a", "arguments": {"x"'


# Scripts by name.


@pytest.mark.parametrize("spec", ["hello", "scripted:hello", "echo", "scripted:echo"])
async def test_a_built_in_script_answers_in_the_form_that_the_request_wants(spec: str) -> None:
    schema = {"anyOf": [{"properties": {"tool": {"const": "respond"}}}]}
    answers = {"anyOf": [{"properties": {"tool": {"const": "answer"}}}]}
    backend = load(spec)
    native = await backend.complete(replace(ASKED, tools=(RESPOND,)))
    constrained = await backend.complete(replace(ASKED, response_schema=schema))
    natural = await backend.complete(replace(ASKED, response_schema=answers))
    plain = await backend.complete(ASKED)
    other = await backend.complete(replace(ASKED, response_schema={"type": "object"}))
    said = json.loads(native.calls[0].arguments)
    assert json.loads(constrained.text) == {"tool": "respond", "arguments": said}
    assert json.loads(natural.text) == {"tool": "answer", "arguments": {"message": said["message"]}}
    assert said["message"] == plain.text == other.text
    assert said["awaiting_user_input"] is True
    assert ("Paris" in plain.text) is spec.endswith("echo")


async def test_echo_never_answers_with_nothing() -> None:
    assert (await load("echo").complete(replace(ASKED, messages=(User(" "),)))).text.strip()


async def test_a_script_file_holds_every_kind_of_reply(tmp_path: Path) -> None:
    items = [
        "plain",
        {"text": "", "thinking": "hm", "end_turn": False},
        {"text": "n", "calls": [{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": "{"}, {"name": "c"}]},
        {"respond": "hi"},
        {"respond": {"message": "hi", "awaiting_user_input": False}, "calls": [{"name": "a"}]},
        {"text": "half", "finish": "length"},
        {"error": "busy", "status": 429},
        {"error": "who are you", "status": 401},
        {"error": "broken", "status": 503},
        {"error": "no"},
    ]
    file = tmp_path / "script.json"
    file.write_text(json.dumps(items))
    backend = await asyncio.to_thread(load, f"scripted:{file}")
    replies = [await backend.complete(ASKED) for _ in range(6)]
    assert replies[0].text == "plain"
    assert (replies[1].thinking, replies[1].end_turn) == ("hm", False)
    assert [each.arguments for each in replies[2].calls] == ['{"x": 1}', "{", "{}"]
    assert (replies[2].text, replies[2].finish) == ("n", Finish.TOOL_CALLS)
    assert replies[3].calls[0].arguments == '{"message": "hi"}'
    assert [each.name for each in replies[4].calls] == ["a", "respond"]
    assert replies[5].finish is Finish.LENGTH
    for kind, status in ((RateLimited, 429), (AuthRefused, 401), (ServerFailed, 503), (ModelError, None)):
        with pytest.raises(kind) as raised:
            await backend.complete(ASKED)
        assert type(raised.value) is kind
        assert raised.value.status == status


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not JSON"),
        ("[NaN]", "NaN is not a JSON value"),
        ("[" * 100_000, "is not JSON"),
        ('{"text": "x"}', "must be a JSON array of replies, not an object"),
        ("[7]", "reply 1 must be a string or an object, not a number"),
        ('["a", {}]', "reply 2 is an empty object"),
        ('[{"txt": "a"}]', "reply 1 has an unknown key 'txt'; known are text, thinking"),
        ('[{"text": null}]', "reply 1: text must be a string, not null"),
        ('[{"end_turn": 1}]', "end_turn must be true or false or null, not a number"),
        ('[{"finish": "done"}]', "finish must be one of stop, .*, not 'done'"),
        ('[{"calls": [{"arguments": {}}]}]', "reply 1, call 1 has no name"),
        ('[{"calls": ["a"]}]', "reply 1, call 1 must be an object, not a string"),
        ('[{"calls": [{"name": "a", "arguments": []}]}]', "arguments must be an object or a string, not an array"),
        ('[{"respond": {"messages": "a"}}]', "reply 1, respond has an unknown key 'messages'"),
        ('[{"error": "a", "text": "b"}]', "unknown key 'text'; known are error, status"),
    ],
)
def test_a_wrong_script_file_is_one_clear_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=sentence) as raised:
        load(str(file))
    assert "\n" not in str(raised.value)


def test_a_script_that_cannot_be_read_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(f"scripted:{tmp_path / 'none.json'}")
    (tmp_path / "latin.json").write_bytes(b'["\xe4"]')
    with pytest.raises(ConfigError, match="is not JSON"):
        load(f"scripted:{tmp_path / 'latin.json'}")
    with pytest.raises(ConfigError, match="there is no script 'nope': give scripted:hello, scripted:echo"):
        load("scripted:nope")


async def test_closing_is_remembered() -> None:
    backend = ScriptedBackend([])
    await backend.aclose()
    assert backend.closed


@pytest.mark.parametrize("enforcement", ["native", "constrained", "prompted"])
@pytest.mark.parametrize("name", ["hello", "echo"])
async def test_the_scripts_by_name_keep_every_contract(name: str, enforcement: EnforcementName) -> None:
    turn = await vt.ask("Guten Tag!", model=f"scripted:{name}", enforcement=enforcement)
    assert (turn.outcome, turn.model_calls) == (Outcome.RESPOND, 1)


def test_a_reply_is_written_as_an_envelope_whole_or_cut() -> None:
    both = calls(call("a", x=1), call("b"), text="Hm.")
    made = '[{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {}}]'
    assert as_envelope(both) == say(f'{{"content": "Hm.", "tool_calls": {made}}}')
    assert as_envelope(cut(call("a", x=1), 4)).text == '{"content": "", "tool_calls": [{"name": "a", "arguments": {"x"'
    assert as_envelope(cut(say("Hello"), 3)).text == '{"content": "Hel'
    for reply in (empty(), say(" "), refuse("No."), malformed(), as_envelope(say("Hi"))):
        assert as_envelope(reply) is reply
