"""Facts divided by the groups of their unseen entities: the background, one meta set per group, and dropped facts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.cuts import Cuts
from fitcarl.data.dataset import SPLITS, Dataset, MetaSet
from fitcarl.data.facts import Facts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError

_OUTSIDE = -1  # the group of an entity that is not unseen


@dataclass(frozen=True, eq=False)
class GroupedFacts:
    """The parts of a split; every fact is in exactly one of them."""

    background: Quadruples
    """Facts without an unseen entity."""
    metas: tuple[MetaSet, ...]
    """The facts of each group; entities in order of appearance."""
    dropped: Quadruples
    """Facts between two groups, and facts at or after the end of their group."""

    def dataset(self, facts: Facts, name: str, cuts: Cuts | None = None) -> Dataset:
        """The dataset of these parts, whose groups are meta-train, meta-validation and meta-test.

        Args:
            facts: The facts that were divided, for their names, times and concepts.
            name: Name of the dataset.
            cuts: The cuts of a chronological split.
        """
        return Dataset(
            name=name,
            vocabulary=facts.vocabulary,
            calendar=facts.calendar,
            background=self.background,
            train=self.metas[0],
            valid=self.metas[1],
            test=self.metas[2],
            dropped=self.dropped,
            concepts=facts.concepts,
            cuts=cuts,
            reading=facts.reading,
        )


def divide_facts(
    facts: Quadruples, groups: Sequence[Ids], entities: int, seed: int, ends: Sequence[int] | None = None
) -> GroupedFacts:
    """Divides facts by groups of unseen entities; every part keeps their order.

    A fact within one group is listed under its subject or its object, chosen at random.

    Args:
        facts: All facts.
        groups: int32 [entities of the group] each: the unseen entities.
        entities: Number of entities.
        seed: Random seed of the choice.
        ends: For each group the tick from which on its facts are dropped; none are by default.
    """
    group_of = np.full(entities, _OUTSIDE, dtype=np.int8)
    for number, group in enumerate(groups):
        group_of[group] = number
    of_subject, of_object = group_of[facts.subject], group_of[facts.object]

    # A fact belongs to the group of its unseen entities; max() finds it, because _OUTSIDE is the smallest value.
    group = np.maximum(of_subject, of_object)
    dropped = (of_subject != of_object) & (of_subject != _OUTSIDE) & (of_object != _OUTSIDE)
    within = (of_subject == of_object) & (of_subject != _OUTSIDE)
    entity = np.where(of_subject != _OUTSIDE, facts.subject, facts.object)
    entity[within] = _random_ends(facts.take(within), seed)
    if ends is not None:
        dropped |= (group != _OUTSIDE) & (facts.time >= np.asarray(ends)[group])

    metas = [_meta_set(facts, entity, (group == number) & ~dropped, entities) for number in range(len(groups))]
    return GroupedFacts(facts.take(group == _OUTSIDE), tuple(metas), facts.take(dropped))


def check_parts(parts: GroupedFacts, file: str, expected: str) -> None:
    """Raises an InputError if the background or a group has no facts."""
    counts = {"the background": len(parts.background)}
    counts |= {f"meta-{split}": len(meta) for split, meta in zip(SPLITS, parts.metas, strict=True)}
    for part, count in counts.items():
        if not count:
            raise InputError(f"no facts would remain for {part}", file=file, expected=expected)


def first_rows(ids: Ids, count: int) -> NDArray[np.int64]:
    """int64 [count]: the first row of each id in [0, count); the number of rows for ids that do not occur."""
    first = np.full(count, len(ids), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # the last assignment to a repeated index wins
    return first


def _random_ends(facts: Quadruples, seed: int) -> Ids:
    """int32 [facts]: subject or object of each fact, chosen at random."""
    rng = random.Random(seed)
    at_object = np.array([rng.randrange(0, 4, 2) == 2 for _ in range(len(facts))], dtype=np.bool_)
    return np.where(at_object, facts.object, facts.subject)


def _meta_set(facts: Quadruples, entity: Ids, mask: NDArray[np.bool_], entities: int) -> MetaSet:
    """The facts of one group: entities in order of appearance, the facts of each in their order."""
    entity, facts = entity[mask], facts.take(mask)
    order = np.argsort(first_rows(entity, entities)[entity], kind="stable")
    return MetaSet(entity[order], facts.take(order))
