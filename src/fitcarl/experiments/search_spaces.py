"""Search spaces of hyper-parameters: a named study of each model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from fitcarl.config.schema import config_class
from fitcarl.config.settings import describe_settings
from fitcarl.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from optuna import Trial

DEFAULT_STUDY = "default"


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[float | int | str, ...]

    def suggest(self, trial: Trial, name: str) -> object:
        return trial.suggest_categorical(name, self.values)


@dataclass(frozen=True)
class Range:
    """A number between two bounds."""

    low: float
    high: float
    log: bool = False
    """Whether the logarithm of the number is sampled uniformly."""

    def suggest(self, trial: Trial, name: str) -> object:
        return trial.suggest_float(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class SearchSpace:
    """The settings of a model that are searched."""

    name: str
    parameters: Mapping[str, Choice | Range]
    grid: bool = False
    """Whether all combinations are tried, instead of points chosen by a sampler."""

    @property
    def size(self) -> int | None:
        """The number of combinations; None if there are infinitely many."""
        sizes = [len(one.values) if isinstance(one, Choice) else 0 for one in self.parameters.values()]
        return prod(sizes) if all(sizes) else None

    def without(self, fixed: Collection[str]) -> SearchSpace:
        """The space without settings that have a fixed value."""
        return replace(self, parameters={name: one for name, one in self.parameters.items() if name not in fixed})

    def settings(self, trial: Trial) -> dict[str, object]:
        """The values of a trial by setting."""
        return {name: parameter.suggest(trial, name) for name, parameter in self.parameters.items()}


GRID_108 = SearchSpace(
    "grid108",
    MappingProxyType(
        {
            "embedding.dim": Choice((100, 200)),
            "network.action_space": Choice((25, 50, 100)),
            "network.hops": Choice((3, 4)),
            "training.kl_weight": Choice((1e-11, 1e-9, 1e-7)),
            "training.reward_margin": Choice((1.0, 5.0, 10.0)),
        }
    ),
    grid=True,
)
"""The grid of the paper's appendix: d, actions, L, η and θ."""

_RATE = Range(1e-4, 1e-2, log=True)
_FACTORIZATION: Mapping[str, Choice | Range] = {
    "training.learning_rate": Range(0.01, 0.5, log=True),
    "training.batch_size": Choice((250, 500, 1000)),
    "training.n3_weight": Range(1e-4, 0.1, log=True),
    "training.smoothness_weight": Range(1e-4, 0.1, log=True),
    "embedding.dim": Choice((96, 200, 400)),
}
_NEIGHBOURHOOD: Mapping[str, Choice | Range] = {
    "training.learning_rate": Range(1e-3, 0.05, log=True),
    "training.negatives": Choice((16, 32, 64)),
    "training.margin": Range(0.5, 4.0),
    "training.neighbours": Choice((16, 32, 64)),
    "network.dim": Choice((50, 100, 200)),
}
_META: Mapping[str, Choice | Range] = {
    "training.learning_rate": _RATE,
    "training.negatives": Choice((32, 64, 128)),
    "training.margin": Range(0.5, 2.0),
    "training.dropout": Range(0.0, 0.5),
    "embedding.dim": Choice((100, 200)),
}
_DEFAULT: Mapping[str, Mapping[str, Choice | Range]] = {
    **dict.fromkeys(("complex", "bique", "tntcomplex", "telm"), _FACTORIZATION),
    **dict.fromkeys(("mean", "lan"), _NEIGHBOURHOOD),
    **dict.fromkeys(("gen", "filt"), _META),
    "tero": {
        "training.learning_rate": Range(0.01, 0.5, log=True),
        "training.batch_size": Choice((256, 512, 1024)),
        "training.negatives": Choice((10, 50)),
        "training.margin": Range(10.0, 120.0),
        "embedding.dim": Choice((96, 200, 400)),
    },
    "titer": {
        "training.learning_rate": _RATE,
        "training.gamma": Range(0.8, 1.0),
        "training.entropy_coef": Range(1e-4, 0.1, log=True),
        "training.weight_decay": Range(1e-7, 1e-3, log=True),
        "network.action_space": Choice((25, 50, 100)),
    },
    "fitcarl": {
        "training.learning_rate": _RATE,
        "training.gamma": Range(0.8, 1.0),
        "training.reward_margin": Range(1.0, 10.0),
        "training.entropy_coef": Range(1e-4, 0.1, log=True),
        "network.action_space": Choice((25, 50, 100)),
        "network.hops": Choice((2, 3, 4)),
    },
    "plus": {
        "training.learning_rate": Range(5e-4, 0.01, log=True),
        "policy.hidden": Choice((16, 32, 64)),
        "policy.hidden_candidates": Choice((32, 64, 128)),
        "policy.path_loss_weight": Range(0.0, 1.0),
        "encoder.dim": Choice((64, 128, 256)),
        "encoder.dropout": Range(0.0, 0.5),
    },
}


def search_spaces(model: str) -> dict[str, SearchSpace]:
    """The named studies of a model; a model that has no space of its own has its learning rate searched."""
    known = describe_settings(config_class(model))
    parameters = _DEFAULT.get(model, {"training.learning_rate": _RATE})
    default = SearchSpace(DEFAULT_STUDY, {name: one for name, one in parameters.items() if name in known})
    return {DEFAULT_STUDY: default} | ({GRID_108.name: GRID_108} if model == "fitcarl" else {})


def find_search_space(model: str, study: str) -> SearchSpace:
    """The search space of a named study.

    Raises:
        InputError: If the model has no such study.
    """
    spaces = search_spaces(model)
    if study not in spaces:
        hint = did_you_mean(study, spaces)
        raise InputError(f"no such study of model {model}", found=study, expected=", ".join(spaces), hint=hint)
    return spaces[study]
