"""Model ``plus`` as a scorer: scores are sums over paths and candidates, and the best paths explain them."""

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
from fitcarl.graph.kernels import count_visible, visible_edges
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.action_features import ActionFeatures, action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.network import EncoderScorer
from fitcarl.models.plus.gaps import gap_buckets
from fitcarl.models.plus.policy import LogProbs, PlusPolicy
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.timeline import Timeline
from fitcarl.scoring.path import ExplanationPath, make_step
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_MAX_ROWS = 300_000
"""Actions and candidates whose features are held at once, about 600 bytes each; bounds memory."""
_MIN_SCORE = 1e-300
"""Added before the logarithm of a sum of probabilities."""


class PlusScorer:
    """Scores entities by the log-probability that the policy ends at them."""

    def __init__(
        self,
        policy: PlusPolicy,
        background: TemporalGraph,
        timeline: Timeline,
        action_count: int,
        shortlist: int,
        encoder_scorer: EncoderScorer | None = None,
        label: str = "plus",
        reach: ReachNetwork | None = None,
    ) -> None:
        """Wraps trained parts.

        Args:
            policy: The trained policy.
            background: The graph to answer on.
            timeline: Statistics of that graph, as known at any time.
            action_count: Edges per second hop, nearest in time to t_q.
            shortlist: Candidates per query that get features.
            encoder_scorer: Scores of the encoder, if there is one.
            label: What the name of the scorer shows in brackets.
            reach: The reach network, if there is one.
        """
        self.name = f"fitcarl ({label})"
        self._policy = policy
        self._background = background
        self._timeline = timeline
        self._action_count = action_count
        self._shortlist = Shortlist(shortlist)
        self._encoder_scorer, self._reach = encoder_scorer, reach
        self._last_graph: tuple[MetaSet, TemporalGraph] | None = None
        self._last_query: tuple[MetaSet, Queries, tuple[ActionFeatures, LogProbs]] | None = None

    def score(self, task: Task, queries: Queries) -> Scores:
        """Every entity at which a path or a candidate ends, with the log of its total probability."""
        groups = list(self._timeline.groups(queries))
        if len(groups) == 1:
            return self._score(task, queries)
        parts = [self._score(task, queries.take(chosen)) for _, chosen in groups]
        return Scores.concat(parts).reordered(np.concatenate([np.empty(0, np.int64), *(part for _, part in groups)]))

    def _score(self, task: Task, queries: Queries) -> Scores:
        """The scores of queries that use the same statistics."""
        parts = []
        encoder_cost = self._background.entities // 20 if self._encoder_scorer is not None else 0
        cost = np.full(len(queries), self._shortlist.size + 4 * self._action_count + encoder_cost)
        for piece in batches(cost, _MAX_ROWS):
            part = queries.take(piece)
            ends = Outcomes.from_policy(*self._evaluate(task.support, part))
            summed = Scores.summed(ends.query, ends.entity, np.exp(ends.score), len(part), self._background.entities)
            parts.append(Scores(summed.offsets, summed.entity, np.log(np.maximum(summed.score, _MIN_SCORE))))
        return Scores.concat(parts)

    def explain(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        limit: int = 3,
    ) -> list[list[ExplanationPath]]:
        """The most probable paths to each entity, best first, then a context fact; the policy is evaluated once."""
        actions, log_probs = self._evaluate(task.support, query)
        ends = Outcomes.from_policy(actions, log_probs)
        explainable = self._explainable(ends, int(query.entity[0]), int(query.visible_before[0]))
        order = np.lexsort((-ends.score, ends.shot < 0))
        order = order[explainable[order]]
        ordered = ends.entity[order]
        return [
            [
                self._path(actions, log_probs, query, ends, int(index), vocabulary, calendar)
                for index in order[ordered == entity][:limit]
            ]
            for entity in entities
        ]

    def _explainable(self, ends: Outcomes, query_entity: int, before: int) -> NDArray[np.bool_]:
        """Which outcomes can be shown as facts: paths, and candidates with a visible fact without the query entity."""
        base = self._background.base
        low, high = visible_edges(base.columns, query_entity, before)
        own = base.target[low:high]
        facts = count_visible(base.columns, ends.entity, np.full(len(ends.entity), before, dtype=np.int32))
        facts -= np.bincount(own, minlength=len(base.offsets))[ends.entity]
        explainable: NDArray[np.bool_] = (ends.shot >= 0) | (facts > 0)
        return explainable

    def _path(
        self,
        actions: ActionFeatures,
        log_probs: LogProbs,
        query: Queries,
        ends: Outcomes,
        index: int,
        vocabulary: Vocabulary,
        calendar: Calendar,
    ) -> ExplanationPath:
        start, end, score = int(query.entity[0]), int(ends.entity[index]), float(ends.score[index])
        shot, column = int(ends.shot[index]), int(ends.column[index])
        hops: list[tuple[int, int, int, int]] = []
        if shot < 0:
            hops.append(self._context_fact(query, end))
        else:
            middle = int(actions.entity[0, shot])
            hops.append((start, int(actions.relation[0, shot]), middle, int(actions.time[0, shot])))
            if column > 0:
                space = actions.space
                hops.append((middle, int(space.relation[shot, column]), end, int(space.time[shot, column])))
        # The probabilities of the first and of the second choice; stopping only counts in the probability of the path.
        start_score = float(log_probs.start[0, shot])
        chances = [math.exp(start_score)] + [math.exp(score - start_score)] * (len(hops) - 1)
        if shot < 0:
            chances = [math.exp(score)]
        steps = [make_step(*hop, chance, None, vocabulary, calendar) for hop, chance in zip(hops, chances, strict=True)]
        names = vocabulary.entities
        return ExplanationPath(names[start], names[end], score, tuple(steps), is_context=shot < 0)

    def _context_fact(self, query: Queries, entity: int) -> tuple[int, int, int, int]:
        """The visible background fact of a candidate, without the query entity, that excites r_q most at t_q.

        It is chosen by its relation and its gap to t_q; ``_explainable`` ensures that there is one.
        """
        before = int(query.visible_before[0])
        base, relations, statistics = self._background.base, self._background.relations, self._timeline.at(before)
        low, high = visible_edges(base.columns, entity, before)
        edges = np.arange(low, high)[base.target[low:high] != query.entity[0]]
        direct = relations.inverse(base.relation[edges])
        gap = (query.time[0] - base.time[edges]) * statistics.days_per_tick
        rate = statistics.excitation[gap_buckets(gap), direct, query.relation[0]]
        edge = int(edges[np.lexsort((np.abs(gap), -rate))[0]])
        return int(base.target[edge]), int(relations.inverse(base.relation[edge])), entity, int(base.time[edge])

    def _evaluate(self, support: MetaSet, queries: Queries) -> tuple[ActionFeatures, LogProbs]:
        """Actions and log-probabilities; those of the last single query are kept, since an explanation may follow."""
        last = self._last_query
        if last is not None and last[0] is support and last[1].asks_the_same(queries):
            return last[2]
        if self._last_graph is None or self._last_graph[0] is not support:
            self._last_graph = support, self._background.with_facts(support.facts)
        [(statistics, _)] = self._timeline.groups(queries)
        arguments = statistics, queries, self._action_count, self._shortlist, self._encoder_scorer, self._reach
        actions = action_features(self._last_graph[1], support, *arguments)
        with torch.no_grad():
            found = actions, self._policy(actions)
        self._last_query = (support, queries, found) if len(queries) == 1 else None
        return found


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Every outcome of a batch of queries, by a path or by a candidate, as flat columns."""

    query: NDArray[np.int64]
    shot: NDArray[np.int64]
    """The support fact of the first hop; -1 for a candidate without a path."""
    column: NDArray[np.int64]
    """The action of the second hop; 0 for stopping."""
    entity: Ids
    score: NDArray[np.float64]
    """Log-probability."""

    @classmethod
    def from_policy(cls, actions: ActionFeatures, log_probs: LogProbs) -> Outcomes:
        """The outcomes of a batch with their log-probabilities."""
        queries, shots = actions.entity.shape
        query, shot = np.nonzero(actions.known)
        state, column = np.nonzero(actions.allowed[:, 1:] & actions.known.reshape(-1, 1))
        column = column + 1
        of_candidate = np.repeat(np.arange(queries), np.diff(actions.candidates.offsets))
        no_shot = np.full(len(of_candidate), -1)
        ends = actions.entity[query, shot], actions.space.entity[state, column], actions.candidates.entity
        return cls(
            np.concatenate([query, state // shots, of_candidate]),
            np.concatenate([shot, state % shots, no_shot]),
            np.concatenate([np.zeros_like(query), column, np.zeros_like(of_candidate)]),
            np.concatenate(ends),
            np.concatenate(
                [
                    log_probs.stop.numpy()[query, shot],
                    log_probs.second_hop.numpy().reshape(queries * shots, -1)[state, column],
                    log_probs.candidates.numpy(),
                ]
            ).astype(np.float64),
        )
