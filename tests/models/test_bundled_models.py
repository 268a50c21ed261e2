"""The bundled list of models: every entry of it loads, is reached, and agrees with what else is known of it."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, get_args

import pytest

from vancetope.backends.choose import DEFAULT_LOCAL, DEFAULTS
from vancetope.backends.openai.profiles import PROFILES as SERVERS
from vancetope.contract.compilers import compiler
from vancetope.contract.form import profile
from vancetope.models.base import HOSTED, PROVIDERS, ModelInfo, ResponseFormat
from vancetope.models.catalogue import FILE, catalogue
from vancetope.models.entries import layer_from
from vancetope.schema.profiles import PROFILES as FORMATS
from vancetope.settings import KINDS
from vancetope.strict_yaml import parsed

KNOWN = catalogue()
(LAYER,) = KNOWN.layers
NAMES = [name for provider in PROVIDERS for name in KNOWN.names(provider)]
PRICES_OF = datetime(2026, 11, 30, tzinfo=UTC)


def info(name: str) -> ModelInfo:
    provider, _, model = name.partition(":")
    return KNOWN.lookup(provider, model)


def test_the_comment_says_of_which_day_the_prices_are() -> None:
    text = files("vancetope.models").joinpath(FILE).read_text("utf-8")
    assert f"{PRICES_OF:%Y-%m-%d}" in text.partition("aliases:")[0]


def test_the_list_is_also_right_for_the_strict_loader() -> None:
    text = files("vancetope.models").joinpath(FILE).read_text("utf-8")
    assert layer_from(parsed(text, FILE), FILE, is_bundled=True) == LAYER


def test_the_names_that_stand_twice_agree() -> None:
    assert set(get_args(ResponseFormat)) == set(FORMATS)
    assert set(PROVIDERS) == {*SERVERS, "anthropic", "gemini", "scripted"}
    assert set(KINDS) <= set(SERVERS) - {"local"}


@pytest.mark.parametrize("place", range(len(LAYER.entries)))
def test_every_entry_is_reached_by_each_of_its_globs(place: int) -> None:
    entry = LAYER.entries[place]
    for glob in entry.globs:
        name = glob.replace("[134]", "3").replace("*", "" if glob.count("*") > 1 else "01")
        assert LAYER.entry([name]) is entry, glob


@pytest.mark.parametrize("name", NAMES)
def test_every_model_that_is_named_can_be_asked_as_it_says(name: str) -> None:
    model = info(name)
    assert model.known
    assert model.context_window is not None
    mode, _ = compiler(None, model)
    assert mode == model.enforcements[0]
    assert profile(None, model) in (*model.structured_output[:1], None, "llguidance")
    if model.output_limit and model.output_ceiling:
        assert model.output_limit <= model.output_ceiling <= model.context_window
    assert (model.price is None) == (model.provider == "azure")


@pytest.mark.parametrize("name", NAMES)
def test_the_prices_of_a_model_are_in_their_usual_order(name: str) -> None:
    model = info(name)
    for each in filter(None, (model.price, model.long_price)):
        cached = each.input if each.cached is None else each.cached
        assert 0 < cached <= each.input <= each.output or each.input == each.output == 0
        assert each.cache_write is None or each.cache_write >= each.input
    if model.long_price is not None:
        assert model.price is not None
        assert model.long_from is not None
        assert model.context_window is not None
        assert model.long_from < model.context_window
        assert (model.long_price.input, model.long_price.output) > (model.price.input, model.price.output)


@pytest.mark.parametrize("name", [each for each in NAMES if each.split(":")[0] in ("openai", "anthropic", "gemini")])
def test_the_prices_are_those_that_are_published(name: str) -> None:
    """Against the table of another library, as of the day that the comment at the top of the list names."""
    provider, _, model = name.partition(":")
    published = published_price(provider, model)
    ours = info(name)
    assert ours.price is not None
    for field, theirs in (("input", "input_mtok"), ("output", "output_mtok"), ("cached", "cache_read_mtok")):
        value = getattr(published, theirs)
        base = value.base if hasattr(value, "base") else value
        assert getattr(ours.price, field) == (None if base is None else float(base)), field
        for tier in getattr(value, "tiers", ()) if ours.long_price else ():
            assert tier.start == ours.long_from
            assert getattr(ours.long_price, field) == float(tier.price), field


def published_price(provider: str, model: str) -> Any:
    from genai_prices.data import providers

    table = next(each for each in providers if each.id == {"gemini": "google"}.get(provider, provider))
    found = table.find_model(model)
    assert found is not None
    return found.get_prices(PRICES_OF)


def test_what_is_not_listed_gets_safe_defaults_and_is_not_known() -> None:
    for name in ("mars:rover", "openai:gpt-9", "anthropic:claude-9", "gemini:gemini-9", "azure:x", "openrouter:a/b"):
        model = info(name)
        assert not model.known
        assert model.price is None
        assert (model.vision, model.thinking, model.tier, model.context_window) == (False, "no", "standard", None)
    assert info("mars:rover") == ModelInfo(provider="mars", name="rover", known=False)


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("openai:gpt-5-2025-08-07", True),
        ("openai:gpt-5-pro", False),
        ("openai:gpt-5.1-codex", False),
        ("openai:gpt-4o-audio-preview", False),
        ("anthropic:claude-opus-4-20250514", True),
        ("anthropic:claude-sonnet-4-5-20250929", True),
        ("gemini:gemini-2.5-flash-image", False),
        ("azure:our-gpt-5-mini-eu", True),
        ("azure:demo3", False),
        ("openrouter:anthropic/claude-opus-4.5", True),
    ],
)
def test_a_dated_name_is_that_model_and_a_variant_with_another_price_is_not(name: str, is_known: bool) -> None:
    assert info(name).known is is_known


def test_dated_and_undated_names_are_told_apart_by_nothing_else() -> None:
    for one, other in (
        ("anthropic:claude-opus-4-0", "anthropic:claude-opus-4-20250514"),
        ("openai:gpt-5", "openai:gpt-5-2025-08-07"),
        ("anthropic:claude-opus-5", "anthropic:claude-opus-5-20260801"),
    ):
        assert info(one).price == info(other).price
    assert info("anthropic:claude-opus-5").price != info("anthropic:claude-opus-5-5").price


@pytest.mark.parametrize("name", KNOWN.aliases)
def test_every_alias_leads_to_models_that_are_known_and_ends_on_this_machine(name: str) -> None:
    models = [each.model for each in KNOWN.routes(name)]
    assert models[-1] == "local:"
    assert {each.partition(":")[0] for each in models} == {"openai", "anthropic", "gemini", "local"}
    for each in models[:-1]:
        assert each in NAMES
        assert "native" in info(each).enforcements


def test_the_aliases_are_those_that_people_are_told_of() -> None:
    assert {"default:fast", "analyze", "deep", "code", "web"} <= set(KNOWN.aliases)


def test_the_models_of_providers_that_are_named_alone_are_known() -> None:
    for provider, model in {**DEFAULTS, "local": DEFAULT_LOCAL}.items():
        assert KNOWN.lookup(provider, model).known
        assert KNOWN.lookup(provider, model).price is not None
    assert set(DEFAULTS) < set(HOSTED)
