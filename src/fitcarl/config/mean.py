"""The settings of model ``mean``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fitcarl.config.aggregation import AggregationTrainingConfig, CandidateConfig
from fitcarl.config.base import Config, Section


class MeanNetworkConfig(Section):
    """The architecture of MEAN."""

    dim: int = Field(100, ge=1, le=16_384, description="d, numbers per vector")
    transition: Literal["linear", "projection"] = Field(
        "projection",
        description="how a neighbour's vector becomes a message: a matrix per relation, or a hyperplane per relation",
    )
    masked: bool = Field(
        True, description="mean over the neighbours; off counts empty slots up to 64, as the LAN authors' code does"
    )


class MeanTrainingConfig(AggregationTrainingConfig):
    """The training of MEAN."""


class MeanConfig(Config):
    """All settings of model ``mean``."""

    model: Literal["mean"] = Field("mean", description="the model")
    preset: str = Field("mean", description="the preset that the settings started from")
    network: MeanNetworkConfig = MeanNetworkConfig()
    candidates: CandidateConfig = CandidateConfig()
    training: MeanTrainingConfig = MeanTrainingConfig()

    @property
    def task_source(self) -> None:
        """MEAN is trained on facts."""
        return None
