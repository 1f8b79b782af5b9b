"""A scorer that answers queries by beam search with a trained network."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from fitcarl.config.schema import FitcarlConfig
from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import MetaSet
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.fitcarl.beam import beam_search
from fitcarl.models.fitcarl.network import Fitcarl, TaskContext
from fitcarl.models.paths import best_paths_to, entity_scores, explanation_path
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


class FitcarlScorer:
    """Scores entities by beam search over the background and the support facts of a task."""

    def __init__(self, model: Fitcarl, background: TemporalGraph, config: FitcarlConfig, max_delta: int) -> None:
        self.name = f"fitcarl ({config.preset})"
        self._model = model
        self._background = background
        self._config = config
        self._max_delta = max_delta
        self._last: tuple[tuple[MetaSet, bool], TaskContext] | None = None

    def score(self, task: Task, queries: Queries) -> Scores:
        """Scores of the entities where the best paths of each query end."""
        context = self._encode_task(task)
        found = beam_search(self._model, context, queries, self._config.search.beam)
        return Scores.concat([entity_scores(paths, self._config.search.aggregate) for paths in found])

    def explain(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        limit: int = 3,
    ) -> list[list[ExplanationPath]]:
        """The most probable paths to each of several entities; the search runs once."""
        [paths] = beam_search(self._model, self._encode_task(task), query, self._config.search.beam)
        start = int(query.entity[0])
        return [
            [
                explanation_path(paths, 0, rank, start, vocabulary, calendar)
                for rank in best_paths_to(paths, 0, entity, limit)
            ]
            for entity in entities
        ]

    def _encode_task(self, task: Task) -> TaskContext:
        """The context of a task, kept for further calls with the same support set."""
        key = task.support, task.queries.limited
        if self._last is None or self._last[0][0] is not key[0] or self._last[0][1] != key[1]:
            with torch.no_grad():
                context = self._model.encode_task(
                    self._background, task.support, self._max_delta, self._config.seed, task.queries.limited
                )
                self._last = key, context
        return self._last[1]
