"""The settings of model ``filt``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fitcarl.config.base import Config, Section
from fitcarl.config.fitcarl import EmbeddingConfig
from fitcarl.config.meta_learned import RankingTrainingConfig


class FiltNetworkConfig(Section):
    """The architecture."""

    concepts: bool = Field(True, description="the concept part; it is left out of data without concepts too")
    concepts_every: int = Field(
        5, ge=1, description="episodes between two computations of the concept embeddings, which use all entities"
    )


class FiltTrainingConfig(RankingTrainingConfig):
    """The training loop."""

    episodes: int = Field(5000, ge=1, description="maximum number of episodes (training tasks)")
    validate_every: int = Field(200, ge=1, description="episodes between two validations on meta-validation")


class FiltConfig(Config):
    """All settings of model ``filt``; the defaults are those of the publication, with fewer training steps."""

    model: Literal["filt"] = Field("filt", description="the model")
    preset: str = Field("filt", description="the preset that the settings started from")
    network: FiltNetworkConfig = FiltNetworkConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    training: FiltTrainingConfig = FiltTrainingConfig()
