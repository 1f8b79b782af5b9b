"""The settings of model ``titer``, a walk backwards in time."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fitcarl.config.base import Config, Section, TaskSource, TrainingConfig


class TiterNetworkConfig(Section):
    """The policy."""

    entity_dim: int = Field(80, ge=1, le=16_384, description="real numbers per entity that do not depend on time")
    time_dim: int = Field(
        20, ge=1, le=16_384, description="real numbers per entity that depend on the lag, cos(w·lag + b)"
    )
    relation_dim: int = Field(100, ge=1, le=16_384, description="real numbers per relation")
    history_dim: int = Field(100, ge=1, le=16_384, description="width of the LSTM that encodes the path so far")
    hidden: int = Field(100, ge=1, le=16_384, description="width of the hidden layer of the policy")
    hops: int = Field(3, ge=1, le=64, description="L, steps of a path")
    action_space: int = Field(
        50, ge=1, le=100_000, description="latest edges in an action space besides the action to stay"
    )


class TiterTrainingConfig(TrainingConfig):
    """The training loop with REINFORCE on mini-batches of facts."""

    episodes: int = Field(5000, ge=1, description="maximum number of episodes (mini-batches)")
    grad_clip: float = Field(10.0, ge=0, description="maximum norm of the gradient; 0 for no limit")
    validate_every: int = Field(250, ge=1, description="episodes between two validations on meta-validation")
    batch_size: int = Field(
        512, ge=1, le=10_000_000, description="directed facts per mini-batch; each fact has two directions"
    )
    weight_decay: float = Field(1e-5, ge=0, description="weight of the squared norm of all parameters, by Adam")
    gamma: float = Field(0.95, ge=0, le=1, description="γ, the discount per step")
    entropy_coef: float = Field(0.01, ge=0, description="weight of an entropy bonus in the first episode")
    entropy_decay: float = Field(0.9, ge=0, le=1, description="factor of that weight per episode")
    shaping: Literal["off", "mean", "sample"] = Field(
        "mean",
        description="reward 1 + p(lag | relation): p is the mean of a Dirichlet distribution, a sample of it, or 0",
    )
    lag_bins: int = Field(
        300, ge=1, le=1_000_000, description="lags in ticks below this number have a probability p of their own"
    )


class TiterSearchConfig(Section):
    """Beam search at prediction time."""

    beam: int = Field(100, ge=1, le=1_000_000, description="paths kept per step; the last step is expanded to all ends")
    inductive_mean: bool = Field(
        False,
        description="move the row of an unseen query entity to the mean row of all subjects of the relation",
    )
    inductive_share: float = Field(
        0.1, ge=0, le=1, description="μ, the share of its own row that an unseen entity keeps then"
    )


class TiterConfig(Config):
    """All settings of model ``titer``; the defaults are those of its publication, apart from the training length."""

    model: Literal["titer"] = Field("titer", description="the model")
    preset: str = Field("titer", description="the preset that the settings started from")
    network: TiterNetworkConfig = TiterNetworkConfig()
    training: TiterTrainingConfig = TiterTrainingConfig()
    search: TiterSearchConfig = TiterSearchConfig()

    @property
    def task_source(self) -> TaskSource | None:
        return None
