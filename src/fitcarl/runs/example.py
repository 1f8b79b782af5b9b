"""The example query of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from fitcarl.data.dataset import Dataset
from fitcarl.tasks.task import official_task


def make_example(dataset: Dataset, shots: int, *, rename_entity: bool) -> dict[str, Any] | None:
    """The first forecast about a meta-validation entity as a subject, with the entity's earliest facts.

    Args:
        dataset: The dataset of the run.
        shots: K, support facts of the entity.
        rename_entity: Whether the entity gets another name, because all entities are in the run.

    Returns:
        Facts and query by name, or None if there is no such query.
    """
    names, relations, label = dataset.vocabulary, dataset.vocabulary.relation_ids, dataset.calendar.label
    task = official_task(dataset.valid, shots, relations, "forecast")
    forward = np.flatnonzero(~relations.is_inverse(task.queries.relation))
    if not len(forward):
        return None
    actor, relation, time = (
        int(column[forward[0]]) for column in (task.queries.entity, task.queries.relation, task.queries.time)
    )
    known = task.support.facts.take(task.support.entity_of_fact == actor)

    def name(entity: int) -> str:
        return names.entities[entity] + (" (as a new entity)" if rename_entity and entity == actor else "")

    return {
        "facts": [
            {
                "subject": name(s),
                "relation": names.relations[r],
                "object": name(o),
                "time": label(t),
            }
            for s, r, o, t in known
        ],
        "subject": name(actor),
        "relation": names.relations[relation],
        "at": label(time),
    }
