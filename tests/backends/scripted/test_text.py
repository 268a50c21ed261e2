"""The scripted text model says exactly what its script says, and keeps what it was asked."""

from __future__ import annotations

import asyncio

import pytest

from vancetope.backends.scripted import ScriptedText, ScriptExhausted, TextAnswer
from vancetope.errors import ConfigError, ServerFailed


async def test_a_list_is_used_up_in_order_and_every_prompt_is_kept() -> None:
    model = ScriptedText(iter(["one", "two"]))
    assert model.left == 2
    assert [await model("a"), await model("b")] == ["one", "two"]
    assert (model.prompts, model.left) == (["a", "b"], 0)


async def test_an_exception_in_the_script_is_raised_and_used_up() -> None:
    model = ScriptedText([ServerFailed("down"), "up"])
    with pytest.raises(ServerFailed, match="down"):
        await model("a")
    assert await model("b") == "up"


async def test_a_function_answers_from_the_prompt_sync_or_async() -> None:
    def sync(prompt: str) -> TextAnswer:
        return prompt.upper()

    async def later(prompt: str) -> TextAnswer:
        await asyncio.sleep(0)
        return ValueError(prompt)

    assert await ScriptedText(sync)("hello") == "HELLO"
    model = ScriptedText(later)
    with pytest.raises(ValueError, match="hello"):
        await model("hello")
    assert (model.prompts, model.left) == (["hello"], 0)


async def test_an_exhausted_script_says_how_many_it_had_and_how_the_prompt_ended() -> None:
    model = ScriptedText(["one"])
    await model("first")
    with pytest.raises(ScriptExhausted, match="all its 1 replies and was asked once more: the prompt ends 'second'"):
        await model("second")
    with pytest.raises(ScriptExhausted, match=r"ends '…x{198}y'") as raised:
        await model("x" * 5000 + "y")
    assert isinstance(raised.value, ConfigError)
    assert len(model.prompts) == 3


def test_one_text_is_no_script() -> None:
    with pytest.raises(ConfigError, match="put a single one into a list"):
        ScriptedText("hello")
