"""The model with the entities of a fold held out."""

from __future__ import annotations

from functools import lru_cache

from fitcarl.core.memory import release_memory
from fitcarl.core.stages import stage
from fitcarl.models.base import TrainableModel
from fitcarl.tasks.sampler import TaskSampler

_KEPT = 4
"""Refitted models kept in memory; with more folds, some are refitted again."""


class FoldModels:
    """The same weights on the whole background and on the background of each fold."""

    def __init__(self, model: TrainableModel, sampler: TaskSampler) -> None:
        self._model = model
        self._refit = lru_cache(_KEPT)(lambda fold: _refit(model, sampler, fold))

    def model_for(self, fold: int | None) -> TrainableModel:
        """The model whose statistics were computed without the entities of the fold; None is the whole background."""
        return self._model if fold is None else self._refit(fold)


def _refit(model: TrainableModel, sampler: TaskSampler, fold: int) -> TrainableModel:
    with stage("folds"):
        refitted = model.refit_statistics(sampler.background(fold))
        release_memory()
        return refitted
