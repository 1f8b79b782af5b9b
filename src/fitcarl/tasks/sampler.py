"""Training tasks: from the meta-train split, from pseudo-unseen background entities, or from both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fitcarl.config.base import Setting
from fitcarl.config.schema import Config
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.pseudo_unseen import PseudoUnseen, facts_without, hidden_facts, select_pseudo_unseen
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.tasks.task import Task, official_task, sampled_task

_KEPT_FOLDS = 4
"""Number of folds whose hidden facts are cached; those of other folds are found again."""

_SMALL_SHARE = 0.02
"""Share of the facts up to which all pseudo-unseen entities are held out at once."""


@dataclass(frozen=True)
class SampledTask:
    """A training task and the fold that is held out of its background."""

    task: Task
    fold: int | None
    """The fold whose entities are held out of the background; None for the whole background."""


class TaskSampler:
    """Training tasks by episode: the same seed and episode give the same task, regardless of earlier calls."""

    def __init__(self, dataset: Dataset, config: Config) -> None:
        """Selects the pseudo-unseen entities, if any.

        Raises:
            InputError: If there is no entity to learn from.
        """
        self._dataset, self._config = dataset, config
        self._hidden = lru_cache(_KEPT_FOLDS)(self._hidden_facts)
        self.pseudo_unseen: PseudoUnseen | None = None
        relations = dataset.vocabulary.relation_ids
        from_meta_train = config.task_source in ("meta", "both")
        official = official_task(dataset.train, config.shots, relations, config.setting)
        if from_meta_train and not len(official.queries):
            pseudo = ", or --set training.tasks=pseudo" if "pseudo" in config.task_sources else ""
            raise InputError(
                f"no meta-train entity has more than {config.shots} facts",
                file=dataset.name,
                expected="more facts" + pseudo,
            )
        if config.task_source in ("pseudo", "both"):
            groups = select_pseudo_unseen(
                dataset.background,
                len(dataset.vocabulary.entities),
                config.shots,
                np.random.default_rng([config.seed, 0]),
                groups=config.folds,
                name=dataset.name,
            )
            self.pseudo_unseen = groups.merged(len(dataset.background), _SMALL_SHARE)

    @property
    def always_visible_facts(self) -> Quadruples:
        """Background facts without any entity that is pseudo-unseen in some episode."""
        facts = self._dataset.background
        groups = self.pseudo_unseen.groups if self.pseudo_unseen is not None else ()
        held_out = np.concatenate([np.empty(0, dtype=np.int32), *groups])
        return facts_without(facts, held_out, len(self._dataset.vocabulary.entities))

    def sample(self, episode: int) -> SampledTask:
        """The task of an episode; empty if the model is not trained on tasks."""
        if self._config.task_source is None:
            return SampledTask(Task.empty(), None)
        seed, relations = self._config.seed, self._dataset.vocabulary.relation_ids
        fold = self._fold(np.random.default_rng([seed, episode, 1]))
        meta = self._dataset.train if fold is None else self._hidden(fold)
        rng, queries = np.random.default_rng([seed, episode]), self._config.queries_per_entity
        task = sampled_task(meta, self._config.shots, relations, rng, queries, self._setting(episode))
        return SampledTask(task, fold)

    def background(self, fold: int) -> TemporalGraph:
        """The background graph without the entities of a fold."""
        assert self.pseudo_unseen is not None
        names, group = self._dataset.vocabulary, self.pseudo_unseen.groups[fold]
        facts = facts_without(self._dataset.background, group, len(names.entities))
        return TemporalGraph.from_facts(facts, len(names.entities), names.relation_ids)

    def _setting(self, episode: int) -> Setting:
        """The setting of the model or, for a share of the tasks of a model for forecasts, completion."""
        share = self._config.completion_share
        drawn = share > 0 and np.random.default_rng([self._config.seed, episode, 2]).random() < share
        return "completion" if drawn else self._config.setting

    def _fold(self, rng: np.random.Generator) -> int | None:
        """None (the meta-train split) or a fold; each source half of the time if there are both."""
        if self.pseudo_unseen is None or (self._config.task_source == "both" and rng.random() < 0.5):
            return None
        return int(rng.integers(len(self.pseudo_unseen.groups)))

    def _hidden_facts(self, fold: int) -> MetaSet:
        assert self.pseudo_unseen is not None
        rng = np.random.default_rng([self._config.seed, 0, 1 + fold])
        entities = len(self._dataset.vocabulary.entities)
        return hidden_facts(self._dataset.background, self.pseudo_unseen.groups[fold], entities, rng)
