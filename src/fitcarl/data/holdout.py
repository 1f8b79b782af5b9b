"""A dataset from plain facts: some entities are held out as a meta-validation set for model selection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.chronological import first_appearance, tick_at_share
from fitcarl.data.concepts import Concepts
from fitcarl.data.cuts import Cuts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.facts import Facts
from fitcarl.data.pseudo_unseen import (
    PseudoUnseen,
    facts_of_each,
    hold_out_entities,
    select_pseudo_unseen,
    usual_number_of_facts,
)
from fitcarl.data.quadruples import Ids, Quadruples

_PARTS = 6
"""Groups that the eligible entities are divided into; one of them is held out."""
_HELD_OUT = 100
"""Maximum number of held-out entities: enough to compare two checkpoints of a model."""
_LATE = (0.7, 0.5)
"""Shares of the facts before the held-out emerging entities: the second one if too few appear after the first."""
_MIN_EMERGING = 5
_STREAM = (0, 0, 1)


def dataset_from_facts(
    facts: Facts, shots: int, seed: int, *, meta_train: bool = False, chronological: bool = False
) -> tuple[Dataset, PseudoUnseen]:
    """Makes a dataset with a meta-validation set and an empty meta-test set from plain facts.

    Args:
        facts: The facts.
        shots: Support facts per entity, K.
        seed: Seed of the selection of entities.
        meta_train: Also hold out a meta-train set, as in an official split, and drop facts between the two groups.
            Otherwise the meta-train set is empty, and training holds out other entities of the background in turn.
        chronological: Hold out the most recent emerging entities, and record the time from which on they appear as the
            cut of meta-validation. If too few entities first appear late in the data, random ones are held out.

    Returns:
        The dataset, and the entities of its meta-validation set.
    """
    rng = np.random.default_rng([seed, *_STREAM])
    entities = len(facts.vocabulary.entities)
    held_out = _emerging(facts, shots) if chronological else None
    cut = None if held_out is None else int(first_appearance(facts.quadruples, entities)[held_out.groups[0]].min())
    if held_out is None:
        held_out = select_pseudo_unseen(
            facts.quadruples, entities, shots, rng, groups=_PARTS, max_entities=_HELD_OUT, share=0.05, name=facts.name
        )
        held_out = replace(held_out, groups=held_out.groups[:1])
    holdout = hold_out_entities(facts.quadruples, held_out.groups[0], entities, rng)
    background, valid, train, dropped = holdout.background, holdout.hidden, _empty_split(), Quadruples.empty()
    if meta_train:
        visible = background if cut is None else background.take(background.time < cut)
        train_entities = select_pseudo_unseen(visible, entities, shots, rng, groups=2, name=facts.name).groups[0]
        holdout = hold_out_entities(background, train_entities, entities, rng)
        background, train = holdout.background, holdout.hidden
        valid, dropped = _drop_cross_facts(valid, train_entities)
        if cut is not None:
            dropped = Quadruples.concat([dropped, train.facts.take(train.facts.time >= cut)])
            train = train.before(cut)
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
        cuts=None if cut is None else Cuts(0, cut, facts.calendar.span),
        reading=facts.reading,
    )
    return dataset, held_out


def _emerging(facts: Facts, shots: int) -> PseudoUnseen | None:
    """The entities with a few facts that appeared most recently; None if too few appear late in the data."""
    known, entities = facts.quadruples, len(facts.vocabulary.entities)
    arrival, count = first_appearance(known, entities), facts_of_each(known, entities)
    bounds = shots + 1, usual_number_of_facts(shots)[1]
    suitable = (count >= bounds[0]) & (count <= bounds[1]) & _is_asked_later(known, entities, shots)
    recent = np.flatnonzero(suitable)
    recent = recent[np.argsort(-arrival[recent], kind="stable")][:_HELD_OUT]
    times = np.sort(known.time)
    for share in _LATE:
        late = recent[arrival[recent] >= max(tick_at_share(times, share), int(times[0]) + 1)]
        if len(late) >= _MIN_EMERGING:
            return PseudoUnseen((late.astype(np.int32),), bounds, count)
    return None


def _is_asked_later(facts: Quadruples, entities: int, shots: int) -> NDArray[np.bool_]:
    """bool [entities]: whether an entity has a fact later than its first K facts."""
    entity, time = np.concatenate([facts.subject, facts.object]), np.concatenate([facts.time, facts.time])
    order = np.lexsort((time, entity))
    entity, time = entity[order], time[order]
    start = np.searchsorted(entity, np.arange(entities))
    end = np.searchsorted(entity, np.arange(entities), side="right")
    enough = end - start > shots
    later = np.zeros(entities, dtype=np.bool_)
    later[enough] = time[end[enough] - 1] > time[start[enough] + shots - 1]
    return later


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
