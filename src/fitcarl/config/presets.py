"""Presets: a model plus settings, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fitcarl.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Preset:
    """A model and the settings in which it differs from the model's defaults."""

    model: str
    description: str
    """A few words for help texts."""
    settings: Mapping[str, Any] = field(default_factory=dict)


_PAPER_BUDGET = {"training.episodes": 1000, "training.patience": 0, "training.queries_per_entity": 0}
"""The length of training in the paper: all episodes, and all other facts of an entity as queries."""

_AUTHORS = {
    "network.self_loop_history": False,
    "training.reward": "return",
    "training.discount_loss": False,
    "training.baseline": "standardise",
    "training.entropy_coef": 0.01,
    "training.entropy_decay": 0.9,
}
"""What the authors' code does and their text does not say."""

_INPUT_CANDIDATES = {
    "candidates.vectors": "input",
    "candidates.query_entity": False,
    "training.learning_rate": 0.01,
    "training.episodes": 2000,
    "training.negatives": 1,
    "training.corrupt": "uniform",
    "training.margin": 4.0,
    "training.leave_target_out": True,
}
"""MEAN and LAN with candidates as input vectors, chosen on meta-validation."""

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "paper": Preset("fitcarl", "as published"),
        "paper-full": Preset("fitcarl", "with the training length of the paper", _PAPER_BUDGET),
        "paper-product": Preset("fitcarl", "normalises P · conf instead of Eq. 9", {"network.policy": "product"}),
        "authors": Preset("fitcarl", "as in the authors' code", _AUTHORS),
        "mean-input": Preset("mean", "improved MEAN: candidates have their input vectors", _INPUT_CANDIDATES),
        "lan-input": Preset("lan", "improved LAN: candidates have their input vectors", _INPUT_CANDIDATES),
        "plus": Preset("plus", "accurate, fast"),
        "plus+names": Preset("plus", "uses names too", {"features.names": True}),
    }
)
DEFAULT_PRESET = "plus"
"""What is trained if neither a preset nor a model is chosen."""

PRESET_HELP = ", ".join(f"{name} ({preset.description})" for name, preset in PRESETS.items())


def find_preset(name: str) -> Preset:
    """The preset with this name, or in this file.

    Raises:
        InputError: If there is no such preset, or the file is not a preset.
    """
    if is_preset_file(name):
        return _read_preset(Path(name).expanduser())
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS)
        raise InputError("unknown preset", found=name, expected="one of " + ", ".join(PRESETS), hint=hint)
    return PRESETS[name]


def is_preset_file(name: str) -> bool:
    """Whether a preset is given by a file that ``fitcarl tune`` wrote."""
    return name not in PRESETS and name.endswith(".json")


def preset_name(name: str) -> str:
    """The name of a preset; of a file, its name without the ending."""
    return Path(name).name.removesuffix(".json").removesuffix(".preset") if is_preset_file(name) else name


def _read_preset(file: Path) -> Preset:
    expected = 'JSON such as {"model": "plus", "settings": {"training.learning_rate": 0.001}}'
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", file=file, expected="a preset that `fitcarl tune` wrote") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", file=file, expected=expected) from None
    if not isinstance(found, dict) or not isinstance(found.get("model"), str):
        raise InputError("is not a preset", file=file, expected=expected)
    settings = found.get("settings", {})
    if not isinstance(settings, dict):
        raise InputError("is not a preset", file=file, expected=expected)
    return Preset(found["model"], str(found.get("description", "")), settings)


def default_preset(model: str) -> str:
    """The preset that is a model with its defaults; the model's name if there is none."""
    return next((name for name, preset in PRESETS.items() if preset.model == model and not preset.settings), model)
