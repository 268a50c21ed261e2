"""YAML as recipes and settings use it: one mapping, no key twice, of a size and depth that people write."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from vancetope.errors import ConfigError

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
MAX_ALIASES = 100
MAX_KEYS = 1000


def read(path: Path, what: str) -> Any:
    """The value in a file. Raises `ConfigError` naming `what` it is, the file and, where known, the line."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{what} {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{what} {str(path)!r} cannot be read: no file has such a name") from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{what} {path} cannot be read: it has more than {MAX_BYTES:,} bytes")
    try:
        return parsed(content.decode("utf-8"), str(path))
    except UnicodeDecodeError:
        raise ConfigError(f"{what} {path} cannot be read: it is not UTF-8 text") from None


def parsed(text: str, where: str) -> Any:
    """The value that a YAML text holds. Raises `ConfigError` naming `where` it stands and the line."""
    import yaml

    try:
        return yaml.load(text, _loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
        raise ConfigError(f"{where}: cannot be read{line}: {_whole(problem, error)}") from None
    except Exception as error:  # a tagged value that is none, such as a 13th month, raises whatever Python raises
        raise ConfigError(f"{where}: cannot be read: a value is not what its form says ({error})") from None


def _whole(problem: str, error: Any) -> str:
    """The problem as a clause of its own, and what to do where that is always the same."""
    if problem.startswith("but ") and getattr(error, "context", None):
        problem = f"{error.context} {problem}"
    return f"{problem}; indent with spaces, not with tabs" if "'\\t'" in problem else problem


@cache
def _loader() -> Any:
    """The loader's class, made late because `yaml` is imported late."""
    from yaml import AliasEvent, MappingNode, Node, SafeLoader, ScalarNode
    from yaml.composer import ComposerError

    class Loader(SafeLoader):
        depth = 0
        aliases = 0

        def compose_node(self, parent: Node | None, index: int) -> Node | None:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            self.aliases += isinstance(event, AliasEvent)
            if self.depth >= MAX_DEPTH or self.aliases > MAX_ALIASES:
                problem = "nested too deep" if self.depth >= MAX_DEPTH else f"more than {MAX_ALIASES} aliases"
                raise ComposerError(None, None, problem, event.start_mark)
            self.depth += 1
            node: Node | None = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def compose_scalar_node(self, anchor: Any) -> ScalarNode:
            node: ScalarNode = super().compose_scalar_node(anchor)
            if any("\ud800" <= each <= "\udfff" for each in node.value):
                raise ComposerError(None, None, "half of a surrogate pair is no text", node.start_mark)
            return node

        def compose_mapping_node(self, anchor: Any) -> MappingNode:
            node: MappingNode = super().compose_mapping_node(anchor)
            seen: set[tuple[str, str]] = set()
            for key, _ in node.value:
                if isinstance(key, ScalarNode) and (key.tag, key.value) in seen:
                    raise ComposerError(None, None, f"the key {key.value!r} stands here twice", key.start_mark)
                seen.add((key.tag, str(key.value)))
            return node

        def flatten_mapping(self, node: MappingNode) -> None:
            super().flatten_mapping(node)  # older releases of PyYAML repeat a merged key as often as it is merged
            if len(node.value) > MAX_KEYS:
                raise ComposerError(None, None, f"a mapping of more than {MAX_KEYS} keys", node.start_mark)

    return Loader
