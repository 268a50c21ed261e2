"""The documents say what the code does: names, figures and examples in them are held to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vancetope as vt
from tests.cli.running import KEY, serving
from vancetope.backends import resilience
from vancetope.backends.choose import DEFAULTS, DIRECT
from vancetope.backends.faults import SCENARIOS
from vancetope.cli.app import app
from vancetope.context import Patience
from vancetope.models.base import PROVIDERS
from vancetope.models.budgets import SCOPES
from vancetope.models.catalogue import catalogue
from vancetope.models.entries import ALL_KEYS, layer_from
from vancetope.recipes.loading import listed
from vancetope.recipes.recipe import Params, Recipe, recipe_from
from vancetope.settings import KEYS, settings_from
from vancetope.settings.secrets import ADDRESSES, VARIABLES
from vancetope.settings.servers import FIELDS
from vancetope.spending import ASSUMED_OUTPUT, MOST_OUTPUT
from vancetope.strict_yaml import parsed
from vancetope.tools.web.fetch import PIECE
from vancetope.tools.web.fetcher import FetchLimits
from vancetope.tools.web.providers import NAMES

ROOT = Path(__file__).parent.parent
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text("utf-8")
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
}
README_LINES = 110


def words(page: str) -> str:
    """A page as one line, so that it does not matter where its lines break."""
    return " ".join(PAGES[page].split())


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """The code in one language, with the page that it stands on."""
    for page, text in PAGES.items():
        for code in re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            yield page, code


def block(page: str, language: str, *, holding: str) -> str:
    return next(code for where, code in blocks(language) if where == page and holding in code)


def missing(page: str, names: Any) -> list[str]:
    """The names that do not stand on the page as code."""
    spoken = {word for code in re.findall(r"`([^`\n]+)`", PAGES[page]) for word in re.split(r"[\s,{}:=]+", code)}
    spoken |= {word for where, code in blocks("yaml") if where == page for word in re.split(r"[\s,{}:=]+", code)}
    return [each for each in names if each not in spoken]


def test_the_readme_stays_short() -> None:
    assert len(PAGES["README.md"].splitlines()) <= README_LINES


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", PAGES[page])
    assert [each for each in targets if "://" not in each and not (ROOT / page).parent.joinpath(each).exists()] == []


def test_every_example_in_python_is_python() -> None:
    for page, code in blocks("python"):
        try:
            compile(code, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            pytest.fail(f"{page}: {error}: {code}")


def test_every_example_in_yaml_loads() -> None:
    for page, code in blocks("yaml"):
        fields = parsed(code, page)
        if "models" in fields or "aliases" in fields:
            layer_from(fields, page)
        elif "promptPrefix" in fields or "engine" in fields:
            recipe_from(fields, page)
        elif fields.keys() == {"tools"}:
            Recipe(tools=fields["tools"])
        else:
            settings_from(fields, page)


def test_the_first_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = block("README.md", "python", holding="get_time"), block("README.md", "python", holding="Country")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found: dict[str, Any] = {}
    with serving(SCENARIOS["clock"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        exec(first, found)  # noqa: S102
    turn = found["turn"]
    assert (turn.outcome, turn.awaiting_user_input, "15:42" in turn.message) == ("respond", True, True)
    with serving(SCENARIOS["answer"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        exec("import pydantic\nimport vancetope as vt\n" + second, found)  # noqa: S102
    assert isinstance(found["answer"].data, found["Country"])


def test_every_command_is_told_of() -> None:
    names = [each.name for each in app.registered_commands] + [each.name for each in app.registered_groups]
    page = PAGES["docs/usage.md"]
    assert [each for each in names if f"`{each}" not in page and f"`vancetope {each}" not in page] == []


def test_every_provider_is_told_of_with_its_variables_and_its_model() -> None:
    page = PAGES["docs/models.md"]
    assert [each for each in PROVIDERS if f"`{each}:" not in page] == []
    assert [each for each in ADDRESSES if each not in page] == []
    assert [each for each in VARIABLES if each not in page + PAGES["docs/tools.md"]] == []
    assert [each for each, model in DEFAULTS.items() if f"`{each}:{model}`" not in page] == []
    assert set(DIRECT) == {"anthropic", "gemini"}


def test_the_bundled_aliases_are_those_there_are() -> None:
    page = PAGES["docs/models.md"]
    for name in catalogue().aliases:
        members = catalogue().aliases[name].members
        if len(members) > 1:
            assert f"| `{name}` | {', '.join(f'`{each}`' for each in members)} |" in page


def test_every_key_of_the_catalogue_is_told_of() -> None:
    assert missing("docs/models.md", (*ALL_KEYS, "cached", "cacheWrite", "from")) == []


def test_every_setting_is_told_of() -> None:
    plain = [key for key in KEYS if not re.match(r"budgets\.\w+\.", key)]
    assert missing("docs/settings.md", plain) == []
    assert [each for each in SCOPES if f".{each}`" not in PAGES["docs/settings.md"]] == []
    assert missing("docs/settings.md", FIELDS) == []
    assert missing("docs/tools.md", NAMES) == []
    assert missing("docs/money.md", SCOPES) == []


def test_every_recipe_and_every_parameter_is_told_of() -> None:
    assert missing("docs/recipes.md", Params.model_fields) == []
    assert missing("docs/recipes.md", Recipe.model_fields.keys() - {"name", "source"}) == []
    assert missing("docs/recipes.md", [each.name for each in listed()]) == []


def test_the_figures_are_those_of_the_code() -> None:
    models, tools, money = words("docs/models.md"), words("docs/tools.md"), words("docs/money.md")
    assert (resilience.ATTEMPTS, resilience.TRIPS) == (3, 3)
    assert "three requests at most" in models
    assert "failed three times in a row" in models
    assert f"after {resilience.WAIT_INITIAL} s, then {resilience.WAIT_INITIAL * resilience.WAIT_BASE} s" in models
    assert f"up to {resilience.WAIT_JITTER} s of jitter" in models
    assert f"left alone for {resilience.PAUSE:.0f} seconds" in models
    assert f"up to {resilience.LONGEST_PAUSE:.0f} seconds" in models
    assert f"({Patience().model_call:.0f} s, `Patience.model_call`)" in models
    limits = FetchLimits()
    assert f"At most {limits.body >> 20} MiB, {limits.whole:.0f} seconds and {limits.redirects} redirects" in tools
    assert f"pieces of {PIECE >> 10} KiB" in tools
    assert f"at least {ASSUMED_OUTPUT:,} and at most {MOST_OUTPUT:,} tokens" in money


def test_what_the_library_exports_is_used_as_it_is_shown() -> None:
    shown = {name for _, code in blocks("python") for name in re.findall(r"\bvt\.(\w+)", code)}
    assert [each for each in sorted(shown) if not hasattr(vt, each)] == []
