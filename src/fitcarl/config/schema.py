"""Every setting of a run, documented where it is declared. Unknown names are refused with the nearest valid one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fitcarl.errors import InputError, did_you_mean

_PLAIN = {
    "bool_parsing": "on or off",
    "bool_type": "on or off",
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
}
"""What would have been right, by pydantic's name of what is wrong."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class NetworkConfig(_Section):
    """What the model is."""

    heads: int = Field(2, ge=1, description="attention heads of the time-aware Transformer")
    layers: int = Field(2, ge=1, description="attention layers of the time-aware Transformer")
    feedforward: int = Field(200, ge=1, description="width of the Transformer's feed-forward layers")
    hops: int = Field(3, ge=1, description="L, steps of a path")
    action_space: int = Field(50, ge=1, description="n, how many edges an action space has besides the self-loop")
    sampling: Literal["adaptive", "random", "nearest"] = Field(
        "adaptive", description="which edges: by time score, at random (ablation A1), or nearest in time (A2)"
    )
    confidence: bool = Field(True, description="the confidence learner; off is ablation B")
    concepts: bool = Field(True, description="the concept regulariser; off is ablation C")
    time_bias: bool = Field(True, description="time differences in the Transformer's attention; off is ablation D")
    temporal: bool = Field(True, description="any temporal reasoning at all; off is ablation E")
    finetune: bool = Field(False, description="train the pre-trained embeddings further")

    @property
    def biased(self) -> bool:
        """Whether the Transformer's attention knows time: ablation E takes it away too."""
        return self.time_bias and self.temporal


class EmbeddingConfig(_Section):
    """The ComplEx embeddings everything starts from."""

    dim: int = Field(100, ge=2, multiple_of=2, description="d, real numbers per embedding")
    epochs: int = Field(12, ge=1, description="how often every background fact is seen")
    min_updates: int = Field(1000, ge=1, description="updates at least; small graphs get more epochs")
    batch_size: int = Field(500, ge=1, description="(entity, relation) pairs per update, each with all its answers")
    negatives: int = Field(
        8192, ge=1, description="entities a batch is compared with besides its own; all of them where they are no more"
    )
    learning_rate: float = Field(0.1, gt=0, description="Adagrad's learning rate")
    n3_weight: float = Field(0.005, ge=0, description="weight of N3, the sum of cubed moduli, per fact")
    init_std: float = Field(0.1, gt=0, description="standard deviation of the first, random rows")


class TrainingConfig(_Section):
    """How it learns."""

    episodes: int = Field(200, ge=1, description="training tasks at most")
    tasks: Literal["meta", "pseudo", "both"] = Field(
        "meta",
        description="whom it learns from: the meta-train split, background entities that are hidden in turn (preset "
        "plus; what is taken where there is no such split), or half of the tasks from each",
    )
    folds: int = Field(4, ge=1, description="groups of background entities that are hidden in turn")
    queries_per_entity: int = Field(10, ge=1, description="queries drawn for each unseen entity of a task")
    learning_rate: float = Field(1e-3, gt=0, description="Adam's learning rate")
    schedule: Literal["constant", "cosine"] = Field(
        "constant", description="whether the learning rate stays or fades to nothing over the episodes"
    )
    grad_clip: float = Field(5.0, gt=0, description="largest norm of a gradient")
    gamma: float = Field(0.95, ge=0, le=1, description="γ, the weight of a step against the one before")
    kl_weight: float = Field(1e-9, ge=0, description="η, the weight of the concept regulariser")
    reward_margin: float = Field(5.0, description="θ of the reward sigmoid(θ - distance to the answer)")
    reward: Literal["step", "return"] = Field(
        "step", description="what weighs a step: its own reward, as in the paper, or the discounted sum that follows"
    )
    baseline: bool = Field(False, description="subtract the mean over the batch from what weighs a step")
    entropy_coef: float = Field(0.0, ge=0, description="weight of an entropy bonus")
    validate_every: int = Field(10, ge=1, description="episodes between two looks at meta-validation")
    patience: int = Field(10, ge=1, description="looks without improvement after which learning stops")


class SearchConfig(_Section):
    """How it answers."""

    beam: int = Field(100, ge=1, description="paths kept at each step")
    aggregate: Literal["max", "sum"] = Field(
        "max", description="an entity's score: its best path, as in the paper, or the sum over its paths"
    )


class PolicyConfig(_Section):
    """The walker of preset ``plus``."""

    hidden: int = Field(32, ge=1, description="width of the small networks that choose a step")
    hidden_candidates: int = Field(64, ge=1, description="width of the network that scores a candidate")
    action_space: int = Field(50, ge=1, description="edges to choose from at the second step, nearest in time to t_q")
    shortlist: int = Field(1000, ge=1, description="candidates that are looked at closely when it answers")
    train_candidates: int = Field(
        120, ge=2, description="the same when it learns; half as many others are drawn to stand for the rest"
    )
    path_loss_weight: float = Field(0.3, ge=0, description="weight of the path likelihood in the loss")
    queries_per_episode: int = Field(200, ge=1, description="queries it learns from in one episode")


class EncoderConfig(_Section):
    """The encoder of preset ``plus``, which reads a support as a whole."""

    dim: int = Field(128, ge=2, description="real numbers per entity, relation and word")
    max_updates: int = Field(4000, ge=1, description="updates at most")
    min_updates: int = Field(200, ge=1, description="updates at least; in between, some six questions for each edge")
    batch_size: int = Field(512, ge=1, description="facts asked per update, their subjects playing newcomers")
    learning_rate: float = Field(3e-3, gt=0, description="AdamW's highest learning rate")
    dropout: float = Field(0.2, ge=0, lt=1, description="share of numbers that are left out while it learns")
    name_dropout: float = Field(0.5, ge=0, le=1, description="share of training queries without a name")


class FeaturesConfig(_Section):
    """What preset ``plus`` looks at, family by family; all but names come from the facts alone."""

    copy_support: bool = Field(True, description="whom the new entity dealt with before")
    neighbours: bool = Field(True, description="whom those deal with")
    similar_entities: bool = Field(True, description="what others do who did the same")
    relation_popularity: bool = Field(True, description="whom anybody meets through the relation")
    same_day: bool = Field(True, description="whom the support's kin meet in the days around the query")
    activity: bool = Field(True, description="how much a candidate does, in all and around the query")
    excitation: bool = Field(True, description="what usually comes with what else befalls a candidate")
    concepts: bool = Field(True, description="whether a candidate's concepts fit the relation")
    similarity: bool = Field(True, description="whether a candidate keeps the support's company")
    relation_profile: bool = Field(True, description="whether a candidate's other relations fit the relation")
    encoder: bool = Field(True, description="whom one with such a support deals with, as learned from the background")
    names: bool = Field(False, description="words and places in names: more than the graph")

    @property
    def off(self) -> tuple[str, ...]:
        """Families that are not looked at."""
        return tuple(name for name, on in self.model_dump().items() if not on)


class Config(_Section):
    """A run's settings."""

    model: Literal["fitcarl", "plus"] = Field("fitcarl", description="the model: fitcarl (as in the paper) or plus")
    preset: str = Field("paper", description="the named settings this started from")
    shots: int = Field(3, ge=1, description="K, facts known of an unseen entity")
    seed: int = Field(0, ge=0, description="everything random follows from it")
    network: NetworkConfig = NetworkConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    policy: PolicyConfig = PolicyConfig()
    encoder: EncoderConfig = EncoderConfig()
    features: FeaturesConfig = FeaturesConfig()

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.embedding.dim % self.network.heads:
            raise ValueError(f"network.heads = {self.network.heads} does not divide embedding.dim")
        return self

    @model_validator(mode="after")
    def _embeddings_know_the_background(self) -> Self:
        if self.model == "fitcarl" and self.training.tasks != "meta":
            raise ValueError(
                f"training.tasks = {self.training.tasks} is for model plus: embeddings know the background"
            )
        return self


_PLUS: dict[str, Any] = {
    "model": "plus",
    "training.episodes": 300,
    "training.queries_per_entity": 4,
    "training.validate_every": 50,
    "training.learning_rate": 3e-3,
    "training.schedule": "cosine",
}

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "plus": _PLUS,
    "plus+names": _PLUS | {"features.names": True},
}


def configure(preset: str = "paper", settings: Iterable[str] = (), **given: Any) -> Config:
    """The settings of a preset, then ``a.b=c`` assignments in order, then keyword arguments."""
    if preset not in PRESETS:
        hint = did_you_mean(preset, PRESETS)
        raise InputError("unknown preset", found=preset, expected="one of " + ", ".join(PRESETS), hint=hint)
    tree: dict[str, Any] = {"preset": preset}
    for name, value in PRESETS[preset].items():
        _assign(tree, name, value)
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise InputError("not a setting", found=setting, expected="name=value, such as shots=1")
        if name.strip() in given:
            raise InputError("not set this way", found=setting, expected=f"--{name.strip()} {text.strip()}")
        _assign(tree, name.strip(), text.strip())
    for name, value in given.items():
        if name not in Config.model_fields:
            hint = did_you_mean(name, Config.model_fields)
            raise InputError("unknown setting", found=name, expected=hint or ", ".join(Config.model_fields))
        tree[name] = value
    try:
        return Config.model_validate(tree)
    except ValidationError as trouble:
        raise _one_line(trouble) from None


def setting_names() -> dict[str, str]:
    """Every dotted name that can be set, with its description."""
    names: dict[str, str] = {}
    for name, field in Config.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, _Section):
            names.update({f"{name}.{inner}": entry.description or "" for inner, entry in section.model_fields.items()})
        elif name != "preset":  # chosen, not assigned: it stands for other settings
            names[name] = field.description or ""
    return names


def flat(tree: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Settings by dotted name."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return found


def _assign(tree: dict[str, Any], name: str, value: Any) -> None:
    if name not in setting_names():
        hint = did_you_mean(name, setting_names())
        raise InputError("unknown setting", found=name, expected="a name such as training.learning_rate", hint=hint)
    *sections, leaf = name.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[leaf] = value


def _one_line(trouble: ValidationError) -> InputError:
    first = trouble.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    found = None if isinstance(first["input"], dict) else first["input"]
    if expected := _PLAIN.get(first["type"]):
        return InputError(f"not a value of setting {name}", found=found, expected=expected)
    problem = first["msg"].removeprefix("Value error, ")
    return InputError(f"setting {name}: {problem}" if name else problem, found=found)
