"""The trained model as a scorer like any other."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from fitcarl.config.schema import Config
from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import MetaSet
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.fitcarl.beam import answers_of, beam_search
from fitcarl.models.fitcarl.explanation import path_of, paths_to
from fitcarl.models.fitcarl.network import Fitcarl, Scene
from fitcarl.scoring.path import Path
from fitcarl.scoring.scores import Answers
from fitcarl.tasks.task import Queries, Task


class FitcarlScorer:
    """Answers by beam search over the background and a task's supports."""

    def __init__(self, model: Fitcarl, background: TemporalGraph, config: Config, reach: int) -> None:
        self.name = f"fitcarl ({config.preset})"
        self._model = model
        self._background = background
        self._config = config
        self._reach = reach
        self._last: tuple[MetaSet, Scene] | None = None

    def answer(self, task: Task, queries: Queries) -> Answers:
        """Entities that the agent's best paths end at."""
        scene = self._scene(task.support)
        found = beam_search(self._model, scene, queries, self._config.search.beam)
        return Answers.concat([answers_of(paths, self._config.search.aggregate) for paths in found])

    def explain(
        self, task: Task, query: Queries, entity: int, vocabulary: Vocabulary, calendar: Calendar, most: int = 3
    ) -> list[Path]:
        """The most probable paths of one query that end at an entity, best first."""
        return self.explain_all(task, query, [entity], vocabulary, calendar, most)[0]

    def explain_all(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        most: int = 3,
    ) -> list[list[Path]]:
        """The same for several entities; the search is made once."""
        [paths] = beam_search(self._model, self._scene(task.support), query, self._config.search.beam)
        start = int(query.entity[0])
        return [
            [path_of(paths, 0, place, start, vocabulary, calendar) for place in paths_to(paths, 0, entity, most)]
            for entity in entities
        ]

    def _scene(self, support: MetaSet) -> Scene:
        """Chunks of one task share a scene."""
        if self._last is None or self._last[0] is not support:
            with torch.no_grad():
                self._last = support, self._model.scene(self._background, support, self._reach, self._config.seed)
        return self._last[1]
