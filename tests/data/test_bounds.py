"""Bounds of unseen entities chosen by the data, and proposals that were counted."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitcarl.data.bounds import (
    BENCHMARK_BOUNDS,
    BENCHMARK_PARTS,
    ENOUGH_ENTITIES,
    choose_bounds,
    group_sizes,
    half_width,
    propose_options,
)
from fitcarl.data.facts import Facts
from fitcarl.data.split import split_facts, working_proposals
from fitcarl.data.split_advice import advise, few_entities
from fitcarl.errors import InputError
from tests.data.test_split import facts_of

HALF = 0.5, BENCHMARK_PARTS


def counts_of(**numbers: int) -> np.ndarray:
    """Counts of entities: ``f12=800`` are 800 entities with 12 facts each."""
    return np.concatenate([np.full(count, int(name[1:])) for name, count in numbers.items()])


def test_benchmark_bounds_are_kept_if_they_give_enough() -> None:
    # Half of 800 are 400: 320, 40 and 40.
    assert choose_bounds(counts_of(f12=800, f500=2000), *HALF) == BENCHMARK_BOUNDS
    assert group_sizes(800, *HALF) == (320, 40, 40)


def test_sparse_data_get_a_smaller_minimum() -> None:
    sparse = counts_of(f1=9000, f6=500, f8=100, f12=700)
    assert choose_bounds(sparse, *HALF) == (8, 25)  # 800 with 8 to 25
    assert choose_bounds(counts_of(f1=9000, f6=100, f12=700), *HALF) == (6, 25)
    assert choose_bounds(counts_of(f1=9000, f5=100, f12=700), *HALF) == (5, 25)


def test_minimum_is_never_below_five() -> None:
    low, _ = choose_bounds(counts_of(f4=5000, f12=10), *HALF)
    assert low >= 5


def test_dense_data_get_a_larger_maximum_along_quantiles() -> None:
    # The 10 % quantile is 30 and gives half of 910 entities: 364, 45 and 46. They have 13,560 of 1,013,560 facts.
    dense = counts_of(f12=10, f30=900, f1000=500, f3000=500)
    assert choose_bounds(dense, *HALF) == (10, 30)


def test_dense_data_with_too_few_entities_get_the_most_within_a_fifth_of_the_facts() -> None:
    # Quantiles are 40, 50, 60, …: each step adds 10 entities, so no step is enough. Half of those with up to 90 facts,
    # 60 entities, have 1,950 of 10,200 facts; with up to 100 facts it would be 2,450.
    dense = counts_of(f40=10, f50=10, f60=10, f70=10, f80=10, f90=10, f100=10, f110=10, f1480=10)
    low, high = choose_bounds(dense, *HALF)
    assert (low, high) == (10, 90)
    assert group_sizes(60, *HALF) == (24, 3, 3)


def test_unseen_entities_have_at_most_a_fifth_of_the_facts() -> None:
    # All quantiles are 100: with a maximum of 100 half of the entities would be unseen, and no bounds do better.
    assert choose_bounds(np.full(900, 100), *HALF) == BENCHMARK_BOUNDS


@pytest.mark.parametrize(("entities", "expected"), [(1, 0.4704), (16, 0.1176), (48, 0.0679)])
def test_half_width_is_1_96_deviations_over_the_root(entities: int, expected: float) -> None:
    assert half_width(entities) == pytest.approx(expected, abs=5e-5)
    assert half_width(entities) == pytest.approx(1.96 * 0.24 / math.sqrt(entities))


def test_warning_states_the_interval() -> None:
    assert few_entities("test", 2) == (
        "Only 2 entities for test: the 95 % interval of an MRR is about ± .33 (1.96 · .24 / √n)."
    )
    assert few_entities("test", 0) == "There are no test entities."
    assert few_entities("test", ENOUGH_ENTITIES) == ""
    assert few_entities("validation", 1).startswith("Only 1 entity for validation")


def hubs(satellites: dict[int, int], count: int = 30) -> Facts:
    """Entities with given numbers of facts, each with hubs that have far more: facts of an entity → entities."""
    rows = [(hub, 0, (hub + step) % count, day) for hub in range(count) for step in range(1, 11) for day in range(10)]
    number = count
    for facts, entities in satellites.items():
        for _ in range(entities):
            rows += [(number, turn % 2, (number + turn) % count, turn % 29) for turn in range(facts)]
            number += 1
    return facts_of(list(dict.fromkeys(rows)), number)


@pytest.mark.parametrize("world", [{6: 300, 12: 90}, {12: 100, 28: 400}, {8: 60}, {12: 60}])
def test_every_proposal_gives_what_it_says(world: dict[int, int]) -> None:
    facts = hubs(world)
    found = working_proposals(facts, 42, None)
    assert found
    for proposal in found:
        dataset = split_facts(facts, bounds=(proposal.low, proposal.high), share=proposal.share)
        assert (len(dataset.valid.entities), len(dataset.test.entities)) == (proposal.valid, proposal.test)
        assert 2 * len(dataset.background) >= len(facts.quadruples)


def test_advice_names_proposals_that_give_more_entities() -> None:
    facts = hubs({6: 900, 12: 90})
    few = split_facts(facts, bounds=BENCHMARK_BOUNDS)
    advice = advise(facts, few, seed=42, parts=None, chronological=False)
    assert advice is not None
    assert (advice.valid, advice.test) == (4, 5)
    assert advice.proposals[0] == "--low 6 --high 25 --share 0.5 gives 49 entities for validation and 50 for test"
    assert {line.split()[0] for line in advice.lines[2:-1]} == {"More"}
    assert [line.split()[0] for line in advice.lines][:: len(advice.lines) - 1] == ["Only", "To"]
    assert advice.to_json()["half_width"]["test"] == half_width(5)


def test_no_advice_if_there_are_enough_entities() -> None:
    facts = hubs({12: 900})
    assert advise(facts, split_facts(facts), seed=42, parts=None, chronological=False) is None


def test_chosen_bounds_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="fitcarl"):
        dataset = split_facts(hubs({6: 900, 12: 90}))
    assert len(dataset.test.entities) == 50
    assert caplog.messages == [
        "events: unseen entities have 6 to 25 facts (--low 6 --high 25): 50 for test, instead of 5 with 10 to 25"
    ]
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="fitcarl"):
        split_facts(hubs({12: 900}))
    assert caplog.messages == []


def test_split_without_test_entities_proposes_working_options() -> None:
    facts = hubs({12: 30})
    with pytest.raises(InputError, match=r"; --low \d+ --high \d+ --share [\d.]+ gives \d+ entities") as error:
        split_facts(facts, bounds=(13, 25))
    words = str(error.value).split("; --low ")[1].split()
    bounds, share, valid, test = (int(words[0]), int(words[2])), float(words[4]), int(words[6]), int(words[-3])
    dataset = split_facts(facts, bounds=bounds, share=share)
    assert (len(dataset.valid.entities), len(dataset.test.entities)) == (valid, test)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=400), st.sampled_from([0.3, 0.5, 1.0]))
def test_chosen_bounds_give_at_least_as_many_entities(numbers: list[int], share: float) -> None:
    counts = np.array(numbers)
    low, high = choose_bounds(counts, share, BENCHMARK_PARTS)
    assert 5 <= low <= high

    def found(bounds: tuple[int, int]) -> int:
        within = int(np.count_nonzero((counts >= bounds[0]) & (counts <= bounds[1])))
        return min(group_sizes(within, share, BENCHMARK_PARTS)[1:])

    assert found((low, high)) >= found(BENCHMARK_BOUNDS)
    for proposal in propose_options(counts, BENCHMARK_PARTS):
        assert proposal.smallest > 0
