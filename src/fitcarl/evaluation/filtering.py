"""Filtered ranking: other true answers of a query are removed from its candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions, offsets_of, spans
from fitcarl.data.dataset import SPLITS, Dataset
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries

Filter = Literal["time-aware", "time-unaware"]
FILTERS: tuple[Filter, ...] = get_args(Filter)


@dataclass(frozen=True, eq=False)
class FilteredAnswers:
    """True answers of each query other than its own answer, ragged."""

    offsets: Positions
    """int64 [queries + 1]."""
    entity: Ids
    """int32 [others], ascending within a query."""

    @property
    def query(self) -> Positions:
        """int64 [others]: the query of each."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int64), np.diff(self.offsets))

    def contains(self, scores: Scores) -> NDArray[np.bool_]:
        """bool [listed]: whether each listed entity is one of the other answers of its query."""
        if not len(self.entity):
            return np.zeros(len(scores.entity), dtype=np.bool_)
        width = int(max(self.entity.max(), scores.entity.max(initial=0))) + 1
        listed_keys, answer_keys = scores.query * width + scores.entity, self.query * width + self.entity
        position = np.searchsorted(answer_keys, listed_keys).clip(max=len(answer_keys) - 1)
        found: NDArray[np.bool_] = answer_keys[position] == listed_keys
        return found


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """Index of all true facts in both directions: objects by (e, r) and by (e, r, t)."""

    relations: RelationIds
    ticks: tuple[int, int]
    """First and last tick of all facts."""
    keys: dict[Filter, Positions]
    """int64 [pairs] for each filter, ascending: (e, r, t) or (e, r) encoded as one number."""
    objects: dict[Filter, Ids]
    """int32 [pairs] for each filter, ascending and distinct within a key."""

    @classmethod
    def of(cls, dataset: Dataset) -> KnownAnswers:
        """The index of the facts of all unseen entities of a dataset, the only ones that queries are about."""
        metas = [dataset.meta(split) for split in SPLITS]
        unseen = np.zeros(len(dataset.vocabulary.entities), dtype=np.bool_)
        for meta in metas:
            unseen[meta.entities] = True
        parts = [dataset.background, *(meta.facts for meta in metas), dataset.dropped]
        facts = Quadruples.concat([part.take(unseen[part.subject] | unseen[part.object]) for part in parts])
        return cls.of_facts(facts, dataset.vocabulary.relation_ids)

    @classmethod
    def of_facts(cls, facts: Quadruples, relations: RelationIds) -> KnownAnswers:
        both = facts.both_directions(relations)
        ticks = (int(both.time.min()), int(both.time.max())) if len(both) else (0, 0)
        keys: dict[Filter, Positions] = {}
        objects: dict[Filter, Ids] = {}
        for filter in FILTERS:
            key = _key(both.subject, both.relation, both.time, filter, relations, ticks)
            order = np.lexsort((both.object, key))
            key, object = key[order], both.object[order]
            new = np.ones(len(key), dtype=np.bool_)
            new[1:] = (key[1:] != key[:-1]) | (object[1:] != object[:-1])
            keys[filter], objects[filter] = key[new], object[new]
        return cls(relations, ticks, keys, objects)

    def filtered_answers(self, queries: Queries, filter: Filter) -> FilteredAnswers:
        """The other true answers with the same e', r_q and, under the time-aware filter, t_q."""
        key = _key(queries.entity, queries.relation, queries.time, filter, self.relations, self.ticks)
        start = np.searchsorted(self.keys[filter], key, side="left")
        count = np.searchsorted(self.keys[filter], key, side="right") - start
        if filter == "time-aware":
            # A tick outside the range of the facts would overflow into the key of the next relation.
            count[(queries.time < self.ticks[0]) | (queries.time > self.ticks[1])] = 0
        query, position = spans(start, count)
        entity = self.objects[filter][position]
        other = entity != queries.answer[query]
        return FilteredAnswers(offsets_of(np.bincount(query[other], minlength=len(queries))), entity[other])


def _key(
    entity: Ids, relation: Ids, time: Ids, filter: Filter, relations: RelationIds, ticks: tuple[int, int]
) -> NDArray[np.int64]:
    key = entity.astype(np.int64) * relations.directed + relation
    if filter == "time-aware":
        key = key * (ticks[1] - ticks[0] + 1) + (time.astype(np.int64) - ticks[0])
    return key
