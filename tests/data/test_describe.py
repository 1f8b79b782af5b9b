"""Statistics of a dataset."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.describe import describe
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary

A, B, C, U, V, W, X, Z, N = range(9)
"""Three known entities; U and V unseen in train, W in valid, X in test; Z only in a fact of W; N in none."""


def _meta(rows: list[tuple[int, int, int, int, int]]) -> MetaSet:
    owners = Quadruples.of([row[0] for row in rows], *([0] * len(rows) for _ in range(3))).subject
    return MetaSet(owners, Quadruples.from_rows([row[1:] for row in rows]))


@pytest.fixture
def small() -> Dataset:
    return Dataset(
        name="small",
        vocabulary=Vocabulary(tuple("ABCUVWXZN"), ("meets", "warns", "sues")),
        calendar=Calendar.of_granules("day", [0, 1, 2, 3, 5]),
        background=Quadruples.from_rows([(A, 0, B, 0), (B, 1, C, 1), (C, 0, C, 2)]),
        train=_meta(
            [
                (U, U, 0, A, 0),
                (U, A, 1, U, 1),
                (U, U, 0, V, 2),
                (U, U, 2, B, 3),
                (V, V, 0, V, 3),
            ]
        ),
        valid=_meta([(W, W, 0, A, 1), (W, Z, 0, W, 2)]),
        test=_meta([(X, X, 1, B, 5)]),
        dropped=Quadruples.from_rows([(U, 0, X, 1)]),
        concepts=Concepts.from_pairs(9, [(A, "state"), (B, "state"), (U, "movement")]),
    )


def test_statistics_match_table_1_of_the_paper(small: Dataset) -> None:
    found = describe(small).to_json()
    assert (found["entities"], found["relations"], found["times"]) == (9, 3, 5)
    assert found["unseen"] == {"train": 2, "valid": 1, "test": 1}
    assert found["facts"] == {"background": 3, "train": 5, "valid": 2, "test": 1}


def test_properties_are_counted(small: Dataset) -> None:
    found = describe(small)
    train, valid, test = found.groups.values()
    assert found.isolated_entities == 2  # Z and N
    assert found.dropped_facts == 1
    assert (found.background_entities, found.background_relations, found.background_self_loops) == (3, 2, 1)
    assert (train.cross_facts, valid.cross_facts, test.cross_facts) == (2, 0, 0)  # U with V, and V with itself
    assert (train.self_loops, valid.self_loops, test.self_loops) == (1, 0, 0)
    assert (train.relation_not_in_background, valid.relation_not_in_background) == (1, 0)
    assert (train.other_end_not_in_background, valid.other_end_not_in_background) == (0, 1)
    assert (train.unseen_is_subject, valid.unseen_is_subject) == (4, 1)
    assert (found.concepts, found.concept_pairs, found.entities_without_concept) == (2, 3, 6)


def test_entity_with_at_most_k_facts_has_no_queries(small: Dataset) -> None:
    train, valid, test = describe(small).groups.values()
    assert (train.queries[1], train.too_few_facts[1]) == (3, 1)  # U has four facts, V one
    assert (train.queries[3], train.too_few_facts[3]) == (1, 1)
    assert (valid.queries[1], valid.queries[3], valid.too_few_facts[3]) == (1, 0, 1)
    assert (test.queries[1], test.too_few_facts[1]) == (0, 1)
    assert train.facts_per_entity == (1, 2.5, 4)


def test_description_shows_dates_and_gaps(small: Dataset) -> None:
    found = describe(small)
    assert (found.first_time, found.last_time, found.span) == ("1970-01-01", "1970-01-06", 6)
    assert "5 days from 1970-01-01 to 1970-01-06" in found.render()
    assert "1 of the 6 days have no fact" in found.render()


def test_empty_group_has_no_facts_per_entity(small: Dataset) -> None:
    found = describe(dataclasses.replace(small, test=_meta([])))
    assert found.groups["test"].facts_per_entity is None
    assert found.to_json()["groups"]["test"]["facts_per_entity"] is None
    assert "–" in found.render()


def test_description_is_json_and_an_aligned_table(small: Dataset) -> None:
    found = describe(small)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False)) == found.to_json()
    table = found.render().split("\n\n")[2].splitlines()
    assert len({len(line) for line in table}) == 1
    assert table[2].split() == ["facts", "3", "5", "2", "1"]


def _facts_worth_knowing(readme: Path) -> dict[str, list[str]]:
    """Label → numbers, from the list under that heading of a benchmark's README."""
    section = readme.read_text(encoding="utf-8").split("## Facts worth knowing")[1].split("##")[0]
    pairs = (line[2:].split(": ", 1) for line in section.splitlines() if line.startswith("- ") and ": " in line)
    return {label: [part.strip() for part in numbers.split(" / ")] for label, numbers in pairs}


@pytest.mark.data
@pytest.mark.parametrize("name", ["icews14-oog", "icews18-oog", "icews0515-oog"])
def test_statistics_match_the_readme_of_a_benchmark(benchmarks: Path, name: str) -> None:
    known = _facts_worth_knowing(benchmarks / name / "README.md")
    found = describe(read_dataset(benchmarks / name))
    groups = list(found.groups.values())

    def of_groups(*values: Any) -> list[str]:
        return [str(value) for value in values]

    facts = found.background_facts + found.dropped_facts + sum(group.facts for group in groups)
    loops = [found.background_self_loops, *(group.self_loops for group in groups)]
    spreads = [group.facts_per_entity for group in groups]
    assert known["all facts"] == of_groups(facts)
    assert known["dropped"] == of_groups(found.dropped_facts)
    assert known["self loops all/bg/mtrain/mvalid/mtest"] == of_groups(sum(loops), *loops)
    assert known["cross facts"] == of_groups(*(group.cross_facts for group in groups))
    assert known["facts per entity min/mean/max"] == [
        "; ".join(f"{some[0]}/{some[1]:.2f}/{some[2]}" for some in spreads if some is not None)
    ]
    assert known["entities with <2 facts"] == of_groups(*(group.too_few_facts[1] for group in groups))
    assert known["entities with <4 facts"] == of_groups(*(group.too_few_facts[3] for group in groups))
    assert known["queries K=1 (valid,test)"] == of_groups(*(group.queries[1] for group in groups[1:]))
    assert known["queries K=3 (valid,test)"] == of_groups(*(group.queries[3] for group in groups[1:]))
    assert known["background entities"] == of_groups(found.background_entities)
    assert known["entities neither unseen nor in background"] == of_groups(found.isolated_entities)
    assert known["relations in background"] == of_groups(found.background_relations)
    assert known["meta facts whose other end is not in background and not itself unseen"] == of_groups(
        *(group.other_end_not_in_background for group in groups)
    )
    assert known["meta facts with relation absent from background"] == of_groups(
        *(group.relation_not_in_background for group in groups)
    )
    assert known["unseen entity as subject"] == of_groups(*(group.unseen_is_subject for group in groups))
    assert known["concept matrix FILT"] == of_groups(found.entities, found.concepts)
    assert known["entity-concept pairs"] == of_groups(found.concept_pairs)
    assert known["entities without concept"] == of_groups(found.entities_without_concept)
