"""The config class of each trained model. A setting that the chosen model does not have is rejected."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fitcarl.config.base import Config, TaskTrainingConfig, TrainingConfig
from fitcarl.config.factorization import BiqueConfig, ComplexConfig, TelmConfig, TeroConfig, TntComplexConfig
from fitcarl.config.filt import FiltConfig
from fitcarl.config.fitcarl import EmbeddingConfig, FitcarlConfig, FitcarlTrainingConfig, NetworkConfig, SearchConfig
from fitcarl.config.gen import GenConfig
from fitcarl.config.lan import LanConfig
from fitcarl.config.mean import MeanConfig
from fitcarl.config.plus import EncoderConfig, FeaturesConfig, PlusConfig, PlusTrainingConfig, PolicyConfig, ReachConfig
from fitcarl.config.titer import TiterConfig
from fitcarl.errors import InputError, did_you_mean

CONFIGS: Mapping[str, type[Config]] = MappingProxyType(
    {
        "fitcarl": FitcarlConfig,
        "plus": PlusConfig,
        "complex": ComplexConfig,
        "bique": BiqueConfig,
        "tntcomplex": TntComplexConfig,
        "telm": TelmConfig,
        "tero": TeroConfig,
        "gen": GenConfig,
        "filt": FiltConfig,
        "titer": TiterConfig,
        "mean": MeanConfig,
        "lan": LanConfig,
    }
)
"""Model name → config class."""


def config_class(model: str) -> type[Config]:
    """The config class of a trained model.

    Raises:
        InputError: If there is no such model.
    """
    if model not in CONFIGS:
        hint = did_you_mean(model, CONFIGS)
        raise InputError("unknown model", found=model, expected="one of " + ", ".join(CONFIGS), hint=hint)
    return CONFIGS[model]


def parse_config(tree: Mapping[str, Any]) -> Config:
    """The settings that ``Config.model_dump`` wrote; the field ``model`` chooses the class.

    Raises:
        ValueError: If the tree does not fit the class (a pydantic ``ValidationError``) or names no model.
    """
    model = tree.get("model") if isinstance(tree, Mapping) else None
    if not isinstance(model, str) or model not in CONFIGS:
        raise ValueError(f"unknown model {model!r}")
    return CONFIGS[model].model_validate(tree)


__all__ = [
    "CONFIGS",
    "Config",
    "EmbeddingConfig",
    "EncoderConfig",
    "FeaturesConfig",
    "FiltConfig",
    "FitcarlConfig",
    "FitcarlTrainingConfig",
    "GenConfig",
    "LanConfig",
    "MeanConfig",
    "NetworkConfig",
    "PlusConfig",
    "PlusTrainingConfig",
    "PolicyConfig",
    "ReachConfig",
    "SearchConfig",
    "TaskTrainingConfig",
    "TiterConfig",
    "TrainingConfig",
    "config_class",
    "parse_config",
]
