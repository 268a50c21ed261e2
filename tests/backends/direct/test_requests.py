"""What a request becomes on the wire: places kept, schemas untouched, settings in each API's terms."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.backends.direct.apis import (
    BOTH,
    CALL,
    HELLO,
    SCHEMA,
    TOOLS,
    WAYS,
    asked,
    backend,
    called,
    given,
    replied,
    result,
    said_in,
)
from tests.backends.openai_raw import serving
from vancetope.backends.base import Request
from vancetope.backends.direct import Kind
from vancetope.backends.direct.carried import Piece, written
from vancetope.errors import ConfigError
from vancetope.messages import Assistant, File, Image, Result, Text, User

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


async def body_of(kind: Kind, request: Request, *, streams: bool = False) -> Any:
    async with serving(given(kind, HELLO, streams=streams)) as server:
        await replied(kind, server, request, streams=streams)
        return server.asked[0].body


@BOTH
@WAYS
async def test_corrections_keep_their_place_and_only_the_system_prompt_is_on_top(kind: Kind, streams: bool) -> None:
    messages = (
        User("What time is it?"),
        Assistant("Let me look.", (called(0), called(1))),
        result(0),
        result(1, "no such city", ok=False),
        User("VALIDATION CHECK: end your turn"),
        Assistant("", (called(2, "respond", "{}"),)),
        result(2, "not accepted", ok=False),
        User("VALIDATION CHECK: once more"),
    )
    body = await body_of(kind, asked(kind, *messages, tools=TOOLS), streams=streams)
    told = said_in(kind, body)
    said = [part for role, parts in told for part in parts if role == "user" and isinstance(part, str)]
    assert said == ["What time is it?", "VALIDATION CHECK: end your turn", "VALIDATION CHECK: once more"]
    roles = [role for role, _ in told]
    if kind == "anthropic":
        assert roles == ["user", "model", "user", "model", "user"]
        assert [each["text"] for each in body["system"]] == ["Be brief."]
        done = body["messages"][2]["content"]
        assert [(each["type"], each.get("is_error")) for each in done] == [
            ("tool_result", False),
            ("tool_result", True),
            ("text", None),
        ]
        assert [each["tool_use_id"] for each in done[:2]] == ["c00100000", "c00100001"]
    else:
        # Results share no turn with a text: Gemini would read it as its own.
        assert roles == ["user", "model", "user", "user", "model", "user", "user"]
        assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
        done = [each["functionResponse"] for each in body["contents"][2]["parts"]]
        assert [(each["id"], each["response"]) for each in done] == [
            ("c00100000", {"return_value": "15:42"}),
            ("c00100001", {"error": "no such city"}),
        ]


@BOTH
async def test_schemas_of_tools_go_out_as_they_were_given(kind: Kind) -> None:
    body = await body_of(kind, asked(kind, tools=TOOLS))
    if kind == "anthropic":
        tools = [(each["name"], each["description"], each["input_schema"]) for each in body["tools"]]
        assert not any("strict" in each for each in body["tools"])
        assert body["tool_choice"] == {"type": "auto"}
    else:
        listed = [each for tool in body["tools"] for each in tool["functionDeclarations"]]
        tools = [(each["name"], each["description"], each["parametersJsonSchema"]) for each in listed]
        assert body["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    assert tools == [(each.name, each.description, each.parameters) for each in TOOLS]
    assert json.dumps(tools[0][2]) == json.dumps(SCHEMA)


@BOTH
@pytest.mark.parametrize("model", ["", "a-model-nobody-knows"])
async def test_a_response_schema_goes_out_as_it_was_given(kind: Kind, model: str) -> None:
    request = asked(kind, response_schema=SCHEMA, **({"model": model} if model else {}))
    body = await body_of(kind, request)
    if kind == "anthropic":
        shape = body["output_config"]["format"]
        assert (shape["type"], body.get("tools")) == ("json_schema", None)
        assert json.dumps(shape["schema"]) == json.dumps(SCHEMA)
    else:
        config = body["generationConfig"]
        assert config["responseMimeType"] == "application/json"
        assert json.dumps(config["responseJsonSchema"]) == json.dumps(SCHEMA)


@BOTH
async def test_one_tool_may_be_forced_by_its_name(kind: Kind) -> None:
    body = await body_of(kind, asked(kind, tools=TOOLS, choice="respond", thinking="high"))
    if kind == "anthropic":
        assert body["tool_choice"] == {"type": "tool", "name": "respond"}
    else:
        assert body["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": ["respond"]}


async def test_a_budget_for_thinking_makes_way_for_a_forced_call_and_for_the_answer() -> None:
    model = "claude-opus-4-5"
    forced = await body_of("anthropic", asked("anthropic", tools=TOOLS, choice="respond", thinking="high", model=model))
    assert "thinking" not in forced
    short = await body_of("anthropic", asked("anthropic", thinking="high", max_tokens=4096, model=model))
    assert (short["max_tokens"], short["thinking"]["budget_tokens"]) == (4096, 3072)
    tiny = await body_of("anthropic", asked("anthropic", thinking="high", max_tokens=1500, model=model))
    assert "thinking" not in tiny
    free = await body_of("anthropic", asked("anthropic", thinking="high", temperature=0.2, model=model))
    assert free["max_tokens"] > free["thinking"]["budget_tokens"]
    assert "temperature" not in free


FIXED = "claude-haiku-4-5"
THOUGHT = written("anthropic", FIXED, [Piece("thinking", "hm", 0, "c2ln"), Piece("call")])


async def fixed(*messages: User | Assistant | Result, **more: Any) -> Any:
    """A request to a model that thinks with a fixed budget."""
    return await body_of("anthropic", asked("anthropic", *messages, **{"model": FIXED, "thinking": "low"} | more))


async def test_a_budget_for_thinking_makes_way_where_the_last_calls_were_made_without_thinking() -> None:
    at_once = (User("x"), Assistant("", (called(),)), result())
    assert "thinking" not in await fixed(*at_once, temperature=0.2)
    assert (await fixed(*at_once, temperature=0.2))["temperature"] == 0.2
    assert "thinking" not in await fixed(User("x"), Assistant("Well.", (called(),)), result())
    thought = (User("x"), Assistant("", (called(),), THOUGHT), result())
    assert (await fixed(*thought))["thinking"]["type"] == "enabled"
    assert "thinking" not in await fixed(*thought, Assistant("", (called(1),)), result(1))
    assert (await fixed(*at_once, Assistant("Hello"), User("y")))["thinking"]["type"] == "enabled"
    adaptive = await fixed(*at_once, model="claude-opus-4-6")
    assert adaptive["thinking"] == {"type": "adaptive"}


@pytest.mark.parametrize("more", [{"choice": "respond", "tools": TOOLS}, {"thinking": None}, {"thinking": "off"}])
async def test_a_request_without_thinking_brings_none_back(more: Any) -> None:
    pieces = [Piece("thinking", "hm", 0, "c2ln"), Piece("redacted", "", 0, "cmVk"), Piece("call")]

    async def kinds(model: str) -> tuple[Any, list[str]]:
        thought = Assistant("", (called(),), written("anthropic", model, pieces))
        body = await fixed(User("x"), thought, result(), model=model, **more)
        return body.get("thinking", {}).get("type"), [each["type"] for each in body["messages"][1]["content"]]

    thinking, left = await kinds(FIXED)
    assert thinking != "enabled"
    assert left == ["tool_use"]
    assert (await kinds("claude-opus-5-5"))[1] == ["thinking", "redacted_thinking", "tool_use"]


async def test_thinking_between_tools_may_be_left_out_by_the_server_too() -> None:
    model = "claude-sonnet-5-5"
    carried = written("anthropic", model, [Piece("thinking", "hm", 0, "c2ln"), Piece("call")])
    async with serving(given("anthropic", HELLO)) as server:
        told = (User("x"), Assistant("", (called(),), carried), result())
        await replied("anthropic", server, asked("anthropic", *told, model=model, thinking="off"))
        thinking = {"type": "between_tools", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        assert server.asked[0].body["thinking"] == thinking
        assert server.asked[0].headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"


async def test_thinking_that_cannot_be_written_as_it_was_signed_is_left_out() -> None:
    carried = written("anthropic", FIXED, [Piece("thinking", "hm \ud83d", 0, "c2ln"), Piece("call")])
    body = await fixed(User("x"), Assistant("", (called(),), carried), result())
    assert [each["type"] for each in body["messages"][1]["content"]] == ["tool_use"]


async def test_a_name_that_would_end_the_path_is_no_model() -> None:
    async with serving(given("gemini", HELLO)) as server:
        for name in ("a#b", "a?b=c"):
            with pytest.raises(ConfigError, match="is no name of a model of gemini"):
                await backend("gemini", server).complete(asked("gemini", model=name))
        assert server.asked == []


async def test_thinking_that_is_bound_to_its_request_may_be_left_out_by_the_server() -> None:
    carried = written("anthropic", "claude-opus-5-5", [Piece("thinking", "hm", 0, "c2ln")])
    told = (User("x"), Assistant("", (called(),), carried), result())
    drop = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    async with serving(given("anthropic", HELLO)) as server:
        for model, messages in (("claude-opus-5-5", told), ("claude-opus-5-5", told[:1]), ("claude-opus-4-6", told)):
            await replied("anthropic", server, asked("anthropic", *messages, model=model))
        beta = [each.headers.get("anthropic-beta") for each in server.asked]
        assert [each.body.get("thinking") for each in server.asked] == [drop, None, None]
        assert beta == ["thinking-binding-controls-2026-08-01", None, None]


@pytest.mark.parametrize(
    ("kind", "model", "thinking", "member", "shown"),
    [
        ("anthropic", "claude-opus-4-6", "low", "output_config", {"effort": "low"}),
        ("anthropic", "claude-opus-4-6", "high", "output_config", {"effort": "high"}),
        ("anthropic", "claude-opus-4-6", "medium", "thinking", {"type": "adaptive"}),
        ("anthropic", "claude-opus-4-6", "off", "thinking", None),
        ("gemini", "gemini-2.5-flash", "low", "thinkingConfig", {"includeThoughts": True, "thinkingBudget": 2048}),
        ("gemini", "gemini-2.5-flash", "off", "thinkingConfig", {"thinkingBudget": 0}),
        (
            "gemini",
            "gemini-3-pro-preview",
            "high",
            "thinkingConfig",
            {"includeThoughts": True, "thinkingLevel": "HIGH"},
        ),
        ("gemini", "gemini-2.5-flash", None, "thinkingConfig", None),
    ],
)
async def test_thinking_is_said_in_the_terms_of_the_api(
    kind: Kind, model: str, thinking: str | None, member: str, shown: Any
) -> None:
    body = await body_of(kind, asked(kind, model=model, thinking=thinking))
    assert (body["generationConfig"] if kind == "gemini" else body).get(member) == shown


async def test_settings_reach_anthropic_and_a_limit_always_does() -> None:
    body = await body_of("anthropic", asked("anthropic", temperature=0.2, max_tokens=99, seed=5, extra={"top_k": 3}))
    assert (body["temperature"], body["max_tokens"], body["top_k"]) == (0.2, 99, 3)
    assert "seed" not in body
    assert (await body_of("anthropic", asked("anthropic")))["max_tokens"] == 8192


async def test_settings_reach_gemini() -> None:
    extra = {"generationConfig": {"topK": 3}, "safetySettings": []}
    body = await body_of("gemini", asked("gemini", temperature=0.2, max_tokens=99, seed=5, extra=extra))
    config = body["generationConfig"]
    assert (config["temperature"], config["maxOutputTokens"], config["seed"], config["topK"]) == (0.2, 99, 5, 3)
    assert body["safetySettings"] == []
    assert "maxOutputTokens" not in (await body_of("gemini", asked("gemini")))["generationConfig"]


@BOTH
@WAYS
async def test_an_unknown_model_is_asked_under_its_name(kind: Kind, streams: bool) -> None:
    async with serving(given(kind, HELLO, streams=streams)) as server:
        request = asked(kind, model="a-model-nobody-knows", tools=TOOLS, thinking="low", temperature=0.1)
        assert (await replied(kind, server, request, streams=streams)).text == "Hello"
        one = server.asked[0]
        assert "a-model-nobody-knows" in (one.line if kind == "gemini" else one.body["model"])


@BOTH
async def test_nothing_empty_becomes_a_block(kind: Kind) -> None:
    messages = (
        User(" "),
        Assistant("\n"),
        User(""),
        User((Text(" "), Text("see"))),
        Assistant("", (called(),)),
        result(text=""),
        User(()),
    )
    body = await body_of(kind, asked(kind, *messages, system="", tools=TOOLS))
    assert "system" not in body
    assert "systemInstruction" not in body
    told = said_in(kind, body)
    assert told[0] == ("user", ["(no text)", "(no text)", "see"])
    assert [part for _, parts in told for part in parts if isinstance(part, str) and not part.strip()] == (
        [""] if kind == "anthropic" else []  # the content of the empty result, which is no block
    )


@BOTH
async def test_a_conversation_that_says_nothing_is_refused(kind: Kind) -> None:
    async with serving(given(kind, HELLO)) as server:
        with pytest.raises(ConfigError, match="there is nothing to send"):
            await backend(kind, server).complete(asked(kind, Assistant("")))
        assert server.asked == []


@BOTH
async def test_calls_with_odd_names_and_arguments_come_back_in_a_form_that_is_taken(kind: Kind) -> None:
    calls = (called(0, "get time!", "{city: Paris"), called(1, "", "[1]"), called(2, arguments='{"a": "é"}'))
    body = await body_of(kind, asked(kind, User("x"), Assistant("", calls), *map(result, range(3)), tools=TOOLS))
    if kind == "anthropic":
        made = [(each["name"], each["input"]) for each in body["messages"][1]["content"]]
    else:
        parts = [each["functionCall"] for each in body["contents"][1]["parts"]]
        made = [(each["name"], each["args"]) for each in parts]
    assert made == [
        ("get_time_", {"unreadable": "{city: Paris"}),
        ("_", {"unreadable": "[1]"}),
        ("get_time", {"a": "é"}),
    ]


@BOTH
async def test_half_a_character_does_no_harm(kind: Kind) -> None:
    messages = (User("a\ud83d"), Assistant("b\ud83d", (called(arguments='{"x\ud83d'),)), result(text="c\ud83d"))
    body = await body_of(kind, asked(kind, *messages, system="d\ud83d"))
    assert "\ud83d" not in json.dumps(body, ensure_ascii=False)


async def test_images_and_files_reach_anthropic() -> None:
    parts = (
        Text("look"),
        Image("https://example.org/a.png"),
        Image(f"data:image/png;base64,{PNG}"),
        File("a.pdf", "application/pdf", PNG),
        File("a.json", "application/json", base64.b64encode(b'{"a": 1}').decode()),
    )
    body = await body_of("anthropic", asked("anthropic", User(parts), extra={"cache_control": None}))
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PNG}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": '{"a": 1}'}},
    ]


async def test_images_and_files_reach_gemini_and_no_address_is_fetched_from_here() -> None:
    parts = (
        Image("https://example.org/a.png?size=1"),
        Image(f"data:image/png;base64,{PNG}"),
        File("a.pdf", "application/pdf", PNG),
    )
    body = await body_of("gemini", asked("gemini", User(parts)))
    assert body["contents"][0]["parts"] == [
        {"fileData": {"fileUri": "https://example.org/a.png?size=1", "mimeType": "image/png"}},
        {"inlineData": {"data": PNG, "mimeType": "image/png"}},
        {"inlineData": {"data": PNG, "mimeType": "application/pdf"}},
    ]


@BOTH
async def test_texts_are_read_in_the_character_set_that_they_name(kind: Kind) -> None:
    for media_type, charset in (("text/plain", "utf-8"), ('Text/Plain; Charset="ISO-8859-1"', "latin-1")):
        file = File("a.txt", media_type, base64.b64encode("né".encode(charset)).decode())
        said = await body_of(kind, asked(kind, User((file,)), extra={"cache_control": None}))
        if kind == "anthropic":
            assert said["messages"][0]["content"][0]["source"]["data"] == "né"
        else:
            inline = said["contents"][0]["parts"][0]["inlineData"]
            assert inline == {"data": base64.b64encode("né".encode()).decode(), "mimeType": "text/plain"}


@BOTH
@pytest.mark.parametrize(
    "url",
    [
        f"data:image/png;base64,{PNG[:4]}\r\n {PNG[4:]}",
        f"DATA:IMAGE/PNG;BASE64,{PNG}",
        f'data:image/png;charset="utf-8";base64,{PNG.rstrip("=")}',
        f"data:;base64,{PNG}",
        "data:image/png," + "".join(f"%{each:02x}" for each in base64.b64decode(PNG)),
    ],
)
async def test_data_urls_may_be_written_in_many_ways(kind: Kind, url: str) -> None:
    text = json.dumps(await body_of(kind, asked(kind, User((Image(url),)))))
    assert PNG in text
    assert '"image/png"' in text


@pytest.mark.parametrize(
    ("kind", "part", "said"),
    [
        ("anthropic", File("a.zip", "application/zip", PNG), "anthropic takes images, PDF and text"),
        ("anthropic", File("a.pdf", "application/pdf", "?"), "the file 'a.pdf' is no base64"),
        ("gemini", Image("http://example.org/a.png"), "https addresses only"),
        ("gemini", Image("data:image/png;base64,?"), "an image is no base64"),
        ("gemini", Image("data:nothing"), "data URL is none"),
        ("gemini", Image("data:image/png;base64,\ud83d"), "an image is no base64"),
        ("anthropic", File("a.txt", "text/plain; charset=klingon", PNG), "'a.txt' cannot be read in the .* 'klingon'"),
        ("gemini", File("a.txt", "text/plain; charset=hex", PNG), "'a.txt' cannot be read in the .* 'hex'"),
    ],
)
async def test_what_an_api_does_not_take_is_said_before_anything_is_sent(kind: Kind, part: Any, said: str) -> None:
    async with serving(given(kind, HELLO)) as server:
        with pytest.raises(ConfigError, match=said):
            await backend(kind, server).complete(asked(kind, User((part,))))
        assert server.asked == []


async def test_marks_for_the_cache_stand_at_the_ends_and_the_prefix_stays_the_same() -> None:
    first = (User("What time is it?"),)
    second = (*first, Assistant("Let me look.", (called(),)), result())
    third = (*second, Assistant("And again.", (called(1),)), result(1))
    bodies = []
    async with serving(given("anthropic", CALL)) as server:
        one = backend("anthropic", server)
        for messages in (first, second, third):
            await one.complete(asked("anthropic", *messages, tools=TOOLS))
        await one.aclose()
        bodies = [each.body for each in server.asked]
    mark = {"type": "ephemeral"}
    for body in bodies:
        assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": mark}]
        assert [each.get("cache_control") for each in body["tools"]] == [None, mark]
        assert body["messages"][-1]["content"][-1]["cache_control"] == mark
    marked = [[i for i, each in enumerate(body["messages"]) if "cache_control" in json.dumps(each)] for body in bodies]
    assert marked == [[0], [0, 2], [2, 4]]
    plain = [[json.dumps(_unmarked(each)) for each in body["messages"]] for body in bodies]
    assert plain[1][:1] == plain[0]
    assert plain[2][:3] == plain[1]
    assert bodies[0]["tools"] == bodies[2]["tools"]


async def test_the_caller_may_switch_the_cache_off_or_choose_how_long_it_keeps() -> None:
    off = await body_of("anthropic", asked("anthropic", tools=TOOLS, extra={"cache_control": None}))
    assert "cache_control" not in json.dumps(off)
    hour = {"type": "ephemeral", "ttl": "1h"}
    kept = await body_of("anthropic", asked("anthropic", tools=TOOLS, extra={"cache_control": hour}))
    assert json.dumps(kept).count('"ttl": "1h"') == 3
    assert "cache_control" not in kept


@BOTH
async def test_a_past_that_was_written_before_goes_out_the_same(kind: Kind) -> None:
    past = (User("a"), Assistant("b", (called(),)), result(), User("c"), Assistant("d"), User("e"))
    longer = (*past, Assistant("f"), User("g"))
    async with serving(given(kind, HELLO)) as server:
        one = backend(kind, server)
        for messages in (past, past, longer, past[:1], longer):
            await one.complete(asked(kind, *messages, extra={"cache_control": None} if kind == "anthropic" else {}))
        await one.aclose()
        fresh = backend(kind, server)
        await fresh.complete(asked(kind, *longer, extra={"cache_control": None} if kind == "anthropic" else {}))
        await fresh.aclose()
        told = [said_in(kind, each.body) for each in server.asked]
    assert told[0] == told[1]
    assert told[2] == told[4] == told[5]
    assert told[3] == [("user", ["a"])]


def _unmarked(message: Any) -> Any:
    return {
        **message,
        "content": [{k: v for k, v in each.items() if k != "cache_control"} for each in message["content"]],
    }


@BOTH
@WAYS
@pytest.mark.parametrize("limit", [21_333, 64_000, 200_000])
async def test_a_high_limit_changes_nothing_of_how_the_answer_comes(kind: Kind, limit: int, streams: bool) -> None:
    async with serving(given(kind, HELLO, streams=streams)) as server:
        reply = await replied(kind, server, asked(kind, max_tokens=limit), streams=streams)
        assert (reply.text, reply.limit) == ("Hello", limit)


async def test_a_budget_for_thinking_leaves_room_for_geminis_answer() -> None:
    for limit, budget in ((65_536, 24_576), (4096, 3072), (500, 128)):
        body = await body_of("gemini", asked("gemini", thinking="high", max_tokens=limit))
        assert body["generationConfig"]["thinkingConfig"]["thinkingBudget"] == budget
