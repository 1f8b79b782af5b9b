"""Settings that MEAN and LAN have in common."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fitcarl.config.base import TrainingConfig


class AggregationTrainingConfig(TrainingConfig):
    """The training loop on mini-batches of triples."""

    batch_size: int = Field(1024, ge=1, description="distinct triples (facts without time) per episode")
    negatives: int = Field(1, ge=1, description="corrupted triples per triple")
    corrupt: Literal["uniform", "slot"] = Field(
        "uniform",
        description="which entities replace one: any, or those that some fact of the relation has in the same place",
    )
    margin: float = Field(1.0, gt=0, description="margin between the distances of a triple and of a corrupted one")
    neighbours: int = Field(16, ge=1, description="neighbours of an entity that are sampled for each triple")
    leave_target_out: bool = Field(False, description="do not show an entity the triple that it is trained on")
    input_loss_weight: float = Field(
        1.0, ge=0, description="weight of the same loss on the input vectors of the entities"
    )
