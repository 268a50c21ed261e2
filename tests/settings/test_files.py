"""Settings that are wrong are refused by file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from vancetope.errors import ConfigError
from vancetope.settings import load

SETTINGS = {
    "nested too deep": "model: " + "[" * 3000,
    "a key twice": "model: a:b\nmodel: c:d\n",
    "servers as a blank text": "servers: ''",
    "session as a list": "session: []",
    "files as a number": "files: 0",
    "a root with NUL in its name": 'files: {root: "a\\0b"}',
    "a server whose name is a number": "servers: {5: {kind: vllm}}",
    "a server without a name": "servers: {'': {kind: vllm}}",
}


@pytest.mark.parametrize("what", SETTINGS)
def test_a_settings_file_that_is_wrong_is_a_config_error(what: str, tmp_path: Path) -> None:
    (tmp_path / "vancetope.yaml").write_text(SETTINGS[what])
    with pytest.raises(ConfigError):
        load(tmp_path)
