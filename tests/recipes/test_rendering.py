"""A template that cannot be rendered is the recipe's fault, said in one sentence before anything is sent."""

from __future__ import annotations

import pytest

import vancetope as vt
from vancetope.backends.scripted import ScriptedBackend, respond
from vancetope.errors import ConfigError

TEMPLATES = {
    "a division by zero": "{{ 1 / 0 }}",
    "text plus number": "{{ 'a' + 1 }}",
    "an include": "{% include 'x' %}",
    "a range without end": "{% for each in range(1000000000) %}x{% endfor %}",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "a misspelt variable in a branch not taken": "{% if tier == 'tiny' %}{{ langg }}{% endif %}",
    "a misspelt parameter in a branch not taken": "{% if tier == 'tiny' %}{{ params.turnend }}{% endif %}",
    "a text without end": "{{ 'x' * 1000000000 }}",
    "a number without end": "{{ 10 ** 1000000000 }}",
    "a width without end": "{{ '%1000000000s' % 1 }}",
    "more than a prompt": "{% for each in range(100000) %}all work and no play{% endfor %}",
    "brackets without end": "{{" + "(" * 5000,
    "half a surrogate pair": "\ud800",
}


@pytest.mark.parametrize("what", TEMPLATES)
async def test_a_template_that_cannot_be_rendered_is_a_config_error(what: str) -> None:
    recipe = vt.Recipe(promptPrefix=TEMPLATES[what])
    with pytest.raises(ConfigError, match="recipe recipe: promptPrefix: cannot be rendered: ") as refused:
        await vt.ask("Hi", model=ScriptedBackend([respond("x")]), recipe=recipe)
    assert "\n" not in str(refused.value)


async def test_a_template_may_count_loop_and_look_at_every_parameter() -> None:
    text = (
        "{% set n = 2 * 3 %}{{ n }}{% for key, value in params.items() if key == 'turnEnd' %} {{ value }}{% endfor %}"
    )
    model = ScriptedBackend([respond("x")])
    await vt.ask("Hi", model=model, recipe=vt.Recipe(promptPrefix=text))
    assert model.requests[0].system.startswith("6 respond\n")
