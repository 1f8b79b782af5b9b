"""The settings of the factorization models: ``complex``, ``bique``, ``tntcomplex``, ``telm`` and ``tero``."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from fitcarl.config.base import Config, Section, TrainingConfig

Sees = Literal["paper", "support", "fold-in"]
"""What a transductive model sees of unseen entities; see ``FactorizationConfig.sees``."""


class RowConfig(Section):
    """The embedding tables."""

    dim: int = Field(200, ge=1, le=16_384, description="real numbers per entity")


class StaticRowConfig(RowConfig):
    """Tables of models without time."""

    init_std: float = Field(1e-3, gt=0, description="standard deviation of the initial embeddings")


class TemporalRowConfig(RowConfig):
    """Tables of models with one row per timestamp."""

    init_std: float = Field(1e-2, gt=0, description="standard deviation of the initial embeddings")


class FactTrainingConfig(TrainingConfig):
    """A training on facts: an episode is one mini-batch."""

    episodes: int = Field(3000, ge=1, description="maximum number of episodes (mini-batches)")
    learning_rate: float = Field(0.1, gt=0, description="learning rate of Adagrad")
    grad_clip: float = Field(0.0, ge=0, description="maximum norm of the gradient; 0 for no limit")
    validate_every: int = Field(100, ge=1, description="episodes between two validations on meta-validation")
    patience: int = Field(
        6, ge=0, description="validations without improvement after which training stops; 0 for never"
    )
    batch_size: int = Field(250, ge=1, le=10_000_000, description="queries per mini-batch, each with all its answers")


class SoftmaxTrainingConfig(FactTrainingConfig):
    """A training with cross-entropy over all entities."""

    negatives: int = Field(
        8192,
        ge=1,
        le=10_000_000,
        description="sampled candidates per mini-batch besides its answers; all entities if there are fewer",
    )
    n3_weight: float = Field(0.01, ge=0, description="λ, weight of the N3 regulariser (sum of cubed norms) per fact")


class TemporalTrainingConfig(SoftmaxTrainingConfig):
    """A training with cross-entropy and a regulariser of the rows of timestamps."""

    batch_size: int = Field(500, ge=1, le=10_000_000, description="queries per mini-batch, each with all its answers")
    negatives: int = Field(
        2048,
        ge=1,
        le=10_000_000,
        description="sampled candidates per mini-batch besides its answers; all entities if there are fewer",
    )
    smoothness_weight: float = Field(
        0.01, ge=0, description="μ, weight of the regulariser of differences between successive timestamps"
    )


class TelmTrainingConfig(TemporalTrainingConfig):
    """The two stages of TeLM."""

    n3_weight: float = Field(0.0075, ge=0, description="λ, weight of the N3 regulariser (sum of cubed norms) per fact")
    first_stage: int = Field(
        750, ge=0, description="episodes in which only the scalar and e12 blocks are trained, as in TComplEx"
    )

    @property
    def first_counted_episode(self) -> int:
        """Patience begins with the second stage, as in the authors' code."""
        return self.first_stage


class TeroTrainingConfig(FactTrainingConfig):
    """A training with sampled negatives."""

    batch_size: int = Field(512, ge=1, le=10_000_000, description="queries per mini-batch, each with all its answers")
    validate_every: int = Field(500, ge=1, description="episodes between two validations on meta-validation")
    patience: int = Field(
        3, ge=0, description="validations without improvement after which training stops; 0 for never"
    )
    negatives: int = Field(
        10, ge=2, multiple_of=2, le=10_000_000, description="corrupted facts per fact, half of them per side"
    )
    margin: float = Field(
        25.0, description="γ of the loss: distances below it count as close; they grow with the root of embedding.dim"
    )


class FoldInConfig(Section):
    """The row of an entity that was not trained, solved from its support facts."""

    steps: int = Field(
        20, ge=0, le=1_000_000, description="steps of Adagrad on the row of an unseen entity; 0 keeps the start row"
    )
    learning_rate: float = Field(0.1, gt=0, description="learning rate of these steps")


class FactorizationConfig(Config):
    """Settings that all factorization models have."""

    components: ClassVar[int] = 2
    """Real numbers per coordinate of an entity row."""

    sees: Sees = Field(
        "support",
        description="facts of unseen entities that are used: none (paper), the official support facts as training "
        "facts (support), or the support facts of a task, from which an entity's row is solved (fold-in)",
    )
    embedding: RowConfig = RowConfig()
    training: FactTrainingConfig = FactTrainingConfig()
    fold_in: FoldInConfig = FoldInConfig()

    @model_validator(mode="after")
    def _components_divide_dim(self) -> Self:
        if self.embedding.dim % self.components:
            raise ValueError(f"embedding.dim = {self.embedding.dim} is not a multiple of {self.components}")
        return self

    @property
    def task_source(self) -> None:
        """Facts, not tasks."""
        return None

    @property
    def official_supports_only(self) -> bool:
        return self.sees == "support"

    @property
    def side_information(self) -> dict[str, str]:
        return {"sees": self.sees}


class ComplexConfig(FactorizationConfig):
    """All settings of model ``complex``."""

    model: Literal["complex"] = Field("complex", description="the model")
    preset: str = Field("complex", description="the preset that the settings started from")
    embedding: StaticRowConfig = StaticRowConfig()
    training: SoftmaxTrainingConfig = SoftmaxTrainingConfig()


class BiqueConfig(FactorizationConfig):
    """All settings of model ``bique``."""

    components: ClassVar[int] = 8

    model: Literal["bique"] = Field("bique", description="the model")
    preset: str = Field("bique", description="the preset that the settings started from")
    embedding: StaticRowConfig = StaticRowConfig()
    training: SoftmaxTrainingConfig = SoftmaxTrainingConfig()


class TntComplexConfig(FactorizationConfig):
    """All settings of model ``tntcomplex``."""

    model: Literal["tntcomplex"] = Field("tntcomplex", description="the model")
    preset: str = Field("tntcomplex", description="the preset that the settings started from")
    embedding: TemporalRowConfig = TemporalRowConfig()
    training: TemporalTrainingConfig = TemporalTrainingConfig()


class TelmConfig(FactorizationConfig):
    """All settings of model ``telm``."""

    components: ClassVar[int] = 4

    model: Literal["telm"] = Field("telm", description="the model")
    preset: str = Field("telm", description="the preset that the settings started from")
    embedding: TemporalRowConfig = TemporalRowConfig()
    training: TelmTrainingConfig = TelmTrainingConfig()


class TeroConfig(FactorizationConfig):
    """All settings of model ``tero``."""

    model: Literal["tero"] = Field("tero", description="the model")
    preset: str = Field("tero", description="the preset that the settings started from")
    embedding: RowConfig = RowConfig()
    training: TeroTrainingConfig = TeroTrainingConfig()
