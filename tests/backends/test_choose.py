"""Which model, why, and that one server has one backend."""

from __future__ import annotations

import pytest

from vancetope.backends.choose import choose, connect, parse
from vancetope.errors import ConfigError
from vancetope.settings import Settings, settings_from

LAB = settings_from({"servers": {"lab": {"kind": "vllm", "url": "http://127.0.0.1:9/v1", "model": "qwen"}}})


def test_the_order_is_argument_recipe_environment_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VANCETOPE_MODEL", "scripted:environment")
    settings = settings_from({"model": "scripted:settings"})
    assert choose("scripted:argument", "scripted:recipe", settings).info.name == "argument"
    assert choose(None, "scripted:recipe", settings).info.name == "recipe"
    assert choose(None, None, settings).info.name == "environment"
    monkeypatch.delenv("VANCETOPE_MODEL")
    assert choose(None, None, settings).info.name == "environment", "settings that are there are taken as they are"
    assert choose(None, None, settings_from({"model": "scripted:settings"})).info.name == "settings"


def test_without_a_name_a_key_comes_before_a_server_and_a_server_before_the_local_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert choose(None, None, Settings()).info.provider == "local"
    assert choose(None, None, LAB).info.id == "lab:qwen"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    chosen = choose(None, None, LAB)
    assert chosen.info.provider == "openai"
    assert chosen.paid_by_surprise
    assert "paid" in str(chosen)
    assert "--model local:" in str(chosen)
    assert "0123456789" not in f"{chosen!r}{chosen}"
    assert not choose("openai:gpt-5", None, LAB).paid_by_surprise


def test_two_models_of_one_server_share_its_connections() -> None:
    one, other = (connect(parse(f"lab:{name}", "argument", LAB)) for name in ("qwen", "llama"))
    assert one is other
    assert connect(parse("lab:qwen", "argument", LAB), wire=lambda kind, body: None) is not one


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("gpt-5", "provider:name"),
        ("nobody:x", "no provider 'nobody'"),
        ("claude-cli:x", "later release"),
        ("anthropic:claude", "ANTHROPIC_API_KEY"),
        ("ollama:", "which of its models"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
    ],
)
def test_a_name_that_cannot_be_is_one_sentence(name: str, about: str) -> None:
    with pytest.raises(ConfigError, match=about) as caught:
        parse(name, "argument", Settings())
    assert "\n" not in str(caught.value)


OWN_SERVER = {"lab": {"kind": "vllm", "url": "http://127.0.0.1:9/v1", "model": "qwen3"}}


@pytest.mark.parametrize("alias", ["default:fast", "analyze", "deep", "code", "web"])
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "local:smollm2-135m"),
        ({"model": "lab:other", "servers": OWN_SERVER}, "lab:other"),
        ({"model": "scripted:hello"}, "scripted:hello"),
        ({"servers": OWN_SERVER}, "lab:qwen3"),
        ({"model": "default:deep", "servers": OWN_SERVER}, "lab:qwen3"),
        ({"model": "local:smollm2-135m"}, "local:smollm2-135m"),
    ],
)
def test_where_an_alias_of_ours_comes_down_to_the_local_model_what_the_settings_name_goes_first(
    alias: str, fields: dict[str, object], expected: str
) -> None:
    choice = choose(None, alias, settings_from(fields))
    assert choice.info.id == expected
    assert not choice.paid_by_surprise


def test_a_key_that_was_found_goes_before_what_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    choice = choose(None, "default:fast", settings_from({"servers": OWN_SERVER}))
    assert choice.info.id == "openai:gpt-5-mini"
    assert [each.info.id for each in choice.fallbacks] == ["lab:qwen3"]


@pytest.mark.parametrize("blanks", [" {}", "{} ", "{}\n", "\t{}\n"])
def test_a_variable_with_blanks_around_it_names_the_same_model(blanks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VANCETOPE_MODEL", blanks.format("scripted:hello"))
    choice = choose(None, None, settings_from({"model": "scripted:echo"}))
    assert (choice.info.id, choice.reason) == ("scripted:hello", "environment")
    monkeypatch.setenv("VANCETOPE_MODEL", "  ")
    assert choose(None, None, settings_from({"model": "scripted:echo"})).info.id == "scripted:echo"
