"""Checkpoints: everything that training is resumed from, bit for bit."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError

_WEIGHT = "weight"


@dataclass(frozen=True)
class TrainingState:
    """How far training has come. Random numbers follow from the seed and the episode, so none are kept."""

    episode: int = 0
    """Finished episodes."""
    best_mrr: float = -1.0
    best_episode: int = 0
    validations_since_best: int = 0
    seconds: float = 0.0
    """Training time so far, over all sessions."""
    cpu_seconds: float = 0.0
    """Processor time of all threads, over all sessions."""
    peak_mb: float = 0.0
    """Peak memory of a process, over all sessions."""

    def after_validation(self, mrr: float) -> TrainingState:
        """The state after a validation with this MRR."""
        if mrr > self.best_mrr:
            return replace(self, best_mrr=mrr, best_episode=self.episode, validations_since_best=0)
        return replace(self, validations_since_best=self.validations_since_best + 1)


def save_state(file: Path, module: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState) -> None:
    """Writes weights, optimizer moments and state to one file, atomically."""
    tensors = {}
    for name, parameter in module.named_parameters():
        tensors[f"{_WEIGHT}/{name}"] = parameter
        for moment, value in optimizer.state[parameter].items():
            tensors[f"{moment}/{name}"] = value
    write_tensors(file, tensors, vars(state))


def load_state(file: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Restores weights and optimizer moments in place and returns the state."""
    tensors, about = read_tensors(file)
    fields = {field.name for field in dataclasses.fields(TrainingState)}
    saved: dict[str, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        kind, _, name = key.partition("/")
        saved.setdefault(name, {})[kind] = value
    fits = all(
        _WEIGHT in saved.get(name, {}) and saved[name][_WEIGHT].shape == parameter.shape
        for name, parameter in module.named_parameters()
    )
    if not fits or not about.keys() <= fields:
        raise InputError("does not fit this run", file=file, expected="the state that `fitcarl train` saved here")
    fused = any(group.get("fused") for group in optimizer.param_groups)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(saved[name].pop(_WEIGHT))
            if saved[name]:
                optimizer.state[parameter] = _on_device_of(parameter, saved[name], fused)
    return TrainingState(**about)


def _on_device_of(parameter: nn.Parameter, moments: dict[str, Tensor], fused: bool) -> dict[str, Tensor]:
    """The moments of a parameter where the optimizer expects them: unless it is fused, it counts steps on the CPU."""
    return {
        name: value if name == "step" and not fused else value.to(parameter.device) for name, value in moments.items()
    }
