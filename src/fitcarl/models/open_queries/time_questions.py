"""Questions when a relation of an entity occurs next, with the first later event as their answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Ids
from fitcarl.data.relations import RelationIds
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.history import Histories
from fitcarl.tasks.task import Queries, Task

NEVER = np.iinfo(np.int32).max
"""Delay of an event that is not known to occur."""
_POPULAR = 20
"""Relations that are asked about besides those of the entity's own facts."""
_WAITS = (0.0, 0.25, 1.0)
"""Half-lives between an entity's last known fact and a question; a question after a further fact is left out."""


@dataclass(frozen=True, eq=False)
class TimeQuestions:
    """Entities at a tick and directed relations: how many ticks later does the entity have such a fact?"""

    histories: Histories
    history: Positions
    """int64 [questions], the entity and the tick."""
    relation: Ids
    """int32 [questions], in [0, 2R)."""
    delay: Ids
    """int32 [questions]: ticks from the tick of the history to the event, 0 at the tick itself; or ``NEVER``."""

    def __len__(self) -> int:
        return len(self.history)

    @property
    def entity(self) -> Ids:
        """int32 [questions]."""
        return self.histories.entity[self.history]


def time_questions(task: Task, index: EventIndex, relations: RelationIds, last: int, wait: float) -> TimeQuestions:
    """The questions about a task with answers, chosen without looking at the answers.

    An entity is asked about right after its last support fact and after two longer waits, as long as everything up to
    then is known: not after its first query. Relations are those of its support facts and the most popular ones.

    Args:
        task: A task of the setting forecast, with all queries of its entities.
        index: Counts on the background.
        relations: The relation ids.
        last: The last tick to ask at; facts must be known for a whole horizon after it.
        wait: Ticks of the longest wait.
    """
    entity, time = _moments(task, last, wait)
    histories = Histories.of(task.support, entity, time, time, relations)
    relation = [_asked(index, histories, row) for row in range(len(histories))]
    history = np.repeat(np.arange(len(histories)), [len(part) for part in relation])
    asked = np.concatenate([np.empty(0, np.int32), *relation]).astype(np.int32)
    return TimeQuestions(histories, history, asked, _delays(task.queries, histories, history, asked, relations))


def _moments(task: Task, last: int, wait: float) -> tuple[Ids, Ids]:
    """Entities and ticks to ask at, none after ``last``."""
    entities = task.entities
    number = np.full(int(entities.max(initial=-1)) + 1, -1)
    number[entities] = np.arange(len(entities))
    known, following = np.full(len(entities), -NEVER, np.int64), np.full(len(entities), NEVER, np.int64)
    np.maximum.at(known, number[task.support.entity_of_fact], task.support.facts.time)
    np.minimum.at(following, number[task.queries.entity], task.queries.time)
    waits = np.unique(np.round(np.array(_WAITS) * wait).astype(np.int64))
    time = known[:, None] + 1 + waits
    row, column = np.nonzero((time <= following[:, None]) & (time <= last))
    return entities[row], time[row, column].astype(np.int32)


def _asked(index: EventIndex, histories: Histories, row: int) -> Ids:
    """int32, ascending: relations of the entity's facts and the most popular ones at that tick."""
    count = index.popularity(int(histories.before[row]))
    popular = np.argsort(-count, kind="stable")[:_POPULAR]
    return np.union1d(histories.facts_of(row)[0], popular).astype(np.int32)


def _delays(queries: Queries, histories: Histories, history: Positions, relation: Ids, relations: RelationIds) -> Ids:
    """int32 [questions]: ticks to the first query of the same entity and relation at or after the question."""
    order = np.lexsort((queries.time, queries.relation, queries.entity))
    pair = queries.entity.astype(np.int64) * relations.directed + queries.relation
    key, time = pair[order], queries.time[order].astype(np.int64)
    asked = histories.entity[history].astype(np.int64) * relations.directed + relation
    start = histories.time[history].astype(np.int64)
    low, high = np.searchsorted(key, asked, side="left"), np.searchsorted(key, asked, side="right")
    delay = np.full(len(asked), NEVER, dtype=np.int64)
    for question in np.flatnonzero(high > low):
        part = time[low[question] : high[question]]
        first = np.searchsorted(part, start[question])
        if first < len(part):
            delay[question] = part[first] - start[question]
    return delay.astype(np.int32)
