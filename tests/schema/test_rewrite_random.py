"""The promises of a rewrite, for random schemas with instances."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given

from tests.schema.rewrite_random import schemas
from tests.schema.rewrite_rules import broken
from tests.schema.rewrite_shaping import kept
from vancetope.schema.profiles import PROFILES
from vancetope.schema.rewrite import Unsuited, rewrite
from vancetope.schema.validate import compile


@pytest.mark.parametrize("profile", PROFILES)
@given(pair=schemas())
def test_a_rewrite_obeys_its_profile_and_has_a_place_for_every_instance(
    profile: str, pair: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    schema, instance = pair
    assume(compile(schema).fits(instance))
    rewritten = rewrite(schema, profile)
    if isinstance(rewritten, Unsuited):
        assert rewritten.sentence
        return
    assert broken(profile, rewritten.schema) == ""
    assert kept(schema, rewritten, instance) == ""
