"""Cross-validation over entities: every candidate entity is unseen in the test group of exactly one fold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.groups import divide_facts
from fitcarl.data.pseudo_unseen import facts_of_each
from fitcarl.data.quadruples import Ids
from fitcarl.errors import InputError

_MAX_VALID = 100
"""Maximum number of validation entities of a fold."""
_STREAM = (0, 0, 2)


def divide_candidates(facts: Facts, folds: int, bounds: tuple[int, int], seed: int) -> tuple[Ids, ...]:
    """Divides the entities within bounds into groups of nearly equal size, at random.

    Args:
        facts: The facts.
        folds: Number of groups, at least three.
        bounds: Minimum and maximum number of facts of a candidate entity.
        seed: Random seed.

    Raises:
        InputError: There are fewer than two candidates per group.
    """
    if folds < 3:
        raise InputError("too few folds", field="folds", found=folds, expected="at least 3: test, validation, the rest")
    count = facts_of_each(facts.quadruples, len(facts.vocabulary.entities))
    low, high = bounds
    candidates = np.flatnonzero((count >= low) & (count <= high))
    if len(candidates) < 2 * folds:
        raise InputError(
            "too few entities for cross-validation",
            file=facts.name,
            found=f"{len(candidates)} with {low} to {high} facts",
            expected=f"at least {2 * folds} for {folds} folds: other bounds (--low, --high) or fewer --folds",
        )
    drawn = np.random.default_rng([seed, *_STREAM]).permutation(candidates).astype(np.int32)
    return tuple(drawn[number::folds] for number in range(folds))


def fold_dataset(facts: Facts, groups: tuple[Ids, ...], fold: int, seed: int, *, meta_train: bool = False) -> Dataset:
    """The dataset of one fold.

    Its group is the meta-test set, the next group (at most 100 entities) is the meta-validation set. The entities of
    all other groups are in the background, unless a meta-train set is needed.

    Args:
        facts: The facts.
        groups: The groups of candidates.
        fold: Number of the group to be tested, from 0.
        seed: Random seed of the order of the facts of an entity.
        meta_train: Whether the group after the next one is a meta-train set; otherwise it is empty.

    Raises:
        InputError: No background would remain.
    """
    valid, train = (groups[(fold + step) % len(groups)] for step in (1, 2))
    entities, known = len(facts.vocabulary.entities), facts.quadruples
    shuffled = known.take(np.random.default_rng([seed, *_STREAM, fold]).permutation(len(known)))
    unseen = [train if meta_train else train[:0], valid[:_MAX_VALID], groups[fold]]
    found = divide_facts(shuffled, unseen, entities, seed)
    if not len(found.background):
        expected = "more --folds, or other bounds (--low, --high)"
        raise InputError("no facts would remain for the background", file=facts.name, expected=expected)
    return found.dataset(replace(facts, concepts=facts.concepts.used()), f"{facts.name}-fold{fold + 1}")
