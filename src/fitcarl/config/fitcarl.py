"""The settings of model ``fitcarl``, the model of the paper."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from fitcarl.config.base import Config, Section, TaskTrainingConfig


class NetworkConfig(Section):
    """The architecture."""

    heads: int = Field(2, ge=1, le=1_024, description="attention heads of the time-aware Transformer")
    layers: int = Field(2, ge=1, le=256, description="layers of the time-aware Transformer")
    feedforward: int = Field(200, ge=1, le=65_536, description="width of the Transformer's feed-forward layers")
    attention_scale: Literal["head", "model"] = Field(
        "head", description="scale of attention scores: 1/√(d / heads), as usual, or 1/√d, as printed in the paper"
    )
    hops: int = Field(3, ge=1, le=64, description="L, steps of a path")
    action_space: int = Field(50, ge=1, le=100_000, description="n, edges in an action space besides the self-loop")
    sampling: Literal["adaptive", "random", "nearest"] = Field(
        "adaptive",
        description="which edges are in an action space: by time score, random (ablation A1) or nearest in time (A2)",
    )
    policy: Literal["softmax", "product"] = Field(
        "softmax",
        description="π from P and the confidence: softmax(P · conf), as in the paper, or P · conf / Σ (P · conf)",
    )
    self_loop_history: bool = Field(True, description="a self-loop updates the search history like any other step")
    confidence: bool = Field(True, description="the confidence learner; off is ablation B")
    concepts: bool = Field(True, description="the concept regulariser; off is ablation C")
    time_bias: bool = Field(True, description="time differences in the Transformer's attention; off is ablation D")
    temporal: bool = Field(True, description="any temporal reasoning at all; off is ablation E")
    finetune: bool = Field(False, description="train the pre-trained embeddings further")

    @property
    def biased(self) -> bool:
        """Whether the Transformer's attention uses time differences; ablation E removes them too."""
        return self.time_bias and self.temporal


class EmbeddingConfig(Section):
    """Pre-training of the ComplEx embeddings."""

    dim: int = Field(100, ge=2, multiple_of=2, le=16_384, description="d, real numbers per embedding")
    epochs: int = Field(12, ge=1, description="passes over the background facts")
    min_updates: int = Field(1000, ge=1, description="minimum number of updates; small graphs get more epochs")
    batch_size: int = Field(
        500, ge=1, le=10_000_000, description="(entity, relation) pairs per update, each with all its answers"
    )
    negatives: int = Field(
        8192, ge=1, le=10_000_000, description="sampled negatives per batch; all entities if there are fewer"
    )
    learning_rate: float = Field(0.1, gt=0, description="learning rate of Adagrad")
    n3_weight: float = Field(0.005, ge=0, description="weight of the N3 regulariser (sum of cubed moduli) per fact")
    init_std: float = Field(0.1, gt=0, description="standard deviation of the initial embeddings")


class FitcarlTrainingConfig(TaskTrainingConfig):
    """The training loop with REINFORCE."""

    gamma: float = Field(0.95, ge=0, le=1, description="γ, the discount per step")
    discount_loss: bool = Field(True, description="the loss of step l is multiplied by γˡ, as in Eq. 12")
    kl_weight: float = Field(1e-9, ge=0, description="η, the weight of the concept regulariser")
    reward_margin: float = Field(5.0, description="θ of the reward sigmoid(θ - distance to the answer)")
    reward: Literal["step", "return"] = Field(
        "step", description="weight of a step: its own reward, as in the paper, or the discounted return"
    )
    baseline: Literal["none", "mean", "standardise"] = Field(
        "none",
        description="weights of steps: as they are, minus the mean of their step over the queries, or with mean 0 and "
        "deviation 1 over all steps and queries",
    )
    entropy_coef: float = Field(0.0, ge=0, description="weight of an entropy bonus in the first episode")
    entropy_decay: float = Field(
        1.0, ge=0, le=1, description="factor of the entropy bonus from one episode to the next"
    )

    def entropy_bonus(self, episode: int) -> float:
        """Weight of the entropy bonus in an episode; the first is number 1."""
        return self.entropy_coef * self.entropy_decay ** (episode - 1)

    @field_validator("baseline", mode="before")
    @classmethod
    def _baseline_of_earlier_runs(cls, value: Any) -> Any:
        """Runs that were trained before there was a choice say whether there is a baseline, the mean."""
        return ("mean" if value else "none") if isinstance(value, bool) else value


class SearchConfig(Section):
    """Beam search at prediction time."""

    beam: int = Field(100, ge=1, le=1_000_000, description="paths kept per step")
    aggregate: Literal["max", "sum"] = Field(
        "max", description="score of an entity: its best path, as in the paper, or the sum over its paths"
    )


class FitcarlConfig(Config):
    """All settings of model ``fitcarl``; the defaults are those of the paper."""

    model: Literal["fitcarl"] = Field("fitcarl", description="the model")
    preset: str = Field("paper", description="the preset that the settings started from")
    network: NetworkConfig = NetworkConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    training: FitcarlTrainingConfig = FitcarlTrainingConfig()
    search: SearchConfig = SearchConfig()

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        if self.embedding.dim % self.network.heads:
            raise ValueError(f"network.heads = {self.network.heads} does not divide embedding.dim")
        return self
