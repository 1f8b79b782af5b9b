"""The settings of model ``lan``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fitcarl.config.aggregation import AggregationTrainingConfig, CandidateConfig
from fitcarl.config.base import Config, Section


class LanNetworkConfig(Section):
    """The architecture of LAN."""

    dim: int = Field(100, ge=1, le=16_384, description="d, numbers per vector")


class LanTrainingConfig(AggregationTrainingConfig):
    """The training of LAN."""

    negatives: int = Field(32, ge=1, le=10_000_000, description="corrupted triples per triple")


class LanConfig(Config):
    """All settings of model ``lan``."""

    model: Literal["lan"] = Field("lan", description="the model")
    preset: str = Field("lan", description="the preset that the settings started from")
    network: LanNetworkConfig = LanNetworkConfig()
    candidates: CandidateConfig = CandidateConfig()
    training: LanTrainingConfig = LanTrainingConfig()

    @property
    def task_source(self) -> None:
        """LAN is trained on facts."""
        return None
