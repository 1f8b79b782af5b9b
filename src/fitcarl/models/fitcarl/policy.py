"""The policy: attention between history and query for every action (Eq. 4 to 7), and its confidence (Eq. 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from fitcarl.models.fitcarl.linear import linear_map, project_rows

Combination = Literal["softmax", "product"]
"""softmax(P · conf), as in Eq. 9, or P · conf divided by its sum."""


@dataclass(frozen=True)
class PolicyStep:
    """The policy over the actions of one step and its factors; padding has probability exactly 0."""

    log_policy: Tensor
    """log π(a | s), [states, actions] (Eq. 9 or its variant; without confidence learner π is P); -inf on padding."""
    probability: Tensor
    """P(a | s, hist), [states, actions] (Eq. 7)."""
    confidence: Tensor | None
    """conf_{a|q}, [states, actions] (Eq. 8), or None if the confidence learner is off."""


class PolicyNetwork(nn.Module):
    """The weights W₁ to W₄ and w_Δt of Eq. 4 to 7. Linear maps are applied to states, never to (state, action) pairs.

    h̄_a = W₃ x_a (x_a = h_r_a ‖ h_e_a ‖ h_Δt) only occurs in dot products with four vectors v, so W₃ moves to their
    side: x_a · W₃ᵀ v. Each of the four is a 3d × 3d map of the history or the query, folded once per update.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(2 * dimension, 3 * dimension))
        self.w2 = nn.Parameter(torch.empty(2 * dimension, 3 * dimension))
        self.w3 = nn.Parameter(torch.empty(2 * dimension, 3 * dimension))
        self.w4 = nn.Parameter(torch.empty(2 * dimension, 2 * dimension))
        self.w_delta = nn.Parameter(torch.randn(dimension) * dimension**-0.5)
        for weight in (self.w1, self.w2, self.w3, self.w4):
            nn.init.xavier_uniform_(weight)

    def history_vectors(self, history: Tensor) -> Tensor:
        """[states, 2, 3d]: dot products with x_a are h̄_aᵀ h̄_hist and h̄_aᵀ W₄ h̄_hist; ``history`` is [states, 3d]."""
        return linear_map(history, self._folded(self.w1)).unflatten(-1, (2, -1))

    def query_vectors(self, relation_rows: Tensor, relation: Tensor, entity: Tensor, h_0: Tensor) -> Tensor:
        """[queries, 2, 3d]: dot products with x_a are h̄_aᵀ h̄_q and h̄_aᵀ W₄ h̄_q.

        The map of h_r_q ‖ h_e' ‖ h_0 is applied part by part: relations take few distinct values, and h_0 is one.

        Args:
            relation_rows: [relations, d], the table of relations.
            relation: int64 [queries], r_q.
            entity: [queries, d], h_e'.
            h_0: [d], the encoding of Δt = 0.
        """
        by_relation, by_entity, by_time = self._folded(self.w2).split(len(h_0), 1)
        out = linear_map(entity, by_entity, by_time @ h_0) + project_rows(relation_rows, relation, by_relation)
        return out.unflatten(-1, (2, -1))

    def _folded(self, weight: Tensor) -> Tensor:
        """[6d, 3d]: W₃ᵀ W and W₃ᵀ W₄ W."""
        return torch.cat([self.w3.T @ weight, self.w3.T @ (self.w4 @ weight)])

    @staticmethod
    def step(
        dots: Tensor,
        history_time: Tensor,
        query_time: Tensor,
        psi: Tensor | None,
        mask: Tensor,
        combine: Combination = "softmax",
    ) -> PolicyStep:
        """The policy of every state.

        Args:
            dots: [states, 4, actions]: h̄_aᵀ h̄_hist, h̄_aᵀ W₄ h̄_hist, h̄_aᵀ h̄_q and h̄_aᵀ W₄ h̄_q.
            history_time: [states, actions], w_Δtᵀ h_{t_a - t_l}.
            query_time: [states, actions], w_Δtᵀ h_{t_a - t_q}.
            psi: [states, actions], ψ_{a|q} (Eq. 8), or None without confidence learner.
            mask: bool [states, actions], false on padding.
            combine: How π follows from P and the confidence: "softmax" is Eq. 9, "product" is P · conf, normalised.
        """
        to_history, score_history, to_query, score_query = dots.unbind(1)
        attention = torch.sigmoid(to_history + history_time - to_query - query_time)
        logit = torch.lerp(score_query, score_history, attention)
        log_probability = masked_log_softmax(logit, mask)
        if psi is None:
            return PolicyStep(log_probability, log_probability.exp(), None)
        log_confidence = masked_log_softmax(psi, mask)
        probability, confidence = log_probability.exp(), log_confidence.exp()
        if combine == "product":
            log_policy = masked_log_softmax(log_probability.double() + log_confidence.double(), mask)
        else:
            # The product lies in [0, 1], so Eq. 9 gives nearly equal probabilities, distinct only in float64.
            log_policy = masked_log_softmax(probability.double() * confidence.double(), mask)
        return PolicyStep(log_policy, probability, confidence)


def masked_log_softmax(logit: Tensor, mask: Tensor) -> Tensor:
    """Log-softmax over existing actions; -inf, i.e. probability 0, on padding."""
    return logit.masked_fill(~mask, float("-inf")).log_softmax(-1)
