"""Preset ``plus`` as a scorer: answers are sums over walks and the crowd, and the best walks explain them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.core.arrays import batches
from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.action_features import ActionFeatures, action_features, gap_buckets
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.network import EncoderScorer
from fitcarl.models.plus.policy import LogProbs, PlusPolicy
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.scoring.path import ExplanationPath, make_step
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_ROWS_AT_ONCE = 300_000  # bounds memory: choices whose features are held at once, about 600 bytes each


class PlusScorer:
    """Scores with the probability that a walk, or the crowd, ends at an entity."""

    def __init__(
        self,
        policy: PlusPolicy,
        background: TemporalGraph,
        statistics: GraphStatistics,
        size: int,
        shortlist: int,
        reader: EncoderScorer | None = None,
    ) -> None:
        self.name = "fitcarl (plus+names)" if statistics.names.used else "fitcarl (plus)"
        self._policy = policy
        self._background = background
        self._statistics = statistics
        self._size = size
        self._shortlist = Shortlist(shortlist)
        self._reader = reader
        self._last: tuple[MetaSet, TemporalGraph] | None = None
        self._kept: tuple[MetaSet, Queries, tuple[ActionFeatures, LogProbs]] | None = None

    def score(self, task: Task, queries: Queries) -> Scores:
        """Every entity that some walk or the crowd ends at, with the log of its probability."""
        parts = []
        said = self._background.entities // 20 if self._reader is not None else 0
        cost = np.full(len(queries), self._shortlist.most + 4 * self._size + said)
        for piece in batches(cost, _ROWS_AT_ONCE):
            part = queries.take(piece)
            walks = Walks.of(*self._walk(task.support, part))
            summed = Scores.summed(walks.query, walks.entity, np.exp(walks.score), len(part), self._background.entities)
            parts.append(Scores(summed.offsets, summed.entity, np.log(np.maximum(summed.score, 1e-300))))
        return Scores.concat(parts)

    def explain(
        self, task: Task, query: Queries, entity: int, vocabulary: Vocabulary, calendar: Calendar, limit: int = 3
    ) -> list[ExplanationPath]:
        """The most probable walks of one query that end at an entity, best first, then what it did with others."""
        return self.explain_all(task, query, [entity], vocabulary, calendar, limit)[0]

    def explain_all(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        limit: int = 3,
    ) -> list[list[ExplanationPath]]:
        """The same for several entities; the walks are made once."""
        options, mass = self._walk(task.support, query)
        walks = Walks.of(options, mass)
        told = self._told(walks, int(query.entity[0]))
        order = np.lexsort((-walks.score, walks.shot < 0))
        order = order[told[order]]
        ends = walks.entity[order]
        return [
            [
                self._path(options, mass, query, walks, int(place), vocabulary, calendar)
                for place in order[ends == entity][:limit]
            ]
            for entity in entities
        ]

    def _told(self, walks: Walks, asking: int) -> NDArray[np.bool_]:
        """Which ends can be told as facts: all walks, and of the crowd those who ever met anybody but the asking."""
        base = self._background.base
        met = base.degree(walks.entity)
        met -= np.bincount(base.target[base.offsets[asking] : base.offsets[asking + 1]], minlength=len(base.offsets))[
            walks.entity
        ]
        told: NDArray[np.bool_] = (walks.shot >= 0) | (met > 0)
        return told

    def _path(
        self,
        options: ActionFeatures,
        mass: LogProbs,
        query: Queries,
        walks: Walks,
        place: int,
        vocabulary: Vocabulary,
        calendar: Calendar,
    ) -> ExplanationPath:
        start, end, score = int(query.entity[0]), int(walks.entity[place]), float(walks.score[place])
        shot, column = int(walks.shot[place]), int(walks.column[place])
        hops: list[tuple[int, int, int, int]] = []
        if shot < 0:
            hops.append(self._telling_fact(int(query.relation[0]), end, int(query.time[0]), start))
        else:
            middle = int(options.entity[0, shot])
            hops.append((start, int(options.relation[0, shot]), middle, int(options.time[0, shot])))
            if column > 0:
                space = options.space
                hops.append((middle, int(space.relation[shot, column]), end, int(space.time[shot, column])))
        # The first choice, and where the walk goes on, what it chose there; stopping is part of the whole only.
        start_score = float(mass.start[0, shot])
        chances = [math.exp(start_score)] + [math.exp(score - start_score)] * (len(hops) - 1)
        if shot < 0:
            chances = [math.exp(score)]
        steps = [make_step(*hop, chance, None, vocabulary, calendar) for hop, chance in zip(hops, chances, strict=True)]
        names = vocabulary.entities
        return ExplanationPath(names[start], names[end], score, tuple(steps), is_context=shot < 0)

    def _telling_fact(self, relation: int, entity: int, now: int, asking: int) -> tuple[int, int, int, int]:
        """Of the background facts in which somebody else met this entity, the one that most often comes with r_q.

        Which relation it goes along and how far from t_q it is decide; there is one, see ``_told``.
        """
        base, relations = self._background.base, self._background.relations
        low, high = base.offsets[entity], base.offsets[entity + 1]
        edges = np.arange(low, high)[base.target[low:high] != asking]
        met_through = relations.inverse(base.relation[edges])
        gap = (now - base.time[edges]) * self._statistics.days_per_tick
        rate = self._statistics.excites[gap_buckets(gap), met_through, relation]
        edge = int(edges[np.lexsort((np.abs(gap), -rate))[0]])
        return int(base.target[edge]), int(relations.inverse(base.relation[edge])), entity, int(base.time[edge])

    def _walk(self, support: MetaSet, queries: Queries) -> tuple[ActionFeatures, LogProbs]:
        """All that can be done and how probable it is; of a single query the last is kept, to be explained next."""
        kept = self._kept
        if kept is not None and kept[0] is support and kept[1].asks_the_same(queries):
            return kept[2]
        if self._last is None or self._last[0] is not support:
            self._last = support, self._background.with_facts(support.facts)
        given = self._statistics, queries, self._size, self._shortlist, self._reader
        options = action_features(self._last[1], support, *given)
        with torch.no_grad():
            found = options, self._policy(options)
        self._kept = (support, queries, found) if len(queries) == 1 else None
        return found


@dataclass(frozen=True, eq=False)
class Walks:
    """Every way to end, by a walk or with the crowd, as flat columns."""

    query: NDArray[np.int64]
    shot: NDArray[np.int64]
    """Which fact of the support the walk begins with; -1 for the crowd."""
    column: NDArray[np.int64]
    """Which action it goes on with; 0 for stopping."""
    entity: Ids
    score: NDArray[np.float64]
    """Log-probability."""

    @classmethod
    def of(cls, options: ActionFeatures, mass: LogProbs) -> Walks:
        queries, shots = options.entity.shape
        query, shot = np.nonzero(options.known)
        state, column = np.nonzero(options.open[:, 1:] & options.known.reshape(-1, 1))
        column = column + 1
        owner = np.repeat(np.arange(queries), np.diff(options.crowd.offsets))
        nobody = np.full(len(owner), -1)
        return cls(
            np.concatenate([query, state // shots, owner]),
            np.concatenate([shot, state % shots, nobody]),
            np.concatenate([np.zeros_like(query), column, np.zeros_like(owner)]),
            np.concatenate([options.entity[query, shot], options.space.entity[state, column], options.crowd.entity]),
            np.concatenate(
                [
                    mass.stop.numpy()[query, shot],
                    mass.go.numpy().reshape(queries * shots, -1)[state, column],
                    mass.crowd.numpy(),
                ]
            ).astype(np.float64),
        )
