"""Names that stand for models."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vancetope.errors import ConfigError
from vancetope.models.aliases import LATER, Alias, Route, routes, unfit_name, usable
from vancetope.models.base import PROVIDERS

Graph = Mapping[str, list[str]]


def aliases(graph: Graph, *, is_bundled: bool = False) -> dict[str, Alias]:
    return {name: Alias(name, tuple(members), "ai-models.yaml", is_bundled) for name, members in graph.items()}


def models(name: str, graph: Graph) -> tuple[str, ...]:
    return tuple(each.model for each in routes(name, aliases(graph)))


def test_a_list_is_flattened_in_its_order_and_every_model_stands_once() -> None:
    graph = {
        "deep": ["openai:a", "fast", "local:"],
        "fast": ["openai:b", "cheap", "openai:a"],
        "cheap": ["ollama:c", "openai:b"],
    }
    assert models("deep", graph) == ("openai:a", "openai:b", "ollama:c", "local:")
    assert routes("fast", aliases(graph))[1] == Route("ollama:c", ("fast", "cheap"))


def test_what_is_no_alias_stands_for_itself() -> None:
    assert routes("openai:gpt-5", {}) == (Route("openai:gpt-5"),)
    assert routes("whatever", {}) == (Route("whatever"),)


@pytest.mark.parametrize(
    ("graph", "way"),
    [
        ({"a": ["a"]}, "a -> a"),
        ({"a": ["b"], "b": ["a"]}, "a -> b -> a"),
        ({"a": ["local:", "b"], "b": ["openai:x", "c"], "c": ["b"]}, "a -> b -> c -> b"),
    ],
)
def test_a_cycle_is_reported_with_the_way_around_it(graph: Graph, way: str) -> None:
    with pytest.raises(ConfigError, match=way) as caught:
        routes("a", aliases(graph))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("member", "about"),
    [
        ("nobody:x", "the alias a -> b -> nobody:x: there is no provider 'nobody'"),
        ("fsat", "there is no model, alias or server 'fsat'"),
        ("claude-cli:opus", "there is no provider 'claude-cli' .it comes with a later release."),
    ],
)
def test_a_name_that_stands_for_nothing_is_reported_with_the_way_to_it(member: str, about: str) -> None:
    with pytest.raises(ConfigError, match=about):
        routes("a", aliases({"a": ["b"], "b": [member]}))


def test_a_server_is_named_with_or_without_its_model() -> None:
    graph = aliases({"a": ["lab", "lab:qwen"]})
    assert [each.model for each in routes("a", graph, ["lab"])] == ["lab", "lab:qwen"]


def test_a_chain_without_an_end_in_sight_is_refused() -> None:
    graph = {f"a{each}": [f"a{each + 1}"] for each in range(900)} | {"a900": ["local:"]}
    with pytest.raises(ConfigError, match="more than 32 aliases"):
        models("a0", graph)
    assert models("a890", graph) == ("local:",)


def test_many_ways_to_one_model_are_walked_once() -> None:
    graph = {f"a{each}": [f"a{each + 1}", f"a{each + 1}"] for each in range(30)} | {"a30": ["local:"]}
    assert models("a0", graph) == ("local:",)


NAMES = st.sampled_from("abcdef")
GRAPHS = st.dictionaries(NAMES, st.lists(NAMES | st.sampled_from(["openai:x", "local:", "ollama:y"]), min_size=1))


@given(GRAPHS, NAMES)
@example({"a": ["b", "c"], "b": ["c"], "c": ["local:"]}, "a")
def test_of_any_aliases_a_cycle_is_reported_exactly_where_there_is_one(graph: Graph, start: str) -> None:
    found, said = outcome(start, graph)
    if said:
        assert "comes back to itself" in said or "there is no model" in said
        way = said.partition("the alias ")[2].split(" comes back")[0].split(":")[0].split(" -> ")
        assert all(other in graph[one] for one, other in pairwise(way))
        assert ("comes back to itself" in said) == (way[-1] in way[:-1])
    else:
        assert len(set(found)) == len(found)
        if start in graph:
            reached = {start} | below(start, graph)
            assert not any(each in below(each, graph) for each in reached & set(graph))
            assert set(found) == {each for each in reached if each not in graph}


def outcome(start: str, graph: Graph) -> tuple[tuple[str, ...], str]:
    try:
        return models(start, graph), ""
    except ConfigError as error:
        return (), str(error)


def below(start: str, graph: Graph) -> set[str]:
    """What can be reached from an alias in one step or more."""
    seen: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        if (each := waiting.pop()) not in seen:
            seen.add(each)
            waiting.extend(graph.get(each, ()))
    return seen


@pytest.mark.parametrize("name", [*PROVIDERS, *LATER, "openai:x", "local:", "", " ", "two words", ":x", "x:", 1, None])
def test_a_name_that_means_something_else_is_no_alias(name: object) -> None:
    assert unfit_name(name)


@pytest.mark.parametrize("name", ["fast", "default:fast", "my-models", "größte", "a.b"])
def test_any_other_name_is_one(name: str) -> None:
    assert unfit_name(name) is None


def test_a_bundled_alias_makes_way_for_a_server_and_ones_own_does_not() -> None:
    bundled = aliases({"web": ["local:"], "web:fast": ["local:"], "code": ["local:"]}, is_bundled=True)
    assert list(usable(bundled, ["web"])) == ["code"]
    with pytest.raises(ConfigError, match=r"ai-models.yaml: aliases.web: there is a server of this name"):
        usable(aliases({"web": ["local:"]}), ["web"])
