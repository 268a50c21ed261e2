"""The end of a turn, narration and waiting (C01 to C18): nothing but the contract ends a turn, in any language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stamina

import vancetope
from tests.cases.playing import (
    EACH,
    PROMPT,
    TOOLS,
    Line,
    answer,
    at,
    clockwork,
    content,
    ends_with,
    everything,
    paris,
    play,
    roles,
    settle,
    told,
    until,
    users,
    work_calls,
)
from vancetope.backends.faults import KINDS, NARRATIONS, Asked, FaultServer, Given, first, narration
from vancetope.backends.scripted import as_envelope, call, calls, empty, respond, say, think
from vancetope.context import Patience
from vancetope.events import MessageDelta, StatusChanged, TextDelta, TurnEnded
from vancetope.messages import Accepted, Reply
from vancetope.outcome import DELIVERED, EnforcementName, Outcome, TurnEnd

LANGUAGES = {
    **NARRATIONS,
    "zh": "接下来我会运行测试,然后告诉你结果。",
    "ru": "Сейчас я запущу тесты и сообщу результат.",
    "fi": "Ajan seuraavaksi testit ja kerron tuloksen.",
    "th": "ต่อไปฉันจะรันการทดสอบแล้วแจ้งผล",
    "he": "עכשיו אריץ את הבדיקות ואחזור עם התוצאה.",
    "sw": "Sasa nitaendesha majaribio na kukuambia matokeo.",
}
# Texts that a heuristic would take for an end, for a question, for a call or for JSON.
TEXTS = (
    "Done.",
    "Shall I go on?",
    "I'm continuing now with that comparison",
    "respond(message='It is 15:42 in Paris.', awaiting_user_input=True)",
    '{"message": "It is 15:42 in Paris.", "awaiting_user_input": true}',
    '{"name": "respond", "arguments": {"message": "It is 15:42."}}',
    "```json\n{}\n```",
    "1. Look at the clock\n2. Tell the time\n\nTASK COMPLETE",
    "<tool_call>get_time</tool_call>",
    "x" * 20_000,
)


@EACH
async def test_c01_an_announcement_without_a_call_is_corrected_once_and_the_turn_goes_on(
    enforcement: EnforcementName,
) -> None:
    played = await play([narration(), paris, answer], enforcement)
    assert played.turn.outcome is Outcome.RESPOND
    assert played.committed == ["It is 15:42 in Paris."]
    assert (played.turn.model_calls, played.turn.rounds, played.turn.corrections) == (3, 3, 1)
    assert played.rows == ["narrated"]
    correction = played.requests[1].messages[-1]
    assert correction["role"] == "user"
    assert content(correction).startswith("[runtime] ")
    assert NARRATIONS["en"] in everything(played.requests[1])
    assert NARRATIONS["en"] not in played.turn.messages.to_json()
    assert not any(NARRATIONS["en"].startswith(event.text) for event in played.of(MessageDelta))


async def test_c01_holds_for_a_server_that_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FaultServer([narration(), paris, answer], key="sk-case") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-case")
        turn = await vancetope.ask(PROMPT, model="openai:test", tools=TOOLS)
    assert (turn.message, turn.corrections) == ("It is 15:42 in Paris.", 1)
    assert [asked.authorized for asked in server.requests] == [True] * 3
    assert server.violations == []


@EACH
async def test_c01_no_word_in_a_text_makes_it_an_answer(enforcement: EnforcementName) -> None:
    traces = set()
    for text in TEXTS:
        played = await play([say(text), paris, answer], enforcement)
        assert (played.committed, played.turn.corrections) == (["It is 15:42 in Paris."], 1)
        traces.add(tuple(played.trace))
    assert len(traces) == 1


@EACH
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c02_the_course_of_a_turn_is_the_same_in_every_language(
    enforcement: EnforcementName, turn_end: TurnEnd
) -> None:
    traces = {}
    for language, text in LANGUAGES.items():
        script = (
            [say(text), say(text), paris, answer] if turn_end == "respond" else [paris, ends_with(text, enforcement)]
        )
        played = await play(script, enforcement, turn_end=turn_end)
        delivered = "It is 15:42 in Paris." if turn_end == "respond" else text
        assert played.committed == [delivered], language
        traces[language] = played.trace
    assert len(traces) >= 6
    assert {"ja", "ar"} <= traces.keys()
    assert all(trace == traces["en"] for trace in traces.values())


@EACH
async def test_c02_a_model_that_only_announces_ends_in_the_same_way_in_every_language(
    enforcement: EnforcementName,
) -> None:
    traces = []
    for text in LANGUAGES.values():
        played = await play([say(text)] * 3, enforcement)
        assert (played.turn.outcome, played.turn.message) == (Outcome.NATURAL_FALLBACK, text)
        assert played.turn.awaiting_user_input
        traces.append(played.trace)
    assert all(trace == traces[0] for trace in traces)


@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@pytest.mark.parametrize("said", [NARRATIONS["en"], "It is noon in Paris.", "完了しました。"])
async def test_c03_text_beside_a_work_call_is_narration_and_spends_no_correction(said: str, turn_end: TurnEnd) -> None:
    last = answer if turn_end == "respond" else say("It is 15:42 in Paris.")
    played = await play([calls(paris, text=said), last], turn_end=turn_end)
    assert (played.committed, played.turn.corrections) == (["It is 15:42 in Paris."], 0)
    assert played.turn.model_calls == 2
    if turn_end == "respond":
        assert "".join(event.text for event in played.of(TextDelta)) == said
    assert content(played.requests[1].messages[2]) == said
    assert said not in played.turn.messages.to_json()


async def test_c03_thinking_before_a_call_is_no_answer_either() -> None:
    played = await play([think("The user wants the time.", paris), answer])
    assert (played.committed, played.turn.corrections) == (["It is 15:42 in Paris."], 0)
    assert played.of(TextDelta) == []


UNENDED = "last_message"  # only servers that know `end_turn` say it, and those take an assistant's text as the last one


@EACH
@pytest.mark.parametrize("turn_end", ["respond", "natural"])
async def test_c04_a_turn_that_the_provider_keeps_open_is_sampled_again_with_nothing_of_ours(
    enforcement: EnforcementName, turn_end: TurnEnd
) -> None:
    last = answer if turn_end == "respond" else ends_with("It is 15:42 in Paris.", enforcement)
    server = FaultServer([KINDS["end_turn_false"], last], unchecked=(UNENDED,))
    played = await play([], enforcement, server=server, turn_end=turn_end)
    assert played.committed == ["It is 15:42 in Paris."]
    assert (played.turn.corrections, played.turn.rounds, played.rows) == (0, 2, [])
    before, after = (asked.messages for asked in played.requests)
    assert after[: len(before)] == before
    said = NARRATIONS["en"] if enforcement != "prompted" else as_envelope(say(NARRATIONS["en"])).text
    assert [(each["role"], content(each)) for each in after[len(before) :]] == [("assistant", said)]
    assert NARRATIONS["en"] not in played.turn.messages.to_json()


async def test_c04_an_open_turn_with_thinking_only_is_sampled_again_unchanged() -> None:
    thinking = Reply(thinking="Hm, let me see.", end_turn=False)
    played = await play([thinking, answer], repeats=1)
    assert (played.committed, played.turn.corrections) == (["It is 15:42 in Paris."], 0)


@EACH
async def test_c04_three_open_replies_in_a_row_are_enough(enforcement: EnforcementName) -> None:
    server = FaultServer([KINDS["end_turn_false"]] * 4 + [answer], unchecked=(UNENDED,))
    played = await play([], enforcement, server=server)
    assert (played.turn.rounds, played.turn.corrections, played.rows) == (5, 1, ["narrated"])


async def test_c04_open_replies_count_against_the_cap() -> None:
    server = FaultServer([KINDS["end_turn_false"], KINDS["end_turn_false"], answer], unchecked=(UNENDED,))
    played = await play([], server=server, max_iterations=2)
    assert (played.turn.narrowed, played.turn.rounds) == (True, 3)
    assert list(played.requests[-1].tools) == ["respond"]


async def test_c06_a_worker_stays_running_while_it_is_corrected() -> None:
    async with FaultServer([narration("ja"), narration("de"), paris, answer]) as server:
        line = Line(server, options={"role": "worker"})
        line.lane.post("What time is it?")
        turn = await line.lane.settled()
    line.keeps_promises()
    assert (turn.outcome, turn.corrections) == (Outcome.RESPOND, 2)
    assert line.statuses == ["running", "idle"]
    ended = [event.type for event in line.events].index("turn_ended")
    idle = [event.type for event in line.events].index("status_changed", 2)
    assert ended < idle


@EACH
async def test_c07_text_after_tools_is_answered_with_exactly_the_options_there_are(
    enforcement: EnforcementName,
) -> None:
    played = await play([paris, say("It is 15:42 there."), answer], enforcement)
    assert played.rows == ["narrated"]
    correction = told(played.requests[2])
    offered = list(played.requests[2].tools)
    assert offered == ["get_time", "get_weather", "respond"]
    assert "(get_time, get_weather)" in correction
    assert "`respond`" in correction
    assert "result_read" not in correction


@EACH
async def test_c07_a_model_without_tools_is_told_of_respond_alone(enforcement: EnforcementName) -> None:
    played = await play([say("It is late."), answer], enforcement, tools=())
    assert list(played.requests[1].tools) == ["respond"]
    assert "`respond`" in told(played.requests[1])
    assert "()" not in told(played.requests[1])


SLOW = {name for name, fault in KINDS.items() if fault.leaves == "nothing"}
HUGE = {"huge", "huge_line"}


@EACH
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - HUGE))
async def test_c08_whatever_happens_a_turn_has_a_message_or_a_typed_reason(
    kind: str, enforcement: EnforcementName
) -> None:
    unchecked = (UNENDED,) if kind == "end_turn_false" else ()
    for script in (first(KINDS[kind]), lambda asked: KINDS[kind]):
        server = FaultServer(script, unchecked=unchecked)
        with stamina.set_testing(True, attempts=2, cap=True):
            async with server as running:
                patience = Patience(model_call=0.2 if kind in SLOW else 5.0)
                turn = await vancetope.ask(
                    PROMPT, tools=TOOLS, enforcement=enforcement, patience=patience, **at(running)
                )
        assert server.violations == []
        assert (turn.message is None) == (turn.outcome not in DELIVERED)
        assert turn.message or turn.reason
        assert turn.message is None or turn.message.strip()
        assert len(server.requests) == turn.model_calls <= 12


@pytest.mark.parametrize("turn_end", ["respond", "natural"])
@pytest.mark.parametrize("kind", sorted(HUGE))
async def test_c08_an_answer_without_end_is_a_typed_failure(kind: str, turn_end: TurnEnd) -> None:
    with stamina.set_testing(True, attempts=1, cap=True):
        async with FaultServer([KINDS[kind]] * 2) as server:
            turn = await vancetope.ask(PROMPT, turn_end=turn_end, **at(server))
    assert turn.outcome is Outcome.MODEL_ERROR
    assert "32 MiB" in turn.reason


@EACH
@pytest.mark.parametrize(("role", "waits"), [("primary", True), ("worker", False)])
async def test_c10_a_flag_that_is_left_out_is_the_roles_and_no_words_of_a_call_stop_the_loop(
    enforcement: EnforcementName, role: Any, waits: bool
) -> None:
    def search(query: str, request_heartbeat: bool = True, final: bool = False, end_turn: bool = False) -> str:
        """Search the memory."""
        return f"nothing about {query}"

    stops = [
        call("search", query="a", request_heartbeat=False),
        call("search", query="b", final=True, end_turn=True),
        call("search", query="respond"),
    ]
    played = await play([*stops, respond("Nothing is known.")], enforcement, tools=[search], role=role)
    assert (played.turn.model_calls, played.turn.awaiting_user_input) == (4, waits)
    assert work_calls(played.turn.messages) == ["search"] * 3
    if enforcement == "prompted":
        assert f"{str(waits).lower()} (the default)" in content(played.requests[0].messages[0])
        return
    flag = played.requests[0].tools["respond"]["properties"]["awaiting_user_input"]
    if enforcement == "native":
        assert flag["default"] is waits
    required = played.requests[0].tools["respond"]["required"]
    assert required == ["message"]


@EACH
@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        ([empty(), empty()], Outcome.EMPTY_REPLY),
        ([think("Noted."), think("Noted.")], Outcome.EMPTY_REPLY),
        ([say("Noted."), say("Noted."), say("Noted.")], Outcome.NATURAL_FALLBACK),
        ([answer], Outcome.RESPOND),
    ],
    ids=["nothing", "thinking", "text", "respond"],
)
async def test_c11_a_side_effect_alone_never_ends_a_turn(
    enforcement: EnforcementName, last: list[Reply], outcome: Outcome
) -> None:
    written: list[str] = []

    async def remember(fact: str) -> None:
        """Write into the memory."""
        written.append(fact)

    played = await play([call("remember", fact="likes tea"), *last], enforcement, tools=[remember])
    assert (played.turn.outcome, written) == (outcome, ["likes tea"])
    assert played.turn.model_calls == 1 + len(last)


@EACH
async def test_c11_under_natural_a_side_effect_is_followed_by_a_text(enforcement: EnforcementName) -> None:
    played = await play([paris, ends_with("Noted.", enforcement)], enforcement, turn_end="natural")
    assert (played.turn.outcome, played.turn.model_calls) == (Outcome.NATURAL, 2)


@EACH
async def test_c12_a_worker_that_asks_ends_its_turn_and_nobody_answers_in_the_users_name(
    enforcement: EnforcementName,
) -> None:
    async with FaultServer([paris, respond("Which Paris, Texas or France?", True)]) as server:
        line = Line(server, enforcement, options={"role": "worker"})
        line.lane.post("Tell the time in Paris.")
        turn = await line.lane.settled()
        await settle()
        assert len(server.requests) == 2
    line.keeps_promises()
    assert (turn.message, turn.awaiting_user_input) == ("Which Paris, Texas or France?", True)
    assert line.statuses == ["running", "idle"]
    assert users(turn.messages) == ["Tell the time in Paris."]
    if enforcement == "native":
        said = [content(each) for asked in server.requests for each in asked.messages if each["role"] == "user"]
        assert set(said) == {"Tell the time in Paris."}


async def test_c12_no_request_ever_holds_a_user_message_that_nobody_wrote() -> None:
    script: list[Given] = [narration(), KINDS["empty_text"], paris, KINDS["two_responds"], answer]
    played = await play(script, max_validation_corrections=5)
    for asked in played.requests:
        said = [content(each) for each in asked.messages if each["role"] == "user"]
        assert [each for each in said if not each.startswith("[runtime] ")] == [PROMPT]
    assert users(played.turn.messages) == [PROMPT]


@EACH
async def test_c13_a_message_to_a_blocked_process_wakes_it_exactly_once(enforcement: EnforcementName) -> None:
    async with FaultServer(clockwork) as server:
        line = Line(server, enforcement)
        line.lane.post("What time is it?")
        await line.lane.settled()
        for number in (2, 3, 4):
            assert line.statuses[-1] == "blocked"
            line.lane.post(f"And now, for the {number}th time?")
            await line.lane.settled()
            await settle()
            assert (line.started, len(server.requests)) == (number, 2 * number)
    line.keeps_promises()
    assert line.statuses == ["running", "blocked"] * 4


@pytest.mark.parametrize("moment", ["turn_ended", "message_committed", "blocked", "running"])
async def test_c13_a_message_that_comes_while_the_process_goes_to_rest_is_not_left_lying(moment: str) -> None:
    async with FaultServer(clockwork) as server:
        line = Line(server)
        posted: list[str] = []

        def post_once(number: int, event: Any) -> None:
            is_it = event.type == moment or (isinstance(event, StatusChanged) and event.status == moment)
            if is_it and not posted:
                posted.append("Are you there?")
                line.lane.post("Are you there?")

        line.on_event = post_once
        line.lane.post("What time is it?")
        await line.lane.settled()
        await settle()
    line.keeps_promises()
    turns = 1 if moment == "running" else 2
    assert (line.started, line.statuses[-1]) == (turns, "blocked")
    assert users(line.lane.history) == ["What time is it?", "Are you there?"]


async def test_c13_messages_that_come_together_wake_the_process_once() -> None:
    async with FaultServer(clockwork) as server:
        line = Line(server)
        for number in range(5):
            line.lane.post(f"Question {number}")
        await line.lane.settled()
    line.keeps_promises()
    assert line.started == 1
    assert users(line.lane.history) == [f"Question {number}" for number in range(5)]


def plain(asked: Asked) -> Reply:
    """A model that knows no contract: it works, and then it writes its answer as text."""
    return say("It is 15:42 in Paris.") if "It is 15:42" in everything(asked) else paris


def stubborn(asked: Asked) -> Reply:
    """A model that never calls anything."""
    return say("It is about noon.")


def chatty(asked: Asked) -> Reply:
    """A model that comments each step beside its call."""
    reply = clockwork(asked)
    return calls(reply, text="Next step.") if reply.calls else reply


def obedient(asked: Asked) -> Reply:
    """A model that keeps whatever contract there is."""
    return clockwork(asked)


def corrigible(asked: Asked) -> Reply:
    """A model that answers with text first, and calls `respond` once it is told so."""
    return answer if "[runtime]" in told(asked) else plain(asked)


# Requests for one tool turn: (under respond, under natural). Two are needed.
EXTRA = {
    obedient: (2, 2),
    corrigible: (3, 2),
    chatty: (2, 2),
    plain: (4, 2),
    stubborn: (3, 1),
}


@pytest.mark.parametrize("model", EXTRA, ids=lambda model: model.__name__)
async def test_c14_what_the_contract_costs_is_known_and_a_recipe_can_switch_it(model: Any, tmp_path: Path) -> None:
    costs = []
    for turn_end in ("respond", "natural"):
        recipe = tmp_path / f"{turn_end}.yaml"
        recipe.write_text(f"engine: ford\nparams: {{turnEnd: {turn_end}}}\n")
        played = await play(model, recipe=recipe)
        assert played.turn.outcome in DELIVERED
        costs.append(played.turn.model_calls)
    assert tuple(costs) == EXTRA[model]


@EACH
async def test_c14_a_model_that_keeps_the_contract_pays_nothing_for_it(enforcement: EnforcementName) -> None:
    for tools, least in ((TOOLS, 2), ((), 1)):
        for turn_end in ("respond", "natural"):
            played = await play(obedient, enforcement, tools=tools, turn_end=turn_end)
            assert (played.turn.model_calls, played.turn.corrections) == (least, 0)


@EACH
@pytest.mark.parametrize("kind", ["text_and_respond", "no_flag", "extra_respond", "text_flag", "stop_with_call"])
async def test_c15_nothing_is_asked_after_an_accepted_answer(kind: str, enforcement: EnforcementName) -> None:
    script: list[Given] = [KINDS[kind], answer] if kind == "stop_with_call" else [KINDS[kind]]
    server = FaultServer(script)
    async with server as running:
        turn = await vancetope.ask(PROMPT, enforcement=enforcement, tools=TOOLS, **at(running))
        await settle()
        assert len(running.requests) == len(script) == turn.model_calls
    assert turn.outcome is Outcome.RESPOND
    assert (server.violations, server.left) == ([], 0)


async def test_c15_the_end_of_a_turn_needs_no_answer_from_the_model() -> None:
    played = await play([paris, answer])
    assert played.turn.model_calls == 2
    assert isinstance(played.turn.messages[-1], Accepted)


@pytest.mark.parametrize("role", ["primary", "worker"])
async def test_c18_a_process_can_ask_and_can_ask_and_go_on_and_both_reach_the_reader_once(role: Any) -> None:
    script = [respond("I have begun with Paris.", False), paris, respond("Which city next?", True)]
    async with FaultServer(script) as server:
        line = Line(server, options={"role": role})
        line.lane.post("Tell the time in two cities.")
        line.lane.post("Begin with Paris.")
        # With more to come the first message may go on without the user.
        line.on_event = lambda number, event: (
            line.lane.post("Go on.") if event.type == "round_started" and len(line.ended) == 0 else None
        )
        await line.lane.settled()
        await until(lambda: len(line.ended) == 2)
    line.keeps_promises()
    assert line.committed == ["I have begun with Paris.", "Which city next?"]
    assert line.ended == [Outcome.RESPOND, Outcome.RESPOND]
    waiting = [event.data.awaiting_user_input for event in line.events if isinstance(event, TurnEnded)]
    assert waiting == [False, True]
    assert line.statuses[-1] == ("blocked" if role == "primary" else "idle")


async def test_c18_with_nothing_running_a_primary_is_told_once_and_then_believed() -> None:
    insists = await play([respond("On it.", False), respond("Still on it.", False)])
    assert (insists.turn.message, insists.turn.awaiting_user_input) == ("Still on it.", False)
    assert (insists.rows, insists.turn.corrections) == (["nothing_running"], 1)
    assert roles(insists.requests[1])[-1] == "tool"
