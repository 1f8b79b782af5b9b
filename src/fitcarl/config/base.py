"""What the settings of all trained models have in common."""

from __future__ import annotations

from typing import ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field

TaskSource = Literal["meta", "pseudo", "both"]
"""Where training tasks come from: the meta-train split, held-out background entities, or half of them from each."""


Setting = Literal["completion", "forecast"]
"""What may be used for a query at t_q: facts of any time, or only facts strictly before t_q."""
SETTINGS: tuple[Setting, ...] = get_args(Setting)


def folder_part(setting: str | None) -> str:
    """What the default name of a run folder says about the setting."""
    return "-forecast" if setting == "forecast" else ""


class Section(BaseModel):
    """A group of settings; frozen, and unknown names are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TrainingConfig(Section):
    """Settings of the training loop."""

    episodes: int = Field(200, ge=1, description="maximum number of episodes (training tasks)")
    learning_rate: float = Field(1e-3, gt=0, description="learning rate of the optimizer")
    warmup: int = Field(0, ge=0, description="episodes over which the learning rate rises linearly; 0 for none")
    lr_floor: float = Field(
        1.0, ge=0, le=1, description="the cosine decay stops at this share of the learning rate; 1 keeps it constant"
    )
    grad_clip: float = Field(5.0, ge=0, description="maximum norm of the gradient; 0 for no limit")
    validate_every: int = Field(10, ge=1, description="episodes between two validations on meta-validation")
    patience: int = Field(
        10, ge=0, description="validations without improvement after which training stops; 0 for never"
    )

    def ran_out(self, validations_since_best: int, episode: int) -> bool:
        """Whether patience ends the training after an episode."""
        counted = min(validations_since_best, (episode - self.first_counted_episode) // self.validate_every)
        return 0 < self.patience <= counted

    @property
    def first_counted_episode(self) -> int:
        """Validations up to this episode do not count for patience."""
        return 0


class TaskTrainingConfig(TrainingConfig):
    """Settings of a training on few-shot tasks."""

    queries_per_entity: int = Field(
        10, ge=0, description="queries sampled per unseen entity of a training task; 0 for all"
    )


class Config(Section):
    """The settings of a run; each model has a subclass with the settings that it uses."""

    task_sources: ClassVar[tuple[TaskSource, ...]] = ("meta",)
    """Sources of training tasks that the model can use."""

    model: str = Field(description="the model")
    preset: str = Field(description="the preset that the settings started from")
    shots: int = Field(3, ge=1, le=10_000, description="K, support facts per unseen entity")
    seed: int = Field(0, ge=0, le=2**63 - 1, description="seed of all random numbers")
    setting: Setting = Field(
        "completion",
        description="what may be used for a query: facts of any time (completion), or earlier facts only (forecast)",
    )
    training: TrainingConfig = TrainingConfig()

    @property
    def task_source(self) -> TaskSource | None:
        """Where training tasks come from; None if the model is trained on facts instead of tasks."""
        return "meta"

    @property
    def queries_per_entity(self) -> int | None:
        """Queries sampled per unseen entity of a training task; None for all."""
        training = self.training
        return training.queries_per_entity or None if isinstance(training, TaskTrainingConfig) else None

    @property
    def official_supports_only(self) -> bool:
        """Whether the model is trained on the support facts of the official draw, which other draws may ask for."""
        return False

    @property
    def time_unit_setting(self) -> str | None:
        """The time unit as a duration, or ``auto``; None if the model does not use it."""
        return None

    @property
    def folds(self) -> int:
        """Groups of background entities that are held out in turn."""
        return 0

    @property
    def completion_share(self) -> float:
        """In the setting ``forecast``, the share of training tasks that are of the setting ``completion``."""
        return 0.0

    @property
    def side_information(self) -> dict[str, str]:
        """What the model uses besides the facts, as entries of a report's signature."""
        return {}

    def without_meta_train(self) -> Self:
        """The settings for data without a meta-train split."""
        return self

    def with_episodes(self, episodes: int) -> Self:
        """The same settings with at most ``episodes`` training episodes."""
        return self.model_copy(update={"training": self.training.model_copy(update={"episodes": episodes})})
