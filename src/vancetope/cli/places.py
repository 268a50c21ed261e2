"""Where our files of a person lie, outside of any project."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def state_dir() -> Path:
    """For what runs leave behind: the history of the prompt, reports of bugs."""
    return Path(platformdirs.user_state_path("vancetope"))


def config_dir() -> Path:
    """For what a person has decided."""
    return Path(platformdirs.user_config_path("vancetope"))


def private_file(path: Path) -> Path:
    """The path, once a file that only its owner can read is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    return path
