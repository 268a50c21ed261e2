"""YAML in the size that people write: what could grow without end is refused by line."""

from __future__ import annotations

import pytest

from vancetope.errors import ConfigError
from vancetope.strict_yaml import MAX_ALIASES, MAX_KEYS, parsed


def test_anchors_and_merged_keys_are_read() -> None:
    text = "a: &a {kind: vllm, url: x}\nb: {<<: *a, url: y}\nc: *a\n"
    assert parsed(text, "x.yaml")["b"] == {"kind": "vllm", "url": "y"}


GROWING = {
    "depth": "[" * 40 + "]" * 40,
    "aliases": "a: &a 1\nb: [" + "*a, " * (MAX_ALIASES + 1) + "]",
    "keys": "\n".join(f"k{n}: 1" for n in range(MAX_KEYS + 1)),
    "a key twice, deep inside": "a: [{b: {c: 1, d: 2, c: 3}}]",
}


@pytest.mark.parametrize("what", GROWING)
def test_what_grows_or_contradicts_itself_is_refused_by_line(what: str) -> None:
    with pytest.raises(ConfigError, match=r"^x\.yaml: cannot be read \(line \d+\): "):
        parsed(GROWING[what], "x.yaml")
