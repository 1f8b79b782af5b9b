"""How ComplEx is trained."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from fitcarl.config import EmbeddingConfig


class ComplexConfig(EmbeddingConfig):
    """The settings of a run's embeddings, and those of their training."""

    epochs: int = Field(12, ge=1, description="how often every background fact is seen")
    least_steps: int = Field(500, ge=1, description="updates at least; small graphs get more epochs")
    batch: int = Field(500, ge=1, description="(entity, relation) pairs per update, each with all its answers")
    negatives: int = Field(
        8192, ge=1, description="entities a batch is compared with besides its own; all of them where they are no more"
    )
    rate: float = Field(0.1, gt=0, description="Adagrad's learning rate")
    regularizer: float = Field(0.005, ge=0, description="weight of N3, the sum of cubed moduli, per fact")
    deviation: float = Field(0.1, gt=0, description="standard deviation of the first, random rows")

    @classmethod
    def completing(cls, config: EmbeddingConfig) -> Self:
        """A run's embedding settings, with the defaults above for what they do not say."""
        return config if isinstance(config, cls) else cls.model_validate(config.model_dump())
