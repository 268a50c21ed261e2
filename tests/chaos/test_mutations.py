"""The mutation test with a fresh seed: what fails is stored and replayed in every run of the tests from then on.

A wrong value is always a failure; values that were missed are, where they are too many.
"""

from __future__ import annotations

import secrets

import pytest

from tests.schema.mutation_corpus import CORPUS
from tests.schema.mutations import Tally, cases, sample, store

CASES = 5_000
RECOVERY = 0.99


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_a_fresh_seed_finds_nothing_lost_and_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    seed = secrets.randbelow(2**32)
    published = sample()
    made = [*cases(CORPUS, seed), *cases(published, seed, share=0.3)]
    while len(made) < CASES:  # without the published schemas ours give the rest
        made += cases(CORPUS, seed + len(made))
    with capsys.disabled():
        print(f"\nmutation seed {seed}: {len(made):,} cases, {len(published)} values of published schemas")  # noqa: T201
    tally = Tally.of(made)
    wrong, recovered, told = len(tally.wrong), tally.recovery, tally.told()  # no values of others in pytest's words
    store(case for case, _ in tally.wrong)
    store(case for case, _ in tally.missed if recovered < RECOVERY)
    assert wrong == 0, told
    assert recovered >= RECOVERY, told
