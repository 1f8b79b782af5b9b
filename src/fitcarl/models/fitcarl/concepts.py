"""The concept regularizer: concept-aware action probabilities (Eq. 10), divergence of the policy from them (Eq. 11)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.device import CPU
from fitcarl.core.tensors import tensor_of
from fitcarl.data.concepts import Concepts
from fitcarl.models.fitcarl.kernels import sum_concepts


def concept_fit(
    probability: NDArray[np.float64],
    concepts: Concepts,
    relation: NDArray[np.int32],
    entity: NDArray[np.int32],
    device: torch.device = CPU,
) -> Tensor:
    """The logits of Eq. 10: Σ_{c ∈ C_e_a} P(c | r_q) of every action.

    Args:
        probability: float64 [2R, concepts], P(c | r).
        concepts: C_e of every entity.
        relation: int32 [states], r_q.
        entity: int32 [states, actions], e_a.
        device: The device of the result; the sums are computed on the CPU.

    Returns:
        float64 [states, actions].
    """
    fit = np.empty(entity.shape, dtype=np.float64)
    sum_concepts(probability, concepts.offsets, concepts.ids, relation, entity, fit)
    return tensor_of(fit, device)


def concept_divergence(log_policy: Tensor, fit: Tensor, mask: Tensor) -> Tensor:
    """L_KL (Eq. 11), [states]: KL divergence of the policy from softmax(fit) (Eq. 10); padding is ignored.

    Args:
        log_policy: [states, actions], log π(a | s); -inf on padding.
        fit: [states, actions], from ``concept_fit``.
        mask: bool [states, actions], false on padding.
    """
    log_concept = fit.to(log_policy.dtype).masked_fill(~mask, float("-inf")).log_softmax(-1)
    gap = (log_policy - log_concept).masked_fill(~mask, 0)
    return (log_policy.exp() * gap).sum(-1)
