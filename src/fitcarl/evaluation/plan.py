"""What an evaluation ranks: the tasks of a split over all draws of supports, and the report on their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fitcarl.config.base import Setting
from fitcarl.data.dataset import Dataset, MetaSet, Split
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.report import Report
from fitcarl.evaluation.signature import Signature
from fitcarl.evaluation.slices import slices
from fitcarl.tasks.task import Task, official_task, sampled_task


@dataclass(frozen=True, eq=False)
class EvaluationPlan:
    """The tasks of an evaluation."""

    dataset: Dataset
    split: Split
    shots: int
    setting: Setting
    seed: int
    """Seed of the resampled supports and of the bootstrap."""
    tasks: tuple[Task, ...]
    """The task with the official supports first, then those with resampled ones."""

    @property
    def entities(self) -> int:
        """|E|; all entities are candidates."""
        return len(self.dataset.vocabulary.entities)

    @property
    def query_counts(self) -> list[int]:
        """The number of queries of each task."""
        return [len(task.queries) for task in self.tasks]

    def report(
        self,
        scorer: str,
        draws: Sequence[Draw],
        *,
        peak_mb: float,
        seeds: int = 1,
        extra: Mapping[str, str] | None = None,
        calibration: Calibration | None = None,
    ) -> Report:
        """The report on the ranks of all tasks.

        Args:
            scorer: Name of the scorer.
            draws: The ranks of each task.
            peak_mb: Peak resident memory of the ranking.
            seeds: Training runs behind the scorer.
            extra: Further entries of the signature.
            calibration: Converts scores to shares.
        """
        return Report(
            scorer=scorer,
            signature=Signature(
                ranks="realistic",
                filter="time-aware",
                split=self.split,
                setting=self.setting,
                shots=self.shots,
                draws=len(self.tasks) - 1,
                seeds=seeds,
                data=self.dataset.name,
                digest=self.dataset.digest,
                extra=tuple((extra or {}).items()),
            ),
            entities=self.entities,
            draws=tuple(draws),
            slices=slices(self.tasks[0], self.dataset.vocabulary.relation_ids, self.dataset.calendar),
            peak_mb=peak_mb,
            seed=self.seed,
            calibration=calibration,
        )


def plan_evaluation(
    dataset: Dataset, split: Split, shots: int, setting: Setting, draws: int = 0, seed: int = 0
) -> EvaluationPlan:
    """The tasks of an evaluation.

    Args:
        dataset: The dataset.
        split: The group of unseen entities.
        shots: Support facts per unseen entity (K).
        setting: What the queries may use.
        draws: Resampled supports in addition to the official ones.
        seed: Seed of the resampled supports and of the bootstrap.

    Raises:
        InputError: If the dataset has no query at this number of shots.
    """
    meta = dataset.meta(split)
    if shots < 1:
        raise InputError("too few shots", field="shots", found=shots, expected="at least 1")
    tasks = draw_tasks(meta, shots, dataset.vocabulary.relation_ids, draws, seed, setting)
    if not len(tasks[0].queries):
        raise InputError(
            f"{dataset.name} has no query at {shots} shots",
            field=f"meta_{split}",
            found=f"{len(meta.entities)} entities",
            expected=f"at least one entity with more than {shots} facts",
        )
    return EvaluationPlan(dataset, split, shots, setting, seed, tuple(tasks))


def draw_tasks(
    meta: MetaSet, shots: int, relations: RelationIds, draws: int, seed: int, setting: Setting = "completion"
) -> list[Task]:
    """The task with the official supports, then ``draws`` tasks with random supports."""
    # Each draw has its own stream, so that draw 3 is the same for 4 and for 40 draws.
    streams = [np.random.default_rng([seed, number]) for number in range(1, draws + 1)]
    sampled = (sampled_task(meta, shots, relations, rng, setting=setting) for rng in streams)
    return [official_task(meta, shots, relations, setting), *sampled]
