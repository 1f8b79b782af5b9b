"""The settings of model ``gen``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fitcarl.config.base import Config, Section
from fitcarl.config.fitcarl import EmbeddingConfig
from fitcarl.config.meta_learned import RankingTrainingConfig


class GenNetworkConfig(Section):
    """The architecture."""

    bases: int = Field(100, ge=1, le=65_536, description="basis matrices that the matrix of each relation is a sum of")
    transductive: bool = Field(
        False, description="T-GEN: unseen entities of a task also see each other; off is I-GEN, which embeds each alone"
    )


class GenTrainingConfig(RankingTrainingConfig):
    """The training loop."""

    episodes: int = Field(4000, ge=1, description="maximum number of episodes (training tasks)")
    validate_every: int = Field(200, ge=1, description="episodes between two validations on meta-validation")
    start_shots: int = Field(
        10,
        ge=0,
        le=10_000,
        description="support facts per unseen entity in the first episodes; one less whenever the number of episodes "
        "doubles, until there are K; 0 for always K",
    )


class GenConfig(Config):
    """All settings of model ``gen``; the defaults are those of the publication, with fewer training steps."""

    model: Literal["gen"] = Field("gen", description="the model")
    preset: str = Field("gen", description="the preset that the settings started from")
    network: GenNetworkConfig = GenNetworkConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    training: GenTrainingConfig = GenTrainingConfig()
