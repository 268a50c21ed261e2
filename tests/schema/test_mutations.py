"""The extractor against the mutator: what is written oddly comes back, what is damaged turns into nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random

import pytest

from tests.schema import mutations
from tests.schema.mutation_around import LEXICAL
from tests.schema.mutation_corpus import CORPUS
from tests.schema.mutation_damage import is_json
from tests.schema.mutation_garbling import DAMAGE
from tests.schema.mutation_text import Instance, draft_of, end_of_content, exact, written, written_object
from tests.schema.mutation_values import variant
from tests.schema.mutations import NAMES, NO_SAMPLE, NOTHING, Case, Tally

SEED = 20_261_130
PERSON = CORPUS[0]


def held(cases: Iterable[Case], *, recovery: float) -> Tally:
    """The tally of these cases, with what the mutation test promises already asserted."""
    tally = Tally.of(cases)
    wrong, recovered, told = len(tally.wrong), tally.recovery, tally.told()  # no values of others in pytest's words
    assert wrong == 0, told
    assert recovered >= recovery, told
    return tally


def test_values_of_our_schemas_come_back_from_odd_spellings_and_never_turn_into_others() -> None:
    tally = held(mutations.cases(CORPUS, SEED, share=0.5), recovery=0.99)
    assert tally.lexical > 1000
    assert tally.damaged > 800


def test_values_of_published_schemas_come_back_and_never_turn_into_others() -> None:
    instances = mutations.sample()
    if not instances:
        pytest.skip(NO_SAMPLE)
    tally = held(mutations.cases(instances, SEED, share=0.08), recovery=0.99)
    assert tally.lexical > 300
    assert tally.damaged > 500


def test_what_once_failed_in_our_schemas_holds() -> None:
    lines = [each for each in mutations.failures() if "text" in each]
    restored = [mutations.restored(each, {}) for each in lines]
    held((each for each in restored if each), recovery=1)


def test_what_once_failed_in_published_schemas_holds() -> None:
    lines = [each for each in mutations.failures() if "text" not in each]
    instances = {each.id: each for each in mutations.sample()}
    if lines and not instances:
        pytest.skip(NO_SAMPLE)
    restored = [mutations.restored(each, instances) for each in lines]
    held((each for each in restored if each), recovery=1)


# The mutator itself.


def test_every_value_of_the_corpus_fits_its_schema_and_has_its_own_name() -> None:
    assert all(each.fits(each.value) for each in CORPUS)
    assert len({each.id for each in CORPUS}) == len(CORPUS)
    assert len({json.dumps(each.schema) for each in CORPUS}) >= 40


def test_every_mutation_applies_to_several_values_of_the_corpus() -> None:
    counts = {name: sum(mutations.make(each, name, SEED) is not None for each in CORPUS) for name in NAMES}
    assert min(counts.values()) >= 3, sorted(counts.items(), key=lambda item: item[1])[:5]


def test_a_case_is_made_again_from_its_three_names() -> None:
    for name in NAMES:
        assert mutations.make(PERSON, name, 7) == mutations.make(PERSON, name, 7)


def test_a_plain_draft_is_the_value_in_json() -> None:
    for each in CORPUS:
        for seed in range(3):
            assert exact(json.loads(written(draft_of(each, Random(seed)))), each.value)


def test_the_end_of_the_content_is_before_the_closing_brackets_only() -> None:
    draft = draft_of(Instance("x", {}, {"a": [1, {"b": "}]"}]}), Random(1))
    text = written_object(draft)
    assert text[end_of_content(draft) :].replace(" ", "").replace("\n", "") == "}]}"


def test_damage_never_leaves_json_that_says_something_else() -> None:
    """Else the text would say so, and whoever reads it would be right."""
    for each in mutations.cases(CORPUS, SEED, DAMAGE, share=0.3):
        if is_json(each.text):
            assert exact(json.loads(each.text), each.instance.value), each.id


def test_lexical_mutations_that_leave_json_leave_its_value() -> None:
    for each in mutations.cases(CORPUS, SEED, LEXICAL, share=0.3):
        try:
            value = json.loads(each.text)
        except ValueError:
            continue
        assert exact(value, each.instance.value), each.id


def test_a_variant_fits_and_differs() -> None:
    found = [(each, variant(each, Random(SEED))) for each in CORPUS]
    assert sum(other is not None for _, other in found) > len(found) * 0.8
    assert all(other is None or (each.fits(other) and not exact(other, each.value)) for each, other in found)


def test_a_schema_that_takes_nearly_anything_is_permissive() -> None:
    permissive = {each.id.partition("#")[0] for each in CORPUS if each.permissive}
    assert permissive == {"settings", "anything", "scores"}


def test_the_verdict_tells_types_apart() -> None:
    case = Case(Instance("x", {}, {"a": 1}), "plain", 0, "")
    assert case.verdict({"a": 1}) == "recovered"
    assert [case.verdict({"a": each}) for each in (1.0, True, "1")] == ["wrong"] * 3
    assert case.verdict(NOTHING) == "missed"


def test_a_damaged_reply_may_give_nothing_or_the_original_if_it_is_whole() -> None:
    whole = Case(PERSON, "cut", 0, "", damaged=True)
    assert (whole.verdict(NOTHING), whole.verdict(PERSON.value)) == ("refused", "recovered")
    part = Case(PERSON, "cut", 0, "", damaged=True, whole=False)
    assert (part.verdict(NOTHING), part.verdict(PERSON.value)) == ("refused", "wrong")


def test_a_value_that_misses_the_schema_is_wrong_even_if_it_is_the_original() -> None:
    case = Case(Instance("x", {"type": "array"}, {"a": 1}), "plain", 0, "")
    assert case.verdict({"a": 1}) == "wrong"


def test_of_a_published_schema_only_names_are_stored() -> None:
    foreign = Instance("theirs#0", {"title": "theirs"}, {"secret": 1}, own=False)
    line = mutations.stored(Case(foreign, "plain", 3, "theirs"))
    assert line == {"instance": "theirs#0", "mutation": "plain", "seed": 3}
    assert mutations.restored(line, {"theirs#0": foreign}) == mutations.make(foreign, "plain", 3)
    assert mutations.restored(line, {}) is None


def test_of_our_own_schemas_the_whole_case_is_stored() -> None:
    case = mutations.make(PERSON, "cut", 5)
    assert case is not None
    again = mutations.restored(json.loads(json.dumps(mutations.stored(case))), {})
    assert again is not None
    assert (again.text, again.whole, again.damaged, again.instance) == (case.text, case.whole, True, case.instance)
