"""A recipe that is wrong is refused by name and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vancetope as vt
from vancetope.backends.scripted import ScriptedBackend, respond
from vancetope.errors import ConfigError

FILES = {
    "nested too deep": "description: " + "[" * 3000,
    "a key twice": "description: a\ndescription: b\n",
    "a 13th month": "description: 2020-13-45",
    "a tag that is none": "description: !!int x",
    "half a surrogate pair": 'description: "\\ud800"',
    "a control character": "description: \0",
    "more than a recipe": "# " + "x" * 2_000_000,
    "a number that is true": "params: {maxIterations: true}",
    "a temperature that is no number": "params: {temperature: .nan}",
    "tags as a text": "tags: abc",
}


@pytest.mark.parametrize("what", FILES)
async def test_a_recipe_file_that_is_wrong_is_a_config_error(what: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(FILES[what])
    with pytest.raises(ConfigError, match=str(path)) as refused:
        await vt.ask("Hi", model=ScriptedBackend([respond("x")]), recipe=path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("fields", [{"promptPrefix": 5}, {"tgas": ["a"]}, {"respondPrompt": "x"}, {"tags": "abc"}])
def test_a_recipe_made_in_python_is_refused_in_one_sentence_too(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        vt.Recipe(**fields)
    assert "\n" not in str(refused.value)
