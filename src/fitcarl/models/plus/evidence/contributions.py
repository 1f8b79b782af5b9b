"""Additive contributions of paths and feature families to the score of a candidate: exact Shapley values.

The players of the game are the paths to the candidate and the families of features in which it differs from a typical
candidate. The value of a coalition is the log-probability of the candidate if only these paths lead to it and it is
typical in all other families; the normalisation over candidates and the choice between paths and candidates are those
of the query. The values of the players and the value of no player (a typical candidate without paths) add up to the
score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.core.shapley import shapley_values
from fitcarl.core.tensors import array_of
from fitcarl.models.plus.action_features import ActionFeatures
from fitcarl.models.plus.features.table import FAMILIES, FEATURES, columns_of
from fitcarl.models.plus.policy import LogProbs, PlusPolicy

REACH = "reach"
"""The features of the reach network, which follow those of ``FEATURES``."""
_MIN_PROBABILITY = 1e-300


@dataclass(frozen=True)
class Contributions:
    """The parts of a score."""

    base: float
    """The log-probability of a typical candidate without paths."""
    paths: tuple[float, ...]
    """The contribution of each group of paths."""
    families: dict[str, float]
    """Family → its contribution; families in which the candidate is typical are left out."""

    @property
    def total(self) -> float:
        return self.base + sum(self.paths) + sum(self.families.values())


def contributions(
    policy: PlusPolicy, actions: ActionFeatures, log_probs: LogProbs, candidate: int, path_groups: Sequence[float]
) -> Contributions:
    """Divides the score of one candidate of one query.

    Args:
        policy: The policy.
        actions: The features of the query (a batch of length 1).
        log_probs: The log-probabilities of its outcomes.
        candidate: The entity.
        path_groups: The total probability of the paths of each group.
    """
    features = torch.from_numpy(actions.candidates.features)
    listed = np.flatnonzero(actions.candidates.entity == candidate)
    scores = array_of(log_probs.candidates.double())
    if not len(listed):  # only paths lead to it
        return _paths_only(path_groups, float(np.exp(scores.min(initial=0.0))))
    typical, own = features.mean(0), features[int(listed[0])]
    families = {family: columns for family, columns in _families(features.shape[1]) if _differ(own, typical, columns)}
    rows = _coalitions(typical, own, list(families.values()))
    with torch.no_grad():
        raw = array_of(policy.candidate_scores(rows.to(log_probs.start.device)).double())
    mass = np.exp(scores[listed[0]] + raw - raw[-1])  # the last coalition has all families: its score is the real one
    path_mass = _subset_sums(np.array(path_groups, dtype=np.float64))
    value = np.log(mass[:, None] + path_mass[None, :] + _MIN_PROBABILITY).ravel()
    # The bits of paths are the lower ones: the last axis of the table changes fastest.
    parts = shapley_values(value)
    return Contributions(
        float(value[0]),
        tuple(parts[: len(path_groups)].tolist()),
        dict(zip(families, parts[len(path_groups) :].tolist(), strict=True)),
    )


def _paths_only(path_groups: Sequence[float], least: float) -> Contributions:
    """Contributions for an entity that is no candidate: the base is the least probable candidate, at most the paths."""
    sums = _subset_sums(np.array(path_groups, dtype=np.float64))
    value = np.log(np.maximum(sums, max(min(least, sums[-1]), _MIN_PROBABILITY)))
    parts = shapley_values(value) if len(path_groups) else np.empty(0)
    return Contributions(float(value[0]), tuple(parts.tolist()), {})


def _families(width: int) -> list[tuple[str, list[int]]]:
    """Families and their columns; the reach network's are last."""
    found = [(family, columns_of(family)) for family in FAMILIES]
    return [*found, (REACH, list(range(len(FEATURES), width)))] if width > len(FEATURES) else found


def _differ(own: torch.Tensor, typical: torch.Tensor, columns: list[int]) -> bool:
    return bool((own[columns] - typical[columns]).abs().max() > 1e-6)


def _coalitions(typical: torch.Tensor, own: torch.Tensor, families: list[list[int]]) -> torch.Tensor:
    """[2**families, features]: the typical values, and those of the candidate in the families of the coalition."""
    rows = typical.repeat(1 << len(families), 1)
    coalition = torch.arange(len(rows))
    for bit, columns in enumerate(families):
        member = (coalition >> bit) & 1 == 1
        rows[member.unsqueeze(1) & _mask(columns, rows.shape[1])] = own[columns].repeat(int(member.sum()))
    return rows


def _mask(columns: list[int], width: int) -> torch.Tensor:
    mask = torch.zeros(width, dtype=torch.bool)
    mask[columns] = True
    return mask


def _subset_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [2**values]: the sum of the values whose bits are set."""
    sums = np.zeros(1)
    for value in values.tolist():
        sums = np.concatenate([sums, sums + value])
    return sums
