"""Which model is chosen, in every combination of what may say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from vancetope.backends.choose import DEFAULTS, Choice, choose, connect, parse
from vancetope.backends.direct import extras
from vancetope.errors import ConfigError, MissingExtra
from vancetope.models.catalogue import FILE, catalogue
from vancetope.settings import Settings, load, settings_from

SECRET = "sk-marked-0123456789-SECRET"
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
EXTRAS = {"anthropic": "anthropic", "gemini": "google"}
LAB = {"lab": {"kind": "vllm", "url": "http://127.0.0.1:9/v1", "model": "qwen"}}
HOSTED_ALIASES = ("default:fast", "default:deep", "analyze", "deep", "code", "web")

Installed = Callable[[Iterable[str]], None]


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address, whatever the environment of this machine holds."""
    for name in (*KEYS.values(), "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    for kind in ("OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "OLLAMA"):
        monkeypatch.delenv(f"{kind}_BASE_URL", raising=False)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    monkeypatch.delenv("VANCETOPE_MODEL", raising=False)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Says which of `anthropic`, `gemini` and `local` are installed."""

    def install(kinds: Iterable[str]) -> None:
        there = set(kinds)

        def missing(kind: str) -> MissingExtra | None:
            return None if kind in there else MissingExtra(EXTRAS[kind], kind.title())

        monkeypatch.setattr(extras, "missing_extra", missing)
        monkeypatch.setattr("importlib.util.find_spec", lambda _: object() if "local" in there else None)

    return install


def subsets(*names: str) -> list[tuple[str, ...]]:
    chosen = product([True, False], repeat=len(names))
    return [tuple(name for name, is_in in zip(names, each, strict=True) if is_in) for each in chosen]


def project(folder: Path, *, settings: str = "", models: str = "") -> Settings:
    (folder / "vancetope.yaml").write_text(settings)
    (folder / ".vancetope").mkdir(exist_ok=True)
    (folder / ".vancetope" / FILE).write_text(models)
    return load(folder)


# Who has the word.


@pytest.mark.parametrize("saying", subsets("argument", "recipe", "environment", "settings"))
@pytest.mark.parametrize("key", [None, "OPENAI_API_KEY"])
def test_the_first_that_names_a_model_has_the_word(
    saying: tuple[str, ...], key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "environment" in saying:
        monkeypatch.setenv("VANCETOPE_MODEL", "scripted:environment")
    settings = settings_from({"servers": LAB, **({"model": "scripted:settings"} if "settings" in saying else {})})
    if key:
        monkeypatch.setenv(key, SECRET)
    argument, recipe = (f"scripted:{each}" if each in saying else None for each in ("argument", "recipe"))
    chosen = choose(argument, recipe, settings)
    if saying:
        assert (chosen.info.id, chosen.reason) == (f"scripted:{saying[0]}", saying[0])
        assert not chosen.paid_by_surprise
    else:
        assert chosen.reason == ("key" if key else "server")


@pytest.mark.parametrize("keys", subsets("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"))
@pytest.mark.parametrize("there", subsets("anthropic", "gemini"))
@pytest.mark.parametrize("servers", [{}, LAB])
def test_without_a_name_the_first_key_whose_library_is_there_then_a_server_then_this_machine(
    keys: tuple[str, ...],
    there: tuple[str, ...],
    servers: dict[str, Any],
    installed: Installed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(there)
    for each in keys:
        monkeypatch.setenv(each, SECRET)
    chosen = choose(None, None, settings_from({"servers": servers}))
    order = [(key, f"{key.partition('_')[0].lower()}".replace("google", "gemini")) for key in keys]
    usable = [(key, provider) for key, provider in order if provider == "openai" or provider in there]
    if usable:
        key, provider = usable[0]
        assert (chosen.info.id, chosen.reason) == (f"{provider}:{DEFAULTS[provider]}", "key")
        assert chosen.key_variable == key
        assert chosen.paid_by_surprise
        assert f"because {key} is set; its use is paid, --model local: stays on this machine" in str(chosen)
    else:
        assert chosen.info.id == ("lab:qwen" if servers else "local:smollm2-135m")
        assert not chosen.paid_by_surprise
        assert ("no key and no server found" in str(chosen)) == (not servers and not keys)
    before = [key for key, provider in order if order.index((key, provider)) < order_of(usable, order)]
    hinted = dict.fromkeys(
        provider for key, provider in order if key in before and provider != "openai" and provider not in there
    )
    assert len(chosen.hints) == len(hinted)
    for hint, provider in zip(chosen.hints, hinted, strict=True):
        assert hint.endswith(f"needs the extra '{EXTRAS[provider]}': pip install 'vancetope[{EXTRAS[provider]}]'")
    assert set(chosen.hints) <= set(chosen.notices)
    assert SECRET not in f"{chosen!r}{chosen}{chosen.notices}"


def order_of(usable: list[tuple[str, str]], order: list[tuple[str, str]]) -> int:
    return order.index(usable[0]) if usable else len(order)


# Aliases.


@pytest.mark.parametrize("alias", HOSTED_ALIASES)
@pytest.mark.parametrize("keys", subsets("openai", "anthropic", "gemini"))
@pytest.mark.parametrize("there", subsets("anthropic", "gemini", "local"))
def test_every_bundled_alias_is_the_first_of_its_models_that_can_be_used(
    alias: str, keys: tuple[str, ...], there: tuple[str, ...], installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(there)
    for each in keys:
        monkeypatch.setenv(KEYS[each], SECRET)
    known = [each.model for each in catalogue().routes(alias)]
    models = [each.replace("local:", "local:smollm2-135m") for each in known]
    usable = [each for each in models if can_be_used(each.partition(":")[0], keys, there)]
    settings = settings_from({})
    if not usable:
        with pytest.raises(ConfigError) as caught:
            choose(alias, None, settings)
        sentence = str(caught.value)
        assert sentence.startswith(f"none of the models of {alias} can be used here: ")
        assert sentence.count("needs") == 4
        assert SECRET not in sentence
        assert "\n" not in sentence
        return
    chosen = choose(alias, None, settings)
    assert chosen.info.id == usable[0]
    hosted = [each for each in usable if not each.startswith("local:")]
    assert [each.info.id for each in chosen.fallbacks] == hosted[1:]
    assert chosen.paid_by_surprise == bool(hosted)
    assert f"for {alias}, as you asked" in str(chosen)
    assert chosen.notices == ()


def can_be_used(provider: str, keys: tuple[str, ...], there: tuple[str, ...]) -> bool:
    return (provider == "local" or provider in keys) and (provider == "openai" or provider in there)


@pytest.mark.parametrize("place", ["argument", "recipe", "environment", "settings"])
def test_an_alias_may_stand_wherever_a_model_is_named(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "environment":
        monkeypatch.setenv("VANCETOPE_MODEL", "mine")
    settings = project(
        tmp_path,
        settings="model: mine" if place == "settings" else "",
        models="aliases: {mine: [openai:gpt-5, scripted:one, scripted:two]}",
    )
    chosen = choose("mine" if place == "argument" else None, "mine" if place == "recipe" else None, settings)
    assert (chosen.info.id, chosen.reason, chosen.alias) == ("scripted:one", place, "mine")
    assert [each.info.id for each in chosen.fallbacks] == ["scripted:two"]


def test_a_small_model_stands_in_for_a_small_one_and_a_large_one_for_a_large_one(tmp_path: Path) -> None:
    models = """
models: [{match: "scripted:tiny*", tier: tiny}]
aliases:
  large: [scripted:one, scripted:tiny1, scripted:two, scripted:one]
  small: [scripted:tiny1, scripted:one, scripted:tiny2]
"""
    settings = project(tmp_path, models=models)
    assert [each.info.name for each in choose("large", None, settings).fallbacks] == ["two"]
    assert [each.info.name for each in choose("small", None, settings).fallbacks] == ["tiny2"]


@pytest.mark.parametrize("agreed", [None, *subsets(*KEYS.values())])
@pytest.mark.parametrize("alias", ["deep", None])
def test_a_key_that_was_found_pays_only_where_that_was_agreed_to(
    alias: str | None, agreed: tuple[str, ...] | None, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(["anthropic", "gemini", "local"])
    for each in KEYS.values():
        monkeypatch.setenv(each, SECRET)
    chosen = choose(alias, None, settings_from({}), agreed=agreed)
    allowed = list(KEYS.values()) if agreed is None else list(agreed)
    assert chosen.key_variable == (allowed[0] if allowed else None)
    assert [each.key_variable for each in chosen.fallbacks] == (allowed[1:] if alias else [])
    assert (chosen.kind == "local") == (not allowed)


def test_where_nothing_was_agreed_to_and_nothing_else_is_there_that_is_said(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed([])
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(
        ConfigError, match=r"openai:gpt-5.2 would be paid by the key in OPENAI_API_KEY, which nobody agreed"
    ):
        choose("deep", None, settings_from({}), agreed=())
    assert choose("openai:gpt-5", None, settings_from({}), agreed=()).info.name == "gpt-5"


def test_what_the_project_names_itself_needs_nobody_to_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    settings = project(tmp_path, models="aliases: {mine: [scripted:one, openai:gpt-5]}")
    assert [each.info.id for each in choose("mine", None, settings, agreed=()).fallbacks] == ["openai:gpt-5"]


def test_an_alias_with_a_cycle_or_a_name_for_nothing_is_one_sentence(tmp_path: Path) -> None:
    settings = project(tmp_path, models="aliases: {a: [scripted:one, b], b: a, c: [nobody:x]}")
    with pytest.raises(ConfigError, match="a -> b -> a comes back to itself"):
        choose("a", None, settings)
    with pytest.raises(ConfigError, match="there is no provider 'nobody'"):
        choose("c", None, settings)
    assert choose("scripted:one", None, settings).info.name == "one"


def test_an_alias_with_the_name_of_a_server_is_refused_and_a_bundled_one_makes_way(tmp_path: Path) -> None:
    servers = "servers: {web: {kind: vllm, url: 'http://127.0.0.1:9/v1', model: qwen}}"
    settings = project(tmp_path, settings=servers)
    assert choose("web", None, settings).info.id == "web:qwen"
    settings = project(tmp_path, settings=servers, models="aliases: {'web:fast': 'local:'}")
    with pytest.raises(ConfigError, match=r"aliases.web:fast: there is a server of this name; rename one of them"):
        choose("scripted:one", None, settings)


def test_a_name_that_is_nearly_an_alias_is_told_which() -> None:
    with pytest.raises(ConfigError, match=r"model 'anaylze': write provider:name.*did you mean analyze\?"):
        choose("anaylze", None, settings_from({}))


# Who is asked before a key is used that was only found.


@pytest.mark.parametrize(
    ("named", "models", "is_surprise"),
    [
        (None, "", True),
        ("openai:gpt-5", "", False),
        ("openai:", "", False),
        ("default:fast", "", True),
        ("code", "", True),
        ("default:fast", "aliases: {'default:fast': openai:gpt-5}", False),
        ("mine", "aliases: {mine: openai:gpt-5}", False),
        ("mine", "aliases: {mine: [scripted:none, openai:gpt-5]}", False),
        ("mine", "aliases: {mine: deep}", True),
        ("mine", "aliases: {mine: deep, deep: openai:gpt-5}", False),
        ("web", "aliases: {'default:fast': openai:gpt-5}", True),
        ("local:", "", False),
    ],
)
@pytest.mark.parametrize("place", ["argument", "recipe", "settings"])
def test_a_hosted_model_is_a_surprise_where_nobody_of_this_place_named_it(
    named: str | None, models: str, is_surprise: bool, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    settings = project(tmp_path, settings=f"model: '{named}'" if named and place == "settings" else "", models=models)
    chosen = choose(named if place == "argument" else None, named if place == "recipe" else None, settings)
    assert chosen.paid_by_surprise is is_surprise
    assert ("its use is paid" in str(chosen)) is is_surprise


def test_a_server_of_ones_own_at_a_hosted_address_is_no_surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    chosen = choose("default:fast", None, settings_from({}))
    assert chosen.info.id == "openai:gpt-5-mini"
    assert not chosen.paid_by_surprise


@pytest.mark.parametrize(
    ("kind", "key", "is_surprise"), [("openai", "k", True), ("ollama", "k", False), ("openai", None, False)]
)
def test_only_a_hosted_model_with_a_key_costs_money_by_surprise(kind: str, key: str | None, is_surprise: bool) -> None:
    info = catalogue().lookup(kind, "model")
    assert Choice(info, "recipe", key=key, kind=kind, is_picked=True).paid_by_surprise is is_surprise


# Keys and addresses.


@pytest.mark.parametrize(("provider", "variable"), [*KEYS.items(), ("gemini", "GOOGLE_API_KEY")])
def test_a_key_may_lie_in_a_file(
    provider: str, variable: str, installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(["anthropic", "gemini"])
    (tmp_path / "key").write_text(f"{SECRET}\n")
    monkeypatch.setenv(f"{variable}_FILE", str(tmp_path / "key"))
    chosen = choose(None, None, settings_from({}))
    assert (chosen.kind, chosen.key, chosen.key_variable) == (provider, SECRET, variable)
    assert f"because {variable}_FILE is set" in str(chosen)
    assert SECRET not in f"{chosen!r}{chosen}"
    (tmp_path / "key").unlink()
    with pytest.raises(ConfigError, match=f"{variable}_FILE names a file that cannot be read"):
        choose(None, None, settings_from({}))


def test_geminis_own_variable_comes_before_googles(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(["gemini"])
    monkeypatch.setenv("GOOGLE_API_KEY", "google")
    monkeypatch.setenv("GEMINI_API_KEY", "gemini")
    assert (chosen := parse("gemini:", "argument", settings_from({}))).key == "gemini"
    assert chosen.key_variable == "GEMINI_API_KEY"


@pytest.mark.parametrize(("provider", "variable"), [("anthropic", "ANTHROPIC"), ("gemini", "GEMINI")])
def test_an_address_of_the_environment_is_honoured(
    provider: str, variable: str, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(["anthropic", "gemini"])
    monkeypatch.setenv(f"{variable}_API_KEY", SECRET)
    assert parse(f"{provider}:x", "argument", settings_from({})).url is None
    monkeypatch.setenv(f"{variable}_BASE_URL", f"http://user:{SECRET}@127.0.0.1:9/x")
    chosen = parse(f"{provider}:x", "argument", settings_from({}))
    assert chosen.url == f"http://user:{SECRET}@127.0.0.1:9/x"
    assert str(chosen).startswith(f"{provider}:x at http://127.0.0.1:9/x (")
    assert SECRET not in f"{chosen!r}{chosen}"


@pytest.mark.parametrize(
    ("name", "environment", "sentence"),
    [
        ("anthropic:x", {}, "anthropic:x needs a key: set ANTHROPIC_API_KEY, or use --model local:"),
        ("gemini:x", {}, "gemini:x needs a key: set GEMINI_API_KEY, or use --model local:"),
        ("anthropic:x", {"ANTHROPIC_API_KEY": "k"}, "pip install 'vancetope[anthropic]'"),
        ("gemini:x", {"GOOGLE_API_KEY": "k"}, "pip install 'vancetope[google]'"),
        ("azure:x", {}, "azure:x needs an address: set AZURE_OPENAI_ENDPOINT"),
        ("azure:x", {"AZURE_OPENAI_ENDPOINT": "https://a.example"}, "azure:x needs a key: set AZURE_OPENAI_API_KEY"),
        ("azure:", {}, "say which of its models, for example azure:MY-DEPLOYMENT"),
        ("openrouter:a/b", {}, "openrouter:a/b needs a key: set OPENROUTER_API_KEY"),
        ("openrouter:", {}, "say which of its models, for example openrouter:openai/gpt-5-mini"),
        ("lmstudio:", {}, "say which of its models"),
        ("codex-cli:x", {}, "there is no provider 'codex-cli' (it comes with a later release)"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(
    name: str, environment: dict[str, str], sentence: str, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed([])
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        parse(name, "argument", settings_from({}))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


# The catalogue.


def test_a_catalogue_of_the_project_is_the_one_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    settings = project(tmp_path, models="models: [{match: 'openai:gpt-5*', stringBound: 7}]")
    assert choose("openai:gpt-5", None, settings).info.string_bound == 7
    assert choose(None, None, settings).info.string_bound == 7
    assert choose("openai:gpt-5", None, settings_from({})).info.string_bound != 7


def test_what_the_settings_say_of_a_server_comes_before_the_catalogue(tmp_path: Path) -> None:
    lab = "kind: vllm, url: 'http://127.0.0.1:9/v1', model: qwen, contextWindow: 9, enforcement: prompted"
    settings = project(
        tmp_path, settings=f"servers: {{lab: {{{lab}}}}}", models="models: [{match: 'lab:*', contextWindow: 5}]"
    )
    info = choose("lab", None, settings).info
    assert (info.id, info.context_window, info.enforcements[0], info.known) == ("lab:qwen", 9, "prompted", True)
    assert info.structured_output == ("xgrammar",)


def test_a_model_that_is_not_known_is_a_notice_with_what_is_assumed() -> None:
    chosen = choose("ollama:qwen3:4b", None, settings_from({}))
    (notice,) = chosen.notices
    assert notice == (
        "the catalogue does not know ollama:qwen3:4b; assumed: no end of its context window, no images, constrained "
        "enforcement, free; an ai-models.yaml of yours can say more"
    )
    for known in ("local:", "scripted:hello"):
        assert choose(known, None, settings_from({})).notices == ()


def test_one_server_has_one_backend_whatever_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("GEMINI_API_KEY", SECRET)
    settings = settings_from({})

    def backend(name: str, **options: Any) -> object:
        choice: Choice = parse(name, "argument", settings)
        return connect(choice, **options)

    assert backend("anthropic:a") is backend("anthropic:b")
    assert backend("anthropic:a") is not backend("gemini:a")
    assert backend("gemini:a", wire=lambda kind, body: None) is not backend("gemini:a")
