"""Small graphs that are fitted within seconds."""

from __future__ import annotations

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.data.vocabulary import Vocabulary

ENTITIES = 24
RELATIONS = RelationIds(3)
KNOWN = 20
"""Entities with a number below this one have facts."""


def small_background(facts: int = 80, seed: int = 5) -> Quadruples:
    """Facts among the first 20 of 24 entities, each of which has at least one; some triples repeat."""
    random = np.random.default_rng(seed)
    subject = np.concatenate([np.arange(KNOWN), random.integers(KNOWN, size=facts - KNOWN)])
    columns = (random.integers(high, size=facts) for high in (RELATIONS.count, KNOWN, 6))
    return Quadruples.of(subject, *columns)


def dataset_of(background: Quadruples) -> Dataset:
    """A dataset without unseen entities."""
    no_facts = MetaSet(np.empty(0, np.int32), Quadruples.empty())
    names = tuple(f"entity {number}" for number in range(ENTITIES))
    return Dataset(
        name="small",
        vocabulary=Vocabulary(names, tuple("abc")),
        calendar=Calendar.of_granules("integer", np.arange(6)),
        background=background,
        train=no_facts,
        valid=no_facts,
        test=no_facts,
        dropped=Quadruples.empty(),
        concepts=Concepts.none(ENTITIES),
    )
