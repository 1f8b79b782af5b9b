"""Folds of cross-validation: every candidate is tested once, and no fold leaks facts of its held-out entities."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.facts import Facts
from fitcarl.data.folds import divide_candidates, fold_dataset
from fitcarl.data.io.validation import validate
from fitcarl.data.pseudo_unseen import facts_of_each
from fitcarl.errors import InputError
from fitcarl.synthetic import generate_world
from tests.data.test_split import facts_of

BOUNDS = (5, 40)


@pytest.fixture(scope="module")
def facts() -> Facts:
    return generate_world("tiny").facts


@pytest.mark.parametrize("folds", [3, 5, 8])
def test_every_candidate_is_in_exactly_one_group(facts: Facts, folds: int) -> None:
    groups = divide_candidates(facts, folds, BOUNDS, 0)
    count = facts_of_each(facts.quadruples, len(facts.vocabulary.entities))
    candidates = np.flatnonzero((count >= 5) & (count <= 40))
    assert sorted(np.concatenate(groups).tolist()) == candidates.tolist()
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("meta_train", [False, True])
def test_every_candidate_is_tested_once_and_unknown_in_its_fold(facts: Facts, meta_train: bool) -> None:
    groups = divide_candidates(facts, 4, BOUNDS, 0)
    tested: list[int] = []
    for fold, group in enumerate(groups):
        dataset = fold_dataset(facts, groups, fold, 0, meta_train=meta_train)
        validate(dataset)
        assert sorted(dataset.everything) == sorted(facts.quadruples)
        assert bool(len(dataset.train)) == meta_train
        assert len(dataset.valid.entities) > 0
        assert set(dataset.valid.entities.tolist()) <= set(groups[(fold + 1) % 4].tolist())
        known = {*dataset.background.subject.tolist(), *dataset.background.object.tolist()}
        assert not known & {*group.tolist(), *dataset.valid.entities.tolist()}
        tested += dataset.test.entities.tolist()
    assert sorted(tested) == sorted(np.concatenate(groups).tolist())


def test_folds_depend_on_the_seed(facts: Facts) -> None:
    one, again, other = (divide_candidates(facts, 3, BOUNDS, seed)[0].tolist() for seed in (1, 1, 2))
    assert one == again != other


def test_too_few_candidates_or_folds_are_rejected(facts: Facts) -> None:
    with pytest.raises(InputError, match="too few folds"):
        divide_candidates(facts, 2, BOUNDS, 0)
    with pytest.raises(InputError, match=r"found '0 with 5000 to 6000 facts'; expected at least 10 for 5 folds"):
        divide_candidates(facts, 5, (5000, 6000), 0)
    ring = facts_of([(e, 0, (e + 1) % 6, day) for e in range(6) for day in range(4)])
    with pytest.raises(InputError, match="no facts would remain for the background"):
        fold_dataset(ring, divide_candidates(ring, 3, (2, 20), 0), 0, 0, meta_train=True)
