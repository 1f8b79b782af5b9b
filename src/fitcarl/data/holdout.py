"""A dataset out of plain facts: nobody is unseen in them, so some actors are held out to choose the model by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.facts import Facts
from fitcarl.data.pseudo_unseen import PseudoUnseen, hold_out_entities, select_pseudo_unseen
from fitcarl.data.quadruples import Ids, Quadruples

_PARTS = 6
"""One of so many parts of those who could play newcomers is held out."""
_HELD_OUT = 100
"""Actors that are held out at most: enough to compare two states of a model."""
_STREAM = (0, 0, 1)


def dataset_from_facts(
    facts: Facts, shots: int, seed: int, *, meta_train: bool = False
) -> tuple[Dataset, PseudoUnseen]:
    """Facts as a dataset with a meta-validation group and no test group, and who is in the former.

    With ``meta_train`` another group is hidden for good to learn from, as in an official split; facts between the two
    groups are dropped. Without it that split is empty, and training hides others of the background in turn.
    """
    rng = np.random.default_rng([seed, *_STREAM])
    entities = len(facts.vocabulary.entities)
    held_out = select_pseudo_unseen(
        facts.quadruples, entities, shots, rng, groups=_PARTS, most=_HELD_OUT, share=0.05, name=facts.name
    )
    held_out = replace(held_out, groups=held_out.groups[:1])
    fold = hold_out_entities(facts.quadruples, held_out.groups[0], entities, rng)
    background, valid, train, dropped = fold.background, fold.hidden, _empty_split(), Quadruples.empty()
    if meta_train:
        learners = select_pseudo_unseen(background, entities, shots, rng, groups=2, name=facts.name).groups[0]
        fold = hold_out_entities(background, learners, entities, rng)
        background, train = fold.background, fold.hidden
        valid, dropped = _drop_cross_facts(valid, learners)
    dataset = Dataset(
        name=facts.name,
        vocabulary=facts.vocabulary,
        calendar=facts.calendar,
        background=background,
        train=train,
        valid=valid,
        test=_empty_split(),
        dropped=dropped,
        concepts=_used_concepts(facts.concepts),
    )
    return dataset, held_out


def _used_concepts(concepts: Concepts) -> Concepts:
    """Concepts without those that nobody has: a folder does not keep their names."""
    entities = len(concepts.offsets) - 1
    return Concepts.from_pairs(entities, ((e, name) for e in range(entities) for name in concepts.of(e)))


def _empty_split() -> MetaSet:
    return MetaSet(np.empty(0, dtype=np.int32), Quadruples.empty())


def _drop_cross_facts(meta: MetaSet, others: Ids) -> tuple[MetaSet, Quadruples]:
    """A group's facts without those that lead to another group, and the latter."""
    across = np.isin(meta.facts.subject, others) | np.isin(meta.facts.object, others)
    return MetaSet(meta.entity_of_fact[~across], meta.facts.take(~across)), meta.facts.take(across)
