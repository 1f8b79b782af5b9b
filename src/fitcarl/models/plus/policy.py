"""The policy of model ``plus``: small networks over features, and probabilities that add up over paths."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fitcarl.core.arrays import Positions
from fitcarl.core.tensors import tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.models.plus.action_features import FIRST_HOP, QUERY, SECOND_HOP, ActionFeatures
from fitcarl.models.plus.features.table import FEATURES

_MIN_PROBABILITY = 1e-6
"""Added to probabilities before the logarithm: some answers have no path, and some are no candidate."""
_MIN_PATH_LOGPROB = -20.0
"""Limits the division by the probability of choosing any path."""


@dataclass(frozen=True)
class LogProbs:
    """Log-probabilities of every outcome of a query."""

    stop: Tensor
    """[queries, K]: follow a support fact and stop at its entity."""
    second_hop: Tensor
    """[queries, K, n + 1]: follow a support fact, make a second hop and stop; column 0 is -inf."""
    candidates: Tensor
    """[candidates]: choose a candidate without a path."""
    start: Tensor
    """[queries, K + 1]: the first choice: a support fact or, in the last column, the candidates."""


class PlusPolicy(nn.Module):
    """Networks that score the first hop, stopping, the second hop, the candidates and the choice between them."""

    def __init__(
        self,
        hidden: int = 32,
        hidden_candidates: int = 64,
        disabled: Collection[str] = (),
        extra_features: int = 0,
    ) -> None:
        """Creates networks with random weights.

        Args:
            hidden: Width of the networks that choose a hop.
            hidden_candidates: Width of the network that scores a candidate.
            disabled: Feature families whose columns are set to 0.
            extra_features: Further features of a candidate, after those of ``FEATURES``.
        """
        super().__init__()
        enabled = [feature.family not in disabled for feature in FEATURES] + [True] * extra_features
        self._enabled: Tensor
        self.register_buffer("_enabled", torch.tensor(enabled, dtype=torch.float32), persistent=False)
        self.first_hop = _network(FIRST_HOP, hidden)
        self.stop = _network(FIRST_HOP, hidden)
        self.second_hop = _network(SECOND_HOP, hidden)
        self.candidates = _network(len(enabled), hidden_candidates)
        self.gate = _network(QUERY, hidden)

    def candidate_scores(self, features: Tensor) -> Tensor:
        """[candidates]: scores of candidates by their features, before normalisation."""
        score: Tensor = self.candidates(features * self._enabled).squeeze(-1)
        return score

    def forward(self, actions: ActionFeatures) -> LogProbs:
        """Log-probabilities of all outcomes of every query."""
        (queries, shots), device = actions.entity.shape, self._enabled.device
        first_hop = tensor_of(actions.first_hop, device)
        known = tensor_of(actions.known, device)
        start = self.first_hop(first_hop).squeeze(-1).masked_fill(~known, float("-inf"))
        no_candidates = tensor_of(np.diff(actions.candidates.offsets) == 0, device).unsqueeze(1)
        gate = self.gate(tensor_of(actions.query, device)).masked_fill(no_candidates, float("-inf"))
        start = torch.cat([start, gate], 1).log_softmax(1)

        stop = self.stop(first_hop).view(queries * shots, 1)
        second_hop = self.second_hop(tensor_of(actions.second_hop[:, 1:], device)).squeeze(-1)
        allowed = tensor_of(actions.allowed, device)
        second_choice = torch.cat([stop, second_hop], 1).masked_fill(~allowed, float("-inf")).log_softmax(1)
        second_choice = second_choice.view(queries, shots, -1) + start[:, :shots, None]

        score = self.candidate_scores(tensor_of(actions.candidates.features, device))
        weighted = score + tensor_of(actions.candidates.weight, device)
        query = tensor_of(_candidate_queries(actions), device)
        # index_select, because the gradient of plain indexing is summed in an order that depends on threads
        level = (start[:, shots] - _segment_logsumexp(weighted, query, queries)).index_select(0, query)
        no_hop = torch.full_like(second_choice[:, :, :1], float("-inf"))
        return LogProbs(second_choice[:, :, 0], torch.cat([no_hop, second_choice[:, :, 1:]], 2), score + level, start)


def log_likelihood(log_probs: LogProbs, actions: ActionFeatures, answer: Ids) -> tuple[Tensor, Tensor]:
    """log p(answer), summed over all outcomes that end there.

    Returns:
        [queries]: over all outcomes, and over paths only, given that a path is chosen. Both have a lower limit.
    """
    (queries, shots), device = actions.entity.shape, log_probs.start.device
    stops = tensor_of((actions.entity == answer[:, None]) & actions.known, device)
    hops = tensor_of(actions.space.entity.reshape(queries, shots, -1) == answer[:, None, None], device)
    by_path = log_probs.stop.exp().masked_fill(~stops, 0).sum(1)
    by_path = by_path + log_probs.second_hop.exp().masked_fill(~hops, 0).sum((1, 2))
    query = _candidate_queries(actions)
    hit = np.flatnonzero(actions.candidates.entity == answer[query])
    found = tensor_of(hit, device)
    total = by_path.index_add(0, tensor_of(query[hit], device), log_probs.candidates.index_select(0, found).exp())
    any_path = log_probs.start[:, :shots].logsumexp(1).clamp_min(_MIN_PATH_LOGPROB)
    return (total + _MIN_PROBABILITY).log(), (by_path * (-any_path).exp() + _MIN_PROBABILITY).log()


def _candidate_queries(actions: ActionFeatures) -> Positions:
    """int64 [candidates]: the query of each candidate."""
    offsets = actions.candidates.offsets
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _network(features: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)
    )


def _segment_logsumexp(values: Tensor, segment: Tensor, segments: int) -> Tensor:
    """[segments]: logsumexp of the values of each segment."""
    top = values.new_full((segments,), float("-inf")).scatter_reduce(0, segment, values.detach(), "amax")
    top = torch.nan_to_num(top, neginf=0.0)
    return values.new_zeros(segments).index_add(0, segment, (values - top[segment]).exp()).clamp_min(1e-30).log() + top
