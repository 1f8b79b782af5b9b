"""A question to begin with, kept beside every run."""

from __future__ import annotations

from typing import Any

import numpy as np

from fitcarl.data.dataset import Dataset
from fitcarl.tasks.task import official_task


def example_of(dataset: Dataset, shots: int, *, whole: bool) -> dict[str, Any] | None:
    """The first question about a meta-validation entity in which it is the subject, and the facts it comes with.

    In a ``whole`` run everybody is known, so it goes by another name there.
    """
    names, relations, label = dataset.vocabulary, dataset.vocabulary.relation_ids, dataset.calendar.label
    task = official_task(dataset.valid, shots, relations)
    forward = np.flatnonzero(~relations.is_inverse(task.queries.relation))
    if not len(forward):
        return None
    actor, relation, time = (
        int(column[forward[0]]) for column in (task.queries.entity, task.queries.relation, task.queries.time)
    )
    known = task.support.facts.take(task.support.entity_of_fact == actor)

    def name(entity: int) -> str:
        return names.entities[entity] + (" (as a newcomer)" if whole and entity == actor else "")

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
