"""`file_read`, `file_list`, `file_grep`: reading below one root folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from vancetope import sentences
from vancetope.errors import ConfigError
from vancetope.messages import ToolSpec
from vancetope.tools import reading, threads
from vancetope.tools.base import Tool, ToolContext

DEFAULT_LINES = 500


def file_tools(root: Path) -> tuple[Tool, ...]:
    """The three tools, confined to this folder. They read and never write; each call runs in a thread.

    Raises `ConfigError` where the root is not a folder.
    """
    try:
        resolved = root.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        resolved = None
    if resolved is None or not resolved.is_dir():
        raise ConfigError(f"files.root: the root of the file tools is not a folder: {root}")
    return (_file_read(resolved), _file_list(resolved), _file_grep(resolved))


def _file_read(root: Path) -> Tool:
    def work(arguments: Mapping[str, Any]) -> str:
        limit = int(arguments.get("limit", DEFAULT_LINES))
        return reading.read(root, arguments["path"], int(arguments.get("offset", 0)), limit)

    lines = {"type": "integer", "minimum": 1, "default": DEFAULT_LINES, "description": sentences.FILE_LIMIT}
    parameters = {
        "path": {"type": "string", "description": sentences.FILE_PATH},
        "offset": {"type": "integer", "minimum": 0, "default": 0, "description": sentences.FILE_OFFSET},
        "limit": lines,
    }
    return _tool("file_read", sentences.FILE_READ, parameters, ["path"], work)


def _file_list(root: Path) -> Tool:
    def work(arguments: Mapping[str, Any]) -> str:
        return reading.listed(root, arguments.get("path", "."), bool(arguments.get("recursive", False)))

    parameters = {
        "path": {"type": "string", "default": ".", "description": sentences.FILE_FOLDER},
        "recursive": {"type": "boolean", "default": False, "description": sentences.FILE_RECURSIVE},
    }
    return _tool("file_list", sentences.FILE_LIST, parameters, [], work)


def _file_grep(root: Path) -> Tool:
    def work(arguments: Mapping[str, Any]) -> str:
        return reading.searched(root, arguments["pattern"], arguments.get("path", "."), arguments.get("glob"))

    parameters = {
        "pattern": {"type": "string", "minLength": 1, "description": sentences.FILE_PATTERN},
        "path": {"type": "string", "default": ".", "description": sentences.FILE_FOLDER},
        "glob": {"type": "string", "maxLength": 200, "description": sentences.FILE_GLOB},
    }
    return _tool("file_grep", sentences.FILE_GREP, parameters, ["pattern"], work)


def _tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    required: list[str],
    work: Callable[[Mapping[str, Any]], str],
) -> Tool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> str:  # noqa: ARG001
        return await threads.current().run(partial(work, arguments))

    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Tool(ToolSpec(name, description, schema), run)
