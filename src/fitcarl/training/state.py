"""Checkpoints: everything that training is resumed from, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError

_WEIGHT = "weight"
_SQUARES = {torch.optim.Adam: "exp_avg_sq", torch.optim.Adagrad: "sum"}
"""Optimizer → its moment of squared gradients."""
_MOMENTS = {torch.optim.Adam: {"step", "exp_avg", "exp_avg_sq"}, torch.optim.Adagrad: {"step", "sum"}}
"""Optimizer → all that it keeps of a parameter."""
_MAX_EPISODES = 10**9
_MAX_AMOUNT = 1e12
"""Seconds or megabytes of a training: thirty thousand years, an exabyte."""


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
    """Restores weights and optimizer moments in place and returns the state.

    Args:
        file: The checkpoint.
        module: The module that it was saved of.
        optimizer: A new optimizer of the kind that it was saved of.

    Raises:
        InputError: If the file is damaged, or is not the checkpoint of such a training; nothing is restored then.
    """
    tensors, about = read_tensors(file, finite=True)
    state = _state_of(file, about)
    saved: dict[str, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        kind, _, name = key.partition("/")
        saved.setdefault(name, {})[kind] = value
    parameters = dict(module.named_parameters())
    if saved.keys() != parameters.keys() or not all(
        _fit(parameter, saved[name], optimizer) for name, parameter in parameters.items()
    ):
        raise InputError("does not fit this run", file=file, expected="the state that `fitcarl train` saved here")
    fused = any(group.get("fused") for group in optimizer.param_groups)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(saved[name].pop(_WEIGHT))
            if saved[name]:
                optimizer.state[parameter] = _on_device_of(parameter, saved[name], fused)
    return state


def _state_of(file: Path, about: Mapping[str, Any]) -> TrainingState:
    """The state that is recorded beside the tensors; every value is one that a training can have."""
    counts = ("episode", "best_episode", "validations_since_best")
    amounts = ("seconds", "cpu_seconds", "peak_mb")
    values = {**dict.fromkeys(amounts, 0.0), **about}
    wrong = sorted(values.keys() ^ {*counts, *amounts, "best_mrr"})
    wrong += [name for name in counts if name in values and not _is_count(values[name])]
    wrong += [name for name in amounts if not _is_number(values[name], 0, _MAX_AMOUNT)]
    if "best_mrr" in values and not _is_number(values["best_mrr"], -1, 1):
        wrong.append("best_mrr")
    if not wrong:
        state = TrainingState(**values)
        if state.best_episode + state.validations_since_best > state.episode:
            wrong.append("episode")
        elif (state.best_mrr < 0) != (state.best_episode == 0):
            wrong.append("best_mrr")
        else:
            return state
    raise InputError("is damaged", file=file, field=wrong[0], expected="the state that `fitcarl train` saved here")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_EPISODES


def _is_number(value: object, least: float, most: float) -> bool:
    """Whether a value is a number in a range; NaN is in none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _fit(parameter: nn.Parameter, saved: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> bool:
    """Whether tensors are the weight of a parameter with all moments, or with none, as before its first gradient."""
    kinds = next(kind for kind in _MOMENTS if isinstance(optimizer, kind))
    if saved.keys() not in ({_WEIGHT}, {_WEIGHT} | _MOMENTS[kinds]):
        return False
    for name, value in saved.items():
        if value.dtype != (torch.float32 if name == "step" else parameter.dtype):
            return False
        if value.shape != (torch.Size() if name == "step" else parameter.shape):
            return False
        if name in ("step", _SQUARES[kinds]) and bool((value < 0).any()):
            return False
    return True


def _on_device_of(parameter: nn.Parameter, moments: dict[str, Tensor], fused: bool) -> dict[str, Tensor]:
    """The moments of a parameter where the optimizer expects them: unless it is fused, it counts steps on the CPU."""
    return {
        name: value if name == "step" and not fused else value.to(parameter.device) for name, value in moments.items()
    }
