"""The settings of model ``plus``: policy networks over graph features."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field

from fitcarl.config.base import Config, Section, TaskSource, TaskTrainingConfig


class PolicyConfig(Section):
    """The policy networks and their candidates."""

    hidden: int = Field(32, ge=1, le=16_384, description="width of the networks that choose a step")
    hidden_candidates: int = Field(64, ge=1, le=16_384, description="width of the network that scores candidates")
    action_space: int = Field(
        50, ge=1, le=100_000, description="edges in the action space of the second step (nearest in time)"
    )
    shortlist: int = Field(1000, ge=1, le=10_000_000, description="candidates scored per query at prediction time")
    train_candidates: int = Field(
        120,
        ge=2,
        le=1_000_000,
        description="candidates scored per query in training; half as many are sampled to represent the rest",
    )
    path_loss_weight: float = Field(0.3, ge=0, description="weight of the likelihood of paths alone in the loss")
    queries_per_episode: int = Field(200, ge=1, le=10_000_000, description="queries sampled per episode")


class PretrainedSection(Section):
    """A network that is trained before the first episode, on background facts as queries."""

    queries_per_edge: ClassVar[int]
    max_updates: int
    min_updates: int
    batch_size: int

    def updates(self, edges: int) -> int:
        """The number of updates on a background.

        Args:
            edges: Its number of edges, both directions of every fact.
        """
        return min(max(self.queries_per_edge * edges // self.batch_size, self.min_updates), self.max_updates)


class EncoderConfig(PretrainedSection):
    """The support encoder and its pre-training on background facts."""

    queries_per_edge: ClassVar[int] = 6
    dim: int = Field(128, ge=2, le=16_384, description="real numbers per entity, relation and word")
    max_updates: int = Field(4000, ge=1, description="maximum number of updates")
    min_updates: int = Field(200, ge=1, description="minimum number of updates; in between, about six queries per edge")
    batch_size: int = Field(
        512, ge=1, le=10_000_000, description="facts per update, whose subjects are treated as unseen"
    )
    learning_rate: float = Field(3e-3, gt=0, description="maximum learning rate of AdamW")
    dropout: float = Field(0.2, ge=0, lt=1, description="dropout rate")
    name_dropout: float = Field(0.5, ge=0, le=1, description="share of training queries without the entity's name")
    contexts: Literal["any", "past"] = Field(
        "any",
        description="facts that it is trained with in the setting forecast: of any time, as for completion, or past "
        "ones only; predictions use past ones in any case",
    )


class ReachConfig(PretrainedSection):
    """The reach network: message passing from the support entities over earlier facts, in the setting forecast."""

    queries_per_edge: ClassVar[int] = 2
    used: bool = Field(True, description="whether runs trained for the setting forecast have it")
    dim: int = Field(32, ge=1, le=16_384, description="real numbers per message")
    max_updates: int = Field(2500, ge=1, description="maximum number of updates")
    min_updates: int = Field(100, ge=1, description="minimum number of updates; in between, about two queries per edge")
    batch_size: int = Field(
        128, ge=1, le=10_000_000, description="facts per update, whose subjects are treated as unseen"
    )
    learning_rate: float = Field(5e-3, gt=0, description="maximum learning rate of AdamW")


class FeaturesConfig(Section):
    """Feature families; all but names come from the facts alone."""

    copy_support: bool = Field(True, description="entities in the support facts")
    neighbours: bool = Field(True, description="neighbours of the support entities")
    similar_entities: bool = Field(True, description="objects of entities that share facts with the support")
    relation_popularity: bool = Field(True, description="frequency of a candidate as an object of the relation")
    same_day: bool = Field(True, description="events around t_q that involve similar entities")
    activity: bool = Field(True, description="number of events of a candidate, overall and around t_q")
    excitation: bool = Field(True, description="other events of a candidate near t_q that co-occur with the relation")
    concepts: bool = Field(True, description="agreement of a candidate's concepts with the relation")
    similarity: bool = Field(
        True, description="cosine similarity between a candidate and the support entities (spectral embedding)"
    )
    relation_profile: bool = Field(True, description="agreement of a candidate's other relations with the relation")
    encoder: bool = Field(True, description="scores of the support encoder")
    names: bool = Field(False, description="words and places in entity names; uses more than the facts")

    @property
    def off(self) -> tuple[str, ...]:
        """Feature families that are switched off."""
        return tuple(name for name, on in self.model_dump().items() if not on)


class PlusTrainingConfig(TaskTrainingConfig):
    """The training loop by maximum likelihood."""

    episodes: int = Field(300, ge=1, description="maximum number of episodes (training tasks)")
    tasks: TaskSource = Field(
        "meta",
        description="source of training tasks: the meta-train split, pseudo-unseen background entities (the default "
        "if there is no meta-train split), or both in equal shares",
    )
    folds: int = Field(
        4,
        ge=1,
        le=1_000,
        description="groups of pseudo-unseen entities, held out in turn (tasks pseudo or both), or at once if they "
        "have at most 1 % of the facts together",
    )
    queries_per_entity: int = Field(
        4, ge=0, description="queries sampled per unseen entity of a training task; 0 for all"
    )
    completion_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="in the setting forecast, share of training tasks of the setting completion, in which more answers "
        "are in the support",
    )
    learning_rate: float = Field(3e-3, gt=0, description="learning rate of the optimizer")
    warmup: int = Field(10, ge=0, description="episodes over which the learning rate rises linearly; 0 for none")
    lr_floor: float = Field(
        0.02, ge=0, le=1, description="the cosine decay stops at this share of the learning rate; 1 keeps it constant"
    )
    validate_every: int = Field(50, ge=1, description="episodes between two validations on meta-validation")


class PlusConfig(Config):
    """All settings of model ``plus``."""

    task_sources: ClassVar[tuple[TaskSource, ...]] = ("meta", "pseudo", "both")

    model: Literal["plus"] = Field("plus", description="the model")
    preset: str = Field("plus", description="the preset that the settings started from")
    time_unit: str = Field(
        "auto",
        description="time that counts as one unit of all time scales: estimated from the facts (auto), or a duration "
        "such as 7d, 1y or, for integer times, 12",
    )
    policy: PolicyConfig = PolicyConfig()
    encoder: EncoderConfig = EncoderConfig()
    reach: ReachConfig = ReachConfig()
    features: FeaturesConfig = FeaturesConfig()
    training: PlusTrainingConfig = PlusTrainingConfig()

    @property
    def task_source(self) -> TaskSource:
        return self.training.tasks

    @property
    def time_unit_setting(self) -> str:
        return self.time_unit

    @property
    def folds(self) -> int:
        return self.training.folds

    @property
    def completion_share(self) -> float:
        return self.training.completion_share

    @property
    def label(self) -> str:
        """The preset, marked if names are used that the preset does not use."""
        return f"{self.preset}+names" if self.features.names and "names" not in self.preset else self.preset

    @property
    def side_information(self) -> dict[str, str]:
        return {"names": "on"} if self.features.names else {}

    def without_meta_train(self) -> Self:
        """Trains on pseudo-unseen entities unless ``training.tasks`` was set explicitly."""
        if "tasks" in self.training.model_fields_set:
            return self
        return self.model_copy(update={"training": self.training.model_copy(update={"tasks": "pseudo"})})
