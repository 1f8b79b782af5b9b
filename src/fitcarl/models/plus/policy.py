"""How an agent of preset ``plus`` chooses: small networks over features, and probabilities that add up over paths."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fitcarl.models.plus.action_features import FIRST, QUERY, SECOND, ActionFeatures
from fitcarl.models.plus.features.normalise import EVIDENCE, FAMILIES

_FLOOR = 1e-6


@dataclass(frozen=True)
class LogProbs:
    """Log-probabilities of every way to end a walk."""

    stop: Tensor
    """[queries, K]: go along a fact of the support and stop there."""
    go: Tensor
    """[queries, K, n + 1]: go on from there and stop; column 0 is -inf."""
    crowd: Tensor
    """[listed]: follow the crowd."""
    start: Tensor
    """[queries, K + 1]: the first choice alone: a fact of the support, or (last) the crowd."""


class PlusPolicy(nn.Module):
    """First step, stopping, second step and crowd: four small networks over features."""

    def __init__(self, hidden: int = 32, hidden_crowd: int = 64, without: Collection[str] = ()) -> None:
        """``without`` names families of evidence that are not looked at."""
        super().__init__()
        columns = [family not in without for family, size in FAMILIES.items() for _ in range(size)]
        self._used = torch.tensor(columns, dtype=torch.float32)
        self.first = _network(FIRST, hidden)
        self.stop = _network(FIRST, hidden)
        self.go = _network(SECOND, hidden)
        self.crowd = _network(EVIDENCE, hidden_crowd)
        self.ask_crowd = _network(QUERY, hidden)

    def forward(self, choices: ActionFeatures) -> LogProbs:
        """log p of all ends of all walks of every query."""
        queries, shots = choices.entity.shape
        first = torch.from_numpy(choices.first)
        known = torch.from_numpy(choices.known)
        start = self.first(first).squeeze(-1).masked_fill(~known, float("-inf"))
        nobody = torch.from_numpy(np.diff(choices.crowd.offsets) == 0).unsqueeze(1)
        ask = self.ask_crowd(torch.from_numpy(choices.query)).masked_fill(nobody, float("-inf"))
        start = torch.cat([start, ask], 1).log_softmax(1)

        stop = self.stop(first).view(queries * shots, 1)
        go = self.go(torch.from_numpy(choices.second[:, 1:])).squeeze(-1)
        then = torch.cat([stop, go], 1).masked_fill(~torch.from_numpy(choices.open), float("-inf")).log_softmax(1)
        then = then.view(queries, shots, -1) + start[:, :shots, None]

        crowd = self.crowd(torch.from_numpy(choices.crowd.features) * self._used).squeeze(-1)
        weighed = crowd + torch.from_numpy(choices.crowd.weight)
        offsets = torch.from_numpy(choices.crowd.offsets)
        owner = torch.repeat_interleave(torch.arange(queries), offsets.diff())
        # index_select, because the gradient of plain indexing adds up in an order that threads decide
        level = (start[:, shots] - _segment_logsumexp(weighed, owner, queries)).index_select(0, owner)
        nothing = torch.full_like(then[:, :, :1], float("-inf"))
        return LogProbs(then[:, :, 0], torch.cat([nothing, then[:, :, 1:]], 2), crowd + level, start)


def log_likelihood(mass: LogProbs, choices: ActionFeatures, answer: Tensor) -> tuple[Tensor, Tensor]:
    """log p(answer) [queries], summed over all that ends there: in all, and among walks alone.

    Both are floored, since some answers have no walk, and some nothing at all.
    """
    queries, shots = choices.entity.shape
    there = torch.from_numpy(choices.entity) == answer[:, None]
    there &= torch.from_numpy(choices.known)
    beyond = torch.from_numpy(choices.space.entity).view(queries, shots, -1) == answer[:, None, None]
    walked = mass.stop.exp().masked_fill(~there, 0).sum(1)
    walked = walked + mass.go.exp().masked_fill(~beyond, 0).sum((1, 2))
    owner = torch.repeat_interleave(torch.arange(queries), torch.from_numpy(choices.crowd.offsets).diff())
    found = torch.nonzero(torch.from_numpy(choices.crowd.entity) == answer[owner]).squeeze(1)
    total = walked.index_add(0, owner[found], mass.crowd.index_select(0, found).exp())
    on_foot = mass.start[:, :shots].logsumexp(1).clamp_min(-20)
    return (total + _FLOOR).log(), (walked * (-on_foot).exp() + _FLOOR).log()


def _network(features: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)
    )


def _segment_logsumexp(values: Tensor, owner: Tensor, segments: int) -> Tensor:
    top = torch.full((segments,), float("-inf")).scatter_reduce(0, owner, values.detach(), "amax")
    top = torch.nan_to_num(top, neginf=0.0)
    return torch.zeros(segments).index_add(0, owner, (values - top[owner]).exp()).clamp_min(1e-30).log() + top
