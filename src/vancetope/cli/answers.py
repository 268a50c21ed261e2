"""What a person has answered once for a project, so that it is not asked again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from vancetope.cli.places import config_dir, private_file
from vancetope.settings import PROJECT_FOLDER, Settings

FILE = "answers.json"
USES_FOUND_KEY = "usesFoundKey"


def remembered(settings: Settings, question: str) -> bool | None:
    """The answer that was given in this project (or in this folder, where there is none), if one was."""
    answer = _at(_read(_file(settings)), settings).get(question)
    return answer if isinstance(answer, bool) else None


def agreed_to(settings: Settings, variable: str) -> bool | None:
    """Whether the key in this variable may pay here for models that nobody named, if that was answered."""
    answer = remembered(settings, question_of(variable))
    if answer is None and variable == "OPENAI_API_KEY":
        return remembered(settings, USES_FOUND_KEY)  # as it was kept while there was no other key
    return answer


def agreed_keys(settings: Settings, variables: Iterable[str]) -> frozenset[str]:
    """Those of these variables whose keys may pay here for models that nobody named."""
    return frozenset(each for each in variables if agreed_to(settings, each))


def question_of(variable: str) -> str:
    """The question about the key in a variable: a yes to one is no yes to another."""
    return f"{USES_FOUND_KEY}.{variable}"


def remember(settings: Settings, question: str, answer: bool) -> None:
    """Keep an answer. Where it cannot be written it is asked again, nothing else."""
    path = _file(settings)
    with suppress(OSError):
        known = _read(path)
        mine = {**_at(known, settings), question: answer}
        whole = mine if settings.project else {**known, str(settings.root): mine}
        private_file(path)
        beside = path.with_name(f".{FILE}.{os.getpid()}")
        beside.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        beside.chmod(0o600)
        beside.replace(path)


def _file(settings: Settings) -> Path:
    if settings.project:
        return settings.project / PROJECT_FOLDER / FILE
    return config_dir() / FILE


def _read(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _at(known: dict[str, Any], settings: Settings) -> dict[str, Any]:
    mine = known if settings.project else known.get(str(settings.root))
    return mine if isinstance(mine, dict) else {}
