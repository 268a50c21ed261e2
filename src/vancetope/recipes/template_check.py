"""What can be seen to be wrong with a template before it is rendered, also in the branches that today's model skips."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import get_args

from jinja2 import Environment, TemplateError, meta, nodes

from vancetope.models.base import Tier
from vancetope.outcome import EnforcementName, Role
from vancetope.recipes.mistakes import near_or
from vancetope.recipes.recipe import EngineName, Params

MOST_NAMED = 20
# The variables that have few values: a comparison with another one is never true.
CLOSED: Mapping[str, tuple[str, ...]] = {
    "tier": get_args(Tier),
    "mode": get_args(EnforcementName),
    "engine": get_args(EngineName),
    "role": get_args(Role),
}
OTHER_FILES = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


def check(tree: nodes.Template, environment: Environment, variables: Sequence[str]) -> None:
    """Raises `TemplateError` for the first use of what is not there: a variable, a parameter, a filter, a test, a value
    that a variable never has, another file."""
    for taken in tree.find_all(OTHER_FILES):
        raise TemplateError(f"line {taken.lineno} takes in another file, which a recipe cannot; put its text here")
    _named(tree, nodes.Filter, "filter", environment.filters)
    _named(tree, nodes.Test, "test", environment.tests)
    for name in sorted(meta.find_undeclared_variables(tree) - {*variables, *environment.globals}):
        raise TemplateError(f"there is no variable {name!r}; {_instead(name, variables)}")
    for look in (_attribute, _comparison):
        for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Compare)):
            look(node, variables)


def _attribute(node: nodes.Node, variables: Sequence[str]) -> None:
    if not isinstance(node, nodes.Getattr | nodes.Getitem) or not isinstance(node.node, nodes.Name):
        return
    of, attribute = node.node.name, _key(node)
    if attribute is None or of not in variables:
        return
    if of != "params":
        if isinstance(node, nodes.Getattr) and not hasattr(str, attribute):
            raise TemplateError(f"there is no {of}.{attribute}; {of} is a text")
    elif attribute not in Params.model_fields and not (isinstance(node, nodes.Getattr) and hasattr(dict, attribute)):
        raise TemplateError(f"there is no params.{attribute}; {_instead(attribute, tuple(Params.model_fields))}")


def _key(node: nodes.Getattr | nodes.Getitem) -> str | None:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str) else None


def _comparison(node: nodes.Node, variables: Sequence[str]) -> None:
    if not isinstance(node, nodes.Compare) or not isinstance(node.expr, nodes.Name):
        return
    values = CLOSED.get(node.expr.name) if node.expr.name in variables else None
    for operand in node.ops:
        other = operand.expr
        if values and operand.op in ("eq", "ne") and isinstance(other, nodes.Const) and other.value not in values:
            raise TemplateError(f"{node.expr.name} is never {other.value!r}; {_instead(str(other.value), values)}")


def _named(tree: nodes.Template, kind: type[nodes.Filter | nodes.Test], what: str, known: Collection[str]) -> None:
    for node in tree.find_all(kind):
        if node.name not in known:
            raise TemplateError(f"there is no {what} {node.name!r}; {_instead(node.name, sorted(known))}")


def _instead(name: str, known: Sequence[str]) -> str:
    return near_or(name, known, "there are", MOST_NAMED)
