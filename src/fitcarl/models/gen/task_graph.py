"""The graph of a task for T-GEN: all support facts, seen from each of their unseen entities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.models.support import SupportFacts


def row_positions(entity: Ids | NDArray[np.int64], unseen: Ids, entities: int) -> NDArray[np.int64]:
    """Positions in the rows of all entities followed by those of the unseen entities, of the shape of ``entity``.

    Args:
        entity: Integer, entity ids.
        unseen: int32 [unseen], distinct entity ids, which have the rows from ``entities`` on.
        entities: The number of entities.
    """
    position = np.arange(entities, dtype=np.int64)
    position[unseen] = entities + np.arange(len(unseen))
    return np.asarray(position[entity])


def with_facts_between(unseen: Ids, support: SupportFacts, relations: RelationIds) -> SupportFacts:
    """The support facts, where a fact between two unseen entities is in the rows of both of them.

    Args:
        unseen: int32 [unseen], the entity of each row.
        support: The support facts; such a fact may be in both rows already.
        relations: The relation ids.
    """
    owner = np.repeat(np.arange(len(unseen)), support.counts)
    order = np.argsort(unseen)
    found = np.searchsorted(unseen, support.entity, sorter=order).clip(max=len(unseen) - 1)
    other = order[found]
    between = (unseen[other] == support.entity) & (other != owner)
    rows = np.stack([owner, support.entity, support.relation, support.time], axis=1)
    turned = np.stack(
        [other, unseen[owner], relations.inverse(support.relation), support.time],
        axis=1,
    )[between]
    known = set(map(tuple, rows[between].tolist()))
    added = [row for row in turned.tolist() if tuple(row) not in known]
    if not added:
        return support
    rows = np.concatenate([rows, np.array(added)])
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    offsets = offsets_of(np.bincount(rows[:, 0], minlength=len(unseen)))
    return SupportFacts(offsets, *(np.ascontiguousarray(rows[:, column], dtype=np.int32) for column in (1, 2, 3)))
