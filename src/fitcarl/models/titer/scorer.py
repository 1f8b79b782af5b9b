"""A scorer that answers queries by walks backwards in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import torch

from fitcarl.config.titer import TiterConfig
from fitcarl.core.arrays import offsets_of
from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import MetaSet
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.paths import best_paths_to, explanation_path
from fitcarl.models.titer.beam import KeptWalks, ranked_paths, search_walks
from fitcarl.models.titer.inductive_mean import InductiveMean
from fitcarl.models.titer.kernels import best_ends
from fitcarl.models.titer.policy import TiterPolicy
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


class TiterScorer:
    """Scores an entity by the log-probability of the best walk that ends there; others are not listed."""

    def __init__(self, policy: TiterPolicy, background: TemporalGraph, config: TiterConfig) -> None:
        self.name = config.preset
        self._policy, self._background, self._config = policy, background, config
        self._last: tuple[MetaSet, TemporalGraph] | None = None

    def score(self, task: Task, queries: Queries) -> Scores:
        """Scores of the entities where the walks of each query end."""
        parts = []
        for kept in self._search(task, queries):
            last = kept[-1]
            count, entity, score = best_ends(last.score, last.step.entity, self._background.entities)
            parts.append(Scores(offsets_of(count), entity, score))
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
        """The most probable walks to each of several entities; the search runs once."""
        [kept] = self._search(task, query)
        paths, start = ranked_paths(kept), int(query.entity[0])
        return [
            [
                explanation_path(paths, 0, rank, start, vocabulary, calendar)
                for rank in best_paths_to(paths, 0, entity, limit)
            ]
            for entity in entities
        ]

    @torch.no_grad()
    def _search(self, task: Task, queries: Queries) -> Iterator[list[KeptWalks]]:
        further, row = None, queries.entity
        if self._config.search.inductive_mean:
            own = self._policy.entity.detach()
            further, row = self._inductive_mean.shift(own, queries, self._config.search.inductive_share)
        entities = self._policy.entity_rows(further)
        graph = self._graph(task.support)
        return search_walks(self._policy, entities, graph, queries, row, self._config.search.beam)

    @cached_property
    def _inductive_mean(self) -> InductiveMean:
        return InductiveMean.of(self._background, self._policy.entity.detach())

    def _graph(self, support: MetaSet) -> TemporalGraph:
        """The background with the support facts of a task, kept for further calls with the same support set."""
        if self._last is None or self._last[0] is not support:
            self._last = support, self._background.with_facts(support.facts)
        return self._last[1]
