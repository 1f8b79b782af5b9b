"""Settings that MEAN and LAN have in common."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fitcarl.config.base import Section, TrainingConfig


class CandidateConfig(Section):
    """Which entities are candidates, and which vectors they have."""

    vectors: Literal["input", "output"] = Field(
        "output",
        description="vectors of candidates: aggregated from their neighbours as in the publications, or input rows",
    )
    query_entity: bool = Field(
        True, description="list the query entity as a candidate answer of its own queries, as all entities are"
    )


class AggregationTrainingConfig(TrainingConfig):
    """The training loop on mini-batches of triples."""

    episodes: int = Field(2000, ge=1, description="maximum number of episodes (mini-batches)")
    learning_rate: float = Field(1e-2, gt=0, description="learning rate of Adam")
    validate_every: int = Field(100, ge=1, description="episodes between two validations on meta-validation")
    patience: int = Field(
        3, ge=0, description="validations without improvement after which training stops; 0 for never"
    )

    batch_size: int = Field(1024, ge=1, le=10_000_000, description="distinct triples (facts without time) per episode")
    negatives: int = Field(64, ge=1, le=10_000_000, description="corrupted triples per triple")
    corrupt: Literal["uniform", "shared", "slot"] = Field(
        "shared",
        description="which entities replace one: any, any but the same ones for all triples of a mini-batch with the "
        "same relation, or those that some fact of the relation has in the same place",
    )
    margin: float = Field(1.0, gt=0, description="margin between the distances of a triple and of a corrupted one")
    neighbours: int = Field(
        16, ge=1, le=100_000, description="neighbours of an entity that are sampled for each triple"
    )
    leave_target_out: bool = Field(False, description="do not show an entity the triple that it is trained on")
    input_loss_weight: float = Field(
        1.0, ge=0, description="weight of the same loss on the input vectors of the entities"
    )
