"""What is known of models: layers over each other, and files that say it wrongly."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from vancetope.errors import ConfigError
from vancetope.models.base import ModelInfo, Price
from vancetope.models.catalogue import FILE, Catalogue, catalogue
from vancetope.models.entries import ALL_KEYS, KEYS, Layer, layer_from

LAYERS = ("bundled", "tenant", "project")

# Of every key three values, one for each layer, and the fields of `ModelInfo` that they are.
PRICES = [{"input": n, "output": 2 * n, "cached": n / 10, "cacheWrite": 1.25 * n} for n in (1, 2, 3)]
VALUES: dict[str, tuple[Any, Any, Any]] = {
    "contextWindow": (1000, 2000, None),
    "outputLimit": (100, None, 300),
    "outputCeiling": (1000, 2000, 3000),
    "enforcements": (["native"], ["constrained", "native"], ["prompted"]),
    "structuredOutput": (["openai"], ["gbnf", "ollama"], []),
    "forcedChoice": (False, True, False),
    "forcedChoiceWithThinking": (False, True, False),
    "thinking": ("yes", "always", "no"),
    "vision": (True, False, True),
    "quirks": (["no_seed"], ["no_temperature"], []),
    "turnEnd": ("natural", "respond", None),
    "thought": (True, False, True),
    "stringBound": (10, 20, 30),
    "tier": ("tiny", "standard", "tiny"),
    "temperature": (0, 0.5, None),
    "price": (PRICES[0], PRICES[1], None),
    "longPrice": ({"from": 10, **PRICES[1]}, {"from": 20, **PRICES[2]}, None),
}


def fields(key: str, value: Any) -> dict[str, Any]:
    if key == "price":
        return {"price": value and price(value)}
    if key == "longPrice":
        return {"long_price": value and price(value), "long_from": value and value["from"]}
    return {KEYS[key][0]: tuple(value) if isinstance(value, list) else value}


def price(said: dict[str, float]) -> Price:
    return Price(input=said["input"], output=said["output"], cached=said["cached"], cache_write=said["cacheWrite"])


def layered(*said: dict[str, Any] | None) -> Catalogue:
    """A catalogue of one layer for each entry about lab:model; the first is the lowest."""
    entries = ([] if each is None else [{"match": "lab:model", **each}] for each in said)
    return Catalogue(tuple(layer_from({"models": each}, FILE) for each in entries), {})


def test_every_key_is_tried() -> None:
    assert set(VALUES) | {"match", "known"} == set(ALL_KEYS)


@pytest.mark.parametrize("key", VALUES)
@pytest.mark.parametrize("saying", [*product([True, False], repeat=3)])
def test_of_each_key_the_highest_layer_that_says_it_has_the_word(key: str, saying: tuple[bool, ...]) -> None:
    known = layered(*({key: VALUES[key][n]} if says else None for n, says in enumerate(saying)))
    said = [value for value, says in zip(VALUES[key], saying, strict=True) if says]
    expected = fields(key, said[-1]) if said else {}
    assert known.lookup("lab", "model") == ModelInfo(provider="lab", name="model", known=bool(said), **expected)


@pytest.mark.parametrize("key", [each for each in VALUES if each != "longPrice"])
def test_a_layer_that_says_one_key_leaves_all_others_alone(key: str) -> None:
    whole = {each: values[0] for each, values in VALUES.items()}
    below = layered(whole).lookup("lab", "model")
    above = layered(whole, {key: VALUES[key][1]}).lookup("lab", "model")
    changed = {name for name in ModelInfo.__dataclass_fields__ if getattr(below, name) != getattr(above, name)}
    assert changed == set(fields(key, None if key == "price" else [])) | ({"long_price", "long_from"} & changed)
    assert (above.long_price is None) == (key == "price")


def test_a_price_of_ones_own_takes_the_long_price_below_it_away_unless_it_says_one() -> None:
    whole = {"price": PRICES[0], "longPrice": VALUES["longPrice"][0]}
    flat = layered(whole, {"price": PRICES[2]}).lookup("lab", "model")
    assert (flat.price, flat.long_price, flat.long_from) == (price(PRICES[2]), None, None)
    both = layered(whole, {"price": PRICES[2], "longPrice": VALUES["longPrice"][1]}).lookup("lab", "model")
    assert (both.price, both.long_price, both.long_from) == (price(PRICES[2]), price(PRICES[2]), 20)
    long = layered(whole, {"longPrice": VALUES["longPrice"][1]}).lookup("lab", "model")
    assert (long.price, long.long_from) == (price(PRICES[0]), 20)


def test_in_one_file_the_first_entry_that_matches_counts_alone() -> None:
    said = [
        {"match": ["lab:big-*", "lab:huge"], "contextWindow": 1000},
        {"match": "lab:*", "vision": True, "known": False},
        {"match": "*:model", "contextWindow": 5},
    ]
    known = Catalogue((layer_from({"models": said}, FILE),), {})
    big, small = known.lookup("lab", "big-1"), known.lookup("lab", "model")
    assert (big.context_window, big.vision, big.known) == (1000, False, True)
    assert (small.context_window, small.vision, small.known) == (None, True, False)
    assert known.lookup("lab", "huge").context_window == 1000
    assert known.lookup("other", "model").context_window == 5
    assert known.lookup("other", "Model").known is False


@pytest.mark.parametrize("known", [*product([True, False, None], repeat=3)])
def test_a_model_is_known_where_any_layer_knows_it(known: tuple[bool | None, ...]) -> None:
    said = [None if each is None else {"known": each, "vision": True} for each in known]
    assert layered(*said).lookup("lab", "model").known is any(known)


def test_an_entry_may_be_about_a_kind_of_server_or_one_of_them() -> None:
    said = [{"match": "lab:qwen", "contextWindow": 1000}, {"match": "vllm:*", "contextWindow": 5}]
    known = Catalogue((layer_from({"models": said}, FILE),), {})
    assert known.lookup("vllm", "qwen", "lab") == ModelInfo(provider="lab", name="qwen", context_window=1000)
    assert known.lookup("vllm", "qwen").context_window == 5


@pytest.mark.parametrize(
    ("glob", "name", "matches"),
    [
        ("a:b", "a:b", True),
        ("a:b", "a:bc", False),
        ("a:b*", "a:bc", True),
        ("a:*", "a:", True),
        ("*:b", "a:b", True),
        ("a:b?", "a:bc", True),
        ("a:b?", "a:b", False),
        ("a:[bc]*", "a:cd", True),
        ("a:[!bc]*", "a:cd", False),
        ("a:b*d", "a:bcd", True),
        ("a:b*d", "a:bc", False),
        ("a:B*", "a:bc", False),
        ("a:b.c*", "a:bxc", False),
    ],
)
def test_a_glob_matches_as_in_a_shell(glob: str, name: str, matches: bool) -> None:
    known = Catalogue((layer_from({"models": [{"match": glob, "vision": True}]}, FILE),), {})
    assert known.lookup(*name.split(":")).vision is matches


# Files.


def write(folder: Path, said: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = said if isinstance(said, str) else yaml.safe_dump(said)
    (folder / FILE).write_text(text)
    return folder


def test_the_projects_file_comes_before_the_tenants_and_both_before_the_bundled_one(tmp_path: Path) -> None:
    tenant = write(
        tmp_path / "tenant",
        {
            "models": [{"match": "openai:gpt-5-mini", "price": {"input": 1, "output": 2}, "stringBound": 7}],
            "aliases": {"deep": "tenant:deep", "code": "openai:of-the-tenant", "own": "local:"},
        },
    )
    project = write(
        tmp_path / "project",
        {"models": [{"match": "openai:gpt-5*", "stringBound": 9}], "aliases": {"code": ["lab:x", "local:"]}},
    )
    known = catalogue((project, tenant))
    info = known.lookup("openai", "gpt-5-mini")
    assert (info.price, info.string_bound) == (Price(input=1, output=2), 9)
    assert info.context_window == catalogue().lookup("openai", "gpt-5-mini").context_window
    assert [each.model for each in known.routes("code", ["lab"])] == ["lab:x", "local:"]
    assert [each.model for each in known.routes("own")] == ["local:"]
    assert known.aliases["deep"].where == str(tenant / FILE)
    assert known.aliases["web"].is_bundled
    assert not known.aliases["code"].is_bundled


def test_folders_without_a_file_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert catalogue((tmp_path, tmp_path / "none", tmp_path / "file")) is catalogue()
    for empty in ("", "# nothing\n", "models:\naliases:\n"):
        assert catalogue((write(tmp_path, empty),)).aliases == catalogue().aliases


def test_a_file_is_read_again_once_it_has_changed(tmp_path: Path) -> None:
    folder = write(tmp_path, {"models": [{"match": "lab:model", "contextWindow": 1000}]})
    first = catalogue((folder,))
    assert catalogue((folder,)) is first
    write(folder, {"models": [{"match": "lab:model", "contextWindow": 2000}]})
    changed = (folder / FILE).stat().st_mtime_ns + 1_000_000_000
    os.utime(folder / FILE, ns=(changed, changed))
    assert catalogue((folder,)).lookup("lab", "model").context_window == 2000
    (folder / FILE).unlink()
    assert not catalogue((folder,)).lookup("lab", "model").known


def test_a_mistake_is_reported_again_until_it_is_put_right(tmp_path: Path) -> None:
    folder = write(tmp_path, "models: {}")
    for _ in range(2):
        with pytest.raises(ConfigError, match="expected a list of entries"):
            catalogue((folder,))


ENTRY = {"match": "lab:model"}
NAN = float("nan")
NO_TOKENS: tuple[Any, ...] = (0, -1, 1.5, "1000", True, [])
MISTAKES: list[tuple[Any, str]] = [
    ([], "the top: expected a mapping of keys"),
    ({"model": []}, "model: unknown key; did you mean models?"),
    ({"models": {}}, "models: expected a list of entries, each with a match"),
    ({"models": ["x"]}, "models: entry 1: expected a mapping of keys with a match"),
    ({"models": [ENTRY, {"vision": True}]}, "models: entry 2: match: it is missing; write for example"),
    ({"models": [{"match": []}]}, "models: entry 1: match: it is missing"),
    ({"models": [{"match": 5}]}, "models: entry 1: match: expected provider:name"),
    ({"models": [{"match": "lab: model"}]}, "models: entry 1: match: expected provider:name"),
    ({"models": [{"match": "x" * 300}]}, "models: entry 1: match: expected provider:name"),
    ({"models": [{"match": "gpt-5*"}]}, "models: entry 1: match: gpt-5* is no provider:name; write for example"),
    ({"models": [{"match": ":x"}]}, "models: entry 1: match: :x is no provider:name"),
    ({"models": [{"match": "x:"}]}, "models: entry 1: match: x: is no provider:name"),
    ({"models": [{"match": "x:[ab"}]}, "models: entry 1: match: x:[ab opens a [ that nothing closes"),
    ({"models": [{"match": "x:[]"}]}, "models: entry 1: match: x:[] opens a [ that nothing closes"),
    ({"models": [ENTRY, ENTRY]}, "models: lab:model: it stands here twice"),
    ({"models": [{"match": ["a:b", "a:b"]}]}, "models: a:b: it stands here twice"),
    ({"models": [{**ENTRY, "contextWindw": 5}]}, "lab:model: contextWindw: unknown key; did you mean contextWindow?"),
    ({"models": [{**ENTRY, "inputPrice": 5}]}, "lab:model: inputPrice: unknown key; did you mean price?"),
    ({"models": [{**ENTRY, "price": {"input": 1}}]}, "models: lab:model: price: output is missing"),
    ({"models": [{**ENTRY, "price": {"input": 1, "output": 1, "cach": 1}}]}, "price.cach: unknown key; did you mean"),
    ({"models": [{**ENTRY, "price": {"input": -1, "output": 1}}]}, "price.input: expected a number of US dollars per"),
    ({"models": [{**ENTRY, "price": {"input": 1, "output": "1"}}]}, "price.output: expected a number of US dollars"),
    ({"models": [{**ENTRY, "price": {"input": 1, "output": 1, "cached": NAN}}]}, "price.cached: expected a number"),
    ({"models": [{**ENTRY, "price": {"input": 1, "output": float("inf")}}]}, "price.output: expected a number"),
    ({"models": [{**ENTRY, "price": 5}]}, "models: lab:model: price: expected a mapping"),
    ({"models": [{**ENTRY, "price": {"input": 1, "output": 1, "from": 5}}]}, "price.from: unknown key"),
    ({"models": [{**ENTRY, "longPrice": {"input": 1, "output": 1}}]}, "longPrice: from is missing"),
    ({"models": [{**ENTRY, "longPrice": {"from": 0, "input": 1, "output": 1}}]}, "longPrice.from: expected a whole"),
    ({"models": [{**ENTRY, "longPrice": []}]}, "models: lab:model: longPrice: expected a mapping"),
    ({"models": [{**ENTRY, "outputLimit": 9, "outputCeiling": 5}]}, "outputLimit: it is above outputCeiling"),
    ({"models": [{**ENTRY, "outputLimit": 9, "contextWindow": 9}]}, "outputLimit: it leaves nothing of contextWindow"),
    ({"models": [{**ENTRY, "enforcements": ["natve"]}]}, "enforcements: expected a list of enforcements, each once"),
    ({"models": [{**ENTRY, "enforcements": ["natve"]}]}, "did you mean native?"),
    ({"models": [{**ENTRY, "enforcements": []}]}, "enforcements: expected a list of enforcements, each once"),
    ({"models": [{**ENTRY, "enforcements": ["native", "native"]}]}, "enforcements: expected a list of enforcements"),
    ({"models": [{**ENTRY, "enforcements": "native"}]}, "enforcements: expected a list of enforcements, each once"),
    ({"models": [{**ENTRY, "enforcements": [{}]}]}, "enforcements: expected a list of enforcements, each once"),
    ({"models": [{**ENTRY, "structuredOutput": ["gbfn"]}]}, "expected a list of profiles of response formats, each"),
    ({"models": [{**ENTRY, "structuredOutput": ["gbfn"]}]}, "did you mean gbnf?"),
    ({"models": [{**ENTRY, "quirks": ["no_temprature"]}]}, "quirks: expected a list of quirks, each once"),
    ({"models": [{**ENTRY, "quirks": ["no_temprature"]}]}, "did you mean no_temperature?"),
    ({"models": [{**ENTRY, "thinking": "sometimes"}]}, "thinking: expected no, yes or always"),
    ({"models": [{**ENTRY, "turnEnd": "never"}]}, "turnEnd: expected respond or natural"),
    ({"models": [{**ENTRY, "tier": "huge"}]}, "tier: expected tiny or standard"),
    ({"models": [{**ENTRY, "tier": None}]}, "tier: expected tiny or standard"),
    ({"models": [{**ENTRY, "temperature": -1}]}, "temperature: expected a number, at least 0"),
    ({"models": [{**ENTRY, "stringBound": 0}]}, "stringBound: expected a whole number of characters, at least 1"),
    ({"models": [{**ENTRY, "known": "no"}]}, "models: lab:model: known: expected true or false"),
    *(
        (
            {"models": [{**ENTRY, key: wrong}]},
            f"models: lab:model: {key}: expected a whole number of tokens, at least 1",
        )
        for key in ("contextWindow", "outputLimit", "outputCeiling")
        for wrong in NO_TOKENS
    ),
    *(
        ({"models": [{**ENTRY, key: wrong}]}, f"models: lab:model: {key}: expected true or false")
        for key in ("forcedChoice", "forcedChoiceWithThinking", "vision", "thought")
        for wrong in NO_TOKENS[:2]
    ),
    ({"aliases": []}, "aliases: expected a mapping of keys"),
    ({"aliases": {"openai": "local:"}}, "aliases.openai: openai is a provider; an alias needs a name of its own"),
    ({"aliases": {"openai:x": "local:"}}, "aliases.openai:x: openai is a provider"),
    ({"aliases": {"two words": "local:"}}, "expected a text without spaces as the name of an alias"),
    ({"aliases": {5: "local:"}}, "aliases.5: expected a text without spaces as the name of an alias"),
    ({"aliases": {"mine:": "local:"}}, "a name neither begins nor ends with a colon"),
    ({"aliases": {"mine": []}}, "aliases.mine: expected a model or a list of models, for example"),
    ({"aliases": {"mine": None}}, "aliases.mine: expected a model or a list of models"),
    ({"aliases": {"mine": ["local:", 5]}}, "aliases.mine: expected a model or a list of models"),
    ({"aliases": {"mine": {"model": "x"}}}, "aliases.mine: expected a model or a list of models"),
    ("models: [\n", "cannot be read (line 2)"),
    ("models: []\nmodels: []\n", "the key 'models' stands here twice"),
]


@pytest.mark.parametrize(("said", "sentence"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_sentence_with_the_file_and_the_entry(said: Any, sentence: str, tmp_path: Path) -> None:
    folder = write(tmp_path, said)
    with pytest.raises(ConfigError) as caught:
        catalogue((folder,))
    assert sentence in str(caught.value)
    assert str(folder / FILE) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("said", "thinks"), [("yes", "yes"), ("no", "no"), ("'yes'", "yes"), ("always", "always")])
def test_a_bare_yes_or_no_of_yaml_is_a_word_about_thinking(said: str, thinks: str, tmp_path: Path) -> None:
    folder = write(tmp_path, f"models:\n- match: lab:model\n  thinking: {said}\n")
    assert catalogue((folder,)).lookup("lab", "model").thinking == thinks


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(ConfigError, match=r"the catalogue .* cannot be read"):
        catalogue((tmp_path,))


def test_an_empty_layer_knows_nothing() -> None:
    assert Catalogue((Layer(),), {}).lookup("lab", "model") == ModelInfo(provider="lab", name="model", known=False)
