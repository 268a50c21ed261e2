"""No key leaves through an error or the wire log."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.openai_raw import DONE, HANG_UP, Asked, answer, delta, event, page, said, serving, stream
from vancetope.backends.base import ModelSettings, Request
from vancetope.backends.openai import PROFILES, OpenAICompatible, mask, masked
from vancetope.errors import ModelError
from vancetope.messages import Assistant, Call, Result, ToolSpec, User

KEY = "sk-proj-0123456789abcdef"
OTHER = "tok_9f8e7d6c5b4a"  # a key that looks like nothing in particular


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key {KEY}!", "key ***!"),
        (f"{OTHER}{OTHER}", "******"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer ***"),
        ("authorization: bearer  abc.def-123456", "authorization: bearer  ***"),
        ("Incorrect API key provided: sk-abcd****wxyz.", "Incorrect API key provided: ***"),
        ("a task-oriented desk-lamp, risk-free sk-1", "a task-oriented desk-lamp, risk-free sk-1"),
        ("the bearer of news", "the bearer of news"),
        ("", ""),
    ],
)
def test_keys_are_masked_and_prose_is_not(text: str, shown: str) -> None:
    assert mask(text, (OTHER,)) == shown


def test_a_placeholder_key_does_not_garble_the_text() -> None:
    assert mask("x marks the box", ("x", "", "the")) == "x marks the box"


def test_a_json_value_is_masked_at_every_depth_and_stays_json() -> None:
    value: dict[str, Any] = {"a": [f"Bearer {KEY}", 1, None, True, ({"b": OTHER},)], OTHER: {"c": 1.5}}
    shown = masked(value, (OTHER,))
    assert shown == {"a": ["Bearer ***", 1, None, True, [{"b": "***"}]], "***": {"c": 1.5}}
    assert value["a"][0] == f"Bearer {KEY}", "the value itself is left alone"


def test_a_value_of_great_depth_is_cut_not_crashed_on() -> None:
    value: Any = KEY
    for _ in range(5000):
        value = [value]
    assert KEY not in json.dumps(masked(value))


LEAVES = st.just(OTHER) | st.text(max_size=8) | st.none()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner), max_leaves=20))
def test_no_shape_of_value_keeps_a_secret(value: Any) -> None:
    assert OTHER not in json.dumps(masked({"value": value}, (OTHER,)), ensure_ascii=False)


@pytest.mark.parametrize("key", [KEY, OTHER])
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_wire_shows_every_request_and_reply_without_secrets(key: str, streamed: bool) -> None:
    reply = stream(delta(content=f"your key is {key}"), delta("stop"), DONE) if streamed else said(f"your key is {key}")
    shown: list[tuple[str, Any]] = []
    request = Request(
        "m",
        f"the key: {key}",
        (
            User(f"and Bearer {key}"),
            Assistant("", (Call("c1", "a", json.dumps({"token": key})),)),
            Result("c1", "a", f"token={key}"),
        ),
        (ToolSpec("a", f"takes {key}", {"type": "object", "properties": {key: {}}}),),
        settings=ModelSettings(extra={"metadata": {"key": key}}),
    )
    async with serving(page(f"failed for {key}", 500, x_key=key), reply) as server:
        backend = OpenAICompatible(
            server.url, key, profile=PROFILES["vllm"], wire=lambda kind, value: shown.append((kind, value))
        )
        found = await backend.complete(request, (lambda piece: None) if streamed else None)
        await backend.aclose()
    assert found.text == f"your key is {key}", "what the model wrote is not edited"
    assert key in server.asked[0].text
    assert [kind for kind, _ in shown] == ["request", "reply", "request", "reply"]
    assert shown[1][1] == {"status": 500, "body": "failed for ***"}
    assert shown[0][1]["messages"][0] == {"role": "system", "content": "the key: ***"}
    assert shown[3][1]["choices"][0]["message"]["content"] == "your key is ***"
    assert key not in json.dumps(shown)
    assert "authorization" not in json.dumps(shown).lower()


async def test_the_wire_shows_an_answer_that_is_no_json_as_text() -> None:
    shown: list[tuple[str, Any]] = []
    async with serving(page("<html>Bearer abcdefgh12345</html>")) as server:
        backend = OpenAICompatible(
            server.url, profile=PROFILES["vllm"], attempts=1, wire=lambda kind, value: shown.append((kind, value))
        )
        with pytest.raises(ModelError):
            await backend.complete(Request("m", "", (User("x"),)))
        await backend.aclose()
    assert shown[1] == ("reply", "<html>Bearer ***</html>")


async def test_the_wire_shows_what_came_of_a_broken_stream() -> None:
    shown: list[tuple[str, Any]] = []
    async with serving(stream(delta(content="Hel"))) as server:
        backend = OpenAICompatible(
            server.url, profile=PROFILES["vllm"], attempts=1, wire=lambda kind, value: shown.append((kind, value))
        )
        with pytest.raises(ModelError):
            await backend.complete(Request("m", "", (User("x"),)), lambda piece: None)
        await backend.aclose()
    assert shown[1][1]["choices"][0]["message"]["content"] == "Hel"


def echo_headers(asked: Asked) -> Any:
    """A server that repeats the key in its own words, as some do."""
    said_back = f"refused {asked.headers['authorization']} and {asked.headers['authorization'][7:]}"
    return {
        "401": page(said_back, 401),
        "json": answer({"error": {"message": said_back, "code": said_back, "type": said_back}}, 400),
        "redirect": page("", 307, location=f"/login?{asked.headers['authorization'][7:]}"),
        "html": page(f"<html><title>{said_back}</title>", 200),
        "inside": answer({"error": said_back}),
        "stream": stream(event({"error": {"message": said_back}})),
        "long": page("x" * 290 + said_back, 500),
        "cut": stream(delta(content=said_back), end=HANG_UP),
        "status line": [f"HTTP/1.1 {said_back}\r\n\r\n".encode(), HANG_UP],
    }[asked.body["model"]]


@pytest.mark.parametrize("key", [KEY, OTHER])
@pytest.mark.parametrize("case", ["401", "json", "redirect", "html", "inside", "stream", "long", "cut", "status line"])
async def test_a_server_that_repeats_the_key_cannot_make_an_error_tell_it(case: str, key: str) -> None:
    async with serving(by=echo_headers) as server:
        backend = OpenAICompatible(server.url, key, profile=PROFILES["vllm"], attempts=1)
        with pytest.raises(ModelError) as caught:
            await backend.complete(Request(case, "", (User("x"),)), lambda piece: None)
        await backend.aclose()
    assert key not in "".join(traceback.format_exception(caught.value))
    assert key[:12] not in str(caught.value)
    assert key not in repr(backend)


async def test_the_wire_shows_the_listing_of_models() -> None:
    shown: list[tuple[str, Any]] = []
    async with serving(page('{"data": [{"id": "a"}]}')) as server:
        url = f"http://me:hunter22@127.0.0.1:{server.port}/v1"
        backend = OpenAICompatible(url, profile=PROFILES["vllm"], wire=lambda kind, value: shown.append((kind, value)))
        await backend.list_models()
        await backend.aclose()
    assert shown == [
        ("request", {"models": f"http://127.0.0.1:{server.port}"}),
        ("reply", {"data": [{"id": "a"}]}),
    ]
