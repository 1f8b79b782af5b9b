"""Meta-validation during training."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fitcarl.config.base import Setting
from fitcarl.core.process_group import ONE_PROCESS, ProcessGroup
from fitcarl.data.dataset import Dataset
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import rank_task
from fitcarl.scoring.scorer import Scorer
from fitcarl.tasks.task import Task, official_task


@dataclass(frozen=True)
class Validation:
    """The official meta-validation task with its known answers."""

    task: Task
    known: KnownAnswers
    entities: int

    @classmethod
    def of(cls, dataset: Dataset, shots: int, setting: Setting = "completion") -> Validation:
        task = official_task(dataset.valid, shots, dataset.vocabulary.relation_ids, setting)
        return cls(task, KnownAnswers.of(dataset), len(dataset.vocabulary.entities))

    def mrr(self, scorer: Scorer, processes: ProcessGroup = ONE_PROCESS) -> float:
        """MRR with realistic ranks and the time-aware filter.

        Args:
            scorer: The scorer.
            processes: The processes that rank a shard of the queries each.
        """
        shard = processes.shard(len(self.task.queries))
        part = Task(self.task.support, self.task.queries.take(shard.rows))
        ranks = rank_task(scorer, part, self.known, self.entities).ranks["time-aware"]
        reciprocal = processes.gather(torch.from_numpy(1 / ranks.of("realistic")), shard)
        return float(reciprocal.numpy().mean())
