"""Every schema of the shared sample for every provider: rewritten and kept to, or refused for a named reason."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.schema.rewrite_rules import broken
from tests.schema.rewrite_shaping import is_of_another_type, kept
from vancetope.schema.profiles import PROFILES
from vancetope.schema.rewrite import Rewritten, Unsuited, rewrite
from vancetope.schema.validate import compile

ROOT = Path(__file__).parents[2]
SAMPLE = Path(os.environ.get("VANCETOPE_SCHEMA_SAMPLE") or ROOT.parent / "shared/data/jsonschemabench_sample.jsonl")
pytestmark = pytest.mark.skipif(
    not SAMPLE.exists(),
    reason=f"the sample of published schemas is not here ({SAMPLE.name}; VANCETOPE_SCHEMA_SAMPLE names the file)",
)


@cache
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


def instances(row: dict[str, Any]) -> list[dict[str, Any]]:
    judge = compile(row["schema"])
    values = (test["data"] for test in row["tests"] if test["valid"])
    return [value for value in values if isinstance(value, dict) and judge.fits(value)]


@pytest.mark.parametrize("profile", PROFILES)
def test_published_schemas_are_rewritten_by_the_rules_and_keep_their_instances(profile: str) -> None:
    found: list[str] = []
    for row in rows():
        rewritten = rewrite(row["schema"], profile)
        if isinstance(rewritten, Unsuited):
            continue
        if why := broken(profile, rewritten.schema):
            found.append(f"{row['id']}: {why}")
        found += (f"{row['id']}: {why}" for each in instances(row) if (why := kept(row["schema"], rewritten, each)))
    assert found == []


@pytest.mark.parametrize(
    ("profile", "counts"),
    [
        ("openai", "93 rewritten, 70 open_object, 25 permissive, 10 root_not_object, 1 unsupported_keyword"),
        (
            "azure",
            (
                "86 rewritten, 70 open_object, 25 permissive, 10 root_not_object, 4 too_many_properties, 3 too_deep, "
                "1 unsupported_keyword"
            ),
        ),
        (
            "anthropic",
            (
                "82 rewritten, 66 open_object, 24 permissive, 10 root_not_object, 8 property_name, "
                "6 too_many_optional, 1 recursive, 1 too_many_unions, 1 unsupported_keyword"
            ),
        ),
        (
            "gemini",
            "141 rewritten, 38 permissive, 10 root_not_object, 5 recursive, 4 too_deep, 1 unsupported_keyword",
        ),
        ("llguidance", "180 rewritten, 13 root_not_object, 5 permissive, 1 unsupported_keyword"),
        ("gbnf", "174 rewritten, 13 root_not_object, 6 open_object, 5 permissive, 1 unsupported_keyword"),
        ("xgrammar", "180 rewritten, 13 root_not_object, 5 permissive, 1 unsupported_keyword"),
        (
            "ollama",
            "155 rewritten, 19 too_large, 13 root_not_object, 6 open_object, 5 permissive, 1 unsupported_keyword",
        ),
    ],
)
def test_as_many_published_schemas_fall_back_as_are_written_down_here(profile: str, counts: str) -> None:
    found = [rewrite(row["schema"], profile) for row in rows()]
    reasons = Counter("rewritten" if isinstance(each, Rewritten) else each.reason for each in found)
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    assert ", ".join(f"{count} {reason}" for reason, count in ordered) == counts


def test_hardly_an_instance_is_of_another_type_than_its_schema_speaks_of() -> None:
    every = [(row["schema"], value) for row in rows() for value in instances(row)]
    assert (sum(is_of_another_type(*each) for each in every), len(every)) == (1, 266)
