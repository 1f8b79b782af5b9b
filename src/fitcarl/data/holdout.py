"""A dataset from plain facts: some entities are held out as a meta-validation set for model selection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.facts import Facts
from fitcarl.data.pseudo_unseen import PseudoUnseen, hold_out_entities, select_pseudo_unseen
from fitcarl.data.quadruples import Ids, Quadruples

_PARTS = 6
"""Groups that the eligible entities are divided into; one of them is held out."""
_HELD_OUT = 100
"""Maximum number of held-out entities: enough to compare two checkpoints of a model."""
_STREAM = (0, 0, 1)


def dataset_from_facts(
    facts: Facts, shots: int, seed: int, *, meta_train: bool = False
) -> tuple[Dataset, PseudoUnseen]:
    """Makes a dataset with a meta-validation set and an empty meta-test set from plain facts.

    Args:
        facts: The facts.
        shots: Support facts per entity, K.
        seed: Seed of the selection of entities.
        meta_train: Also hold out a meta-train set, as in an official split, and drop facts between the two groups.
            Otherwise the meta-train set is empty, and training holds out other entities of the background in turn.

    Returns:
        The dataset, and the entities of its meta-validation set.
    """
    rng = np.random.default_rng([seed, *_STREAM])
    entities = len(facts.vocabulary.entities)
    held_out = select_pseudo_unseen(
        facts.quadruples, entities, shots, rng, groups=_PARTS, max_entities=_HELD_OUT, share=0.05, name=facts.name
    )
    held_out = replace(held_out, groups=held_out.groups[:1])
    holdout = hold_out_entities(facts.quadruples, held_out.groups[0], entities, rng)
    background, valid, train, dropped = holdout.background, holdout.hidden, _empty_split(), Quadruples.empty()
    if meta_train:
        train_entities = select_pseudo_unseen(background, entities, shots, rng, groups=2, name=facts.name).groups[0]
        holdout = hold_out_entities(background, train_entities, entities, rng)
        background, train = holdout.background, holdout.hidden
        valid, dropped = _drop_cross_facts(valid, train_entities)
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
    """Concepts that at least one entity has: a dataset folder does not store the names of others."""
    entities = len(concepts.offsets) - 1
    return Concepts.from_pairs(entities, ((e, name) for e in range(entities) for name in concepts.of(e)))


def _empty_split() -> MetaSet:
    return MetaSet(np.empty(0, dtype=np.int32), Quadruples.empty())


def _drop_cross_facts(meta: MetaSet, others: Ids) -> tuple[MetaSet, Quadruples]:
    """The facts of a group without those that contain an entity of another group, and the latter."""
    across = np.isin(meta.facts.subject, others) | np.isin(meta.facts.object, others)
    return MetaSet(meta.entity_of_fact[~across], meta.facts.take(~across)), meta.facts.take(across)
