"""Where training tasks come from: the meta-train split, known entities that play pseudo_unseen, or both in turn."""

from __future__ import annotations

from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from fitcarl.config.schema import Config
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.pseudo_unseen import PseudoUnseen, hold_out_entities, select_pseudo_unseen
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.tasks.task import Task, official_task, sampled_task

_KEPT = 4
"""Groups whose counts are kept; with more of them, counting is repeated."""
_META = -1


class RefittableModel(Protocol):
    """What the sampler needs of a model."""

    def refit_statistics(self, graph: TemporalGraph) -> Self:
        """The same weights with every statistic computed on another graph."""
        ...


A = TypeVar("A", bound=RefittableModel)


class TaskSampler(Generic[A]):
    """Tasks by episode: the same seed and episode give the same task, whatever was drawn before."""

    def __init__(self, dataset: Dataset, config: Config) -> None:
        """Raises an InputError where there is nobody to learn from; nothing is counted before it is needed."""
        self._dataset, self._config = dataset, config
        self._kept: dict[int, tuple[A, MetaSet]] = {}
        meta = config.training.tasks in ("meta", "both")
        if meta and not len(official_task(dataset.train, config.shots, dataset.vocabulary.relation_ids).queries):
            other = "more facts" if config.model == "fitcarl" else "more facts, or --set training.tasks=pseudo"
            raise InputError(
                f"no meta-train entity has more than {config.shots} facts", file=dataset.name, expected=other
            )
        self.pseudo_unseen = None if config.training.tasks == "meta" else self._select()

    @property
    def always_visible_facts(self) -> Quadruples:
        """Facts of the background in which nobody is who plays a newcomer in some episode."""
        facts = self._dataset.background
        groups = self.pseudo_unseen.groups if self.pseudo_unseen is not None else ()
        plays = np.zeros(len(self._dataset.vocabulary.entities), dtype=np.bool_)
        plays[np.concatenate([np.empty(0, dtype=np.int32), *groups])] = True
        return facts.take(~(plays[facts.subject] | plays[facts.object]))

    def sample(self, agent: A, episode: int) -> tuple[A, Task]:
        """The task of an episode, and the agent in the context in which it is to be played."""
        seed, training = self._config.seed, self._config.training
        source = self._source(np.random.default_rng([seed, episode, 1]))
        player, meta = (agent, self._dataset.train) if source == _META else self._hidden(agent, source)
        rng = np.random.default_rng([seed, episode])
        relations = self._dataset.vocabulary.relation_ids
        return player, sampled_task(meta, self._config.shots, relations, rng, training.queries_per_entity)

    def _source(self, rng: np.random.Generator) -> int:
        """Meta-train or the number of a group; where there is both, each kind half the time."""
        if self.pseudo_unseen is None or (self._config.training.tasks == "both" and rng.random() < 0.5):
            return _META
        return int(rng.integers(len(self.pseudo_unseen.groups)))

    def _hidden(self, agent: A, number: int) -> tuple[A, MetaSet]:
        """The agent where a group is unseen, with everything counted without it, and the group's facts."""
        found = self._kept.pop(number, None) or self._without(agent, number)
        self._kept[number] = found  # last in line
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    def _without(self, agent: A, number: int) -> tuple[A, MetaSet]:
        assert self.pseudo_unseen is not None
        names, rng = self._dataset.vocabulary, np.random.default_rng([self._config.seed, 0, 1 + number])
        fold = hold_out_entities(self._dataset.background, self.pseudo_unseen.groups[number], len(names.entities), rng)
        graph = TemporalGraph.from_facts(fold.background, len(names.entities), names.relation_ids)
        return agent.refit_statistics(graph), fold.hidden

    def _select(self) -> PseudoUnseen:
        return select_pseudo_unseen(
            self._dataset.background,
            len(self._dataset.vocabulary.entities),
            self._config.shots,
            np.random.default_rng([self._config.seed, 0]),
            groups=self._config.training.folds,
            name=self._dataset.name,
        )
