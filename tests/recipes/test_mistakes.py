"""Every mistake in a recipe's file is one sentence: the file, the key, what is wrong there and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.errors import ConfigError
from vancetope.recipes.loading import load
from vancetope.recipes.recipe import (
    LATER,
    OF_ONE_ENGINE,
    OF_THE_RUNTIME,
    OTHER,
    BudgetParam,
    Params,
    Recipe,
    ToolPool,
    params_from,
    recipe_from,
)

TEXT: dict[str, Any] = {"a number": 5, "a list": ["a"], "a mapping": {"a": "b"}, "true": True}
NUMBER: dict[str, Any] = {
    "a text": "5",
    "a list": [5],
    "a mapping": {"a": 5},
    "true": True,
    "not a number": float("nan"),
}
CHOICE: dict[str, Any] = {"a number": 5, "a list": ["respond"], "a mapping": {}, "true": True, "an empty text": ""}
NAMES: dict[str, Any] = {"a number": 5, "a text": "clock", "a mapping": {"clock": 1}, "a number in it": [5]}
MAPPING: dict[str, Any] = {"a number": 5, "a text": "x", "a list": ["x"]}

# By the path of a key: values that it cannot have.
WRONG: dict[str, dict[str, Any]] = {
    "description": {**TEXT, "null": None},
    "engine": {**CHOICE, "null": None, "another case": "Ford", "a slip": "frod", "of another release": "arthur"},
    "promptPrefix": {**TEXT, "null": None},
    "respondPrompt": {**TEXT, "neither parameter": "Say it.", "one parameter": "Put it into message."},
    "tags": {**NAMES, "null": None},
    "params": {**MAPPING, "null": None},
    "params.model": {**TEXT, "blank": " "},
    "params.turnEnd": {**CHOICE, "another case": "Natural", "a slip": "repsond"},
    "params.enforcement": {**CHOICE, "a slip": "constraint"},
    "params.role": {**CHOICE, "a slip": "wroker"},
    "params.maxIterations": {
        **NUMBER,
        "nothing": 0,
        "less": -1,
        "a half": 1.5,
        "huge": 10**50,
        "endless": float("inf"),
    },
    "params.maxValidationCorrections": {**NUMBER, "less": -1, "huge": 10**10},
    "params.validation": {"a text": "maybe", "a number": 1, "a list": [True]},
    "params.dataRelayCorrection": {"a number": 5, "a list": ["x"], "blank": ""},
    "params.greeting": TEXT,
    "params.temperature": {**NUMBER, "less": -0.1, "huge": 1e308, "endless": float("inf")},
    "params.maxTokens": {**NUMBER, "nothing": 0, "huge": 10**10},
    "params.thinking": {**CHOICE, "a slip": "hihg", "a budget": 4096},
    "params.budget": {**MAPPING, "tokens without their key": 5000},
    "params.budget.tokens": {**NUMBER, "nothing": 0, "less": -5, "a half": 0.5},
    "params.budget.dollars": {**NUMBER, "nothing": 0, "less": -0.5, "endless": float("inf"), "huge": 1e300},
    "tools": {**MAPPING, "null": None},
    "tools.add": {**NAMES, "null": None},
    "tools.remove": {**NAMES, "null": None},
    "tools.defer": {**NAMES, "null": None},
}
# Unknown keys at every level, with the one that was meant.
UNKNOWN = {
    "descripton": "description",
    "prompt_prefix": "promptPrefix",
    "Engine": "engine",
    "tool": "tools",
    "params.turnend": "turnEnd",
    "params.max_tokens": "maxTokens",
    "params.temprature": "temperature",
    "params.budget.dollar": "dollars",
    "tools.ad": "add",
    "tools.removed": "remove",
}
NO_RECIPE = {
    "an empty file": "",
    "comments only": "# nothing\n",
    "a list": "- description: x\n",
    "a text": "You are a poet.\n",
    "a number": "5\n",
    "null": "null\n",
}
UNREADABLE: dict[str, str | bytes] = {
    "two documents": "engine: ford\n---\nengine: ford\n",
    "a key twice": "engine: ford\nengine: jeltz\n",
    "a key twice, deeper": "params:\n  model: a\n  model: b\n",
    "a tab": "params:\n\tmodel: a\n",
    "quotation marks that never end": 'description: "x\n',
    "a bracket that never ends": "tags: [a\n",
    "an alias of nothing": "description: *nothing\n",
    "a bomb of aliases": "a: &a [x]\n" + "".join(f"b{n}: [*a, *a, *a, *a]\n" for n in range(100)),
    "a merge of what is no mapping": "<<: 5\n",
    "a merge of a list of texts": "<<: [a, b]\n",
    "a merge key twice": "<<: {engine: ford}\n<<: {engine: jeltz}\n",
    "an object of Python": "description: !!python/object:os.system x\n",
    "nested too deep": "description: " + "[" * 3000,
    "a number of 5,000 digits": "params: {maxTokens: " + "9" * 5000 + "}\n",
    "bytes that are no UTF-8": b"description: \xff\xfe\n",
    "UTF-16": "engine: ford\n".encode("utf-16"),
    "a huge file": "# " + "x" * 2_000_000,
    "a NUL": "description: \0\n",
}
NO_KEYS = {
    "a number": ("5: x", "5"),
    "null": ("null: x", "null"),
    "on": ("on: x", "true"),
    "off among the parameters": ("params: {off: x}", "params.false"),
    "a number in the budget": ("params: {budget: {1: 2}}", "params.budget.1"),
}
TEMPLATES = {
    "a bracket that never ends": "{{ lang",
    "an if that never ends": "{% if tier %}x",
    "a comment that never ends": "{# x",
    "a tag that there is not": "{% when tier %}",
    "an end without a beginning": "{% endif %}",
    "no expression": "{{ 1 +* 2 }}",
    "an unknown variable": "{{ langg }}",
    "an unknown variable in a branch not taken": "{% if false %}{{ langg }}{% endif %}",
    "an unknown parameter": "{{ params.turnend }}",
    "an unknown parameter by its key": "{{ params['turnend'] }}",
    "what no text has": "{{ lang.name }}",
    "an unknown filter": "{{ lang | uper }}",
    "an unknown test": "{% if lang is strng %}x{% endif %}",
    "another file": "{% include 'x' %}",
    "a parent": "{% extends 'x' %}",
    "an import": "{% import 'x' as x %}",
    "a tier that there is not": "{% if tier == 'tinny' %}x{% endif %}",
    "a mode that there is not": "{% if mode != 'constraint' %}x{% endif %}",
    "brackets without end": "{{" + "(" * 5000,
}


def problem(path: Path, content: str | bytes) -> str:
    """The sentence that this file is refused with, without the file's path in front."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as refused:
        load(path)
    said = str(refused.value)
    assert said.isprintable()
    assert str(path) in said
    assert len(said) - len(str(path)) < 600
    return said.removeprefix(f"{path}: ")


def nested(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


def written(path: str, value: Any) -> str:
    """A recipe with this value at this path. JSON is YAML, but for what is no number."""
    names = {"NaN": ".nan", "Infinity": ".inf"}
    text = json.dumps(nested(path, value))
    for name, yaml in names.items():
        text = text.replace(name, yaml)
    return text


@pytest.mark.parametrize(("key", "what"), [(key, what) for key, values in WRONG.items() for what in values])
def test_a_wrong_value_is_told_by_its_key(key: str, what: str, tmp_path: Path) -> None:
    said = problem(tmp_path / "my.yaml", written(key, WRONG[key][what]))
    assert said.startswith(key)
    assert ": " in said
    advice = said.rpartition("; ")[2]
    assert advice.startswith(("give ", "did you mean ", "tell ", "write ", "known keys are "))


def test_the_matrix_has_a_row_for_every_field() -> None:
    fields = {*Params.model_fields, *(f"budget.{name}" for name in BudgetParam.model_fields)} - {"maxAttempts"}
    assert {key.removeprefix("params.") for key in WRONG if key.startswith("params.")} == fields


@pytest.mark.parametrize("value", [0, -1, 11, "3", 1.5, True])
def test_attempts_are_from_one_to_ten(value: Any, tmp_path: Path) -> None:
    said = problem(tmp_path / "my.yaml", json.dumps({"engine": "jeltz", "params": {"maxAttempts": value}}))
    assert said.startswith("params.maxAttempts: is ")


@pytest.mark.parametrize("key", [key for key, values in WRONG.items() if any("slip" in what for what in values)])
def test_a_slip_in_a_choice_is_answered_with_what_was_meant(key: str, tmp_path: Path) -> None:
    field = Params.model_fields.get(key.rpartition(".")[2])
    choices = get_args(get_args(field.annotation)[0]) if field else ("ford", "jeltz")
    meant = problem(tmp_path / "my.yaml", written(key, WRONG[key]["a slip"])).rpartition("did you mean ")[2]
    assert meant.rstrip("?") in [*choices, "high"]


@pytest.mark.parametrize("key", UNKNOWN)
def test_an_unknown_key_is_answered_with_the_one_that_was_meant(key: str, tmp_path: Path) -> None:
    said = problem(tmp_path / "my.yaml", written(key, "x"))
    assert said == f"{key}: unknown key; did you mean {UNKNOWN[key]}?"


@pytest.mark.parametrize("key", ["zzz", "params.zzz", "tools.zzz", "params.budget.zzz"])
def test_a_key_like_no_other_is_answered_with_all_that_there_are(key: str, tmp_path: Path) -> None:
    said = problem(tmp_path / "my.yaml", written(key, "x"))
    assert said.startswith(f"{key}: unknown key; known keys are ")
    assert "source" not in said


@pytest.mark.parametrize("key", LATER)
def test_what_no_release_defines_yet_is_refused(key: str, tmp_path: Path) -> None:
    assert problem(tmp_path / "my.yaml", f"{key}: []") == f"{key}: is not supported by this release; remove it"


@pytest.mark.parametrize("key", ["name", "source"])
def test_a_recipe_has_no_name_but_its_files(key: str, tmp_path: Path) -> None:
    assert problem(tmp_path / "my.yaml", f"{key}: other").endswith("the name of its file, remove the key")


@pytest.mark.parametrize("what", NO_RECIPE)
def test_what_is_no_mapping_is_no_recipe(what: str, tmp_path: Path) -> None:
    assert problem(tmp_path / "my.yaml", NO_RECIPE[what]).startswith("a recipe is a mapping of keys, and this is ")


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_told_with_its_place(what: str, tmp_path: Path) -> None:
    assert "cannot be read" in problem(tmp_path / "my.yaml", UNREADABLE[what])


@pytest.mark.parametrize("what", NO_KEYS)
def test_a_key_that_is_no_text_is_told_by_its_path(what: str, tmp_path: Path) -> None:
    text, path = NO_KEYS[what]
    assert problem(tmp_path / "my.yaml", text).startswith(f"{path}: is no key; ")


@pytest.mark.parametrize("key", ["promptPrefix", "respondPrompt"])
@pytest.mark.parametrize("what", TEMPLATES)
def test_a_bad_template_is_a_load_error_whatever_the_branch(what: str, key: str, tmp_path: Path) -> None:
    prefix = "message awaiting_user_input " if key == "respondPrompt" else ""
    assert problem(tmp_path / "my.yaml", written(key, prefix + TEMPLATES[what])).startswith(f"{key}: ")


@pytest.mark.parametrize(
    ("template", "meant"),
    [
        ("{{ langg }}", "lang"),
        ("{{ params.turnend }}", "turnEnd"),
        ("{{ lang | uper }}", "upper"),
        ("{% if tier == 'tinny' %}{% endif %}", "tiny"),
        ("{% if role == 'wroker' %}{% endif %}", "worker"),
    ],
)
def test_a_slip_in_a_template_is_answered_with_what_was_meant(template: str, meant: str, tmp_path: Path) -> None:
    assert problem(tmp_path / "my.yaml", written("promptPrefix", template)).endswith(f"did you mean {meant}?")


def test_the_line_of_a_mistake_in_a_template_is_told(tmp_path: Path) -> None:
    assert "line 3 of the template" in problem(tmp_path / "my.yaml", written("promptPrefix", "a\nb\n{% foo %}"))


@pytest.mark.parametrize("key", ["add", "remove", "defer"])
@pytest.mark.parametrize("name", OF_THE_RUNTIME)
def test_the_tools_of_the_runtime_are_in_no_list(name: str, key: str, tmp_path: Path) -> None:
    said = problem(tmp_path / "my.yaml", written(f"tools.{key}", ["clock", name]))
    assert said.startswith(f"tools.{key}: `{name}` cannot be ")


@pytest.mark.parametrize("first", ["add", "remove", "defer"])
@pytest.mark.parametrize("second", ["add", "remove", "defer"])
def test_a_tool_stands_in_one_list_once(first: str, second: str, tmp_path: Path) -> None:
    lists = {first: ["clock"], second: ["clock"]} if first != second else {first: ["clock", "clock"]}
    said = problem(tmp_path / "my.yaml", json.dumps({"tools": lists}))
    assert "'clock' stands here" in said
    assert said.startswith("tools.")


@pytest.mark.parametrize(("engine", "key"), [(engine, key) for engine, keys in OF_ONE_ENGINE.items() for key in keys])
def test_a_parameter_that_an_engine_does_not_read_is_refused(engine: str, key: str, tmp_path: Path) -> None:
    fits: dict[str, Any] = {"turnEnd": "respond", "role": "worker", "dataRelayCorrection": True, "greeting": "Hi"}
    recipe = {"engine": OTHER[engine], "params": {key: fits.get(key, 2)}}
    said = problem(tmp_path / "my.yaml", json.dumps(recipe))
    assert said == f"params.{key}: means nothing to the engine {OTHER[engine]}; remove it"
    (tmp_path / "my.yaml").write_text(json.dumps({**recipe, "engine": engine}))
    assert load(tmp_path / "my.yaml").engine == engine


def test_a_question_has_no_respond_to_explain(tmp_path: Path) -> None:
    recipe = {"engine": "jeltz", "respondPrompt": "message awaiting_user_input"}
    assert problem(tmp_path / "my.yaml", json.dumps(recipe)).startswith("respondPrompt: means nothing to the engine")


def test_null_leaves_a_parameter_unsaid(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(json.dumps({"params": {name: None for name in Params.model_fields if name != "maxAttempts"}}))
    assert load(path).params == Params()


def test_a_bare_off_switches_thinking_off(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("params: {thinking: off}\n")
    assert load(path).params.thinking == "off"


def test_what_a_person_may_write_is_read(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    text = "# mine\r\nparams: {temperature: 1, budget: &b {tokens: 5000, dollars: 1}}\r\ntags: [ä]\r\n"
    path.write_text(text, "utf-8-sig")
    recipe = load(path)
    assert recipe.params.temperature == 1
    assert recipe.params.budget == BudgetParam(tokens=5000, dollars=1)
    assert (recipe.name, recipe.source, recipe.tags) == ("my", str(path), ("ä",))


# The same parameters for a process.


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"maxTokens": 0}, "the process: maxTokens: is 0; give at least 1"),
        ({"maxtokens": 5}, "the process: maxtokens: unknown key; did you mean maxTokens?"),
        ({"budget": {"token": 5}}, "the process: budget.token: unknown key; did you mean tokens?"),
        ({"model": ""}, "the process: model: is blank; write something, or remove the key"),
        ({1: 2}, "the process: 1: is no key; put it between quotation marks, or remove it"),
        ([], "the process: what a process gets as parameters is a mapping of keys, and this is a list"),
        (None, "the process: what a process gets as parameters is a mapping of keys, and this is empty"),
    ],
)
def test_the_parameters_of_a_process_are_checked_alone(fields: Any, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        params_from(fields, "the process")
    assert str(refused.value) == said


def test_the_parameters_of_a_process_are_those_of_both_engines() -> None:
    made = params_from({"maxAttempts": 2, "turnEnd": "natural"}, "the process")
    assert (made.maxAttempts, made.turnEnd, made.role) == (2, "natural", None)
    assert params_from(made, "the process") is made


# Whatever stands in a file, it is a recipe or one sentence.

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=3)
KEYS = st.sampled_from(
    [*Recipe.model_fields, *Params.model_fields, *ToolPool.model_fields, *BudgetParam.model_fields, "engin", "x\ny", ""]
)
ODD_KEYS = st.integers() | st.none() | st.booleans() | st.tuples(st.integers())
NAMED = st.sampled_from(["ford", "jeltz", "respond", "clock", "off", "high", "worker", "message awaiting_user_input"])
FIELDS = st.recursive(
    SCALARS | NAMED,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | ODD_KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(FIELDS)
def test_whatever_stands_in_a_file_is_a_recipe_or_one_sentence(fields: Any) -> None:
    for read in (recipe_from, params_from):
        said = "mine: "
        try:
            read(fields, "mine")
        except ConfigError as refused:
            said = str(refused)
        assert said.startswith("mine: ")
        assert said.isprintable()
