"""The shape of the source: imports point down, files and functions stay small, nothing runs at import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

# From top to bottom. A module imports from its own folder and from what stands further down, never from above.
ORDER = (
    "__main__",
    "cli",
    "__init__",
    "api",
    "lane",
    "questions",
    "prepare",
    "pool",
    "sampling",
    "asked",
    "inputs",
    "options",
    "engines",
    "recipes",
    "turn",
    "repair",
    "tool_calls",
    "model_call",
    "spending",
    "context",
    "journal",
    "contract",
    "backends",
    "models",
    "tools",
    "process",
    "events",
    "answer",
    "outcome",
    "messages",
    "schema",
    "sentences",
    "settings",
    "strict_yaml",
    "errors",
)

MODULE_LINES = 400
FUNCTION_LINES = 50
# Smaller budgets for single files, and raised ones with the reason.
FILE_BUDGETS = {
    "src/vancetope/turn.py": 200,
    "AGENTS.md": 60,
}
RAISED_MODULES: dict[str, tuple[int, str]] = {
    "src/vancetope/sentences.py": (500, "every sentence said to a model stands in one module"),
}
RAISED_FUNCTIONS: dict[str, tuple[int, str]] = {}  # "path::name": (lines, reason)

# Imported inside functions, so that a command that needs none of them starts at once.
HEAVY = frozenset(
    {
        "anthropic",
        "google",
        "httpcore",
        "httpx",
        "httpx2",
        "jinja2",
        "jsonschema_rs",
        "prompt_toolkit",
        "pydantic",
        "pydantic_ai",
        "rich",
        "selectolax",
        "stamina",
        "structlog",
        "typer",
        "xllamacpp",
        "yaml",
    }
)
# Here even our own modules may be imported late: public names, commands and backends load on first use.
LAZY = ("src/vancetope/__init__.py", "src/vancetope/cli/", "src/vancetope/backends/choose.py")
NOT_AT_IMPORT = ("httpx", "jinja2", "jsonschema_rs", "prompt_toolkit", "pydantic", "rich", "typer", "yaml")

VAGUE_NAMES = frozenset({"common", "helper", "helpers", "manager", "service", "util", "utils"})

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "vancetope"
SOURCES = sorted(PACKAGE.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> tuple[str, ...]:
    """The dotted parts below the package: () for the package itself, ("cli", "chat") for cli/chat.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


MODULES = {module_of(path) for path in SOURCES} | {
    path.relative_to(PACKAGE).parts for path in PACKAGE.rglob("*") if path.is_dir()
}


def imported_modules(tree: ast.AST, path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and module of every import of ours in a file, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first, *rest = alias.name.split(".")
                if first == "vancetope":
                    yield node.lineno, tuple(rest)
        elif isinstance(node, ast.ImportFrom):
            base = base_of(node, path)
            if base is None:
                continue
            for alias in node.names:
                submodule = (*base, alias.name)
                yield node.lineno, submodule if submodule in MODULES else base


def base_of(node: ast.ImportFrom, path: Path) -> tuple[str, ...] | None:
    """The module a `from` names, as parts below the package; None if it is not ours."""
    below = tuple(node.module.split(".")) if node.module else ()
    if node.level:
        package = path.relative_to(PACKAGE).parent.parts
        return (*package[: len(package) - node.level + 1], *below)
    return below[1:] if below[:1] == ("vancetope",) else None


def level(module: tuple[str, ...]) -> int | None:
    first = module[0] if module else "__init__"
    return ORDER.index(first) if first in ORDER else None


def upward_imports(path: Path, text: str) -> Iterator[str]:
    here = level(module_of(path))
    if here is None:
        yield f"{name(path)}: not in the import order at the top of tests/test_shape.py"
        return
    for line, module in imported_modules(ast.parse(text), path):
        there = level(module)
        dotted = ".".join(("vancetope", *module))
        if there is None:
            yield f"{name(path)}:{line}: {dotted} is not in the import order"
        elif there < here:
            yield f"{name(path)}:{line}: {ORDER[here]} stands below {ORDER[there]} and must not import {dotted}"


def report(findings: Iterable[str]) -> None:
    found = list(findings)
    assert not found, "\n" + "\n".join(found)


def test_imports_point_down() -> None:
    report(finding for path in SOURCES for finding in upward_imports(path, path.read_text()))


@pytest.mark.parametrize(
    ("file", "code", "is_upward"),
    [
        ("turn.py", "from vancetope.contract import judge", False),
        ("turn.py", "from vancetope.engines import ford", True),
        ("turn.py", "import vancetope.cli", True),
        ("turn.py", "def f():\n    from .brain import Brain", True),
        ("turn.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vancetope import lane", True),
        ("turn.py", "from vancetope import Turn", True),
        ("backends/native.py", "from .base import Backend", False),
        ("backends/native.py", "from ..errors import ModelError", False),
        ("backends/native.py", "from ..turn import take_turn", True),
        ("backends/native.py", "import httpx", False),
        ("telepathy.py", "", True),
    ],
)
def test_the_order_check_sees_every_kind_of_import(file: str, code: str, is_upward: bool) -> None:
    assert bool(list(upward_imports(PACKAGE / file, code))) is is_upward


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_files_and_functions_stay_within_their_budgets() -> None:
    def findings() -> Iterator[str]:
        for path in SOURCES:
            text = path.read_text()
            budget, _ = RAISED_MODULES.get(name(path), (FILE_BUDGETS.get(name(path), MODULE_LINES), ""))
            if (lines := len(text.splitlines())) > budget:
                yield f"{name(path)}: {lines} lines, the budget is {budget}"
            for function in functions(ast.parse(text)):
                budget, _ = RAISED_FUNCTIONS.get(f"{name(path)}::{function.name}", (FUNCTION_LINES, ""))
                if (lines := (function.end_lineno or 0) - function.lineno + 1) > budget:
                    yield f"{name(path)}:{function.lineno}: {function.name} has {lines} lines, the budget is {budget}"
        for file, budget in FILE_BUDGETS.items():
            path = ROOT / file
            if path.suffix != ".py" and path.exists() and (lines := len(path.read_text().splitlines())) > budget:
                yield f"{file}: {lines} lines, the budget is {budget}"

    report(findings())


def test_every_raised_budget_says_why_and_is_needed() -> None:
    for place, (_, reason) in {**RAISED_MODULES, **RAISED_FUNCTIONS}.items():
        assert reason, place
        assert (ROOT / place.partition("::")[0]).exists(), place


def test_only_heavy_libraries_are_imported_inside_functions() -> None:
    def findings() -> Iterator[str]:
        for path in SOURCES:
            for node in (n for function in functions(ast.parse(path.read_text())) for n in ast.walk(function)):
                if isinstance(node, ast.Import):
                    roots = {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    roots = {(node.module or "").split(".")[0] if not node.level else "vancetope"}
                else:
                    continue
                allowed = HEAVY | ({"vancetope"} if name(path).startswith(LAZY) else set())
                for root in sorted(roots - allowed):
                    yield f"{name(path)}:{node.lineno}: import of {root} inside a function"

    report(findings())


WATCH = """
import os, socket, subprocess, sys, threading

def forbidden(what):
    def fail(*args, **kwargs): raise SystemExit(f"{what} at import: {args!r}")
    return fail

threading.Thread.start = forbidden("a thread was started")
socket.socket.__init__ = forbidden("a socket was opened")
subprocess.Popen.__init__ = forbidden("a process was started")
before = set(sys.modules)
"""


def run_watched(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", WATCH + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_loads_no_heavy_library_and_starts_nothing() -> None:
    loaded = run_watched("import vancetope; print(*sorted(set(sys.modules) - before))").split()
    assert [module for module in loaded if module in NOT_AT_IMPORT] == []


@pytest.mark.timeout(60)
def test_importing_any_module_starts_nothing() -> None:
    names = [".".join(("vancetope", *module_of(path))) for path in SOURCES if path.stem != "__main__"]
    run_watched(f"import importlib\nfor name in {names!r}: importlib.import_module(name)")


def test_nothing_is_left_undone() -> None:
    mark = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    report(
        f"{name(path)}:{number}: {line.strip()}"
        for path in PACKAGE.rglob("*")
        if path.suffix in {".j2", ".md", ".py", ".yaml"}
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if mark.search(line)
    )


def tracked_files() -> list[Path]:
    # The safe directory is named because the tests' private HOME hides the person's own git configuration.
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    return [path for entry in done.stdout.decode().split("\0") if entry and (path := ROOT / entry).is_file()]


# Written in pieces, so that this file does not find itself.
REGISTRIES = "|".join(
    host.replace("+", r"\.")
    for host in (
        "pypi+org",
        "pythonhosted+org",
        "npmjs+(org|com)",
        "yarnpkg+com",
        "crates+io",
        "deb+debian+org",
        "security+debian+org",
        "rubygems+org",
        "anaconda+org",
        "proxy+golang+org",
        "repo1?+maven+(org|apache+org)",
    )
)
MACHINE_PATH = r"(?<![\w.~-])/(?:work|opt|root)/"


def test_no_tracked_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    unwanted = re.compile(f"{REGISTRIES}|{MACHINE_PATH}")
    report(
        f"{name(path)}:{number}: {match[0]}"
        for path in tracked_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if (match := unwanted.search(line))
    )


def test_no_file_has_a_name_that_says_nothing() -> None:
    report(name(path) for path in tracked_files() if VAGUE_NAMES & set(path.stem.lower().split("_")))
