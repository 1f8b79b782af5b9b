"""Settings that the models trained on few-shot tasks with a margin ranking loss have in common."""

from __future__ import annotations

from pydantic import Field

from fitcarl.config.base import TaskTrainingConfig


class RankingTrainingConfig(TaskTrainingConfig):
    """A training that ranks the answer of each query above sampled negatives."""

    queries_per_entity: int = Field(
        0, ge=0, description="queries sampled per unseen entity of a training task; 0 for all"
    )
    grad_clip: float = Field(1.0, ge=0, description="maximum norm of the gradient; 0 for no limit")
    entities_per_task: int = Field(
        100, ge=1, le=10_000_000, description="unseen entities of a training task; all if there are fewer"
    )
    negatives: int = Field(32, ge=1, le=10_000_000, description="sampled negatives per query")
    margin: float = Field(1.0, gt=0, description="how far the answer should score above each negative")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout of the embedding of an unseen entity")
