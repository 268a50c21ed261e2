"""What is wrong with settings is one sentence: the file or the variable, the key, what to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.settings.layers import SAMPLES, Place, nested
from vancetope.errors import ConfigError
from vancetope.settings import KEYS, Settings, load, settings_from

TEXTS: tuple[Any, ...] = ("", " ", 5, True, ["a"], {"a": 1}, "a\nb", "\x1b[2J", "x" * 5000, "\ud800")
WHOLE: tuple[Any, ...] = (-1, 1.0, 1.5, True, "5", "", [], {}, 10**40, float("nan"))
NUMBERS: tuple[Any, ...] = (-1, -0.1, True, "0.5", [], {}, float("nan"), float("inf"), 10**400)
NAMES: tuple[Any, ...] = ("", "natrual", "RESPOND", 0, True, None.__class__, ["respond"], {})
LISTS: tuple[Any, ...] = (
    "wiki.example",
    5,
    {"a": 1},
    [5],
    [""],
    ["a b"],
    ["http://wiki.example"],
    ["wiki.example/path"],
    ["me@wiki.example"],
    ["wiki.example:0"],
    ["wiki.example:65536"],
    ["*.example"],
    ["10.0.0.0/8"],
    ["300.0.0.1"],
    ["::1"],
    ["[wiki.example]"],
    ["[::zz]"],
    ["a..b"],
    ["x" * 300],
    ["a.example"] * 1001,
)
URLS: tuple[Any, ...] = (
    *TEXTS,
    "wiki.example",
    "ftp://wiki.example",
    "//wiki.example",
    "http://",
    "http:wiki.example",
    "http://h:x",
    "http://h:99999",
    "http://h:0",
    "http://[::1",
    "http://h/a b",
)
BAD: Mapping[str, tuple[Any, ...]] = {
    "model": TEXTS,
    "turnEnd": NAMES,
    "enforcement": NAMES,
    "maxIterations": (0, *WHOLE),
    "maxValidationCorrections": WHOLE,
    "maxAttempts": (0, 11, *WHOLE),
    "validation": ("", "true", "yes", 0, 1, [], {}),
    "temperature": NUMBERS,
    "maxTokens": (0, *WHOLE),
    "thinking": ("on", "much", True, 0, 1, [], {}),
    "session.defaultRecipe": TEXTS,
    "files.root": TEXTS,
    **{f"budgets.{scope}.tokens": (0, *WHOLE) for scope in ("turn", "tree", "project", "tenant", "day")},
    **{f"budgets.{scope}.dollars": (0, *NUMBERS) for scope in ("turn", "tree", "project", "tenant", "day")},
    "budgets.warnAt": (0, 1.01, *NUMBERS),
    "search.provider": ("google", *NAMES),
    "search.url": URLS,
    "web.allow": LISTS,
}
WORDS = ("five", "1,5", "1e3", "0x10", "--1", "٣", "1_000", "9" * 5000)
SPELT: Mapping[str, tuple[str, ...]] = {
    "model": ("a\nb", "\x1b[2J", "x" * 5000),
    "turnEnd": ("natrual", "respond,natural"),
    "enforcement": ("strict",),
    "maxIterations": ("0", "-1", "1.5", *WORDS),
    "maxValidationCorrections": ("-1", "2.0", *WORDS),
    "maxAttempts": ("0", "11", *WORDS),
    "validation": ("maybe", "2", "truee"),
    "temperature": ("-1", "nan", "inf", *WORDS),
    "maxTokens": ("0", "-1", *WORDS),
    "thinking": ("on", "true", "maximum"),
    "session.defaultRecipe": ("a\nb",),
    "files.root": ("a\nb", "x" * 5000),
    **{f"budgets.{scope}.tokens": ("0", "-5", "1.5", *WORDS) for scope in ("turn", "tree", "project", "tenant", "day")},
    **{f"budgets.{scope}.dollars": ("0", "-5", "$5", *WORDS) for scope in ("turn", "tree", "project", "tenant", "day")},
    "budgets.warnAt": ("0", "1.5", "80%", *WORDS),
    "search.provider": ("google",),
    "search.url": ("wiki.example", "ftp://h", "http://h:x"),
    "web.allow": ("http://wiki.example", "a b", "*.example", "10.0.0.0/8", "wiki.example:70000"),
}


def sentence(error: pytest.ExceptionInfo[ConfigError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 400, text
    assert error.value.__cause__ is None
    return text


def test_every_key_has_bad_values_for_every_layer() -> None:
    assert BAD.keys() == KEYS.keys() == SPELT.keys()


@pytest.mark.parametrize("key", KEYS)
def test_a_bad_value_in_a_mapping_names_its_key_and_what_to_write(key: str, place: Place) -> None:
    for value in BAD[key]:
        with pytest.raises(ConfigError) as refused:
            settings_from(nested(key, value))
        assert sentence(refused).startswith(f"settings: {key}: expected "), value


@pytest.mark.parametrize("layer", ["project", "tenant"])
@pytest.mark.parametrize("key", KEYS)
def test_a_bad_value_in_a_file_names_the_file(key: str, layer: Any, place: Place) -> None:
    for value in BAD[key]:
        if isinstance(value, type) or value == "\ud800":
            continue
        place.say(layer, key, value)
        with pytest.raises(ConfigError) as refused:
            place.settings()
        assert sentence(refused).startswith(f"{place.file(layer)}: {key}: expected {KEYS[key].kind.told}"), value


@pytest.mark.parametrize("key", KEYS)
def test_a_bad_value_in_the_environment_names_the_variable_and_not_the_value(key: str, place: Place) -> None:
    for text in SPELT[key]:
        place.monkeypatch.setenv(KEYS[key].variable, text)
        with pytest.raises(ConfigError) as refused:
            place.settings()
        assert sentence(refused).startswith(f"{KEYS[key].variable}: expected {KEYS[key].kind.told}")
        assert len(text) < 5 or text not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("moddel: a:b", "moddel: unknown key; did you mean model?"),
        ("turn_end: natural", "turn_end: unknown key; did you mean turnEnd?"),
        ("turnEnd: naturel", "turnEnd: expected respond or natural; did you mean natural?"),
        ("defaultRecipe: ford", "defaultRecipe: unknown key; did you mean session.defaultRecipe?"),
        ("session: {recipe: ford}", "session.recipe: unknown key; did you mean defaultRecipe?"),
        ("session.defaultRecipe: ford", "session.defaultRecipe: write it as session: {defaultRecipe: ...}"),
        ("budgets: {dya: {dollars: 1}}", "budgets.dya: unknown key; did you mean day?"),
        ("budgets: {day: {dollar: 1}}", "budgets.day.dollar: unknown key; did you mean dollars?"),
        ("budgets: {day: {token: 1}}", "budgets.day.token: unknown key; did you mean tokens?"),
        ("budgets: {day: 5}", "budgets.day: expected a mapping of keys"),
        ("maxToken: 5", "maxToken: unknown key; did you mean maxTokens?"),
        ("zzz: 5", "zzz: unknown key; known keys are model, turnEnd, "),
        ("5: a", "5: unknown key; known keys are model, "),
        ("on: a", "True: unknown key; known keys are model, "),
        ("? [a, b]\n: c", "cannot be read"),
        ("servers: {lab: {kind: vlm}}", "servers.lab.kind: expected openai, azure, "),
        ("servers: {lab: {kind: vlm}}", "; did you mean vllm?"),
        ("servers: {lab: {}}", "servers.lab.kind: expected openai, azure, "),
        ("servers: {lab: vllm}", "servers.lab: expected a mapping of keys"),
        ("servers: {lab: {kind: vllm, window: 5}}", "servers.lab.window: unknown key; did you mean contextWindow?"),
        ("servers: {lab: {kind: vllm, contextWindow: 0}}", "servers.lab.contextWindow: expected a whole number of"),
        ("servers: {lab: {kind: vllm, enforcement: strict}}", "servers.lab.enforcement: expected native, "),
        ("servers: {lab: {kind: vllm, url: lab.example}}", "servers.lab.url: expected an address that begins with"),
        ("servers: {lab: {kind: vllm, apiVersion: '1'}}", "servers.lab.apiVersion: only a server of kind azure has"),
        ("servers: {lab: {kind: azure, apiVersion: 2026-01-01}}", "servers.lab.apiVersion: expected a text"),
        ("servers: {'a:b': {kind: vllm}}", "servers.a:b: a server needs a name of its own, without a colon"),
        *(
            (f"servers: {{{name}: {{kind: vllm}}}}", f"servers.{name}: a server needs a name of its own")
            for name in ("openai", "azure", "lmstudio", "local", "scripted", "anthropic", "gemini", "default")
        ),
        ("servers: {5: {kind: vllm}}", "servers: 5 is no name; a server needs a text as its name"),
        ("servers: {'': {kind: vllm}}", "servers: '' is no name; a server needs a text as its name"),
        ('servers: {"a\\nb": {kind: vllm}}', "is no name; a server needs a text as its name"),
        ("servers: ''", "servers: expected a mapping of keys"),
        ("session: []", "session: expected a mapping of keys"),
        ("files: 0", "files: expected a mapping of keys"),
        ('files: {root: "a\\0b"}', "files.root: expected a folder"),
        ('files: {root: "~nobody-of-that-name/x"}', "files.root: there can be no such folder"),
        ("- model: a:b", "the top: expected a mapping of keys"),
        ("just a text", "the top: expected a mapping of keys"),
        ("model: a:b\nmodel: c:d\n", "line 2"),
        ("model: " + "[" * 3000, "cannot be read"),
        ("model: [unclosed", "cannot be read"),
        ("a: &a [x]\nmodel: [" + "*a, " * 200 + "]", "aliases"),
        ("model: \ud83d", ""),
    ],
)
@pytest.mark.parametrize("layer", ["project", "tenant"])
def test_a_file_that_is_wrong_is_one_sentence(text: str, told: str, layer: Any, place: Place) -> None:
    place.file(layer).write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ConfigError) as refused:
        place.settings()
    assert str(place.file(layer)) in sentence(refused)
    assert told in str(refused.value)


@pytest.mark.parametrize("layer", ["project", "tenant"])
def test_a_huge_file_is_refused_before_it_is_parsed(layer: Any, place: Place) -> None:
    place.file(layer).write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="bytes"):
        place.settings()


def test_a_long_key_is_shown_in_part(place: Place) -> None:
    place.file("project").write_text(yaml.safe_dump({"k" * 500: 1, "\x1b[2J": 2}))
    with pytest.raises(ConfigError) as refused:
        place.settings()
    assert "k" * 100 not in str(refused.value)
    place.file("project").write_text(yaml.safe_dump({"\x1b[2J": 2}))
    with pytest.raises(ConfigError) as refused:
        place.settings()
    assert sentence(refused).isprintable()


def test_a_file_of_the_tenant_that_is_none_is_refused(place: Place) -> None:
    place.file("tenant").mkdir()
    with pytest.raises(ConfigError, match="this is no file"):
        place.settings()
    place.file("tenant").rmdir()
    place.file("tenant").symlink_to(place.tenant / "gone.yaml")
    with pytest.raises(ConfigError, match="No such file"):
        place.settings()


def test_a_tenant_that_is_not_there_is_refused_where_somebody_named_it(place: Place, tmp_path: Path) -> None:
    for named in (tmp_path / "gone", place.file("project"), "~nobody-of-that-name/x"):
        place.monkeypatch.setenv("VANCETOPE_TENANT", str(named))
        with pytest.raises(ConfigError, match="VANCETOPE_TENANT names a folder that is not there") as refused:
            place.settings()
        sentence(refused)


def test_a_current_folder_that_is_gone_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match="the current folder cannot be found"):
        load()
    with pytest.raises(ConfigError, match="the current folder cannot be found"):
        settings_from({})


@pytest.mark.parametrize("given", [None, [], "model", 5])
def test_settings_in_code_that_are_no_mapping_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="settings: the top: expected a mapping of keys"):
        settings_from(given)


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("VANCETOPE_TURNEND", "did you mean VANCETOPE_TURN_END?"),
        ("vancetope_model", "did you mean VANCETOPE_MODEL?"),
        ("VANCETOPE_BUDGET_DAY_DOLLARS", "did you mean VANCETOPE_BUDGETS_DAY_DOLLARS?"),
        ("VANCETOPE_TENNANT", "did you mean VANCETOPE_TENANT?"),
        ("VANCETOPE_SERVERS", "`vancetope settings` lists those there are"),
        ("VANCETOPE_OTHER_KEY", "`vancetope settings` lists those there are"),
    ],
)
def test_a_variable_that_nothing_reads_is_noticed_and_no_error(variable: str, told: str, place: Place) -> None:
    place.file("project").write_text("servers: {lab: {kind: vllm, keyVariable: VANCETOPE_LAB_KEY}}")
    place.monkeypatch.setenv("VANCETOPE_LAB_KEY", "known")
    place.monkeypatch.setenv("VANCETOPE_LAB_KEY_FILE", "known")
    place.monkeypatch.setenv("VANCETOPE_CACHE_DIR", "known")
    place.monkeypatch.setenv(variable, "a-value-that-is-not-shown")
    assert place.settings().notices == (f"{variable} is set and nothing reads it; {told}",)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3)
NAMED = st.sampled_from([*{part for key in KEYS for part in key.split(".")}, "servers", "lab", "kind", "url"])
FIELDS = st.recursive(
    LEAVES | st.sampled_from([value for values in SAMPLES.values() for value in values]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMED | st.text() | st.integers() | st.none(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(fields=st.dictionaries(NAMED | st.text(), FIELDS, max_size=5))
def test_whatever_a_mapping_holds_it_is_settings_or_one_sentence(fields: dict[Any, Any]) -> None:
    told = problem(lambda: settings_from(fields))
    assert "\n" not in told
    assert len(told) < 500


@given(content=st.binary(max_size=200) | st.text(max_size=100).map(lambda text: f"model: {text}".encode()))
def test_whatever_a_file_holds_it_is_settings_or_one_sentence(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "vancetope.yaml").write_bytes(content)
    told = problem(lambda: load(folder))
    assert not told or str(folder) in told


HUGE = 10**5000


@pytest.mark.parametrize(
    "fields",
    [
        {HUGE: 1},
        {"budgets": {HUGE: 1}},
        {"servers": {HUGE: {}}},
        {"servers": {"lab": {HUGE: 1}}},
        {"servers": {"lab": {"kind": HUGE}}},
        {"temperature": HUGE},
        {"web": {"allow": [HUGE]}},
    ],
    ids=range(7),
)
def test_a_number_that_python_does_not_write_out_is_one_sentence(fields: dict[Any, Any]) -> None:
    assert problem(lambda: settings_from(fields)).startswith("settings: ")


def problem(make: Callable[[], Settings]) -> str:
    """What is said about settings that are refused; an empty text where they are not."""
    try:
        assert repr(make())
    except ConfigError as error:
        return str(error)
    return ""
